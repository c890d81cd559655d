"""How labels go together once the features have had their say: a correlation as diagonal plus low rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from labelwise.numerics.arrays import BoolArray, FloatArray

DENSE = 400  # labels up to which all eigenvectors are no dearer than some
LARGEST_SHARE = 0.999  # of a label's variance that others may explain: it keeps some of its own


@dataclass(frozen=True, eq=False)
class LabelCorrelation:
    """diag(`diagonal`) + `factor` `factor`ᵀ, with ones on the diagonal."""

    diagonal: FloatArray  # (q,), positive
    factor: FloatArray  # (q, r)

    def dense(self) -> FloatArray:
        return np.diag(self.diagonal) + self.factor @ self.factor.T

    def sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """(*shape, q) standard normals, correlated within the last axis."""
        own = rng.standard_normal((*shape, self.diagonal.size)) * np.sqrt(self.diagonal)
        return own + rng.standard_normal((*shape, self.factor.shape[1])) @ self.factor.T


def label_covariance(targets: FloatArray, solution: FloatArray, observed: BoolArray) -> tuple[FloatArray, FloatArray]:
    """B (q, q), estimated from centred targets Y and C⁻¹ Y on each label's rows, and the number of shared rows (q, q).

    Take a matrix normal with row covariance C. Over the rows that both labels have, y_jᵀ (C⁻¹ y_k) has the expectation
    B_jk · (number of shared rows), whatever other rows each of them has; both orders are averaged. With complete labels
    this is Yᵀ C⁻¹ Y / n.
    """
    products = np.where(observed, targets, 0.0).T @ solution  # (q, q); the solution is zero on unobserved rows
    answered = observed.astype(np.float64)
    shared = answered.T @ answered
    return (products + products.T) / (2 * np.maximum(shared, 1)), shared


def shrunk_correlation(covariance: FloatArray, shared: FloatArray) -> FloatArray:
    """The correlation of B, drawn toward the identity by q / (q + 2 n) for labels with n rows in common.

    A label that never varied is uncorrelated with all others.
    """
    q = covariance.shape[0]
    scale = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros(q), where=scale > 1e-12)
    correlation = np.clip(covariance * inverse[:, None] * inverse, -1.0, 1.0) * (1 - q / (q + 2 * shared))
    np.fill_diagonal(correlation, 1.0)
    return correlation


def low_rank(correlation: FloatArray, rank: int) -> LabelCorrelation:
    """The leading eigenvectors above the mean of the remaining eigenvalues; the lost diagonal is put back.

    Exact where `rank` ≥ q − 1 and the correlation is positive definite. One put together from pairs of labels with
    different rows may not be; then no label is left more than LARGEST_SHARE explained by the others.
    """
    q = correlation.shape[0]
    r = min(rank, q - 1)
    if r == 0:
        return LabelCorrelation(np.ones(q), np.zeros((q, 0)))
    if q <= DENSE or r > q // 4:
        values, vectors = eigh(correlation, subset_by_index=(q - r, q - 1))
    else:
        start = np.random.default_rng(0).standard_normal(q)  # ARPACK would draw its own: fixed, so beliefs repeat
        values, vectors = eigsh(correlation, k=r, which="LA", v0=start)
    remaining = max((q - values.sum()) / (q - r), 0.0)
    factor = vectors * np.sqrt(np.maximum(values - remaining, 0.0))  # (q, r)
    explained = np.einsum("qr,qr->q", factor, factor)
    factor *= np.sqrt(np.minimum(1.0, LARGEST_SHARE / np.maximum(explained, 1e-300)))[:, None]
    return LabelCorrelation(1 - np.minimum(explained, LARGEST_SHARE), factor)
