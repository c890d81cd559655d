"""Threshold: strictly above, one number or one per label."""

import numpy as np
import pytest

from labelwise import Threshold
from labelwise.posterior import IgnorantPosterior, MarginalPosterior

P = np.array([[0.0, 0.5, 1.0], [0.3, 0.51, 0.9]])


def test_exceeding_is_strict():
    sets = Threshold().decide(MarginalPosterior(P))
    assert sets.dtype == bool
    assert sets.tolist() == [[False, False, True], [False, True, True]]
    assert Threshold(0.0).decide(MarginalPosterior(P)).tolist() == [[False, True, True], [True, True, True]]
    assert not Threshold(1.0).decide(MarginalPosterior(P)).any()


@pytest.mark.parametrize("value", [[0.2, 0.505, 0.95], (0.2, 0.505, 0.95), np.array([0.2, 0.505, 0.95])])
def test_one_per_label(value):
    assert Threshold(value).decide(MarginalPosterior(P)).tolist() == [[False, False, True], [True, True, False]]


def test_one_half_decides_nothing_for_the_ignorant():
    sets = Threshold().decide(IgnorantPosterior(4, 2))
    assert sets.shape == (4, 2) and not sets.any()
    sets[0, 0] = True  # the sets are the caller's own
    assert Threshold(0.25).decide(IgnorantPosterior(4, 2)).all()


@pytest.mark.parametrize("value", [[0.5, 0.5], [[0.5, 0.5, 0.5]], np.full((2, 3), 0.5)])
def test_a_threshold_per_item_or_of_another_length_is_refused(value):
    with pytest.raises(ValueError, match=r"expected one number or \(3,\)"):
        Threshold(value).decide(MarginalPosterior(P))


@pytest.mark.parametrize("value", [50, -0.1, float("nan"), [0.5, 1.5, 0.5]])
def test_a_threshold_that_is_no_probability_is_refused(value):
    with pytest.raises(ValueError, match="between 0 and 1"):
        Threshold(value)
