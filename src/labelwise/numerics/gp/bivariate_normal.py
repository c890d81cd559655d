"""Two correlated standard normals: by how much more often both are below their bounds than if they were independent."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr, owens_t

from labelwise.numerics.arrays import FloatArray

POINTS = ((0.3, 6), (0.75, 12), (0.925, 20))  # of Gauss-Legendre up to these correlations; beyond, Owen's T
FARTHEST = 37.0  # bounds beyond it are as good as infinite


def normal_excess(a: Any, b: Any, correlation: Any) -> FloatArray:
    """Φ₂(a, b; ρ) − Φ(a) Φ(b), elementwise with broadcasting: the covariance of the events x < a and y < b.

    It is the integral of the density at (a, b) over correlations from 0 to ρ (Plackett 1954), here over their angle by
    Gauss-Legendre (Genz, Numerical computation of rectangular bivariate and trivariate normal and t probabilities,
    2004). Nothing cancels, so small covariances of rare events are right, too. ρ may have fewer axes than a and b: what
    depends on it alone is computed once.

    >>> normal_excess(0.0, 0.0, np.array([0.0, 0.5, 1.0])).round(4)
    array([0.    , 0.0833, 0.25  ])
    """
    a, b = (np.clip(np.asarray(bound, dtype=np.float64), -FARTHEST, FARTHEST) for bound in (a, b))
    rho = np.asarray(correlation, dtype=np.float64)
    largest = np.abs(rho).max(initial=0.0)
    points = next((points for limit, points in POINTS if largest <= limit), None)
    if points is not None:
        return _by_angles(a, b, rho, points)
    a, b, rho = np.broadcast_arrays(a, b, rho)
    strong = np.abs(rho) > POINTS[-1][0]
    result = np.empty(rho.shape)
    result[strong] = _by_owens_t(a[strong], b[strong], rho[strong])
    result[~strong] = _by_angles(a[~strong], b[~strong], rho[~strong], POINTS[-1][1])
    return result


def _by_angles(a: FloatArray, b: FloatArray, rho: FloatArray, points: int) -> FloatArray:
    """∫ exp(−(a² + b² − 2 a b sin θ) / (2 cos² θ)) dθ / 2π for θ from 0 to asin ρ."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    angle, product, squares = np.arcsin(rho), a * b, a * a + b * b
    total = np.zeros(np.broadcast_shapes(product.shape, rho.shape))
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        sine = np.sin(node * angle)
        half = 0.5 / (1 - sine**2)
        exponent = product * (2 * sine * half)
        exponent -= squares * half
        total += weight * np.exp(exponent)
    return total * (angle / (2 * np.pi))


def _by_owens_t(a: FloatArray, b: FloatArray, rho: FloatArray) -> FloatArray:
    """Through Owen's T function, T(h, k) at slopes k of the other bound (Owen 1956)."""
    rest = np.sqrt(np.maximum((1 - rho) * (1 + rho), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        equal = np.sqrt((1 - rho) / (1 + rho))
        slopes = [np.where(x == y, equal, (y - rho * x) / (x * rest)) for x, y in ((a, b), (b, a))]
    towards_a, towards_b = (np.where(np.isnan(slope), 0.0, slope) for slope in slopes)
    opposite = (a * b < 0) | ((a * b == 0) & (a + b < 0))
    both = 0.5 * (ndtr(a) + ndtr(b)) - owens_t(a, towards_a) - owens_t(b, towards_b) - 0.5 * opposite
    return np.clip(both, 0.0, np.minimum(ndtr(a), ndtr(b))) - ndtr(a) * ndtr(b)
