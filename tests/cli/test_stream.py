from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from labelwise.cli import app
from labelwise.cli import stream as command
from labelwise.data import make_drifting_stream, read, write
from labelwise.models import OnlineBayes

SMALL = ["--model", "m.npz", "--batch", "50", "--window", "100"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to work in, with a stream and a test file."""
    monkeypatch.chdir(tmp_path)
    write(make_drifting_stream(400, 4, random_state=0), "s.libsvm", header=False, one_based=True)
    write(make_drifting_stream(150, 4, random_state=1), "t.libsvm", header=False, one_based=True)
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(app, ["stream", *arguments])


def told(*arguments: str) -> dict:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_training_prints_scores_and_leaves_model_curve_and_picture(here):
    done = run("train", "s.libsvm", *SMALL, "--one-based", "--test", "t.libsvm")
    assert done.exit_code == 0, done.stderr
    assert "400 rows learnt, 400 in all; 4 labels" in done.stdout
    assert "progressive" in done.stdout and "test" in done.stdout and "micro F1" in done.stdout
    assert "400 rows" in done.stderr and "rows/s" in done.stderr and "micro-F1" in done.stderr
    with open("m.curve.csv") as file:
        assert [int(row["rows"]) for row in csv.DictReader(file)] == [100, 200, 300, 400]
    assert Path("m.curve.png").read_bytes()[:4] == b"\x89PNG"
    assert OnlineBayes.load("m.npz").n_seen_ == 400


def test_json_is_all_there_is_on_stdout(here):
    result = told("train", "s.libsvm", *SMALL, "--one-based", "--test", "t.libsvm")
    assert result["rows"] == result["new_rows"] == 400 and result["labels"] == 4
    assert 0.5 < result["test"]["micro_f1"] <= 1 and 0 < result["progressive"]["log_loss"] < 1
    assert result["curve"] == "m.curve.csv" and result["picture"] == "m.curve.png"


def test_settings_reach_the_model_and_are_kept(here):
    options = ["--independent", "--forgetting", "300", "--noise", "0.5", "--hash-features", "64", "--threads", "2"]
    assert run("train", "s.libsvm", *SMALL, "--one-based", *options, "--limit", "200").exit_code == 0
    model = OnlineBayes.load("m.npz")
    wanted = {"coupling": "independent", "half_life": 300.0, "score_noise": 0.5, "hash_features": 64, "n_jobs": 2}
    assert model.get_params().items() >= wanted.items() and model.n_seen_ == 200
    assert told("train", "s.libsvm", *SMALL)["new_rows"] == 200  # nothing has to be said again
    assert OnlineBayes.load("m.npz").get_params().items() >= wanted.items()
    again = run("train", "s.libsvm", *SMALL)
    assert again.exit_code == 0 and "nothing new" in again.stderr
    other = run("train", "s.libsvm", *SMALL, "--half-life", "10")
    assert other.exit_code == 2 and "was begun with half_life=300.0, got 10.0" in other.stderr
    assert told("train", "s.libsvm", *SMALL, "--half-life", "10", "--fresh", "--one-based")["new_rows"] == 400


def test_an_interrupted_training_goes_on(here, monkeypatch):
    show = command._show

    def stop(update, progress):
        if progress.rows == 250:
            raise KeyboardInterrupt
        show(update, progress)

    monkeypatch.setattr(command, "_show", stop)
    stopped = run("train", "s.libsvm", *SMALL, "--one-based", "--checkpoint-every", "100")
    assert stopped.exit_code == 130 and "give the same command again" in stopped.stderr
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert told("train", "s.libsvm", *SMALL, "--one-based", "--checkpoint-every", "100")["new_rows"] == 200
    run("train", "s.libsvm", *SMALL[2:], "--model", "unbroken.npz", "--one-based")
    one, other = (OnlineBayes.load(name).state_.arrays()["weights"] for name in ("m.npz", "unbroken.npz"))
    np.testing.assert_array_equal(one, other)


def test_stopped_before_the_first_checkpoint_is_told_as_it_is(here, monkeypatch):
    def stop(update, progress):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_show", stop)
    stopped = run("train", "s.libsvm", *SMALL, "--one-based")
    assert stopped.exit_code == 130 and "nothing was saved" in stopped.stderr
    assert not Path("m.npz").exists()


def test_a_file_of_one_batch_says_why_it_was_not_judged(here):
    done = run("train", "s.libsvm", "--model", "m.npz", "--one-based")
    assert done.exit_code == 0 and "no row was judged" in done.stderr and "--batch below 1,000" in done.stderr
    assert "no row was judged" not in run("train", "t.libsvm", *SMALL, "--one-based").stderr


@pytest.mark.parametrize("out", ["p.jsonl", "p.csv.gz", "p.parquet"])
def test_predictions_are_written(here, out):
    run("train", "s.libsvm", *SMALL, "--one-based")
    result = told("predict", "t.libsvm", "--model", "m.npz", "--out", out, "--top", "2")
    assert result["rows"] == 150 and result["out"] == out and 0 < result["believed_macro_f1"] < 1
    found = read(out, text="id")
    assert found.n_items == 150 and found.Y.nnz == result["labels_given"]
    assert set(found.items[0]) >= {"probabilities", "top_labels", "top_probabilities"}
    done = run("predict", "t.libsvm", "--model", "m.npz", "--out", out, "--decision", "top_labels:1", "--limit", "40")
    assert done.stdout == f"40 rows, 1.00 labels each: {out}\n"


def test_columns_of_tables_are_options(here):
    rows = [{"k": f"r{i}", "body": ["red", "blue"][i % 2], "tags": ["warm", "cold"][i % 2]} for i in range(80)]
    Path("s.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert told("train", "s.jsonl", *SMALL, "--text", "body", "--labels", "tags", "--id", "k")["labels"] == 2
    run("predict", "s.jsonl", "--model", "m.npz", "--out", "p.jsonl", "--decision", "top_labels:1")
    first = json.loads(Path("p.jsonl").read_text().splitlines()[0])
    assert first["id"] == "r0" and first["labels"] == ["warm"]
    numbers = [{"a": float(i % 2), "b": [1, 2], "x": i % 2, "y": 0} for i in range(80)]
    Path("n.jsonl").write_text("\n".join(map(json.dumps, numbers)))
    result = told("train", "n.jsonl", *SMALL[2:], "--model", "n.npz", "--features", "a,b", "--labels", "x,y")
    assert result["labels"] == 2 and OnlineBayes.load("n.npz").n_features_in_ == 3


def test_a_folder_can_stand_for_the_model_and_judging_be_left_out(here):
    Path("models").mkdir()
    result = told("train", "s.libsvm", "--model", "models", "--one-based", "--decision", "none")
    assert result["model"] == "models/model.npz" and "curve" not in result
    assert result["progressive"]["micro_f1"] is None
    assert told("predict", "t.libsvm", "--model", "models", "--out", "p.csv")["rows"] == 150
    assert told("train", "s.libsvm", "--model", "new/deep/m.npz", "--one-based")["rows"] == 400


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "none.libsvm", "--model", "m.npz"], "none.libsvm: No such file"),
        (["train", "s.arff", "--model", "m.npz"], "cannot be read as a stream"),
        (["train", "s.libsvm", "--model", "m.npz", "--text", "body"], "xmc streams have no option 'text'"),
        (["train", "s.libsvm", "--model", "m.npz", "--decision", "f1"], "there is no decision 'f1'"),
        (["train", "s.libsvm", "--model", "m.npz", "--decision", "clas_mass"], "did you mean 'class_mass'?"),
        (["train", "s.libsvm", "--model", "m.npz", "--batch", "0"], "batch must be at least 1, got 0"),
        (["train", "s.libsvm", "--model", "m.npz", "--half-life", "-1"], "half_life must be positive"),
        (["train", "s.libsvm", "--model", "m.npz", "--threads", "0"], "number of threads, or -1 for all cores, got 0"),
        (["train", "s.libsvm", "--model", "m.npz", "--test", "none.libsvm"], "none.libsvm: No such file"),
        (["train", "s.libsvm", "--model", "m.npz", "--decision", "threshold:3"], "must lie between 0 and 1, got 3.0"),
        (["train", "bad.libsvm", "--model", "m.npz"], "bad.libsvm, line 2: found 'x'"),
        (["train", "s.libsvm", "--model", "bad.libsvm"], "bad.libsvm is no saved model"),
        (["predict", "s.libsvm", "--model", "m.npz", "--out", "p.csv"], "m.npz: there is no such model"),
        (["predict", "s.libsvm", "--model", "m.npz", "--out", "p.csv", "--limit", "0"], "--limit must be at least 1"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(here, arguments, message):
    Path("bad.libsvm").write_text("0 1:1\n0 1:x\n")
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    line = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(line) == 1 and message in line[0]
    assert not Path("m.npz").exists()


def test_help_shows_examples():
    for name in ("train", "predict"):
        done = run(name, "--help")
        assert done.exit_code == 0 and "Examples" in done.stdout and f"labelwise stream {name}" in done.stdout
    assert "labelwise stream train" in run("--help").stdout
