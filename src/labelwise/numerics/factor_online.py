"""Online EM for the model of `factor_model`: averages of what the items say, instead of the items.

A batch of items is summarised by its share of every label's normal equations; the averages forget slowly, so that what
early, poor factors said is replaced. Memory q k² + d² and no items. Cappé & Moulines, JRSS B 2009.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import cg

from labelwise.numerics.factor_model import FactorFit, Factors
from labelwise.numerics.feature_regression import LARGEST_FACTOR
from labelwise.numerics.linear_algebra import cholesky, dense, solve_lower
from labelwise.numerics.weighted_ridge import View, row_chunks

FloatArray = npt.NDArray[np.floating[Any]]
INNER_ROUNDS = 2  # of weights and item factors in a batch, from what the features say


@dataclass(frozen=True, eq=False)
class ItemSums:
    """What n items say, as sums over them; `weights` are E[ω], `targets` κ − ω b."""

    n: float
    grams: FloatArray  # (q, k, k) Σ ω u uᵀ
    rights: FloatArray  # (q, k) Σ (κ − ω b) u
    bias_tops: FloatArray  # (q,) Σ κ − ω u·v
    bias_bottoms: FloatArray  # (q,) Σ ω
    feature_gram: Any  # (d, d) XᵀX, sparse where d is large
    feature_cross: FloatArray  # (d, k) XᵀU

    @classmethod
    def of(cls, X: Any, U: FloatArray, view: View) -> ItemSums:
        """Of items with factors U; `view` has the labels' factors and the entries seen from the items."""
        k, parts = U.shape[1], []
        for part in row_chunks(len(U), max(k * k, len(view.factors))):
            some, u = view.rows(part), U[part]
            slopes, weights = some.slopes(u)  # (rows, q)
            linear = u @ some.factors.T
            kappa = slopes + weights * (linear + some.column_offset)
            outer = (u[:, :, None] * u[:, None, :]).reshape(len(u), k * k)
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
        return cls(float(len(U)), grams.reshape(-1, k, k), rights, tops, bottoms, gram, np.asarray(X.T @ U))

    def moved_towards(self, batch: ItemSums, share: float, n_items: float | None = None) -> ItemSums:
        """Averages per item moved by `share` towards the batch's, as sums over `n_items`: all there are so far."""
        n = self.n + batch.n if n_items is None else float(n_items)
        old, new = (1 - share) * n / max(self.n, 1.0), share * n / batch.n
        return ItemSums(
            n,
            old * self.grams + new * batch.grams,
            old * self.rights + new * batch.rights,
            old * self.bias_tops + new * batch.bias_tops,
            old * self.bias_bottoms + new * batch.bias_bottoms,
            old * self.feature_gram + new * batch.feature_gram,
            old * self.feature_cross + new * batch.feature_cross,
        )


@dataclass(frozen=True, eq=False)
class LabelPriors:
    """What each label is believed to be without items: zero for labels with a row of counts, a guess for the others."""

    means: FloatArray  # (q, k)
    biases: FloatArray  # (q,)
    bias_precisions: FloatArray  # (q,)
    counted: npt.NDArray[np.intp]  # labels that are the rows of the counts, in their order


@dataclass(frozen=True, eq=False)
class OnlineState:
    """Factors of all labels, and the sums they follow from. `factors.items` is empty; a step returns a new state."""

    fit: FactorFit  # counts, priors and solver; its items are not used
    factors: Factors
    priors: LabelPriors
    sums: ItemSums
    steps: float

    def step(self, X: Any, labels: Any, observed: Any, share: float, n_items: float | None = None) -> OnlineState:
        """Learn a batch (rows of X, 0/1 labels and mask of all q labels), moving the averages by `share`.

        `n_items` is their true number where batches are drawn again and again from a set of that size.
        """
        f, penalties = self.factors, self.fit.penalties
        expected = np.asarray(X @ f.weights)
        view = View(f.labels, labels, observed, np.zeros(len(expected)), f.label_bias)
        U = expected
        for _ in range(INNER_ROUNDS):
            U = self.fit.solver.improve(U, [view], penalties.items, expected)
        sums = self.sums.moved_towards(ItemSums.of(X, U, view), share, n_items)
        return self.with_sums(sums)

    def with_sums(self, sums: ItemSums) -> OnlineState:
        """Labels, columns, feature weights and biases that follow from the sums, each once, in the order of a sweep."""
        f, p = self.factors, self.fit.penalties
        labels = self._label_factors(sums)
        bias = f.label_bias
        if self.fit.bias:
            top = sums.bias_tops + self.priors.bias_precisions * self.priors.biases
            bias = top / (sums.bias_bottoms + self.priors.bias_precisions)
        found = replace(f, labels=labels, weights=solve_ridge(sums, p.features / p.items, f.weights), label_bias=bias)
        return replace(self, factors=self._with_counts(found), sums=sums)

    def label_precisions(self, sums: ItemSums) -> FloatArray:
        """(q, k, k) of the labels' systems: items, counts and prior."""
        systems = sums.grams + self.fit.penalties.labels * np.eye(sums.grams.shape[1])
        if self.fit.data.counts is not None:
            weights, _ = self._count_terms()
            k, B = sums.grams.shape[1], self.factors.columns
            outer = (B[:, :, None] * B[:, None, :]).reshape(len(B), -1)
            systems[self.priors.counted] += (weights @ outer).reshape(-1, k, k)
        return systems

    def _label_factors(self, sums: ItemSums) -> FloatArray:
        right = sums.rights + self.fit.penalties.labels * self.priors.means
        if self.fit.data.counts is not None:
            _, targets = self._count_terms()
            right[self.priors.counted] += targets @ self.factors.columns
        return np.linalg.solve(self.label_precisions(sums), right[:, :, None])[:, :, 0]

    def _count_terms(self) -> tuple[FloatArray, FloatArray]:
        """(s, c) weights τ of the counts, and κ − τ (a + c)."""
        rows = self._counted_factors(self.factors)
        view = self.fit.label_views(rows)[1]
        linear = rows.labels @ rows.columns.T
        slopes, weights = view.slopes(rows.labels)
        return weights, slopes + weights * linear

    def _counted_factors(self, f: Factors) -> Factors:
        counted = self.priors.counted
        return replace(f, labels=f.labels[counted], label_bias=f.label_bias[counted])

    def _with_counts(self, f: Factors) -> Factors:
        """Column factors and the biases of the counts, as in a sweep."""
        if self.fit.data.counts is None:
            return f
        rows = self.fit.update_columns(self._counted_factors(f))
        if self.fit.bias:
            rows = self.fit.update_count_biases(rows)
        return replace(f, columns=rows.columns, row_bias=rows.row_bias, column_bias=rows.column_bias)


def solve_ridge(sums: ItemSums, penalty: float, start: FloatArray) -> FloatArray:
    """(d, k) (XᵀX + λI)⁻¹ XᵀU; a large, sparse XᵀX by conjugate gradients."""
    if not sp.issparse(sums.feature_gram):
        L = cholesky(sums.feature_gram + penalty * np.eye(len(sums.feature_gram)), overwrite=True)
        return solve_lower(L, solve_lower(L, sums.feature_cross), transposed=True)
    system = sums.feature_gram + penalty * sp.eye_array(len(start), format="csr")
    columns = zip(sums.feature_cross.T, start.T, strict=True)
    return np.column_stack([cg(system, right, x0=guess, rtol=1e-6)[0] for right, guess in columns])
