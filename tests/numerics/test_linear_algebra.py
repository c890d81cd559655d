"""Growing Cholesky factors and masked conjugate gradients against dense inverses."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise.numerics.linear_algebra import (
    CholeskyFactor,
    cholesky,
    dense,
    inverse_diagonal,
    log_determinants_above_one,
    pivoted_partial_cholesky,
    solve_lower,
    solve_masked,
    stack_rows,
)


def positive_definite(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + 0.5 * np.eye(n)


@given(st.integers(0, 6), st.lists(st.integers(0, 4), max_size=3), st.integers(0, 100))
def test_a_grown_factor_is_the_factor_of_the_whole(n, pieces, seed):
    total = n + sum(pieces)
    C = positive_definite(total, seed)
    factor, at = CholeskyFactor.of(C[:n, :n]), n
    for m in pieces:
        factor = factor.append(C[at : at + m, :at], C[at : at + m, at : at + m])
        at += m
    inverse = np.linalg.inv(C)
    np.testing.assert_allclose(factor.L @ factor.L.T, C, atol=1e-10)
    np.testing.assert_allclose(factor.inverse_diagonal, inverse.diagonal(), rtol=1e-8)
    B = np.random.default_rng(seed).normal(size=(total, 2))
    np.testing.assert_allclose(factor.solve(B), inverse @ B, atol=1e-8)
    np.testing.assert_allclose(factor.L @ factor.half_solve(B), B, atol=1e-10)
    assert factor.size == total


def test_a_factor_is_lost_only_on_request():
    C = positive_definite(6)
    L = cholesky(C)
    before = L.copy()
    expected = np.linalg.inv(C).diagonal()
    np.testing.assert_allclose(inverse_diagonal(L), expected, rtol=1e-10)
    np.testing.assert_array_equal(L, before)
    np.testing.assert_allclose(inverse_diagonal(L, overwrite=True), expected, rtol=1e-10)
    assert not np.array_equal(L, before)


def test_the_matrix_is_overwritten_only_on_request():
    for C in (positive_definite(5), np.asfortranarray(positive_definite(5))):
        before = C.copy()
        L = cholesky(C)
        np.testing.assert_array_equal(C, before)
        np.testing.assert_allclose(np.linalg.cholesky(before), L, atol=1e-12)
        assert np.shares_memory(cholesky(C, overwrite=True), C)


def test_an_indefinite_matrix_is_an_error_that_names_the_cure():
    with pytest.raises(np.linalg.LinAlgError, match="at row 1; use more noise"):
        cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_transposed_triangular_systems():
    L = np.linalg.cholesky(positive_definite(4))
    B = np.arange(8.0).reshape(4, 2)
    np.testing.assert_allclose(solve_lower(L, B, transposed=True), np.linalg.solve(L.T, B))
    assert solve_lower(np.zeros((0, 0)), np.zeros((0, 3))).shape == (0, 3)


def masked_problem(n=30, q=8, seed=0):
    rng = np.random.default_rng(seed)
    mask = rng.random((n, q)) < 0.5
    mask[:, 2], mask[:, 3] = False, True
    return positive_definite(n, seed), rng.normal(size=(n, q)), mask


def test_masked_systems_against_each_columns_own():
    C, B, mask = masked_problem()
    B[:, 4] = 0.0
    expected = np.zeros_like(B)
    for j in range(B.shape[1]):
        rows = mask[:, j]
        expected[rows, j] = np.linalg.solve(C[np.ix_(rows, rows)], B[rows, j])
    found = solve_masked(lambda V: C @ V, B, mask, tolerance=1e-12)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    np.testing.assert_array_equal(found[~mask], 0)
    np.testing.assert_array_equal(found[:, 4], 0)


def test_a_good_start_saves_the_work():
    C, B, mask = masked_problem()
    calls = []

    def multiply(V):
        calls.append(V.shape[1])
        return C @ V

    solution = solve_masked(multiply, B, mask, tolerance=1e-12)
    cold = len(calls)
    again = solve_masked(multiply, B, mask, start=solution + 1.0 * ~mask, tolerance=1e-10)  # noise outside the mask
    assert len(calls) == cold + 1  # one product shows that nothing is left to do
    np.testing.assert_allclose(again, solution, atol=1e-9)


def test_rows_dense_and_sparse():
    A, B = np.eye(2), np.ones((1, 2))
    np.testing.assert_array_equal(stack_rows(A, B), np.vstack([A, B]))
    np.testing.assert_array_equal(dense(stack_rows(sp.csr_array(A), sp.csr_array(B))), np.vstack([A, B]))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_rows_are_stacked_whatever_they_are(kind):
    A = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    B = np.array([[0.0, 0.0, 0.0], [4.0, 5.0, 0.0]])
    stacked = stack_rows(kind(A), kind(B))
    np.testing.assert_array_equal(dense(stacked), np.vstack([A, B]))
    np.testing.assert_array_equal(dense(stack_rows(stacked, kind(B[:0]))), np.vstack([A, B]))


def matrix(n, r, seed):
    F = np.random.default_rng(seed).normal(size=(n, r))
    return F @ F.T


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_full_rank_gives_the_matrix(n, r, seed):
    A = matrix(n, r, seed)
    F, lost = pivoted_partial_cholesky(A.diagonal(), lambda i: A[:, i], rank=n)
    np.testing.assert_allclose(F @ F.T, A, atol=1e-8 * max(1.0, A.max()))
    np.testing.assert_allclose(lost, 0, atol=1e-8 * max(1.0, A.max()))
    assert F.shape[1] <= min(n, r)


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_diagonal_is_kept_and_remainder_is_positive(rank):
    A = matrix(20, 10, 0)
    F, lost = pivoted_partial_cholesky(A.diagonal(), lambda i: A[:, i], rank=rank)
    np.testing.assert_allclose((F**2).sum(1) + lost, A.diagonal())
    assert np.linalg.eigvalsh(A - F @ F.T).min() > -1e-9
    assert F.shape == (20, rank)


def test_pivots_are_the_largest_residuals():
    A = np.diag([1.0, 9.0, 4.0])
    F, lost = pivoted_partial_cholesky(A.diagonal(), lambda i: A[:, i], rank=2)
    np.testing.assert_allclose(F, [[0, 0], [3, 0], [0, 2]])
    np.testing.assert_allclose(lost, [1, 0, 0])


@pytest.mark.parametrize("r", [0, 1, 2, 5, 33])
@pytest.mark.parametrize("n", [1, 70])
def test_log_determinants_of_many_small_matrices(n, r):
    F = np.random.default_rng(r).normal(size=(n, r, r + 1))
    A = F @ F.swapaxes(1, 2)
    triangles = A[:, *np.tril_indices(r)].T
    before = triangles.copy()
    expected = np.linalg.slogdet(np.eye(r) + A)[1]
    np.testing.assert_allclose(log_determinants_above_one(triangles), expected, rtol=1e-10)
    np.testing.assert_array_equal(triangles, before)
