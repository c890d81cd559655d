from __future__ import annotations

from dataclasses import replace

import pytest

from labelwise.experiments import arena as arena_module
from labelwise.experiments.arena import Arena, Entrant, load_arena, run_arena, saved_arena
from labelwise.experiments.simulate import Schedule
from labelwise.experiments.sources import Source, scaled
from labelwise.experiments.study import run_study


@pytest.fixture
def arena():
    sources = (Source("gaussian", limit=120), Source("shapes", limit=120))
    entrants = (
        Entrant("label_gp", ("random", "uncertainty")),
        Entrant("binary_relevance", ("random", "random_pairs"), {"n_jobs": 1}),
    )
    return Arena(sources, entrants, (0, 1), Schedule(start=6, rounds=2, batch=4, pool_limit=60))


def figures(table):
    return [{k: v for k, v in row.items() if not k.startswith("seconds")} for row in table.rows()]


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
    assert figures(result.table.where(data="shapes")) == figures(alone.table)


def test_rounds_of_pairs_have_as_many_answers_as_rounds_of_items(arena, tmp_path):
    table = run_arena(replace(arena, seeds=(0,)), tmp_path, jobs=1).table
    for (data,) in table.distinct("data"):
        of_set = table.where(data=data)
        answers = [of_set.where(strategy=s)["answers"].tolist()[-3:] for s in ("random", "random_pairs")]
        assert answers[0] == answers[1]
    given = replace(arena, schedule=replace(arena.schedule, pair_batch=7))
    assert given.plan_for(arena.sources[0], 35).schedule.questions("pairs") == 7


def test_what_is_finished_is_not_run_again(arena, tmp_path, monkeypatch):
    first = run_arena(arena, tmp_path, jobs=1)
    monkeypatch.setattr("labelwise.experiments.study._finish", lambda *a, **k: pytest.fail("ran again"))
    assert figures(run_arena(arena, tmp_path, jobs=1).table) == figures(first.table)


def test_what_is_there_so_far_can_be_read_without_running(arena, tmp_path, monkeypatch):
    whole = run_arena(replace(arena, sources=arena.sources[:1], seeds=(0,)), tmp_path, jobs=1)
    monkeypatch.setattr("labelwise.experiments.study.simulate", lambda *a, **k: pytest.fail("ran"))
    found = saved_arena(arena, load_arena(arena, check=False), tmp_path)
    assert list(found.studies) == ["gaussian"] and figures(found.table) == figures(whole.table)
    with pytest.raises(ValueError, match="there is no finished run of this arena in"):
        saved_arena(arena, load_arena(arena, check=False), tmp_path / "empty")


def test_options_reach_the_model_of_their_entrant(arena):
    plan = arena.plan_for(arena.sources[0], 35)
    assert plan.options == {"binary_relevance": {"n_jobs": 1}}
    assert plan.arms() == arena.arms()


def test_features_are_scaled_unless_they_are_not_to_be(arena):
    raw = arena.sources[0].load()[0].X
    as_they_are = load_arena(replace(arena, scale="none"))["gaussian"][1].X
    assert as_they_are == pytest.approx(raw)
    assert load_arena(arena)["gaussian"][1].X.std(0) == pytest.approx([1.0, 1.0])


def test_what_cannot_work_on_the_last_set_fails_before_the_first_run(arena, tmp_path, monkeypatch):
    monkeypatch.setattr(arena_module, "run_checked", lambda *a, **k: pytest.fail("ran"))
    small = replace(arena, sources=(arena.sources[0], Source("shapes", limit=15)))
    with pytest.raises(ValueError, match="shapes: 6 items to start and 2 rounds of 4 items do not fit a pool of 10"):
        run_arena(small, tmp_path, jobs=1)
    odd = replace(arena, entrants=(Entrant("binary_relevance", ("random", "mutual_information")),))
    with pytest.raises(ValueError, match="gaussian: mutual_information with binary_relevance"):
        run_arena(odd, tmp_path, jobs=1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sources": ()}, "sources must be one or more"),
        ({"sources": (Source("gaussian"), Source("gaussian", limit=9))}, "several sets named 'gaussian'"),
        ({"entrants": (Entrant("label_gp", ("random",)),) * 2}, "several entrants with the model 'label_gp'"),
        ({"entrants": (Entrant("gpt", ("random",)),)}, "no model 'gpt'"),
        ({"entrants": (Entrant("label_gp", ("clever",)),)}, "no strategy 'clever'"),
        ({"metrics": ("accuracy",)}, "no metric 'accuracy'"),
        ({"scale": "rows"}, 'scale must be "auto" or "none", got \'rows\''),
    ],
)
def test_a_senseless_arena_is_refused(arena, change, words):
    with pytest.raises(ValueError, match=words):
        replace(arena, **change)


def test_no_jobs_are_refused(arena, tmp_path):
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        run_arena(arena, tmp_path, jobs=0)
