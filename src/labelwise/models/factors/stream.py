"""Answers that arrive after a fit: online EM in batches of a fixed size, however they are handed over.

Averages of what the items say stand for the items. A batch is summarised by its share of every label's normal
equations; the averages forget slowly, so that what early, poor factors said is replaced. Memory q k² + d² and no items.
Cappé & Moulines, JRSS B 2009. Where factors are believed rather than known, as in `numerics.factors.variational`,
products of factors are second moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import cg

from labelwise.models.factors.posterior import FittedFactors
from labelwise.models.factors.training import Learnt, to_precision
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.factors.model import FactorData, FactorFit, Factors
from labelwise.numerics.factors.variational import FactorBeliefs, Side, VariationalFit, second_moments, update_rows
from labelwise.numerics.gp.feature_regression import LARGEST_FACTOR, FeatureUncertainty
from labelwise.numerics.linear_algebra import cholesky, dense, solve_cholesky, stack_rows
from labelwise.numerics.weighted_ridge import View, row_chunks

GUESS_PRECISION = 1.0  # of the bias of a label that was unseen at the fit: about four answers outweigh the guess
INNER_ROUNDS = 2  # of weights and item factors in a batch, from what the features say


@dataclass(frozen=True, eq=False)
class ItemSums:
    """What n items say, as sums over them; `weights` are E[ω], `targets` κ − ω b."""

    n: float
    answers: FloatArray  # (q,) how many of the items were asked about each label
    grams: FloatArray  # (q, k, k) Σ ω u uᵀ
    rights: FloatArray  # (q, k) Σ (κ − ω b) u
    bias_tops: FloatArray  # (q,) Σ κ − ω u·v
    bias_bottoms: FloatArray  # (q,) Σ ω
    feature_gram: Any  # (d, d) XᵀX, sparse where d is large
    feature_cross: FloatArray  # (d, k) XᵀU

    @classmethod
    def of(cls, X: Any, U: FloatArray, view: View, doubt: tuple[FloatArray, FloatArray] | None = None) -> ItemSums:
        """Of items with factors U; `view` has the labels' factors and the entries seen from the items.

        `doubt` has the covariances (n, k, k) of the items' and (q, k, k) of the labels' factors, where there are any.
        """
        k, parts = U.shape[1], []
        for part in row_chunks(len(U), max(k * k, len(view.factors))):
            some, u = view.rows(part), U[part]
            linear, kappa = u @ some.factors.T, some.successes - some.trials / 2  # (rows, q)
            own = np.zeros((len(u), k, k)) if doubt is None else doubt[0][part]
            weights = some.slopes(u)[1] if doubt is None else Side(some, doubt[1]).weights(u, own)
            outer = second_moments(u, own)  # (rows, k²)
            parts.append(
                (
                    weights.T @ outer,
                    (kappa - weights * some.column_offset).T @ u,
                    (kappa - weights * linear).sum(axis=0),
                    weights.sum(axis=0),
                )
            )
        grams, rights, tops, bottoms = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
        gram = X.T @ X
        gram = sp.csr_array(gram) if sp.issparse(X) and X.shape[1] > LARGEST_FACTOR else dense(gram)
        answers = view.trials.sum(axis=0, dtype=np.float64)
        return cls(float(len(U)), answers, grams.reshape(-1, k, k), rights, tops, bottoms, gram, np.asarray(X.T @ U))

    def moved_towards(self, batch: ItemSums, share: float, n_items: float | None = None) -> ItemSums:
        """Averages moved by `share` towards the batch's, and at least by the batch's part of all there is, as sums.

        Those of a label are averages over its answers: one that the batch says nothing of stays as it is. `n_items` is
        the number of items where batches are drawn from a set again and again: averages and sums are then over that.
        """
        if n_items is None:
            features = _scales(self.n, batch.n, share)
            old, new = _scales(self.answers, batch.answers, share * batch.answers / batch.n)
            n = self.n + batch.n
        else:
            n = float(n_items)
            features = (1 - share) * n / max(self.n, 1.0), share * n / batch.n
            old, new = (np.full(self.answers.shape, scale) for scale in features)
        return ItemSums(
            n,
            old * self.answers + new * batch.answers,
            old[:, None, None] * self.grams + new[:, None, None] * batch.grams,
            old[:, None] * self.rights + new[:, None] * batch.rights,
            old * self.bias_tops + new * batch.bias_tops,
            old * self.bias_bottoms + new * batch.bias_bottoms,
            features[0] * self.feature_gram + features[1] * batch.feature_gram,
            features[0] * self.feature_cross + features[1] * batch.feature_cross,
        )


def _scales(had: Any, got: Any, share: Any) -> tuple[Any, Any]:
    """By what old and new sums are multiplied so that they sum over had + got, the new ones having the share."""
    total = np.maximum(np.asarray(had + got, dtype=np.float64), 1e-300)
    share = np.maximum(share, got / total)
    return (1 - share) * total / np.maximum(had, 1e-300), share * total / np.maximum(got, 1e-300)


@dataclass(frozen=True, eq=False)
class LabelPriors:
    """What each label is believed to be without items: zero for labels with a row of counts, a guess for the others."""

    means: FloatArray  # (q, k)
    biases: FloatArray  # (q,)
    bias_precisions: FloatArray  # (q,)
    counted: npt.NDArray[np.intp]  # labels that are the rows of the counts, in their order


@dataclass(frozen=True, eq=False)
class StreamState:
    """Factors of all labels, and the sums they follow from. `factors.items` is empty; a step returns a new state."""

    fit: FactorFit  # counts, priors and solver; its items are not used
    factors: Factors
    priors: LabelPriors
    sums: ItemSums
    steps: float
    doubt: tuple[FloatArray, FloatArray] | None = None  # covariances (q, k, k) of labels, (c, k, k) of columns

    def step(self, X: Any, labels: Any, observed: Any, share: float, n_items: float | None = None) -> StreamState:
        """Learn a batch (rows of X, 0/1 labels and mask of all q labels), moving the averages by `share`.

        `n_items` is their true number where batches are drawn again and again from a set of that size.
        """
        f, penalties = self.factors, self.fit.penalties
        expected = np.asarray(X @ f.weights)
        view = View(f.labels, labels, observed, np.zeros(len(expected)), f.label_bias)
        U: FloatArray = expected
        if self.doubt is None:
            for _ in range(INNER_ROUNDS):
                U = self.fit.solver.improve(U, [view], penalties.items, expected)
            return self.with_sums(self.sums.moved_towards(ItemSums.of(X, U, view), share, n_items))
        own: FloatArray = np.tile(np.eye(U.shape[1]) / penalties.items, (len(U), 1, 1))
        sides = [Side(view, self.doubt[0])]
        for _ in range(INNER_ROUNDS):
            U, own = update_rows((U, own), sides, penalties.items, expected)
        batch = ItemSums.of(X, U, view, (own, self.doubt[0]))
        return self.with_sums(self.sums.moved_towards(batch, share, n_items))

    def with_sums(self, sums: ItemSums) -> StreamState:
        """Labels, columns, feature weights and biases that follow from the sums, each once, in the order of a sweep."""
        f, p = self.factors, self.fit.penalties
        precisions, right = self._label_systems(sums)
        labels = np.linalg.solve(precisions, right[:, :, None])[:, :, 0]
        bias = f.label_bias
        if self.fit.bias:
            top = sums.bias_tops + self.priors.bias_precisions * self.priors.biases
            bias = top / (sums.bias_bottoms + self.priors.bias_precisions)
        factors = replace(f, labels=labels, weights=solve_ridge(sums, p.features / p.items, f.weights), label_bias=bias)
        doubt = None if self.doubt is None else (np.linalg.inv(precisions), self.doubt[1])
        return replace(self, factors=factors, sums=sums, doubt=doubt)._with_counts()

    def seen_factors(self) -> Factors:
        """Those of the labels that have a row of counts, in its order; the items are not kept."""
        counted, none = self.priors.counted, np.zeros((0, self.factors.labels.shape[1]))
        return replace(
            self.factors,
            items=none,
            expected=none,
            labels=self.factors.labels[counted],
            label_bias=self.factors.label_bias[counted],
        )

    def _label_systems(self, sums: ItemSums) -> tuple[FloatArray, FloatArray]:
        """(q, k, k) precisions of the labels, from items, counts and prior, and (q, k) right sides."""
        k, penalty = sums.grams.shape[1], self.fit.penalties.labels
        precisions, right = sums.grams + penalty * np.eye(k), sums.rights + penalty * self.priors.means
        if self.fit.data.counts is not None:
            counted, B = self.priors.counted, self.factors.columns
            rows = self.seen_factors()
            view = self.fit.label_views(rows)[1]
            doubt = np.zeros((len(B), k, k)) if self.doubt is None else self.doubt[1]
            side = Side(view, doubt)
            if self.doubt is None:
                weights = view.slopes(rows.labels)[1]  # (s, c) τ
            else:
                weights = side.weights(rows.labels, self.doubt[0][counted])
            precisions[counted] += (weights @ side.second_moments).reshape(-1, k, k)
            right[counted] += (side.centred() - weights * side.offsets()) @ B
        return precisions, right

    def _with_counts(self) -> StreamState:
        """Column factors and the biases of the counts, as in a sweep."""
        if self.fit.data.counts is None:
            return self
        rows, doubt = self.seen_factors(), self.doubt
        if doubt is None:
            rows = self.fit.update_columns(rows)
            rows = self.fit.update_count_biases(rows) if self.fit.bias else rows
        else:
            variational = VariationalFit(self.fit)
            beliefs = FactorBeliefs(rows, doubt[0][:0], doubt[0][self.priors.counted], doubt[1])
            beliefs = variational.update_count_biases(variational.update_columns(beliefs))
            rows, doubt = beliefs.means, (doubt[0], beliefs.columns)
        factors = replace(self.factors, columns=rows.columns, row_bias=rows.row_bias, column_bias=rows.column_bias)
        return replace(self, factors=factors, doubt=doubt)


def solve_ridge(sums: ItemSums, penalty: float, start: FloatArray) -> FloatArray:
    """(d, k) (XᵀX + λI)⁻¹ XᵀU; a large, sparse XᵀX by conjugate gradients."""
    if not sp.issparse(sums.feature_gram):
        L = cholesky(sums.feature_gram + penalty * np.eye(len(sums.feature_gram)), overwrite=True)
        return solve_cholesky(L, sums.feature_cross)
    system = sums.feature_gram + penalty * sp.eye_array(len(start), format="csr")
    columns = zip(sums.feature_cross.T, start.T, strict=True)
    return np.column_stack([cg(system, right, x0=guess, rtol=1e-6)[0] for right, guess in columns])


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

    state: StreamState
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
        state = StreamState(fit, replace(factors, items=np.zeros((0, k))), priors, sums, n / batch_size, doubt)
        return cls(state, batch_size, exponent)

    def add(self, more: Batch) -> FactorStream:
        waiting = more if self.waiting is None else self.waiting.with_rows(more)
        state, full = self.state, len(waiting) // self.batch_size * self.batch_size
        for start in range(0, full, self.batch_size):
            state = self._learn(state, waiting.rows(slice(start, start + self.batch_size)))
        return replace(self, state=state, waiting=waiting.rows(slice(full, None)))

    def current(self) -> StreamState:
        """With the rows that wait learnt on top."""
        waits = self.waiting is not None and len(self.waiting) > 0
        return self._learn(self.state, self.waiting) if waits and self.waiting is not None else self.state

    def _learn(self, state: StreamState, batch: Batch) -> StreamState:
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


OnlineState = StreamState  # its name in model files of 0.1
