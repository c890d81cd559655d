"""One Newton step of logistic regressions: against dense algebra, and against regressions fitted again."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from labelwise.numerics.logistic_update import inner_products, newton_change

PENALTY = 0.5


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
