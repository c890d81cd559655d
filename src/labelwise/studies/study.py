"""Studies: many simulated campaigns on one or many sets, on all cores, each saved as it ends, resumed when stopped."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import cpu_count, delayed

from labelwise.data import ShardedFeatures
from labelwise.files import remove_unfinished, write_text
from labelwise.records import LabelData
from labelwise.studies.jobs import side_by_side
from labelwise.studies.plans import Arena, Plan, control_of, make_strategy
from labelwise.studies.simulate import Result, Schedule, check_enough, simulate, split, target_of
from labelwise.studies.sources import scaled
from labelwise.studies.tables import Table

RUN_FORMAT = 5  # part of every run's name: raise it when a run's content or meaning changes


def fingerprint(data: LabelData) -> str:
    """A digest of features, labels, masks and names: other data never pass for these.

    >>> data = LabelData.from_arrays([[0.0, 1.0]], [[1, 0]])
    >>> fingerprint(data) == fingerprint(LabelData.from_arrays([[0.0, 1.0]], [[1, 1]]))
    False
    """
    digest = hashlib.sha256()
    for matrix in (data.X, data.Y, data.observed):
        _feed(digest, matrix)
    for names in (data.item_ids, data.label_names):
        digest.update(json.dumps(names).encode())
    return digest.hexdigest()[:32]


def run_key(settings: Mapping[str, Any]) -> str:
    """The name of a run: a digest of everything that decides its outcome."""
    content = json.dumps({"format": RUN_FORMAT, **settings}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


class RunStore:
    """A folder of finished runs.

    `load` gives None for a run that is missing, cut short, damaged or of another format, so that it is done again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def save(self, key: str, settings: Mapping[str, Any], result: Result) -> None:
        body = {"settings": settings, "rows": [_without_nan(row) for row in result.rows], "asked": result.asked}
        content = json.dumps(body)
        whole = f'{{"format": {RUN_FORMAT}, "digest": "{_digest(content)}", "body": {content}}}\n'
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.path(key), whole)

    def load(self, key: str) -> Result | None:
        try:
            whole = json.loads(self.path(key).read_text(encoding="utf-8"))
            body = whole["body"]
            if whole["format"] != RUN_FORMAT or whole["digest"] != _digest(json.dumps(body)):
                return None
            if run_key(body["settings"]) != key:
                return None
            rows = tuple({k: math.nan if v is None else v for k, v in row.items()} for row in body["rows"])
            return Result(rows, tuple(tuple((item, label) for item, label in batch) for batch in body["asked"]))
        except (OSError, ValueError, KeyError, TypeError):  # unreadable in any way: not there
            return None


def _without_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _feed(digest: Any, matrix: Any) -> None:
    if matrix is None:
        digest.update(b"none")
        return
    digest.update(f"{matrix.shape} {matrix.dtype}".encode())
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix, copy=True)
        matrix.sum_duplicates()  # sorts the columns of each row, too
        for part in (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data):
            digest.update(part.tobytes())
    elif isinstance(matrix, ShardedFeatures):
        for _, rows in matrix.blocks():
            _feed(digest, rows)
    else:
        digest.update(np.ascontiguousarray(matrix).tobytes())


Run = tuple[str, str, int]  # model, strategy, seed
TRIAL_ITEMS = 20  # on which every strategy is tried with every model beforehand
STALE_SECONDS = 24 * 3600  # after which an unfinished file belongs to nobody any more
PACKAGES = ("labelwise", "numpy", "scipy", "scikit-learn", "numba")  # whose versions are kept with the results


@dataclass(frozen=True, eq=False)
class StudySet:
    """A set of a study: its data, the plan for it, and where below the study's folder its runs are kept."""

    plan: Plan
    data: LabelData
    test: LabelData | None = None
    folder: str = "."


@dataclass(frozen=True, eq=False)
class SetResult:
    """What ran on one set: its plan, the single results, and what a reader wants to know of their making."""

    plan: Plan
    results: Mapping[Run, Result]
    facts: Mapping[str, Any]
    data: LabelData

    def table(self) -> Table:
        """One row per run and evaluation."""
        rows = []
        for model, strategy, seed in (run for run in self.plan.runs() if run in self.results):
            of_run = {
                "data": self.plan.name,
                "model": model,
                "strategy": strategy,
                "target": target_of(make_strategy(strategy)),
                "control": control_of(strategy) or "",
                "seed": seed,
            }
            rows += [{**of_run, **row} for row in self.results[model, strategy, seed].rows]
        return Table.from_rows(rows)


@dataclass(frozen=True, eq=False)
class Study:
    """A finished study: what ran on each set, and all rows in one tidy table.

    Parameters
    ----------
    name : str
    sets : mapping of a set's name to its plan, results and facts
    table : Table
        One row per set, run and evaluation.
    is_scaled : bool
        Whether features were scaled to suit every model alike.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> plan = lw.studies.Plan(("binary_relevance",), ("random",), (0,), lw.studies.Schedule(10, rounds=1, batch=5))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = lw.studies.run_study(lw.data.make_shapes(60, random_state=0), plan, folder, jobs=1)
    >>> list(study.results), study.table.columns["items_read"].tolist()
    ([('binary_relevance', 'random', 0)], [10, 15])
    """

    name: str
    sets: Mapping[str, SetResult]
    table: Table
    is_scaled: bool = False

    @property
    def only(self) -> SetResult:
        """What ran on the set of a study that has one."""
        if len(self.sets) != 1:
            raise ValueError(f"the study {self.name} has {len(self.sets)} sets; take one of {', '.join(self.sets)}")
        return next(iter(self.sets.values()))

    @property
    def plan(self) -> Plan:
        return self.only.plan

    @property
    def results(self) -> Mapping[Run, Result]:
        return self.only.results

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.only.facts


ArenaResult = Study  # what `run_arena` returns


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

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> data = lw.data.make_shapes(60, random_state=0)
    >>> schedule = lw.studies.Schedule(start=10, rounds=1, batch=5)
    >>> plan = lw.studies.Plan(("label_gp",), ("random",), (0,), schedule)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(len(run_study(data, plan, folder, jobs=1).table))
    2
    """
    _check_jobs(jobs)
    check_plan(data, plan, test)
    notify = on_run or (lambda done, total: None)
    sets = {plan.name: StudySet(plan, data, test)}
    return run_sets(plan.name, sets, folder, jobs=jobs, on_run=lambda name, done, total: notify(done, total))


def run_arena(
    arena: Arena,
    folder: str | Path,
    *,
    jobs: int | None = None,
    on_run: Callable[[str, int, int], None] | None = None,
) -> Study:
    """As `run_study`, on every set of an arena.

    Parameters
    ----------
    arena : Arena
    folder : path
        Gets a folder per set, `sets/NAME`, as `run_study` makes it, and `results.csv` (and `.parquet`) of all.
    jobs : int, optional
        Runs side by side; by default as many as cores.
    on_run : callable, optional
        Called with the name of the set, its finished runs and all its runs.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> schedule = lw.studies.Schedule(10, rounds=1, batch=5)
    >>> entrants = [lw.studies.Entrant("binary_relevance", ["random"])]
    >>> arena = lw.studies.Arena([lw.studies.Source("shapes", limit=60)], entrants, seeds=[0], schedule=schedule)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [*run_arena(arena, folder, jobs=1).sets]
    ['shapes']
    """
    _check_jobs(jobs)
    return run_sets(arena.name, load_arena(arena), folder, jobs=jobs, on_run=on_run, is_scaled=arena.scale == "auto")


def load_arena(arena: Arena, *, check: bool = True) -> dict[str, StudySet]:
    """Every set with its plan, read, scaled and checked: what cannot work fails here, before the first run.

    Where nothing is to be run, as for `saved_study`, there is nothing to check.
    """
    loaded = {}
    for source in arena.sources:
        data, test = source.load()
        if arena.scale == "auto":
            data, test = scaled(data, test)
        plan = arena.plan_for(source, data.n_labels)
        if check:
            try:
                check_plan(data, plan, test)
            except ValueError as error:
                raise ValueError(f"{source.name}: {error}") from error
        loaded[source.name] = StudySet(plan, data, test, f"sets/{source.name}")
    return loaded


def run_sets(
    name: str,
    sets: Mapping[str, StudySet],
    folder: str | Path,
    *,
    jobs: int | None = None,
    on_run: Callable[[str, int, int], None] | None = None,
    is_scaled: bool = False,
) -> Study:
    """Run what is not yet in the folder, set by set; the plans have passed `check_plan` with their data."""
    folder, notify = Path(folder), on_run or (lambda name, done, total: None)
    results, tables = {}, []
    for key, one in sets.items():

        def on_one(done: int, total: int, key: str = key) -> None:
            notify(key, done, total)

        results[key] = _run_set(one, folder / one.folder, jobs, on_one)
        tables.append(results[key].table())
        if one.folder != ".":
            _write_table(tables[-1], folder / one.folder)
    study = Study(name, results, Table.joined(tables), is_scaled)
    _write_table(study.table, folder)
    return study


def saved_study(name: str, sets: Mapping[str, StudySet], folder: str | Path, *, is_scaled: bool = False) -> Study:
    """What of a study is finished so far, in the folder that it was given; nothing is run.

    Sets without a finished run are left out; the others may lack pairings and seeds.
    """
    results = {}
    for key, one in sets.items():
        facts = _facts(one)
        saved = _saved_results(_store(Path(folder) / one.folder), _keys(one.plan, facts))
        if saved:
            results[key] = SetResult(one.plan, saved, facts, one.data)
    if not results:
        raise ValueError(f"there is no finished run of {name} in {folder}")
    return Study(name, results, Table.joined([one.table() for one in results.values()]), is_scaled)


def check_plan(data: LabelData, plan: Plan, test: LabelData | None = None) -> None:
    """Refuse before the first run what would fail hours later.

    That is data that cannot be simulated, a schedule that does not fit them, and a strategy that cannot work with a
    model. Each strategy is tried with each model on a few items.
    """
    pool, _ = split(data, plan.schedule, plan.seeds[0], test)
    for strategy in plan.strategies:
        check_enough(pool, plan.schedule, target_of(make_strategy(strategy)))
    few = pool.take(np.arange(min(pool.n_items, TRIAL_ITEMS)))
    trial = Schedule(start=max(1, few.n_items // 2), rounds=min(1, few.n_items - 1), batch=1)
    for model, strategy in plan.arms():
        try:
            made, chosen = plan.make_model((model, strategy), plan.seeds[0]), make_strategy(strategy)
            simulate(few, model=made, strategy=chosen, schedule=trial, test=few, hints=plan.hints_for(model))
        except ValueError as error:
            raise ValueError(f"{strategy} with {model}: {error}") from error


def _check_jobs(jobs: int | None) -> None:
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")


def _run_set(one: StudySet, folder: Path, jobs: int | None, on_run: Callable[[int, int], None]) -> SetResult:
    facts = _facts(one)
    keys, store = _keys(one.plan, facts), _store(folder)
    remove_unfinished(store.folder, older_than=STALE_SECONDS)  # not what another process may be writing now
    results = _saved_results(store, keys)
    todo = [run for run in keys if run not in results]
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "study.json", json.dumps(facts, indent=2) + "\n")
    on_run(len(results), len(keys))
    work = (delayed(_finish)(one, run, _settings(run, one.plan, facts), store) for run in todo)
    for run, result in side_by_side(work, cpu_count() if jobs is None else jobs):
        results[run] = result
        if not store.path(keys[run]).exists():  # the worker was on a machine with other disks
            store.save(keys[run], _settings(run, one.plan, facts), result)
        on_run(len(results), len(keys))
    return SetResult(one.plan, results, facts, one.data)


def _finish(one: StudySet, run: Run, settings: Mapping[str, Any], store: RunStore) -> tuple[Run, Result]:
    """Do one run and save it, in the process that did it: what is finished survives whatever happens elsewhere."""
    model, strategy, seed = run
    result = simulate(
        one.data,
        model=one.plan.make_model((model, strategy), seed),
        strategy=make_strategy(strategy),
        schedule=one.plan.schedule,
        seed=seed,
        test=one.test,
        hints=one.plan.hints_for(model),
    )
    store.save(run_key(settings), settings, result)
    return run, result


def _store(folder: Path) -> RunStore:
    return RunStore((folder / "runs").resolve())  # a worker may have another working directory


def _keys(plan: Plan, facts: Mapping[str, Any]) -> dict[Run, str]:
    return {run: run_key(_settings(run, plan, facts)) for run in plan.runs()}


def _saved_results(store: RunStore, keys: Mapping[Run, str]) -> dict[Run, Result]:
    return {run: result for run, key in keys.items() if (result := store.load(key)) is not None}


def _settings(run: Run, plan: Plan, facts: Mapping[str, Any]) -> dict[str, Any]:
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


def _facts(one: StudySet) -> dict[str, Any]:
    """What a reader of the results wants to know of their making."""
    plan = one.plan
    return {
        "name": plan.name,
        "models": list(plan.models),
        "options": {model: {k: repr(v) for k, v in options.items()} for model, options in plan.options.items()},
        "strategies": list(plan.strategies),
        "pairings": [list(arm) for arm in plan.arms()],
        "seeds": list(plan.seeds),
        "schedule": asdict(plan.schedule),
        "data": _described(one.data),
        "test": None if one.test is None else _described(one.test),
        "versions": {"python": platform.python_version(), **package_versions()},
    }


def _described(data: LabelData) -> dict[str, Any]:
    return {
        "items": data.n_items,
        "features": data.n_features,
        "labels": data.n_labels,
        "labels_per_item": round(data.cardinality, 4),
        "fingerprint": fingerprint(data),
    }


def package_versions() -> dict[str, str]:
    """The versions that results are kept with."""
    return {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _write_table(table: Table, folder: Path) -> None:
    table.write_csv(folder / "results.csv")
    table.write_parquet(folder / "results.parquet")
