"""Which of the three solvers a `LabelGP` uses, by what fits into memory and what is cheaper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.feature_solver import FeatureSolver, LinearMap, NystromMap
from labelwise.numerics.gp.kernel_solver import IterativeSolver, KernelSolver, group_labels
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.masks import distinct_columns

Solver = KernelSolver | IterativeSolver | FeatureSolver
MAX_NUMBERS = 2.5e8  # held in factors of single labels: 2 GB
CG_STEPS = 30  # what conjugate gradients usually take to 1e-8
EXACT_BONUS = 4  # exact factors give variances and cheap extensions too: worth this many times the work
VARIANCE_ROWS = 256  # inducing rows that the iterative solver's variances rest on


@dataclass(frozen=True)
class Limits:
    max_exact: int
    n_inducing: int


def make_solver(
    kernel: Kernel, noise: float, X: Any, observed: BoolArray, limits: Limits, priority: FloatArray
) -> Solver:
    """`priority` (n,): the rows with the least of it become inducing rows where some are needed."""
    n, d = X.shape
    sizes = distinct_columns(observed).columns.sum(axis=0)  # rows of each distinct mask
    width = d + bool(kernel.bias)
    fits = sizes.size * width**2 <= MAX_NUMBERS and width <= limits.max_exact
    if not kernel.rbf and fits and (n > limits.max_exact or width < sizes.mean()):
        return FeatureSolver.fit(LinearMap(kernel), noise, X, observed)
    by_priority = np.argsort(priority)
    if n > limits.max_exact:
        m = min(limits.n_inducing, int(np.sqrt(MAX_NUMBERS / sizes.size)))
        return FeatureSolver.fit(NystromMap.on(kernel, X[np.sort(by_priority[:m])]), noise, X, observed)
    if exact_is_affordable(observed):
        return KernelSolver.fit(kernel, noise, X, observed)
    inducing = NystromMap.on(kernel, X[np.sort(by_priority[:VARIANCE_ROWS])])
    return IterativeSolver.fit(kernel, noise, X, observed, FeatureSolver.fit(inducing, noise, X, observed))


def outgrown(solver: Solver, observed: BoolArray, limits: Limits) -> bool:
    """Whether the solver should be made anew, by another method, for this many rows and answers."""
    if isinstance(solver, FeatureSolver):
        return False
    too_many = observed.shape[0] > limits.max_exact
    return too_many or (isinstance(solver, KernelSolver) and not exact_is_affordable(observed))


def exact_is_affordable(observed: BoolArray) -> bool:
    """Whether a factor for each label's own rows fits, and is not far dearer than conjugate gradients."""
    n, q = observed.shape
    sizes = []
    for position, labels in enumerate(group_labels(observed)):
        own = observed[:, labels]
        if position == 0:  # grouped labels share the rows that all of them have
            own = own[~own.all(axis=1)]
        sizes.append(distinct_columns(own).columns.sum(axis=0) if own.size else np.zeros(0))
    e = np.concatenate(sizes).astype(float)
    return bool((e**2).sum() <= MAX_NUMBERS and (e**3).sum() * 2 / 3 <= EXACT_BONUS * 2 * CG_STEPS * n**2 * q)
