"""`labelwise simulate` with several sets, a study file or a preset."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from labelwise.cli import app
from labelwise.studies.plans import Arena, Entrant, quick_arena
from labelwise.studies.simulate import Schedule
from labelwise.studies.sources import Source

SMALL = ["--model", "binary_relevance", "--rounds", "2", "--batch", "4", "--start", "6", "--seeds", "2", "--jobs", "1"]
STUDY = """
seeds = {seeds}
metrics = ["macro_f1"]

[schedule]
start = 6
rounds = 2
batch = 4

[[data]]
source = "gaussian"
limit = 90

[[data]]
source = "shapes"
limit = 90

[[entrants]]
model = "binary_relevance"
strategies = ["random", "balanced_pairs"]
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LABELWISE_SHARED_DATA", raising=False)
    Path("study.toml").write_text(STUDY.format(seeds=2))
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(app, ["simulate", *arguments])


def tiny_arena(folder=None):
    return Arena((Source("gaussian", limit=60),), (Entrant("binary_relevance", ("random",)),), (0,), Schedule(6, 1, 4))


@pytest.mark.slow
def test_a_study_file_is_run_ranked_and_reported(here):
    done = run("study.toml", "--jobs", "1")
    assert done.exit_code == 0, done.stderr
    assert "2 sets × 2 pairings × 2 seeds, in runs/study" in done.stderr
    assert "balanced pairs · binary relevance" in done.stdout and "answers needed" in done.stdout
    assert "The result holds for these 2 sets only" in done.stdout.replace("\n", " ")
    assert "Report: runs/study/report.html" in done.stdout
    for name in ("results.csv", "results.json", "report.html", "sets/shapes/results.csv"):
        assert (here / "runs" / "study" / name).exists()


@pytest.mark.slow
def test_the_study_file_of_the_documents_runs(here):
    page = (Path(__file__).parents[2] / "docs" / "simulate.md").read_text(encoding="utf-8")
    (study,) = re.findall(r"^```toml\n(.*?)^```", page, flags=re.M | re.S)
    Path("documented.toml").write_text(study, encoding="utf-8")
    done = run("documented.toml", "--jobs", "1", "--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["name"] == "mine" and set(told["sets"]) == {"gaussian", "pictures"}
    assert len(told["results"]) == 3 * 5


@pytest.mark.slow
def test_the_same_command_again_runs_nothing_and_says_the_same(here, monkeypatch):
    first = run("study.toml", "--jobs", "1")
    monkeypatch.setattr("labelwise.studies.study._finish", lambda *a, **k: pytest.fail("ran again"))
    assert run("study.toml", "--jobs", "1").stdout == first.stdout


@pytest.mark.slow
def test_json_is_all_there_is_on_stdout(here):
    done = run("study.toml", "--jobs", "1", "--json", "--seeds", "1", "--metric", "log_loss,macro_f1", "--out", "o")
    told = json.loads(done.stdout)
    assert [(r["metric"], r["strategy"]) for r in told["results"]] == [
        ("log_loss", "random"),
        ("log_loss", "balanced_pairs"),
        ("macro_f1", "random"),
        ("macro_f1", "balanced_pairs"),
    ]
    assert told["seeds"] == [0] and told["folder"] == "o" and told["sets"]["gaussian"]["items"] == 90
    assert told == json.loads(Path("o/results.json").read_text())


def test_several_sets_are_an_arena(here):
    Path("things.csv").write_text(
        "a,b,tags\n" + "".join(f"{i % 7},{i % 5},{'x' if i % 2 else 'y'}\n" for i in range(60))
    )
    Path("others.csv").write_text(Path("things.csv").read_text())
    done = run("things.csv", "others.csv", "--labels", "tags", *SMALL, "--json", "--read-cost", "3")
    assert done.exit_code == 0, done.stderr
    assert set(json.loads(done.stdout)["sets"]) == {"things", "others"}
    assert (here / "runs" / "arena" / "report.html").exists()
    last = (here / "runs" / "arena" / "results.csv").read_text().splitlines()
    columns, values = last[0].split(","), last[-1].split(",")
    row = dict(zip(columns, values, strict=True))
    assert float(row["cost"]) == 3 * int(row["readings"]) + int(row["answers"])


@pytest.mark.slow
def test_the_presets_get_the_folder_of_published_sets(here, monkeypatch):
    given = []
    for name in ("quick_arena", "papers_arena"):
        monkeypatch.setattr(f"labelwise.studies.plans.{name}", lambda folder=None: given.append(folder) or tiny_arena())
    assert run("arena", "quick", "--jobs", "1").exit_code == 0
    assert run("arena", "quick", "--jobs", "1", "--data-folder", str(here)).exit_code == 0
    monkeypatch.setenv("LABELWISE_SHARED_DATA", str(here))
    assert run("arena", "papers", "--jobs", "1").exit_code == 0
    assert given == [None, here, here]


@pytest.mark.slow
def test_the_quick_arena_passes_its_own_checks(here, monkeypatch):
    """Every pairing is tried on a few items of every set that ships; the runs themselves take minutes."""
    monkeypatch.setattr("labelwise.studies.study.run_sets", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
    done = run("arena", "quick")
    assert done.exit_code == 130, done.stderr
    assert f"× {len(quick_arena().arms())} pairings" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["arena"], "there is no arena ''; there are `arena quick` and `arena papers`"),
        (["arena", "big"], "there is no arena 'big'"),
        (["arena", "papers"], "arena papers needs the published sets: give their folder with --data-folder"),
        (["arena", "quick", "--data-folder", "none"], "there is no folder none; --data-folder names"),
        (["arena", "quick", "--rounds", "3"], "--rounds is decided by the arena; write a study file to change it"),
        (["study.toml", "--model", "label_gp"], "--model is decided by the study file; leave the option out"),
        (
            ["study.toml", "yeast"],
            "a study file cannot be combined with other sets; leave out 'yeast' or write it into study.toml",
        ),
        (["none.toml"], "none.toml: No such file"),
        (["broken.toml"], "broken.toml: data[0].limit is 'x': write a whole number"),
        (["study.toml", "--metric", "accuracy"], "there is no metric 'accuracy'"),
        (["study.toml", "--metric", "macrof1"], "there is no metric 'macrof1'; did you mean 'macro_f1'?"),
        (["study.toml", "--seeds", "0"], "--seeds must be at least 1, got 0"),
        (["yeast", "gaussian", "--test", "t.csv"], "--test goes with one set"),
        (["gaussian", "gaussian"], "several sets named 'gaussian'"),
        (["gaussian", "nothing.csv"], "no file 'nothing.csv'"),
        (["gausian"], "did you mean 'gaussian'?"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(here, arguments, words):
    Path("broken.toml").write_text(STUDY.format(seeds=1).replace("limit = 90", 'limit = "x"', 1))
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("2 sets")]
    assert len(lines) == 1 and lines[0].startswith("error: ") and words in lines[0]


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on_and_the_rest_is_done_later(here):
    Path("study.toml").write_text(STUDY.format(seeds=300))
    code = "from labelwise.cli import main; main()"
    with Path("errors").open("wb") as told:
        child = subprocess.Popen(
            [sys.executable, "-c", code, "simulate", "study.toml", "--jobs", "2"], stderr=told, start_new_session=True
        )
        deadline = time.monotonic() + 120
        while not list(Path("runs").rglob("runs/*.json")) and time.monotonic() < deadline:
            time.sleep(0.1)
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to the whole group
        assert child.wait(60) == 130
    text = re.sub(r"\s+", " ", Path("errors").read_text())
    assert "stopped; finished runs are in runs/study: give the same command again to continue" in text
    assert "Traceback" not in text
    saved = {path: path.stat().st_mtime_ns for path in Path("runs").rglob("runs/*.json")}
    assert run("study.toml", "--jobs", "1", "--seeds", "1").exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in saved} == saved
