"""Linear recovery of label vectors from their codes: flat decoding, a Gaussian label prior, conditioning on answers.

All beliefs here are Gaussian with one covariance for every item up to the item's noise, so that a batch costs one
eigendecomposition and a few matrix products. Equation numbers are those of docs/mathematics/recovery.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.recovery.label_codes import CompressedLabels, KnownLabels, centre_labels, observed_means

JITTER = 1e-9  # added to the variance of an answered label: answers that contradict the model must not divide by zero
BLOCK_NUMBERS = 2**22  # numbers in one working array of a block of items: 32 MiB


@dataclass(frozen=True, eq=False)
class GaussianRecovery:
    """Mean and variance of every label of every item; known labels have their value and variance 0."""

    mean: FloatArray  # (n, q)
    variance: FloatArray  # (n, q)


@dataclass(frozen=True, eq=False)
class LabelPrior:
    """y ~ N(`mean`, `covariance`): which labels are frequent, and which come together."""

    mean: FloatArray  # (q,)
    covariance: FloatArray  # (q, q), positive definite


@dataclass(frozen=True, eq=False)
class ProjectedPrior:
    """A label prior seen through Φ: Φ S Φᵀ = U diag(`eigenvalues`) Uᵀ, and `loadings` = Uᵀ Φ S."""

    prior: LabelPrior
    basis: FloatArray  # (k, k), U
    eigenvalues: FloatArray  # (k,)
    loadings: FloatArray  # (k, q)


def shrunk_label_prior(labels: npt.NDArray[Any], observed: BoolArray | None = None) -> LabelPrior:
    """Label frequencies and covariance, shrunk towards independent labels as far as the data are few: (11).

    Where entries are missing, products are divided by √(nᵢ nⱼ), the numbers of observed entries of the two labels. So
    variances are those of the observed entries, the covariance stays positive definite, and pairs that were rarely seen
    together count as less related.

    Examples
    --------
    >>> prior = shrunk_label_prior(np.array([[1, 1], [0, 0], [1, 1], [0, 0]]))
    >>> prior.mean, prior.covariance.round(2)
    (array([0.5, 0.5]), array([[0.25, 0.2 ], [0.2 , 0.25]]))
    """
    n, q = labels.shape
    mean = observed_means(labels, observed)
    counts = np.full(q, n) if observed is None else observed.sum(0)  # (q,)
    centred = centre_labels(labels, mean, observed) / np.sqrt(np.maximum(counts, 1))  # (n, q)
    smoothed = (mean * counts + 0.5) / (counts + 1)  # a label never seen still has some variance
    weight = q / (q + 2 * counts.mean())
    covariance = (1 - weight) * (centred.T @ centred)
    covariance[np.arange(q), np.arange(q)] += weight * smoothed * (1 - smoothed) + 1e-4
    return LabelPrior(mean, covariance)


def project_prior(prior: LabelPrior, projection: FloatArray) -> ProjectedPrior:
    """The eigendecomposition of Φ S Φᵀ that serves every item, whatever its noise: O(k q² + k³), once."""
    through = projection @ prior.covariance  # (k, q)
    code_covariance = through @ projection.T
    eigenvalues, basis = np.linalg.eigh(0.5 * (code_covariance + code_covariance.T))
    return ProjectedPrior(prior, basis, np.maximum(eigenvalues, 0.0), basis.T @ through)


def ridge_prior(projection: FloatArray) -> ProjectedPrior:
    """Independent labels of mean 0 and variance 1: decoding by one ridge regression, the first iteration of (3)."""
    q = projection.shape[1]
    return project_prior(LabelPrior(np.zeros(q), np.eye(q)), projection)


def recover_covariance(
    compressed: CompressedLabels, projected: ProjectedPrior, *, known: KnownLabels | None = None
) -> GaussianRecovery:
    """Labels from **centred** codes under a Gaussian label prior, equations (12) and (13), for all items at once.

    It counts label frequencies twice, in the prior and in the regression's data: a good decoder, no strict posterior.

    Examples
    --------
    >>> prior = LabelPrior(np.zeros(2), np.array([[1.0, 0.8], [0.8, 1.0]]))
    >>> codes = CompressedLabels(np.array([[1.0]]), np.array([0.25]))  # the first label, seen with noise
    >>> recover_covariance(codes, project_prior(prior, np.array([[1.0, 0.0]]))).mean
    array([[0.8 , 0.64]])
    """
    prior, loadings = projected.prior, projected.loadings
    weights = 1.0 / (projected.eigenvalues + compressed.variance[:, None])  # (n, k)
    mean = prior.mean + (compressed.mean @ projected.basis * weights) @ loadings
    variance = np.maximum(np.diag(prior.covariance) - weights @ loadings**2, 0.0)
    if known is None or not known.observed.any():
        return GaussianRecovery(mean, variance)
    _condition_items(mean, variance, weights, projected, known)
    return GaussianRecovery(mean, variance)


def posterior_covariance(projected: ProjectedPrior, noise: float) -> FloatArray:
    """Σ (q, q) of one item with this noise, equation (12): to be conditioned on answers as they come."""
    scaled = projected.loadings / np.sqrt(projected.eigenvalues + noise)[:, None]  # (k, q)
    return projected.prior.covariance - scaled.T @ scaled


def condition(
    mean: FloatArray, covariance: FloatArray, labels: npt.NDArray[np.intp], values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean (q,) and covariance (q, q) of one item given that `labels` have `values`, equation (14).

    Examples
    --------
    >>> condition(np.zeros(2), np.array([[1.0, 0.8], [0.8, 1.0]]), np.array([0]), np.array([1.0]))[0].round(6)
    array([1. , 0.8])
    """
    block = covariance[np.ix_(labels, labels)] + JITTER * np.eye(labels.size)
    L = np.linalg.cholesky(block)
    sides = np.concatenate([covariance[labels], (values - mean[labels])[:, None]], axis=1)  # (r, q + 1)
    whitened = np.linalg.solve(L, sides)
    T, gap = whitened[:, :-1], whitened[:, -1]
    new_mean, new_covariance = mean + gap @ T, covariance - T.T @ T
    new_mean[labels] = values
    new_covariance[labels] = 0.0
    new_covariance[:, labels] = 0.0
    return new_mean, new_covariance


def _condition_items(
    mean: FloatArray, variance: FloatArray, weights: FloatArray, projected: ProjectedPrior, known: KnownLabels
) -> None:
    """Put the known labels into `mean` and `variance`, in blocks of items with about equally many of them."""
    counts = known.observed.sum(1)
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    largest, q = int(counts.max()), mean.shape[1]
    size = max(1, BLOCK_NUMBERS // (largest * q))
    values = known.values()
    for start in range(0, order.size, size):
        rows = order[start : start + size]
        observed = known.observed[rows]
        shift, drop = _condition_block(values[rows] - mean[rows], observed, weights[rows], projected)
        mean[rows] = np.where(observed, values[rows], mean[rows] + shift)
        variance[rows] = np.where(observed, 0.0, np.maximum(variance[rows] - drop, 0.0))


def _condition_block(
    surprise: FloatArray, observed: BoolArray, weights: FloatArray, projected: ProjectedPrior
) -> tuple[FloatArray, FloatArray]:
    """How far (14) moves the means and lowers the variances of a block; known labels packed to a common width."""
    width = int(observed.sum(1).max())
    packed = np.argsort(~observed, axis=1, kind="stable")[:, :width]  # (b, r)
    real = np.take_along_axis(observed, packed, 1)  # (b, r), False where padded
    seen = projected.loadings.T[packed] * weights[:, None, :]  # (b, r, k)
    cross = projected.prior.covariance[packed] - seen @ projected.loadings  # (b, r, q)
    cross *= real[:, :, None]
    block = np.take_along_axis(cross, packed[:, None, :], 2) * real[:, None, :]  # (b, r, r)
    block[:, np.arange(width), np.arange(width)] += np.where(real, JITTER, 1.0)
    gap = np.take_along_axis(surprise, packed, 1) * real  # (b, r)
    whitened = np.linalg.solve(np.linalg.cholesky(block), np.concatenate([cross, gap[:, :, None]], axis=2))
    T = whitened[:, :, :-1]
    return np.einsum("brq,br->bq", T, whitened[:, :, -1]), np.einsum("brq,brq->bq", T, T)
