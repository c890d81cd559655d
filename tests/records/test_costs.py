from __future__ import annotations

import numpy as np
import pytest

from labelwise import Costs


def test_the_total_is_the_sum_over_single_payments():
    costs = Costs(read=2.5, answer=0.5, labels={"b": 4.0})
    counts = [3, 2, 1]  # answers to a, b, c
    paid = 7 * 2.5 + 3 * 0.5 + 2 * 4.0 + 1 * 0.5
    assert costs.of_labels("abc").total(7, counts) == pytest.approx(paid)


def test_without_prices_an_answer_costs_one_and_reading_nothing():
    assert Costs().total(100, np.ones(5)) == 5


def test_names_become_positions_and_positions_stay():
    by_name = Costs(labels={"b": 4.0, "a": 2.0})
    assert by_name.of_labels(["a", "c", "b"]).prices(3).tolist() == [2.0, 1.0, 4.0]
    by_place = Costs(labels=(1.0, 2.0))
    assert by_place.of_labels(["x", "y"]) == by_place
    assert Costs(answer=3).of_labels("xy") == Costs(answer=3)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"read": -1}, "reading an item must be 0 or more, got -1"),
        ({"read": float("nan")}, "reading an item"),
        ({"answer": 0}, "an answer must be more than 0, got 0"),
        ({"answer": float("inf")}, "an answer"),
        ({"labels": {"b": -2}}, "label 'b' must be more than 0, got -2"),
        ({"labels": (1.0, 0.0)}, "label 1 must be more than 0"),
    ],
)
def test_prices_that_make_no_sense_are_refused(options, told):
    with pytest.raises(ValueError, match=told):
        Costs(**options)


def test_prices_for_other_labels_are_refused():
    with pytest.raises(ValueError, match="cost for the label 'z', but no such"):
        Costs(labels={"z": 1.0}).of_labels("ab")
    with pytest.raises(ValueError, match="costs of 2 labels, but 3"):
        Costs(labels=(1.0, 1.0)).of_labels("abc")
    with pytest.raises(ValueError, match=r"use costs\.of_labels"):
        Costs(labels={"a": 1.0}).prices(1)
