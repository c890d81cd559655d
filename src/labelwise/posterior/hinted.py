"""A model's beliefs with hints in them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.hint_weights import HintWeights
from labelwise.numerics.linear_algebra import dense
from labelwise.numerics.moved_beliefs import log_odds, move_draws, move_labels
from labelwise.posterior.base import LabelCovariances, LabelPosterior, Rows
from labelwise.posterior.wrapped import WrappedPosterior


@dataclass(frozen=True, eq=False)
class HintedItems:
    """Some items, what hints say of them, and how far that is believed."""

    X: Any  # (n, d) as the user gave them
    hints: Callable[[Any], FloatArray]  # from rows to standard scores (h, n, q)
    weights: HintWeights
    shifts: FloatArray | None = None  # (n, q) log-odds to add to the model's; None: not computed yet
    told: BoolArray | None = None  # (n, q) labels that were answered, where hints have no say

    def of(self, rows: Rows) -> HintedItems:
        shifts = None if self.shifts is None else self.shifts[rows]
        told = None if self.told is None else self.told[rows]
        return replace(self, X=self.X[rows], shifts=shifts, told=told)


class HintedPosterior(WrappedPosterior):
    """A model's beliefs whose log-odds are combined with hints, see `labelwise.numerics.hint_weights`.

    The model's joint belief about an item's labels is tilted by as much, P(y) exp(Σ δ y): correlations between labels
    stay, draws move along, and an answer about the item adds to the log-odds of its other labels what it adds to the
    model's.
    """

    def __init__(self, inner: LabelPosterior, items: HintedItems) -> None:
        super().__init__(inner)
        self._items = items

    @cached_property
    def _log_odds(self) -> FloatArray:
        model = log_odds(self._inner.probabilities())
        if self._items.shifts is not None:
            return model + self._items.shifts
        return self._items.weights.log_odds(model, self._items.hints(self._items.X))

    def probabilities(self) -> FloatArray:
        p = np.asarray(expit(self._log_odds))
        return p if self._items.told is None else np.where(self._items.told, self._inner.probabilities(), p)

    def ranking(self) -> FloatArray:
        """The probabilities: a model's own ranking knows nothing of hints."""
        return self.probabilities()

    def label_covariances(self) -> LabelCovariances:
        """The model's correlations with the variances of these probabilities."""
        p, inner = self.probabilities(), self._inner.label_covariances()
        scale = np.sqrt(p * (1 - p) / inner.variances())  # (n, q)
        return LabelCovariances(np.maximum(inner.diagonal * scale**2, 1e-12), inner.factor * scale[:, :, None])

    def label_counts(self) -> FloatArray:
        """The model's, moved as far as the probabilities."""
        moved = (self.probabilities() - self._inner.probabilities()).sum(axis=1)
        return np.clip(self._inner.label_counts() + moved, 0.0, self.n_labels)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """The model's draws, each moved by the same log-odds, with their mean at p."""
        drawn = np.array(self._inner.sample_probabilities(n_samples, rng))  # (s, n, q)
        return move_draws(drawn, self._inner.probabilities(), self.probabilities())

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        """The model's draws, of which as many are flipped as the probabilities ask for."""
        drawn = np.array(self._inner.sample_labels(n_samples, rng))
        return move_labels(drawn, self._inner.probabilities(), self.probabilities(), rng)

    def given(self, values: Any, observed: Any) -> HintedPosterior:
        """The model's beliefs once it is told, tilted as before; what is told stands."""
        shifts = self._log_odds - log_odds(self._inner.probabilities())
        told = dense(observed).astype(bool)
        if self._items.told is not None:
            told = told | self._items.told
        return HintedPosterior(self._inner.given(values, observed), replace(self._items, shifts=shifts, told=told))

    def _around(self, inner: LabelPosterior, rows: Rows) -> HintedPosterior:
        return HintedPosterior(inner, self._items.of(rows))
