"""Features that know the pool: against their definition, and what they are for."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.models.semi_supervised import (
    MIN_SIZE,
    PoolFeatures,
    learn_pool_features,
    main_directions,
    most_evident,
)
from labelwise.numerics.gp.search import Fixed, KernelSearch, choose_parts
from topic_words import words


def unit(X):
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1.0)


def test_by_the_formulas():
    X, _ = words()
    _, weighted = learn_pool_features(X)
    A = X.toarray()
    rarity = 1 + np.log((1 + len(A)) / (1 + (A != 0).sum(axis=0)))
    rows = unit(A * rarity)
    expected = np.hstack([rows, unit(rows @ weighted.directions)]) / np.sqrt(2)
    np.testing.assert_allclose(weighted.weights, rarity)
    np.testing.assert_allclose(weighted(X).toarray(), expected, atol=1e-12)
    np.testing.assert_allclose(weighted(A[:5]).toarray(), expected[:5], atol=1e-12)  # dense rows are taken, too


def test_directions_span_what_the_exact_decomposition_spans():
    X, _ = words(topics=5)
    found = main_directions(X, 5)
    _, _, V = np.linalg.svd(X.toarray(), full_matrices=False)
    np.testing.assert_allclose(found.T @ found, np.eye(5), atol=1e-8)
    assert np.linalg.norm(V[:5] @ found, "nuc") > 4.99
    assert (found[np.abs(found).argmax(axis=0), np.arange(5)] > 0).all()


def test_rows_without_a_word_stay_empty():
    X, _ = words()
    plain, _ = learn_pool_features(X)
    assert plain(sp.csr_array((2, X.shape[1]))).nnz == 0


@pytest.mark.parametrize(
    "X", [np.ones((MIN_SIZE, MIN_SIZE)), sp.csr_array((MIN_SIZE - 1, 500)), sp.csr_array((500, MIN_SIZE - 1))]
)
def test_nothing_is_learnt_from_dense_features_or_small_pools(X):
    assert learn_pool_features(X) == ()


def test_evidence_decides_between_weightings():
    X, topic = words()
    Y = topic[:, None] == np.arange(8)
    observed = np.ones(Y.shape, dtype=bool)
    candidates = learn_pool_features(X)
    scores = [
        KernelSearch(choose_parts(each(X[:60]), Y[:60], observed[:60], 600, np.arange(60.0)), Fixed())
        .best("linear")
        .score
        for each in candidates
    ]
    assert most_evident(candidates, X[:60], Y[:60], observed[:60]) is candidates[int(np.argmax(scores))]
    assert most_evident(candidates[::-1], X[:60], Y[:60], observed[:60]) is candidates[int(np.argmax(scores))]
    assert most_evident((), X, Y, observed) is None and most_evident(candidates[:1], X, Y, observed) is candidates[0]


def test_copies_share_it():
    features = PoolFeatures(np.ones(3), np.zeros((3, 1)))
    assert copy.deepcopy({"pool": (features,)})["pool"][0] is features


def test_the_rows_of_the_pool_are_computed_once_and_equal_those_of_a_copy():
    X = sp.random_array((300, 250), density=0.1, format="csr", rng=np.random.default_rng(0))
    features = PoolFeatures.of(X, np.ones(250), rank=20)
    rows = features(X)
    assert features(sp.csr_array(X)) is rows
    copied = features(X.copy())
    assert copied is not rows
    np.testing.assert_array_equal(copied.toarray(), rows.toarray())


def test_saved_features_leave_the_pool_behind():
    X = sp.random_array((300, 250), density=0.1, format="csr", rng=np.random.default_rng(0))
    features = PoolFeatures.of(X, np.ones(250), rank=20)
    features(X)
    again = pickle.loads(pickle.dumps(features))
    assert set(vars(again)) == {"weights", "directions"}
    np.testing.assert_array_equal(again(X).toarray(), features(X).toarray())
