"""Ranks and bins of probabilities against sorts and loops over entries."""

import numpy as np
import pytest

from labelwise.numerics.expected_f1 import (
    Groups,
    add_counts,
    add_hits,
    add_to_bins,
    bin_groups,
    logit_codes,
    rank_groups,
)


@pytest.fixture
def p():
    rng = np.random.default_rng(0)
    values = rng.random((50, 4)) ** 4
    values[rng.random((50, 4)) < 0.3] = 0.25  # ties
    values[0], values[1] = 0.0, 1.0
    return values


def binned(p, n_bins, reach=6.0):
    codes = logit_codes(p, n_bins, reach)
    sums, counts = np.zeros((p.shape[1], n_bins)), np.zeros((p.shape[1], n_bins))
    for start in range(0, len(p), 7):
        add_to_bins(codes[start : start + 7], p[start : start + 7], sums, counts)
    return bin_groups(codes, sums, counts)


def test_ranks_are_stable_sorts(p):
    groups = rank_groups(p)
    for j in range(p.shape[1]):
        falling = sorted(range(len(p)), key=lambda i, j=j: (-p[i, j], i))
        assert [groups.code[i, j] for i in falling] == list(range(len(p)))
        np.testing.assert_array_equal(groups.probability[j], p[falling, j])
    np.testing.assert_array_equal(groups.count, 1)


def test_codes_are_places_on_the_logit_grid():
    edges = np.linspace(6, -6, 13)[1:-1]  # 12 bins, the outer ones open
    p = np.random.default_rng(1).random((200, 1)) ** 5
    expected = (np.log(p / (1 - p)) <= edges).sum(1)
    np.testing.assert_array_equal(logit_codes(p, 12, 6.0).ravel(), expected)
    ends = logit_codes(np.array([[0.0, 1e-300, 1 - 1e-16, 1.0]]), 300, 6.0)
    assert ends.tolist() == [[299, 299, 0, 0]] and ends.dtype == np.uint16


def test_bins_keep_counts_sums_and_order(p):
    groups = binned(p, 16)
    assert np.all(np.diff(groups.probability, axis=1) <= 0)
    assert groups.probability.max() <= 1
    for j in range(p.shape[1]):
        for g in range(16):
            members = p[groups.code[:, j] == g, j]
            assert groups.count[j, g] == members.size
            if members.size:
                np.testing.assert_allclose(groups.probability[j, g], members.mean(), rtol=1e-12)
    np.testing.assert_array_equal(groups.sets([0, 3, 16, 9])[:, 3], groups.code[:, 3] < 9)
    assert not groups.sets([0, 3, 16, 9])[:, 0].any() and groups.sets([0, 3, 16, 9])[:, 2].all()


@pytest.mark.parametrize("n_bins", [None, 8, 4096])
def test_largest_takes_exactly_so_many_and_the_first_of_equals(p, n_bins):
    groups = rank_groups(p) if n_bins is None else binned(p, n_bins)
    sizes = np.array([0, 13, 50, 1])
    taken = groups.largest(sizes)
    np.testing.assert_array_equal(taken.sum(0), sizes)
    for j, size in enumerate(sizes):
        order = sorted(range(len(p)), key=lambda i, j=j: (groups.code[i, j], i))
        assert set(np.flatnonzero(taken[:, j])) == set(order[:size])


def test_counts_of_sets_and_hits_of_samples(p):
    rng = np.random.default_rng(2)
    groups = binned(p, 8)
    drawn = rng.random((5, *p.shape)) < 0.3
    hits = np.zeros((5, p.shape[1], 8), dtype=np.int32)
    for start in range(0, len(p), 11):
        add_hits(groups.code[start : start + 11], drawn[:, start : start + 11], hits)
    for t, sample in enumerate(drawn):
        by_definition = np.array([[((groups.code == g) & sample)[:, j].sum() for g in range(8)] for j in range(4)])
        np.testing.assert_array_equal(hits[t], by_definition)
        np.testing.assert_array_equal(groups.count_of(sample), by_definition)
    counts = np.zeros((p.shape[1], 8))
    add_counts(groups.code, np.ones(p.shape, dtype=bool), counts)
    np.testing.assert_array_equal(counts, groups.count)


def test_no_items():
    groups = rank_groups(np.zeros((0, 3)))
    assert isinstance(groups, Groups)
    assert groups.largest(np.zeros(3, dtype=int)).shape == groups.sets(np.zeros(3)).shape == (0, 3)
