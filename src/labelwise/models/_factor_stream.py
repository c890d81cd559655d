"""Answers that arrive after a fit: online EM in batches of a fixed size, however they are handed over."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from labelwise.models._factor_posterior import FittedFactors
from labelwise.models._factor_training import Learnt, to_precision
from labelwise.models.base import BoolArray
from labelwise.numerics.factor_model import FactorData, Factors
from labelwise.numerics.factor_online import ItemSums, LabelPriors, OnlineState
from labelwise.numerics.feature_regression import FeatureUncertainty
from labelwise.numerics.linear_algebra import stack_rows
from labelwise.numerics.weighted_ridge import View

GUESS_PRECISION = 1.0  # of the bias of a label that was unseen at the fit: about four answers outweigh the guess


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows that wait until there are enough of them."""

    X: Any  # (n, d) prepared, float64
    Y: BoolArray  # (n, q)
    observed: BoolArray

    def with_rows(self, more: Batch) -> Batch:
        return Batch(stack_rows(self.X, more.X), np.vstack([self.Y, more.Y]), np.vstack([self.observed, more.observed]))

    def rows(self, part: slice) -> Batch:
        return Batch(self.X[part], self.Y[part], self.observed[part])

    def __len__(self) -> int:
        return self.Y.shape[0]


@dataclass(frozen=True, eq=False)
class FactorStream:
    """A fitted model that goes on learning.

    Full batches are learnt for good; rows short of a batch wait, and are learnt anew, on top, whenever beliefs are
    wanted. What is believed then depends on the rows and their order, not on the calls that brought them.
    """

    state: OnlineState
    batch_size: int
    exponent: float
    waiting: Batch | None = None

    @classmethod
    def after(cls, learnt: Learnt, fitted: FittedFactors, batch_size: int, exponent: float) -> FactorStream:
        """Start from the sums that the factors of a fit imply."""
        seen, q, k = fitted.seen, fitted.biases.size, fitted.loadings.shape[1]
        data, X = learnt.fit.data, to_precision(learnt.fit.regression.X, np.float64)
        n = len(data.labels)
        labels, observed = np.zeros((n, q), np.uint8), np.zeros((n, q), np.uint8)
        labels[:, seen], observed[:, seen] = data.labels, data.observed
        in_double = {name: getattr(learnt.factors, name).astype(np.float64) for name in ("items", "columns", "weights")}
        biases = {name: getattr(learnt.factors, name).astype(np.float64) for name in ("row_bias", "column_bias")}
        factors = replace(learnt.factors, labels=fitted.loadings, label_bias=fitted.biases, **in_double, **biases)
        means, precisions = fitted.loadings.copy(), np.full(q, GUESS_PRECISION)
        means[seen], precisions[seen] = 0.0, learnt.fit.penalties.biases
        guesses = fitted.biases.copy()
        guesses[seen] = 0.0
        view = View(factors.labels, labels, observed, np.zeros(n), factors.label_bias)
        of_items = doubt = None
        if learnt.beliefs is not None and fitted.label_covariances is not None:
            of_items = learnt.beliefs.items, fitted.label_covariances
            doubt = fitted.label_covariances, learnt.beliefs.columns
        sums = ItemSums.of(X, factors.items, view, of_items)
        empty = np.zeros((0, seen.size), np.uint8)
        fit = replace(learnt.fit, data=FactorData(empty, empty, data.counts))
        priors = LabelPriors(means, guesses, precisions, seen)
        state = OnlineState(fit, replace(factors, items=np.zeros((0, k))), priors, sums, n / batch_size, doubt)
        return cls(state, batch_size, exponent)

    def add(self, more: Batch) -> FactorStream:
        waiting = more if self.waiting is None else self.waiting.with_rows(more)
        state, full = self.state, len(waiting) // self.batch_size * self.batch_size
        for start in range(0, full, self.batch_size):
            state = self._learn(state, waiting.rows(slice(start, start + self.batch_size)))
        return replace(self, state=state, waiting=waiting.rows(slice(full, None)))

    def current(self) -> OnlineState:
        """With the rows that wait learnt on top."""
        waits = self.waiting is not None and len(self.waiting) > 0
        return self._learn(self.state, self.waiting) if waits and self.waiting is not None else self.state

    def _learn(self, state: OnlineState, batch: Batch) -> OnlineState:
        """Averages move by (steps + 2)^−exponent, in proportion for a smaller batch."""
        part = len(batch) / self.batch_size
        share = part * (state.steps + 2) ** -self.exponent
        labels, observed = (batch.Y & batch.observed).astype(np.uint8), batch.observed.astype(np.uint8)
        return replace(state.step(batch.X, labels, observed, share), steps=state.steps + part)

    def fitted(self, before: FittedFactors) -> tuple[FittedFactors, Factors]:
        """What a posterior needs, after everything so far, and the factors of the labels seen at the fit."""
        state = self.current()
        ratio = state.fit.penalties.features / state.fit.penalties.items
        gram = state.sums.feature_gram
        uncertainty = before.uncertainty
        if isinstance(gram, np.ndarray):
            uncertainty = FeatureUncertainty(None, ratio, 1 / state.fit.penalties.items, gram=gram)
        after = replace(
            before,
            weights=state.factors.weights,
            loadings=state.factors.labels,
            biases=state.factors.label_bias,
            scored=before.scored | (state.sums.bias_bottoms > 0),
            label_covariances=None if state.doubt is None else state.doubt[0],
            uncertainty=uncertainty,
        )
        return after, state.seen_factors()
