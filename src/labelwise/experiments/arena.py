"""The arena: many sets × models × strategies × seeds, run as one study each, kept in one folder, read as one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from labelwise.experiments.metrics import METRICS
from labelwise.experiments.simulate import Schedule
from labelwise.experiments.sources import Source, scaled
from labelwise.experiments.study import Arm, Plan, Study, check_plan, run_checked, saved_study
from labelwise.experiments.tables import Table
from labelwise.records import LabelData

ARENA_METRICS = ("macro_roc_auc", "macro_f1", "precision_at_1_3", "macro_average_precision")


@dataclass(frozen=True)
class Entrant:
    """A model and the strategies it runs with; `options` are parameters of the model that differ from its defaults."""

    model: str
    strategies: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "strategies", tuple(self.strategies))


@dataclass(frozen=True)
class Arena:
    """A whole grid: every entrant on every set with every seed.

    Parameters
    ----------
    sources : sets to run on, with different names
    entrants : models with their strategies, each model once
    seeds : ints
    schedule : Schedule
        Without `pair_batch`, a round of a strategy that asks for pairs has as many answers as one of whole items:
        `batch` times the number of labels.
    name : str
    metrics : names in `labelwise.experiments.metrics.METRICS`
        What to rank and draw by; every metric is saved.
    scale : "auto" or "none"
        Whether features are scaled to suit every model alike, see `sources.scaled`.

    Examples
    --------
    >>> arena = Arena([Source("gaussian")], [Entrant("binary_relevance", ["random", "uncertainty"])], seeds=[0, 1])
    >>> arena.plan_for(arena.sources[0], n_labels=35).schedule.questions("pairs")
    875
    """

    sources: tuple[Source, ...]
    entrants: tuple[Entrant, ...]
    seeds: tuple[int, ...] = (0, 1, 2)
    schedule: Schedule = field(default_factory=Schedule)
    name: str = "arena"
    metrics: tuple[str, ...] = ARENA_METRICS
    scale: Literal["auto", "none"] = "auto"

    def __post_init__(self) -> None:
        for attribute in ("sources", "entrants", "seeds", "metrics"):
            values = tuple(getattr(self, attribute))
            if not values:
                raise ValueError(f"{attribute} must be one or more, got none")
            object.__setattr__(self, attribute, values)
        _refuse_twins("sets named", [source.name for source in self.sources])
        _refuse_twins("entrants with the model", [entrant.model for entrant in self.entrants])
        unknown = [metric for metric in self.metrics if metric not in METRICS]
        if unknown:
            raise ValueError(f"there is no metric {unknown[0]!r}; there are {', '.join(METRICS)}")
        if self.scale not in ("auto", "none"):
            raise ValueError(f'scale must be "auto" or "none", got {self.scale!r}')
        self.plan_for(self.sources[0], n_labels=1)  # what a plan refuses is refused now

    def arms(self) -> list[Arm]:
        """(model, strategy) of every entrant."""
        return [(entrant.model, strategy) for entrant in self.entrants for strategy in entrant.strategies]

    def plan_for(self, source: Source, n_labels: int) -> Plan:
        """The study of one set."""
        schedule = self.schedule
        if schedule.pair_batch is None:
            schedule = replace(schedule, pair_batch=schedule.batch * n_labels)
        return Plan(
            models=tuple(entrant.model for entrant in self.entrants),
            strategies=tuple(dict.fromkeys(strategy for _, strategy in self.arms())),
            seeds=self.seeds,
            schedule=schedule,
            name=source.name,
            options={entrant.model: dict(entrant.options) for entrant in self.entrants if entrant.options},
            pairings=tuple(self.arms()),
        )


@dataclass(frozen=True, eq=False)
class ArenaResult:
    """A finished arena: the study of each set, and all their rows in one table."""

    arena: Arena
    studies: Mapping[str, Study]
    table: Table


def run_arena(
    arena: Arena,
    folder: str | Path,
    *,
    jobs: int | None = None,
    on_run: Callable[[str, int, int], None] | None = None,
) -> ArenaResult:
    """Run what is not yet in the folder, set by set, and write all results as one table.

    Parameters
    ----------
    arena : Arena
    folder : path
        Gets a folder per set, as `run_study` makes it, and `results.csv` (and `.parquet`) of all.
    jobs : int, optional
        Runs side by side; by default as many as cores.
    on_run : callable, optional
        Called with the name of the set, its finished runs and all its runs.
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    return run_loaded(arena, load_arena(arena), Path(folder), jobs=jobs, on_run=on_run)


Loaded = Mapping[str, tuple[Plan, LabelData, LabelData | None]]


def load_arena(arena: Arena, *, check: bool = True) -> Loaded:
    """Every set with its plan, read, scaled and checked: what cannot work fails here, before the first run.

    Where nothing is to be run, as for `saved_arena`, there is nothing to check.
    """
    loaded = {}
    for source in arena.sources:
        data, test = source.load()
        if arena.scale == "auto":
            data, test = scaled(data, test)
        plan = arena.plan_for(source, data.n_labels)
        if check:
            _check(source.name, plan, data, test)
        loaded[source.name] = plan, data, test
    return loaded


def run_loaded(
    arena: Arena,
    loaded: Loaded,
    folder: Path,
    *,
    jobs: int | None = None,
    on_run: Callable[[str, int, int], None] | None = None,
) -> ArenaResult:
    """As `run_arena`, of sets that `load_arena` has read and checked."""
    tell = on_run or (lambda name, done, total: None)
    studies = {}
    for name, (plan, data, test) in loaded.items():

        def on_one(done: int, total: int, name: str = name) -> None:
            tell(name, done, total)

        studies[name] = run_checked(data, plan, folder / "sets" / name, test=test, jobs=jobs, on_run=on_one)
    table = joined([study.table for study in studies.values()])
    table.write_csv(folder / "results.csv")
    table.write_parquet(folder / "results.parquet")
    return ArenaResult(arena, studies, table)


def saved_arena(arena: Arena, loaded: Loaded, folder: Path) -> ArenaResult:
    """What of an arena is finished so far, in the folder that `run_arena` was given; nothing is run.

    Sets without a finished run are left out; the others may lack pairings and seeds.
    """
    found = {
        name: saved_study(data, plan, folder / "sets" / name, test=test) for name, (plan, data, test) in loaded.items()
    }
    studies = {name: study for name, study in found.items() if study.results}
    if not studies:
        raise ValueError(f"there is no finished run of this arena in {folder}")
    return ArenaResult(arena, studies, joined([study.table for study in studies.values()]))


def joined(tables: Sequence[Table]) -> Table:
    """The rows of several tables with the same columns."""
    return Table({name: np.concatenate([table[name] for table in tables]) for name in tables[0].names})


def _check(name: str, plan: Plan, data: LabelData, test: LabelData | None) -> None:
    try:
        check_plan(data, plan, test)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _refuse_twins(what: str, names: Sequence[str]) -> None:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ValueError(f"there are several {what} {twice[0]!r}; give each once")
