"""Cholesky factors, growing by rows or of low rank, conjugate gradients for many masked systems, rows dense or csr."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit
from scipy.linalg import lapack

from labelwise.numerics.arrays import BoolArray, FloatArray

NEGLIGIBLE = 1e-10  # a residual below this share of the largest diagonal entry is rounding
LANES = 32  # matrices factorised side by side: their triangles stay in cache


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """L with L Lᵀ = C, and the diagonal of C⁻¹, both kept exact while rows are appended.

    Examples
    --------
    >>> C = np.array([[4.0, 2.0], [2.0, 5.0]])
    >>> factor = CholeskyFactor.of(C[:1, :1]).append(C[1:, :1], C[1:, 1:])
    >>> factor.solve(C)
    array([[1., 0.],
           [0., 1.]])
    >>> np.allclose(factor.inverse_diagonal, np.linalg.inv(C).diagonal())
    True
    """

    L: FloatArray  # (n, n), lower
    inverse_diagonal: FloatArray  # (n,)

    @classmethod
    def of(cls, C: FloatArray, *, overwrite: bool = False) -> CholeskyFactor:
        L = cholesky(C, overwrite=overwrite)
        return cls(L, inverse_diagonal(L))

    @property
    def size(self) -> int:
        return self.L.shape[0]

    def half_solve(self, B: FloatArray) -> FloatArray:
        """L⁻¹ B."""
        return solve_lower(self.L, B)

    def solve(self, B: FloatArray) -> FloatArray:
        """C⁻¹ B."""
        return solve_cholesky(self.L, B)

    def append(self, C_new_old: FloatArray, C_new: FloatArray) -> CholeskyFactor:
        """The factor of [[C, C_new_oldᵀ], [C_new_old, C_new]] in O(n² m).

        With T = L⁻ᵀ L₂₁ᵀ L₂₂⁻ᵀ the inverse's old block grows by T Tᵀ, so its diagonal by the squared rows of T.
        """
        n, m = self.size, C_new.shape[0]
        if n == 0:
            return CholeskyFactor.of(C_new)
        L_21 = solve_lower(self.L, C_new_old.T).T  # (m, n)
        corner = CholeskyFactor.of(C_new - L_21 @ L_21.T, overwrite=True)
        L = np.zeros((n + m, n + m), order="F")
        L[:n, :n], L[n:, :n], L[n:, n:] = self.L, L_21, corner.L
        T = solve_lower(self.L, solve_lower(corner.L, L_21).T, transposed=True)  # (n, m)
        grown = self.inverse_diagonal + np.einsum("nm,nm->n", T, T)
        return CholeskyFactor(L, np.concatenate([grown, corner.inverse_diagonal]))


def cholesky(C: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """Lower L with L Lᵀ = C, in C's own memory where that may be overwritten and is contiguous float64."""
    if C.shape[0] == 0:
        return np.zeros((0, 0))
    columns_first = C if C.flags.f_contiguous else C.T  # C is symmetric: its transpose is itself in LAPACK's order
    L, info = lapack.dpotrf(columns_first, lower=1, clean=1, overwrite_a=int(overwrite))
    if info:
        raise np.linalg.LinAlgError(f"the matrix is not positive definite at row {info - 1}; use more noise")
    return L


def add_diagonal(C: FloatArray, value: float) -> FloatArray:
    """C + value · I, in C's own memory."""
    C[np.diag_indices_from(C)] += value
    return C


def solve_cholesky(L: FloatArray, B: FloatArray) -> FloatArray:
    """(L Lᵀ)⁻¹ B."""
    return solve_lower(L, solve_lower(L, B), transposed=True)


def inverse_diagonal(L: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """The diagonal of (L Lᵀ)⁻¹: squared column lengths of L⁻¹, in n³/3 flops, in L's memory where that may be lost."""
    if L.shape[0] == 0:
        return np.zeros(0)
    L_inv, _ = lapack.dtrtri(L, lower=1, overwrite_c=int(overwrite))
    return np.einsum("ij,ij->j", L_inv, L_inv)


def solve_lower(L: FloatArray, B: FloatArray, *, transposed: bool = False) -> FloatArray:
    """L⁻¹ B, or L⁻ᵀ B; empty systems included."""
    if L.shape[0] == 0 or B.size == 0:
        return np.array(B, dtype=np.float64)
    return lapack.dtrtrs(L, B, lower=1, trans=int(transposed))[0]  # scipy's own wrapper costs more than a small system


def solve_masked(
    multiply: Callable[[FloatArray], FloatArray],
    right_side: FloatArray,
    mask: BoolArray,
    *,
    start: FloatArray | None = None,
    tolerance: float = 1e-8,
) -> FloatArray:
    """For every column j solve C[O, O] x = b[O], O = the rows where mask[:, j], all at once by conjugate gradients.

    `multiply` is V ↦ C V for whole (n, k) blocks; restricting its input and output to the mask makes it each column's
    own positive definite system. Columns leave the block as they reach a residual of `tolerance` relative to their
    right side; the result is zero outside the mask. There is no preconditioner: applying the factor of the full C
    saves a third to a half of the steps and makes each two to three times as dear.
    """
    right_side = np.where(mask, right_side, 0.0)  # (n, q)
    solution = np.zeros_like(right_side) if start is None else np.where(mask, start, 0.0)
    goal = tolerance * np.linalg.norm(right_side, axis=0)  # (q,)
    residual = right_side if start is None else np.where(mask, right_side - multiply(solution), 0.0)
    active = np.flatnonzero(np.linalg.norm(residual, axis=0) > goal)
    x, r, keep = solution[:, active], residual[:, active], mask[:, active]
    p, rr = r, np.einsum("nk,nk->k", r, r)
    for _ in range(10 * right_side.shape[0]):  # exact arithmetic needs n steps; rounding may need more
        if active.size == 0:
            break
        C_p = np.where(keep, multiply(p), 0.0)
        step = rr / np.einsum("nk,nk->k", p, C_p)
        x = x + step * p
        r = r - step * C_p
        rr_new = np.einsum("nk,nk->k", r, r)
        p = r + (rr_new / rr) * p
        rr = rr_new
        going = np.sqrt(rr) > goal[active]
        if not going.all():
            solution[:, active] = x
            active, x, r, p, keep, rr = active[going], x[:, going], r[:, going], p[:, going], keep[:, going], rr[going]
    solution[:, active] = x
    return solution


def solve_columns(
    multiply: Callable[[FloatArray], FloatArray],
    right_side: FloatArray,
    diagonal: FloatArray,
    *,
    start: FloatArray | None = None,
    steps: int,
    tolerance: float,
) -> FloatArray:
    """(d, k) towards H W = right side by conjugate gradients, a step length per column, preconditioned by `diagonal`.

    Each step lowers the quadratic loss, so stopping early is still an improvement. `diagonal` is (d, 1) or (d, k).
    """
    W = np.zeros_like(right_side) if start is None else start.copy()
    residual = right_side if start is None else right_side - multiply(W)
    goal = tolerance * np.linalg.norm(right_side, axis=0)
    z = residual / diagonal
    p, rz = z, np.einsum("dk,dk->k", residual, z)
    tiny = np.finfo(right_side.dtype).tiny
    for _ in range(steps):
        if (np.linalg.norm(residual, axis=0) <= goal).all():
            break
        Hp = multiply(p)
        length = rz / np.maximum(np.einsum("dk,dk->k", p, Hp), tiny)
        W += length * p
        residual = residual - length * Hp
        z = residual / diagonal
        rz, before = np.einsum("dk,dk->k", residual, z), rz
        p = z + (rz / np.maximum(before, tiny)) * p
    return W


def stack_rows(A: Any, B: Any) -> Any:
    """The rows of A and then those of B, csr where A is."""
    if not sp.issparse(A):
        return np.vstack([A, B])
    if not sp.issparse(B) or A.format != "csr" or B.format != "csr" or A.shape[1] != B.shape[1]:
        return sp.vstack([A, B], format="csr")
    indptr = np.concatenate([A.indptr, A.indptr[-1] + B.indptr[1:]])  # for a row at a time, scipy's way costs ten times
    parts = np.concatenate([A.data, B.data]), np.concatenate([A.indices, B.indices]), indptr
    return sp.csr_array(parts, shape=(A.shape[0] + B.shape[0], A.shape[1]))


def dense(A: Any) -> FloatArray:
    """A as an ordinary array, whatever it was."""
    return A.toarray() if sp.issparse(A) else np.asarray(A)


def pivoted_partial_cholesky(
    diagonal: FloatArray, columns: Callable[[npt.NDArray[np.intp]], FloatArray], rank: int
) -> tuple[FloatArray, FloatArray]:
    """F (n, r) and the lost diagonal (n,) ≥ 0, with F Fᵀ + diag(lost) equal to the matrix on its diagonal and pivots.

    Each step takes the variable with the largest residual variance; r ≤ `rank`, fewer where nothing is left. Only r
    columns of the matrix are asked for, one after the other.

    >>> A = np.array([[4.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> F, lost = pivoted_partial_cholesky(A.diagonal(), lambda i: A[:, i], rank=2)
    >>> np.allclose(F @ F.T + np.diag(lost), A)
    True
    """
    rows, residual, _ = _factorise(diagonal, columns, rank)
    return rows.T, residual


def spanning_variables(covariance: FloatArray, rank: int) -> npt.NDArray[np.intp]:
    """The pivots of the same: at most `rank` variables that span the others well, in rising order.

    >>> spanning_variables(np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), 3)
    array([0, 2])
    """
    return np.sort(_factorise(np.diagonal(covariance), lambda i: covariance[:, i], rank)[2])


def _factorise(
    diagonal: FloatArray, columns: Callable[[npt.NDArray[np.intp]], FloatArray], rank: int
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.intp]]:
    """Fᵀ (r, n), what is lost (n,), and the pivots (r,)."""
    n = diagonal.size
    rows = np.zeros((min(rank, n), n))  # Fᵀ, so that each update reads and writes along memory
    residual = np.array(diagonal, dtype=np.float64)
    floor = NEGLIGIBLE * max(float(residual.max(initial=0.0)), np.finfo(float).tiny)
    pivots = np.empty(len(rows), dtype=np.intp)
    for step in range(len(rows)):
        pivot = int(np.argmax(residual))
        if residual[pivot] <= floor:
            rows, pivots = rows[:step], pivots[:step]
            break
        column = columns(np.array([pivot]))[:, 0]  # (n,)
        rows[step] = (column - rows[:step, pivot] @ rows[:step]) / np.sqrt(residual[pivot])
        residual -= rows[step] ** 2
        residual[pivot], pivots[step] = 0.0, pivot
    return rows, np.maximum(residual, 0.0), pivots


def log_determinants_above_one(triangles: FloatArray, *, overwrite: bool = False) -> FloatArray:
    """(n,) of log|I + A_i| for n positive semi-definite matrices of r rows, many and small.

    `triangles` (r (r + 1) / 2, n) has their lower triangles, row after row, one matrix per column: LAPACK takes one
    matrix after the other, and for small ones mostly calls.

    >>> A = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> log_determinants_above_one(A[np.tril_indices(2)][:, None]).round(6)
    array([2.397895])
    """
    work = triangles if overwrite else triangles.copy()
    log_determinants = np.empty(work.shape[1])
    _log_determinants(work, int(np.sqrt(2 * work.shape[0])), log_determinants)
    return log_determinants


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _log_determinants(A: Any, r: int, log_determinants: Any) -> None:
    """Cholesky of I + A in place, LANES columns at a time; entry (a, b) is in row a (a + 1) / 2 + b."""
    for start in range(0, log_determinants.size, LANES):
        stop = min(start + LANES, log_determinants.size)
        log_determinants[start:stop] = 0.0
        for a in range(r):
            at_a = a * (a + 1) // 2
            A[at_a + a, start:stop] += 1.0
            for b in range(a + 1):
                at_b = b * (b + 1) // 2
                entry = A[at_a + b, start:stop]
                for c in range(b):
                    left, right = A[at_a + c, start:stop], A[at_b + c, start:stop]
                    for i in range(stop - start):
                        entry[i] -= left[i] * right[i]
                if b < a:
                    entry /= A[at_b + b, start:stop]
                else:
                    log_determinants[start:stop] += np.log(entry)
                    for i in range(stop - start):
                        entry[i] = np.sqrt(entry[i])
