import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.numerics.gp import feature_regression
from labelwise.numerics.gp.feature_regression import FeatureRegression, FeatureUncertainty

LAMBDA = 0.8


def by_least_squares(X, U):
    d = X.shape[1]
    stacked = np.vstack([X, np.sqrt(LAMBDA) * np.eye(d)])
    return np.linalg.lstsq(stacked, np.vstack([U, np.zeros((d, U.shape[1]))]), rcond=None)[0]


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)], ids=["primal", "dual"])
@pytest.mark.parametrize("method", ["auto", "cg"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_weights_are_least_squares(shape, method, kind):
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=shape) * (rng.random(shape) < 0.6), rng.normal(size=(shape[0], 3))
    regression = FeatureRegression(kind(X), LAMBDA, method=method, steps=200, tolerance=1e-13)
    np.testing.assert_allclose(regression.solve(U), by_least_squares(X, U), atol=1e-9)
    np.testing.assert_allclose(regression.fitted(regression.solve(U)), X @ by_least_squares(X, U), atol=1e-9)


def test_every_gradient_step_is_an_improvement():
    rng = np.random.default_rng(1)
    X, U = rng.normal(size=(40, 12)), rng.normal(size=(40, 3))
    losses, W = [], np.zeros((12, 3))
    for _ in range(12):
        W = FeatureRegression(X, LAMBDA, method="cg", steps=1).solve(U, W)
        losses.append(np.sum((U - X @ W) ** 2) + LAMBDA * np.sum(W**2))
    assert np.all(np.diff(losses) <= 1e-12) and losses[-1] < losses[0]


@pytest.mark.parametrize("shape", [(30, 6), (6, 30)], ids=["primal", "dual"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_uncertainty_is_the_posterior_covariance_of_the_weights(shape, kind):
    rng = np.random.default_rng(2)
    X, A = rng.normal(size=shape), rng.normal(size=(40, shape[1]))
    truth = A @ np.linalg.inv(X.T @ X + LAMBDA * np.eye(shape[1])) @ A.T * 0.5
    covariance = FeatureUncertainty(kind(X), LAMBDA, 0.5).between(kind(A))
    np.testing.assert_allclose(covariance.diagonal(), truth.diagonal(), atol=1e-10)
    np.testing.assert_allclose(covariance.columns(np.array([3, 0])), truth[:, [3, 0]], atol=1e-10)
    np.testing.assert_allclose(covariance.factor() @ covariance.factor().T, truth, atol=1e-10)
    assert covariance.noise == 0.5
    assert FeatureUncertainty(kind(X), LAMBDA, 0.5).between(kind(A[:3])).factor() is None


def test_uncertainty_from_a_gram_matrix_alone():
    rng = np.random.default_rng(3)
    X, A = rng.normal(size=(30, 6)), rng.normal(size=(9, 6))
    gram = X.T @ X
    found = FeatureUncertainty(None, LAMBDA, 2.0, gram=gram).between(A).diagonal()
    np.testing.assert_allclose(found, FeatureUncertainty(X, LAMBDA, 2.0).between(A).diagonal(), rtol=1e-10)
    np.testing.assert_array_equal(gram, X.T @ X)


def test_too_many_of_both_are_solved_by_steps_and_believed_by_a_part(monkeypatch):
    rng = np.random.default_rng(4)
    X, U = rng.normal(size=(30, 20)), rng.normal(size=(30, 2))
    exact = FeatureUncertainty(X, LAMBDA, 1.0).squares(X)
    monkeypatch.setattr(feature_regression, "LARGEST_FACTOR", 10)
    regression = FeatureRegression(X, LAMBDA, steps=100, tolerance=1e-12)
    np.testing.assert_allclose(regression.solve(U), by_least_squares(X, U), atol=1e-8)
    part = FeatureUncertainty(X, LAMBDA, 1.0).squares(X)
    assert np.all(part >= exact - 1e-12) and part.mean() > exact.mean()  # fewer known items leave more open
