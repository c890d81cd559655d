"""Sparse rows times a dense matrix, against scipy."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.numerics.sparse_products import sparse_times_dense

rng = np.random.default_rng(0)


@pytest.mark.parametrize("density", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("columns", [0, 1, 7])
def test_every_number_of_entries_in_a_row(density, columns):
    A = sp.random_array((40, 23), density=density, format="csr", random_state=rng)
    B = rng.standard_normal((23, columns))
    np.testing.assert_allclose(sparse_times_dense(A, B), A @ B, atol=1e-13)


def test_transposed_matrices_wide_indices_and_unsorted_entries():
    A = sp.random_array((30, 12), density=0.4, format="csr", random_state=rng)
    B = np.asfortranarray(rng.standard_normal((12, 5)))
    wide = sp.csr_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(A.indptr[:-1], A.indptr[1:], strict=True)])
    turned = sp.csr_array((A.data[order], A.indices[order], A.indptr), shape=A.shape)
    for same in (A, wide, turned):
        np.testing.assert_allclose(sparse_times_dense(same, B), A @ B, atol=1e-13)


def test_other_precisions_keep_theirs():
    A = sp.random_array((6, 4), density=0.5, format="csr", random_state=rng, dtype=np.float32)
    assert sparse_times_dense(A, np.ones((4, 2), dtype=np.float32)).dtype == np.float32
