from __future__ import annotations

import pytest

from labelwise.experiments.arena_findings import ENOUGH_SETS
from labelwise.experiments.presets import QUICK_SETS, RIVALS, papers_arena, quick_arena
from labelwise.experiments.sources import BUILT_IN, PUBLISHED


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
    assert len(BUILT_IN) >= ENOUGH_SETS  # so that it can say something of other sets
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
    assert set(RIVALS) <= {strategy for _, strategy in arena.arms()}
    assert "balanced_pairs" in {strategy for _, strategy in arena.arms()}
    assert len(arena.seeds) == 3


def test_the_papers_strategies_run_with_the_papers_models(folder):
    assert {
        ("compressed_label_gp", "mutual_information"),
        ("orthogonal_target_gp", "target_entropy"),
        ("label_mixture_gp", "label_covariance"),
    } <= set(papers_arena(folder).arms())
