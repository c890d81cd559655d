"""Beliefs about the weights of y = F w + noise, w ~ N(0, I): all the low-rank engine must know of the pool at large."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.information._kernels import EPS, add_outer, add_sparse_gram, all_row_forms

Factor: TypeAlias = "npt.NDArray[Any] | sp.csr_array"
BLOCK_BYTES = 2**23  # of rows cast to double precision: small enough to stay in cache, large enough to share out


class WeightBeliefs:
    """Covariance of the weights given the chosen rows, M, and given all the others, H.

    Two matrices of order r say everything about the pool, so rows may live anywhere. Sum their `gram` matrices, keep
    one `WeightBeliefs`, ask it for the `residuals` of any rows, and tell it which row was chosen.

    Parameters
    ----------
    chosen_gram, rest_gram : (r, r) sums of f fᵀ/noise over the chosen rows and over the others

    Attributes
    ----------
    covariances : (2, r, r) M and H

    Examples
    --------
    >>> F, noise = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]), np.array([0.5, 0.5, 0.5])
    >>> beliefs = WeightBeliefs(np.zeros((2, 2)), gram(F, 1 / noise))
    >>> residual, inverse_residual = beliefs.residuals(F, noise)
    >>> C = F @ F.T + np.diag(noise)
    >>> np.allclose(residual, np.diag(C)), np.allclose(inverse_residual, np.diag(np.linalg.inv(C)))
    (True, True)
    """

    def __init__(self, chosen_gram: FloatArray, rest_gram: FloatArray) -> None:
        self._none_chosen = not chosen_gram.any()
        self.covariances = np.stack([_posterior_covariance(chosen_gram), _posterior_covariance(rest_gram)])

    def move(self, row: FloatArray, noise: float) -> FloatArray:
        """Move one row from the rest to the chosen: M −= aaᵀ/c, H += bbᵀ/e (5). Returns the steps a/√c and b/√e."""
        self._none_chosen = False
        a, b = steps = self.covariances @ row  # (2, r)
        a /= np.sqrt(max(noise + row @ a, noise))  # the limits hold but for rounding
        b /= np.sqrt(max(noise - row @ b, EPS * noise))
        add_outer(self.covariances[0], a, -1.0)
        add_outer(self.covariances[1], b, 1.0)
        return steps

    def residuals(self, factor: Factor, noise: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For every row the diagonals left of C = F Fᵀ + diag(noise) and of C⁻¹ when the chosen are eliminated.

        The second is that of a row of the rest.
        """
        return residuals(factor, noise, self.covariances, none_chosen=self._none_chosen)


def residuals(
    factor: Factor, noise: FloatArray, covariances: FloatArray, *, none_chosen: bool = False
) -> tuple[FloatArray, FloatArray]:
    """(n,) ν and π of (4) from M and H = covariances (2, r, r); M is the identity where none was chosen."""
    M, H = covariances
    forms = np.empty((2, len(noise)))
    if isinstance(factor, np.ndarray):
        for part, rows in double_blocks(factor):
            np.einsum("nr,nr->n", rows if none_chosen else rows @ M, rows, out=forms[0, part])
            np.einsum("nr,nr->n", rows @ H, rows, out=forms[1, part])
    else:
        all_row_forms(arrays(factor), covariances, forms)
    return noise + forms[0], (1.0 - forms[1] / noise) / noise


def gram(factor: Factor, weights: FloatArray) -> FloatArray:
    """Σ_i weights_i f_i f_iᵀ (r, r) in double precision, whatever that of the rows; parts may be summed."""
    total = np.zeros((factor.shape[1], factor.shape[1]))
    if isinstance(factor, np.ndarray):
        for part, rows in double_blocks(factor):
            add_gram(rows, weights[part], total)
    else:
        add_sparse_gram(arrays(factor), weights, total)
    return total


def add_gram(rows: FloatArray, weights: FloatArray, total: FloatArray) -> None:
    """total += Σ_i weights_i f_i f_iᵀ; the rows may be overwritten."""
    if weights.min() == weights.max():  # mostly; it saves a walk over the rows
        total += weights[0] * (rows.T @ rows)
        return
    rows *= np.sqrt(weights[:, None])
    total += rows.T @ rows


def arrays(factor: Factor) -> Any:
    """What the compiled loops take for a factor."""
    return factor if isinstance(factor, np.ndarray) else (factor.data, factor.indices, factor.indptr)


def double_blocks(factor: npt.NDArray[Any]) -> Iterator[tuple[slice, FloatArray]]:
    """Slices of rows and the rows in double precision."""
    size = max(1, BLOCK_BYTES // (8 * max(1, factor.shape[1])))
    for start in range(0, len(factor), size):
        part = slice(start, start + size)
        yield part, factor[part].astype(np.float64)


def _posterior_covariance(gram: FloatArray) -> FloatArray:
    """(I + gram)⁻¹, in C order."""
    if not gram.any():
        return np.eye(len(gram))
    inverse = cho_solve(cho_factor(np.eye(len(gram)) + gram, lower=True), np.eye(len(gram)))
    return np.ascontiguousarray(inverse + inverse.T) / 2.0
