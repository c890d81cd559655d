import numpy as np
import pytest
from sklearn.metrics import f1_score

from labelwise.labelling.estimates import base_rate, estimate_f1


def test_the_estimate_is_micro_f1_on_what_is_known():
    rng = np.random.default_rng(0)
    Y, predicted, known = rng.random((3, 50, 6)) < np.array([0.3, 0.4, 0.7])[:, None, None]
    found = estimate_f1(Y & known, known, predicted, 0)
    assert found["f1"] == pytest.approx(f1_score(Y[known], predicted[known]), abs=1e-4)
    assert found["low"] < found["f1"] < found["high"]
    assert (found["items"], found["entries"]) == (known.any(1).sum(), known.sum())


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng, inside = np.random.default_rng(1), 0
    Y = rng.random((4000, 3)) < 0.3
    predicted = Y ^ (rng.random(Y.shape) < 0.15)
    truth = f1_score(Y.ravel(), predicted.ravel())
    for seed in range(200):
        rows = rng.permutation(4000)[:60]
        found = estimate_f1(Y[rows], np.ones((60, 3), dtype=bool), predicted[rows], seed)
        inside += found["low"] <= truth <= found["high"]
    assert 165 <= inside <= 195  # 90 % of 200, and three standard deviations


def test_without_a_positive_there_is_no_f1():
    nothing = np.zeros((30, 2), dtype=bool)
    assert estimate_f1(nothing, ~nothing, nothing, 0)["f1"] is None


def test_below_twenty_items_there_is_no_f1():
    Y = np.ones((20, 2), dtype=bool)
    assert estimate_f1(Y, Y, Y, 0)["f1"] == 1.0
    few = estimate_f1(Y[1:], Y[1:], Y[1:], 0)
    assert (few["f1"], few["low"], few["high"], few["items"], few["needed"]) == (None, None, None, 19, 20)


def test_base_rates_narrow_with_answers():
    few, many = base_rate(3, 7), base_rate(300, 700)
    assert few["low"] < many["low"] < 0.3 < many["high"] < few["high"]
