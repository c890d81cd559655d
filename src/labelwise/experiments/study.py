"""Many simulated campaigns: models × strategies × seeds on all cores, each saved as it ends, resumed when stopped."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from time import time
from typing import Any

import numpy as np
from joblib import cpu_count, delayed

from labelwise import models, queries
from labelwise.defaults import default_model
from labelwise.experiments.simulate import Result, Schedule, check_enough, simulate, split, target_of
from labelwise.experiments.storage import RunStore, fingerprint, replacing, run_key
from labelwise.experiments.tables import Table
from labelwise.experiments.workers import side_by_side
from labelwise.models import LabelModel
from labelwise.queries import LookingStrategy, Strategy
from labelwise.queries.base import Target
from labelwise.records import LabelData

Arm = tuple[str, str]  # model, strategy
TRIED = 20  # items on which every strategy is tried with every model beforehand
DEFAULTS: dict[str, Target] = {"default_items": "items", "default_pairs": "pairs"}  # what campaigns ask by themselves
DEFAULT_MODEL = "default"  # what campaigns learn by where nobody chose: it depends on what is asked
STALE = 24 * 3600  # seconds after which an unfinished file belongs to nobody any more


@dataclass(frozen=True)
class Plan:
    """What to run: every model with every strategy and every seed, under one schedule.

    Parameters
    ----------
    models, strategies : names in `model_names` and in `strategy_names`
    seeds : ints
    schedule : Schedule
    name : str
        What to call the data in tables and reports.
    options : mapping of a model's name to parameters that differ from its defaults
    pairings : (model, strategy), optional
        Which models run with which strategies; by default every one with every one.

    Examples
    --------
    >>> plan = Plan(["binary_relevance"], ["random", "uncertainty"], seeds=range(2))
    >>> len(plan.runs())
    4
    """

    models: tuple[str, ...]
    strategies: tuple[str, ...]
    seeds: tuple[int, ...] = (0, 1, 2)
    schedule: Schedule = field(default_factory=Schedule)
    name: str = "data"
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    pairings: tuple[Arm, ...] = ()

    def __post_init__(self) -> None:
        for attribute in ("models", "strategies", "seeds"):
            values = tuple(getattr(self, attribute))
            if not values or len(set(values)) < len(values):
                raise ValueError(f"{attribute} must be one or more different values, got {list(values)}")
            object.__setattr__(self, attribute, values)
        for what, names, known in (
            ("model", self.models, model_names()),
            ("strategy", self.strategies, strategy_names()),
        ):
            unknown = [name for name in names if name not in known]
            if unknown:
                raise ValueError(f"there is no {what} {unknown[0]!r}; there are {', '.join(known)}")
        idle = [name for name in self.options if name not in self.models]
        if idle:
            raise ValueError(f"options are given for {idle[0]!r}, which is not among the models {list(self.models)}")
        odd = [arm for arm in self.pairings if arm[0] not in self.models or arm[1] not in self.strategies]
        if odd:
            raise ValueError(f"the pairing {odd[0]} is not of the plan's models and strategies")

    def make_model(self, arm: Arm, seed: int) -> LabelModel:
        """The model of an arm with the options for it and, where it has one, this random_state."""
        name, strategy = arm
        is_default = name == DEFAULT_MODEL
        model = default_model(None, target_of(make_strategy(strategy))) if is_default else models.BY_NAME[name]()
        model = model.set_params(**self.options.get(name, {}))
        return model.set_params(random_state=seed) if "random_state" in model.get_params(deep=False) else model

    def runs(self) -> list[tuple[str, str, int]]:
        """(model, strategy, seed), seed by seed, so that a study stopped half-way has whole seeds to show."""
        return [(*arm, seed) for seed in self.seeds for arm in self.arms()]

    def arms(self) -> list[Arm]:
        """(model, strategy) that run."""
        return list(self.pairings) or list(product(self.models, self.strategies))


@dataclass(frozen=True, eq=False)
class Study:
    """A finished study: its plan, its tidy table, the single results, and what it ran on."""

    plan: Plan
    table: Table
    results: Mapping[tuple[str, str, int], Result]
    facts: Mapping[str, Any]


def run_study(
    data: LabelData,
    plan: Plan,
    folder: str | Path,
    *,
    test: LabelData | None = None,
    jobs: int | None = None,
    on_run: Callable[[int, int], None] | None = None,
) -> Study:
    """Run what is not yet in the folder, save each run as it ends, and write the results as one table.

    Parameters
    ----------
    data, test : LabelData
        As in `simulate`.
    plan : Plan
    folder : path
        Gets `runs/*.json` (one file per finished run), `results.csv`, `results.parquet` (where pyarrow is installed)
        and `study.json` (the settings). Runs found there are used again when everything that decides their outcome is
        the same: data, test set, model and its parameters, strategy and its parameters, schedule, seed, version.
    jobs : int, optional
        Runs side by side; by default as many as cores. Each keeps to cores / jobs threads.
    on_run : callable, optional
        Called with the number of finished runs and of all runs, at the start and after each.
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    check_plan(data, plan, test)
    return run_checked(data, plan, Path(folder), test=test, jobs=jobs, on_run=on_run)


def run_checked(
    data: LabelData,
    plan: Plan,
    folder: Path,
    *,
    test: LabelData | None = None,
    jobs: int | None = None,
    on_run: Callable[[int, int], None] | None = None,
) -> Study:
    """As `run_study`, of a plan that has passed `check_plan` with these data."""
    jobs = cpu_count() if jobs is None else jobs
    facts = _facts(data, test, plan)
    keys = {run: run_key(_settings(run, plan, facts)) for run in plan.runs()}
    store = RunStore((folder / "runs").resolve())  # a worker may have another working directory
    _sweep(store.folder)
    results = {run: store.load(key) for run, key in keys.items()}
    todo = [run for run in keys if results[run] is None]
    _write_json(folder / "study.json", facts)
    tell = on_run or (lambda done, total: None)
    tell(len(keys) - len(todo), len(keys))
    work = (delayed(_finish)(data, test, plan, run, _settings(run, plan, facts), store) for run in todo)
    for done, (run, result) in enumerate(side_by_side(work, jobs), start=len(keys) - len(todo) + 1):
        results[run] = result
        if not store.path(keys[run]).exists():  # the worker was on a machine with other disks
            store.save(keys[run], _settings(run, plan, facts), result)
        tell(done, len(keys))
    finished = {run: result for run, result in results.items() if result is not None}
    table = _table(plan, finished)
    table.write_csv(folder / "results.csv")
    table.write_parquet(folder / "results.parquet")
    return Study(plan, table, finished, facts)


def saved_study(data: LabelData, plan: Plan, folder: Path, *, test: LabelData | None = None) -> Study:
    """What of a study is finished so far, in the folder that `run_study` was given; nothing is run."""
    facts = _facts(data, test, plan)
    store = RunStore((folder / "runs").resolve())  # a worker may have another working directory
    found = {run: store.load(run_key(_settings(run, plan, facts))) for run in plan.runs()}
    finished = {run: result for run, result in found.items() if result is not None}
    return Study(plan, _table(plan, finished), finished, facts)


def check_plan(data: LabelData, plan: Plan, test: LabelData | None = None) -> None:
    """Refuse before the first run what would fail hours later.

    That is data that cannot be simulated, a schedule that does not fit them, and a strategy that cannot work with a
    model: each is tried with each on a few items.
    """
    pool, _ = split(data, plan.schedule, plan.seeds[0], test)
    for strategy in plan.strategies:
        check_enough(pool, plan.schedule, target_of(make_strategy(strategy)))
    few = pool.take(np.arange(min(pool.n_items, TRIED)))
    trial = Schedule(start=max(1, few.n_items // 2), rounds=min(1, few.n_items - 1), batch=1)
    for model, strategy in plan.arms():
        try:
            made, chosen = plan.make_model((model, strategy), plan.seeds[0]), make_strategy(strategy)
            simulate(few, model=made, strategy=chosen, schedule=trial, test=few)
        except ValueError as error:
            raise ValueError(f"{strategy} with {model}: {error}") from error


def model_names() -> list[str]:
    """What a plan may name: the registered models, and what a campaign learns by where nobody chose."""
    return [*models.BY_NAME, DEFAULT_MODEL]


def strategy_names() -> list[str]:
    """What a plan may name: the registered strategies, and what a campaign asks where nobody chose."""
    return [*queries.BY_NAME, *DEFAULTS]


def make_strategy(name: str) -> Strategy | LookingStrategy | Target:
    """A strategy by its name; for a default the word that a campaign takes for it."""
    return DEFAULTS[name] if name in DEFAULTS else queries.BY_NAME[name]()


def control_of(strategy: str) -> str | None:
    """The random strategy that asks for the same (items or pairs): what this one has to beat."""
    target = target_of(make_strategy(strategy))
    made = {name: make() for name, make in queries.BY_NAME.items()}
    return next((n for n, s in made.items() if isinstance(s, queries.Random) and s.target == target), None)


def _finish(
    data: LabelData,
    test: LabelData | None,
    plan: Plan,
    run: tuple[str, str, int],
    settings: Mapping[str, Any],
    store: RunStore,
) -> tuple[tuple[str, str, int], Result]:
    """Do one run and save it, in the process that did it: what is finished survives whatever happens elsewhere."""
    model, strategy, seed = run
    result = simulate(
        data,
        model=plan.make_model((model, strategy), seed),
        strategy=make_strategy(strategy),
        schedule=plan.schedule,
        seed=seed,
        test=test,
    )
    store.save(run_key(settings), settings, result)
    return run, result


def _settings(run: tuple[str, str, int], plan: Plan, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that decides the outcome of a run, as plain values."""
    model, strategy, seed = run
    parameters = plan.make_model((model, strategy), seed).get_params()
    chosen = make_strategy(strategy)
    options = (
        {f.name: _named(getattr(chosen, f.name)) for f in fields(chosen)} if is_dataclass(chosen) else repr(chosen)
    )
    return {
        "model": model,
        "model_parameters": {name: _named(value) for name, value in parameters.items()},
        "strategy": strategy,
        "strategy_parameters": options,
        "seed": seed,
        "schedule": asdict(plan.schedule),
        "data": facts["data"]["fingerprint"],
        "test": facts["test"]["fingerprint"] if facts["test"] else None,
        "version": facts["versions"]["labelwise"],
    }


def _named(value: Any) -> str:
    """A parameter as text that is the same in every process: a function by its name, not by where it lies in memory."""
    is_function = hasattr(value, "__qualname__") and hasattr(value, "__module__")
    return f"{value.__module__}.{value.__qualname__}" if is_function else repr(value)


def _facts(data: LabelData, test: LabelData | None, plan: Plan) -> dict[str, Any]:
    """What a reader of the results wants to know of their making."""
    packages = ("labelwise", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "name": plan.name,
        "models": list(plan.models),
        "options": {model: {k: repr(v) for k, v in options.items()} for model, options in plan.options.items()},
        "strategies": list(plan.strategies),
        "pairings": [list(arm) for arm in plan.arms()],
        "seeds": list(plan.seeds),
        "schedule": asdict(plan.schedule),
        "data": _described(data),
        "test": None if test is None else _described(test),
        "versions": {"python": platform.python_version(), **{name: _version(name) for name in packages}},
    }


def _described(data: LabelData) -> dict[str, Any]:
    return {
        "items": data.n_items,
        "features": data.n_features,
        "labels": data.n_labels,
        "labels_per_item": round(data.cardinality, 4),
        "fingerprint": fingerprint(data),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _table(plan: Plan, results: Mapping[tuple[str, str, int], Result]) -> Table:
    rows = []
    for model, strategy, seed in (run for run in plan.runs() if run in results):
        of_run = {
            "data": plan.name,
            "model": model,
            "strategy": strategy,
            "target": target_of(make_strategy(strategy)),
            "control": control_of(strategy) or "",
            "seed": seed,
        }
        rows += [{**of_run, **row} for row in results[model, strategy, seed].rows]
    return Table.from_rows(rows)


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _sweep(folder: Path) -> None:
    """Remove what a killed process left half-written; not what another may be writing now."""
    for part in folder.glob(".*.part"):
        with suppress(OSError):
            if time() - part.stat().st_mtime > STALE:
                part.unlink()
