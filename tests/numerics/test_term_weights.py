"""Prepared features: terms weighted by rarity, rows of unit length, a constant last."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.numerics.feature_scaling import learn_scaling
from labelwise.numerics.term_weights import CONSTANT, learn_features


def test_terms_are_weighted_by_rarity_and_rows_have_unit_length():
    X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0], [3.0, 0.0, 1.0]])
    found = learn_features(sp.csr_array(X), "auto")(sp.csr_array(X)).toarray()
    weighted = X * np.log(4 / np.array([2.5, 0.5, 3.5]))
    np.testing.assert_allclose(found[:, :3], weighted / np.linalg.norm(weighted, axis=1, keepdims=True))
    assert np.all(found[:, 3] == CONSTANT)


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
