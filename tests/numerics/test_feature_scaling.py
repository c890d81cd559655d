"""Feature scaling against column statistics and row lengths."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.numerics.feature_scaling import (
    CONSTANT_FEATURE,
    are_principal_axes,
    hash_columns,
    learn_features,
    learn_scaling,
)

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


# ---- principal axes ----


def topics(n=200, words=60, seed=0):
    """Counts of words that come in groups, and their leading singular vectors."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(12, 0.3), size=n) @ rng.dirichlet(np.full(words, 0.1), size=12)
    counts = rng.poisson(40 * weights).astype(float)
    left, sizes, _ = np.linalg.svd(counts, full_matrices=False)
    return counts, (left * sizes)[:, :30]


@pytest.mark.parametrize("n", [30, 200])
def test_singular_vectors_keep_their_sizes_and_rows_have_unit_length(n):
    _, vectors = topics()
    some = vectors[np.random.default_rng(1).permutation(200)[:n]]
    expected = some / np.linalg.norm(some, axis=1, keepdims=True)
    np.testing.assert_allclose(learn_scaling(some, "auto")(some), expected)


def test_columns_in_units_of_their_own_are_standardised():
    counts, vectors = topics()
    rng = np.random.default_rng(2)
    assert not are_principal_axes(counts)
    assert not are_principal_axes(vectors[:, rng.permutation(30)])  # unrelated, but in no order
    assert not are_principal_axes(rng.standard_normal((200, 30)) * rng.lognormal(0, 3, 30))
    steps = np.cumsum(rng.standard_normal((200, 30)), axis=1)[:, ::-1]
    assert not are_principal_axes(steps)  # sorted by size, but related
    assert not are_principal_axes(np.ones((5, 30))) and not are_principal_axes(vectors[:2])


def test_a_table_sorted_by_chance_is_rare():
    rng = np.random.default_rng(3)
    found = [are_principal_axes(rng.standard_normal((50, d)) * rng.lognormal(0, 1, d)) for d in (11, 20, 40) * 100]
    assert np.mean(found) < 0.01


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


def test_terms_are_weighted_by_rarity_and_rows_have_unit_length():
    X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0], [3.0, 0.0, 1.0]])
    found = learn_features(sp.csr_array(X), "auto")(sp.csr_array(X)).toarray()
    weighted = X * np.log(4 / np.array([2.5, 0.5, 3.5]))
    np.testing.assert_allclose(found[:, :3], weighted / np.linalg.norm(weighted, axis=1, keepdims=True))
    assert np.all(found[:, 3] == CONSTANT_FEATURE)


def test_stored_zeros_are_no_terms():
    X = sp.csr_array(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    stored = X.copy()
    stored.data[0] = 0.0
    plain = sp.csr_array(stored.toarray())
    np.testing.assert_allclose(
        learn_features(stored, "auto")(stored).toarray(), learn_features(plain, "auto")(plain).toarray()
    )


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_other_features_go_by_the_common_scaling(kind):
    X = kind(np.random.default_rng(0).normal(size=(20, 15)))
    for scale in ("auto", "none"):
        found = learn_features(X, scale)(X)
        expected = learn_scaling(X, scale)(X)
        np.testing.assert_allclose(sp.csr_array(found).toarray()[:, :-1], sp.csr_array(expected).toarray())


def test_nothing_is_changed_in_place():
    X = sp.csr_array(np.array([[2.0, 1.0]]))
    learn_features(X, "auto")(X)
    np.testing.assert_array_equal(X.toarray(), [[2.0, 1.0]])
