"""Gaussian process gates against dense Gaussian algebra, scikit-learn, and one another."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from labelwise.numerics.feature_solver import NystromMap
from labelwise.numerics.kernels import Kernel
from labelwise.numerics.mixture_gates import InducingGates, KernelGates

KERNEL = Kernel(rbf=4.0, length_scale=0.8)


def problem(n=25, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), np.exp(rng.normal(-1, 1, n)), rng.normal(size=n), rng


def dense_beliefs(K, D, r):
    """Mean, covariance and KL of N(f; 0, K) exp(rᵀf − ½ fᵀDf), by inverses."""
    precision = np.linalg.inv(K) + np.diag(D)
    cov = np.linalg.inv(precision)
    mean = cov @ r
    inverse = np.linalg.inv(K)
    log_ratio = np.linalg.slogdet(K)[1] - np.linalg.slogdet(cov)[1]
    return mean, cov, 0.5 * (np.trace(inverse @ cov) + mean @ inverse @ mean - len(r) + log_ratio)


def test_beliefs_are_those_of_gaussian_algebra():
    X, D, r, _ = problem()
    K = KERNEL(X) + 1e-3 * np.eye(len(X))
    found = KernelGates(KERNEL, X, K).infer(D, r)
    mean, cov, divergence = dense_beliefs(K, D, r)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.variance, cov.diagonal(), rtol=1e-8)
    np.testing.assert_allclose(K @ found.weights, mean, atol=1e-9)
    assert found.divergence == pytest.approx(divergence, rel=1e-7)


@pytest.mark.parametrize("inducing", [False, True])
def test_a_workspace_may_hold_anything_and_changes_nothing(inducing):
    X, D, r, _ = problem()
    gates = InducingGates.on(KERNEL, X[:6], X) if inducing else KernelGates.on(KERNEL, X)
    workspace = gates.workspace()
    workspace.fill(np.nan)
    for found in (gates.infer(D, r, workspace), gates.infer(D, r, workspace)):
        for ours, plain in zip(found, gates.infer(D, r), strict=True):
            np.testing.assert_array_equal(ours, plain)


def test_variances_keep_their_digits_where_precision_is_tiny():
    X, D, r, _ = problem()
    D[::3] = 1e-12
    gates = KernelGates.on(KERNEL, X)
    root = np.sqrt(D)
    L = np.linalg.cholesky(np.eye(len(X)) + root[:, None] * gates.K * root)
    V = np.linalg.solve(L, root[:, None] * gates.K)
    np.testing.assert_allclose(gates.infer(D, r).variance, gates.K.diagonal() - (V**2).sum(0), rtol=1e-9)


def test_a_singular_kernel_matrix_is_harmless():
    X, D, r, _ = problem()
    twice = KernelGates.on(KERNEL, np.vstack([X, X])).infer(np.r_[D, D], np.r_[r, r])
    once = KernelGates.on(KERNEL, X).infer(2 * D, 2 * r)  # two equal items are one seen twice
    np.testing.assert_allclose(twice.mean[: len(X)], once.mean, atol=1e-9)
    np.testing.assert_allclose(twice.variance[len(X) :], once.variance, atol=1e-9)
    assert twice.divergence == pytest.approx(once.divergence, rel=1e-8)


def test_predictions_are_those_of_scikit_learn():
    X, D, r, rng = problem()
    X_new = rng.normal(size=(7, 2))
    gates = KernelGates.on(KERNEL, X)
    theirs = GaussianProcessRegressor(ConstantKernel(4.0) * RBF(0.8), alpha=1 / D, optimizer=None).fit(X, r / D)
    mean, deviation = theirs.predict(X_new, return_std=True)
    basis = gates.basis(X_new)
    np.testing.assert_allclose(basis.T @ gates.infer(D, r).weights, mean, rtol=1e-8)
    found = gates.variances(gates.factor(D), basis, KERNEL.diagonal(X_new))
    np.testing.assert_allclose(found, deviation**2, rtol=1e-7)
    single = gates.variances(gates.factor(D).astype(np.float32), basis.astype(np.float32), KERNEL.diagonal(X_new))
    np.testing.assert_allclose(single, deviation**2, rtol=1e-3)


def test_inducing_rows_that_are_the_data_give_the_full_model():
    X, D, r, rng = problem()
    K = KERNEL(X) + 1e-6 * np.eye(len(X))
    L = np.linalg.cholesky(K)
    whole = KernelGates(KERNEL, X, K).infer(D, r)
    sparse = InducingGates(NystromMap(KERNEL, X, L), L, np.zeros(len(X)))
    found = sparse.infer(D, r)
    np.testing.assert_allclose(found.mean, whole.mean, atol=1e-11)
    np.testing.assert_allclose(found.variance, whole.variance, atol=1e-11)
    assert found.divergence == pytest.approx(whole.divergence, abs=1e-11)
    X_new = rng.normal(size=(9, 2))
    exact = KernelGates(KERNEL, X, K)
    prior = KERNEL.diagonal(X_new)
    expected = exact.variances(exact.factor(D), exact.basis(X_new), prior)
    basis = sparse.basis(X_new)
    np.testing.assert_allclose(sparse.variances(sparse.factor(D), basis, prior), expected, atol=1e-9)
    np.testing.assert_allclose(basis.T @ found.weights, exact.basis(X_new).T @ whole.weights, atol=1e-9)


def test_few_inducing_rows_are_a_gaussian_process_of_their_own():
    X, D, r, rng = problem()
    gates = InducingGates.on(KERNEL, X[:6], X)
    found = gates.infer(D, r)
    low_rank = gates.features @ gates.features.T
    cov = low_rank - low_rank @ np.linalg.solve(low_rank + np.diag(1 / D), low_rank)
    np.testing.assert_allclose(found.mean, cov @ r, atol=1e-10)
    np.testing.assert_allclose(found.variance, cov.diagonal() + gates.lost, atol=1e-9)
    assert np.all(gates.lost[6:] > 0)
    np.testing.assert_allclose(gates.prior_variance, 4.0, rtol=1e-6)
    mean, scatter = found.weights, np.linalg.inv(np.eye(6) + gates.features.T @ (D[:, None] * gates.features))
    divergence = 0.5 * (np.trace(scatter) + mean @ mean - 6 - np.linalg.slogdet(scatter)[1])
    assert found.divergence == pytest.approx(divergence, rel=1e-9)
    X_new = rng.normal(size=(5, 2))
    phi = gates.basis(X_new)
    expected = 4.0 - (phi**2).sum(0) + np.einsum("mn,mk,kn->n", phi, scatter, phi)
    np.testing.assert_allclose(gates.variances(gates.factor(D), phi, KERNEL.diagonal(X_new)), expected, rtol=1e-9)
