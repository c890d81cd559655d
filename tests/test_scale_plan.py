"""What the docs promise of `labelwise plan`, at odd sizes."""

import itertools
import json

import pytest
from typer.testing import CliRunner

from labelwise.cli import app
from labelwise.experiments.plan_advice import advise
from labelwise.experiments.plan_calibration import Calibration
from labelwise.experiments.plan_costs import MODELS, STRATEGIES, Workload


@pytest.fixture
def constants(monkeypatch):
    terms = {f"{name}.{part}": getattr(cost, part) for name, cost in MODELS.items() for part in ("fit", "believe")}
    terms |= {f"{name}.choose": cost.choose for name, cost in STRATEGIES.items()}
    made_up = Calibration({name: [1e-9] * len(of) for name, of in terms.items()}, {})
    monkeypatch.setattr("labelwise.cli.plan.calibration", lambda **how: made_up)
    return made_up


def plan(*more, items="100000", features="200", labels="20"):
    return CliRunner().invoke(app, ["plan", "--items", items, "--features", features, "--labels", labels, *more])


@pytest.mark.parametrize(
    ("sizes", "more", "told"),
    [
        ({"items": "0"}, [], "must be at least 1, got 0"),
        ({"items": "-5"}, [], "must be at least 1, got -5"),
        ({"labels": "0"}, [], "must be at least 1, got 0"),
        ({"features": "0"}, [], "must be at least 1, got 0"),
        ({"items": "10"}, ["--budget", "11"], "at most items=10, got 11"),
        ({}, ["--seconds", "0"], "got 0"),
        ({}, ["--seconds", "-0.5"], "got -0.5"),
        ({}, ["--seconds", "nan"], "got nan"),
        ({}, ["--memory", "nan"], "got nan"),
        ({}, ["--cores", "0"], "got 0"),
        ({}, ["--batch", "0"], "got 0"),
    ],
)
def test_sizes_that_cannot_be_are_said(constants, sizes, more, told):
    done = plan(*more, **sizes)
    assert done.exit_code == 2 and told in done.stderr, done.output


@pytest.mark.parametrize("items", [10**18, 10**400], ids=["1e18", "1e400"])
def test_huge_numbers_are_answered_or_refused(constants, items):
    done = plan(items=str(items))
    assert done.exit_code in (0, 2), repr(done.exception)
    assert "Nothing to recommend" in done.stdout or "error" in done.stderr


def test_one_item_of_one_label(constants):
    done = plan("--budget", "1", "--json", items="1", features="1", labels="1")
    told = json.loads(done.stdout)
    assert done.exit_code == 0 and told["chosen"]["fits"]
    assert all(one["memory"] > 0 and one["round_seconds"] >= one["fit_seconds"] >= 0 for one in told["expected"])


@pytest.mark.parametrize("more", [[], ["--seconds", "0.5"], ["--memory", "inf"], ["--seconds", "inf"]])
def test_json_is_for_machines(constants, more):

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    done = plan("--json", *more)
    if done.exit_code != 2:  # to refuse it is as good
        json.loads(done.stdout, parse_constant=refuse)


def test_a_fraction_of_a_second_takes_more_workers_than_a_minute(constants):
    size = Workload(1_000_000, 200, 20, 1000)
    chosen = [advise(size, constants, seconds=seconds) for seconds in (600.0, 60.0, 0.5)]
    for slow, fast in itertools.pairwise(chosen):
        for before, after in zip(slow.expectations, fast.expectations, strict=True):
            assert after.workers is None or (before.workers is not None and before.workers <= after.workers)


@pytest.mark.parametrize("items", [1.5, float("nan")])
def test_half_an_item_is_no_workload(items):
    with pytest.raises((TypeError, ValueError)):
        Workload(items, 2, 3, 1)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_no_time_at_all_is_refused(constants, seconds):
    with pytest.raises(ValueError, match="seconds"):
        advise(Workload(1000, 20, 3, 100), constants, seconds=seconds)
