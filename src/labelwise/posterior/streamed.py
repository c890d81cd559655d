"""Beliefs about a pool that is not in memory: a model's, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.feature_spaces import Part
from labelwise.numerics.linear_algebra import stack_rows
from labelwise.posterior import ItemCovariance, LabelCovariances, LabelPosterior, Rows, TargetGroup, WrappedPosterior

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
        told: tuple[tuple[Any, Any], ...] = (),
    ) -> None:
        LabelPosterior.__init__(self, X.shape[0], n_labels)
        self.X = X
        self._believe = believe
        self._told = told  # values and masks of labels that are known, as `given` takes them

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
        for values, observed in self._told:
            beliefs = beliefs.given(values[rows], observed[rows])
        return beliefs

    def given(self, values: Any, observed: Any) -> StreamedPosterior:
        """As the model itself would have it, block by block."""
        for name, matrix in (("values", values), ("observed", observed)):
            if matrix.shape != (self.n_items, self.n_labels):
                raise ValueError(f"{name} has shape {matrix.shape}, expected {(self.n_items, self.n_labels)}")
        return StreamedPosterior(self.X, self.n_labels, self._believe, (*self._told, (values, observed)))

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
        return StreamedPosterior(self.X, self.n_labels, lambda rows: self._believe(rows).rough(), self._told)

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
            both, n = self._of(stack_rows(block, chosen)), part.stop - part.start
            parts.append(both.columns(n + np.arange(chosen.shape[0]))[:n])
        return np.concatenate(parts)

    def factor(self) -> None:
        """None: it would have as many rows as the pool."""
        return None
