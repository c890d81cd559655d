"""Rows nearest to k-means centres: well separated groups, repeated rows, sparse rows."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from labelwise.numerics import clustering
from labelwise.numerics.blocks import Block
from labelwise.numerics.clustering import ItemVectors, cluster_centres, greedy_coverage, nearest_to_centres, typicality


def blobs(sizes, rng, d=5, apart=20.0):
    """Well separated groups and which one each row belongs to, in random order."""
    member = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return apart * np.eye(len(sizes), d)[member] + rng.normal(size=(member.size, d)), member


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("seed", range(5))
def test_one_row_of_each_separated_group(as_given, seed):
    rng = np.random.default_rng(seed)
    Z, member = blobs([30, 8, 60, 15], rng)
    rows = nearest_to_centres(as_given(Z), 4, rng)
    assert sorted(member[rows]) == [0, 1, 2, 3]
    for row in rows:  # the nearest of all to the mean of its group
        own = np.flatnonzero(member == member[row])
        assert row == own[np.argmin(((Z[own] - Z[own].mean(0)) ** 2).sum(1))]


@given(st.integers(1, 12), st.integers(0, 14), st.integers(1, 3), st.integers(0, 99))
@settings(deadline=None, max_examples=60)
def test_rows_differ_however_many_are_alike(m, n, distinct, seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(distinct, 2))[rng.integers(distinct, size=m)]
    rows = nearest_to_centres(Z, n, rng)
    assert rows.size == np.unique(rows).size == min(n, m)
    assert ((rows >= 0) & (rows < m)).all()


def test_the_next_nearest_row_follows(monkeypatch):
    """Two centres with the same nearest row: the later one takes its own next nearest, not the first's."""
    Z = np.array([[0.0], [1.1], [-1.5], [9.0]])
    monkeypatch.setattr(clustering, "cluster_centres", lambda Z, n, rng: np.array([[0.1], [0.3], [8.0]]))
    assert nearest_to_centres(Z, 3, np.random.default_rng(0)).tolist() == [0, 1, 3]


def test_first_choices_stay(monkeypatch):
    """The next nearest row of a centre is none that is the nearest to another."""
    Z = np.array([[0.0], [1.0], [-3.0], [50.0]])
    monkeypatch.setattr(clustering, "cluster_centres", lambda Z, n, rng: np.array([[0.0], [0.2], [1.0]]))
    assert nearest_to_centres(Z, 3, np.random.default_rng(0)).tolist() == [0, 2, 1]


def test_same_seed_same_rows():
    Z = np.random.default_rng(0).normal(size=(300, 4))
    first, again, other = (nearest_to_centres(Z, 7, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()


def test_centres_from_a_sample_of_many_rows(monkeypatch):
    monkeypatch.setattr(clustering, "LEARNT_ON", 60)
    rng = np.random.default_rng(0)
    Z, member = blobs([200, 200, 200], rng)
    centres = cluster_centres(Z, 3, rng)
    means = np.array([Z[member == group].mean(0) for group in range(3)])
    gaps = np.sqrt(((centres[:, None] - means) ** 2).sum(2))
    assert sorted(gaps.argmin(1)) == [0, 1, 2]
    assert 0.05 < gaps.min(1).max() < 2.0  # near, but learnt from some of the rows only


def item_vectors(X, blocks=(), seed=0):
    return ItemVectors.learn(X, blocks, np.random.default_rng(seed))(X)


def words(rng, m=80, d=400, density=0.05):
    return rng.random((m, d)) * (rng.random((m, d)) < density)


def test_sparse_rows_keep_their_inner_products():
    """Of rank at most 100 the projection loses nothing; unit length is kept, and an empty row stays empty."""
    X = words(np.random.default_rng(0))
    X[3] = 0.0
    Z = item_vectors(sp.csr_array(X))
    U = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    assert Z.shape == (80, 80)
    assert_allclose(Z @ Z.T, U @ U.T, atol=1e-10)
    assert not Z[3].any()


def test_wide_sparse_rows_on_few_axes():
    Z = item_vectors(sp.csr_array(words(np.random.default_rng(0), 300, 500)))
    assert Z.shape == (300, clustering.AXES)
    assert_allclose(np.linalg.norm(Z, axis=1), 1.0)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
def test_vectors_stand_alone_where_there_are_any(as_given):
    rng = np.random.default_rng(0)
    X = np.hstack([words(rng), rng.normal(size=(80, 120)), 1000 * rng.random((80, 2))])
    blocks = Block("body", "words", 0, 400), Block("mine", "vectors", 400, 520), Block("size", "numbers", 520, 522)
    V = X[:, 400:520]
    assert_allclose(item_vectors(as_given(X), blocks), V / np.linalg.norm(V, axis=1, keepdims=True))
    rest = np.delete(X, np.s_[400:520], axis=1)
    blocks = Block("body", "words", 0, 400), Block("size", "numbers", 400, 402)
    Z = item_vectors(sp.csr_array(rest), blocks)
    U, S = rest[:, :400], rest[:, 400:]
    U = U / np.linalg.norm(U, axis=1, keepdims=True)
    S = (S - S.mean(0)) / S.std(0) / np.sqrt(2)  # on average as long as a row of words
    expected = np.hstack([U, S])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-10)


def test_typicality_by_loops():
    rng = np.random.default_rng(0)
    Z, member = (
        rng.normal(size=(70, 3)),
        np.concatenate([np.zeros(50, int), np.ones(19, int), [2]])[rng.permutation(70)],
    )
    expected = np.zeros(70)
    for i in range(70):
        own = [j for j in range(70) if member[j] == member[i]]
        k = min(20, len(own) // 2)
        distances = sorted(np.linalg.norm(Z[i] - Z[j]) for j in own if j != i)[:k]
        expected[i] = 1 / (np.mean(distances) + 1e-5) if k else 0.0
    assert_allclose(typicality(Z, member), expected, rtol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_greedy_coverage_against_exhaustive(seed):
    """All sets of 3 of 10 points: greedy reaches 1 − 1/e of the best gain, and its gains are those of its set."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(10, 2))
    K = np.exp(-((points[:, None] - points) ** 2).sum(2) / 2)
    covered = K[:, 0] if seed % 2 else np.zeros(10)

    def gain(chosen):
        return np.maximum(K[:, list(chosen)].max(1), covered).sum() - covered.sum()

    picks, gained = greedy_coverage(K, covered, 3)
    best = max(itertools.combinations(range(10), 3), key=gain)
    assert gained.sum() == pytest.approx(gain(picks))
    assert (1 - 1 / np.e) * gain(best) <= gain(picks) <= gain(best) + 1e-12
    assert gain(picks[:1]) == pytest.approx(max(gain([i]) for i in range(10)))
    for place in (1, 2):  # each choice is the best one given those before it
        assert gain(picks[: place + 1]) == pytest.approx(max(gain([*picks[:place], i]) for i in range(10)))


def test_coverage_never_takes_a_point_twice():
    picks, gained = greedy_coverage(np.ones((4, 4)), np.zeros(4), 9)
    assert sorted(picks) == [0, 1, 2, 3]
    assert gained.tolist() == [4, 0, 0, 0]
