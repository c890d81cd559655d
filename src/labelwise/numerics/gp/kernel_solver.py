"""Gaussian process regression of many labels at once in kernel space, where every label has its own answered rows.

Every label j has its own system C[O, O] with O its answered rows. Answers come as whole items and as single (item,
label) pairs, so that most labels share a *core* of rows and differ in a few others. `KernelSolver` factorises the core
once; what is left of a label is the Schur complement on its own other rows, S = C_uu − C_uc C_cc⁻¹ C_cu restricted to
them. `IterativeSolver` serves where a factor for each label's rows would be too dear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray, distinct_columns
from labelwise.numerics.gp.feature_solver import FeatureSolver
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.linear_algebra import CholeskyFactor, add_diagonal, solve_lower, solve_masked, stack_rows

CORE_SHARES, WORTH_A_GROUP = (0.5, 0.7, 0.9, 0.97), 1.5
BLOCK, BLOCK_NUMBERS = 1024, 2**20  # so many rows of a pool, or numbers, of its kernel to the training rows at once
MAX_FEATURE_WEIGHTS = 2**24  # numbers
Covariance = Callable[[IntArray, IntArray], FloatArray]  # (rows, rows) ↦ that block of C, as a new array


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
            return add_diagonal(self.kernel(self.X[rows]), self.noise)
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


@dataclass(frozen=True, eq=False)
class Pattern:
    """Labels answered on the same rows: the core and `extra`."""

    labels: IntArray  # columns of the label matrix
    extra: IntArray  # (e,) positions in the group's `others`, in order of arrival
    factor: CholeskyFactor  # of S[extra, extra]


@dataclass(frozen=True, eq=False)
class LabelGroup:
    """Labels that share the rows `core`, factorised. Unchanged parts are shared between a group and its extension."""

    core: IntArray  # (c,) rows that every label of the group has
    core_factor: CholeskyFactor
    others: IntArray  # (u,) rows that some of the labels have
    projection: FloatArray  # (c, u) C_cc⁻¹ C_cu
    schur: FloatArray  # (u, u) S
    patterns: tuple[Pattern, ...]
    grows_core: bool  # whether a row that all labels have joins the core

    @classmethod
    def factorise(cls, C: Covariance, labels: IntArray, observed: BoolArray, *, grows_core: bool) -> LabelGroup:
        """`observed` (n, q); a group without a growing core keeps its core empty."""
        everywhere = observed[:, labels].all(axis=1) if grows_core and labels.size else np.zeros(len(observed), bool)
        core = np.flatnonzero(everywhere)
        core_factor = CholeskyFactor.of(C(core, core), overwrite=True)
        none = np.zeros(0, dtype=np.intp)
        empty = Pattern(labels, none, CholeskyFactor(np.zeros((0, 0)), np.zeros(0)))
        start = cls(core, core_factor, none, np.zeros((core.size, 0)), np.zeros((0, 0)), (empty,), grows_core)
        fresh = observed.copy()
        fresh[core] = False
        return start._with_others(C, fresh)

    @property
    def labels(self) -> IntArray:
        return np.concatenate([pattern.labels for pattern in self.patterns])

    def extend(self, C: Covariance, fresh: BoolArray) -> LabelGroup:
        """The group after the answers `fresh` (n, q), none of which it had; rows are numbered as in C."""
        labels = self.labels
        fresh_rows = np.flatnonzero(fresh[:, labels].any(axis=1))
        group, rest = self, fresh
        if self.grows_core:
            full = fresh_rows[fresh[np.ix_(fresh_rows, labels)].all(axis=1)]
            full = full[~np.isin(full, self.others)]
            if full.size:
                group = self._with_core(C, full)
                rest = fresh.copy()
                rest[full] = False
        return group._with_others(C, rest)

    def _with_core(self, C: Covariance, full: IntArray) -> LabelGroup:
        """Rows that all labels have, appended to the core; every label's own factor is made anew from S."""
        C_fc = C(full, self.core)
        factor = self.core_factor.append(C_fc, C(full, full))
        L_ff = factor.L[self.core.size :, self.core.size :]
        Z = solve_lower(L_ff, C(full, self.others) - C_fc @ self.projection)  # (f, u)
        schur = self.schur - Z.T @ Z
        lower = solve_lower(L_ff, Z, transposed=True)  # (f, u): the new rows of the projection
        upper = self.projection - self.core_factor.solve(C_fc.T) @ lower  # (c, u)
        patterns = tuple(
            Pattern(
                p.labels, p.extra, CholeskyFactor.of(schur[p.extra[:, None], p.extra]) if p.extra.size else p.factor
            )
            for p in self.patterns
        )
        core, projection = np.concatenate([self.core, full]), np.vstack([upper, lower])
        return LabelGroup(core, factor, self.others, projection, schur, patterns, self.grows_core)

    def _with_others(self, C: Covariance, fresh: BoolArray) -> LabelGroup:
        """Answers on rows outside the core, appended to the factors of the labels that got them and to no other."""
        rows = np.flatnonzero(fresh[:, self.labels].any(axis=1))
        if rows.size == 0:
            return self
        others, projection, schur = self.others, self.projection, self.schur
        unseen = rows[~np.isin(rows, others)]
        if unseen.size:
            C_uc = C(unseen, self.core)  # (m, c)
            border = C(unseen, others) - C_uc @ projection  # (m, u)
            added = self.core_factor.solve(C_uc.T)  # (c, m)
            corner = C(unseen, unseen) - C_uc @ added
            others = np.concatenate([others, unseen])
            projection = np.hstack([projection, added])
            schur = np.block([[schur, border.T], [border, corner]])
        position = np.full(fresh.shape[0], -1)
        position[others] = np.arange(others.size)
        patterns = tuple(
            part for pattern in self.patterns for part in _split(pattern, fresh[rows], position[rows], schur)
        )
        return LabelGroup(self.core, self.core_factor, others, projection, schur, patterns, self.grows_core)

    def solve(self, right_side: FloatArray, owners: IntArray, out: FloatArray) -> None:
        """out[:, j] = C[O, O]⁻¹ b[O] with the rows O of label owners[j], for the columns j that belong to the group."""
        parts = self._columns(owners)
        if not parts:
            return
        columns = np.concatenate([mine for _, mine in parts])
        core_side = right_side[np.ix_(self.core, columns)]  # (c, k)
        on_others = np.zeros((self.others.size, columns.size))
        at = 0
        for pattern, mine in parts:
            here, at = slice(at, at + mine.size), at + mine.size
            if pattern.extra.size:
                own = right_side[self.others[pattern.extra][:, None], mine]
                own = own - self.projection[:, pattern.extra].T @ core_side[:, here]
                on_others[pattern.extra, here] = pattern.factor.solve(own)
        out[np.ix_(self.core, columns)] = self.core_factor.solve(core_side) - self.projection @ on_others
        out[np.ix_(self.others, columns)] = on_others

    def precision_diagonals(self, labels: IntArray, out: FloatArray) -> None:
        """out[:, j] = diag(C[O, O]⁻¹) for each of `labels` in the group; entries of other rows are left alone."""
        for pattern, mine in self._columns(labels):
            columns = labels[mine]
            spread = pattern.factor.half_solve(self.projection[:, pattern.extra].T)  # (e, c)
            core = self.core_factor.inverse_diagonal + np.einsum("ec,ec->c", spread, spread)
            out[self.core[:, None], columns] = core[:, None]
            own = pattern.factor.inverse_diagonal[:, None]
            out[self.others[pattern.extra][:, None], columns] = own

    def explained(self, C_new: FloatArray, out: FloatArray) -> None:
        """out[:, j] = k C[O, O]⁻¹ kᵀ for each label j of the group; C_new (m, n) holds the rows k for all n rows."""
        on_core = C_new[:, self.core].T  # (c, m)
        Linv_k = self.core_factor.half_solve(on_core)  # (c, m)
        shared = np.einsum("cm,cm->m", Linv_k, Linv_k)
        left = C_new[:, self.others].T - self.projection.T @ on_core  # (u, m)
        for pattern in self.patterns:
            Linv_k = pattern.factor.half_solve(left[pattern.extra])  # (e, m)
            out[:, pattern.labels] = (shared + np.einsum("em,em->m", Linv_k, Linv_k))[:, None]

    def _columns(self, owners: IntArray) -> list[tuple[Pattern, IntArray]]:
        """The patterns that own some of the columns, and which columns they own."""
        which = np.full(max(int(self.labels.max(initial=0)), int(owners.max(initial=0))) + 1, -1)
        for number, pattern in enumerate(self.patterns):
            which[pattern.labels] = number
        theirs = which[owners]
        order = np.argsort(theirs, kind="stable")
        starts = np.searchsorted(theirs[order], np.arange(len(self.patterns) + 1))
        parts = zip(self.patterns, starts[:-1], starts[1:], strict=True)
        return [(pattern, order[a:b]) for pattern, a, b in parts if a < b]


def _split(pattern: Pattern, fresh: BoolArray, positions: IntArray, schur: FloatArray) -> list[Pattern]:
    """The pattern's labels, parted by which of the fresh rows (m, q) they got, with their factors extended."""
    distinct = distinct_columns(fresh[:, pattern.labels])
    parts = []
    for kind, members in enumerate(distinct.groups()):
        labels, new = pattern.labels[members], positions[distinct.columns[:, kind]]
        if new.size == 0:
            parts.append(Pattern(labels, pattern.extra, pattern.factor))
            continue
        factor = pattern.factor.append(schur[new[:, None], pattern.extra], schur[new[:, None], new])
        parts.append(Pattern(labels, np.concatenate([pattern.extra, new]), factor))
    return parts


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
