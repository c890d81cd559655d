"""A low-rank factor of a covariance that is too large to hold, from a few of its columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
NEGLIGIBLE = 1e-10  # a residual below this share of the largest diagonal entry is rounding


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
