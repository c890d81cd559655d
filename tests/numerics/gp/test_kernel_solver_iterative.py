"""Means by conjugate gradients against the exact factors; variances as good as their inducing rows."""

import numpy as np

from labelwise.numerics.gp.feature_solver import FeatureSolver, NystromMap
from labelwise.numerics.gp.kernel_solver import IterativeSolver, KernelSolver
from labelwise.numerics.gp.kernels import Kernel
from masked_regression import answer_mask, check_solver, rival

KERNEL, NOISE = Kernel(rbf=0.9, linear=0.1, bias=1.0), 0.1


def problem(n=50, q=7):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), answer_mask(rng, n, q), rng.normal(size=(n, q)), rng.normal(size=(6, 3))


def iterative(X, observed, n_inducing):
    approximate = FeatureSolver.fit(NystromMap.on(KERNEL, X[:n_inducing]), NOISE, X, observed)
    return IterativeSolver.fit(KERNEL, NOISE, X, observed, approximate)


def test_means_equal_those_of_the_factors_however_few_rows_are_inducing():
    X, observed, right_side, X_new = problem()
    exact = KernelSolver.fit(KERNEL, NOISE, X, observed)
    labels = np.arange(observed.shape[1])
    expected = exact.mean(X_new, exact.weights(exact.solve(right_side, labels)))
    solver = iterative(X, observed, 5)
    found = solver.mean(X_new, solver.weights(solver.solve(right_side, labels)))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_with_all_rows_inducing_everything_is_exact():
    X, observed, right_side, X_new = problem()
    expected = rival(KERNEL, NOISE, X, observed, right_side, X_new)
    check_solver(iterative(X, observed, 50), expected, right_side, X_new, 2e-5)


def test_left_out_variances_are_close_with_a_few_inducing_rows():
    rng = np.random.default_rng(0)
    X, observed = rng.normal(size=(200, 2)), rng.random((200, 3)) < 0.6
    exact = KernelSolver.fit(KERNEL, NOISE, X, observed).precision_diagonal
    close = iterative(X, observed, 40).precision_diagonal
    assert np.abs(close / exact - 1).mean() < 0.05
    bare = iterative(X, observed, 40).approximate.precision_diagonal  # without what the feature space cannot express
    assert np.abs(close / exact - 1).mean() < 0.5 * np.abs(bare / exact - 1).mean()


def test_in_pieces_as_at_once():
    X, observed, right_side, X_new = problem()
    labels = np.arange(observed.shape[1])
    late = observed.copy()
    late[:10] &= np.random.default_rng(1).random((10, 7)) < 0.5
    whole = iterative(X, observed, 20)
    pieces = iterative(X[:30], late[:30], 20).extend(X[30:], late).extend(X[:0], observed)
    start = whole.solve(right_side, labels)
    np.testing.assert_allclose(pieces.solve(right_side, labels), start, atol=1e-7)
    np.testing.assert_allclose(pieces.solve(right_side, labels, start=start), start, atol=1e-7)
    np.testing.assert_allclose(pieces.precision_diagonal, whole.precision_diagonal)
    np.testing.assert_allclose(pieces.variances(X_new), whole.variances(X_new))
