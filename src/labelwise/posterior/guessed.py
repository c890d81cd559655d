"""A model's beliefs with guesses at some labels in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.linear_algebra import dense
from labelwise.numerics.moved_beliefs import log_odds, move_draws, move_labels, move_ranking
from labelwise.numerics.recovery.sketched_answers import as_probabilities
from labelwise.numerics.term_weights import PreparedFeatures
from labelwise.posterior.base import LabelCovariances, LabelPosterior, Rows
from labelwise.posterior.wrapped import WrappedPosterior


@dataclass(frozen=True, eq=False)
class Guess:
    """A linear guess at one label, and the model's share of the say."""

    column: int
    weights: FloatArray  # (d,) of prepared features
    floor: float
    model_share: float = 0.0

    def probabilities(self, prepared: Any) -> FloatArray:
        return as_probabilities(np.asarray(prepared @ self.weights), self.floor)


@dataclass(frozen=True, eq=False)
class GuessedItems:
    """Guesses, and what they need to know of some items."""

    guesses: tuple[Guess, ...]
    prepare: PreparedFeatures
    X: Any  # (n, d) as the user gave them
    shifts: FloatArray | None = None  # (n, g) log-odds to add to the model's; None: not computed yet
    told: BoolArray | None = None  # (n, g) labels that were answered, where the guess has no say

    @property
    def columns(self) -> list[int]:
        return [guess.column for guess in self.guesses]

    def of(self, rows: Rows) -> GuessedItems:
        shifts = None if self.shifts is None else self.shifts[rows]
        told = None if self.told is None else self.told[rows]
        return replace(self, X=self.X[rows], shifts=shifts, told=told)

    def log_odds(self, p: FloatArray) -> FloatArray:
        """(n, g) of the guessed labels, blended with the model's probabilities (n, q)."""
        if self.shifts is not None:
            return log_odds(p[:, self.columns]) + self.shifts
        prepared = self.prepare(self.X)
        return np.stack(
            [blended(p[:, g.column], g.probabilities(prepared), g.model_share) for g in self.guesses], axis=1
        )


class GuessedPosterior(WrappedPosterior):
    """A model's beliefs in which the log-odds of some labels are drawn to those of a guess.

    The model's joint belief about an item's labels is tilted by as much, P(y) exp(Σ δ y) over the guessed labels: so
    an answer about the item tells of its other labels what the model says it does, and adds to the log-odds of a
    guessed label what it adds to the model's.
    """

    def __init__(self, inner: LabelPosterior, items: GuessedItems) -> None:
        super().__init__(inner)
        self._items = items

    @classmethod
    def of(
        cls, inner: LabelPosterior, guesses: tuple[Guess, ...], prepare: PreparedFeatures, X: Any
    ) -> GuessedPosterior:
        return cls(inner, GuessedItems(guesses, prepare, X))

    @cached_property
    def _log_odds(self) -> FloatArray:
        """(n, g) of the guessed labels, blended."""
        return self._items.log_odds(self._inner.probabilities())

    @property
    def _columns(self) -> list[int]:
        return self._items.columns

    def probabilities(self) -> FloatArray:
        p = np.array(self._inner.probabilities())
        told = self._items.told
        guessed = expit(self._log_odds)
        p[:, self._columns] = guessed if told is None else np.where(told, p[:, self._columns], guessed)
        return p

    def label_covariances(self) -> LabelCovariances:
        """The model's correlations with the variances of the blended probabilities."""
        inner, p = self._inner.label_covariances(), self.probabilities()
        scale = np.ones(p.shape)
        scale[:, self._columns] = np.sqrt(np.maximum(p * (1 - p), 1e-12) / inner.variances())[:, self._columns]
        return LabelCovariances(inner.diagonal * scale**2, inner.factor * scale[:, :, None])

    def ranking(self) -> FloatArray:
        """The model's; a guessed label stands where its probability belongs among the others."""
        moved = np.zeros((self.n_items, self.n_labels), dtype=bool)
        moved[:, self._columns] = True
        return move_ranking(self._inner.ranking(), self._inner.probabilities(), self.probabilities(), moved)

    def label_counts(self) -> FloatArray:
        """The model's, moved as far as the probabilities."""
        moved = (self.probabilities() - self._inner.probabilities()).sum(axis=1)
        return np.clip(self._inner.label_counts() + moved, 0.0, self.n_labels)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """The model's draws; those of a guessed label are moved with its log-odds and keep their mean at p."""
        drawn = np.array(self._inner.sample_probabilities(n_samples, rng))  # (s, n, q)
        before, after = self._inner.probabilities(), self.probabilities()
        drawn[:, :, self._columns] = move_draws(
            drawn[:, :, self._columns], before[:, self._columns], after[:, self._columns]
        )
        return drawn

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        """The model's draws; of those of a guessed label as many are flipped as its probability asks for."""
        drawn = np.array(self._inner.sample_labels(n_samples, rng))
        before, after = self._inner.probabilities(), self.probabilities()
        drawn[:, :, self._columns] = move_labels(
            drawn[:, :, self._columns], before[:, self._columns], after[:, self._columns], rng
        )
        return drawn

    def given(self, values: Any, observed: Any) -> GuessedPosterior:
        """The model's beliefs once it is told, tilted as before; what is told of a guessed label stands."""
        shifts = self._log_odds - log_odds(self._inner.probabilities()[:, self._columns])
        told = dense(observed).astype(bool)[:, self._columns]
        if self._items.told is not None:
            told = told | self._items.told
        return GuessedPosterior(self._inner.given(values, observed), replace(self._items, shifts=shifts, told=told))

    def _around(self, inner: LabelPosterior, rows: Rows) -> GuessedPosterior:
        return GuessedPosterior(inner, self._items.of(rows))


def blended(model: FloatArray, guess: FloatArray, share: float) -> FloatArray:
    """Log-odds of a label, `share` of them the model's."""
    return share * log_odds(model) + (1 - share) * log_odds(guess)
