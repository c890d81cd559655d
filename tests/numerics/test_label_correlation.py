"""Label correlation against its definition, simulation and dense algebra."""

import numpy as np
import pytest

from labelwise.numerics.gp.kernel_solver import KernelSolver
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.label_correlation import DENSE, label_covariance, low_rank, shrunk_correlation


def correlation(q, k, seed=0):
    U = np.random.default_rng(seed).normal(size=(q, k))
    C = U @ U.T + np.eye(q)
    return C / np.sqrt(np.outer(C.diagonal(), C.diagonal()))


def test_complete_labels_give_the_matrix_normal_estimate():
    rng = np.random.default_rng(0)
    Y, A = rng.normal(size=(20, 4)), rng.normal(size=(20, 20))
    C = A @ A.T + np.eye(20)
    B, shared = label_covariance(Y, np.linalg.solve(C, Y), np.ones((20, 4), dtype=bool))
    np.testing.assert_allclose(B, Y.T @ np.linalg.solve(C, Y) / 20)
    np.testing.assert_array_equal(shared, 20)


def test_labels_on_different_rows_are_estimated_without_bias():
    rng = np.random.default_rng(0)
    n, truth = 30, np.array([[1.0, 0.6, -0.3], [0.6, 2.0, 0.2], [-0.3, 0.2, 0.5]])
    X, observed = rng.normal(size=(n, 2)), rng.random((n, 3)) < 0.6
    kernel = Kernel(rbf=1.0, bias=0.5)
    L, M = np.linalg.cholesky(kernel(X) + 0.3 * np.eye(n)), np.linalg.cholesky(truth)
    solver = KernelSolver.fit(kernel, 0.3, X, observed)
    estimates = []
    for _ in range(1000):
        Y = L @ rng.normal(size=(n, 3)) @ M.T
        estimates.append(label_covariance(Y, solver.solve(Y, np.arange(3)), observed)[0])
    error = np.std(estimates, axis=0) / np.sqrt(len(estimates))
    assert np.all(np.abs(np.mean(estimates, axis=0) - truth) < 4 * error)


def test_shrinking_follows_the_rows_in_common():
    B = np.array([[4.0, 1.0, 0.5], [1.0, 1.0, 0.0], [0.5, 0.0, 0.0]])
    shared = np.array([[50.0, 10.0, 50.0], [10.0, 50.0, 0.0], [50.0, 0.0, 50.0]])
    R = shrunk_correlation(B, shared)
    np.testing.assert_allclose(R[0, 1], 0.5 * (1 - 3 / 23))
    np.testing.assert_array_equal(R.diagonal(), 1)
    np.testing.assert_array_equal(R[2, :2], 0)  # a label that never varied
    assert np.abs(shrunk_correlation(np.array([[1.0, 9.0], [9.0, 1.0]]), np.full((2, 2), 1e9))).max() == 1.0


@pytest.mark.parametrize("q", [1, 2, 7])
def test_with_enough_rank_nothing_is_lost(q):
    R = correlation(q, 3)
    np.testing.assert_allclose(low_rank(R, 32).dense(), R, atol=1e-12)
    assert np.all(low_rank(R, 32).diagonal > 0)


def test_low_rank_keeps_the_diagonal_and_a_planted_factor():
    R = correlation(40, 3)
    approximate = low_rank(R, 3)
    np.testing.assert_allclose(approximate.dense().diagonal(), 1)
    assert np.abs(approximate.dense() - R).max() < 0.12
    assert np.abs(approximate.dense() - R).mean() < np.abs(low_rank(R, 1).dense() - R).mean()
    assert low_rank(R, 0).factor.shape == (40, 0)


def test_many_labels_take_another_way_to_the_same_place():
    R = correlation(DENSE + 20, 4)
    approximate = low_rank(R, 8)
    values, vectors = np.linalg.eigh(R)
    rest = values[:-8].mean()
    expected = (vectors[:, -8:] * (values[-8:] - rest)) @ vectors[:, -8:].T
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(approximate.dense(), expected, atol=1e-8)


def test_an_impossible_correlation_is_made_possible():
    R = np.array([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]])  # not positive definite
    possible = low_rank(R, 2)
    assert np.all(possible.diagonal > 0)
    np.testing.assert_allclose(possible.dense().diagonal(), 1)
    assert np.linalg.eigvalsh(possible.dense()).min() > 0


def test_log_determinant_through_the_factor():
    structure = low_rank(correlation(9, 2), 3)
    scaled = structure.factor / np.sqrt(structure.diagonal)[:, None]
    lemma = np.log(structure.diagonal).sum() + np.linalg.slogdet(np.eye(3) + scaled.T @ scaled)[1]
    assert lemma == pytest.approx(np.linalg.slogdet(structure.dense())[1])


def test_samples_have_the_correlation():
    structure = low_rank(correlation(5, 2), 4)
    draws = structure.sample((400, 100), np.random.default_rng(0)).reshape(-1, 5)
    np.testing.assert_allclose(np.cov(draws.T), structure.dense(), atol=0.03)
