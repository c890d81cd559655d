from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from labelwise import models, queries
from labelwise.campaign import Campaign
from labelwise.queries import Random, Uncertainty
from labelwise.studies import study as study_module
from labelwise.studies.plans import Entrant, Plan, control_of, strategy_names
from labelwise.studies.simulate import Answerer, simulate, split
from labelwise.studies.sources import Source, scaled
from labelwise.studies.study import StudySet, load_arena, run_arena, run_study, saved_study

CHILD = """
import os, signal, sys
from pathlib import Path
import conftest
from labelwise.studies.simulate import Schedule
from labelwise.studies import Plan, run_study
from labelwise.models import BinaryRelevance

folder, where = Path(sys.argv[1]), sys.argv[2]
plan = Plan(("binary_relevance",), ("random", "uncertainty"), (0, 1, 2), Schedule(6, 3, 5), "small")
fit, replace, counts = BinaryRelevance.fit, os.replace, {"fit": 0, "replace": 0}

def dying(name, real):
    def act(self, *args, **kwargs):
        counts[name] += 1
        if where == name and counts[name] == {"fit": 4 + 11, "replace": 4}[name]:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, *args, **kwargs)
    return act

BinaryRelevance.fit, os.replace = dying("fit", fit), dying("replace", replace)

def on_run(done, total):
    if where == "parent" and done == 2:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    run_study(conftest.make_small(), plan, folder, jobs=2 if where == "parent" else 1, on_run=on_run)
"""


def figures(study):
    """The table without the seconds."""
    return [{k: v for k, v in row.items() if not k.startswith("seconds")} for row in study.table.rows()]


@pytest.mark.parametrize("where", ["fit", "replace", "parent"])
@pytest.mark.slow
def test_a_study_killed_in_the_middle_goes_on_to_the_same_table(tmp_path, small, plan, where):
    """Killed while fitting, between writing a run and giving it its name, and as a parent of two workers."""
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    with (tmp_path / "errors").open("wb") as errors:  # not a pipe: orphaned workers would keep it open
        child = subprocess.run(
            [sys.executable, str(script), str(tmp_path / "broken"), where],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])},
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            timeout=120,
        )
    assert child.returncode == -signal.SIGKILL, (tmp_path / "errors").read_text()
    saved = list((tmp_path / "broken" / "runs").glob("*.json"))
    if where != "parent":  # there the workers may still have been saving theirs
        assert len(saved) == 2
    assert not (tmp_path / "broken" / "results.csv").exists()
    before = {path: path.stat().st_mtime_ns for path in saved}
    resumed = run_study(small, plan, tmp_path / "broken", jobs=1)
    assert {path: path.stat().st_mtime_ns for path in saved} == before  # what was done was not done again
    assert figures(resumed) == figures(run_study(small, plan, tmp_path / "whole", jobs=1))


@pytest.mark.slow
def test_two_workers_give_the_table_of_one(tmp_path, small, plan):
    side_by_side = run_study(small, plan, tmp_path / "two", jobs=2)
    assert figures(side_by_side) == figures(run_study(small, plan, tmp_path / "one", jobs=1))


def test_the_table_is_what_single_simulations_give(tmp_path, small, plan):
    study = run_study(small, plan, tmp_path, jobs=1)
    alone = simulate(
        small,
        model=plan.make_model(("binary_relevance", "random"), 1),
        strategy=Uncertainty(),
        schedule=plan.schedule,
        seed=1,
    )
    rows = study.table.where(strategy="uncertainty", seed=1)
    assert rows["macro_f1"].tolist() == [row["macro_f1"] for row in alone.rows]
    assert study.results["binary_relevance", "uncertainty", 1].asked == alone.asked


def test_strategies_of_a_seed_are_paired(tmp_path, small, plan):
    first = run_study(small, plan, tmp_path, jobs=1).table.where(round=0)
    for seed in plan.seeds:
        assert len(set(first.where(seed=seed)["log_loss"].tolist())) == 1
    assert len(set(first["log_loss"].tolist())) == len(plan.seeds)


def test_finished_runs_are_used_again_and_damaged_ones_are_redone(tmp_path, small, plan, monkeypatch):
    first = run_study(small, plan, tmp_path, jobs=1)
    cut, swapped, *_ = sorted((tmp_path / "runs").glob("*.json"))
    cut.write_bytes(cut.read_bytes()[:-40])
    swapped.write_text("{}")
    done = []
    real = study_module.simulate
    monkeypatch.setattr(study_module, "check_plan", lambda *a: None)
    monkeypatch.setattr(study_module, "simulate", lambda *a, **k: done.append(1) or real(*a, **k))
    progress = []
    again = run_study(small, plan, tmp_path, jobs=1, on_run=lambda n, total: progress.append((n, total)))
    assert len(done) == 2
    assert progress == [(4, 6), (5, 6), (6, 6)]
    assert figures(first) == figures(again)


@pytest.mark.parametrize("what", ["schedule", "data", "test", "model", "options", "strategy", "version"])
@pytest.mark.slow
def test_a_change_of_anything_that_matters_runs_anew(tmp_path, small, plan, monkeypatch, what):
    def finished():
        return {path.name for path in (tmp_path / "runs").glob("*.json")}

    run_study(small, plan, tmp_path, jobs=1)
    before, test = finished(), None
    if what == "schedule":
        plan = replace(plan, schedule=replace(plan.schedule, batch=4))
    elif what == "data":
        small = replace(small, X=small.X + 1e-6)
    elif what == "test":
        test = small
    elif what == "model":
        monkeypatch.setitem(models.BY_NAME, "binary_relevance", lambda: models.BinaryRelevance(n_jobs=1))
    elif what == "options":
        plan = replace(plan, options={"binary_relevance": {"n_jobs": 1}})
    elif what == "strategy":
        monkeypatch.setitem(queries.BY_NAME, "uncertainty", lambda: Uncertainty(measure="margin"))
    else:
        monkeypatch.setattr(study_module, "version", lambda package: "99.0")
    run_study(small, plan, tmp_path, test=test, jobs=1)
    assert len(finished() - before) == (3 if what == "strategy" else 6)


@pytest.mark.parametrize("strategy", strategy_names())
def test_the_name_of_a_run_is_the_same_in_every_process(small, plan, strategy):
    """A function among the parameters must not bring its place in memory into the name."""
    every = replace(plan, models=tuple(models.BY_NAME), strategies=(strategy,))
    facts = study_module._facts(StudySet(every, small))
    for model in every.models:
        assert " at 0x" not in json.dumps(study_module._settings((model, strategy, 0), every, facts))


def test_more_seeds_add_to_what_is_there(tmp_path, small, plan):
    run_study(small, replace(plan, seeds=(0,)), tmp_path, jobs=1)
    progress = []
    study = run_study(small, plan, tmp_path, jobs=1, on_run=lambda n, total: progress.append((n, total)))
    assert progress[0] == (2, 6)
    assert study.table.distinct("seed") == [(0,), (1,), (2,)]


def test_results_and_settings_are_saved_beside_the_runs(tmp_path, small, plan):
    study = run_study(small, plan, tmp_path, jobs=1)
    lines = (tmp_path / "results.csv").read_text().splitlines()
    assert len(lines) == 1 + len(study.table) == 1 + 6 * 4
    facts = json.loads((tmp_path / "study.json").read_text())
    assert facts["seeds"] == [0, 1, 2]
    assert facts["data"]["items"] == 90
    assert "numpy" in facts["versions"]


def test_a_newcomer_in_the_registry_needs_no_edit_here(tmp_path, small, plan, monkeypatch):
    monkeypatch.setitem(models.BY_NAME, "mine", models.BinaryRelevance)
    monkeypatch.setitem(queries.BY_NAME, "my_query", lambda: Uncertainty(measure="variance"))
    study = run_study(small, replace(plan, models=("mine",), strategies=("random", "my_query")), tmp_path, jobs=1)
    assert study.table.distinct("model", "strategy", "control") == [
        ("mine", "random", "random"),
        ("mine", "my_query", "random"),
    ]


def test_the_control_asks_for_the_same(monkeypatch):
    assert control_of("uncertainty") == control_of("random") == "random"
    assert control_of("uncertainty_pairs") == "random_pairs"
    monkeypatch.setattr(queries, "BY_NAME", {"uncertainty": Uncertainty, "dice": Random})
    assert control_of("uncertainty") == "dice"


def test_what_is_not_registered_or_given_twice_is_refused(plan):
    with pytest.raises(ValueError, match="no strategy 'clever'; there are random"):
        replace(plan, strategies=("clever",))
    with pytest.raises(ValueError, match="no model 'gpt'"):
        replace(plan, models=("gpt",))
    with pytest.raises(ValueError, match="seeds must be one or more different values"):
        Plan(("binary_relevance",), ("random",), (1, 1))


def test_options_reach_the_model_and_only_models_of_the_plan_have_them(plan):
    given = replace(plan, options={"binary_relevance": {"n_jobs": 3}})
    assert given.make_model(("binary_relevance", "random"), 7).get_params(deep=False)["n_jobs"] == 3
    assert given.make_model(("binary_relevance", "random"), 7).random_state == 7
    with pytest.raises(ValueError, match="options are given for 'label_gp', which is not among the models"):
        replace(plan, options={"label_gp": {}})


def test_a_strategy_that_cannot_work_with_a_model_is_refused_before_any_run(tmp_path, small, plan):
    plan = replace(plan, models=("label_gp", "binary_relevance"), strategies=("random", "mutual_information"))
    with pytest.raises(ValueError, match="mutual_information with binary_relevance: MutualInformation needs beliefs"):
        run_study(small, plan, tmp_path, jobs=1)
    assert list(tmp_path.iterdir()) == []
    run_study(small, replace(plan, models=("label_gp",), seeds=(0,)), tmp_path, jobs=1)


def test_a_plan_of_pairings_runs_those_alone(tmp_path, small, plan):
    arms = (("label_gp", "random"), ("label_gp", "mutual_information"), ("binary_relevance", "random"))
    some = replace(plan, models=("label_gp", "binary_relevance"), strategies=("random", "mutual_information"))
    study = run_study(small, replace(some, pairings=arms, seeds=(0,)), tmp_path, jobs=1)
    assert study.table.distinct("model", "strategy") == list(arms)
    with pytest.raises(ValueError, match=r"the pairing \('label_gp', 'uncertainty'\) is not of the plan's"):
        replace(some, pairings=(("label_gp", "uncertainty"),))


def test_what_a_campaign_asks_by_itself_can_take_part(tmp_path, small, plan):
    """Default items with the same model ask what `Campaign` asks that is given no strategy, guard and all."""
    own = replace(plan, strategies=("random", "default_items", "default_pairs"), seeds=(1,))
    study = run_study(small, own, tmp_path, jobs=1)
    assert study.table.distinct("strategy", "target", "control") == [
        ("random", "items", "random"),
        ("default_items", "items", "random"),
        ("default_pairs", "pairs", "random_pairs"),
    ]
    pool, _ = split(small, plan.schedule, 1)
    model = plan.make_model(("binary_relevance", "random"), 1)
    start = plan.schedule.start
    campaign = Campaign(pool.hide(), model=model, strategy="items", start=start, random_state=1)
    answerer = Answerer(pool)
    asked = study.results["binary_relevance", "default_items", 1].asked
    for batch in asked:
        questions = campaign.ask(len(batch))
        assert [q.item for q in questions] == [item for item, _ in batch]
        campaign.tell(answerer.answers(questions))


def test_the_default_model_is_what_a_campaign_learns_by(tmp_path, small, plan):
    own = replace(plan, models=("default",), strategies=("random", "default_items", "default_pairs"), seeds=(1,))
    for strategy, word in (("random", Random()), ("default_items", "items"), ("default_pairs", "pairs")):
        made, used = own.make_model(("default", strategy), 1), Campaign(small.hide(), strategy=word).model
        assert type(made) is type(used)
        parameter = "kernel" if strategy == "default_pairs" else "model"
        assert made.get_params()[parameter] == used.get_params()[parameter]
    study = run_study(small, own, tmp_path, jobs=1)
    assert study.table.distinct("model", "strategy") == [("default", strategy) for strategy in own.strategies]


def test_a_study_of_no_jobs_is_refused(tmp_path, small, plan):
    with pytest.raises(ValueError, match="jobs must be at least 1, got -2"):
        run_study(small, plan, tmp_path, jobs=-2)


def test_every_pairing_runs_on_every_set_with_every_seed(arena, tmp_path):
    told = []
    result = run_arena(arena, tmp_path, jobs=1, on_run=lambda *at: told.append(at))
    assert set(result.table.distinct("data", "model", "strategy", "seed")) == {
        (data, *arm, seed) for data in ("gaussian", "shapes") for arm in arena.arms() for seed in (0, 1)
    }
    assert len(result.table) == 2 * 4 * 2 * 3
    assert told[0] == ("gaussian", 0, 8) and told[-1] == ("shapes", 8, 8)
    assert len((tmp_path / "results.csv").read_text().splitlines()) == 1 + len(result.table)


def test_a_set_of_the_arena_is_a_study_of_its_own(arena, tmp_path):
    result = run_arena(arena, tmp_path / "arena", jobs=1)
    data, _ = scaled(*arena.sources[1].load())
    plan = arena.plan_for(arena.sources[1], data.n_labels)
    alone = run_study(data, plan, tmp_path / "alone", jobs=1)
    of_shapes = [row for row in figures(result) if row["data"] == "shapes"]
    assert of_shapes == figures(alone)


def test_rounds_of_pairs_have_as_many_answers_as_rounds_of_items(arena, tmp_path):
    table = run_arena(replace(arena, seeds=(0,)), tmp_path, jobs=1).table
    for (data,) in table.distinct("data"):
        of_set = table.where(data=data)
        answers = [of_set.where(strategy=s)["answers"].tolist()[-3:] for s in ("random", "random_pairs")]
        assert answers[0] == answers[1]
    given = replace(arena, schedule=replace(arena.schedule, pair_batch=7))
    assert given.plan_for(arena.sources[0], 35).schedule.questions("pairs") == 7


def test_what_is_finished_of_an_arena_is_not_run_again(arena, tmp_path, monkeypatch):
    first = run_arena(arena, tmp_path, jobs=1)
    monkeypatch.setattr("labelwise.studies.study._finish", lambda *a, **k: pytest.fail("ran again"))
    assert figures(run_arena(arena, tmp_path, jobs=1)) == figures(first)


def test_what_is_there_so_far_can_be_read_without_running(arena, tmp_path, monkeypatch):
    whole = run_arena(replace(arena, sources=arena.sources[:1], seeds=(0,)), tmp_path, jobs=1)
    monkeypatch.setattr("labelwise.studies.study.simulate", lambda *a, **k: pytest.fail("ran"))
    found = saved_study("arena", load_arena(arena, check=False), tmp_path)
    assert list(found.sets) == ["gaussian"] and figures(found) == figures(whole)
    with pytest.raises(ValueError, match="there is no finished run of arena in"):
        saved_study("arena", load_arena(arena, check=False), tmp_path / "empty")


def test_features_are_scaled_unless_they_are_not_to_be(arena):
    raw = arena.sources[0].load()[0].X
    as_they_are = load_arena(replace(arena, scale="none"))["gaussian"].data.X
    assert as_they_are == pytest.approx(raw)
    assert load_arena(arena)["gaussian"].data.X.std(0) == pytest.approx([1.0, 1.0])


def test_what_cannot_work_on_the_last_set_fails_before_the_first_run(arena, tmp_path, monkeypatch):
    monkeypatch.setattr(study_module, "run_sets", lambda *a, **k: pytest.fail("ran"))
    small = replace(arena, sources=(arena.sources[0], Source("shapes", limit=15)))
    with pytest.raises(ValueError, match="shapes: 6 items to start and 2 rounds of 4 items do not fit a pool of 10"):
        run_arena(small, tmp_path, jobs=1)
    odd = replace(arena, entrants=(Entrant("binary_relevance", ("random", "mutual_information")),))
    with pytest.raises(ValueError, match="gaussian: mutual_information with binary_relevance"):
        run_arena(odd, tmp_path, jobs=1)


def test_no_jobs_are_refused_of_an_arena(arena, tmp_path):
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        run_arena(arena, tmp_path, jobs=0)


def test_what_belongs_to_one_set_is_not_asked_of_many(arena, tmp_path):
    study = run_arena(replace(arena, seeds=(0,), entrants=arena.entrants[:1]), tmp_path, jobs=1)
    assert study.sets["shapes"].plan.name == "shapes"
    with pytest.raises(ValueError, match="the study arena has 2 sets; take one of gaussian, shapes"):
        _ = study.plan
