"""Beliefs about a pool that is not in memory: a model's, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.feature_spaces import FeatureSpace, Fourier, Landmarks, Part
from labelwise.numerics.linear_algebra import stack_rows
from labelwise.posterior import (
    BoolArray,
    FloatArray,
    ItemCovariance,
    LabelCovariances,
    LabelPosterior,
    TargetGroup,
)


class StreamedPosterior(LabelPosterior):
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

    def __init__(self, X: Any, n_labels: int, believe: Callable[[Any], LabelPosterior]) -> None:
        super().__init__(X.shape[0], n_labels)
        self.X = X
        self._believe = believe
        self.joint_draws = self._one().joint_draws

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> LabelPosterior:
        """Beliefs about some of the items, whose features are then in memory."""
        return self._believe(self.X[rows])

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
        return self._gathered(lambda beliefs: beliefs.sample_probabilities(n_samples, rng), axis=1)

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        return self._gathered(lambda beliefs: beliefs.sample_labels(n_samples, rng), axis=1)

    def item_covariance(self) -> ItemCovariance | None:
        if self._one().item_covariance() is None:
            return None
        return _StreamedCovariance(self.X, self._believe, lambda beliefs: beliefs.item_covariance())

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        return self._one().feature_space(basis)

    def parts(self) -> Sequence[Part]:
        return list(self.X.parts())

    def target_groups(self) -> tuple[TargetGroup, ...]:
        def covariance(group: int) -> ItemCovariance:
            return _StreamedCovariance(self.X, self._believe, lambda some: some.target_groups()[group].covariance)

        groups = enumerate(self._one().target_groups())
        return tuple(replace(group, covariance=covariance(number), bounds=None) for number, group in groups)

    def rough(self) -> LabelPosterior:
        one = self._one()
        if one.rough() is one:
            return self
        return StreamedPosterior(self.X, self.n_labels, lambda rows: self._believe(rows).rough())

    def _one(self) -> LabelPosterior:
        """Beliefs about the first item, to learn what the model knows."""
        return self._believe(self.X[:1])

    def _gathered(self, method: Callable[[LabelPosterior], Any], axis: int = 0) -> Any:
        return np.concatenate([method(beliefs) for _, beliefs in self.blocks()], axis=axis)


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
            both, n = self._of(stack_rows(block, chosen)), part.stop - part.start
            parts.append(both.columns(n + np.arange(chosen.shape[0]))[:n])
        return np.concatenate(parts)

    def factor(self) -> None:
        """None: it would have as many rows as the pool."""
        return None
