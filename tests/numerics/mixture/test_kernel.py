"""The kernel of the gates: evidence against scikit-learn and a grid, the bound's gradient against differences."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from labelwise.numerics.gp.kernels import Kernel, median_distance, squared_distances
from labelwise.numerics.gp.search import choose_parts
from labelwise.numerics.mixture.bernoulli_mixture import (
    MixtureLabels,
    MixtureState,
    evidence_bound,
    sweep,
    update_gates,
)
from labelwise.numerics.mixture.gates import KernelGates
from labelwise.numerics.mixture.kernel import collapsed_bound, kernel_step, search_length_scale


def smooth_labels(n=50, q=4, seed=0, length=0.5):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    K = Kernel(rbf=1.0, length_scale=length)(X) + 1e-8 * np.eye(n)
    values = np.linalg.cholesky(K) @ rng.standard_normal((n, q)) + 0.3 * rng.standard_normal((n, q))
    return X, values > np.median(values, axis=0)


def parts_of(X, Y):
    return choose_parts(X, Y, np.ones(Y.shape, dtype=bool), 1000, np.arange(len(Y)) / len(Y))


def penalised(p, X, Y, centre):
    """Negative penalised log evidence of standardised labels, by scikit-learn."""
    y = (Y - Y.mean(0)) / np.sqrt(Y.var(0) + 1e-6)
    process = GaussianProcessRegressor(
        ConstantKernel(np.exp(p[0])) * RBF(np.exp(p[1])), alpha=np.exp(p[2]), optimizer=None
    )
    evidence = sum(process.fit(X, y[:, [j]]).log_marginal_likelihood_value_ for j in range(y.shape[1]))
    return -evidence + 2 * (y.shape[1] / 5 + 1) * ((p - np.log([1.0, centre, 0.5])) ** 2).sum()


def test_length_scale_maximises_the_penalised_evidence():
    X, Y = smooth_labels()
    centre = median_distance(X) / np.sqrt(2)
    found = search_length_scale(parts_of(X, Y), centre)
    at = np.log([found.amplitude, found.length_scale, found.noise])
    assert -found.score == pytest.approx(penalised(at, X, Y, centre), rel=1e-6)
    best = minimize(penalised, np.log([1.0, centre, 0.5]), args=(X, Y, centre), method="Nelder-Mead")
    assert -found.score < best.fun + 0.05  # the length-scale is searched to about 5 %
    np.testing.assert_allclose(at, best.x, atol=0.08)


def test_length_scale_follows_the_labels():
    lengths = []
    for length in (0.15, 1.0):
        X, Y = smooth_labels(n=150, q=10, length=length)
        lengths.append(search_length_scale(parts_of(X, Y), median_distance(X) / np.sqrt(2)).length_scale)
    assert lengths[0] < 0.3 < lengths[1]


def test_few_rows_of_noise_do_not_shrink_the_length_scale():
    rng = np.random.default_rng(0)
    X, Y = rng.random((20, 2)), rng.random((20, 30)) < 0.5
    centre = median_distance(X) / np.sqrt(2)
    assert search_length_scale(parts_of(X, Y), centre).length_scale > centre / 4


def observations(n=12, k=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), np.exp(rng.normal(-1, 1, (n, k))), rng.normal(size=(n, k))


def test_gradient_of_the_collapsed_bound_is_that_of_differences():
    X, D, r = observations()
    distances = squared_distances(X)

    def bound(p):
        return collapsed_bound(np.exp(p[0]) * np.exp(distances / (-2 * np.exp(2 * p[1]))), D, r)[0]

    p = np.log([4.0, 0.8])
    K = 4.0 * np.exp(distances / (-2 * 0.8**2))
    _, by_K = collapsed_bound(K, D, r)
    found = [(by_K * K).sum(), (by_K * K * distances).sum() / 0.8**2]
    np.testing.assert_allclose(found, approx_fprime(p, bound, 1e-6), rtol=1e-4)


def test_collapsed_bound_is_the_log_normaliser():
    X, D, r = observations()
    K = Kernel(rbf=4.0, length_scale=0.8)(X) + 1e-6 * np.eye(len(X))
    expected = 0.0
    for precision, shift in zip(D.T, r.T, strict=True):  # log ∫ N(f; 0, K) exp(rᵀf − ½ fᵀDf) df
        cov = np.linalg.inv(np.linalg.inv(K) + np.diag(precision))
        expected += 0.5 * (shift @ cov @ shift + np.linalg.slogdet(cov)[1] - np.linalg.slogdet(K)[1])
    assert collapsed_bound(K, D, r)[0] == pytest.approx(expected, rel=1e-7)


def test_a_step_of_the_kernel_raises_the_bound_of_the_mixture():
    rng = np.random.default_rng(0)
    X, Y = smooth_labels(n=40, q=6)
    labels = MixtureLabels.of(Y, np.ones(Y.shape, dtype=bool), (np.ones(6), np.ones(6)))
    kernel, prior_mean = Kernel(rbf=4.0, length_scale=0.05), np.full(4, -1.0)
    state = MixtureState.start(rng.dirichlet(np.ones(4), 40), labels, KernelGates.on(kernel, X), prior_mean)
    for _ in range(10):
        state = sweep(state, labels, KernelGates.on(kernel, X), prior_mean)
    shift = state.weights + state.precision * (state.mean - prior_mean)
    better = kernel_step(kernel, squared_distances(X), state.precision, shift)
    assert better.length_scale > kernel.length_scale
    moved = update_gates(state, KernelGates.on(better, X), prior_mean)
    assert evidence_bound(moved, labels) > evidence_bound(
        update_gates(state, KernelGates.on(kernel, X), prior_mean), labels
    )
