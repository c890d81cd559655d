"""Exact factors for labels that were answered on different rows, sharing what their rows have in common.

Every label j has its own system C[O, O] with O its answered rows. Answers come as whole items and as single (item,
label) pairs, so that most labels share a *core* of rows and differ in a few others. The core is factorised once; what
is left of a label is the Schur complement on its own other rows, S = C_uu − C_uc C_cc⁻¹ C_cu restricted to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.linear_algebra import CholeskyFactor, solve_lower
from labelwise.numerics.masks import distinct_columns

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]
Covariance = Callable[[IntArray, IntArray], FloatArray]  # (rows, rows) ↦ that block of C, as a new array


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
        half = self.core_factor.half_solve(on_core)
        shared = np.einsum("cm,cm->m", half, half)
        left = C_new[:, self.others].T - self.projection.T @ on_core  # (u, m)
        for pattern in self.patterns:
            half = pattern.factor.half_solve(left[pattern.extra])
            out[:, pattern.labels] = (shared + np.einsum("em,em->m", half, half))[:, None]

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
