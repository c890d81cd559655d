"""What is kept of a training: F1 by the random questions, and when there is none."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from labelwise.campaign.estimates import IntervalEstimate, MicroF1, base_rate, draw_items
from labelwise.campaign.standing import Standing
from labelwise.labelling.training.learner import standing_report
from labelwise.records import Spent


def test_the_estimate_is_micro_f1_on_what_is_known():
    rng = np.random.default_rng(0)
    Y, predicted, known = rng.random((3, 50, 6)) < np.array([0.3, 0.4, 0.7])[:, None, None]
    found = MicroF1.of(Y & known, known, predicted, draw_items(50, rng)).estimate()
    assert found.value == pytest.approx(f1_score(Y[known], predicted[known]))
    assert found.low < found.value < found.high


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng, inside = np.random.default_rng(1), 0
    Y = rng.random((4000, 3)) < 0.3
    predicted = Y ^ (rng.random(Y.shape) < 0.15)
    truth = f1_score(Y.ravel(), predicted.ravel())
    for _ in range(200):
        rows = rng.permutation(4000)[:60]
        draws = draw_items(60, rng)
        found = MicroF1.of(Y[rows], np.ones((60, 3), dtype=bool), predicted[rows], draws).estimate()
        inside += found.low <= truth <= found.high
    assert 165 <= inside <= 195  # 90 % of 200, and three standard deviations


def test_what_is_kept_of_a_standing():
    spent = Spent(items=30, readings=30, answers=90, cost=90.0)
    none = standing_report(Standing(spent, 19, 57, 4, "go on: few"), 30)
    assert none["f1"] == {
        **{"answers": 30, "f1": None, "low": None, "high": None},
        **{"items": 19, "entries": 57, "found": 4, "needed": 20},
    }
    gain = IntervalEstimate(0.02, -0.01, 0.05)
    some = standing_report(Standing(spent, 25, 75, 9, "go on", IntervalEstimate(0.61234567, 0.5, 0.7), gain), 30)
    assert some["f1"]["f1"] == 0.6123 and some["standing"]["over_random"] == {"value": 0.02, "low": -0.01, "high": 0.05}
    assert some["standing"]["advice"] == "go on" and some["standing"]["saved"] is None


def test_base_rates_narrow_with_answers():
    few, many = base_rate(3, 7), base_rate(300, 700)
    assert few["low"] < many["low"] < 0.3 < many["high"] < few["high"]
