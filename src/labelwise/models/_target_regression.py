"""The regression of targets on prepared rows: means, variances and leaving one out, for every group of kernels.

A target is regressed on the rows where it is known and on no others. Targets of one kernel that are known on the same
rows share one eigendecomposition, as all do where rows are complete; otherwise there are as many factors as different
sets of rows, each of the size of its set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.models._target_search import KernelGroup, kernel_matrix
from labelwise.models.base import BoolArray
from labelwise.numerics.kernels import Kernel
from labelwise.numerics.linear_algebra import cholesky, inverse_diagonal, solve_lower
from labelwise.numerics.masks import distinct_columns
from labelwise.numerics.target_kernel import Products, ShapeSpectrum
from labelwise.posterior import FloatArray

IntArray = npt.NDArray[np.intp]
BLOCK = 2048  # items whose kernel to the training rows is held at once


@dataclass(frozen=True, eq=False)
class _SameRows:
    """Targets of one kernel that are known on the same m rows: eigenvectors for several, one factor for a single one,
    which is made again when it is needed, for there may be many."""

    kernel: Kernel
    products: Products  # of all n rows
    rows: IntArray  # (m,)
    columns: IntArray  # (j,) which targets of the group they are
    ratios: FloatArray  # (j,)
    targets: FloatArray  # (m, j)

    @property
    def matrix(self) -> FloatArray:
        whole = self.rows.size == self.products.inner.shape[0]
        return kernel_matrix(self.kernel, self.products if whole else self.products.take(self.rows))

    @cached_property
    def spectrum(self) -> ShapeSpectrum:
        return ShapeSpectrum.of(self.matrix, self.targets)

    def factor(self) -> FloatArray:
        """(m, m) lower, of a single target."""
        C = self.matrix
        C[np.diag_indices_from(C)] += self.ratios[0]
        return cholesky(C, overwrite=True)

    def weights(self) -> FloatArray:
        """(m, j) what a kernel row multiplies to give means."""
        if self.ratios.size > 1:
            return self.spectrum.weights(self.ratios)
        return _solve(self.factor(), self.targets)

    def explained(self, K: FloatArray) -> FloatArray:
        """(b, j) what the rows take from the variances of items, whose kernels with all rows are K (n, b)."""
        K = K if self.rows.size == K.shape[0] else K[self.rows]
        if self.ratios.size > 1:
            shrink = 1 / (self.spectrum.eigenvalues[:, None] + self.ratios)  # (m, j)
            return np.square(self.spectrum.vectors.T @ K).T @ shrink
        return (solve_lower(self.factor(), K) ** 2).sum(axis=0)[:, None]

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """(m, j) means given the other rows, and the precision of each target given them, over the scale."""
        if self.ratios.size > 1:
            Q, spread = self.spectrum.vectors, self.spectrum.eigenvalues[:, None] + self.ratios
            precision, weights = self.spectrum.precision_diagonals(self.ratios), self.spectrum.weights(self.ratios)
            ones = Q @ (Q.sum(axis=0)[:, None] / spread)
        else:
            L = self.factor()
            both = _solve(L, np.hstack([self.targets, np.ones((self.rows.size, 1))]))
            precision, weights, ones = inverse_diagonal(L)[:, None], both[:, :1], both[:, 1:]
        mean = self.targets - weights / precision
        mean += (1 - ones / precision) / max(self.rows.size - 1, 1) * self.targets
        return mean, precision


@dataclass(frozen=True, eq=False)
class GroupRegression:
    """Targets of one kernel, each given the rows where it is known. Everything is computed when first asked for."""

    group: KernelGroup
    X: Any  # (n, d) prepared
    products: Products
    targets: FloatArray  # (n, k) of this group
    known: BoolArray  # (n, k) what of them is known; nothing else is read

    @cached_property
    def parts(self) -> list[_SameRows]:
        kinds, found = distinct_columns(self.known), []
        for kind, columns in enumerate(kinds.groups()):
            rows = np.flatnonzero(kinds.columns[:, kind])
            targets = self.targets[np.ix_(rows, columns)]
            found.append(
                _SameRows(self.group.kernel, self.products, rows, columns, self.group.ratios[columns], targets)
            )
        return found

    @cached_property
    def weights(self) -> FloatArray:
        """(n, k), 0 where a target is not known."""
        result = np.zeros(self.targets.shape)
        for part in self.parts:
            result[np.ix_(part.rows, part.columns)] = part.weights()
        return result

    def means(self, X: Any) -> FloatArray:
        """(m, k) equation (16), or (19)."""
        return self._walk(X, lambda K: K.T @ self.weights)

    def variances(self, X: Any) -> FloatArray:
        """(m, k) of a noisy target at each item, (16) or (19)."""
        prior = self.group.kernel.diagonal(X)
        explained = self._walk(X, self._explained)
        return self.group.scales * (np.maximum(prior[:, None] - explained, 0.0) + self.group.ratios)

    def _explained(self, K: FloatArray) -> FloatArray:
        result = np.empty((K.shape[1], self.group.ratios.size))
        for part in self.parts:
            result[:, part.columns] = part.explained(K)
        return result

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """(n, k) means and variances of each row's targets given the other rows; targets are centred, and without the
        row they would be centred otherwise. Where a target is not known, the mean is that of all its rows, and the
        variance, which would be dear, is 0."""
        variance = np.zeros(self.targets.shape)
        mean = variance.copy() if self.known.all() else self.means(self.X)
        for part in self.parts:
            place = np.ix_(part.rows, part.columns)
            mean[place], precision = part.left_out()
            variance[place] = self.group.scales[part.columns] / precision
        return mean, variance

    def _walk(self, X: Any, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """`function` of K(known, block) for blocks of rows of X, stacked."""
        parts = [function(self.group.kernel(self.X, X[start : start + BLOCK])) for start in range(0, X.shape[0], BLOCK)]
        return np.vstack(parts) if parts else np.zeros((0, self.group.ratios.size))


@dataclass(frozen=True, eq=False)
class TargetRegression:
    """All targets of a model together."""

    groups: tuple[GroupRegression, ...]
    n_targets: int

    @classmethod
    def of(
        cls, groups: tuple[KernelGroup, ...], X: Any, products: Products, targets: FloatArray, known: BoolArray
    ) -> TargetRegression:
        made = tuple(
            GroupRegression(group, X, products, targets[:, group.targets], known[:, group.targets]) for group in groups
        )
        return cls(made, targets.shape[1])

    def means(self, X: Any) -> FloatArray:
        return self._put([group.means(X) for group in self.groups])  # (m, k)

    def variances(self, X: Any) -> FloatArray:
        return self._put([group.variances(X) for group in self.groups])  # (m, k)

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        found = [group.left_out() for group in self.groups]
        return self._put([mean for mean, _ in found]), self._put([variance for _, variance in found])

    @property
    def kernel(self) -> Kernel:
        """That of the group with most targets."""
        return max((group.group for group in self.groups), key=lambda group: group.targets.size).kernel

    def _put(self, parts: list[FloatArray]) -> FloatArray:
        result = np.empty((parts[0].shape[0], self.n_targets))
        for group, part in zip(self.groups, parts, strict=True):
            result[:, group.group.targets] = part
        return result


def _solve(L: FloatArray, B: FloatArray) -> FloatArray:
    return solve_lower(L, solve_lower(L, B), transposed=True)
