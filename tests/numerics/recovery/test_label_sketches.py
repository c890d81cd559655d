"""Sketched regression against the Gaussian conditioning it abbreviates, written out item by item."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.numerics.recovery.label_sketches import (
    SketchSettings,
    SketchSums,
    average_weights,
    conditional_weights,
    moment_coefficients,
    solve_sketches,
)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 4)), (rng.random((30, 6)) < 0.4).astype(float)
    unseen = (rng.random((30, 3)) < 0.3).astype(float)
    X_new, labels_new = rng.normal(size=(5, 4)), rng.random((5, 6))
    return X, Y, unseen, X_new, labels_new


@pytest.mark.parametrize("settings", [SketchSettings(), SketchSettings(0.4, 1.3, 0.2)])
def test_scores_and_variances_are_bayesian_linear_regression_on_the_counts(problem, settings):
    """Weight space: y = [X, Y] θ + ε, data m = Yᵀ y + noise; the noise of m is δ G + j I."""
    X, Y, unseen, X_new, labels_new = problem
    design = np.hstack([X, Y])
    prior = np.diag(np.r_[np.ones(4), np.full(6, settings.label_weight)])
    F = Y.T @ design  # m = F θ + noise
    noise = settings.noise_variance * Y.T @ Y + settings.count_noise * np.eye(6)
    gain = prior @ F.T @ np.linalg.inv(F @ prior @ F.T + noise)
    theta, covariance = gain @ (Y.T @ unseen), prior - gain @ F @ prior
    new = np.hstack([X_new, labels_new])
    sums = SketchSums.of(X, Y)
    coefficients = solve_sketches(sums, Y.T @ unseen, settings)
    np.testing.assert_allclose(sums.scores(X_new, labels_new, coefficients, settings), new @ theta, atol=1e-12)
    np.testing.assert_allclose(
        sums.variances(X_new, labels_new, settings), np.einsum("nd,de,ne->n", new, covariance, new), atol=1e-11
    )


def test_variances_of_some_counts_are_those_of_their_sketch_alone(problem):
    X, Y, _, X_new, labels_new = problem
    some, settings = np.array([0, 2, 5]), SketchSettings(0.0, 0.6)
    np.testing.assert_allclose(
        SketchSums.of(X, Y).variances(X_new, labels_new, settings, some),
        SketchSums.of(X, Y[:, some]).variances(X_new, labels_new[:, some], settings),
    )


def test_cross_covariance_gives_the_scores(problem):
    X, Y, unseen, X_new, labels_new = problem
    settings, sums = SketchSettings(0.4, 1.3), SketchSums.of(X, Y)
    coefficients = solve_sketches(sums, Y.T @ unseen, settings)
    np.testing.assert_allclose(
        sums.cross_covariance(X_new, labels_new, settings) @ coefficients,
        sums.scores(X_new, labels_new, coefficients, settings),
    )


def test_one_measurement_per_item_is_ridge_regression(problem):
    """With Y = I every entry of the unseen column is told: a ridge with penalty δ."""
    X, _, unseen, X_new, _ = problem
    sums, settings = SketchSums.of(X, np.eye(30)), SketchSettings(0.0, 0.7, 1e-10)
    coefficients = solve_sketches(sums, unseen, settings)
    ridge = np.linalg.solve(X.T @ X + 0.7 * np.eye(4), X.T @ unseen)
    np.testing.assert_allclose(sums.scores(X_new, np.zeros((5, 30)), coefficients, settings), X_new @ ridge, atol=1e-8)


def test_without_features_it_is_the_moment_rule(problem):
    X, Y, unseen, X_new, labels_new = problem
    sums, settings = SketchSums.of(0 * X, Y), SketchSettings(0.5, 1.5, 1e-12)
    found = sums.scores(X_new, labels_new, solve_sketches(sums, Y.T @ unseen, settings), settings)
    np.testing.assert_allclose(found, labels_new @ moment_coefficients(Y.T @ Y, Y.T @ unseen, ridge=3.0), atol=1e-8)


def test_the_moment_rule_without_ridge_is_least_squares_on_the_labels(problem):
    _, Y, unseen, _, _ = problem
    expected = np.linalg.lstsq(Y, unseen, rcond=None)[0]
    np.testing.assert_allclose(moment_coefficients(Y.T @ Y, Y.T @ unseen, 1e-10), expected, atol=1e-7)


def test_an_unknown_count_is_as_if_its_label_did_not_exist_for_that_one(problem):
    X, Y, unseen, _, _ = problem
    counts = Y.T @ unseen
    counts[[1, 4], 1] = np.nan
    settings, sums = SketchSettings(), SketchSums.of(X, Y)
    coefficients = solve_sketches(sums, counts, settings)
    whole = solve_sketches(sums, Y.T @ unseen, settings)
    np.testing.assert_allclose(coefficients[:, [0, 2]], whole[:, [0, 2]])
    kept = [0, 2, 3, 5]
    alone = solve_sketches(SketchSums.of(X, Y[:, kept]), counts[kept, 1:2], settings)
    np.testing.assert_allclose(coefficients[kept, 1], alone[:, 0], rtol=1e-9)
    assert not coefficients[[1, 4], 1].any()
    moment = moment_coefficients(Y.T @ Y, counts, 1e-10)
    np.testing.assert_allclose(moment[kept, 1], np.linalg.lstsq(Y[:, kept], unseen[:, 1], rcond=None)[0], atol=1e-7)


def test_sparse_features_give_the_same(problem):
    X, Y, unseen, X_new, labels_new = problem
    settings = SketchSettings(0.1)
    results = []
    for kind in (np.asarray, sp.csr_array):
        sums = SketchSums.of(kind(X), Y)
        coefficients = solve_sketches(sums, Y.T @ unseen, settings)
        results.append(sums.scores(kind(X_new), labels_new, coefficients, settings))
        results.append(sums.variances(kind(X_new), labels_new, settings))
    np.testing.assert_allclose(results[0], results[2], atol=1e-12)
    np.testing.assert_allclose(results[1], results[3], atol=1e-12)


def test_duplicate_labels_are_survived(problem):
    X, Y, unseen, _, _ = problem
    twice = np.hstack([Y, Y])
    coefficients = solve_sketches(SketchSums.of(X, twice), twice.T @ unseen, SketchSettings())
    assert np.isfinite(coefficients).all()


def test_weights_of_averages_and_shares():
    counts = np.array([[3.0, 0.0, np.nan], [1.0, 0.0, 4.0]])
    np.testing.assert_allclose(average_weights(counts), [[0.75, 0.0, 0.0], [0.25, 0.0, 1.0]])
    np.testing.assert_allclose(conditional_weights(counts, np.array([6.0, 0.0])), [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]])
