"""The exact solver against dense inverses label by label, at once and in pieces."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from labelwise.numerics.gp import kernel_solver
from labelwise.numerics.gp.kernel_solver import KernelSolver, kernel_mean
from labelwise.numerics.gp.kernels import Kernel
from masked_regression import answer_mask, check_solver, rival

KERNEL, NOISE = Kernel(rbf=0.7, linear=0.3, bias=0.5), 0.2


def problem(seed, n=30, q=6, d=4):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0.0)
    return X, answer_mask(rng, n, q), rng.normal(size=(n, q)), rng.normal(size=(5, d))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_each_label_is_regressed_on_its_own_rows(kind):
    X, observed, right_side, X_new = problem(0)
    solver = KernelSolver.fit(KERNEL, NOISE, kind(X), observed)
    check_solver(solver, rival(KERNEL, NOISE, X, observed, right_side, X_new), right_side, kind(X_new), 1e-11)


def test_complete_labels_share_one_factor():
    X, observed, right_side, X_new = problem(0)
    observed[:] = True
    solver = KernelSolver.fit(KERNEL, NOISE, X, observed)
    assert len(solver.groups) == 1
    assert len(solver.groups[0].patterns) == 1
    check_solver(solver, rival(KERNEL, NOISE, X, observed, right_side, X_new), right_side, X_new, 1e-11)


def test_against_scikit_learn():
    X, observed, right_side, X_new = problem(1)
    observed[:] = True
    solver = KernelSolver.fit(Kernel(rbf=1.0, bias=0.5, length_scale=1.3), NOISE, X, observed)
    solution = solver.solve(right_side, np.arange(6))
    theirs = GaussianProcessRegressor(RBF(1.3) + ConstantKernel(0.5), alpha=NOISE, optimizer=None).fit(X, right_side)
    mean, deviation = theirs.predict(X_new, return_std=True)
    np.testing.assert_allclose(solver.mean(X_new, solver.weights(solution)), mean, atol=1e-10)
    np.testing.assert_allclose(solver.variances(X_new), deviation**2, atol=1e-10)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(1, 29), min_size=1, max_size=3), st.floats(0.0, 1.0))
def test_in_pieces_as_at_once(seed, cuts, held_back):
    """Rows arrive in pieces, and some answers about them only at the end."""
    X, observed, right_side, X_new = problem(seed)
    late = observed & (np.random.default_rng(seed).random(observed.shape) < held_back)
    known = observed & ~late
    edges = [*sorted(set(cuts)), len(X)]
    solver = KernelSolver.fit(KERNEL, NOISE, X[: edges[0]], known[: edges[0]])
    for start, stop in pairwise(edges):
        solver = solver.extend(X[start:stop], known[:stop])
    solver = solver.extend(X[:0], observed)
    check_solver(solver, rival(KERNEL, NOISE, X, observed, right_side, X_new), right_side, X_new, 1e-10)


def test_extending_leaves_the_old_solver_as_it_was():
    X, observed, right_side, X_new = problem(2)
    solver = KernelSolver.fit(KERNEL, NOISE, X[:20], observed[:20])
    solver.extend(X[20:], observed)
    expected = rival(KERNEL, NOISE, X[:20], observed[:20], right_side[:20], X_new)
    check_solver(solver, expected, right_side[:20], X_new, 1e-11)


def test_columns_may_belong_to_any_label_in_any_order():
    X, observed, right_side, _ = problem(3)
    solver = KernelSolver.fit(KERNEL, NOISE, X, observed)
    owners = np.array([2, 0, 2, 4])
    found = solver.solve(right_side[:, :4], owners)
    for column, label in enumerate(owners):
        rows = observed[:, label]
        C = KERNEL(X[rows]) + NOISE * np.eye(rows.sum())
        np.testing.assert_allclose(found[rows, column], np.linalg.solve(C, right_side[rows, column]), atol=1e-11)
        np.testing.assert_array_equal(found[~rows, column], 0)


def test_blocks_of_rows_change_nothing(monkeypatch):
    X, observed, right_side, X_new = problem(4)
    solver = KernelSolver.fit(KERNEL, NOISE, X, observed)
    weights = solver.weights(solver.solve(right_side, np.arange(6)))
    mean, variances = solver.mean(X_new, weights), solver.variances(X_new)
    monkeypatch.setattr(kernel_solver, "BLOCK", 2)
    np.testing.assert_allclose(solver.mean(X_new, weights), mean)
    np.testing.assert_allclose(solver.variances(X_new), variances)
    assert solver.mean(X_new[:0], weights).shape == (0, 6)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", [KERNEL, Kernel(linear=0.3, bias=0.5)])
@pytest.mark.parametrize("limit", [0, 2**24])
def test_means_with_and_without_a_kernel_matrix(monkeypatch, kind, kernel, limit):
    monkeypatch.setattr(kernel_solver, "MAX_FEATURE_WEIGHTS", limit)
    X, _, right_side, X_new = problem(5)
    for k in (1, 6):
        mean = kernel_mean(kernel, kind(X_new), kind(X), right_side[:, :k])
        np.testing.assert_allclose(mean, kernel(X_new, X) @ right_side[:, :k], rtol=1e-12)
    few = kernel_mean(kernel, kind(X_new), kind(X[:3]), right_side[:3])  # fewer rows than labels
    np.testing.assert_allclose(few, kernel(X_new, X[:3]) @ right_side[:3], rtol=1e-12)
    assert kernel_mean(kernel, kind(X_new[:0]), kind(X), right_side).shape == (0, 6)


def test_one_row_and_duplicates():
    X, observed = np.ones((3, 2)), np.ones((3, 1), dtype=bool)
    one = KernelSolver.fit(KERNEL, NOISE, X[:1], observed[:1])
    expected = rival(KERNEL, NOISE, X[:1], observed[:1], np.ones((1, 1)), X[:1])
    check_solver(one, expected, np.ones((1, 1)), X[:1], 1e-12)
    expected = rival(KERNEL, NOISE, X, observed, np.ones((3, 1)), X[:1])
    check_solver(one.extend(X[1:], observed), expected, np.ones((3, 1)), X[:1], 1e-12)
