"""The variance of a Gaussian process at every item of a pool, kept while rows are added: an answer costs one row.

With L Lᵀ = K + ρ I over the known rows and T = L⁻¹ K(known, pool), the variance at the pool is k(z, z) − Σ T². A new
row adds a row to L and one to T, O(n² + n N), instead of O(n² N) from scratch. Equation numbers are those of
docs/mathematics/orthogonal_target_gp.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numba
import numpy as np

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.linear_algebra import add_diagonal, cholesky, solve_lower

GROWTH = 1.5  # of the memory for rows, when it runs out
MAX_ROWS_IN_PLACE = 4  # so many new rows are solved for in place; LAPACK would copy L first


class RowStore:
    """Rows in one array with room for more. Whoever holds the first n rows may go on from there; a second one who
    tries gets a copy, so that what was handed out never changes."""

    def __init__(self, width: int, capacity: int = 16) -> None:
        self.array = np.zeros((capacity, width))
        self.used = 0

    def append(self, n: int, rows: FloatArray) -> RowStore:
        """A store whose first n rows are the first n of this one, and then `rows` (m, ≤ width)."""
        m, width = rows.shape
        store = self
        needs_width = max(width, self.array.shape[1])
        if self.used != n or n + m > self.array.shape[0] or needs_width > self.array.shape[1]:
            capacity = max(int(GROWTH * (n + m)), 16)
            store = RowStore(needs_width if needs_width == self.array.shape[1] else capacity, capacity)
            store.array[:n, : self.array.shape[1]] = self.array[:n]
        store.array[n : n + m, :width] = rows
        store.used = n + m
        return store


@dataclass(frozen=True, eq=False)
class PoolVariances:
    """T, L and the variances at N pool items after n known rows. Appending returns a new one; this one stays true.

    Examples
    --------
    >>> K = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.2], [0.1, 0.2, 1.0]])
    >>> pool = PoolVariances.start(K.diagonal(), noise=0.25)
    >>> pool.append(K[:0, :1], K[:1, :1], K[:1]).variances.round(3)  # item 0 is known
    array([0.2  , 0.488, 0.992])
    """

    noise: float  # ρ
    variances: FloatArray  # (N,)
    n_rows: int
    factor: RowStore  # L, row by row
    whitened: RowStore  # T, row by row

    @classmethod
    def start(cls, prior: FloatArray, noise: float) -> PoolVariances:
        """Nothing known yet: `prior` (N,) is k(z, z)."""
        return cls(noise, np.array(prior, dtype=np.float64), 0, RowStore(16), RowStore(prior.size))

    @property
    def L(self) -> FloatArray:
        return self.factor.array[: self.n_rows, : self.n_rows]  # (n, n), lower

    @property
    def T(self) -> FloatArray:
        return self.whitened.array[: self.n_rows]  # (n, N)

    def append(self, K_old_new: FloatArray, K_new: FloatArray, K_new_pool: FloatArray) -> PoolVariances:
        """With m more rows: their kernels with the old rows (n, m), among themselves (m, m), with the pool (m, N)."""
        n, m = self.n_rows, K_new.shape[0]
        few = m <= MAX_ROWS_IN_PLACE and n > 0
        L_21 = _forward(self.factor.array, K_old_new) if few else solve_lower(self.L, K_old_new).T  # (m, n)
        L_22 = cholesky(add_diagonal(K_new - L_21 @ L_21.T, self.noise), overwrite=True)
        fresh = K_new_pool - L_21 @ self.T  # (m, N)
        fresh = fresh / L_22[0, 0] if m == 1 else solve_lower(L_22, fresh)
        variances = np.maximum(self.variances - np.einsum("mn,mn->n", fresh, fresh), 0.0)
        factor = self.factor.append(n, np.hstack([L_21, L_22]))
        return replace(self, variances=variances, n_rows=n + m, factor=factor, whitened=self.whitened.append(n, fresh))


@numba.njit(cache=True)
def _forward(L: Any, right: Any) -> Any:
    """(m, n) of (L⁻¹ right)ᵀ, right (n, m), for the leading n rows of L, along its rows."""
    n, m = right.shape
    solution = np.empty((m, n))
    for j in range(m):
        for i in range(n):
            total = right[i, j]
            for k in range(i):
                total -= L[i, k] * solution[j, k]
            solution[j, i] = total / L[i, i]
    return solution


def lazy_argmax(
    bounds: FloatArray, evaluate: Callable[[IntArray], FloatArray], *, block: int = 256, slack: float = 0.0
) -> tuple[IntArray, int]:
    """Every index whose value is within `slack` of the highest, and how many values had to be computed.

    `bounds` (N,) are never below the values, −inf where nothing may be chosen, and are lowered to the values found, in
    place. Since variances only fall as rows come, those of an earlier round are bounds: the highest few are computed,
    until one is at least as high as all that is left. Minoux's lazy greedy, in blocks. Exact, whatever the bounds.

    >>> values = np.array([1.0, 5.0, 3.0, 4.0])
    >>> lazy_argmax(np.array([9.0, 8.0, 3.0, 4.5]), lambda i: values[i], block=1)
    (array([1]), 2)
    """
    exact = np.zeros(bounds.size, dtype=bool)
    best, computed = -np.inf, 0
    while True:
        open_bounds = np.where(exact, -np.inf, bounds)
        size = min(block, open_bounds.size)
        top = np.argpartition(-open_bounds, size - 1)[:size] if size else np.empty(0, dtype=np.intp)
        top = top[(open_bounds[top] >= best - slack) & (open_bounds[top] > -np.inf)]
        if top.size == 0:
            break
        bounds[top] = evaluate(top)
        exact[top] = True
        computed += top.size
        best = max(best, float(bounds[top].max()))
    return np.flatnonzero(exact & (bounds >= best - slack) & (bounds > -np.inf)), computed
