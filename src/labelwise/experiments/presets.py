"""Arenas ready to run: a quick one of what ships with labelwise, and one of published sets and papers' strategies."""

from __future__ import annotations

from pathlib import Path

from labelwise.experiments.arena import Arena, Entrant
from labelwise.experiments.simulate import Schedule
from labelwise.experiments.sources import BUILT_IN, PUBLISHED, Source, published

SHIPPED = tuple(Source(name, limit=1500) for name in BUILT_IN)
QUICK_SETS = ("emotions", "scene", "medical", "enron")  # published ones that the quick arena adds where they are given
RIVALS = ("expected_loss_reduction", "adaptive_margin", "dummy_label_ranking", "ranked_inconsistency")
OURS = Entrant("default", ("random", "default_items", "random_pairs", "default_pairs"))  # what campaigns do by default


def quick_arena(folder: Path | None = None) -> Arena:
    """Minutes on two cores: the sets that ship with labelwise and, where a folder has them, four small published ones.

    >>> [source.name for source in quick_arena().sources]
    ['yeast', 'gaussian', 'shapes', 'digits', 'tickets', 'words']
    """
    more = [] if folder is None else published(folder, QUICK_SETS)
    entrants = (
        OURS,
        Entrant("label_gp", ("random", "uncertainty", "mutual_information", "label_covariance", "balanced_pairs")),
        Entrant("binary_relevance", ("random", "uncertainty", *RIVALS, "balanced_pairs")),
    )
    schedule = Schedule(start=30, rounds=5, batch=20, pool_limit=800, test_limit=600)
    return Arena((*SHIPPED, *more), entrants, (0, 1, 2), schedule, "arena-quick")


def papers_arena(folder: Path) -> Arena:
    """The published sets of a folder, with each paper's model and strategy, the rivals, and yes/no questions."""
    sets = published(folder)
    if not sets:
        named = ", ".join(f"{name}/" for name in PUBLISHED)
        raise ValueError(f"there is no published set in {folder}; expected folders {named}")
    entrants = (
        OURS,
        Entrant("label_gp", ("random", "uncertainty", "mutual_information", "label_covariance", "balanced_pairs")),
        Entrant("compressed_label_gp", ("random", "mutual_information")),
        Entrant("orthogonal_target_gp", ("random", "target_entropy")),
        Entrant("label_mixture_gp", ("random", "label_covariance")),
        Entrant("binary_relevance", ("random", "uncertainty", *RIVALS, "balanced_pairs")),
    )
    schedule = Schedule(start=50, rounds=5, batch=50, pool_limit=1500, test_limit=1000)
    return Arena(tuple(sets), entrants, (0, 1, 2), schedule, "arena-papers")
