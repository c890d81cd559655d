"""Counts from elsewhere on the own scale: conditional shares are kept, and one's own counts are left alone."""

import warnings

import numpy as np
import pytest

from labelwise.numerics.factors.count_scaling import (
    OwnCounts,
    check_counts,
    count_correlation,
    rescale_counts,
    row_factors,
    warn_of_unlike_counts,
)

SEEN, UNSEEN = np.array([0, 2, 3]), np.array([1, 4])


@pytest.fixture
def labels():
    return (np.random.default_rng(0).random((400, 5)) < [0.5, 0.3, 0.4, 0.2, 0.3]).astype(float)


def test_rescaled_counts_keep_the_share_of_each_known_label():
    counts, totals, own = np.array([[8.0, np.nan], [0.0, 3.0]]), np.array([16.0, 6.0]), np.array([4.0, 10.0])
    found = rescale_counts(counts, totals, own)
    np.testing.assert_allclose(found, [[2.0, np.nan], [0.0, 5.0]])
    shares = np.array([0.5, 0.1])
    smoothed = rescale_counts(counts, totals, own, shares, smoothing=2.0)
    np.testing.assert_allclose(smoothed[0, 0], 4 * (8 + 2 * 0.5) / 18)
    np.testing.assert_allclose(smoothed[1], [10 * (0 + 1) / 8, 10 * (3 + 0.2) / 8])


def test_a_label_that_never_occurs_elsewhere_says_nothing():
    none, own = (np.zeros((1, 2)), np.zeros(1)), np.full(1, 8.0)
    np.testing.assert_array_equal(rescale_counts(*none, own), [[np.nan, np.nan]])
    np.testing.assert_array_equal(rescale_counts(*none, own, np.array([0.25, np.nan])), [[2.0, np.nan]])


def test_labels_without_a_count_above_0_were_never_counted():
    counts = np.array([[4.0, 1.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, np.nan], [0.0, 0.0, np.nan, 3.0]])
    unknown = np.isnan(check_counts(counts, 4))
    np.testing.assert_array_equal(unknown, np.eye(4, dtype=bool)[2] | np.eye(4, dtype=bool)[2][:, None])
    assert counts[2, 2] == 0.0  # what was given stays


def test_a_total_of_0_beside_counts_is_no_total():
    np.testing.assert_array_equal(check_counts([[0.0, 1.0], [1.0, 2.0]], 2), [[np.nan, 1.0], [1.0, 2.0]])


def test_row_factors_find_the_scale_of_every_row_and_ignore_the_diagonal():
    own = np.array([[9.0, 2.0, 4.0], [2.0, 9.0, 1.0], [4.0, 1.0, 9.0]])
    elsewhere = own * np.array([[2.0], [5.0], [10.0]])
    np.fill_diagonal(elsewhere, np.nan)
    np.testing.assert_allclose(row_factors(elsewhere, own), [0.5, 0.2, 0.1])
    elsewhere[1] = [0.0, np.nan, 0.0]
    pooled = (2 * 4 + 4 * 8 + 4 * 40 + 1 * 10) / (4**2 + 8**2 + 40**2 + 10**2)
    assert row_factors(elsewhere, own)[1] == pytest.approx(pooled)


def test_counts_of_the_same_items_stay_as_they_are(labels):
    counts = labels.T @ labels
    own = OwnCounts.of(counts, SEEN, UNSEEN, counts[np.ix_(SEEN, SEEN)])
    np.testing.assert_array_equal(own.with_seen, counts[np.ix_(SEEN, UNSEEN)])
    np.testing.assert_array_equal(own.among_unseen, counts[np.ix_(UNSEEN, UNSEEN)])
    assert own.shares is None and own.correlation == pytest.approx(1.0)


@pytest.mark.parametrize("diagonal", [True, False])
def test_ten_times_as_many_items_make_the_same_counts(labels, diagonal):
    counts = labels.T @ labels
    outside = 10 * counts
    if not diagonal:
        np.fill_diagonal(outside, np.nan)
    own = OwnCounts.of(outside, SEEN, UNSEEN, counts[np.ix_(SEEN, SEEN)])
    np.testing.assert_allclose(own.with_seen, counts[np.ix_(SEEN, UNSEEN)])
    np.testing.assert_allclose(own.among_unseen[0, 1], counts[1, 4])
    expected = counts[np.ix_(SEEN, SEEN)] / counts.diagonal()[SEEN][:, None]
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(own.shares[off], expected[off])


def test_one_unknown_total_changes_its_own_row_alone(labels):
    counts, outside = labels.T @ labels, labels[:150].T @ labels[:150]
    own = counts[np.ix_(SEEN, SEEN)]
    known = OwnCounts.of(outside, SEEN, UNSEEN, own)
    outside[0, 0] = np.nan
    found = OwnCounts.of(outside, SEEN, UNSEEN, own)
    np.testing.assert_array_equal(found.with_seen[1:], known.with_seen[1:])
    np.testing.assert_array_equal(found.shares[1:, 1:], known.shares[1:, 1:])
    block = outside[np.ix_(SEEN, SEEN)]
    np.testing.assert_allclose(found.with_seen[0], outside[0, UNSEEN] * row_factors(block, own)[0])


def test_nothing_given_or_nothing_unseen_is_empty(labels):
    counts = labels.T @ labels
    assert OwnCounts.of(None, SEEN, UNSEEN[:0], counts[:3, :3]).with_seen.shape == (3, 0)
    everything = np.arange(5)
    assert OwnCounts.of(counts, everything, UNSEEN[:0], counts).with_seen.shape == (5, 0)


def test_correlation_of_counts_sees_a_wrong_order(labels):
    rng = np.random.default_rng(1)
    counts = np.triu(rng.poisson(20.0, size=(12, 12)).astype(float), 1)
    counts = counts + counts.T
    assert count_correlation(3 * counts, counts) == pytest.approx(1.0)
    order = rng.permutation(12)
    assert abs(count_correlation(counts[np.ix_(order, order)], counts)) < 0.5
    assert np.isnan(count_correlation(np.full((3, 3), np.nan), np.ones((3, 3))))


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\)"),
        (np.array([[1.0, -1.0], [-1.0, 1.0]]), "0 or more"),
        (np.array([[1.0, np.inf], [np.inf, 1.0]]), "0 or more"),
        (np.array([[1.0, 2.0], [3.0, 1.0]]), "not symmetric: 2.0 at"),
        (np.array([[1.0, 2.0], [np.nan, 1.0]]), "not symmetric"),
    ],
)
def test_bad_counts_are_named(counts, words):
    with pytest.raises(ValueError, match=words):
        check_counts(counts, 2)


def test_rows_of_the_labels_with_answers_are_enough():
    """Counts of labels 0 and 2 with all: other rows are unknown, a label that none of them met was never counted."""
    found = check_counts([[5.0, 1.0, 2.0, 0.0], [3.0, 0.0, 4.0, 0.0]], 4, np.array([0, 2]))
    nan = np.nan
    expected = [[5.0, 1.0, 2.0, nan], [nan] * 4, [3.0, 0.0, 4.0, nan], [nan] * 4]
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=r"shape \(3, 4\), expected \(labels, labels\) = \(4, 4\), or .* = \(2, 4\)"):
        check_counts(np.ones((3, 4)), 4, np.array([0, 2]))


def test_counts_are_called_unlike_only_where_the_own_ones_say_something():
    rng = np.random.default_rng(0)
    rich = 10 * rng.gamma(0.5, 20.0, size=(9, 9))
    with pytest.warns(UserWarning, match="hardly agree .*correlation 0.10"):
        warn_of_unlike_counts(0.1, rich, stacklevel=1)
    with pytest.warns(UserWarning, match="hardly agree"):
        warn_of_unlike_counts(0.1, stacklevel=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_unlike_counts(0.1, rng.poisson(0.2, size=(9, 9)).astype(float), stacklevel=1)  # chance alone
        warn_of_unlike_counts(0.3, rich, stacklevel=1)
        warn_of_unlike_counts(float("nan"), stacklevel=1)
