"""Counts and answers in one regression, against Gaussian conditioning in weight space and in its limits."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from labelwise.numerics.recovery.label_sketches import (
    SketchSettings,
    SketchSums,
    answer_variances,
    as_probabilities,
    log_likelihoods,
    regress_answers,
    solve_sketches,
)

SETTINGS = SketchSettings(0.0, 0.8, 0.2)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 5)), (rng.random((40, 6)) < 0.4).astype(float)
    y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0.2).astype(float)
    return X, Y, y, rng.normal(size=(12, 5)), (rng.random(12) < 0.4).astype(float)


def test_it_is_bayesian_linear_regression_on_both_kinds_of_data(problem):
    X, Y, y, X_answered, answers = problem
    counts = Y.T @ y
    counts[2] = np.nan
    known = [0, 1, 3, 4, 5]
    S = Y[:, known]
    F = np.vstack([S.T @ X, X_answered])  # all data are F w + noise
    noise = np.zeros((17, 17))
    noise[:5, :5] = 0.8 * S.T @ S + 0.2 * np.eye(5)
    noise[5:, 5:] = 0.8 * np.eye(12)
    P = np.linalg.inv(noise)
    expected = np.linalg.solve(np.eye(5) + F.T @ P @ F, F.T @ P @ np.r_[counts[known], answers])
    sums = SketchSums.of(X, Y)
    found = regress_answers(sums, counts, X_answered, answers, SETTINGS)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    sparse = regress_answers(SketchSums.of(sp.csr_array(X), Y), counts, sp.csr_array(X_answered), answers, SETTINGS)
    np.testing.assert_allclose(sparse, expected, atol=1e-10)
    X_new = np.random.default_rng(1).normal(size=(4, 5))
    left = np.einsum("nd,de,ne->n", X_new, np.linalg.inv(np.eye(5) + F.T @ P @ F), X_new)
    np.testing.assert_allclose(answer_variances(sums, counts, X_answered, SETTINGS, X_new), left, atol=1e-10)
    sparse = answer_variances(sums, counts, sp.csr_array(X_answered), SETTINGS, sp.csr_array(X_new))
    np.testing.assert_allclose(sparse, left, atol=1e-10)


def test_without_answers_it_is_the_sketch_and_without_counts_ridge(problem):
    X, Y, y, X_answered, answers = problem
    sums, counts = SketchSums.of(X, Y), Y.T @ y
    alone = regress_answers(sums, counts, X_answered[:0], answers[:0], SETTINGS)
    np.testing.assert_allclose(alone, sums.XtY @ solve_sketches(sums, counts[:, None], SETTINGS)[:, 0])
    ridge = regress_answers(sums, np.full(6, np.nan), X_answered, answers, SETTINGS)
    np.testing.assert_allclose(
        ridge, np.linalg.solve(X_answered.T @ X_answered + 0.8 * np.eye(5), X_answered.T @ answers), atol=1e-10
    )


def test_seen_labels_may_have_no_weight_of_their_own(problem):
    X, Y, y, X_answered, answers = problem
    with pytest.raises(ValueError, match=r"label_weight must be 0 .* got 0\.3"):
        regress_answers(SketchSums.of(X, Y), Y.T @ y, X_answered, answers, SketchSettings(0.3))


def test_probabilities_rise_with_scores_and_stay_inside():
    scores = np.linspace(-50.0, 3.0, 2000)
    p = as_probabilities(scores, 0.01)
    assert np.all((p > 0) & (p <= 0.99)) and np.all(np.diff(p) >= 0)
    below = scores < 0.9
    assert np.all(np.diff(p[below]) > 0)
    np.testing.assert_allclose(as_probabilities(np.array([0.0, 0.6]), 0.01), [0.01, 0.6], atol=2e-4)


def test_log_likelihoods_are_bounded():
    found = log_likelihoods(np.array([0.0, 1.0, expit(2.0)]), np.array([1.0, 0.0, 1.0]))
    np.testing.assert_allclose(found, [np.log(1e-6), np.log(1e-6), np.log(expit(2.0))])
