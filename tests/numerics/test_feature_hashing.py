"""Hashed rows: the same column always lands in the same bucket, and inner products are kept on average."""

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.feature_hashing import hash_columns


def test_a_column_keeps_its_bucket_and_sign():
    X = sp.csr_array(np.eye(50))
    alone = hash_columns(X, 16).toarray()
    assert np.all(np.abs(alone).sum(1) == 1)
    rows = sp.csr_array(np.random.default_rng(0).normal(size=(20, 50)))
    np.testing.assert_allclose(hash_columns(rows, 16).toarray(), rows @ alone)  # hashing is linear


def test_inner_products_are_unbiased_and_close():
    X = sp.random_array((30, 100_000), density=5e-4, random_state=0, format="csr")
    error = (hash_columns(X, 8192) @ hash_columns(X, 8192).T - X @ X.T).toarray()
    size = float(np.sqrt(X.multiply(X).sum(1)).mean())
    assert abs(error.mean()) < 0.01 * size**2
    assert np.abs(error).max() < 0.2 * size**2


def test_buckets_are_used_evenly():
    X = sp.csr_array(np.ones((1, 64_000)))
    counted = np.abs(hash_columns(sp.csr_array(sp.eye_array(64_000)), 64)).sum(0)
    assert X.nnz == counted.sum()
    assert np.all(np.abs(counted - 1000) < 6 * np.sqrt(1000))
