"""`labelwise plan` with constants that are not measured."""

import json

import pytest
from typer.testing import CliRunner

from labelwise.cli import app
from labelwise.experiments.plan_calibration import Calibration
from labelwise.experiments.plan_costs import MODELS, STRATEGIES

SIZES = ["plan", "--items", "100000", "--features", "200", "--labels", "20"]


@pytest.fixture(autouse=True)
def constants(monkeypatch):
    terms = {f"{name}.{part}": getattr(cost, part) for name, cost in MODELS.items() for part in ("fit", "believe")}
    terms |= {f"{name}.choose": cost.choose for name, cost in STRATEGIES.items()}
    made_up = Calibration({name: [1e-9] * len(of) for name, of in terms.items()}, {})
    monkeypatch.setattr("labelwise.cli.plan.calibration", lambda **how: made_up)


def test_table_names_every_model_and_the_choice():
    done = CliRunner().invoke(app, [*SIZES, "--seconds", "100", "--memory", "16", "--cores", "2"])
    assert done.exit_code == 0, done.output
    for name in (*MODELS, *STRATEGIES):
        assert name.replace("_", " ") in done.stdout
    assert "Take label gp with balanced pairs" in done.stdout  # as a campaign of 20 labels does by itself


def test_json_has_what_the_table_has():
    done = CliRunner().invoke(app, [*SIZES, "--json"])
    told = json.loads(done.stdout)
    pairs = {(one["model"], one["strategy"]) for one in told["expected"]}
    assert {model for model, _ in pairs} == set(MODELS) and {strategy for _, strategy in pairs} == set(STRATEGIES)
    assert ("binary_relevance", "mutual_information") not in pairs  # it has no covariance between items
    assert told["workload"]["items"] == 100_000 and told["chosen"]["fits"]


def test_nothing_fits():
    done = CliRunner().invoke(app, [*SIZES, "--memory", "0.1"])
    assert "Nothing to recommend: nothing fits into 0.1 GiB" in done.stdout


@pytest.mark.parametrize("wrong", [["--seconds", "0"], ["--memory", "-1"], ["--budget", "0"], ["--nonzeros", "201"]])
def test_wrong_sizes_are_one_line(wrong):
    done = CliRunner().invoke(app, [*SIZES, *wrong])
    assert done.exit_code == 2 and "error:" in done.stderr
