"""Logistic regressions solved together: against liblinear and a general optimiser, in both coordinates."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from labelwise.numerics import logistic_regression
from labelwise.numerics.logistic_regression import (
    FeatureWeights,
    RowWeights,
    SoftmaxRegression,
    choose_coordinates,
    fit_logistic,
    inner_products,
    newton_change,
)

COORDINATES = [RowWeights.of, FeatureWeights]
PENALTY = 0.5


def problem(n, d, q=5, seed=0, size=1.0):
    rng = np.random.default_rng(seed)
    X = size * rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    Y = X @ rng.normal(size=(d, q)) / size + rng.normal(size=(n, q)) > 0.8
    Y[0], Y[1] = True, False  # both answers to every label
    return X, Y, (rng.random((n, q)) < 0.7) | (np.arange(n) < 2)[:, None]


def objective_and_gradient(wb, X, y, C):
    margin = X @ wb[:-1] + wb[-1]
    slope = C * (1 / (1 + np.exp(-margin)) - y)
    value = 0.5 * wb @ wb + C * np.sum(np.logaddexp(0, margin) - y * margin)
    return value, wb + np.append(X.T @ slope, slope.sum())


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("n", "d"), [(40, 6), (15, 30)])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_every_label_is_at_its_own_optimum(monkeypatch, coordinates, kind, n, d, C):
    monkeypatch.setattr(logistic_regression, "choose_coordinates", coordinates)
    X, Y, observed = problem(n, d)
    weights, intercepts = fit_logistic(kind(X), Y, observed, C)
    for j in range(Y.shape[1]):
        rows = observed[:, j]
        found = np.append(weights[:, j], intercepts[j])
        _, gradient = objective_and_gradient(found, X[rows], Y[rows, j], C)
        assert np.linalg.norm(gradient) < 1e-6 + 1e-8 * C  # its parts are of size C and cancel
        rival = minimize(
            objective_and_gradient, np.zeros(d + 1), (X[rows], Y[rows, j], C), jac=True, options={"gtol": 1e-9}
        )
        np.testing.assert_allclose(found, rival.x, atol=2e-6 * max(1.0, np.abs(rival.x).max()))


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_it_is_the_answer_of_liblinear_whatever_the_size_of_the_features(monkeypatch, coordinates, size):
    monkeypatch.setattr(logistic_regression, "choose_coordinates", coordinates)
    X, Y, _ = problem(60, 8, size=size)
    weights, intercepts = fit_logistic(X, Y, np.ones_like(Y), 10.0)
    for j in range(Y.shape[1]):
        rival = LogisticRegression(C=10.0, solver="liblinear", tol=1e-12, max_iter=100_000).fit(X, Y[:, j])
        np.testing.assert_allclose(X @ weights[:, j] + intercepts[j], rival.decision_function(X), atol=2e-5)


def test_a_label_does_not_depend_on_its_neighbours():
    X, Y, observed = problem(50, 8)
    weights, intercepts = fit_logistic(X, Y, observed, 10.0)
    for j in range(Y.shape[1]):
        alone, intercept = fit_logistic(X, Y[:, [j]], observed[:, [j]], 10.0)
        np.testing.assert_allclose(weights[:, j], alone[:, 0], atol=1e-6)
        np.testing.assert_allclose(intercepts[j], intercept[0], atol=1e-6)


def test_rows_twice_and_rows_of_nothing():
    X, Y, _ = problem(20, 30)
    X, Y = np.vstack([X, X, np.zeros((2, 30))]), np.vstack([Y, Y, Y[:2]])
    weights, intercepts = fit_logistic(X, Y, np.ones_like(Y), 10.0)
    for j in range(Y.shape[1]):
        _, gradient = objective_and_gradient(np.append(weights[:, j], intercepts[j]), X, Y[:, j], 10.0)
        assert np.linalg.norm(gradient) < 1e-6


def test_separable_labels_end():
    X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    Y = np.array([[0, 0, 1, 1]], dtype=bool).T
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights, intercepts = fit_logistic(X, Y, np.ones_like(Y), 1e6)
    _, gradient = objective_and_gradient(np.array([weights[0, 0], intercepts[0]]), X, Y[:, 0], 1e6)
    assert np.abs(gradient).max() < 1e-5


def test_no_labels_no_weights():
    weights, intercepts = fit_logistic(np.ones((3, 2)), np.ones((3, 0), bool), np.ones((3, 0), bool), 10.0)
    assert weights.shape == (2, 0) and intercepts.shape == (0,)


def test_steps_that_run_out_are_told(monkeypatch):
    monkeypatch.setattr(logistic_regression, "MAX_STEPS", 1)
    X, Y, observed = problem(40, 6)
    with pytest.warns(ConvergenceWarning, match="5 of 5 logistic regressions did not converge in 1 steps"):
        fit_logistic(X, Y, observed, 10.0)


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.zeros((10, 100)), RowWeights),
        (np.zeros((1000, 100)), FeatureWeights),
        (sp.csr_array(np.ones((30, 5))), RowWeights),
        (sp.csr_array(np.eye(100)), FeatureWeights),
    ],
)
def test_the_cheaper_coordinates_are_chosen(X, expected):
    assert isinstance(choose_coordinates(X), expected)


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_against_scikit_learn(C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=80), [-0.5, 0.5]) * 2
    ours = SoftmaxRegression.fit(X, y, C=C)
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_array_equal(ours.classes, [0, 2, 4])
    p = softmax(X @ ours.weights + ours.intercepts, axis=1)
    np.testing.assert_allclose(p, theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_two_classes_have_the_symmetric_form():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([5, 5, 7, 7])
    ours = SoftmaxRegression.fit(X, y)
    np.testing.assert_allclose(ours.weights.sum(), 0, atol=1e-6)
    assert ours.predict(np.array([[-5.0], [9.0]])).tolist() == [5, 7]


def test_a_single_class_is_always_predicted():
    ours = SoftmaxRegression.fit(np.ones((3, 2)), np.full(3, 4))
    assert ours.predict(np.zeros((2, 2))).tolist() == [4, 4]


def test_features_that_say_nothing_leave_the_shares():
    y = np.array([1, 1, 1, 2, 3, 3])
    ours = SoftmaxRegression.fit(np.zeros((6, 4)), y)
    np.testing.assert_allclose(softmax(ours.intercepts), [3 / 6, 1 / 6, 2 / 6], atol=1e-6)


def with_constant(X):
    return np.column_stack([X, np.ones(len(X))])


@pytest.fixture
def rows():
    """Features of rows trained on before, of new ones, and of others; log-odds of three labels, far from even."""
    rng = np.random.default_rng(0)
    old, new, other = rng.normal(size=(30, 4)), rng.normal(size=(3, 4)), rng.normal(size=(12, 4))
    return old, new, other, rng.normal(size=(5, 3)) * 2


def change(old, new, other, p, observed, targets):
    X = np.vstack([old, new])
    variances = np.where(np.vstack([observed, np.ones_like(targets)]), p * (1 - p), 0.0)
    residuals = np.vstack([np.zeros(observed.shape), targets - p[len(old) :]])
    return newton_change(inner_products(X, X), inner_products(other, X), variances, residuals, PENALTY, tolerance=1e-9)


def test_step_against_each_label_by_itself(rows):
    old, new, other, W = rows
    rng = np.random.default_rng(1)
    p = expit(with_constant(np.vstack([old, new])) @ W)
    observed, targets = rng.random((30, 3)) < 0.6, rng.random((3, 3)) < 0.5
    got = change(old, new, other, p, observed, targets)
    for j in range(3):
        used = np.append(observed[:, j], [True] * 3)
        X = with_constant(np.vstack([old, new]))[used]
        v = (p * (1 - p))[used, j]
        gradient = with_constant(new).T @ (targets[:, j] - p[30:, j])
        weights = np.linalg.solve(PENALTY * np.eye(5) + (X.T * v) @ X, gradient)
        np.testing.assert_allclose(got[:, j], with_constant(other) @ weights, atol=1e-7)


def fitted(X, y):
    """Weights of a regression whose intercept is penalised as any weight, by a feature that is constant."""
    model = LogisticRegression(C=1 / PENALTY, fit_intercept=False, solver="newton-cholesky", tol=1e-10)
    return model.fit(with_constant(X), y).coef_[0]


def test_step_is_close_to_a_fresh_fit(rows):
    old, new, other, _ = rows
    rng = np.random.default_rng(3)
    y, y_new = rng.random(30) < expit(old[:, 0] - old[:, 1]), np.array([True, False, True])
    before, after = fitted(old, y), fitted(np.vstack([old, new]), np.append(y, y_new))
    p = expit(with_constant(np.vstack([old, new])) @ before)[:, None]
    got = change(old, new, other, p, np.ones((30, 1), dtype=bool), y_new[:, None])[:, 0]
    truth = with_constant(other) @ (after - before)
    assert np.linalg.norm(got - truth) < 0.25 * np.linalg.norm(truth)
    half = change(old, new, other, p, np.ones((30, 1), dtype=bool), (y_new[:, None] + p[30:]) / 2)[:, 0]
    np.testing.assert_allclose(half, got / 2, atol=1e-7)  # linear in what is new


def test_certain_rows_change_nothing(rows):
    old, new, other, W = rows
    p = expit(with_constant(np.vstack([old, new])) @ W)
    p[30:] = np.array([1.0, 0.0, 1.0])[:, None]
    np.testing.assert_array_equal(change(old, new, other, p, np.ones((30, 3), dtype=bool), p[30:] > 0.5), 0)


def test_inner_products_of_sparse_and_dense_rows(rows):
    old, new, _, _ = rows
    expected = with_constant(old) @ with_constant(new).T
    np.testing.assert_allclose(inner_products(old, new), expected)
    np.testing.assert_allclose(inner_products(sp.csr_array(old), sp.csr_array(new)), expected)
