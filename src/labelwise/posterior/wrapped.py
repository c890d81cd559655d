"""Posteriors made of others: what they do not change they forward. Known labels, and averages of several beliefs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.feature_spaces import Part
from labelwise.numerics.linear_algebra import dense, stack_rows
from labelwise.numerics.moved_beliefs import move_draws, move_ranking
from labelwise.posterior.base import (
    CorrelatedLabels,
    ItemCovariance,
    LabelCovariances,
    LabelPosterior,
    Rows,
    TargetGroup,
)


def _forwarded(name: str) -> Any:
    """A method that is that of the beliefs which are wrapped."""

    def forward(self: WrappedPosterior, *arguments: Any, **options: Any) -> Any:
        return getattr(self._inner, name)(*arguments, **options)

    forward.__name__, forward.__doc__ = name, getattr(LabelPosterior, name).__doc__
    return forward


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

    probabilities = _forwarded("probabilities")
    label_covariances = _forwarded("label_covariances")
    item_covariance = _forwarded("item_covariance")
    feature_space = _forwarded("feature_space")
    parts = _forwarded("parts")
    feature_variances = _forwarded("feature_variances")
    target_groups = _forwarded("target_groups")
    ranking = _forwarded("ranking")
    label_counts = _forwarded("label_counts")
    sample_probabilities = _forwarded("sample_probabilities")
    sample_labels = _forwarded("sample_labels")


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
        diagonal = sum(w * each.diagonal for w, each in zip(self._weights, inside, strict=True))
        apart = _between([member.probabilities() for member in self._members], self._weights)
        joint = [(w, each) for w, each in zip(self._weights, inside, strict=True) if _has_factor(each)]
        if len(joint) == 1 and isinstance(joint[0][1], CorrelatedLabels):
            root, one = np.sqrt(joint[0][0]), joint[0][1]
            own = np.concatenate([root * one.own, apart], axis=2)
            return CorrelatedLabels(diagonal, root * one.scale, one.loadings, own)
        return LabelCovariances(diagonal, np.concatenate([*(np.sqrt(w) * each.factor for w, each in joint), apart], 2))

    def ranking(self) -> FloatArray:
        """The probabilities: what several models rank by is not on one scale."""
        return self._members[0].ranking() if len(self._members) == 1 else self.probabilities()

    def label_counts(self) -> FloatArray:
        return sum(w * member.label_counts() for w, member in zip(self._weights, self._members, strict=True))

    def given(self, values: Any, observed: Any) -> AveragePosterior:
        """Every member gets the known labels; the weights do not change."""
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
        self._check_known(values, observed)
        self._values, self._observed = values, observed

    @property
    def _known(self) -> tuple[BoolArray, BoolArray]:
        """(n, q) values and mask, dense."""
        return dense(self._values).astype(bool), dense(self._observed).astype(bool)

    def probabilities(self) -> FloatArray:
        p, (values, observed) = self._inner.probabilities(), self._known
        if not observed.any():
            return p
        covariances, gain = self._knowledge()
        surprise = np.where(observed, values - p, 0.0) / covariances.diagonal  # (n, q), D⁻¹ (y - p) on what is known
        shared = np.einsum("nrt,nqt,nq->nr", gain, covariances.factor, surprise)  # (n, r), E[η | known]
        shift = np.einsum("nqr,nr->nq", covariances.factor, shared)
        return np.where(observed, values, np.where(shift == 0, p, np.clip(p + shift, 1e-6, 1 - 1e-6)))

    def label_covariances(self) -> LabelCovariances:
        covariances, gain = self._knowledge()
        known = self._known[1]
        factor = np.where(known[:, :, None], 0.0, covariances.factor @ np.linalg.cholesky(gain))
        return LabelCovariances(np.where(known, 1e-12, covariances.diagonal), factor)

    def _knowledge(self) -> tuple[LabelCovariances, FloatArray]:
        """Covariances before, and (n, r, r) that of the shared factors η in y = p + U η + own noise, after."""
        covariances = self._inner.label_covariances()
        known = np.where(self._known[1], 1 / covariances.diagonal, 0.0)  # (n, q)
        weighted = covariances.factor * known[:, :, None]
        precision = covariances.factor.swapaxes(1, 2) @ weighted + np.eye(covariances.factor.shape[2])
        return covariances, np.linalg.inv(precision)

    def ranking(self) -> FloatArray:
        """The model's; labels whose probability has changed stand where that probability belongs."""
        before, after = self._inner.probabilities(), self.probabilities()
        told = self._known[1].any(axis=1, keepdims=True)
        return move_ranking(self._inner.ranking(), before, after, told & (before != after))

    def label_counts(self) -> FloatArray:
        """The model's, moved as far as the probabilities; never against what is known."""
        values, observed = self._known
        moved = self._inner.label_counts() + (self.probabilities() - self._inner.probabilities()).sum(axis=1)
        return np.clip(moved, (values & observed).sum(axis=1), self.n_labels - (~values & observed).sum(axis=1))

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """The model's draws, moved so that their mean is the probability given what is known."""
        drawn = np.array(self._inner.sample_probabilities(n_samples, rng))
        return move_draws(drawn, self._inner.probabilities(), self.probabilities())

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        """The model's draws for items of which nothing is known, for the others those of `label_covariances`."""
        told = self._known[1].any(axis=1)
        if told.all():
            return LabelPosterior.sample_labels(self, n_samples, rng)
        drawn = np.array(self._inner.sample_labels(n_samples, rng))
        drawn[:, told] = LabelPosterior.sample_labels(self.rows(np.flatnonzero(told)), n_samples, rng)
        return drawn

    def _around(self, inner: LabelPosterior, rows: Rows) -> LabelPosterior:
        return type(self)(inner, self._values[rows], self._observed[rows])


PROBES = (np.zeros(1, dtype=np.intp), np.zeros(2, dtype=np.intp))  # rows that tell what is said item by item


class StreamedPosterior(WrappedPosterior):
    """Beliefs about a pool whose features are in shards: those of blocks, or of the rows asked for, made when needed.

    What is asked of all items at once is put together from blocks and has the size of the answer, no more.

    Parameters
    ----------
    X : features with `shape`, `X[rows]` and `parts`, see `labelwise.data.ShardedFeatures`
    n_labels : int
    believe : from rows of features in memory to beliefs about them, say `model.posterior`

    Examples
    --------
    >>> from labelwise.data import ShardedFeatures
    >>> from labelwise.posterior import MarginalPosterior
    >>> X = ShardedFeatures.of(np.zeros((3, 1)), np.ones((2, 1)))
    >>> beliefs = StreamedPosterior(X, 1, lambda rows: MarginalPosterior(0.2 + 0.6 * rows))
    >>> beliefs.probabilities().T, beliefs.rows(np.array([4])).probabilities()
    (array([[0.2, 0.2, 0.2, 0.8, 0.8]]), array([[0.8]]))
    """

    is_streamed = True

    def __init__(
        self,
        X: Any,
        n_labels: int,
        believe: Callable[[Any], LabelPosterior],
        known: tuple[tuple[Any, Any], ...] = (),
    ) -> None:
        LabelPosterior.__init__(self, X.shape[0], n_labels)
        self.X = X
        self._believe = believe
        self._known = known  # values and masks of labels that are known, as `given` takes them

    @property
    def _inner(self) -> LabelPosterior:
        """Beliefs about the first item, to learn what the model knows."""
        return self._believe(self.X[:1])

    def __getattr__(self, name: str) -> Any:
        """A method of one model alone: what it says of items is put together, what it says of none is as it is."""
        if name.startswith("_") or not callable(getattr(self._inner, name)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

        def gathered(*arguments: Any) -> Any:
            one, two = (getattr(self._believe(self.X[rows]), name)(*arguments) for rows in PROBES)
            parts = [getattr(beliefs, name)(*arguments) for _, beliefs in self.blocks()]
            if not isinstance(one, tuple):
                return _joined(one, two, parts)
            columns = zip(one, two, zip(*parts, strict=True), strict=True)
            return tuple(_joined(first, second, list(some)) for first, second, some in columns)

        return gathered

    def rows(self, rows: Rows) -> LabelPosterior:
        """Beliefs about some of the items, whose features are then in memory."""
        beliefs = self._believe(self.X[rows])
        for values, observed in self._known:
            beliefs = beliefs.given(values[rows], observed[rows])
        return beliefs

    def given(self, values: Any, observed: Any) -> StreamedPosterior:
        """As the model itself would have it, block by block."""
        self._check_known(values, observed)
        return StreamedPosterior(self.X, self.n_labels, self._believe, (*self._known, (values, observed)))

    def probabilities(self) -> FloatArray:
        return self._gathered(lambda beliefs: beliefs.probabilities())

    def ranking(self) -> FloatArray:
        return self._gathered(lambda beliefs: beliefs.ranking())

    def label_counts(self) -> FloatArray:
        return self._gathered(lambda beliefs: beliefs.label_counts())

    def feature_variances(self) -> FloatArray:
        return self._gathered(lambda beliefs: beliefs.feature_variances())

    def label_covariances(self) -> LabelCovariances:
        parts = [beliefs.label_covariances() for _, beliefs in self.blocks()]
        return LabelCovariances(
            np.concatenate([part.diagonal for part in parts]), np.concatenate([part.factor for part in parts])
        )

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Block by block; where draws are joint every block has the generator in the same state, so they stay joint."""
        if not self.joint_draws:
            return self._gathered(lambda beliefs: beliefs.sample_probabilities(n_samples, rng), axis=1)
        state = deepcopy(rng.bit_generator.state)

        def draw(beliefs: LabelPosterior) -> FloatArray:
            rng.bit_generator.state = state
            return beliefs.sample_probabilities(n_samples, rng)

        return self._gathered(draw, axis=1)

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        return self._gathered(lambda beliefs: beliefs.sample_labels(n_samples, rng), axis=1)

    def item_covariance(self) -> ItemCovariance | None:
        if self._inner.item_covariance() is None:
            return None
        return _StreamedCovariance(self.X, self._believe, lambda beliefs: beliefs.item_covariance())

    def parts(self) -> Sequence[Part]:
        return list(self.X.parts())

    def target_groups(self) -> tuple[TargetGroup, ...]:
        def covariance(group: int) -> ItemCovariance:
            return _StreamedCovariance(self.X, self._believe, lambda some: some.target_groups()[group].covariance)

        groups = enumerate(self._inner.target_groups())
        return tuple(replace(group, covariance=covariance(number), bounds=None) for number, group in groups)

    def rough(self) -> LabelPosterior:
        one = self._inner
        if one.rough() is one:
            return self
        return StreamedPosterior(self.X, self.n_labels, lambda rows: self._believe(rows).rough(), self._known)

    def _gathered(self, method: Callable[[LabelPosterior], Any], axis: int = 0) -> Any:
        return np.concatenate([method(beliefs) for _, beliefs in self.blocks()], axis=axis)


def _joined(one: Any, two: Any, parts: list[Any]) -> Any:
    """Parts of an answer in one array; an answer that is the same for one item and for two is not about items."""
    return one if np.shape(one) == np.shape(two) else np.concatenate(parts)


class _StreamedCovariance:
    """Covariance between the items of a pool in shards, as far as it can be had without all of them."""

    def __init__(self, X: Any, believe: Callable[[Any], LabelPosterior], of: Callable[[LabelPosterior], Any]) -> None:
        self._X = X
        self._of = lambda rows: of(believe(rows))

    @property
    def noise(self) -> float:
        return float(self._of(self._X[:1]).noise)

    def diagonal(self) -> FloatArray:
        return np.concatenate([self._of(rows).diagonal() for _, rows in self._X.blocks()])

    def columns(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        """(n, m) by a walk over the pool, the m items beside every block of it."""
        chosen, parts = self._X[rows], []
        for part, block in self._X.blocks():
            covariance, n = self._of(stack_rows(block, chosen)), part.stop - part.start
            parts.append(covariance.columns(n + np.arange(chosen.shape[0]))[:n])
        return np.concatenate(parts)

    def factor(self) -> None:
        """None: it would have as many rows as the pool."""
        return None


def _has_factor(covariances: LabelCovariances) -> bool:
    return isinstance(covariances, CorrelatedLabels) or covariances.factor.shape[2] > 0


def _between(means: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    """(n, q, m − 1) U with U Uᵀ = Σ w (p − p̄)(p − p̄)ᵀ over m members: one column for each after the first.

    A member with weight w beside others of weight W and mean p̄ adds w W / (w + W) times the square of p − p̄
    (Welford 1962).
    """
    mean, total, columns = means[0], float(weights[0]), []
    for p, w in zip(means[1:], weights[1:], strict=True):
        together = total + float(w)
        share = float(w) / together if together else 0.0
        columns.append(np.sqrt(total * share) * (p - mean))
        mean, total = mean + share * (p - mean), together
    return np.stack(columns, axis=2) if columns else np.zeros((*mean.shape, 0))
