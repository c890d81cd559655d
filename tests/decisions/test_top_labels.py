"""TopLabels: the count it promises, of the labels it promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from labelwise import TopLabels
from labelwise.posterior import IgnorantPosterior, MarginalPosterior

probabilities = arrays(float, st.tuples(st.integers(0, 6), st.integers(1, 6)), elements=st.floats(0, 1, width=16))


def decide(count, p):
    return TopLabels(count).decide(MarginalPosterior(np.asarray(p, dtype=float)))


@settings(max_examples=60, deadline=None)
@given(probabilities, st.integers(1, 8))
def test_a_fixed_count_keeps_the_most_probable(p, count):
    sets = decide(count, p)
    assert sets.dtype == bool and sets.shape == p.shape
    for kept, row in zip(sets, p, strict=True):
        assert kept.sum() == min(count, row.size)
        assert sorted(row[kept]) == sorted(row)[row.size - kept.sum() :]


@settings(max_examples=60, deadline=None)
@given(probabilities)
def test_the_expected_count_is_each_items_own(p):
    sizes = decide("expected", p).sum(1)
    assert np.all(np.abs(sizes - p.sum(1)) <= 0.5 + 1e-9)


def test_the_average_count_is_the_batchs_and_at_least_one():
    assert decide("average", [[0.9, 0.9, 0.9], [0.1, 0.4, 0.6]]).sum(1).tolist() == [2, 2]  # 3.8 labels on 2 items
    assert decide("average", [[0.1, 0.0, 0.2]]).tolist() == [[False, False, True]]
    assert decide("expected", [[0.1, 0.0, 0.2]]).sum() == 0


def test_ties_go_to_the_first_labels():
    assert decide(2, [[0.5, 0.5, 0.5]]).tolist() == [[True, True, False]]
    assert TopLabels(1).decide(IgnorantPosterior(2, 2)).tolist() == [[True, False], [True, False]]


def test_no_items():
    for count in (2, "average", "expected"):
        assert decide(count, np.empty((0, 3))).shape == (0, 3)


def test_counts_from_numpy_are_whole_numbers():
    assert decide(np.int64(2), [[0.1, 0.2, 0.3]]).sum() == 2


@pytest.mark.parametrize("count", [-1, 0, 1.5, "most", None])
def test_other_counts_are_named(count):
    with pytest.raises(ValueError, match="whole number"):
        TopLabels(count)


class _OwnMind(MarginalPosterior):
    """A model that ranks otherwise than its probabilities, and has its own idea of how many labels there are."""

    def ranking(self):
        return -self.probabilities()

    def label_counts(self):
        return np.array([2.0, 0.2])


def test_a_model_may_rank_and_count_for_itself():
    beliefs = _OwnMind(np.array([[0.9, 0.1, 0.2], [0.4, 0.5, 0.6]]))
    assert TopLabels(1, by="ranking").decide(beliefs).tolist() == [[False, True, False], [True, False, False]]
    assert TopLabels("expected").decide(beliefs).tolist() == [[True, False, True], [False, False, False]]
    with pytest.raises(ValueError, match="by must be"):
        TopLabels(1, by="name").decide(beliefs)
