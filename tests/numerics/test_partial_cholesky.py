import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise.numerics.partial_cholesky import pivoted_partial_cholesky


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
