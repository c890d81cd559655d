"""Flips under feature dropout from outside: every mask of a few features, every outcome of three passes, simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from labelwise.numerics.dropout_flips import any_flip, at_least_two_of_three, dropout_variance, flip_probability

share = st.floats(0.0, 1.0)


def outcomes(n):
    return np.array(list(itertools.product([False, True], repeat=n)))  # (2^n, n)


def moments_over_masks(x, W, rate, scale):
    """Mean and variance (q,) of the inverted dropout of features x (d,) over all 2^d masks."""
    kept = outcomes(x.size)  # (2^d, d)
    chances = np.where(kept, 1 - rate, rate).prod(1)
    outputs = (kept * (x / scale) / (1 - rate)) @ W  # (2^d, q)
    mean = chances @ outputs
    return mean, chances @ (outputs - mean) ** 2


# ---- one label


@given(st.floats(-4, 4), st.floats(1e-3, 9), st.floats(-4, 4))
@settings(deadline=None, max_examples=60)
def test_flip_by_quadrature(mean, variance, threshold):
    """Section 3, closed form: δ = Φ(−|μ − τ| / √v), the mass of a normal on the other side of the threshold."""
    gap, deviation = abs(mean - threshold), np.sqrt(variance)
    expected = quad(norm.pdf, gap / deviation, np.inf)[0]
    got = flip_probability(np.array([[mean]]), np.array([[variance]]), threshold)
    assert_allclose(got, expected, rtol=1e-6, atol=1e-12)


def test_flip_by_simulation():
    """Section 3, tests: the flip rate against simulation: decisions of noisy latents that are not those of the mean."""
    rng = np.random.default_rng(0)
    mean, variance, threshold = rng.normal(size=12), rng.uniform(0.05, 4, 12), rng.normal(size=12)
    noisy = rng.normal(mean, np.sqrt(variance), (200_000, 12)) >= threshold
    rate = (noisy != (mean >= threshold)).mean(0)
    got = flip_probability(mean, variance, threshold)
    assert (np.abs(got - rate) < 4.5 * np.sqrt(0.25 / 200_000)).all()


def test_no_variance_no_flip_and_half_at_the_threshold():
    """Section 3, tests: v = 0 gives δ = 0, μ = τ gives ½."""
    mean = np.array([[-1.0, 0.2, 3.0]])
    assert_allclose(flip_probability(mean, np.zeros((1, 3)), 0.1), 0.0, atol=0)
    assert_allclose(flip_probability(mean, np.full((1, 3), 0.7), mean), 0.5, rtol=1e-15)


def test_without_variance_nothing_flips_at_the_threshold_either():
    """Section 3, tests: v = 0 gives δ = 0, since a pass without noise repeats the decision, wherever it lies."""
    assert_allclose(flip_probability(np.array([0.4]), np.array([0.0]), 0.4), 0.0, atol=0)


def test_thresholds_of_labels_reach_their_columns():
    """Section 3, multi-label: each label j has its own latent threshold τ_j."""
    mean, variance = np.random.default_rng(1).normal(size=(2, 5, 3))
    variance, threshold = variance**2, np.array([-2.0, 0.0, 1.5])
    got = flip_probability(mean, variance, threshold)
    for i, j in itertools.product(range(5), range(3)):
        expected = norm.cdf(-abs(mean[i, j] - threshold[j]) / np.sqrt(variance[i, j]))
        assert_allclose(got[i, j], expected, rtol=1e-12)


@given(st.floats(-3, 3), st.floats(0.01, 5), st.floats(1.1, 9))
@settings(deadline=None, max_examples=60)
def test_more_noise_and_nearer_means_flip_more(mean, variance, factor):
    """Section 3, closed form: δ is at most ½, grows with v, falls with the distance, and has no side."""
    plain, noisier, nearer, other_side = flip_probability(
        np.array([mean, mean, mean / factor, -mean]), variance * np.array([1.0, factor, 1.0, 1.0]), 0.0
    )
    assert 0 <= plain <= 0.5
    assert noisier >= plain and nearer >= plain
    assert other_side == plain


# ---- several labels and passes


@given(st.lists(share, min_size=1, max_size=6))
@settings(deadline=None, max_examples=60)
def test_any_flip_by_enumeration(flips):
    """Section 3, multi-label: g = 1 − Π_j (1 − δ_ij), the mass of all outcomes with a flip."""
    sets = outcomes(len(flips))
    expected = np.where(sets, flips, 1 - np.array(flips)).prod(1)[sets.any(1)].sum()
    assert_allclose(any_flip(np.array([flips])), [expected], rtol=1e-10, atol=1e-12)


def test_any_flip_keeps_small_chances_and_certain_ones():
    """Section 3, multi-label: of rare flips the sum is left, and one certain flip makes g = 1."""
    got = any_flip(np.array([[1e-20, 3e-20, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    assert got.shape == (3,)
    assert_allclose(got[1:], [1.0, 0.0], atol=1e-15)
    assert 0 <= got[0] < 1e-15


def test_any_flip_saturates():
    """Section 3, multi-label: for many labels g tells nothing any more, where the weighted sum still does."""
    few, many = np.full((1, 2000), 0.02), np.full((1, 2000), 0.04)
    few, many = any_flip(few)[0], any_flip(many)[0]
    assert few > 1 - 1e-12 and 0 <= many - few < 1e-12


@given(share)
@settings(deadline=None, max_examples=60)
def test_two_of_three_by_enumeration(g):
    """Section 3, tests: the binomial tail of M = 3 passes by enumeration, 3g² − 2g³."""
    sets = outcomes(3)
    expected = np.where(sets, g, 1 - g).prod(1)[sets.sum(1) >= 2].sum()
    assert_allclose(at_least_two_of_three(np.array([g])), [expected], rtol=1e-10, atol=1e-14)


# ---- the variance that dropout makes


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.75])
@pytest.mark.parametrize("scaled", [False, True])
def test_variance_over_all_masks(rate, scaled):
    """Section 3, closed form: v = ρ / (1 − ρ) Σ_d (w_d x_d / σ_d)², the mean unchanged, over all 2^d masks."""
    rng = np.random.default_rng(2)
    X, W = rng.normal(size=(6, 8)), rng.normal(size=(8, 3))  # (n, d), (d, q)
    scale = rng.uniform(0.5, 3, 8) if scaled else None
    got = dropout_variance(X, W, rate, scale) if scaled else dropout_variance(X, W, rate)
    assert got.shape == (6, 3)
    for i in range(6):
        mean, variance = moments_over_masks(X[i], W, rate, np.ones(8) if scale is None else scale)
        assert_allclose(mean, (X[i] / (1.0 if scale is None else scale)) @ W, rtol=1e-9, atol=1e-12)
        assert_allclose(got[i], variance, rtol=1e-9)


def test_no_dropout_no_variance():
    """Section 3, closed form: with ρ = 0 nothing varies; a feature that is 0 or has no weight adds nothing."""
    X, W = np.array([[1.0, 2.0, 0.0]]), np.array([[1.0], [0.0], [5.0]])
    assert_allclose(dropout_variance(X, W, 0.0), [[0.0]], atol=0)
    assert_allclose(dropout_variance(X, W, 0.75), [[3.0]], rtol=1e-14)  # ρ / (1 − ρ) = 3 times the first alone


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_without_meaning_is_named(rate):
    """Section 3, closed form: ρ / (1 − ρ) is a variance for 0 ≤ ρ < 1 only; errors state the value."""
    with pytest.raises(ValueError, match=str(rate)):
        dropout_variance(np.ones((2, 2)), np.ones((2, 1)), rate)


def test_flip_rate_of_simulated_dropout():
    """Section 3, tests: the closed form against passes with dropout 0.75 on a linear head of many features.

    The sum of many dropped features is nearly normal, so the two agree up to some hundredths and the noise of chance.
    """
    rng = np.random.default_rng(3)
    d, q, rate = 400, 4, 0.75
    X, W, scale = rng.normal(size=(5, d)), rng.normal(size=(d, q)) / 20, rng.uniform(0.5, 2, d)
    mean = (X / scale) @ W
    closed = flip_probability(mean, dropout_variance(X, W, rate, scale), 0.3)
    flips = np.zeros((5, q))
    for _ in range(4000):
        kept = rng.random((5, d)) >= rate
        flips += ((kept * X / scale / (1 - rate)) @ W >= 0.3) != (mean >= 0.3)
    assert_allclose(flips / 4000, closed, atol=0.04)
    assert np.ptp(closed) > 0.15  # so that a constant would be noticed
