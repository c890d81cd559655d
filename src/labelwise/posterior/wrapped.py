"""Posteriors made of others: what they do not change they forward. Known labels, and averages of several beliefs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part
from labelwise.numerics.moved_beliefs import move_draws, move_ranking
from labelwise.posterior.base import ItemCovariance, LabelCovariances, LabelPosterior, Rows, TargetGroup


class WrappedPosterior(LabelPosterior):
    """Beliefs that change some of those of another posterior: everything that is not overridden is forwarded to it.

    A subclass overrides what it changes, and `_around`. Whatever `LabelPosterior` is able to, this class forwards, but
    `given` and `blocks`, which are made of the wrapper's own beliefs. Further names, those of one model alone (say
    `target_means`), are looked up in the beliefs that are wrapped: they say what the model has to say, before the
    change.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> class Certain(WrappedPosterior):
    ...     def probabilities(self):
    ...         return np.round(self._inner.probabilities())
    ...     def _around(self, inner, rows):
    ...         return Certain(inner)
    >>> beliefs = Certain(MarginalPosterior(np.array([[0.9, 0.2], [0.4, 0.7]])))
    >>> beliefs.rows(np.array([1])).probabilities(), beliefs.ranking()[1]
    (array([[0., 1.]]), array([0.4, 0.7]))
    """

    def __init__(self, inner: LabelPosterior) -> None:
        super().__init__(inner.n_items, inner.n_labels)
        self._wrapped = inner

    @property
    def _inner(self) -> LabelPosterior:
        """The beliefs that are wrapped."""
        return self._wrapped

    def _around(self, inner: LabelPosterior, rows: Rows) -> LabelPosterior:
        """The same change made to other beliefs, about these rows of the items."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._inner, name)

    @property
    def is_streamed(self) -> bool:
        return self._inner.is_streamed

    @property
    def joint_draws(self) -> bool:
        return self._inner.joint_draws

    def rows(self, rows: Rows) -> LabelPosterior:
        return self._around(self._inner.rows(rows), rows)

    def rough(self) -> LabelPosterior:
        rough = self._inner.rough()
        return self if rough is self._inner else self._around(rough, slice(None))

    def probabilities(self) -> FloatArray:
        return self._inner.probabilities()

    def label_covariances(self) -> LabelCovariances:
        return self._inner.label_covariances()

    def item_covariance(self) -> ItemCovariance | None:
        return self._inner.item_covariance()

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        return self._inner.feature_space(basis)

    def parts(self) -> Sequence[Part] | None:
        return self._inner.parts()

    def feature_variances(self) -> FloatArray:
        return self._inner.feature_variances()

    def target_groups(self) -> tuple[TargetGroup, ...]:
        return self._inner.target_groups()

    def ranking(self) -> FloatArray:
        return self._inner.ranking()

    def label_counts(self) -> FloatArray:
        return self._inner.label_counts()

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        return self._inner.sample_probabilities(n_samples, rng)

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        return self._inner.sample_labels(n_samples, rng)


class LimitedPosterior(WrappedPosterior):
    """Beliefs in which only some labels may be present; the others count as absent, whatever the model says of them.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = LimitedPosterior(MarginalPosterior(np.array([[0.9, 0.5, 0.2]])), np.array([True, False, True]))
    >>> beliefs.probabilities(), beliefs.label_counts()
    (array([[0.9, 0. , 0.2]]), array([1.1]))
    """

    def __init__(self, inner: LabelPosterior, allowed: BoolArray) -> None:
        super().__init__(inner)
        self._allowed = allowed  # (q,)

    def probabilities(self) -> FloatArray:
        return np.where(self._allowed, self._inner.probabilities(), 0.0)

    def ranking(self) -> FloatArray:
        return np.where(self._allowed, self._inner.ranking(), -np.inf)

    def label_counts(self) -> FloatArray:
        absent = self._inner.probabilities()[:, ~self._allowed].sum(axis=1)
        return np.clip(self._inner.label_counts() - absent, 0.0, self._allowed.sum())

    def label_covariances(self) -> LabelCovariances:
        inner, allowed = self._inner.label_covariances(), self._allowed
        return LabelCovariances(np.where(allowed, inner.diagonal, 1e-12), np.where(allowed[:, None], inner.factor, 0.0))

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        return np.where(self._allowed, self._inner.sample_probabilities(n_samples, rng), 0.0)

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        return self._inner.sample_labels(n_samples, rng) & self._allowed

    def _around(self, inner: LabelPosterior, rows: Rows) -> LabelPosterior:
        return LimitedPosterior(inner, self._allowed)


class AveragePosterior(WrappedPosterior):
    """One of several beliefs is right, each with the same probability or with that of its weight.

    What is not averaged, the covariance between items and all that goes with it, is that of the first member which has
    one. Names of one model alone are forwarded only where there is one member.
    """

    def __init__(self, members: Sequence[LabelPosterior], weights: FloatArray | None = None) -> None:
        super().__init__(members[0])
        self._members = list(members)
        self._weights: FloatArray = np.full(len(self._members), 1 / len(self._members)) if weights is None else weights

    @cached_property
    def _leader(self) -> LabelPosterior:
        having = (member for member in self._members if member.item_covariance() is not None)
        return self._members[0] if len(self._members) == 1 else next(having, self._members[0])

    @property
    def _inner(self) -> LabelPosterior:
        return self._leader

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or len(self._members) > 1:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._members[0], name)

    @property
    def is_streamed(self) -> bool:
        return any(member.is_streamed for member in self._members)

    @property
    def joint_draws(self) -> bool:
        """Only where every member has them: another takes more or fewer random numbers, by the size of a block."""
        return all(member.joint_draws for member in self._members)

    def probabilities(self) -> FloatArray:
        return sum(w * member.probabilities() for w, member in zip(self._weights, self._members, strict=True))

    def rows(self, rows: Rows) -> AveragePosterior:
        return AveragePosterior([member.rows(rows) for member in self._members], self._weights)

    def rough(self) -> AveragePosterior:
        rough = [member.rough() for member in self._members]
        same = all(a is b for a, b in zip(rough, self._members, strict=True))
        return self if same else AveragePosterior(rough, self._weights)

    def label_covariances(self) -> LabelCovariances:
        """The mean covariance, plus that of the members' means: the law of total covariance."""
        inside = [member.label_covariances() for member in self._members]
        means = np.stack([member.probabilities() for member in self._members], axis=2)  # (n, q, members)
        apart = (means - (means @ self._weights)[:, :, None]) * np.sqrt(self._weights)
        factors = [np.sqrt(w) * each.factor for w, each in zip(self._weights, inside, strict=True)]
        diagonal = sum(w * each.diagonal for w, each in zip(self._weights, inside, strict=True))
        return LabelCovariances(diagonal, np.concatenate([*factors, apart], axis=2))

    def ranking(self) -> FloatArray:
        """The probabilities: what several models rank by is not on one scale."""
        return self._members[0].ranking() if len(self._members) == 1 else self.probabilities()

    def label_counts(self) -> FloatArray:
        return sum(w * member.label_counts() for w, member in zip(self._weights, self._members, strict=True))

    def given(self, values: Any, observed: Any) -> AveragePosterior:
        """Every member is told; which of them is right stays as open as it was."""
        return AveragePosterior([member.given(values, observed) for member in self._members], self._weights)

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        return self._sample(n_samples, rng, "sample_labels", bool)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        return self._sample(n_samples, rng, "sample_probabilities", np.float64)

    def _sample(self, n_samples: int, rng: np.random.Generator, method: str, dtype: Any) -> npt.NDArray[Any]:
        """(s, n, q), every draw that of a member drawn first."""
        if len(self._members) == 1:
            return np.asarray(getattr(self._members[0], method)(n_samples, rng))
        which = rng.choice(len(self._members), p=self._weights, size=n_samples)
        drawn = np.empty((n_samples, self.n_items, self.n_labels), dtype=dtype)
        for number, member in enumerate(self._members):
            samples = np.flatnonzero(which == number)
            drawn[samples] = getattr(member, method)(samples.size, rng)
        return drawn


class GivenPosterior(WrappedPosterior):
    """Beliefs about items some of whose own labels are known. Made by `LabelPosterior.given`.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> class Twins(MarginalPosterior):
    ...     def label_covariances(self):
    ...         return LabelCovariances(np.full((1, 2), 0.01), np.full((1, 2, 1), 0.24**0.5))
    >>> unsure = Twins(np.array([[0.5, 0.5]]))
    >>> unsure.given(np.array([[True, False]]), np.array([[True, False]])).probabilities().round(2)
    array([[1.  , 0.98]])
    """

    def __init__(self, before: LabelPosterior, values: Any, observed: Any) -> None:
        super().__init__(before)
        for name, matrix in (("values", values), ("observed", observed)):
            if matrix.shape != (self.n_items, self.n_labels):
                raise ValueError(f"{name} has shape {matrix.shape}, expected {(self.n_items, self.n_labels)}")
        self._values, self._observed = values, observed

    def probabilities(self) -> FloatArray:
        p, values, observed = self._inner.probabilities(), _dense(self._values), _dense(self._observed)
        if not observed.any():
            return p
        covariances, gain = self._knowledge()
        surprise = np.where(observed, values - p, 0.0) / covariances.diagonal  # (n, q), D⁻¹ (y - p) on what is known
        shared = np.einsum("nrt,nqt,nq->nr", gain, covariances.factor, surprise)  # (n, r), E[η | known]
        shift = np.einsum("nqr,nr->nq", covariances.factor, shared)
        return np.where(observed, values, np.where(shift == 0, p, np.clip(p + shift, 1e-6, 1 - 1e-6)))

    def label_covariances(self) -> LabelCovariances:
        covariances, gain = self._knowledge()
        known = _dense(self._observed)
        factor = np.where(known[:, :, None], 0.0, covariances.factor @ np.linalg.cholesky(gain))
        return LabelCovariances(np.where(known, 1e-12, covariances.diagonal), factor)

    def _knowledge(self) -> tuple[LabelCovariances, FloatArray]:
        """Covariances before, and (n, r, r) that of the shared factors η in y = p + U η + own noise, after."""
        covariances = self._inner.label_covariances()
        known = np.where(_dense(self._observed), 1 / covariances.diagonal, 0.0)  # (n, q)
        weighted = covariances.factor * known[:, :, None]
        precision = covariances.factor.swapaxes(1, 2) @ weighted + np.eye(covariances.factor.shape[2])
        return covariances, np.linalg.inv(precision)

    def ranking(self) -> FloatArray:
        """The model's; labels whose probability has changed stand where that probability belongs."""
        before, after = self._inner.probabilities(), self.probabilities()
        told = _dense(self._observed).any(axis=1, keepdims=True)
        return move_ranking(self._inner.ranking(), before, after, told & (before != after))

    def label_counts(self) -> FloatArray:
        """The model's, moved as far as the probabilities; never against what is known."""
        values, observed = _dense(self._values), _dense(self._observed)
        moved = self._inner.label_counts() + (self.probabilities() - self._inner.probabilities()).sum(axis=1)
        return np.clip(moved, (values & observed).sum(axis=1), self.n_labels - (~values & observed).sum(axis=1))

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """The model's draws, moved so that their mean is the probability given what is known."""
        drawn = np.array(self._inner.sample_probabilities(n_samples, rng))
        return move_draws(drawn, self._inner.probabilities(), self.probabilities())

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        """The model's draws for items of which nothing is known, for the others those of `label_covariances`."""
        told = _dense(self._observed).any(axis=1)
        if told.all():
            return LabelPosterior.sample_labels(self, n_samples, rng)
        drawn = np.array(self._inner.sample_labels(n_samples, rng))
        drawn[:, told] = LabelPosterior.sample_labels(self.rows(np.flatnonzero(told)), n_samples, rng)
        return drawn

    def _around(self, inner: LabelPosterior, rows: Rows) -> LabelPosterior:
        return type(self)(inner, self._values[rows], self._observed[rows])


def _dense(matrix: Any) -> BoolArray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=bool)
