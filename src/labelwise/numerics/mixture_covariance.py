"""The label covariance of mixtures of independent labels: weights (n, k) of n items, probabilities θ (k, q).

With p = π θ and u_l = Σ_k π_k θ_kl (1 − θ_kl) it is diag(u) + Θ̃ᵀ diag(π) Θ̃, Θ̃ = θ − 1 pᵀ: what a label has of its own,
and what it shares through the component. Equation numbers are those of docs/mathematics/label_mixture_gp.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]

LEAST_VARIANCE = 1e-12
BLOCK_NUMBERS = 2**21  # of small matrices held at once


def own_variances(weights: FloatArray, theta: FloatArray) -> FloatArray:
    """(n, q) u: the variance of a label once the component is known."""
    return np.maximum(weights @ (theta * (1 - theta)), LEAST_VARIANCE)


def mixture_factor(weights: FloatArray, theta: FloatArray) -> FloatArray:
    """(n, q, k) of (θ_kl − p_l) √π_k."""
    departures = theta.T - (weights @ theta)[:, :, None]  # (n, q, k)
    departures *= np.sqrt(weights)[:, None, :]
    return departures


def mixture_log_determinants(weights: FloatArray, theta: FloatArray) -> FloatArray:
    """(n,) log-determinants of the covariances, equation (14), or (15) where labels are fewer than components.

    Either way the small matrices of all items come out of one matrix product with θ_kl θ_k'l, made once, and not out
    of n products with θ. θ is centred first, which changes nothing but the rounding.
    """
    centred = theta - theta.mean(axis=0)  # (k, q)
    k, q = theta.shape
    by_labels = q < k
    small = q if by_labels else k
    i, j = np.tril_indices(small)
    products = centred[:, i] * centred[:, j] if by_labels else (centred[i] * centred[j]).T  # (k or q, pairs)
    found = np.empty(weights.shape[0])
    size = max(1, BLOCK_NUMBERS // small**2)
    for start in range(0, weights.shape[0], size):
        part = slice(start, start + size)
        form = _by_labels if by_labels else _by_components
        pi, u = weights[part], own_variances(weights[part], theta)
        found[part] = form(pi, u, centred, products)
    return found


def _by_components(pi: FloatArray, u: FloatArray, centred: FloatArray, products: FloatArray) -> FloatArray:
    """log|u| + log|I + √π Θ̃ u⁻¹ Θ̃ᵀ √π|."""
    inverse = 1 / u  # (n, q)
    p = pi @ centred  # (n, q)
    cross = (p * inverse) @ centred.T  # (n, k)
    level = (p**2 * inverse).sum(axis=1)  # (n,)
    inner = _symmetric(inverse @ products, centred.shape[0])  # (n, k, k)
    inner -= cross[:, :, None]
    inner += (level[:, None] - cross)[:, None, :]
    root = np.sqrt(pi)
    inner *= root[:, :, None]
    inner *= root[:, None, :]
    return np.log(u).sum(axis=1) + _log_determinants(inner, np.ones_like(pi))


def _by_labels(pi: FloatArray, u: FloatArray, centred: FloatArray, products: FloatArray) -> FloatArray:
    """log|diag(u) + Σ_k π_k δ_k δ_kᵀ − p pᵀ|, δ and p centred."""
    p = pi @ centred  # (n, q)
    shared = _symmetric(pi @ products, centred.shape[1])  # (n, q, q)
    shared -= p[:, :, None] * p[:, None, :]
    return _log_determinants(shared, u)


def _symmetric(lower: FloatArray, size: int) -> FloatArray:
    """(n, size, size) whose lower triangles are the rows of `lower`; Cholesky reads no more of them."""
    full = np.zeros((lower.shape[0], size, size))
    i, j = np.tril_indices(size)
    full[:, i, j] = lower
    return full


def _log_determinants(matrices: FloatArray, diagonal: FloatArray) -> FloatArray:
    """(n,) of matrices + diag(diagonal)."""
    size = matrices.shape[1]
    matrices.reshape(len(matrices), -1)[:, :: size + 1] += diagonal
    factors = np.linalg.cholesky(matrices)
    return 2 * np.log(factors.reshape(len(factors), -1)[:, :: size + 1]).sum(axis=1)
