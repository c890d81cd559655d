"""The arena in hours: its summing up by hand on made-up runs, and a quick run from end to end without any data."""

import gzip
import json
import os
import subprocess
import sys
from math import log
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

import arena
import labelwise as lw
from _arena_arms import ArenaSet, Arm, as_released, groups, sets_in, strategies
from _arena_figures import (
    Finished,
    against_random,
    behind_best,
    chosen_by_others,
    condition_figures,
    late_level,
    mean_ranks,
)
from _hours import LISTS, beyond_noise, campaign_rounds, kept, paired, seconds, share, time_shares

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "benchmarks" / "arena.py"
FREE_PICKS = lw.Costs(read=10.0, answer=1.0, pick=0.0)


def test_seconds_are_reading_opening_and_picking():
    costs = lw.Costs.picture("high")
    by_items = [float(costs.whole_item(picked)) for picked in (2, 0, 3)]
    assert seconds([3, 5], costs) == pytest.approx(sum(by_items))


def test_a_share_is_where_straight_lines_reach_both_scores_for_good():
    curve = [[100, 0, 0.2, 0.1], [200, 0, 0.4, 0.3], [300, 0, 0.35, 0.5]]
    usual = [400, 0, 0.3, 0.2]
    assert share(curve, usual, FREE_PICKS) == pytest.approx([150 / 400, 150 / 400])
    assert share(curve, [400, 0, 0.36, 0.2], FREE_PICKS)[0] == float("inf")  # below it again at the end
    assert share(curve, usual, FREE_PICKS, level=0.5) == pytest.approx([100 / 400, 100 / 400])


def test_labels_picked_take_time():
    curve, usual = [[100, 50, 0.2, 0.2], [200, 500, 0.4, 0.4]], [300, 300, 0.4, 0.2]
    costs = lw.Costs(read=2.0, answer=1.0, pick=4.0)
    expected = (200 * 2 + 500 * 4) / (300 * 2 + 300 * 4)
    assert share(curve, usual, costs)[0] == pytest.approx(expected)


def test_shares_are_of_mean_curves_and_the_dearest_list():
    curves = [[[100, 100, 0.1, 0.5], [200, 300, 0.3, 0.5]], [[100, 120, 0.3, 0.5], [200, 280, 0.3, 0.5]]]
    usual = [[300, 300, 0.2, 0.4], [300, 330, 0.2, 0.4]]
    found = time_shares(curves, usual)  # the mean curve has 0.2 after 100 items and 110 labels
    by_list = [
        seconds([100, 110], lw.Costs.named(which)) / seconds([300, 315], lw.Costs.named(which)) for which in LISTS
    ]
    assert list(found["by_list"].values()) == pytest.approx(by_list, abs=6e-4)
    assert found["share"] == pytest.approx(max(by_list), abs=6e-4)
    assert found["by_seed"][1] == pytest.approx(by_list[1], abs=0.02)


def test_the_level_is_the_mean_log_at_equal_times():
    usual = [300, 0, 0.2, 0.4]
    twice = [[20, 0, 0.4, 0.8], [340, 0, 0.4, 0.8]]
    assert late_level(twice, usual, FREE_PICKS) == pytest.approx(log(2))
    rising = [[0, 0, 0.1, 0.4], [300, 0, 0.4, 0.4]]
    area, _ = quad(lambda t: log((0.1 + 0.3 * t) / 0.2), 1 / 3, 1)
    assert late_level(rising, usual, FREE_PICKS) == pytest.approx(area / (2 / 3) / 2, abs=2e-3)


def test_items_with_many_labels_are_dear_in_a_level():
    usual, costs = [300, 300, 0.2, 0.4], lw.Costs.short_text()
    lean = [[20, 20, 0.1, 0.2], [300, 300, 0.3, 0.6]]
    rich = [[20, 60, 0.1, 0.2], [300, 900, 0.3, 0.6]]
    assert late_level(lean, usual, costs) > late_level(rich, usual, costs) + 0.05


def test_paired_differences_and_holm_by_hand():
    found = paired([0.1, 0.2, 0.3])
    assert found == {"gain": 0.2, "standard_error": round(0.1 / 3**0.5, 4), "p": pytest.approx(0.07418, abs=1e-4)}
    assert paired([0.1]) == {"gain": 0.1, "standard_error": None, "p": None}
    rows = {
        "a": {"gain": -1, "p": 0.01},
        "b": {"gain": -1, "p": 0.03},
        "c": {"gain": 1, "p": 0.04},
        "d": {"gain": -9, "p": None},
    }
    assert beyond_noise(rows, -1) == (["a"], ["a", "b"])  # adjusted: 0.03, 0.06, 0.06
    assert beyond_noise(rows, 1) == ([], ["c"])


def test_the_best_is_chosen_by_the_other_seeds():
    found = behind_best({"lucky": {0: 4.0, 1: 0.0, 2: 0.0}, "default": dict.fromkeys(range(3), 1.0)})
    assert found["best"] == ["default", "lucky", "lucky"]  # without its lucky seed it is not the best
    assert found["gap"] == pytest.approx(-2 / 3, abs=1e-4) and found["within"]
    assert (found["highest_mean"], found["highest_gap"]) == ("lucky", pytest.approx(1 / 3, abs=1e-4))


def test_an_arm_that_is_better_in_every_seed_is_beyond_noise():
    better = {0: 1.0, 1: 1.1, 2: 0.9}
    found = behind_best({"default": dict.fromkeys(range(3), 0.0), "better": better})
    assert found["best"] == ["better"] * 3 and not found["within"]
    assert found["p"] == pytest.approx(stats.ttest_1samp([1.0, 1.1, 0.9], 0, alternative="greater").pvalue, abs=1e-5)
    assert not behind_best({"default": {0: 0.0, 1: 0.0}, "better": {0: 0.5, 1: 0.5}})["within"]
    assert behind_best({"default": {0: 0.0, 1: 0.0}})["within"]
    assert behind_best({"default": {0: 0.0}, "better": {0: 1.0}}) is None


def test_the_highest_of_many_equal_arms_is_not_held_against_ours():
    rng = np.random.default_rng(0)
    naive, ours = 0, 0
    for _ in range(300):
        drawn = rng.standard_normal((30, 5))
        levels = {f"{arm}" if arm else "default": dict(enumerate(row)) for arm, row in enumerate(drawn)}
        ours += not behind_best(levels)["within"]
        highest = drawn[drawn.mean(axis=1).argmax()]
        naive += stats.ttest_1samp(highest - drawn[0], 0, alternative="greater").pvalue < 0.05
    assert ours / 300 < 0.09 < 0.25 < naive / 300


def test_a_default_chosen_by_the_other_sets_by_hand():
    levels = {"A": {"r": 1.0, "s": 0.0, "t": 0.0}, "default": {"r": 0.0, "s": 0.4, "t": 0.4}}
    shares = {"A": {"r": 0.2, "s": 0.9, "t": None}, "default": {"r": 0.5, "s": 0.6, "t": 0.7}}
    found = chosen_by_others(levels, shares)
    assert [row["chosen"] for row in found["by_set"].values()] == ["default", "A", "A"]
    assert [row["gain"] for row in found["by_set"].values()] == [0.0, -0.4, -0.4]
    assert (found["ours_chosen"], found["sets"], found["gain"]) == (1, 3, round(-0.8 / 3, 4))
    assert (found["median_share"], found["our_median_share"], found["on_all_sets"]) == (0.9, 0.6, "A")
    assert chosen_by_others({"default": {"r": 1.0}}, shares) is None


def test_ranks_by_hand_with_an_interval():
    levels = {
        "a": {"r": {0: 3.0, 1: 3.0}, "s": {0: 3.0, 1: 1.0}},
        "b": {"r": {0: 2.0, 1: 2.0}, "s": {0: 2.0, 1: 2.0, 2: 9.0}},  # a seed that the others lack does not count
        "c": {"r": {0: 1.0, 1: 1.0}, "s": {0: 1.0, 1: 4.0}},
        "d": {"r": {0: 9.0}},  # not on every set
    }
    found = mean_ranks(levels, np.random.default_rng(0))
    assert {arm: row["mean"] for arm, row in found.items()} == {"a": 1.75, "b": 2.25, "c": 2.0}
    assert all(row["low"] <= row["mean"] <= row["high"] for row in found.values())
    apart = {arm: {name: {0: k, 1: k} for name in "rst"} for k, arm in enumerate("cba")}
    assert mean_ranks(apart, np.random.default_rng(0))["a"] == {"mean": 1.0, "low": 1.0, "high": 1.0}


def test_random_items_are_beaten_where_it_is_beyond_noise_after_holm():
    at_random = {name: dict.fromkeys(range(5), 0.0) for name in "abcdef"}
    noise = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])
    levels = {
        name: dict(enumerate(gain + noise)) for name, gain in zip("abcdef", [1, 0.02, 0, -1, -0.02, 0.01], strict=True)
    }
    found = against_random(levels, at_random)
    assert (found["better"], found["worse"], found["sets"]) == (["a"], ["d"], 6)
    assert (found["better_unadjusted"], found["worse_unadjusted"]) == (["a", "b"], ["d", "e"])
    assert (found["gain"], found["worst_gain"]) == (round(0.01 / 6, 4), -1.0)
    assert found["low"] < 0 < found["high"]


def made_up_runs():
    """Default, random and another on two sets with two seeds: curves that reach 0.3 after 100, 200 and 300 items."""
    ends = {"default": 100, "random": 200, "uncertainty": 300}
    runs, usual = {}, {}
    for name in ("r", "s"):
        for seed in (0, 1):
            usual[name, "usual", seed] = [300, 300, 0.3, 0.3 + seed / 100]
            for arm, n in ends.items():
                curve = [[20, 20, 0.1, 0.4], [n, n, 0.3, 0.4], [340, 340, 0.3 + 0.001 * (340 - n), 0.4]]
                runs[name, arm, seed] = {"curve": curve, "choosing_seconds": [9, 1, 3], "learning_seconds": [9, 2, 2]}
    return Finished(runs, usual)


def test_a_condition_is_summed_up_from_its_runs():
    arms = [Arm(name) for name in ("default", "random", "uncertainty", "mean_score")]
    found = condition_figures(made_up_runs(), ["r", "s", "t"], arms)
    assert found["arms"].keys() == {"default", "random", "uncertainty"}  # the last has no run
    row = found["arms"]["default"]
    assert row["share"] == {"median": 0.333, "worst": 0.333} and row["sets"]["r"]["seeds"] == 2
    middle = lw.Costs.short_text()
    assert row["hours"]["1"]["worst"] == pytest.approx(100 * float(middle.whole_item(1)) / 3600, abs=0.006)
    assert (row["choosing_cpu_seconds"], row["learning_cpu_seconds"]) == (2.0, 2.0)  # without the start
    assert [found["arms"][arm]["rank"]["mean"] for arm in ("default", "random", "uncertainty")] == [1, 2, 3]
    assert found["arms"]["random"]["over_random"] is None and found["arms"]["uncertainty"]["over_random"]["gain"] < 0
    assert (found["default_within_noise_of_best"], found["sets_judged"]) == (2, 2)
    assert found["chosen_by_other_sets"]["ours_chosen"] == 2


def test_arms_are_named_and_read():
    arms = [arm for of in groups().values() for arm in of]
    assert len({arm.name for arm in arms}) == len(arms) and [Arm.of(arm.name) for arm in arms] == arms
    assert (
        {"mutual_information", "expected_loss_reduction"}
        <= {arm.strategy for arm in arms}
        <= {
            "default",
            *strategies(),
        }
    )
    assert "random_pairs" not in strategies() and "variance_reduction" not in strategies()  # it is the default's own
    assert Arm("uncertainty", "label_gp", "both", True, 0.8, alone=True).random.name == "random+label_gp+both+names@0.8"
    assert Arm(recall=0.8).usual == "usual@0.8" and Arm(features="both", names=True).usual == "usual"
    assert [arm.name for arm in arena.chosen_arms("uncertainty+names,base")] == [
        "uncertainty+names",
        "random+names",
        "default",
        "random",
    ]
    assert as_released("dropout_disagreement").as_released and as_released("uncertainty") is None
    assert Arm.of("dropout_disagreement+alone+released").options()["strategy"] == as_released("dropout_disagreement")
    with pytest.raises(ValueError, match="there is no arm 'best'"):
        Arm.of("best")


def test_the_default_arm_is_the_default_campaign():
    pool, test = ArenaSet("tickets", "made up").split("words", 0)
    points = [point for point, *_ in campaign_rounds(pool, test, Arm().options(), 3, rounds=(10, 20, 40))]
    campaign = lw.Campaign(pool.hide(), hints=None, random_state=3)
    answerer = lw.studies.Answerer(pool)
    for n in (10, 10, 20):
        campaign.tell(answerer.answers(campaign.ask(n)))
    assert points[-1][:2] == [40, sum(sum(answer.values.values()) for answer in campaign.answers)]
    own = Arm(alone=True).options()
    assert (own["strategy"], own.get("control"), own.get("start")) == ("variance_reduction", None, None)


def test_a_run_is_kept_whole(tmp_path):
    made = []

    def make():
        made.append(1)
        return {"curve": [1, 2]}

    assert [kept(tmp_path / "a" / "run.json", make) for _ in range(2)] == [{"curve": [1, 2]}] * 2
    assert made == [1] and [path.name for path in (tmp_path / "a").iterdir()] == ["run.json"]


def figures_of(capsys, *arguments):
    arena.main([*map(str, arguments)])
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def curve_of(path):
    return json.loads(path.read_text())["curve"]


def test_a_quick_arena_goes_on_where_it_was(tmp_path, capsys):
    out = tmp_path / "runs"
    words = ("--quick", "--out", out, "--arms", "base,uncertainty,default+names")
    figures = figures_of(capsys, *words)
    names = {f"{name}-{arm}-{seed}" for name in ("tickets", "gaussian") for seed in (0, 1) for arm in ARMS_OF_IT}
    assert {path.stem for path in out.glob("*.json")} == names
    assert figures["sets_judged"] == 2 and figures["sets"] == 2 and figures["seeds"] == 2
    assert figures["below_random"] == 0 and figures["median_share_of_time"] > 0
    assert "| **default** |" in (out / "report.md").read_text(encoding="utf-8")

    again, before = out / "gaussian-uncertainty-1.json", out / "tickets-default-0.json"
    curve, written = curve_of(again), before.stat().st_mtime_ns
    again.unlink()
    assert figures_of(capsys, *words, "--finished")["runs"] == figures["runs"] - 1 and not again.exists()
    assert figures_of(capsys, *words)["runs"] == figures["runs"]
    assert curve_of(again) == curve and before.stat().st_mtime_ns == written


ARMS_OF_IT = ("usual", "default", "random", "uncertainty", "default+names", "random+names")


def test_sets_of_a_user_take_part(tmp_path, capsys):
    folder = tmp_path / "mine"
    (folder / "notes").mkdir(parents=True)
    lw.write(lw.data.make_gaussian_labels(90, random_state=1), folder / "plane.arff")
    tickets = lw.data.make_tickets(120, random_state=0)
    rows = tickets.Y.toarray()
    names = list(tickets.label_names)
    with gzip.open(folder / "notes" / "items.jsonl.gz", "wt", encoding="utf-8") as file:
        for item, row in zip(tickets.items, rows, strict=True):
            labels = [name for name, there in zip(names, row, strict=True) if there]
            file.write(json.dumps({"text": item["text"], "labels": labels}) + "\n")
    (folder / "notes" / "labels.json").write_text(json.dumps(dict.fromkeys(names, "")), encoding="utf-8")
    assert [(one.name, one.kind) for one in sets_in(folder)] == [("notes", "texts"), ("plane", "file")]
    words = ("--quick", "--add", folder, "--sets", "notes,plane", "--arms", "base,default+names", "--seeds", 1)
    figures_of(capsys, *words, "--out", tmp_path / "runs")
    stems = {path.stem for path in (tmp_path / "runs").glob("*.json")}
    assert {"notes-default+names-0", "plane-default-0"} <= stems and "plane-default+names-0" not in stems


def test_what_cannot_run_is_said(tmp_path, capsys):
    for words, said in (
        (("--quick", "--sets", "yeast"), "none of these sets is there: set LABELWISE_SHARED_DATA, or use --add FOLDER"),
        (("--quick", "--arms", "best"), "there is no arm 'best'"),
        (("--quick", "--add", str(tmp_path)), "put files of labelled items there"),
    ):
        with pytest.raises(SystemExit):
            arena.main(words)
        assert said in capsys.readouterr().err


@pytest.mark.slow
def test_without_the_published_sets_the_command_says_so(tmp_path):
    settings = os.environ | {"LABELWISE_SHARED_DATA": str(tmp_path)}
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, cwd=tmp_path, env=settings)
    assert (done.returncode, done.stdout) == (2, "") and "or use --add FOLDER, or --quick" in done.stderr


@pytest.mark.shared_data
def test_a_shared_set_has_the_same_items_with_and_without_names(shared_data):
    one = ArenaSet("medical", "named", shared_data)
    pool, test = one.split("words", 1)
    assert pool.n_items + test.n_items == 978 and one.admits(Arm(names=True)) and not one.admits(Arm(features="both"))
    assert not ArenaSet("yeast", "plain", shared_data).admits(Arm(names=True))
