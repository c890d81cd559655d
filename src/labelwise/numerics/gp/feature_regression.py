"""Ridge regression of many factors on the same features: one factorisation, reused at every step of a fit."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import lapack

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.gp.kernels import squared_norms
from labelwise.numerics.linear_algebra import add_diagonal, cholesky, dense, solve_columns

LARGEST_FACTOR = 5000  # rows of a system that is factored; larger ones are solved by conjugate gradients
STEPS, TOLERANCE = 30, 1e-6  # of those: at most, and the residual to stop at, against the right side
BLOCK = 2048  # rows whose quadratic forms are held at once


class FeatureRegression:
    """W = argmin |U − X W|² + λ |W|², for any number of U (n, k) with the same X and λ.

    By a cached Cholesky factor of XᵀX + λI, or of XXᵀ + λI where there are fewer items than features. Above
    LARGEST_FACTOR of both, or with `method="cg"`, by conjugate gradients on X as it is, from the last solution.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> FeatureRegression(X, 1.0).solve(X).round(2)
    array([[0.5, 0. ], [0. , 0.8]])
    """

    def __init__(
        self, X: Any, penalty: float, *, method: str = "auto", steps: int = STEPS, tolerance: float = TOLERANCE
    ) -> None:
        self.X, self.penalty = X, float(penalty)
        self._steps, self._tolerance = steps, tolerance
        n, d = X.shape
        self._dual = n < d
        factored = method != "cg" and min(n, d) <= LARGEST_FACTOR
        self._transposed = sp.csr_array(X.T) if sp.issparse(X) else X.T  # a csr product is faster than a csc one
        self._inverse = self._invert() if factored else None  # (d, d) or (n, n)

    def _invert(self) -> FloatArray:
        """The inverse, in float64 and then in X's precision: one matrix product instead of two triangular solves."""
        X = self.X.astype(np.float64)
        return ridge_inverse(dense(X @ X.T if self._dual else X.T @ X), self.penalty).astype(self.X.dtype)

    def solve(self, U: FloatArray, start: FloatArray | None = None) -> FloatArray:
        """(d, k) the weights; `start` is where conjugate gradients begin."""
        if self._inverse is None:
            return self._conjugate_gradients(self._transposed @ U, start)
        if self._dual:
            return np.asarray(self._transposed @ (self._inverse @ U))
        return self._inverse @ (self._transposed @ U)

    def fitted(self, W: FloatArray) -> FloatArray:
        """(n, k) X W."""
        return np.asarray(self.X @ W)

    def _conjugate_gradients(self, right: FloatArray, start: FloatArray | None) -> FloatArray:
        diagonal = (column_norms(self.X).astype(self.X.dtype) + self.penalty)[:, None]  # (d, 1)
        limits: dict[str, Any] = {"steps": self._steps, "tolerance": self._tolerance}
        return solve_columns(self._multiply, right, diagonal, start=start, **limits)

    def _multiply(self, P: FloatArray) -> FloatArray:
        return np.asarray(self._transposed @ (self.X @ P)) + self.penalty * P


def column_norms(X: Any) -> FloatArray:
    """(d,) squared lengths of the columns of X."""
    squares = X.multiply(X) if sp.issparse(X) else X * X
    return np.asarray(squares.sum(axis=0)).ravel()


def ridge_inverse(gram: FloatArray, penalty: float) -> FloatArray:
    """(G + λI)⁻¹ from its Cholesky factor, in half the time of solving for the columns of I; G is overwritten."""
    lower, _ = lapack.dpotri(cholesky(add_diagonal(gram, penalty), overwrite=True), lower=1)
    return np.tril(lower) + np.tril(lower, -1).T


class FeatureUncertainty:
    """What n training items leave open about the weights of a ridge regression: (XᵀX + λI)⁻¹ times a variance.

    Where neither side can be factored, only LARGEST_FACTOR of the items, evenly spaced, are taken to be known: the
    variances are then somewhat too large.
    """

    def __init__(self, X: Any, penalty: float, variance: float, *, gram: FloatArray | None = None) -> None:
        self._X, self._penalty, self._variance = X, penalty, variance
        self._gram = gram  # (d, d) XᵀX of all items, where they are more than the rows of X

    @cached_property
    def _inverse(self) -> tuple[bool, Any, FloatArray]:
        """Whether it is the items' system, the rows used, and (XᵀX + λI)⁻¹ or (XXᵀ + λI)⁻¹."""
        if self._gram is not None:
            return False, self._X, ridge_inverse(self._gram.copy(), self._penalty)
        X = self._X.astype(np.float64)
        if min(X.shape) > LARGEST_FACTOR:
            X = X[np.linspace(0, X.shape[0] - 1, LARGEST_FACTOR).astype(np.intp)]
        dual = X.shape[0] < X.shape[1]
        return dual, X, ridge_inverse(dense(X @ X.T if dual else X.T @ X), self._penalty)

    def between(self, X: Any) -> RegressedCovariance:
        return RegressedCovariance(self, X)

    def products(self, A: Any, B: Any) -> FloatArray:
        """(n, m) of aᵀ (XᵀX + λI)⁻¹ b · variance."""
        dual, X, inverse = self._inverse
        if not dual:
            return self._variance * np.asarray(A @ (inverse @ dense(B.T)))
        through = np.asarray(dense(A @ X.T) @ (inverse @ dense(X @ B.T)))
        return self._variance / self._penalty * (dense(A @ B.T) - through)

    def squares(self, A: Any) -> FloatArray:
        """(n,) of aᵀ (XᵀX + λI)⁻¹ a · variance, in blocks of rows."""
        result = np.empty(A.shape[0])
        dual, X, inverse = self._inverse
        for start in range(0, A.shape[0], BLOCK):
            block = A[start : start + BLOCK]
            side = dense(block @ X.T) if dual else dense(block)  # (block, n) or (block, d)
            form = np.einsum("ij,ij->i", side @ inverse, side)
            own = (squared_norms(block) - form) / self._penalty if dual else form
            result[start : start + BLOCK] = np.maximum(self._variance * own, 0.0)
        return result

    def factor(self, A: Any) -> FloatArray | None:
        """F (n, d) with F Fᵀ = products(A, A), where there are fewer features than rows of A."""
        if A.shape[1] >= A.shape[0] or A.shape[1] > LARGEST_FACTOR:
            return None
        dual, X, inverse = self._inverse
        if dual:
            X = dense(X)
            inverse = (np.eye(X.shape[1]) - X.T @ inverse @ X) / self._penalty
        values, vectors = np.linalg.eigh(self._variance * inverse)
        return np.asarray(A @ (vectors * np.sqrt(np.maximum(values, 0.0))))

    @property
    def variance(self) -> float:
        return self._variance


class RegressedCovariance:
    """The `ItemCovariance` of a batch whose factors are regressed on features; its noise is that of a factor."""

    def __init__(self, uncertainty: FeatureUncertainty, X: Any) -> None:
        self._uncertainty, self._X = uncertainty, X

    @property
    def noise(self) -> float:
        return self._uncertainty.variance

    def diagonal(self) -> FloatArray:
        return self._uncertainty.squares(self._X)

    def columns(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        return self._uncertainty.products(self._X, self._X[rows])

    def factor(self) -> FloatArray | None:
        return self._uncertainty.factor(self._X)
