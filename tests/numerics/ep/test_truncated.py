"""V, W and 1 - W against fifty digits; the table and the compiled forms against the plain ones."""

import mpmath
import numpy as np
import pytest
from scipy.special import log_ndtr

from comparison_ep import log_evidence_slopes
from labelwise.numerics.ep.truncated import LEFT, TABLE_RIGHT, noisy_moment, table, v_and_rest, v_and_w

POINTS = [-1e6, -1e4, -300.0, -31.0, -30.0001, -30.0, -29.9, -12.0, -8.0, -3.0, -0.5, 0.0, 0.7, 3.0, 8.0, 12.0, 24.0]


def noisy_moments(mean, variance, margin, flip):
    """`noisy_moment` of every entry."""
    return np.array([noisy_moment(*each, margin, flip, table()) for each in zip(mean, variance, strict=True)]).T


def exact(t):
    with mpmath.workdps(50):
        t = mpmath.mpf(t)
        V = mpmath.exp(-t * t / 2) / mpmath.sqrt(2 * mpmath.pi) / (mpmath.erfc(-t / mpmath.sqrt(2)) / 2)
        W = V * (V + t)
        return float(V), float(W), float(1 - W)


@pytest.mark.parametrize("t", POINTS)
def test_both_tails_against_fifty_digits(t):
    V, W, rest = (float(value) for value in v_and_w(t))
    truth = exact(t)
    np.testing.assert_allclose([V, W], truth[:2], rtol=1e-11)
    np.testing.assert_allclose(rest, truth[2], rtol=1e-8)


def test_nothing_is_moved_far_inside():
    V, W, rest = v_and_w(np.array([26.0, 1e6, np.inf]))
    assert V.tolist() == W.tolist() == [0.0] * 3 and rest.tolist() == [1.0] * 3


def test_slope_of_v_is_minus_w():
    t = np.linspace(-40, 10, 201)
    step = 1e-4
    slope = (v_and_w(t + step)[0] - v_and_w(t - step)[0]) / (2 * step)
    np.testing.assert_allclose(slope, -v_and_w(t)[1], atol=1e-8)


def test_table_is_as_good_as_the_formula():
    t = np.random.default_rng(0).uniform(LEFT, TABLE_RIGHT, 5000)
    looked_up = np.array([v_and_rest(one, table()) for one in t])
    V, _, rest = v_and_w(t)
    np.testing.assert_allclose(looked_up, np.column_stack([V, rest]), atol=2e-11, rtol=0)


@pytest.mark.parametrize("t", [-1e6, -31.0, LEFT, TABLE_RIGHT - 1e-12, TABLE_RIGHT, 13.0, 1e5])
def test_table_beyond_its_ends(t):
    V, _, rest = v_and_w(t)
    np.testing.assert_allclose(v_and_rest(t, table()), (V, rest), rtol=1e-9, atol=1e-30)


@pytest.mark.parametrize("flip", [1e-6, 0.02, 0.3])
@pytest.mark.parametrize("margin", [0.0, 1.0])
def test_noisy_moments_are_derivatives(flip, margin):
    mean = np.linspace(-9, 9, 37)
    variance = np.full(37, 1.7)

    def log_Z(m):
        s = np.sqrt(variance)
        return np.logaddexp(np.log1p(-flip) + log_ndtr((m - margin) / s), np.log(flip) + log_ndtr((-m - margin) / s))

    step = 1e-4
    G, H = noisy_moments(mean, variance, margin, flip)
    np.testing.assert_allclose(G, (log_Z(mean + step) - log_Z(mean - step)) / (2 * step), atol=1e-7)
    curvature = (log_Z(mean + step) - 2 * log_Z(mean) + log_Z(mean - step)) / step**2
    np.testing.assert_allclose(H, -curvature, atol=1e-5)
    assert (H < 0).any()  # a surprising answer makes the factor less sure: this is what the guards are for


def test_without_flips_the_noisy_factor_is_the_plain_one():
    mean, variance = np.linspace(-6, 9, 20), np.full(20, 1.3)
    G, H = noisy_moments(mean, variance, 0.5, 1e-300)
    V, W, _ = v_and_w((mean - 0.5) / np.sqrt(variance))
    np.testing.assert_allclose(G, V / np.sqrt(variance), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(H, W / variance, rtol=1e-8, atol=1e-10)


def test_compiled_noisy_moment():
    rng = np.random.default_rng(1)
    for mean, variance, margin, flip in zip(
        rng.normal(0, 5, 200), rng.gamma(2, 1, 200), rng.gamma(1, 1, 200), rng.uniform(1e-5, 0.49, 200), strict=True
    ):
        expected = log_evidence_slopes(mean, variance, margin, flip)
        np.testing.assert_allclose(noisy_moment(mean, variance, margin, flip, table()), expected, rtol=1e-7, atol=1e-9)
