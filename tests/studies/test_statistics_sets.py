"""What a study over many sets says, on curves made by hand."""

from __future__ import annotations

from math import inf, isnan, nan

import numpy as np
import pytest
from scipy import stats

from labelwise.studies.findings import result_rows, summary
from labelwise.studies.statistics import (
    MIN_SETS,
    Estimate,
    League,
    compare,
    leagues,
    seconds_per_question,
    stand,
)
from labelwise.studies.tables import Table

# gains over random in every evaluation after the start, (sets, strategies); "clever" gains everywhere
SETS = [f"set{i}" for i in range(7)]
GAINS = {"random": np.zeros(7), "clever": np.linspace(0.02, 0.08, 7), "poor": -np.linspace(0.01, 0.07, 7)}
GAINS["luck"] = np.array([0.05, -0.04, 0.03, -0.05, 0.04, -0.03, 0.01])


def make_table(sets=SETS, seeds=(0, 1, 2), gains=GAINS, pairs=(), answers=30):
    rng = np.random.default_rng(0)
    noise = {(data, seed): rng.normal(0, 0.1) for data in sets for seed in seeds}
    rows = []
    for place, data in enumerate(sets):
        for seed in seeds:
            for strategy, gain in gains.items():
                wobble = 0.0 if strategy == "random" else rng.normal(0, 0.002)
                target = "pairs" if strategy in pairs else "items"
                for r in range(3):
                    score = 0.5 + noise[data, seed] + 0.1 * r + (gain[place] + wobble) * (r > 0)
                    given = (answers if target == "pairs" else 30) * r
                    rows.append(
                        {"data": data, "model": "m", "strategy": strategy, "target": target, "seed": seed, "round": r}
                        | {"control": "random_pairs" if target == "pairs" else "random", "questions": 10}
                        | {"items_read": 10 * (r + 1), "answers": 30 + given, "macro_f1": score, "log_loss": -score}
                        | {"seconds_asking": 0.1 * (place + 1), "seconds_fitting": 0.3}
                    )
    return Table.from_rows(rows)


def only(table):
    (league,) = leagues(table)
    return league


def by_strategy(table, metric="macro_f1"):
    return {c.strategy: c for c in compare(table, [metric])}


def test_gains_are_the_mean_over_sets_of_paired_differences():
    table = make_table()
    found = by_strategy(table)
    assert found["random"].gain is None and found["random"].verdict == "control"
    assert found["clever"].gain.value == pytest.approx(GAINS["clever"].mean() * 2 / 3, abs=0.001)  # the start is alike
    assert (found["clever"].better, found["clever"].worse, found["clever"].n_sets) == (7, 0, 7)
    assert [found[s].verdict for s in ("clever", "poor", "luck")] == ["better", "worse", "no difference"]
    assert found["luck"].better == 4


def test_with_enough_sets_the_interval_speaks_of_other_sets_and_with_few_of_other_seeds():
    """The spread between sets, 0.013 in the mean of curves, is many times that between seeds."""
    many = by_strategy(make_table())["clever"].gain
    assert many.standard_error == pytest.approx(GAINS["clever"].std() * 2 / 3 / np.sqrt(7), rel=0.1)
    table = make_table(SETS[: MIN_SETS - 1])
    few = by_strategy(table)["clever"].gain
    per_seed = []
    for seed in (0, 1, 2):
        means = [
            np.mean([table.where(strategy=s, seed=seed, data=d)["macro_f1"].mean() for d in SETS[: MIN_SETS - 1]])
            for s in ("clever", "random")
        ]
        per_seed.append(means[0] - means[1])
    expected = Estimate.of(per_seed)
    assert (few.value, few.low, few.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert few.standard_error < many.standard_error / 3


def test_p_values_are_wilcoxons_adjusted_by_holm():
    table = make_table()
    found = by_strategy(table)
    raw = {}
    for strategy in ("clever", "poor", "luck"):
        means = {s: [table.where(strategy=s, data=d)["macro_f1"].mean() for d in SETS] for s in (strategy, "random")}
        raw[strategy] = stats.wilcoxon(np.subtract(means[strategy], means["random"])).pvalue
    assert raw["clever"] == raw["poor"] == 2 / 2**7
    assert found["clever"].p_value == pytest.approx(3 * raw["clever"])
    assert found["luck"].p_value == pytest.approx(raw["luck"])
    assert isnan(found["random"].p_value)


def test_ranks_turn_around_for_a_loss():
    league = only(make_table())
    assert compare(league.table, ["macro_f1"])[0].ranking.best_first()[0] == "clever · m"
    assert compare(league.table, ["log_loss"])[0].ranking.best_first()[0] == "clever · m"  # its loss is lowest
    losing = League(Table({**league.table.columns, "log_loss": league.table["macro_f1"]}), "random")
    assert compare(losing.table, ["log_loss"])[0].ranking.best_first()[0] == "poor · m"
    assert by_strategy(losing.table, "log_loss")["clever"].verdict == "worse"


def test_labels_needed_are_the_median_over_sets_and_never_where_half_never_got_there():
    found = by_strategy(make_table())
    assert found["random"].share == 1.0
    assert 0.6 < found["clever"].share < 1 and found["clever"].reached == 7
    assert found["poor"].share == inf and found["poor"].reached == 0
    assert found["luck"].reached == 4 and found["luck"].share < 1
    even = make_table(SETS[:4])  # luck gets there on two of four
    assert by_strategy(even)["luck"].share == inf


def test_pairs_stand_beside_items_where_they_give_as_many_answers_and_apart_where_not():
    gains = {**GAINS, "random_pairs": np.zeros(7), "asking_pairs": np.full(7, 0.05)}
    together = leagues(make_table(gains=gains, pairs=("random_pairs", "asking_pairs")))
    assert [(league.control, len(league.arms)) for league in together] == [("random", 6)]
    apart = leagues(make_table(gains=gains, pairs=("random_pairs", "asking_pairs"), answers=20))
    assert [(league.control, len(league.arms)) for league in apart] == [("random", 4), ("random_pairs", 2)]
    assert by_strategy(apart[1].table)["asking_pairs"].verdict == "better"
    assert [c.gain and c.gain.value for c in stand(apart[1], "macro_f1")] == [
        c.gain and c.gain.value for c in compare(apart[1].table, ["macro_f1"])
    ]


def test_an_arm_that_lacks_a_set_is_not_ranked_and_counted_by_its_own_sets():
    table = make_table()
    kept = ~((table["strategy"] == "poor") & (table["data"] == "set0"))
    league = only(Table({name: column[kept] for name, column in table.columns.items()}))
    found = by_strategy(league.table)
    assert isnan(found["poor"].mean_rank) and found["poor"].n_sets == 6
    assert sum(found[s].mean_rank for s in ("clever", "luck", "random")) == pytest.approx(1 + 2 + 3)


def test_a_model_without_random_has_nothing_to_be_compared_with():
    table = make_table()
    other = Table({**table.columns, "model": np.where(table["strategy"] == "clever", "n", "m")})
    clever = by_strategy(other)["clever"]
    assert clever.verdict == "no control" and clever.gain is None and isnan(clever.share)


def test_the_headline_names_winners_losers_and_how_far_it_reaches():
    comparisons = compare(make_table(), ["macro_f1"])
    assert summary(comparisons) == (
        "Clever with m beat random beyond noise on at least one metric and lost on none. "
        "Poor with m did worse than random beyond noise on at least one metric and better on none. "
        "2 of 3 differences lie beyond noise; chance alone would bring about 0.2."
    )
    few = summary(compare(make_table(SETS[:2]), ["macro_f1"]))
    assert few.endswith("The result holds for these 2 sets only: noise is measured over seeds, not over sets.")
    losing = summary([c for c in comparisons if c.strategy in ("random", "poor")])
    assert losing.startswith("Nothing beat random beyond noise. Poor with m did worse")
    alone = summary(compare(make_table(SETS[:2], seeds=(0,)), ["macro_f1"]))
    assert alone.startswith("Cannot tell whether these strategies beat random")


def test_seconds_are_per_question_and_leave_out_the_start():
    table = make_table(SETS[:2])
    slow_start = Table({**table.columns, "seconds_fitting": np.where(table["round"] == 0, 99.0, 0.3)})
    assert seconds_per_question(slow_start)["m", "clever"] == pytest.approx({"set0": 0.04, "set1": 0.05})


def test_plain_rows_hold_no_infinities():
    rows = result_rows(make_table(), ["macro_f1", "log_loss"])
    assert len(rows) == 8
    poor = next(row for row in rows if row["strategy"] == "poor")
    assert poor["answers_needed"] is None and poor["sets_reached"] == 0
    assert poor["holm_p"] == pytest.approx(6 / 2**7) and poor["verdict"] == "worse"
    assert all(v is None or not isinstance(v, float) or (v != inf and v == v) for row in rows for v in row.values())
    assert nan not in rows[0].values()
