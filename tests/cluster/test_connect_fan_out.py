"""Studies and jobs on two worker processes against the same here."""

import os

import numpy as np
import pytest
from typer.testing import CliRunner

from labelwise.cli import app
from labelwise.cluster import _connect, fan_out
from labelwise.data import make_gaussian_labels
from labelwise.studies import Plan, Schedule, run_study
from labelwise.studies.jobs import Job, run_jobs


@pytest.mark.slow
def test_a_study_on_a_cluster_is_the_same(client, tmp_path):
    data = make_gaussian_labels(120, random_state=0)
    plan = Plan(["binary_relevance"], ["random", "uncertainty"], seeds=(0, 1), schedule=Schedule(10, 2, 5))
    here = run_study(data, plan, tmp_path / "here", jobs=1)
    with fan_out(client):
        there = run_study(data, plan, tmp_path / "there")
    for run, result in here.results.items():
        assert result.asked == there.results[run].asked
    np.testing.assert_array_equal(there.table["macro_f1"], here.table["macro_f1"])


def test_jobs_run_in_the_workers(client, tmp_path):
    with fan_out(client):
        outcomes = run_jobs([Job(who_works, {"number": number}) for number in range(4)], tmp_path)
    assert [outcome["number"] for outcome in outcomes] == [0, 1, 2, 3]
    assert os.getpid() not in {outcome["process"] for outcome in outcomes}
    assert len(list(tmp_path.glob("*.json"))) == 4


def who_works(number):
    return {"number": number, "process": os.getpid()}


def test_a_wrong_address_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(_connect, "PATIENCE", 0.5)
    arguments = ["simulate", "gaussian", "--cluster", "tcp://127.0.0.1:1", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, [*arguments, "--rounds", "1", "--seeds", "1", "--model", "binary_relevance"])
    assert done.exit_code == 2
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:1'" in done.stderr


@pytest.mark.parametrize("command", ["simulate", "reproduce"])
def test_commands_have_the_option(command):
    assert "--cluster" in CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"}).stdout
