"""Labels needed to reach random's end, on curves made by hand."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from labelwise.studies.statistics import cost_to_reach, label_savings
from labelwise.studies.tables import Table


def make_table(curves, metric="macro_f1", data="set"):
    """(model, strategy, seed) → scores at 10, 20, 30 items with three labels each."""
    return [
        {"data": data, "model": model, "strategy": strategy, "control": "random", "seed": seed}
        | {"items_read": 10 * (r + 1), "answers": 30 * (r + 1), metric: score}
        for (model, strategy, seed), scores in curves.items()
        for r, score in enumerate(scores)
    ]


HAND = {
    ("m", "random", 0): [0.2, 0.3, 0.5],
    ("m", "random", 1): [0.2, 0.5, 0.7],  # mean 0.2, 0.4, 0.6
    ("m", "clever", 0): [0.2, 0.6, 0.9],
    ("m", "clever", 1): [0.2, 0.8, 0.9],  # mean 0.2, 0.7, 0.9: 0.6 at 80 % of the way from 10 to 20
    ("m", "poor", 0): [0.2, 0.3, 0.59],
    ("m", "poor", 1): [0.2, 0.3, 0.59],
    ("n", "clever", 0): [0.9, 0.9, 0.9],  # a model without random: no reference
    ("n", "clever", 1): [0.9, 0.9, 0.9],
}


def test_a_level_between_two_evaluations_is_reached_on_the_straight_line():
    x, y = np.array([5.0, 8.0, 20.0]), np.array([0.1, 0.4, 0.8])
    for level in (0.1, 0.25, 0.4, 0.7, 0.8):
        assert cost_to_reach(x, y, level) == pytest.approx(np.interp(level, y, x))


def test_the_first_crossing_counts_and_a_level_never_reached_is_infinite():
    assert cost_to_reach([1, 2, 3, 4], [0.0, 1.0, 0.2, 1.0], 0.5) == 1.5
    assert cost_to_reach([1, 2], [0.6, 0.7], 0.5) == 1.0  # above from the start: no less than the start
    assert cost_to_reach([1, 2], [0.1, 0.2], 0.5) == inf
    assert cost_to_reach([1, 2, 3], [np.nan, 0.6, 0.8], 0.5) == 2.0  # nobody knows what was before


def test_savings_are_read_off_the_mean_curves():
    found = {(s.model, s.strategy): s for s in label_savings(Table.from_rows(make_table(HAND)), "macro_f1")}
    assert set(found) == {("m", "random"), ("m", "clever"), ("m", "poor")}
    clever = found["m", "clever"]
    assert (clever.level, clever.spent) == (pytest.approx(0.6), 90)
    assert clever.needed == pytest.approx(30 + 0.8 * 30)
    assert clever.share == pytest.approx(0.6)
    assert found["m", "random"].share == 1.0
    assert found["m", "poor"].needed == found["m", "poor"].share == inf


def test_savings_in_items_and_on_a_loss():
    table = Table.from_rows(make_table(HAND))
    assert next(s for s in label_savings(table, "macro_f1", "items_read") if s.strategy == "clever").needed == 18
    falling = {arm: [1 - v for v in values] for arm, values in HAND.items()}
    losses = label_savings(Table.from_rows(make_table(falling, "log_loss")), "log_loss")
    assert next(s for s in losses if (s.model, s.strategy) == ("m", "clever")).share == pytest.approx(0.6)


def test_every_set_has_its_own_level():
    rows = make_table(HAND) + make_table({k: [v / 2 for v in s] for k, s in HAND.items()}, data="other")
    found = [s for s in label_savings(Table.from_rows(rows), "macro_f1") if s.strategy == "clever"]
    assert [(s.data, round(s.level, 6)) for s in found] == [("set", 0.6), ("other", 0.3)]
    assert found[0].share == pytest.approx(found[1].share)
