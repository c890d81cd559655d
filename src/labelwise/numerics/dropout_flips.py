"""How often predicted labels change when features are dropped at random, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtr

from labelwise.numerics.arrays import FloatArray


def flip_probability(mean: Any, variance: Any, threshold: Any) -> FloatArray:
    """Φ(−|μ − τ| / √v), elementwise: how often a normal lies on the other side of τ than its mean; 0 without variance.

    >>> flip_probability(np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0]), 0.0).round(2)
    array([0.16, 0.5 , 0.  ])
    """
    gap, deviation = np.broadcast_arrays(np.abs(np.subtract(mean, threshold)), np.sqrt(variance))
    distance = np.divide(gap, deviation, out=np.full(gap.shape, np.inf), where=deviation > 0)
    return np.asarray(ndtr(-distance))


def any_flip(flips: FloatArray) -> FloatArray:
    """(...) from (..., q): 1 − Π_j (1 − δ_j), how often at least one label flips if they flip independently.

    With many labels it is near 1 for every item and no longer says which of them are doubtful.

    >>> any_flip(np.array([[0.5, 0.5], [0.0, 0.1]])).round(2)
    array([0.75, 0.1 ])
    """
    return np.asarray(1 - np.prod(1 - flips, axis=-1))


def at_least_two_of_three(g: Any) -> FloatArray:
    """3g² − 2g³, elementwise: how often two or all of three passes flip if each does with probability g.

    >>> at_least_two_of_three(np.array([0.0, 0.5, 1.0]))
    array([0. , 0.5, 1. ])
    """
    return np.asarray(g * g * (3 - 2 * np.asarray(g)))


def dropout_variance(X: Any, weights: FloatArray, rate: float, scale: FloatArray | None = None) -> FloatArray:
    """(n, q) variance of a linear head under inverted dropout, ρ / (1 − ρ) Σ_d (w_d x_d / scale_d)².

    Every feature is dropped with probability ρ and divided by 1 − ρ otherwise, so that the mean stays.

    Parameters
    ----------
    X : (n, d) features, dense or csr
    weights : (d, q)
    rate : float
        ρ, at least 0 and below 1.
    scale : (d,), optional
        What features are divided by before they meet their weights.

    >>> dropout_variance(np.array([[1.0, 2.0]]), np.array([[3.0], [1.0]]), 0.5)
    array([[13.]])
    """
    if not 0 <= rate < 1:
        raise ValueError(f"rate is the share of features that are dropped, at least 0 and below 1, got {rate!r}")
    per_unit = weights if scale is None else weights / np.asarray(scale)[:, None]  # (d, q)
    squares = sp.csr_array(X).power(2) if sp.issparse(X) else np.square(X)
    return np.asarray(rate / (1 - rate) * (squares @ per_unit**2))
