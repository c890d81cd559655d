"""Beliefs whose probabilities are moved by something the model does not know, and all else with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import expit

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.linear_algebra import dense
from labelwise.numerics.moved_beliefs import log_odds, move_draws, move_labels, move_ranking
from labelwise.posterior.base import LabelCovariances, LabelPosterior, Rows
from labelwise.posterior.wrapped import WrappedPosterior

ROUNDING = 1e-12  # variances below it are those of labels that are certain; probabilities that near are the same


class TiltedPosterior(WrappedPosterior):
    """A model's beliefs with other log-odds; a subclass has `probabilities` and `_shifts`.

    The model's joint belief about an item's labels is tilted by as much, P(y) exp(Σ δ y). So correlations between
    labels stay, and draws move along. An answer about the item adds to the log-odds of its other labels what it adds to
    the model's.

    Parameters
    ----------
    inner : LabelPosterior
    items : frozen dataclass
        What the tilt is computed from: `of(rows)` of some items; `shifts` and `told`, None at first, keep it as it was
        before labels of the items were known, and which labels those are.
    """

    def __init__(self, inner: LabelPosterior, items: Any) -> None:
        super().__init__(inner)
        self._items = items

    def _shifts(self) -> FloatArray:
        """Log-odds that are added to the model's, of the labels that are tilted."""
        raise NotImplementedError

    def _tilted(self, labels: Any) -> Any:
        """The columns of an (n, q) array that are tilted: all, unless a subclass says which."""
        return labels

    def ranking(self) -> FloatArray:
        """The model's; labels whose probability has changed stand where that probability belongs."""
        before, after = self._inner.probabilities(), self.probabilities()
        return move_ranking(self._inner.ranking(), before, after, before != after)

    def label_covariances(self) -> LabelCovariances:
        """The model's correlations with the variances of these probabilities."""
        before, after, inner = self._inner.probabilities(), self.probabilities(), self._inner.label_covariances()
        scale = np.sqrt(after * (1 - after) / np.maximum(before * (1 - before), ROUNDING))  # (n, q)
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

    def given(self, values: Any, observed: Any) -> Self:
        """The model's beliefs once it is told, tilted as before; what is told stands."""
        told = self._tilted(dense(observed).astype(bool))
        told = told if self._items.told is None else told | self._items.told
        return type(self)(self._inner.given(values, observed), replace(self._items, shifts=self._shifts(), told=told))

    def _around(self, inner: LabelPosterior, rows: Rows) -> Self:
        return type(self)(inner, self._items.of(rows))


@dataclass(frozen=True, eq=False)
class RaisedItems:
    """Some items, and how their probabilities are raised."""

    raised: Callable[[FloatArray], FloatArray]  # from probabilities (n, q) to such that are at least as high
    shifts: FloatArray | None = None  # (n, q) log-odds to add to the model's; None: not computed yet
    told: BoolArray | None = None  # (n, q) labels that were answered

    def of(self, rows: Rows) -> RaisedItems:
        shifts = None if self.shifts is None else self.shifts[rows]
        return replace(self, shifts=shifts, told=None if self.told is None else self.told[rows])


class RaisedPosterior(TiltedPosterior):
    """Beliefs in which some labels are at least as probable as others, such as a parent and its children."""

    _items: RaisedItems

    def probabilities(self) -> FloatArray:
        before = np.asarray(self._inner.probabilities())
        told, shifts = self._items.told, self._items.shifts
        after = before if shifts is None else np.asarray(expit(log_odds(before) + shifts))
        stays = np.abs(after - before) <= ROUNDING
        return self._items.raised(np.where(stays if told is None else stays | told, before, after))

    def _shifts(self) -> FloatArray:
        return log_odds(self.probabilities()) - log_odds(np.asarray(self._inner.probabilities()))
