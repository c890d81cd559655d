from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from labelwise.cli import app
from labelwise.cli._common import progress_bars, stoppable
from labelwise.cli.simulate import _schedule
from labelwise.records import Costs
from labelwise.studies import study
from rest_slow import rest_slow

SMALL = ["--model", "binary_relevance", "--rounds", "2", "--batch", "4", "--start", "6", "--seeds", "2", "--jobs", "1"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, with a labelled csv file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    names = np.array(["red", "round"])
    rows = ["id,a,b,c,tags"]
    for i, x in enumerate(X):
        rows.append(f"i{i},{x[0]},{x[1]},{x[2]},{';'.join(names[x[:2] > 0]) or ';'}")
    Path("things.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(app, ["simulate", *arguments])


def test_results_are_printed_and_saved(here):
    done = run("things.csv", "--labels", "tags", *SMALL)
    assert done.exit_code == 0, done.stderr
    assert "precision@1–3" in done.stdout and "uncertainty" in done.stdout
    assert "gain over random" in done.stdout
    for name in ("results.csv", "results.parquet", "results.json", "study.json", "report.html"):
        assert (here / "runs" / "things" / name).exists()
    assert "Report: runs/things/report.html" in done.stdout
    assert "things" in done.stderr and "4/4" in done.stderr  # the bar
    assert "4/4" not in done.stdout


def test_json_is_all_there_is_on_stdout(here):
    done = run("things.csv", "--labels", "tags", *SMALL, "--json", "--metric", "macro_f1,log_loss", "--out", "o")
    told = json.loads(done.stdout)
    assert told["data"]["items"] == 60 and told["folder"] == "o"
    assert [(r["metric"], r["strategy"]) for r in told["results"]] == [
        ("macro_f1", "random"),
        ("macro_f1", "uncertainty"),
        ("log_loss", "random"),
        ("log_loss", "uncertainty"),
    ]
    assert told["results"][0]["difference"] is None
    assert told["results"][1]["difference"] == pytest.approx(
        told["results"][1]["area"] - told["results"][0]["area"], abs=1e-12
    )


def test_the_same_command_again_runs_nothing(here, monkeypatch):
    first = run("things.csv", "--labels", "tags", *SMALL)
    monkeypatch.setattr("labelwise.studies.study._finish", lambda *a, **k: pytest.fail("ran again"))
    again = run("things.csv", "--labels", "tags", *SMALL)
    assert again.exit_code == 0
    assert again.stdout == first.stdout


def test_a_test_file_is_read_like_the_data(here):
    lines = Path("things.csv").read_text().splitlines()
    Path("train.csv").write_text("\n".join(lines[:41]) + "\n")
    only_red = [line for line in lines[41:] if "round" not in line]  # the test file lacks a label
    Path("test.csv").write_text("\n".join([lines[0], *only_red]) + "\n")
    done = run("train.csv", "--test", "test.csv", "--labels", "tags", *SMALL, "--json")
    assert done.exit_code == 0, done.stderr
    facts = json.loads((here / "runs" / "train" / "study.json").read_text())
    assert facts["test"]["items"] == len(only_red) and facts["test"]["labels"] == 2


def test_text_is_turned_into_the_same_features_for_data_and_test(here):
    words = {"red": "crimson scarlet", "round": "ball circle"}
    rng = np.random.default_rng(0)

    def table(n, extra):
        rows = ["body,tags"]
        for _ in range(n):
            tags = [name for name in words if rng.random() < 0.5]
            rows.append(f"{' '.join(words[t] for t in tags)} thing {extra},{';'.join(tags) or ';'}")
        return "\n".join(rows) + "\n"

    Path("train.csv").write_text(table(40, "common"))
    Path("test.csv").write_text(table(20, "unseen"))
    done = run("train.csv", "--test", "test.csv", "--labels", "tags", "--text", "body", *SMALL, "--json")
    assert done.exit_code == 0, done.stderr
    last = [r for r in json.loads(done.stdout)["results"] if r["metric"] == "macro_roc_auc"]
    assert all(r["final"] == 1.0 for r in last)  # each tag has its words


def test_a_built_in_set_needs_no_file(here):
    done = run("gaussian", *SMALL, "--pool-limit", "40")
    assert done.exit_code == 0, done.stderr
    assert (here / "runs" / "gaussian" / "figures" / "gaussian-chosen.png").exists()


def test_pair_strategies_say_what_they_asked(here):
    arguments = ["--strategy", "random_pairs,uncertainty_pairs", "--pair-batch", "8"]
    done = run("things.csv", "--labels", "tags", *SMALL, *arguments, "--json")
    assert {r["answers"] for r in json.loads(done.stdout)["results"]} == {6 * 2 + 2 * 8}


@pytest.mark.slow
def test_prices_reach_the_results_and_the_report(here):
    prices = ["--strategy", "random_pairs,balanced_pairs", "--read-cost", "0.1min", "--answer-cost", "500ms"]
    done = run("things.csv", "--labels", "tags", *SMALL, *prices)
    assert done.exit_code == 0, done.stderr
    assert (here / "runs" / "things" / "figures" / "things-curves-cost.png").exists()
    refused = run("things.csv", "--labels", "tags", *SMALL, "--answer-cost", "0")
    assert refused.exit_code == 2 and "must be more than 0" in refused.stderr
    refused = run("things.csv", "--labels", "tags", *SMALL, "--read-cost", "2 weeks")
    assert refused.exit_code == 2 and "--read-cost '2 weeks' is no time; write seconds" in refused.stderr


def test_a_named_price_list_can_be_changed_in_single_prices():
    options = {"start": 3, "rounds": 1, "batch": 1, "pair_batch": None, "pool_limit": None}
    given = {"price_list": "picture:low", "read_cost": None, "answer_cost": "2s"}
    assert _schedule(options | given).costs == replace(Costs.picture("low"), answer=2.0)
    assert _schedule(options | given | {"price_list": None}).costs == Costs(answer=2.0)
    assert _schedule(options | dict.fromkeys(given)).costs is None


@pytest.mark.slow
def test_a_strategy_without_its_control_is_noted_and_not_judged(here):
    done = run("things.csv", "--labels", "tags", *SMALL, "--strategy", "random,uncertainty_pairs", "--json")
    assert (
        "note: uncertainty_pairs has no random strategy to compare with; add random_pairs to --strategy" in done.stderr
    )
    assert {(r["strategy"], r["verdict"]) for r in json.loads(done.stdout)["results"]} == {
        ("random", "control"),
        ("uncertainty_pairs", "no control"),
    }


def test_pairs_that_cost_as_much_as_items_are_judged_against_random_items(here):
    equal = ["--strategy", "random,uncertainty_pairs", "--pair-batch", "8"]  # 4 items of 2 labels
    done = run("things.csv", "--labels", "tags", *SMALL, *equal, "--json", "--metric", "macro_f1")
    assert "note:" not in done.stderr
    random, pairs = json.loads(done.stdout)["results"]
    assert random["answers"] == pairs["answers"] and pairs["control"] == "random"
    assert pairs["gain"] == pytest.approx(pairs["area"] - random["area"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.csv"], "no file 'nothing.csv' and no built-in set of that name: yeast, gaussian, shapes"),
        (["things.csv", "--labels", "color"], "color"),
        (["things.csv", "--labels", "tags", "--model", "gpt"], "no model 'gpt'; there are"),
        (["things.csv", "--labels", "tags", "--strategy", "clever"], "no strategy 'clever'; there are random"),
        (["things.csv", "--labels", "tags", "--strategy", "random,random"], "one or more different values"),
        (["things.csv", "--labels", "tags", "--metric", "accuracy"], "no metric 'accuracy'; there are precision_at_1"),
        (["things.csv", "--labels", "tags", "--rounds", "99"], "do not fit a pool of 40 items"),
        (["things.csv", "--labels", "tags", "--strategy", "mutual_information"], "mutual_information with binary_rele"),
        (["things.csv", "--labels", "tags", "--start", "0"], "start must be at least 1, got 0"),
        (["things.csv", "--labels", "tags", "--seeds", "0"], "--seeds must be at least 1, got 0"),
        (["things.csv", "--labels", "tags", "--jobs", "0"], "--jobs must be at least 1, got 0"),
        (["things.csv", "--labels", "tags", "--test", "none.csv"], "none.csv: No such file"),
        (["things.csv", "--labels", "tags", "--out", "things.csv"], "things.csv: File exists"),
        (["gaussian", "--labels", "tags"], "'gaussian' takes no labels"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(here, arguments, words):
    done = run(*SMALL, *arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert words in done.stderr


def test_unknown_labels_are_wrong_input(here):
    Path("gaps.csv").write_text("x,a,b\n" + "0.5,1,\n" * 8)
    done = run("gaps.csv", "--labels", "a,b", *SMALL)
    assert done.exit_code == 2
    assert "8 labels of the data are unknown" in done.stderr


def test_a_fault_inside_is_not_blamed_on_the_user(here, monkeypatch):
    def broken(*arguments, **options):
        raise ValueError("inside")

    monkeypatch.setattr(study, "run_sets", broken)
    done = run("things.csv", "--labels", "tags", *SMALL)
    assert done.exit_code == 1
    assert isinstance(done.exception, ValueError)


@pytest.mark.parametrize("jobs", rest_slow(["1", "2"]))
def test_ctrl_c_says_how_to_go_on(here, jobs):
    arguments = ["things.csv", "--labels", "tags", *SMALL, "--seeds", "400", "--jobs", jobs]
    code = "import sys; from labelwise.cli import main; main()"
    with Path("errors").open("wb") as errors:
        child = subprocess.Popen(
            [sys.executable, "-c", code, "simulate", *arguments], stderr=errors, start_new_session=True
        )
        deadline = time.monotonic() + 300
        while not list(Path("runs/things/runs").glob("*.json")) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to the whole group
        assert child.wait(300) == 130
    told = Path("errors").read_text()
    assert "stopped; finished runs are in runs/things: give the same command again to continue" in told
    assert "Traceback" not in told


def test_ctrl_c_that_is_lost_in_compiled_code_is_heard_at_the_next_step(capsys):
    def lose_it_and_go_on():
        with stoppable(lambda: "stopped"), progress_bars() as update:
            with contextlib.suppress(KeyboardInterrupt):  # as a callback of compiled code does
                os.kill(os.getpid(), signal.SIGINT)
            update("runs", 1, 2)

    with pytest.raises(typer.Exit) as ended:
        lose_it_and_go_on()
    assert ended.value.exit_code == 130
    assert "stopped" in capsys.readouterr().err
