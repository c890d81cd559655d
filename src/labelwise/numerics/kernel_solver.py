"""Gaussian process regression of many labels at once in kernel space, where every label has its own answered rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.kernels import Kernel
from labelwise.numerics.label_groups import IntArray, LabelGroup
from labelwise.numerics.linear_algebra import stack_rows

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]
CORE_SHARES, WORTH_A_GROUP = (0.5, 0.7, 0.9, 0.97), 1.5
BLOCK, BLOCK_NUMBERS = 1024, 2**20  # so many rows of a pool, or numbers, of its kernel to the training rows at once
MAX_FEATURE_WEIGHTS = 2**24  # numbers


@dataclass(frozen=True, eq=False)
class KernelSolver:
    """C = K + noise I factorised on each label's answered rows. Extending it returns a new one; nothing is changed.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> observed = np.array([[True, True], [True, False], [True, True]])
    >>> solver = KernelSolver.fit(Kernel(rbf=1.0), 0.5, X, observed)
    >>> targets = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 1.0]])
    >>> weights = solver.weights(solver.solve(targets, np.arange(2)))
    >>> solver.mean(X, weights).round(2)
    array([[ 0.63,  0.03],
           [ 0.  ,  0.37],
           [-0.63,  0.66]])
    """

    kernel: Kernel
    noise: float
    X: Any  # (n, d) dense or csr
    observed: BoolArray  # (n, q)
    groups: tuple[LabelGroup, ...]
    precision_diagonal: FloatArray  # (n, q) diag(C[O, O]⁻¹) on each label's rows O, 1 elsewhere

    @classmethod
    def fit(cls, kernel: Kernel, noise: float, X: Any, observed: BoolArray) -> KernelSolver:
        bare = cls(kernel, noise, X, observed, (), np.ones(observed.shape))
        together, apart = group_labels(observed)
        groups = [LabelGroup.factorise(bare._covariance, together, observed, grows_core=True)] if together.size else []
        if apart.size:
            groups.append(LabelGroup.factorise(bare._covariance, apart, observed, grows_core=False))
        return replace(bare, groups=tuple(groups))._with_precision(np.arange(observed.shape[1]))

    def extend(self, X_new: Any, observed: BoolArray) -> KernelSolver:
        """With more rows, and more answers on the old ones; `observed` covers all rows and keeps every old answer."""
        fresh = observed.copy()
        fresh[: self.observed.shape[0]] &= ~self.observed
        diagonal = np.ones(observed.shape)
        diagonal[: self.observed.shape[0]] = self.precision_diagonal
        grown = replace(self, X=stack_rows(self.X, X_new), observed=observed, precision_diagonal=diagonal)
        groups = tuple(group.extend(grown._covariance, fresh) for group in self.groups)
        return replace(grown, groups=groups)._with_precision(np.flatnonzero(fresh.any(axis=0)))

    def solve(self, right_side: FloatArray, labels: IntArray, start: FloatArray | None = None) -> FloatArray:
        """(n, k): column c is C[O, O]⁻¹ b[O] on the rows O of label labels[c], zero elsewhere."""
        solution = np.zeros(right_side.shape)
        for group in self.groups:
            group.solve(right_side, labels, solution)
        return solution

    def weights(self, solution: FloatArray) -> FloatArray:
        """What `mean` needs of a solution: here the solution itself, one weight per training row."""
        return solution

    def mean(self, X: Any, weights: FloatArray) -> FloatArray:
        """(m, k) predictions K(X, training rows) @ weights."""
        return kernel_mean(self.kernel, X, self.X, weights)

    def variances(self, X: Any) -> FloatArray:
        """(m, q) posterior variance of each label's function, without noise, in units of the kernel."""
        result = np.zeros((X.shape[0], self.observed.shape[1]))
        for start in range(0, X.shape[0], BLOCK):
            block = X[start : start + BLOCK]
            explained = np.zeros((block.shape[0], result.shape[1]))
            K_new = self.kernel(block, self.X)  # (block, n)
            for group in self.groups:
                group.explained(K_new, explained)
            result[start : start + BLOCK] = np.maximum(self.kernel.diagonal(block)[:, None] - explained, 0.0)
        return result

    def _covariance(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """C[rows, columns]; the two are the same array or have no row in common."""
        if rows is columns:
            C = self.kernel(self.X[rows])
            C[np.diag_indices_from(C)] += self.noise
            return C
        return self.kernel(self.X[rows], self.X[columns])

    def _with_precision(self, labels: IntArray) -> KernelSolver:
        for group in self.groups:
            group.precision_diagonals(labels, self.precision_diagonal)
        return self


def group_labels(observed: BoolArray) -> tuple[IntArray, IntArray]:
    """Labels to factorise around a shared core, and labels apart: late ones, whose few rows would shrink the core.

    Tried are all labels together, and those that have every row which a given share of the labels has. A second group
    must save a good part of the flops, for it holds rows of its own.
    """
    answered = np.asarray(observed.any(axis=0))
    answers = observed.sum(axis=0).astype(float)  # (q,)
    coverage = observed[:, answered].mean(axis=1) if answered.any() else np.zeros(len(observed))
    covering = [np.asarray(observed[coverage >= share].all(axis=0)) for share in CORE_SHARES]
    choices: list[BoolArray] = [answered, *(answered & covers for covers in covering)]

    def flops(together: BoolArray) -> float:
        core = observed[:, together].all(axis=1).sum() if together.any() else 0
        return core**3 + ((answers - core * together) ** 3).sum() + core * ((answers[together] - core) ** 2).sum()

    together = min(choices, key=lambda choice: flops(choice) * (1.0 if choice is answered else WORTH_A_GROUP))
    return np.flatnonzero(together), np.flatnonzero(~together)


def kernel_mean(kernel: Kernel, X: Any, X_train: Any, weights: FloatArray) -> FloatArray:
    """(m, k) κ(X, X_train) @ weights, by blocks of rows of X.

    A linear kernel of ours needs no kernel matrix: its weights of rows are weights of features.
    """
    (n, d), k = X_train.shape, weights.shape[1]
    if isinstance(kernel, Kernel) and not kernel.rbf and k <= n and d * k <= MAX_FEATURE_WEIGHTS:
        on_features = kernel.linear * np.asarray(X_train.T @ weights)  # (d, k)
        return np.asarray(X @ on_features) + kernel.bias * weights.sum(axis=0)
    result = np.empty((X.shape[0], k))
    size = max(BLOCK, BLOCK_NUMBERS // max(n, 1))
    for start in range(0, X.shape[0], size):
        result[start : start + size] = kernel(X[start : start + size], X_train) @ weights
    return result
