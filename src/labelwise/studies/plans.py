"""What a study runs: models × strategies × seeds under one schedule, on data at hand, sets by name, or from a file."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from labelwise import models, queries
from labelwise.campaign import Costs
from labelwise.campaign.defaults import default_model
from labelwise.models import LabelModel
from labelwise.numerics.metrics import METRICS
from labelwise.numerics.user_input import check_choices
from labelwise.queries import LookingStrategy, Strategy
from labelwise.queries.base import Target
from labelwise.studies.simulate import Schedule, target_of
from labelwise.studies.sources import BUILT_IN, PUBLISHED, Source, published
from labelwise.studies.tables import Arm
from labelwise.views.wording import did_you_mean

DEFAULT_MODEL = "default"  # the default model of a campaign: it depends on what is asked
DEFAULT_STRATEGIES: dict[str, Target] = {"default_items": "items", "default_pairs": "pairs"}  # its default strategies
ARENA_METRICS = ("macro_roc_auc", "macro_f1", "precision_at_1_3", "macro_average_precision")


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
                near = did_you_mean(unknown[0], known)
                raise ValueError(f"there is no {what} {unknown[0]!r}{near}; there are {', '.join(known)}")
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

    def hints_for(self, model: str) -> str | None:
        """Names of labels are believed with the default model, as in a campaign; a model by its name runs as it is."""
        return "auto" if model == DEFAULT_MODEL else None

    def runs(self) -> list[tuple[str, str, int]]:
        """(model, strategy, seed), seed by seed, so that a study stopped half-way has whole seeds to show."""
        return [(*arm, seed) for seed in self.seeds for arm in self.arms()]

    def arms(self) -> list[Arm]:
        """(model, strategy) that run."""
        return list(self.pairings) or list(product(self.models, self.strategies))


@dataclass(frozen=True)
class Entrant:
    """A model and the strategies it runs with; `options` are parameters of the model that differ from its defaults.

    Examples
    --------
    >>> Entrant("label_gp", ("random", "uncertainty")).strategies
    ('random', 'uncertainty')
    """

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
    metrics : names in `labelwise.numerics.metrics.METRICS`
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
            near = did_you_mean(unknown[0], METRICS)
            raise ValueError(f"there is no metric {unknown[0]!r}{near}; there are {', '.join(METRICS)}")
        check_choices(self, scale=("auto", "none"))
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


def model_names() -> list[str]:
    """Models that a plan may name: the registered ones, and `default`, the default model of a campaign."""
    return [*models.BY_NAME, DEFAULT_MODEL]


def strategy_names() -> list[str]:
    """Strategies that a plan may name: the registered ones, and the default strategies of a campaign."""
    return [*queries.BY_NAME, *DEFAULT_STRATEGIES]


def make_strategy(name: str) -> Strategy | LookingStrategy | Target:
    """A strategy by its name; for a default the word that a campaign takes for it."""
    return DEFAULT_STRATEGIES[name] if name in DEFAULT_STRATEGIES else queries.BY_NAME[name]()


def control_of(strategy: str) -> str | None:
    """The random strategy that asks for the same (items or pairs): what this one has to beat."""
    target = target_of(make_strategy(strategy))
    made = {name: make() for name, make in queries.BY_NAME.items()}
    return next((n for n, s in made.items() if isinstance(s, queries.Random) and s.target == target), None)


def _refuse_twins(what: str, names: Sequence[str]) -> None:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise ValueError(f"there are several {what} {twice[0]!r}; give each once")


BUILT_IN_SOURCES = tuple(Source(name, limit=1500) for name in BUILT_IN)
QUICK_SETS = ("emotions", "scene", "medical", "enron")  # published ones that the quick arena adds where they are given
RIVAL_STRATEGIES = ("expected_loss_reduction", "adaptive_margin", "dummy_label_ranking", "ranked_inconsistency")
# What a campaign does by itself, with random questions beside it.
DEFAULT_ENTRANT = Entrant(DEFAULT_MODEL, ("random", "default_items", "random_pairs", "default_pairs"))


def quick_arena(folder: Path | None = None) -> Arena:
    """Minutes on two cores: the sets that ship with labelwise and, where a folder has them, four small published ones.

    >>> [source.name for source in quick_arena().sources]
    ['yeast', 'gaussian', 'shapes', 'digits', 'tickets', 'words']
    """
    more = [] if folder is None else published(folder, QUICK_SETS)
    entrants = (
        DEFAULT_ENTRANT,
        Entrant("label_gp", ("random", "uncertainty", "mutual_information", "label_covariance", "balanced_pairs")),
        Entrant("binary_relevance", ("random", "uncertainty", *RIVAL_STRATEGIES, "balanced_pairs")),
    )
    schedule = Schedule(start=30, rounds=5, batch=20, pool_limit=800, test_limit=600)
    return Arena((*BUILT_IN_SOURCES, *more), entrants, (0, 1, 2), schedule, "arena-quick")


def papers_arena(folder: Path) -> Arena:
    """The published sets of a folder, with each paper's model and strategy, the rivals, and yes/no questions."""
    sets = published(folder)
    if not sets:
        named = ", ".join(f"{name}/" for name in PUBLISHED)
        raise ValueError(f"there is no published set in {folder}; expected folders {named}")
    entrants = (
        DEFAULT_ENTRANT,
        Entrant("label_gp", ("random", "uncertainty", "mutual_information", "label_covariance", "balanced_pairs")),
        Entrant("compressed_label_gp", ("random", "mutual_information")),
        Entrant("orthogonal_target_gp", ("random", "target_entropy")),
        Entrant("label_mixture_gp", ("random", "label_covariance")),
        Entrant("binary_relevance", ("random", "uncertainty", *RIVAL_STRATEGIES, "balanced_pairs")),
    )
    schedule = Schedule(start=50, rounds=5, batch=50, pool_limit=1500, test_limit=1000)
    return Arena(tuple(sets), entrants, (0, 1, 2), schedule, "arena-papers")


# -- studies written down in a file -----------------------------------------------------------------------------------


KIND_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "text in quotes",
    list: "a list in brackets",
    dict: "a table",
}
TOP_KEYS = {"name": str, "seeds": (int, list), "metrics": list, "scale": str}
TOP_TABLES = {"schedule": dict, "data": (list, dict), "entrants": (list, dict)}
DATA_KEYS = {"source": str, "name": str, "test": str, "labels": (str, int, list), "text": str, "id": str, "limit": int}
ENTRANT_KEYS = {"model": str, "strategies": list, "options": dict}
SCHEDULE_KEYS = {
    **{each.name: int for each in fields(Schedule) if each.name not in ("test_share", "costs")},
    "test_share": float,
    "costs": dict,
}
COST_KEYS: dict[str, type] = {each.name: float for each in fields(Costs)} | {"labels": dict, "unit": str, "list": str}


class ArenaFileError(ValueError):
    """What is wrong in a study file, where, and how to correct it."""


def read_arena(path: str | Path) -> Arena:
    """The arena of a TOML file; paths in it are relative to the file.

    Raises
    ------
    ArenaFileError
        Naming the file, the key, the value found there and what to write instead.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise ArenaFileError(f"{path}: not TOML: {error}; see https://toml.io for the syntax") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, brackets in brackets
        raise ArenaFileError(f"{path}: cannot be read: {error}; save it as UTF-8 text, see https://toml.io") from error
    here = _Table(path, "", content)
    here.check({**TOP_KEYS, **TOP_TABLES})
    sources = [_source(each) for each in here.tables("data", "one [[data]] table per set")]
    entrants = [_entrant(each) for each in here.tables("entrants", "one [[entrants]] table per model")]
    here.named("metrics", content.get("metrics", ()), METRICS)
    given: dict[str, Any] = {key: content[key] for key in ("metrics", "scale") if key in content}
    if "seeds" in content:
        given["seeds"] = _seeds(here)
    name = content.get("name", path.stem)
    return here.made(lambda: Arena(tuple(sources), tuple(entrants), schedule=_schedule(here), name=name, **given))


class _Table:
    """A table of the file, with where it stands."""

    def __init__(self, path: Path, where: str, content: Mapping[str, Any]) -> None:
        self.path, self.where, self.content = path, where, content

    def check(self, kinds: Mapping[str, Any]) -> None:
        """Refuse keys that are not known and values of another kind."""
        for key, value in self.content.items():
            if key not in kinds:
                near = did_you_mean(key, kinds)
                raise self.wrong(key, value, f"there is no such key{near}; there are {', '.join(kinds)}")
            wanted = kinds[key] if isinstance(kinds[key], tuple) else (kinds[key],)
            fits = isinstance(value, (*wanted, int) if float in wanted else wanted) and not isinstance(value, bool)
            if not fits:
                raise self.wrong(key, value, f"write {' or '.join(KIND_NAMES[kind] for kind in wanted)}")

    def needed(self, key: str, cure: str) -> Any:
        if key not in self.content:
            raise self.wrong(key, None, cure)
        return self.content[key]

    def named(self, key: str, names: Iterable[Any], known: Iterable[str]) -> None:
        """Refuse names that are not known."""
        for name in names:
            if name not in known:
                near = did_you_mean(name, known)
                raise self.wrong(key, name, f"there is none of that name{near}; there are {', '.join(known)}")

    def tables(self, key: str, cure: str) -> list[_Table]:
        """The tables of an array, each with its number."""
        found = self.needed(key, f"write {cure}")
        if not isinstance(found, list) or not found or not all(isinstance(each, dict) for each in found):
            raise self.wrong(key, found, f"write {cure}")
        return [_Table(self.path, f"{key}[{place}].", each) for place, each in enumerate(found)]

    def made(self, make: Callable[[], Any]) -> Any:
        """The object that the table describes; an invalid value is reported with the file and the key."""
        try:
            return make()
        except ArenaFileError:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            place = f"{self.where.removesuffix('.')}: " if self.where else ""
            raise ArenaFileError(f"{self.path}: {place}{error}") from error

    def wrong(self, key: str, value: Any, cure: str) -> ArenaFileError:
        found = "is missing" if value is None else f"is {value!r}"
        return ArenaFileError(f"{self.path}: {self.where}{key} {found}: {cure}")


def _source(table: _Table) -> Source:
    table.check(DATA_KEYS)
    given = dict(table.content)
    source = table.needed("source", f"name a built-in set ({', '.join(BUILT_IN)}) or a file")
    folder = table.path.parent
    for key in ("source", "test"):
        if key in given and not (key == "source" and source in BUILT_IN and not os.path.isfile(folder / source)):
            if not os.path.isfile(folder / given[key]):  # False also for a name that is too long to be one
                raise table.wrong(key, given[key], f"there is no such file beside {table.path.name}; correct the path")
            given[key] = folder / given[key]
    given["source"] = str(given["source"])
    return table.made(lambda: Source(**given))


def _entrant(table: _Table) -> Entrant:
    table.check(ENTRANT_KEYS)
    table.named("model", [table.needed("model", "name a model")], model_names())
    cure = 'list strategies, as ["random", "uncertainty"]'
    if not table.needed("strategies", cure):
        raise table.wrong("strategies", [], cure)
    table.named("strategies", table.content["strategies"], strategy_names())
    return table.made(lambda: Entrant(**table.content))


def _schedule(here: _Table) -> Schedule:
    table = _Table(here.path, "schedule.", here.content.get("schedule", {}))
    table.check(SCHEDULE_KEYS)
    given = dict(table.content)
    if "costs" in given:
        prices = _Table(here.path, "schedule.costs.", given["costs"])
        prices.check(COST_KEYS)
        own = {key: value for key, value in prices.content.items() if key != "list"}
        named = prices.content.get("list")
        given["costs"] = prices.made(lambda: Costs(**own) if named is None else replace(Costs.named(named), **own))
    return table.made(lambda: Schedule(**given))


def _seeds(here: _Table) -> tuple[int, ...]:
    seeds = here.content["seeds"]
    if isinstance(seeds, list):
        if not seeds or not all(type(seed) is int for seed in seeds):
            raise here.wrong("seeds", seeds, "list whole numbers, or give their count")
        return tuple(seeds)
    if seeds < 1:
        raise here.wrong("seeds", seeds, "give at least 1")
    return tuple(range(seeds))
