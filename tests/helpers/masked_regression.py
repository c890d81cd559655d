"""A small masked regression and its answer label by label with dense inverses: the rival of every solver."""

from typing import NamedTuple

import numpy as np


class Rival(NamedTuple):
    solution: np.ndarray  # (n, q) C[O, O]⁻¹ b[O], zero elsewhere
    precision: np.ndarray  # (n, q) diag of C[O, O]⁻¹, one elsewhere
    means: np.ndarray  # (m, q) at other rows
    variances: np.ndarray  # (m, q)


def answer_mask(rng, n, q):
    """Rows answered in full, rows answered in part, a late label with few rows and one that was never answered."""
    observed = rng.random((n, q)) < 0.4
    observed[rng.random(n) < 0.5] = True
    observed[:, q - 2] &= rng.random(n) < 0.2
    observed[:, q - 1] = False
    return observed


def rival(kernel, noise, X, observed, right_side, X_new):
    C = kernel(X) + noise * np.eye(len(observed))
    solution, precision = np.zeros(observed.shape), np.ones(observed.shape)
    variances = np.empty((X_new.shape[0], observed.shape[1]))
    K_new = kernel(X_new, X)
    for j in range(observed.shape[1]):
        rows = observed[:, j]
        inverse = np.linalg.inv(C[np.ix_(rows, rows)])
        solution[rows, j] = inverse @ right_side[rows, j]
        precision[rows, j] = inverse.diagonal()
        k = K_new[:, rows]
        variances[:, j] = kernel.diagonal(X_new) - np.einsum("mi,ij,mj->m", k, inverse, k)
    return Rival(solution, precision, K_new @ solution, variances)


def check_solver(solver, expected, right_side, X_new, tolerance):
    labels = np.arange(right_side.shape[1])
    solution = solver.solve(right_side, labels)
    np.testing.assert_allclose(solution, expected.solution, atol=tolerance)
    np.testing.assert_allclose(solver.mean(X_new, solver.weights(solution)), expected.means, atol=tolerance)
    np.testing.assert_allclose(solver.precision_diagonal, expected.precision, atol=tolerance)
    np.testing.assert_allclose(solver.variances(X_new), expected.variances, atol=tolerance)
