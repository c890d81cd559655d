"""Gaussian process regression of many labels at once where a factor for each label's rows would be too dear."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.feature_solver import FeatureSolver
from labelwise.numerics.kernel_solver import kernel_mean
from labelwise.numerics.kernels import Kernel
from labelwise.numerics.linear_algebra import solve_masked, stack_rows

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class IterativeSolver:
    """Means by conjugate gradients on all labels together, to 1e-8; one kernel matrix and no factor.

    Variances, and the diagonals that leave-one-out needs, come from `approximate`, a Nyström feature space of a few
    hundred rows: they are close, not exact.
    """

    K: FloatArray  # (n, n)
    kernel: Kernel
    noise: float
    X: Any
    observed: BoolArray
    approximate: FeatureSolver

    @classmethod
    def fit(
        cls, kernel: Kernel, noise: float, X: Any, observed: BoolArray, approximate: FeatureSolver
    ) -> IterativeSolver:
        return cls(kernel(X), kernel, noise, X, observed, approximate)

    @cached_property
    def precision_diagonal(self) -> FloatArray:
        """(n, q): a row left out has the variance it has in the feature space plus what that space cannot express."""
        lost = self.approximate.feature_map.lost(self.X)  # (n,)
        left_out = 1 / self.approximate.precision_diagonal + lost[:, None]
        return np.where(self.observed, 1 / left_out, 1.0)

    def extend(self, X_new: Any, observed: BoolArray) -> IterativeSolver:
        border = self.kernel(X_new, self.X)
        K = np.block([[self.K, border.T], [border, self.kernel(X_new)]])
        X = stack_rows(self.X, X_new)
        approximate = self.approximate.extend(X_new, observed)
        return IterativeSolver(K, self.kernel, self.noise, X, observed, approximate)

    def solve(self, right_side: FloatArray, labels: IntArray, start: FloatArray | None = None) -> FloatArray:
        return solve_masked(lambda V: self.K @ V + self.noise * V, right_side, self.observed[:, labels], start=start)

    def weights(self, solution: FloatArray) -> FloatArray:
        return solution

    def mean(self, X: Any, weights: FloatArray) -> FloatArray:
        return kernel_mean(self.kernel, X, self.X, weights)

    def variances(self, X: Any) -> FloatArray:
        return self.approximate.variances(X)
