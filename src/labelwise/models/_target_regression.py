"""The regression of targets on prepared rows: means, variances and leaving one out, for every group of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from labelwise.models._target_search import KernelGroup, kernel_matrix
from labelwise.numerics.kernels import Kernel
from labelwise.numerics.linear_algebra import cholesky, solve_lower
from labelwise.numerics.target_kernel import Products, ShapeSpectrum
from labelwise.posterior import FloatArray

BLOCK = 2048  # items whose kernel to the training rows is held at once


@dataclass(frozen=True, eq=False)
class GroupRegression:
    """Targets of one kernel, given the rows X. Everything is computed when first asked for."""

    group: KernelGroup
    X: Any  # (n, d) prepared
    products: Products
    targets: FloatArray  # (n, k) of this group

    @cached_property
    def spectrum(self) -> ShapeSpectrum:
        return ShapeSpectrum.of(kernel_matrix(self.group.kernel, self.products), self.targets)

    @cached_property
    def weights(self) -> FloatArray:
        return self.spectrum.weights(self.group.ratios)  # (n, k)

    def means(self, X: Any) -> FloatArray:
        """(m, k) equation (16), or (19)."""
        return self._walk(X, lambda K: K.T @ self.weights)

    def variances(self, X: Any) -> FloatArray:
        """(m, k) of a noisy target at each item: one factor for a single target, the eigenvectors for several, (19)."""
        ratios, prior = self.group.ratios, self.group.kernel.diagonal(X)
        if ratios.size == 1:
            C = kernel_matrix(self.group.kernel, self.products)
            C[np.diag_indices_from(C)] += ratios[0]
            L = cholesky(C, overwrite=True)
            explained = self._walk(X, lambda K: (solve_lower(L, K) ** 2).sum(axis=0)[:, None])
        else:
            shrink = 1 / (self.spectrum.eigenvalues[:, None] + ratios)  # (n, k)
            Q = self.spectrum.vectors
            explained = self._walk(X, lambda K: np.square(Q.T @ K).T @ shrink)
        return self.group.scales * (np.maximum(prior[:, None] - explained, 0.0) + ratios)

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """(n, k) means and variances of each row's targets given the other rows; targets are centred, and without the
        row they would be centred otherwise."""
        ratios = self.group.ratios
        precision = self.spectrum.precision_diagonals(ratios)
        mean = self.targets - self.weights / precision
        n = len(self.targets)
        ones = self.spectrum.vectors @ (
            self.spectrum.vectors.sum(axis=0)[:, None] / (self.spectrum.eigenvalues[:, None] + ratios)
        )
        mean += (1 - ones / precision) / max(n - 1, 1) * self.targets
        return mean, self.group.scales / precision

    def _walk(self, X: Any, function: Any) -> FloatArray:
        """`function` of K(known, block) for blocks of rows of X, stacked."""
        parts = [function(self.group.kernel(self.X, X[start : start + BLOCK])) for start in range(0, X.shape[0], BLOCK)]
        return np.vstack(parts) if parts else np.zeros((0, self.group.ratios.size))


@dataclass(frozen=True, eq=False)
class TargetRegression:
    """All targets of a model together."""

    groups: tuple[GroupRegression, ...]
    n_targets: int

    @classmethod
    def of(cls, groups: tuple[KernelGroup, ...], X: Any, products: Products, targets: FloatArray) -> TargetRegression:
        made = tuple(GroupRegression(group, X, products, targets[:, group.targets]) for group in groups)
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
