"""Feature scaling against column statistics and row lengths."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.numerics.feature_scaling import learn_scaling

X = np.array([[1.0, 5.0, 0.0], [2.0, 5.0, 3.0], [4.0, 5.0, -3.0], [3.0, 5.0, 0.0]])


def test_few_dense_columns_are_standardised_and_rows_keep_their_lengths():
    scaling = learn_scaling(X, "auto")
    z = (X[:, [0, 2]] - X[:, [0, 2]].mean(0)) / X[:, [0, 2]].std(0)
    np.testing.assert_allclose(scaling(X)[:, [0, 2]], z / np.sqrt(3))
    np.testing.assert_array_equal(scaling(X)[:, 1], 0)
    new = np.array([[X[:, 0].mean(), 9.0, X[:, 2].mean()]])  # a column that was constant says nothing
    np.testing.assert_allclose(scaling(new), [[0.0, 0.0, 0.0]], atol=1e-15)


def test_many_dense_columns_are_standardised_then_rows_have_unit_length():
    wide = np.random.default_rng(0).normal(3.0, 2.0, size=(8, 12))
    z = (wide - wide.mean(0)) / wide.std(0)
    expected = z / np.linalg.norm(z, axis=1, keepdims=True)
    np.testing.assert_allclose(learn_scaling(wide, "auto")(wide), expected)


def test_sparse_rows_have_unit_length_and_zero_rows_stay_zero():
    S = sp.csr_array(np.vstack([X, np.zeros(3)]))
    scaled = learn_scaling(S, "auto")(S)
    assert sp.issparse(scaled)
    assert scaled.indices.dtype == S.indices.dtype
    np.testing.assert_allclose(scaled.toarray()[:4], X / np.linalg.norm(X, axis=1, keepdims=True))
    assert scaled[[4]].nnz == 0


def test_none_leaves_values_alone():
    np.testing.assert_array_equal(learn_scaling(X, "none")(X), X)
    np.testing.assert_array_equal(learn_scaling(X, "none")(sp.csr_array(X)).toarray(), X)


@pytest.mark.parametrize("scale", ["auto", "none"])
def test_float32_becomes_float64(scale):
    for kind in (np.asarray, sp.csr_array):
        scaled = learn_scaling(kind(X.astype(np.float32)), scale)(kind(X.astype(np.float32)))
        assert scaled.dtype == np.float64


def test_what_was_learnt_from_dense_rows_serves_sparse_ones_and_the_reverse():
    np.testing.assert_allclose(learn_scaling(X, "auto")(sp.csr_array(X)), learn_scaling(X, "auto")(X))
    scaling = learn_scaling(sp.csr_array(X), "auto")
    np.testing.assert_allclose(scaling(X), scaling(sp.csr_array(X)).toarray())


def test_rounding_of_a_constant_is_not_a_feature():
    column = np.full(7, 0.1) + np.array([0, 1, 0, 1, 0, 1, 0]) * 1e-17
    assert not learn_scaling(column[:, None] * 1e6, "auto").weight.any()
    assert learn_scaling(np.array([[1e-12], [2e-12]]), "auto").weight.any()  # small numbers may be all there is
