"""Posteriors that change some of the beliefs of another and forward the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part
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
