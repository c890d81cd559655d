"""Rows learnt from: answers about the same item against one row that has them all."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from labelwise.models.training_rows import TrainingRows

X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])


def masked(*rows):
    """Y and observed from rows of 0, 1 and None."""
    observed = np.array([[entry is not None for entry in row] for row in rows])
    return np.array([[bool(entry) for entry in row] for row in rows]), observed


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_answers_about_the_same_item_share_a_row(kind):
    Y, observed = masked((1, None, None), (0, None, 1), (None, 0, 1))
    rows, new = TrainingRows.none(3).add(kind(X), Y, observed)
    np.testing.assert_array_equal(new, [0, 1])
    np.testing.assert_array_equal(rows.Y, [[True, False, True], [False, False, True]])
    np.testing.assert_array_equal(rows.observed, [[True, True, True], [True, False, True]])


def test_a_question_answered_twice_stays_two_rows():
    Y, observed = masked((1, None), (0, 0), (0, None))
    rows, new = TrainingRows.none(2).add(X, Y, observed)
    np.testing.assert_array_equal(new, [0, 1, 2])
    np.testing.assert_array_equal(rows.Y, Y)
    later, new = rows.add(X[:1], *masked((None, 1)))  # goes to the first row that has room
    assert new.size == 0
    np.testing.assert_array_equal(later.observed, [[True, True], [True, True], [True, False]])
    np.testing.assert_array_equal(rows.observed, observed)  # the earlier rows are unchanged


def test_complete_duplicates_are_kept():
    rows, new = TrainingRows.none(2).add(np.ones((4, 1)), *masked((1, 0), (1, 0), (0, 0), (None, 1)))
    assert len(rows) == 4
    assert new.size == 4


def test_zeros_are_equal_however_they_are_stored():
    stored = sp.csr_array((np.array([0.0, 3.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    rows, _ = TrainingRows.none(2).add(stored, *masked((1, None)))
    assert rows.add(sp.csr_array(np.array([[0.0, 3.0]])), *masked((None, 1)))[1].size == 0
    rows, _ = TrainingRows.none(2).add(np.array([[0.0, 3.0]]), *masked((1, None)))
    assert rows.add(np.array([[-0.0, 3.0]]), *masked((None, 1)))[1].size == 0


@given(st.integers(0, 2**32 - 1), st.integers(1, 11))
def test_in_pieces_as_at_once(seed, cut):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(12, 2)).astype(float)
    Y, observed = rng.random((12, 3)) < 0.5, rng.random((12, 3)) < 0.4
    whole, _ = TrainingRows.none(3).add(X, Y, observed)
    first, _ = TrainingRows.none(3).add(X[:cut], Y[:cut], observed[:cut])
    pieces, _ = first.add(X[cut:], Y[cut:], observed[cut:])
    np.testing.assert_array_equal(pieces.Y, whole.Y)
    np.testing.assert_array_equal(pieces.observed, whole.observed)
    assert pieces.open_rows == whole.open_rows
    assert whole.observed.sum() == observed.sum()  # no answer is lost or told twice
    assert (whole.Y & whole.observed).sum() == (Y & observed).sum()


def test_rows_taken_stay_open_for_further_answers():
    rows, _ = TrainingRows.none(2).add(np.array([[1.0], [2.0], [3.0]]), *masked((1, None), (1, None), (1, 1)))
    some = rows.take(np.array([1, 2]))
    later, new = some.add(np.array([[2.0], [1.0]]), *masked((None, 1), (None, 1)))
    np.testing.assert_array_equal(new, [1])  # the row that was not taken is a new one
    np.testing.assert_array_equal(later.observed, [[True, True], [True, True], [False, True]])
