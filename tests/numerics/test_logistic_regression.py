"""Logistic regressions solved together: against liblinear and a general optimiser, in both coordinates."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from labelwise.numerics import logistic_regression
from labelwise.numerics.logistic_regression import FeatureWeights, RowWeights, choose_coordinates, fit_logistic

COORDINATES = [RowWeights.of, FeatureWeights]


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
