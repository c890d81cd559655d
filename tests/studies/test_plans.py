from __future__ import annotations

from dataclasses import replace

import pytest

from labelwise.studies.plans import QUICK_SETS, RIVAL_STRATEGIES, Entrant, papers_arena, quick_arena
from labelwise.studies.sources import BUILT_IN, PUBLISHED, Source
from labelwise.studies.statistics import MIN_SETS


@pytest.fixture
def folder(tmp_path):
    """Every published set, as empty files."""
    for files in PUBLISHED.values():
        for file in files:
            if file is not None:
                (tmp_path / file).parent.mkdir(exist_ok=True)
                (tmp_path / file).touch()
    return tmp_path


def test_the_quick_arena_runs_on_what_ships_and_adds_what_is_given(folder, tmp_path):
    assert [source.source for source in quick_arena().sources] == list(BUILT_IN)
    assert len(BUILT_IN) >= MIN_SETS  # so that it can say something of other sets
    assert quick_arena(tmp_path / "none").sources == quick_arena().sources
    assert [source.name for source in quick_arena(folder).sources[len(BUILT_IN) :]] == list(QUICK_SETS)


def test_the_arena_of_the_papers_has_every_published_set(folder):
    assert [source.name for source in papers_arena(folder).sources] == list(PUBLISHED)
    with pytest.raises(ValueError, match=r"there is no published set in .*; expected folders yeast/, emotions/"):
        papers_arena(folder / "yeast")


@pytest.mark.parametrize("which", ["quick", "papers"])
def test_every_model_of_an_arena_has_random_beside_its_strategies(folder, which):
    arena = quick_arena() if which == "quick" else papers_arena(folder)
    assert all("random" in entrant.strategies for entrant in arena.entrants)
    assert set(RIVAL_STRATEGIES) <= {strategy for _, strategy in arena.arms()}
    assert "balanced_pairs" in {strategy for _, strategy in arena.arms()}
    assert len(arena.seeds) == 3


def test_the_papers_strategies_run_with_the_papers_models(folder):
    assert {
        ("compressed_label_gp", "mutual_information"),
        ("orthogonal_target_gp", "target_entropy"),
        ("label_mixture_gp", "label_covariance"),
    } <= set(papers_arena(folder).arms())


def test_options_reach_the_model_of_their_entrant(arena):
    plan = arena.plan_for(arena.sources[0], 35)
    assert plan.options == {"binary_relevance": {"n_jobs": 1}}
    assert plan.arms() == arena.arms()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sources": ()}, "sources must be one or more"),
        ({"sources": (Source("gaussian"), Source("gaussian", limit=9))}, "several sets named 'gaussian'"),
        ({"entrants": (Entrant("label_gp", ("random",)),) * 2}, "several entrants with the model 'label_gp'"),
        ({"entrants": (Entrant("gpt", ("random",)),)}, "no model 'gpt'"),
        ({"entrants": (Entrant("label_gp", ("clever",)),)}, "no strategy 'clever'"),
        ({"metrics": ("accuracy",)}, "no metric 'accuracy'"),
        ({"metrics": ("macrof1",)}, "no metric 'macrof1'; did you mean 'macro_f1'"),
        ({"scale": "rows"}, "scale must be one of 'auto', 'none', got 'rows'"),
    ],
)
def test_a_senseless_arena_is_refused(arena, change, words):
    with pytest.raises(ValueError, match=words):
        replace(arena, **change)
