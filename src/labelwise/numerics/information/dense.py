"""The engine on a covariance that is held in full."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack, solve_triangular

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.information._kernels import EPS, score, tie_width
from labelwise.numerics.information.state import InformationState, Selection

SYMMETRY = 1e-8  # largest difference across the diagonal, relative to the largest entry, taken for rounding
ROWS_WORTH_INVERTING = 1 / 64  # of the inverse: one row from the factor takes about n²/2 reads, all of them n³/3 flops
TILE = 256  # two tiles of doubles fit in a second-level cache


class DenseInformation(InformationState):
    """Greedy selection on a dense covariance C: two partial Cholesky factorisations, of C and C⁻¹, with equal pivots.

    `given` variables leave the problem at once: the rest is inverted without them, and C is conditioned on them in one
    block. Memory beyond the covariance, which is kept by reference and must not change: n² for the inverse factor,
    made in place, and 2nt for t picks. Equations (1) and (3) of docs/mathematics/information.md.

    Parameters
    ----------
    covariance : (n, n) symmetric positive definite; for "entropy" positive semi-definite is enough
    selection : given, criterion, costs and eligible, see `Selection`

    Examples
    --------
    >>> distance = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    >>> state = DenseInformation(np.exp(-distance))
    >>> state.pick(1).indices, state.pick(1).indices
    (array([1]), array([3]))
    """

    def __init__(self, covariance: npt.ArrayLike, **selection: Unpack[Selection]) -> None:
        C = _checked_covariance(covariance)
        super().__init__(len(C), **selection)
        self._covariance = C
        self._pool = np.flatnonzero(~self._given)
        self._place = np.cumsum(~self._given) - 1  # (n,) of each pool variable in the pool
        self._pool_costs = self._costs[self._pool]
        self._closed_in_pool = ~self._open[self._pool]
        prior = C.diagonal()[self._pool]
        self._chosen = _PartialCholesky(prior, floor=EPS * prior, rows=self._rows_of_given())
        self._rest: _PartialCholesky | None = None
        self._precision = np.ones(len(prior))  # leaves only the variance in the gain
        if self.criterion != "entropy":
            self._inverse = _Inverse(self._pool_covariance())
            self._precision = self._inverse.diagonal
        if self.criterion == "mi":
            self._rest = _PartialCholesky(self._precision, floor=1.0 / prior)  # var(x | others) ≤ var(x)
            self._precision = self._rest.residual

    def gains(self) -> FloatArray:
        gains = np.full(len(self._open), -np.inf)
        open_ = ~self._closed_in_pool
        product = self._chosen.residual * self._precision
        gains[self._pool[open_]] = 0.5 * np.log(product[open_])
        return gains

    def _winner(self) -> int:
        scores = score(self._chosen.residual, self._precision, self._pool_costs, self.by_entropy)
        scores[self._closed_in_pool] = -np.inf
        best = int(scores.argmax())
        ties = scores >= scores[best] - tie_width(scores[best], self._pool_costs[best], self.by_entropy)
        return int(self._pool[ties.argmax()])

    def _gain(self, index: int) -> float:
        place = self._place[index]
        return float(0.5 * np.log(self._chosen.residual[place] * self._precision[place]))

    def _eliminate(self, index: int) -> None:
        place = int(self._place[index])
        self._closed_in_pool[place] = True
        row = self._covariance[index]
        self._chosen.eliminate(place, row if len(self._pool) == len(row) else row[self._pool])
        if self._rest is not None:
            self._rest.eliminate(place, self._inverse.row(place))

    def _reserve(self, n: int) -> None:
        self._chosen.reserve(n)
        if self._rest is not None:
            self._rest.reserve(n)
            if self._rest.count + n > ROWS_WORTH_INVERTING * len(self._pool):
                self._inverse.form()

    def _rows_of_given(self) -> FloatArray:
        """L⁻¹ C_gp for the Cholesky factor L of C_gg: the given as first pivots, all in one block."""
        C, given = self._covariance, np.flatnonzero(self._given)
        if not given.size:
            return np.empty((0, len(C)))
        L = _cholesky(np.asfortranarray(C[np.ix_(given, given)]))
        return solve_triangular(L, C[np.ix_(given, self._pool)], lower=True, check_finite=False)  # (g, p)

    def _pool_covariance(self) -> FloatArray:
        """A copy in Fortran order for LAPACK to overwrite; by symmetry the transpose of one in C order will do."""
        C = self._covariance
        copy = np.array(C, order="A") if len(self._pool) == len(C) else C[np.ix_(self._pool, self._pool)]
        return copy if copy.flags.f_contiguous else copy.T


class _PartialCholesky:
    """Rows of the Cholesky factor of a matrix whose variables are eliminated one by one, and the diagonal left.

    The residual never falls below `floor` in exact arithmetic. A pivot that has reached it is determined by, or
    independent of, all others, so that eliminating it moves nothing.
    """

    def __init__(self, diagonal: FloatArray, *, floor: FloatArray, rows: FloatArray | None = None) -> None:
        self.rows = np.empty((0, len(diagonal))) if rows is None else rows  # (t, n), so that an update reads in order
        self.count = len(self.rows)
        self.floor = floor
        self.diagonal = diagonal
        self.residual = diagonal - np.einsum("tn,tn->n", self.rows, self.rows)
        self._check_residual()

    def reserve(self, n: int) -> None:
        if self.count + n > len(self.rows):
            rows = np.empty((self.count + n, len(self.diagonal)))
            rows[: self.count] = self.rows[: self.count]
            self.rows = rows

    def eliminate(self, pivot: int, matrix_row: FloatArray) -> None:
        """(3): l = (C_p − Σ_u L_up L_u) / √residual_p, residual −= l²."""
        done, new = self.rows[: self.count], self.rows[self.count]  # (t, n), (n,)
        self.count += 1
        if self.residual[pivot] <= self.floor[pivot]:
            new[:] = 0.0
            return
        np.matmul(done[:, pivot], done, out=new)
        np.subtract(matrix_row, new, out=new)
        new /= np.sqrt(self.residual[pivot])
        self.residual -= new * new
        self._check_residual()

    def _check_residual(self) -> None:
        least = self.residual.min(initial=0.0)
        if least < 0.0 and np.any(self.residual < -np.sqrt(EPS) * self.diagonal):
            raise ValueError(
                f"covariance must be positive definite, got a conditional variance of {least:.3g}: "
                "add noise to its diagonal"
            )
        np.maximum(self.residual, self.floor, out=self.residual)


class _Inverse:
    """C⁻¹ = L⁻ᵀ L⁻¹: its diagonal at once, its rows from L⁻¹ (n²/2 reads each) until it is worth forming in place."""

    def __init__(self, covariance: FloatArray) -> None:
        self._factor, _ = lapack.dtrtri(_cholesky(covariance), lower=1, overwrite_c=1)  # L⁻¹, lower; zeros above
        self._formed = False
        self.diagonal = np.einsum("ij,ij->j", self._factor, self._factor)

    def form(self) -> None:
        if not self._formed and self.diagonal.size:
            self._factor, _ = lapack.dlauum(self._factor, lower=1, overwrite_c=1)  # lower half of L⁻ᵀ L⁻¹
            self._formed = True

    def row(self, p: int) -> FloatArray:
        if self._formed:
            return np.concatenate([self._factor[p, :p], self._factor[p:, p]])
        return self._factor[p:].T @ self._factor[p:, p]


def _cholesky(matrix: FloatArray) -> FloatArray:
    """Lower factor in place, zeros above."""
    if not matrix.size:
        return matrix
    L, failed_at = lapack.dpotrf(matrix, lower=1, overwrite_a=1)
    if failed_at:
        raise ValueError(
            f"covariance must be positive definite, but its variable {failed_at - 1} is determined by the ones before "
            "it: add noise to its diagonal"
        )
    return L


def _checked_covariance(covariance: npt.ArrayLike) -> FloatArray:
    C: npt.NDArray[Any] = np.asarray(covariance, dtype=np.float64)
    if C.ndim != 2 or C.shape[0] != C.shape[1]:
        raise ValueError(f"covariance must be square, got shape {C.shape}")
    diagonal = C.diagonal()
    if not np.all(diagonal > 0):
        worst = int(np.argmin(diagonal))
        raise ValueError(f"variances must be positive, got {diagonal[worst]} at {worst}: add noise to the diagonal")
    width = SYMMETRY * diagonal.max(initial=0.0)  # bounds every entry of a positive definite matrix
    for i in range(0, len(C), TILE):
        for j in range(0, i + TILE, TILE):
            tile, mirrored = C[i : i + TILE, j : j + TILE], C[j : j + TILE, i : i + TILE].T
            if np.array_equal(tile, mirrored) and np.isfinite(tile.sum()):  # the usual case, and the fastest
                continue
            with np.errstate(invalid="ignore"):
                across = tile - mirrored
            if not np.all(np.abs(across) <= width):  # NaN compares false, and inf − inf is NaN
                _refuse(C)
    return C


def _refuse(C: FloatArray) -> None:
    if not np.isfinite(C).all():
        raise ValueError("covariance must be finite, got NaN or infinity: look at the features it was made from")
    gap = np.abs(C - C.T).max()
    raise ValueError(f"covariance must be symmetric, got a difference of {gap:.3g}: pass (C + C.T) / 2")
