"""Rows nearest to k-means centres: well separated groups, repeated rows, sparse rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from labelwise.numerics import clustering
from labelwise.numerics.clustering import cluster_centres, nearest_to_centres, unit_vectors


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


def test_sparse_rows_keep_their_inner_products():
    """Of rank at most 100 the projection loses nothing; unit length is kept."""
    rng = np.random.default_rng(0)
    X = rng.random((80, 400)) * (rng.random((80, 400)) < 0.05)
    X[3] = 0.0
    Z = unit_vectors(sp.csr_array(X), rng)
    U = unit_vectors(X, rng)
    assert Z.shape == (80, 80) and U.shape == (80, 400)
    assert_allclose(Z @ Z.T, U @ U.T, atol=1e-10)
    assert_allclose(np.linalg.norm(np.delete(U, 3, 0), axis=1), 1.0)
    assert not Z[3].any()


def test_wide_sparse_rows_on_few_axes():
    rng = np.random.default_rng(0)
    X = sp.csr_array(np.abs(rng.normal(size=(300, 500))) * (rng.random((300, 500)) < 0.1))
    assert unit_vectors(X, rng).shape == (300, clustering.AXES)
