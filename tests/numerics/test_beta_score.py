"""Beta scores against quadrature of their definitions, and expected gains against answers told to samples."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import expit, logit

from labelwise.numerics.beta_score import (
    beta_losses,
    beta_regret,
    expected_regret,
    means_after_answers,
    released_losses,
)

WEIGHTS = [(0.1, 1.0), (0.1, 3.0), (1.0, 1.0), (0.0, 0.0), (2.5, 0.3), (1.0, 2.0), (0.5, 0.5), (0.4, 2.5)]


def quadrature(f, low, high):
    return quad(f, low, high, epsabs=0, epsrel=1e-11, limit=500)[0]


def regret_by_quadrature(a, b, alpha, beta):
    """∫ (a − t) t^(α−1) (1 − t)^(β−1) dt from b to a, over the log-odds of t, where it is smooth."""
    ends = np.linspace(logit(b), logit(a), 2 + int(abs(logit(a) - logit(b))))
    pieces = pairwise(ends)
    return sum(quadrature(lambda x: (a - expit(x)) * expit(x) ** alpha * expit(-x) ** beta, *each) for each in pieces)


@pytest.mark.parametrize(("alpha", "beta"), WEIGHTS)
def test_losses_are_the_integrals(alpha, beta):
    for p in (0.003, 0.2, 0.5, 0.97):
        absent, present = beta_losses(p, alpha, beta)
        assert_allclose(absent, quadrature(lambda t: t**alpha * (1 - t) ** (beta - 1), 0, p), rtol=1e-8)
        assert_allclose(present, quadrature(lambda t: t ** (alpha - 1) * (1 - t) ** beta, p, 1), rtol=1e-8)


@pytest.mark.parametrize(("alpha", "beta"), WEIGHTS)
def test_regret_is_the_difference_of_expected_losses(alpha, beta):
    a, b = np.meshgrid([0.02, 0.3, 0.31, 0.8], [0.01, 0.3, 0.6, 0.95])
    (absent_a, present_a), (absent_b, present_b) = beta_losses(a, alpha, beta), beta_losses(b, alpha, beta)
    expected = a * (present_b - present_a) + (1 - a) * (absent_b - absent_a)
    assert_allclose(beta_regret(a, b, alpha, beta), expected, atol=1e-14)


@pytest.mark.parametrize(("alpha", "beta"), WEIGHTS)
def test_regret_keeps_its_digits_near_the_ends_and_for_small_differences(alpha, beta):
    rng = np.random.default_rng(0)
    for _ in range(30):
        a = 10 ** rng.uniform(-6, -0.01)
        for b in (a * (1 + 0.9 * rng.uniform(-1, 1)), a * (1 + 1e-6), 10 ** rng.uniform(-6, -0.01)):
            b = min(b, 0.9999)
            assert_allclose(beta_regret(a, b, alpha, beta), regret_by_quadrature(a, b, alpha, beta), rtol=1e-8)
    for a, b in ((1 - 1e-4, 1 - 3e-4), (1 - 1e-4, 1 - 1.05e-4), (1 - 1e-5, 0.7)):
        assert_allclose(beta_regret(a, b, alpha, beta), regret_by_quadrature(a, b, alpha, beta), rtol=1e-8)


def test_two_members_by_their_names():
    a, b = np.array([0.1, 0.5, 1.0, 0.0]), np.array([[0.2], [0.7]])
    assert_allclose(beta_regret(a, b, 1, 1), (a - b) ** 2 / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        divergence = np.nan_to_num(a * np.log(a / b)) + np.nan_to_num((1 - a) * np.log((1 - a) / (1 - b)))
    assert_allclose(beta_regret(a, b, 0, 0), divergence)


@pytest.mark.parametrize(("alpha", "beta"), WEIGHTS)
def test_regret_is_nothing_where_nothing_is_wrong_and_never_negative(alpha, beta):
    p = np.array([0.0, 1e-300, 1e-9, 0.3, 1 - 1e-12, 1.0])
    assert_array_equal(beta_regret(p, p, alpha, beta), 0.0)
    assert beta_regret(0.3, 0.3, alpha, beta).shape == ()
    a, b = np.random.default_rng(0).beta(0.05, 0.05, (2, 2000))
    assert np.all(beta_regret(a, b, alpha, beta) >= 0)


def answers_told_to_samples(drawn, alpha, beta):
    """(n, m) expected regret by Bayes' rule on samples drawn (s, n) of one label, every item asked and reference."""
    n = drawn.shape[1]
    gains = np.zeros((n, n))
    for i in range(n):
        for yes in (True, False):
            weight = drawn[:, i] if yes else 1 - drawn[:, i]
            after = weight @ drawn / weight.sum()
            for k in range(n):
                gains[i, k] += weight.mean() * float(beta_regret(after[k], drawn[:, k].mean(), alpha, beta))
    return gains


@pytest.mark.parametrize(("alpha", "beta"), WEIGHTS)
def test_gains_are_those_of_answers_told_to_samples(alpha, beta):
    drawn = np.random.default_rng(1).beta(0.7, 2, (3, 4, 2))  # (s, n, q)
    mean = drawn.mean(0)
    deviations = drawn - mean
    covariance = np.einsum("snq,smq->nmq", deviations, deviations) / 3
    gains = expected_regret(mean, mean, covariance, alpha, beta)
    for j in range(2):
        assert_allclose(gains[:, :, j], answers_told_to_samples(drawn[:, :, j], alpha, beta), rtol=1e-9, atol=1e-15)
    assert_allclose(np.einsum("nnq->nq", covariance), drawn.var(0))  # an item is its own reference by its variance


def test_gains_of_known_scores():
    p, reference, C = np.array([[0.2]]), np.array([[0.4]]), np.array([[[0.05]]])
    assert_allclose(expected_regret(p, reference, C, 1, 1), C**2 / (2 * p * (1 - p)))
    joint = np.array([[0.2 * 0.4 + 0.05, 0.2 * 0.6 - 0.05], [0.8 * 0.4 - 0.05, 0.8 * 0.6 + 0.05]])
    apart = np.outer(joint.sum(1), joint.sum(0))
    assert_allclose(expected_regret(p, reference, C, 0, 0).item(), (joint * np.log(joint / apart)).sum())


@pytest.mark.parametrize(("alpha", "beta"), WEIGHTS)
def test_no_covariance_no_gain_and_certain_labels_tell_nothing(alpha, beta):
    p, reference = np.array([[0.0, 0.3, 1.0]]), np.array([[0.5, 0.2, 0.0], [1.0, 0.9, 0.4]])
    assert_array_equal(expected_regret(p, reference, np.zeros((1, 2, 3)), alpha, beta), 0.0)
    gains = expected_regret(p, reference, np.full((1, 2, 3), 1e-3), alpha, beta)[0]
    assert_array_equal(gains[:, [0, 2]], 0.0)
    assert np.all(gains[:, 1] >= 0)


def test_means_after_answers_average_to_the_mean_before():
    rng = np.random.default_rng(2)
    p, reference = rng.random((5, 3)), rng.random((4, 3))
    C = 0.3 * (rng.random((5, 4, 3)) - 0.5) * np.minimum(p, 1 - p)[:, None] * np.minimum(reference, 1 - reference)
    yes, no = means_after_answers(p, reference, C)
    assert_allclose(p[:, None] * yes + (1 - p[:, None]) * no, np.broadcast_to(reference, C.shape))
    assert np.all(means_after_answers(p, reference, 100 * C)[0] <= 1)


def test_released_losses_lack_the_last_terms():
    assert_allclose(released_losses(0.7, 0.1, 3)[0], 0.164, atol=5e-4)
    assert_allclose(beta_losses(0.7, 0.1, 3)[0], 0.271, atol=5e-4)
    p = np.array([0.1, 0.6])
    assert_allclose(released_losses(p, 0.1, 1), beta_losses(p, 0.1, 1))
    assert_array_equal(released_losses(p, 0.1, 3.7), released_losses(p, 0.1, 3))
    with pytest.raises(ValueError, match="beta from 1"):
        released_losses(p, 0.1, 0.5)


@pytest.mark.parametrize(("alpha", "beta"), [(0, 1), (1, 0), (-1, 1)])
def test_weights_without_finite_scores_are_refused(alpha, beta):
    for function in (lambda: beta_losses(0.5, alpha, beta), lambda: beta_regret(0.5, 0.2, alpha, beta)):
        with pytest.raises(ValueError, match="positive, or both 0"):
            function()


def test_what_is_certain_does_not_move_by_rounding():
    """Its covariance is 0; what rounding leaves of it would be an infinite surprise for the logarithmic score."""
    asked, certain, rounding = np.array([[0.5]]), np.array([[1.0], [0.0]]), np.full((1, 2, 1), 2.5e-16)
    assert not expected_regret(asked, certain, rounding, 0, 0).any()
