"""The one place that chooses: against sorting by hand, block by block, and fair by chi-square."""

import tracemalloc
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.stats import chisquare

from labelwise.numerics.choosing import (
    best,
    canonical,
    open_counts,
    open_entries,
    open_items,
    random_items,
    random_pairs,
)

masks = arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6))
plain_scores = st.sampled_from([-np.inf, np.nan, np.inf, -2.0, -1e-300, 0.0, 1e-17, 1.0, 1.0 + 1e-15, 3.0, 1e12, -1e12])


def untidy(mask):
    """The same mask as a csr_array with columns falling, every True stated twice and every False stated."""
    n, q = mask.shape
    columns = np.tile(np.repeat(np.arange(q)[::-1], 2), n)
    data = np.repeat(mask[:, ::-1], 2, axis=1).ravel()
    return sp.csr_array((data, columns, np.arange(n + 1) * 2 * q), shape=mask.shape)


# -- masks -------------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(masks)
def test_what_is_open(mask):
    for closed in (sp.csr_array(mask), untidy(mask)):
        entries = closed.nnz
        np.testing.assert_array_equal(open_counts(closed), (~mask).sum(1))
        np.testing.assert_array_equal(open_items(closed), np.flatnonzero((~mask).any(1)))
        np.testing.assert_array_equal(open_entries(closed), ~mask)
        np.testing.assert_array_equal(canonical(closed).toarray(), mask)
        assert canonical(closed).nnz == mask.sum()
        assert closed.nnz == entries  # never changed in place


def test_a_tidy_mask_is_not_copied():
    closed = sp.csr_array(np.eye(3, dtype=bool))
    assert canonical(closed) is closed


# -- best --------------------------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-6e4, 6e4, width=16), max_size=30), st.integers(0, 35), st.integers(0, 99))
def test_best_is_sorting(scores, n, seed):
    scores = np.array(scores, dtype=float)
    priority = np.random.default_rng(seed).random(scores.size)
    by_hand = sorted(range(scores.size), key=lambda i: (-scores[i], -priority[i]))
    assert best(scores, n, priority).tolist() == by_hand[:n]


@settings(max_examples=200, deadline=None)
@given(st.lists(plain_scores, max_size=14), st.integers(0, 15), st.integers(1, 5), st.integers(0, 99))
def test_block_by_block_is_at_once(scores, n, size, seed):
    scores = np.array(scores, dtype=float)
    priority = np.random.default_rng(seed).random(scores.size)
    kept = np.empty(0, dtype=np.intp)
    for start in range(0, scores.size, size):
        candidates = np.concatenate([kept, np.arange(start, min(start + size, scores.size))])
        kept = candidates[best(scores[candidates], n, priority[candidates])]
    np.testing.assert_array_equal(kept, best(scores, n, priority))


def test_the_impossible_is_never_chosen_and_the_infinite_comes_first():
    scores = np.array([np.nan, -np.inf, 1.0, np.inf, np.inf, -5.0])
    priority = np.array([0.9, 0.9, 0.5, 0.1, 0.2, 0.5])
    assert best(scores, 10, priority).tolist() == [4, 3, 2, 5]
    assert best(scores, 1, priority).tolist() == [4]
    assert best(scores[:2], 3, priority[:2]).size == 0
    assert best(scores, 0, priority).size == best(scores, -1, priority).size == 0


@pytest.mark.parametrize("value", [1.0, 0.1, np.log(2) * 7, -3.3, 1e-200, 1e200, 123456789.0])
def test_rounding_does_not_choose(value):
    """Equal beliefs, summed in another order, differ in the last digits; priority must decide between them."""
    scores = value * (1 + np.array([0.0, 4e-16, -4e-16, 1e-14]))
    assert best(scores, 4, np.array([0.4, 0.1, 0.3, 0.2])).tolist() == [0, 2, 3, 1]


@pytest.mark.parametrize("value", [1.0, 0.1, -3.3, 1e-200])
@pytest.mark.parametrize("outlier", [1e15, -1e15, np.inf])
def test_a_real_difference_does_choose_whatever_else_is_there(value, outlier):
    """An item with an extreme score must not make all the others tie."""
    scores = np.array([value, value + abs(value) * 1e-8, outlier])
    order = best(scores, 3, np.array([1.0, 0.0, 0.0])).tolist()
    assert [i for i in order if i != 2] == [1, 0]


def test_whole_numbers_and_single_precision_are_scores_too():
    priority = np.array([0.1, 0.2, 0.3])
    assert best(np.array([1, 3, 3]), 2, priority).tolist() == [2, 1]
    assert best(np.array([1, 3, 2], dtype=np.float32), 2, priority).tolist() == [1, 2]


def test_ties_are_broken_fairly():
    rng, scores = np.random.default_rng(0), np.array([2.0, 1.0, 1.0, 1.0, 1.0, 0.0])
    second = [best(scores, 2, rng.random(6))[1] for _ in range(4000)]
    counts = np.bincount(second, minlength=6)
    assert counts[0] == counts[5] == 0
    assert chisquare(counts[1:5]).pvalue > 1e-3


# -- at random ---------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(masks, st.integers(0, 40), st.integers(0, 99))
def test_random_choices_are_open_and_different(mask, n, seed):
    for closed in (sp.csr_array(mask), untidy(mask)):
        rows = random_items(closed, n, np.random.default_rng(seed))
        assert len(set(rows.tolist())) == rows.size == min(n, (~mask).any(1).sum())
        assert not mask[rows].all(1).any()
        rows, labels = random_pairs(closed, n, np.random.default_rng(seed))
        assert len(set(zip(rows.tolist(), labels.tolist(), strict=True))) == rows.size == min(n, (~mask).sum())
        assert not mask[rows, labels].any()


def test_random_items_are_uniform_over_open_items():
    closed = np.zeros((6, 3), dtype=bool)
    closed[1], closed[4, 0] = True, True  # one closed, one partly: it counts as much as the others
    rng = np.random.default_rng(0)
    first = np.bincount([random_items(sp.csr_array(closed), 2, rng)[0] for _ in range(4000)], minlength=6)
    assert first[1] == 0
    assert chisquare(first[[0, 2, 3, 4, 5]]).pvalue > 1e-3


def test_random_pairs_are_uniform_over_open_pairs():
    closed = np.array([[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 1, 1], [0, 0, 1, 1]], dtype=bool)
    rng, counts = np.random.default_rng(0), np.zeros(closed.shape)
    for _ in range(3000):
        rows, labels = random_pairs(sp.csr_array(closed), 3, rng)
        counts[rows, labels] += 1
    assert np.all(counts[closed] == 0)
    assert counts.sum() == 9000
    # drawing 3 of 9 without replacement spreads less than independent draws do: the true p-value is larger still
    assert chisquare(counts[~closed]).pvalue > 1e-3


def test_the_order_of_random_pairs_is_random_too():
    rng, free = np.random.default_rng(0), sp.csr_array((2, 2), dtype=bool)
    orders = [tuple(2 * rows + labels) for rows, labels in (random_pairs(free, 2, rng) for _ in range(6000))]
    counts = [orders.count(order) for order in product(range(4), repeat=2) if order[0] != order[1]]
    assert sum(counts) == 6000
    assert chisquare(counts).pvalue > 1e-3


def test_asking_for_every_pair_of_a_wide_pool_stays_small():
    """n × q pairs, not n × q × q: every one of 300 000 open pairs of 300 labels."""
    closed = sp.random_array((1100, 300), density=0.1, rng=np.random.default_rng(0)).astype(bool).tocsr()
    tracemalloc.start()
    rows, labels = random_pairs(closed, 10**9, np.random.default_rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.size == 1100 * 300 - closed.nnz
    assert not closed.toarray()[rows, labels].any()
    assert np.unique(rows * 300 + labels).size == rows.size
    assert peak < 150 * rows.size  # some arrays of that length; (pairs, q) booleans would be 300 bytes for each
