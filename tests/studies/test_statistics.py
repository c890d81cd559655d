"""Areas, errors and paired differences against arithmetic done by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from labelwise.studies.statistics import (
    Estimate,
    areas,
    clear_winner,
    compare,
    learning_curves,
    paired_bootstrap,
    paired_difference,
)
from labelwise.studies.tables import Table

# two strategies, three seeds, three evaluations
CURVES = {
    ("random", 0): [0.50, 0.60, 0.70],
    ("random", 1): [0.30, 0.40, 0.50],
    ("random", 2): [0.70, 0.80, 0.90],
    ("clever", 0): [0.50, 0.66, 0.76],  # area + 0.04
    ("clever", 1): [0.30, 0.46, 0.59],  # area + 0.05
    ("clever", 2): [0.70, 0.86, 1.02],  # area + 0.06
}


def make_table(curves=CURVES, metric="macro_f1", model="m"):
    return Table.from_rows(
        [
            {"data": "set", "model": model, "strategy": strategy, "target": "items", "control": "random"}
            | {"seed": seed, "round": r, "questions": 5, "seconds_asking": 0.1, "seconds_fitting": 0.2}
            | {"items_read": 10 + 5 * r, "answers": 20 + 10 * r + seed, metric: value}
            for (strategy, seed), values in curves.items()
            for r, value in enumerate(values)
        ]
    )


def test_the_area_is_the_mean_over_evaluations():
    assert areas(make_table(), "macro_f1", "m", "random") == pytest.approx({0: 0.6, 1: 0.4, 2: 0.8})


def test_the_paired_difference_has_the_error_of_the_differences_not_of_the_curves():
    comparison = compare(make_table(), ["macro_f1"])[1]
    difference = comparison.difference
    assert difference.value == pytest.approx(0.05)
    assert difference.standard_error == pytest.approx(0.01 / math.sqrt(3))
    assert difference.low == pytest.approx(0.05 - 4.302653 * 0.01 / math.sqrt(3))
    assert comparison.area.standard_error == pytest.approx(
        np.std([0.64, 0.45, 0.86], ddof=1) / math.sqrt(3)
    )  # the seeds differ far more
    assert comparison.final.value == pytest.approx((0.76 + 0.59 + 1.02) / 3)
    assert comparison.verdict == "better"


def test_the_interval_is_that_of_the_t_test():
    sample = np.random.default_rng(0).normal(0.1, 0.2, 7)
    low, high = stats.ttest_1samp(sample, 0).confidence_interval(0.95)
    estimate = Estimate.of(sample)
    assert (estimate.low, estimate.high) == pytest.approx((low, high))
    assert estimate.standard_error == pytest.approx(stats.sem(sample))


def test_an_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = [e.low < 0.3 < e.high for e in (Estimate.of(rng.normal(0.3, 1, 3)) for _ in range(2000))]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


def test_a_loss_is_better_when_lower_and_noise_decides_nothing():
    assert compare(make_table(metric="log_loss"), ["log_loss"])[1].verdict == "worse"
    noisy = {**CURVES, ("clever", 2): [0.70, 0.7, 0.7]}
    assert compare(make_table(noisy), ["macro_f1"])[1].verdict == "no difference"


def test_one_seed_has_no_error_and_no_verdict():
    one = {key: values for key, values in CURVES.items() if key[1] == 0}
    comparison = compare(make_table(one), ["macro_f1"])[1]
    assert math.isnan(comparison.difference.standard_error)
    assert comparison.verdict == "one seed"
    assert clear_winner(make_table(one), "macro_f1", [("m", "random"), ("m", "clever")]) is None


def test_the_control_and_a_study_without_it_have_no_difference():
    control = compare(make_table(), ["macro_f1"])[0]
    assert (control.difference, control.verdict) == (None, "control")
    alone = {key: values for key, values in CURVES.items() if key[0] == "clever"}
    assert compare(make_table(alone), ["macro_f1"])[0].verdict == "no control"


def test_pairs_are_made_by_seed_and_not_by_place():
    left, right = {0: 1.0, 1: 5.0, 7: 3.0}, {7: 2.0, 1: 4.0, 0: 0.0, 9: 100.0}
    assert paired_difference(left, right).value == 1.0
    assert paired_difference(left, right).standard_error == 0.0


def test_a_curve_is_the_mean_and_standard_error_over_seeds():
    curve = learning_curves(make_table(), "macro_f1", "answers")[0]
    assert curve.cost.tolist() == [21, 31, 41]
    assert curve.mean == pytest.approx([0.5, 0.6, 0.7])
    assert curve.standard_error == pytest.approx([0.2 / math.sqrt(3)] * 3)
    assert curve.n_seeds == 3


def test_a_clear_winner_beats_each_of_the_others_beyond_noise():
    arms = [("m", "random"), ("m", "clever")]
    assert clear_winner(make_table(), "macro_f1", arms) == ("m", "clever")
    assert clear_winner(make_table(metric="log_loss"), "log_loss", arms) == ("m", "random")
    twin = CURVES | {("twin", s): [v + 0.001 * (s - 1) for v in CURVES["clever", s]] for s in range(3)}
    assert clear_winner(make_table(twin), "macro_f1", [*arms, ("m", "twin")]) is None
    assert clear_winner(make_table(), "macro_f1", arms[:1]) is None


def test_nothing_cannot_be_averaged():
    with pytest.raises(ValueError, match="nothing to average"):
        Estimate.of([])
    with pytest.raises(ValueError, match="nothing to average"):
        paired_bootstrap([[], []], np.random.default_rng(0))


def test_with_many_seeds_of_one_set_the_bootstrap_is_the_t_interval():
    sample = np.random.default_rng(2).normal(0.1, 0.2, 200)
    drawn, student = paired_bootstrap([sample], np.random.default_rng(0), 20_000), Estimate.of(sample)
    assert drawn.value == student.value
    assert (drawn.standard_error, drawn.low, drawn.high) == pytest.approx(
        (student.standard_error, student.low, student.high), abs=0.0015
    )


def test_the_bootstrap_over_sets_has_the_error_of_two_stages():
    """Var = (variance of the sets' means + mean variance within a set / seeds) / sets, all with divisor n."""
    groups = np.random.default_rng(4).normal(size=(6, 4)) * 0.1 + np.linspace(-1, 1, 6)[:, None]
    expected = math.sqrt((groups.mean(1).var() + groups.var(1).mean() / 4) / 6)
    assert paired_bootstrap(groups, np.random.default_rng(0), 40_000).standard_error == pytest.approx(
        expected, rel=0.02
    )


def test_the_bootstrap_over_a_few_sets_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(3)
    found = [paired_bootstrap(rng.normal(0.2, 1.0, (9, 1)), rng, 1000) for _ in range(600)]
    assert np.mean([e.low < 0.2 < e.high for e in found]) == pytest.approx(0.95, abs=0.025)


def test_the_bootstrap_weighs_sets_alike_and_needs_two_values():
    uneven = paired_bootstrap([[0.0, 0.0, 0.0, 0.0], [1.0]], np.random.default_rng(0))
    assert (uneven.value, uneven.n) == (0.5, 2)
    assert math.isnan(paired_bootstrap([[0.3]], np.random.default_rng(0)).low)
