"""Plans, selections, verdicts and claims: what every paper relies on."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs the extra plots")
pytest.importorskip("jinja2", reason="needs the extra plots")

from labelwise.studies.papers.engine import (
    Claim,
    Exhibit,
    Paper,
    Runs,
    Versus,
    as_good,
    beats,
    every,
    holds_if,
    in_points,
    in_times,
    judge,
    points,
    with_files,
)
from labelwise.studies.statistics import Estimate

UP, DOWN, RATHER_UP, EVEN = (
    Estimate.of(values)
    for values in (
        [0.02, 0.03, 0.025, 0.02, 0.03],
        [-0.02, -0.03, -0.025, -0.02, -0.03],
        [0.05, -0.02, 0.01, 0.04, -0.03],
        [0.002, -0.001, 0.0, 0.001, -0.002],
    )
)
FOUR_SEEDS_UP = Estimate.of([0.02, 0.03, 0.025, 0.02])


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([UP, UP], "holds"),
        ([UP, RATHER_UP], "holds in part"),
        ([UP, DOWN], "does not hold"),  # in part only if nothing is worse
        ([RATHER_UP, DOWN], "does not hold"),
        ([RATHER_UP], "not shown"),
        ([FOUR_SEEDS_UP], "not shown"),  # as sure as five, but too few to judge
        ([FOUR_SEEDS_UP, DOWN], "not shown"),
    ],
)
def test_beats(differences, verdict):
    assert beats(differences) == verdict


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([UP, EVEN], "holds"),
        ([EVEN, RATHER_UP], "holds in part"),  # the second may be 3 points behind
        ([RATHER_UP], "not shown"),
        ([UP, DOWN], "does not hold"),
        ([FOUR_SEEDS_UP], "not shown"),
    ],
)
def test_as_good(differences, verdict):
    assert as_good(differences, margin=0.01) == verdict


def test_what_has_no_noise_is_counted():
    assert [holds_if(True, True), holds_if(True, False), holds_if(False)] == ["holds", "holds in part", "does not hold"]


def test_words():
    assert points(UP) == "+2.5 ± 0.2 points"
    assert points(Estimate.of([0.1])) == "+10.0 points"  # one split has no error
    assert in_points({"a": UP, "b": Estimate.of([0.1])}) == "a +2.5 ± 0.2, b +10.0 points"
    assert in_times({"a": Estimate.of([np.log(2), np.log(8)])}) == "a 4.00 times"


def test_a_plan_has_every_combination_in_order():
    jobs = every(dict, name=("a", "b"), seed=range(2), split="random")
    assert [(job.settings["name"], job.settings["seed"]) for job in jobs] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]
    assert {job.settings["split"] for job in jobs} == {"random"}
    filed = with_files(Path("data"), {"a": "a/a.arff", "b": "b.csv"}, jobs)
    assert [job.settings["file"] for job in filed[1:3]] == [str(Path("data/a/a.arff")), str(Path("data/b.csv"))]
    assert filed[0].settings["split"] == "random"


RUNS = Runs(
    {"set": s, "seed": i, "arm": a, "f1": v + i / 10} for s in "xy" for a, v in (("a", 0.5), ("b", 0.3)) for i in (0, 1)
)


def test_runs_are_selected_and_paired_by_seed():
    assert RUNS.distinct("set") == ["x", "y"] and list(RUNS.by("arm")) == ["a", "b"]
    assert RUNS.where(set="x", arm="b").by_seed("f1") == pytest.approx({0: 0.3, 1: 0.4})
    assert RUNS.where(arm="a").mean("f1") == pytest.approx(0.55)
    gain = RUNS.where(set="x", arm="a").minus(RUNS.where(set="x", arm="b"), "f1")
    assert (gain.value, gain.n) == (pytest.approx(0.2), 2)
    twice = RUNS.where(set="x", arm="a").minus(RUNS.where(set="x", arm="b"), lambda run: 2 * run["f1"], "f1")
    assert twice.value == pytest.approx(2 * 0.55 - 0.35)


def test_a_table_of_claims_is_judged_where_both_sides_were_run():
    table = (Versus("Figure 1", "a beats b", "clearly", "a", "b"), Versus("Figure 1", "a beats c", "clearly", "a", "c"))

    def measure(ours, theirs):
        pairs = {name: (of.where(arm=ours), of.where(arm=theirs)) for name, of in RUNS.by("set").items()}
        return {name: left.minus(right, "f1") for name, (left, right) in pairs.items() if left and right}

    (claim,) = judge(table, measure)
    words = "x +20.0 ± 0.0, y +20.0 ± 0.0 points"
    assert claim == Claim("Figure 1", "a beats b", "clearly", words, "not shown")  # two seeds


def test_an_exhibit_is_shown_where_all_of_its_groups_have_runs():
    paper = Paper("p", "P: a paper", lambda quick, shared: {})

    @paper.exhibit("one")
    def first(runs):
        return Exhibit(f"{len(runs)} runs")

    @paper.exhibit("one", "two")
    def second(runs, others):
        return Exhibit(f"{len(runs)} and {len(others)} runs")

    assert [exhibit.title for exhibit in paper.exhibits({"one": [{}]})] == ["1 runs"]
    assert [exhibit.title for exhibit in paper.exhibits({"one": [{}], "two": [{}, {}]})] == ["1 runs", "1 and 2 runs"]
    assert paper.exhibits({"one": [], "two": [{}]}) == []
