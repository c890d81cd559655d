"""The comparison with the peers: without any of them it says so and still measures ours; figures by hand."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "peers.py"


@pytest.fixture(scope="module")
def peers():
    before = list(sys.path)
    spec = importlib.util.spec_from_file_location("peers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["peers"] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path[:] = before
        del sys.modules["peers"]


def run(folder, *arguments):
    settings = {name: value for name, value in os.environ.items() if name != "LABELWISE_SHARED_DATA"}
    command = [sys.executable, SCRIPT, "--environments", folder / "nothing", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=settings)


@pytest.mark.slow
def test_without_peers_the_quick_run_says_so_and_measures_ours(tmp_path):
    done = run(tmp_path, "--quick")
    assert done.returncode == 0, done.stderr
    assert "no environment for small-text, small-text 2, modAL, libact, scikit-activeml" in done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["fastest_peer_over_ours"] is None and figures["peers"] == [] and figures["failed"] == {}
    assert figures["seconds"]["labelwise uncertainty"].keys() == {"1 from 300 made-up", "10 from 300 made-up"}
    assert all(seconds > 0 for of_case in figures["seconds"].values() for seconds in of_case.values())
    assert figures["accuracy"]["made-up"].keys() == {"labelwise default", "labelwise uncertainty"}
    assert all(0.4 < scores[0] < 1 for scores in figures["accuracy"]["made-up"].values())
    assert figures["streams"].keys() >= {"OnlineBayes"}


def test_a_full_run_without_peers_is_refused(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 2 and done.stdout == ""
    assert "make them with --install, or use --quick" in done.stderr


def test_the_headline_is_the_worst_of_all(peers, tmp_path):
    bench = peers.Bench(tmp_path, tmp_path)
    bench.seconds = {
        "small-text prediction_entropy": {"a": 0.6, "b": 0.8},
        "modAL max_loss": {"a": 0.5, "b": 0.9},
        "labelwise uncertainty": {"a": 0.1, "b": 0.1},
        "labelwise max_loss": {"a": 0.2, "b": 0.1},
        "labelwise balanced_pairs": {"a": 9.0, "b": 9.0},  # has no counterpart
        "labelwise default": {"a": 0.25, "b": 0.5},
    }
    found = peers.ratios(bench, ["a", "b"])
    nearest = {"small-text prediction_entropy": 6.0, "modAL max_loss": 2.5}
    assert found["peer_over_nearest_of_ours"]["a"] == pytest.approx(nearest)
    assert found["fastest_peer_over_ours_same_classifier"] == pytest.approx(2.5)
    assert found["fastest_peer_over_our_default"] == pytest.approx(min(0.5 / 0.25, 0.8 / 0.5))
    assert found["fastest_peer_over_ours"] == pytest.approx(1.6)
    assert found["fastest_peer"] == {"a": "modAL max_loss", "b": "small-text prediction_entropy"}


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_everybody_is_fed_the_same_arrays(peers, tmp_path, kind):
    from protocol import load_task

    X, Y = np.round(np.random.default_rng(0).normal(size=(6, 4)), 1) * (np.eye(6, 4) == 0), np.eye(6, 3, dtype=bool)
    peers.save_task(tmp_path / "task.npz", kind(X), Y, np.arange(2))
    task = load_task(tmp_path / "task.npz")
    np.testing.assert_array_equal(task.dense, X)
    np.testing.assert_array_equal(task.Y, Y)
    np.testing.assert_array_equal(task.start, [0, 1])
    assert sp.issparse(task.X) == (kind is sp.csr_array)


class Counting:
    """Asks for the next rows of the pool, and checks the answers."""

    def __init__(self, task):
        self.task, self.told = task, len(task.start)

    def ask(self, n):
        return np.arange(self.told, self.told + n), None

    def tell(self, rows, labels, values):
        np.testing.assert_array_equal(values, self.task.Y[rows])
        self.told += len(rows)


def test_a_round_is_answers_and_the_next_questions_and_the_first_is_a_rehearsal(peers):
    from protocol import Task, play

    task = Task(np.eye(20), np.eye(20, 3, dtype=int), np.arange(4))
    learner = Counting(task)
    played = play(learner, task, batch=2, rounds=3)
    assert played["asked"] == [[[4, 5], None], [[6, 7], None], [[8, 9], None]]
    assert learner.told == 10
    assert len(played["wall"]) == len(played["processor"]) == 2


def test_macro_f1_of_a_stream(peers):
    Y = np.array([[1, 0], [0, 0], [1, 0], [1, 0], [0, 0], [0, 0]], dtype=bool)
    said = np.array([[1, 1], [1, 1], [1, 1], [1, 0], [0, 0], [1, 0]], dtype=bool)
    stream = {"rows_per_second": 5.0, "predicted": np.packbits(said).tolist()}
    figures = peers.stream_figures({"it": stream}, Y)
    f1 = 2 * 1 / (2 + 1)  # the second half only; the label that is neither there nor said is left out
    assert figures == {"it": {"rows_per_second": 5.0, "macro_f1": pytest.approx(f1)}}


def curve(*rows):
    """Items, one label picked for each, and both figures the same."""
    return {"curve": [[items, items, value, value] for items, value in rows], "seconds_per_round": 0.5}


def straight(last):
    """From 40 items to 340: a line to `last`, which is at 1 of the level after 300 / last items."""
    return curve(*((items, last * items / 300) for items in range(40, 341, 20)))


@pytest.fixture
def hour_figures(peers):
    import hour_figures

    return hour_figures


def test_hours_by_hand(hour_figures):
    runs = {hour_figures.RANDOM: {0: straight(1)}, hour_figures.OURS: {0: straight(2.5)}}
    runs |= {"small-text cvirs": {0: straight(1.25)}, "modAL max_loss": {0: straight(0.5)}}
    row = hour_figures.hours_of(runs)
    of_item = float(hour_figures.PRICES.whole_item()) + float(hour_figures.PRICES.pick)  # with one label picked
    assert row["usual_hours"] == pytest.approx(300 * of_item / 3600)
    wanted = {"small-text cvirs": 240, hour_figures.OURS: 120, hour_figures.RANDOM: 300}
    assert {arm: row["hours"][arm] for arm in wanted} == pytest.approx(
        {arm: items * of_item / 3600 for arm, items in wanted.items()}
    )
    assert row["hours"]["modAL max_loss"] is None  # at 340 items it is at 0.57 of the level
    assert hour_figures.best_peer(row) == "small-text cvirs"
    found = hour_figures.summary({"a": runs})
    assert found["hours_ours_over_best_peer"] == pytest.approx(0.5)
    assert found["best_single_peer"] == "small-text cvirs" and found[
        "hours_ours_over_best_single_peer"
    ] == pytest.approx(0.5)
    assert found["hours_over_best_peer"][hour_figures.RANDOM] == pytest.approx(300 / 240)
    assert found["arms"]["modAL max_loss"]["never"] == 1 and found["arms"]["modAL max_loss"]["share_of_usual"] is None
    assert found["arms"]["modAL max_loss"]["ours_over"] == pytest.approx(120 / 340)  # it needs more than all of them


def test_what_never_reaches_the_level_is_not_left_out(hour_figures):
    base = {hour_figures.RANDOM: {0: straight(1)}}
    never = base | {hour_figures.OURS: {0: straight(0.5)}, "modAL max_loss": {0: straight(1.25)}}
    both = base | {hour_figures.OURS: {0: straight(2)}, "modAL max_loss": {0: straight(0.5)}}
    good = base | {hour_figures.OURS: {0: straight(2.5)}, "modAL max_loss": {0: straight(1.25)}}
    assert hour_figures.summary({"a": never})["hours_ours_over_best_peer"] is None
    assert hour_figures.summary({"a": both})["hours_ours_over_best_peer"] == pytest.approx(150 / 340)
    three = hour_figures.summary({"a": never, "b": both, "c": good})
    assert three["hours_ours_over_best_peer"] == pytest.approx(0.5)  # of infinity, 0.44 and 0.5
    assert three["over_best_peer"][hour_figures.OURS]["a"] is None


def test_the_best_single_peer_is_one_for_all_sets(hour_figures):
    base = {hour_figures.RANDOM: {0: straight(1)}, hour_figures.OURS: {0: straight(3)}}
    first = base | {"modAL max_loss": {0: straight(2)}, "libact mmc": {0: straight(1)}}
    second = base | {"modAL max_loss": {0: straight(1)}, "libact mmc": {0: straight(1.5)}}
    found = hour_figures.summary({"a": first, "b": second | {"Potato badge": {0: straight(3)}}})
    assert found["best_peer"] == {"a": "modAL max_loss", "b": "Potato badge"}  # which was not run on the other
    assert found["hours_ours_over_best_peer"] == pytest.approx((100 / 150 + 1) / 2)
    assert found["best_single_peer"] == "modAL max_loss"
    assert found["hours_ours_over_best_single_peer"] == pytest.approx((100 / 150 + 100 / 300) / 2)


def test_arms_count_by_the_seeds_of_ours_and_the_curve_that_counts_is_their_mean(hour_figures):
    two = {0: straight(1), 1: straight(1)}
    runs = {hour_figures.RANDOM: two, hour_figures.OURS: {0: straight(1.5), 1: straight(2.5)}}
    runs |= {"modAL max_loss": {0: straight(9)}, "libact mmc": {0: straight(9), 1: {"unfinished": "too slow"}}}
    row = hour_figures.hours_of(runs)
    assert row["seeds"] == 2 and row["unfinished"] == ["modAL max_loss", "libact mmc"]
    assert row["hours"].keys() == {hour_figures.RANDOM, hour_figures.OURS}
    assert row["hours"][hour_figures.OURS] == pytest.approx(row["usual_hours"] / 2)
    assert hour_figures.best_peer(row) is None
    assert hour_figures.summary({"a": runs})["over_best_peer"][hour_figures.OURS] == {}


def test_a_campaign_that_falls_below_the_level_again_has_not_reached_it(hour_figures):
    bumpy = curve(*((items, 2.0 if items == 100 else items / 300) for items in range(40, 341, 20)))
    row = hour_figures.hours_of({hour_figures.RANDOM: {0: straight(1)}, hour_figures.OURS: {0: bumpy}})
    assert row["hours"][hour_figures.OURS] == pytest.approx(row["usual_hours"])


@pytest.mark.parametrize("asked", [None, "random"])
def test_campaigns_in_hours_start_alike_and_know_what_was_asked(peers, asked):
    import hours

    X, Y = peers.made_up(400, seed=0)
    pool = hours.Pool(X[:380], Y[:380, :4], X[380:], Y[380:, :4])
    at = hours.HourPool(pool, np.arange(20), None)
    batches = None if asked is None else hours.random_batches(at, 0)
    run = hours.by_our_model(at, batches)
    rows = [row for batch in run["asked"] for row in batch]
    assert len(set(rows)) == 320 and not set(rows) & set(range(20))
    assert batches is None or run["asked"] == batches
    assert [point[0] for point in run["curve"]] == list(range(40, 341, 20))
    assert [point[1] for point in run["curve"]][-1] == pool.Y[[*range(20), *rows]].sum()
    by_peers = hours.by_logistic(at, run["asked"])
    assert [point[:2] for point in by_peers] == [point[:2] for point in run["curve"]]
    assert by_peers != run["curve"]


def test_every_package_is_pinned():
    folder = SCRIPT.parent / "_peers"
    for file in sorted(folder.glob("*.txt")):
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
        assert lines and all("==" in line for line in lines), file.name
