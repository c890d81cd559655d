import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from labelwise.numerics.polya_gamma import (
    gradients_and_weights,
    log_likelihood,
    log_two_cosh,
    polya_gamma_mean,
)


def mean_by_series(b, c, terms=200_000):
    """The definition: PG(b, c) is Σ g_k / ((k − ½)² + c²/4π²) / 2π² with E[g_k] = b; the tail is about 1/terms."""
    k = np.arange(1, terms + 1) - 0.5
    return b * (np.sum(1 / (k**2 + c**2 / (4 * np.pi**2))) + 1 / terms) / (2 * np.pi**2)


@pytest.mark.parametrize("b", [1.0, 5.0, 12.5])
@pytest.mark.parametrize("c", [0.0, 1e-4, 5e-4, 2e-3, 0.7, 3.0, 30.0])
def test_mean_against_the_series(b, c):
    np.testing.assert_allclose(polya_gamma_mean(b, c), mean_by_series(b, c), rtol=1e-9)


@pytest.mark.parametrize("b", [1, 5])
@pytest.mark.parametrize("c", [0.0, 1.5, 4.0])
def test_mean_against_draws(b, c):
    polyagamma = pytest.importorskip("polyagamma", reason="needs the package polyagamma as a rival")
    drawn = polyagamma.random_polyagamma(b, c, size=20_000, random_state=np.random.default_rng(0))
    np.testing.assert_allclose(polya_gamma_mean(b, c), drawn.mean(), rtol=0.02)


@given(psi=st.floats(-20, 20), other=st.floats(-20, 20), m=st.floats(0, 200), r=st.floats(0.1, 50), label=st.booleans())
def test_the_square_touches_the_likelihood_and_stays_below(psi, other, m, r, label):
    a, b = (float(m > 100), 1.0) if label else (m, m + r)
    slope, weight = a - b * expit(psi), polya_gamma_mean(b, psi)
    square = log_likelihood(a, b, psi) + slope * (other - psi) - weight * (other - psi) ** 2 / 2
    assert square <= log_likelihood(a, b, other) + 1e-9 * (1 + abs(square))


def fixed_point(kappa, b, steps=4000):
    psi = 0.3
    for _ in range(steps):
        psi = kappa / polya_gamma_mean(b, psi)
    return psi


def test_the_fixed_point_of_labels_is_their_log_odds():
    np.testing.assert_allclose(fixed_point(0.8 - 0.5, 1.0), np.log(4), atol=1e-9)


@pytest.mark.parametrize("m", [1.0, 5.0, 40.0])
def test_the_fixed_point_of_a_count_is_the_count(m):
    r = 5.0
    np.testing.assert_allclose(r * np.exp(fixed_point((m - r) / 2, m + r)), m, rtol=1e-7)


@pytest.mark.parametrize("m", [1.0, 5.0, 40.0])
def test_the_printed_kappa_has_no_fixed_point(m):
    r = 5.0
    after = [fixed_point((m + r) / 2, m + r, steps) for steps in (1000, 4000)]
    assert 8 < after[0] < after[1] - 1  # still growing, at fitted counts of thousands


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_and_weights_are_those_of_the_formulas(dtype):
    rng = np.random.default_rng(0)
    psi = np.concatenate([rng.normal(size=40) * 10, [0.0, 1e-9, -1e-4, 9.9e-4, -1.1e-3, 80.0, -80.0, 0.5]])
    psi = psi.reshape(6, 8).astype(dtype)
    m = rng.poisson(4, size=psi.shape)
    trials = np.where(rng.random(psi.shape) < 0.7, m + 2.5, 0.0)
    successes = np.where(trials > 0, m, 0)
    slope, weight = gradients_and_weights(psi.copy(), successes, trials)
    tolerance = 1e-12 if dtype == np.float64 else 3e-6
    exact = psi.astype(np.float64)
    np.testing.assert_allclose(slope, successes - trials * expit(exact), rtol=tolerance, atol=tolerance * 10)
    np.testing.assert_allclose(weight, polya_gamma_mean(trials, exact), rtol=tolerance * 10)
    assert slope.dtype == weight.dtype == dtype
    assert not slope[trials == 0].any() and not weight[trials == 0].any()


def test_both_ways_to_write_the_likelihood_agree():
    psi = np.linspace(-700, 700, 29)
    a, b = 3.0, 7.0
    np.testing.assert_allclose((a - b / 2) * psi - b * log_two_cosh(psi / 2), log_likelihood(a, b, psi), rtol=1e-12)
