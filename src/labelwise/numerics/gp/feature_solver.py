"""Gaussian process regression of many labels at once in a finite feature space: memory n × D instead of n × n."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray, distinct_columns
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.linear_algebra import cholesky, dense, solve_cholesky, solve_lower, stack_rows

BLOCK = 4096  # rows whose dense features are held at once
JITTER = 1e-8  # added to the inducing rows' kernel, relative to its diagonal: they may be duplicates


@dataclass(frozen=True, eq=False)
class LinearMap:
    """x ↦ φ(x) of a kernel without rbf part; exact."""

    kernel: Kernel

    def __call__(self, X: Any) -> Any:
        return self.kernel.features(X)

    def lost(self, X: Any) -> FloatArray:
        """(n,) κ(x, x) − |φ(x)|²: the variance the feature space cannot express."""
        return np.zeros(X.shape[0])


@dataclass(frozen=True, eq=False)
class NystromMap:
    """x ↦ L⁻¹ κ(Z, x) with L Lᵀ = κ(Z, Z): the best approximation of κ by functions of m inducing rows Z."""

    kernel: Kernel
    Z: Any  # (m, d)
    L_zz: FloatArray  # (m, m)

    @classmethod
    def on(cls, kernel: Kernel, Z: Any) -> NystromMap:
        K_zz = kernel(Z)
        K_zz[np.diag_indices_from(K_zz)] += JITTER * max(float(K_zz.diagonal().mean()), np.finfo(float).tiny)
        return cls(kernel, Z, cholesky(K_zz, overwrite=True))

    def __call__(self, X: Any) -> FloatArray:
        features = np.empty((X.shape[0], self.L_zz.shape[0]))
        for start in range(0, X.shape[0], BLOCK):
            features[start : start + BLOCK] = solve_lower(self.L_zz, self.kernel(self.Z, X[start : start + BLOCK])).T
        return features

    def lost(self, X: Any) -> FloatArray:
        features = self(X)
        return np.maximum(self.kernel.diagonal(X) - np.einsum("nd,nd->n", features, features), 0.0)


@dataclass(frozen=True, eq=False)
class Mask:
    """Labels answered on the same rows, with their A = Φ[O]ᵀ Φ[O] + noise I."""

    labels: IntArray
    gram: FloatArray  # (D, D)


@dataclass(frozen=True, eq=False)
class FeatureSolver:
    """Ridge regression on features Φ (n, D), which is Gaussian process regression with K = Φ Φᵀ.

    One D × D system per distinct set of answered rows. Extending it returns a new one; nothing is changed.
    """

    feature_map: LinearMap | NystromMap
    noise: float
    features: Any  # (n, D) dense or csr
    observed: BoolArray  # (n, q)
    masks: tuple[Mask, ...]
    precision_diagonal: FloatArray  # (n, q), 1 where not observed

    @classmethod
    def fit(cls, feature_map: LinearMap | NystromMap, noise: float, X: Any, observed: BoolArray) -> FeatureSolver:
        features = feature_map(X)
        labels = np.arange(observed.shape[1])
        empty = Mask(labels, noise * np.eye(features.shape[1]))
        bare = cls(feature_map, noise, features, observed, (empty,), np.ones(observed.shape))
        return bare._with_answers(observed)

    def extend(self, X_new: Any, observed: BoolArray) -> FeatureSolver:
        """With more rows, and more answers on the old ones; `observed` covers all rows and keeps every old answer."""
        fresh = observed.copy()
        fresh[: self.observed.shape[0]] &= ~self.observed
        features = stack_rows(self.features, self.feature_map(X_new))
        diagonal = np.ones(observed.shape)
        diagonal[: self.observed.shape[0]] = self.precision_diagonal
        grown = replace(self, features=features, observed=observed, precision_diagonal=diagonal)
        return grown._with_answers(fresh)

    def _with_answers(self, fresh: BoolArray) -> FeatureSolver:
        """Masks parted and their matrices grown by the fresh answers (n, q); only labels that got some are touched."""
        masks = []
        for mask in self.masks:
            distinct = distinct_columns(fresh[:, mask.labels])
            for kind, members in enumerate(distinct.groups()):
                labels, rows = mask.labels[members], np.flatnonzero(distinct.columns[:, kind])
                if rows.size == 0:
                    masks.append(Mask(labels, mask.gram))
                    continue
                grown = Mask(labels, mask.gram + gram(self._rows(rows)))
                masks.append(grown)
                mine = np.flatnonzero(self.observed[:, labels[0]])
                leverage = quadratic_forms(grown.gram, self._rows(mine))  # φᵀ A⁻¹ φ
                self.precision_diagonal[np.ix_(mine, labels)] = ((1 - leverage) / self.noise)[:, None]
        return replace(self, masks=tuple(masks))

    def solve(self, right_side: FloatArray, labels: IntArray, start: FloatArray | None = None) -> FloatArray:
        """(n, k): column c is C[O, O]⁻¹ b[O] = (b − Φ w) / noise on the rows O of label labels[c], zero elsewhere."""
        solution = np.zeros(right_side.shape)
        for mask in self.masks:
            columns = np.flatnonzero(np.isin(labels, mask.labels))
            rows = np.flatnonzero(self.observed[:, mask.labels[0]])
            if columns.size and rows.size:
                phi, b = self._rows(rows), right_side[np.ix_(rows, columns)]
                L = cholesky(mask.gram)
                w = solve_cholesky(L, phi.T @ b)  # (D, columns)
                solution[np.ix_(rows, columns)] = (b - phi @ w) / self.noise
        return solution

    def weights(self, solution: FloatArray) -> FloatArray:
        """What `mean` needs of a solution: w = Φᵀ α, one weight per feature."""
        return np.asarray(self.features.T @ solution)

    def mean(self, X: Any, weights: FloatArray) -> FloatArray:
        """(m, k) predictions φ(X) @ weights."""
        return _by_blocks(lambda block: np.asarray(self.feature_map(block) @ weights), X, weights.shape[1])

    def variances(self, X: Any) -> FloatArray:
        """(m, q) posterior variance of each label's function, without noise, in units of the kernel."""
        return _by_blocks(self._block_variances, X, self.observed.shape[1])

    def _block_variances(self, X: Any) -> FloatArray:
        features, lost = self.feature_map(X), self.feature_map.lost(X)
        result = np.empty((X.shape[0], self.observed.shape[1]))
        for mask in self.masks:
            result[:, mask.labels] = (lost + self.noise * quadratic_forms(mask.gram, features))[:, None]
        return result

    def _rows(self, rows: IntArray) -> Any:
        return self.features if rows.size == self.features.shape[0] else self.features[rows]


def quadratic_forms(A: FloatArray, features: Any) -> FloatArray:
    """(n,) of φᵀ A⁻¹ φ, in blocks of rows; csr rows touch only the columns of A⁻¹ where they are not zero."""
    L = cholesky(A)
    if sp.issparse(features):
        L_inv = solve_lower(L, np.eye(L.shape[0]))
        A_inv = L_inv.T @ L_inv  # (D, D)
        return _by_blocks(lambda phi: phi.multiply(phi @ A_inv).sum(axis=1)[:, None], features, 1)[:, 0]
    return _by_blocks(lambda phi: np.sum(solve_lower(L, phi.T) ** 2, axis=0)[:, None], features, 1)[:, 0]


def gram(features: Any) -> FloatArray:
    """(D, D) Φᵀ Φ."""
    return dense(features.T @ features)


def _by_blocks(function: Callable[[Any], FloatArray], X: Any, width: int) -> FloatArray:
    result = np.empty((X.shape[0], width))
    for start in range(0, X.shape[0], BLOCK):
        result[start : start + BLOCK] = function(X[start : start + BLOCK])
    return result
