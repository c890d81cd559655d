"""Words that told, against a loop over items and words."""

from __future__ import annotations

import json

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose

from labelwise.labelling.items.features import (
    MIN_LOG_ODDS,
    MOST_LABELS,
    MOST_WORDS,
    SHRINKAGE,
    telling_words,
    word_weights,
)


def problem(n=30, d=25, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.7)
    return X, rng.random((n, q)), [f"word{j}" for j in range(d)]


def test_a_word_says_what_the_items_with_it_are_believed_to_have():
    X, p, _ = problem()
    odds = np.log(p / (1 - p))
    for word in range(X.shape[1]):
        rows = [i for i in range(len(X)) if X[i, word] > 0]
        by_hand = sum(odds[i] - odds.mean(0) for i in rows) / (len(rows) + SHRINKAGE)
        assert_allclose(word_weights(sp.csr_array(X), p)[word], by_hand, atol=1e-9)


def test_the_strongest_words_of_an_item_are_kept():
    X, p, vocabulary = problem()
    weights = word_weights(sp.csr_array(X), p)
    for row, told in zip(X, telling_words(sp.csr_array(X), weights, vocabulary), strict=True):
        said = {(w, l): row[w] * weights[w, l] for w in np.flatnonzero(row) for l in range(p.shape[1])}
        strength = {w: max(abs(said[w, l]) for l in range(p.shape[1])) for w in np.flatnonzero(row)}
        words = sorted(strength, key=strength.get, reverse=True)[:MOST_WORDS]
        expected = {}
        for w in words:
            labels = sorted(range(p.shape[1]), key=lambda l, w=w: -abs(said[w, l]))[:MOST_LABELS]
            expected |= {(vocabulary[w], l): said[w, l] for l in labels if abs(round(said[w, l], 3)) > MIN_LOG_ODDS}
        found = {(word, label): value for word, label, value in json.loads(told)}
        assert found.keys() == expected.keys()
        assert_allclose([found[key] for key in expected], list(expected.values()), atol=5.1e-4)


def test_certain_beliefs_and_empty_texts_are_no_trouble():
    X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 0.0]]))
    weights = word_weights(X, np.array([[1.0], [0.0]]))
    assert np.isfinite(weights).all()
    assert json.loads(telling_words(X, weights, ["a", "b"])[1]) == []
