"""What a study runs: models × strategies × seeds under one schedule, on data at hand or on sets by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

from labelwise import models, queries
from labelwise.campaign.defaults import default_model
from labelwise.models import LabelModel
from labelwise.numerics.metrics import METRICS
from labelwise.queries import LookingStrategy, Strategy
from labelwise.queries.base import Target
from labelwise.studies.simulate import Schedule, target_of
from labelwise.studies.sources import BUILT_IN, PUBLISHED, Source, published
from labelwise.studies.tables import Arm

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
