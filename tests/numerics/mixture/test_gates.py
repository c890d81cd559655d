"""Gaussian process gates against dense Gaussian algebra, scikit-learn, and one another."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from labelwise.numerics.gp.feature_solver import NystromMap
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.mixture.gates import (
    InducingGates,
    KernelGates,
    integrated_moments,
    logistic_softmax,
    probit_moments,
    sampled_moments,
)

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


def gates(n, k, seed=0, most=np.inf):
    rng = np.random.default_rng(seed)
    return 2 * rng.standard_normal((n, k)) - 1, np.minimum(np.exp(rng.standard_normal((n, k))), most)


def fine_moments(mean, variance, n_nodes=80, step=0.3):
    """The same integrals for one item, in plain numpy and with more nodes."""
    x, w = np.polynomial.hermite_e.hermegauss(n_nodes)
    sigma = expit(mean[:, None] + np.sqrt(variance)[:, None] * x)  # (k, nodes)
    t = np.arange(-np.log(mean.size) - 15, max(0.0, -np.log(sigma.min(1).sum())) + 5, step)
    rate = np.exp(t)
    decay = np.exp(-rate[:, None, None] * sigma) * w / w.sum()
    a0, a1, a2 = decay.sum(2), (decay * sigma).sum(2), (decay * sigma**2).sum(2)
    product = np.exp(np.log(a0).sum(1))
    first, second = (rate * product) @ (a1 / a0), (rate**2 * product) @ (a2 / a0)
    total = first.sum()
    return first / total, second / total - (first / total) ** 2


@pytest.mark.parametrize(("most", "tolerance"), [(np.inf, (2e-3, 1e-3)), (3.9, (2e-5, 1e-5))])
def test_quadrature_agrees_with_a_finer_one(most, tolerance):
    mean, variance = gates(60, 7, most=most)
    found = integrated_moments(mean, variance)
    for i in range(60):
        first, spread = fine_moments(mean[i], variance[i])
        np.testing.assert_allclose(found.mean[i], first, atol=tolerance[0])
        np.testing.assert_allclose(found.variance[i], spread, atol=tolerance[1])


def test_quadrature_agrees_with_sampling():
    mean, variance = gates(20, 5)
    found = integrated_moments(mean, variance)
    draws = np.random.default_rng(1).standard_normal((100_000, 5))
    sampled = sampled_moments(mean, variance, draws)
    np.testing.assert_allclose(found.mean, sampled.mean, atol=4e-3)
    np.testing.assert_allclose(found.variance, sampled.variance, atol=1.5e-3)


def test_two_gates_one_of_them_certain():
    level, (mean, variance) = expit(-0.4), (0.7, 2.0)
    found = integrated_moments(np.array([[mean, -0.4]]), np.array([[variance, 1e-14]]))

    def expectation(power):
        return quad(lambda f: (expit(f) / (expit(f) + level)) ** power * norm.pdf(f, mean, variance**0.5), -12, 12)[0]

    assert found.mean[0, 0] == pytest.approx(expectation(1), abs=1e-6)
    assert found.variance[0, 0] == pytest.approx(expectation(2) - expectation(1) ** 2, abs=1e-6)


def test_without_doubt_the_gate_is_the_function_of_the_means():
    mean, _ = gates(30, 6)
    tiny = mean - 30.0  # every σ is of order 1e-13
    for rule, at in ((integrated_moments, mean), (probit_moments, mean), (integrated_moments, tiny)):
        found = rule(at, np.full(at.shape, 1e-14))
        np.testing.assert_allclose(found.mean, logistic_softmax(at), rtol=1e-5, atol=2e-6)
        np.testing.assert_allclose(found.variance, 0.0, atol=3e-6)


@pytest.mark.parametrize("rule", [integrated_moments, probit_moments])
def test_equal_gates_have_equal_shares_and_one_gate_has_all(rule):
    np.testing.assert_allclose(rule(np.full((2, 9), -1.3), np.full((2, 9), 2.5)).mean, 1 / 9, atol=1e-12)
    alone = rule(np.array([[0.3], [-9.0]]), np.array([[2.0], [5.0]]))
    np.testing.assert_allclose(alone.mean, 1.0, atol=1e-12)
    np.testing.assert_allclose(alone.variance, 0.0, atol=1e-3)


@pytest.mark.parametrize("rule", [integrated_moments, probit_moments])
def test_shares_sum_to_one_and_variances_are_possible(rule):
    mean, variance = gates(200, 12, seed=3)
    found = rule(mean, 20 * variance)
    np.testing.assert_allclose(found.mean.sum(1), 1.0)
    assert np.all(found.variance >= 0)
    assert np.all(found.variance <= found.mean * (1 - found.mean) + 1e-12) or rule is probit_moments


def test_permuting_gates_permutes_moments():
    mean, variance = gates(10, 6)
    order = np.random.default_rng(0).permutation(6)
    straight, permuted = integrated_moments(mean, variance), integrated_moments(mean[:, order], variance[:, order])
    np.testing.assert_allclose(permuted.mean, straight.mean[:, order], atol=1e-12)
    np.testing.assert_allclose(permuted.variance, straight.variance[:, order], atol=1e-12)


def test_the_shortcut_is_near_and_cheap_draws_are_nearer_than_nothing():
    mean, variance = gates(200, 10)
    exact = integrated_moments(mean, variance)
    short = probit_moments(mean, variance)
    assert np.abs(short.mean - exact.mean).max() < 3e-2
    assert np.abs(short.variance - exact.variance).max() < 1.5e-2
    assert np.corrcoef(short.variance.mean(1), exact.variance.mean(1))[0, 1] > 0.9


def test_sampling_uses_the_same_draws_for_every_item():
    mean, variance = gates(7, 4)
    draws = np.random.default_rng(0).standard_normal((50, 4))
    whole = sampled_moments(mean, variance, draws)
    part = sampled_moments(mean[5:], variance[5:], draws)
    np.testing.assert_allclose(whole.mean[5:], part.mean)
    np.testing.assert_allclose(whole.variance[5:], part.variance)


@pytest.mark.parametrize("shift", [-50.0, -800.0, -1e5])
def test_gates_that_are_all_nearly_closed_are_told_apart_by_their_ratios(shift):
    """σ(f) is exp(f) there, so that only differences of f count: a softmax, by draws."""
    mean, variance = np.array([[0.3, -0.5, 1.0]]) + shift, np.array([[0.5, 1.0, 0.2]])
    f = mean + np.sqrt(variance) * np.random.default_rng(0).standard_normal((200_000, 3))
    drawn = np.exp(f - f.max(axis=1, keepdims=True))
    drawn /= drawn.sum(axis=1, keepdims=True)
    found = integrated_moments(mean, variance)
    np.testing.assert_allclose(found.mean[0], drawn.mean(0), atol=5e-3)
    np.testing.assert_allclose(found.variance[0], drawn.var(0), atol=5e-3)


def test_enormous_variances_end_and_give_numbers():
    mean, variance = np.array([[0.0], [-1e4]]) + np.zeros(4), np.full((2, 4), 1e6)
    normals = np.random.default_rng(0).standard_normal((500, 4))
    for found in (
        integrated_moments(mean, variance),
        probit_moments(mean, variance),
        sampled_moments(mean, variance, normals),
    ):
        assert np.isfinite(found.mean).all() and np.isfinite(found.variance).all()
        np.testing.assert_allclose(found.mean.sum(axis=1), 1)


def test_softmax_of_tiny_gates():
    np.testing.assert_allclose(logistic_softmax(np.array([-800.0, -801.0])), [1 / (1 + np.exp(-1)), 1 / (1 + np.e)])
