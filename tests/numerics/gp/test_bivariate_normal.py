"""The covariance of two cut normals against scipy, against integrals, and where it is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

from labelwise.numerics.gp.bivariate_normal import normal_excess

BOUNDS = [(-2.0, -1.5), (0.3, -0.7), (1.0, 1.0), (0.0, 0.0), (0.0, -1.0), (2.5, -2.5), (-6.0, 0.1)]


@pytest.mark.parametrize("rho", [-0.999, -0.95, -0.9, -0.4, 0.0, 0.2, 0.6, 0.92, 0.93, 0.9999])
def test_against_scipy(rho):
    for a, b in BOUNDS:
        together = multivariate_normal(cov=[[1, rho], [rho, 1]]).cdf([a, b])
        assert_allclose(normal_excess(a, b, rho), together - ndtr(a) * ndtr(b), atol=1e-7)


@pytest.mark.parametrize("rho", [-0.9, -0.3, 0.1, 0.5, 0.85, 0.92])
def test_rare_events_keep_their_digits(rho):
    """Of both below −4, the excess over independence: an integral of the density over correlations."""

    def density(r):
        return np.exp(-16 / (1 + r)) / (2 * np.pi * np.sqrt(1 - r**2))

    expected = quad(density, 0, rho, epsabs=0, epsrel=1e-11)[0]
    assert_allclose(normal_excess(-4.0, -4.0, rho), expected, rtol=1e-8)


def test_strong_and_weak_correlations_side_by_side():
    rho = np.array([[-1.0, -0.97], [0.3, 0.926], [0.99999, 1.0]])
    a, b = np.array([[-0.5], [0.2], [1.0]]), np.array([-0.5, 0.8])
    alone = [normal_excess(*each) for each in zip(*(x.ravel() for x in np.broadcast_arrays(a, b, rho)), strict=True)]
    assert_allclose(normal_excess(a, b, rho).ravel(), alone, atol=1e-15)


def test_where_it_is_known():
    a, b = np.array([-1.2, 0.0, 0.4, 2.0]), np.array([0.3, 0.0, -0.4, 2.0])
    assert_allclose(normal_excess(a, b, 1.0), np.minimum(ndtr(a), ndtr(b)) - ndtr(a) * ndtr(b), atol=1e-15)
    assert_allclose(normal_excess(a, b, -1.0), np.maximum(ndtr(a) - ndtr(-b), 0) - ndtr(a) * ndtr(b), atol=1e-15)
    assert_allclose(normal_excess(0, 0, 0.95), np.arcsin(0.95) / (2 * np.pi))
    assert_allclose(normal_excess(a, b, 1e-9), 1e-9 * norm.pdf(a) * norm.pdf(b))
    assert_allclose(normal_excess([np.inf, -np.inf], 0.2, np.array([0.5, 0.95])), 0, atol=1e-15)
