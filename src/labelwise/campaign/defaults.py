"""The defaults of a campaign, all measured: those of asking in docs/study.md, the decision in docs/decisions.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from labelwise import decisions, models, queries
from labelwise.campaign.guard import Guard
from labelwise.posterior import LabelPosterior

START_OF = {"items": 10, "pairs": 20}  # random items answered in full before the strategy takes over
BATCH = 10  # questions that a study asks between two trainings; a project plans its next ones in the same way
STRATEGY_OF = {"items": "variance_reduction", "pairs": "balanced_pairs"}
MODEL_OF: dict[str, tuple[str, dict[str, Any]]] = {
    "items": ("semi_supervised", {}),
    "pairs": ("label_gp", {"kernel": "rbf+linear"}),  # left to choose by answers that were chosen themselves, it jumps
}
WORDS = ("auto", "items", "pairs")  # that leave the strategy to us


class Model(Protocol):
    """What a campaign needs of a model; `partial_fit(X, Y, observed=...)` is used if the model has it.

    Learning in pieces must then give the same as one batch; otherwise a resumed campaign would ask other questions.
    A model with `learn_pool(X)` is shown the features of all items before it is fitted: it returns a model that has
    seen them. It is shown a pool in shards only if it says `reads_shards = True`.
    """

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Any: ...

    def posterior(self, X: Any) -> LabelPosterior: ...


@dataclass(frozen=True)
class Choices:
    """The settings of a campaign by name, with nothing left open; `guard` lets the random share follow the evidence.

    Examples
    --------
    >>> Choices.of().strategy, Choices.of().model
    ('variance_reduction', 'semi_supervised')
    >>> Choices.of(by_label=True).strategy  # labels with prices of their own
    'balanced_pairs'
    >>> Choices.of(strategy="uncertainty").control  # if you pass a strategy, the other defaults are switched off
    0.0
    """

    model: str
    strategy: str
    start: int
    control: float
    guard: bool
    model_options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: str | None = None,
        strategy: str | None = None,
        start: int | None = None,
        control: float | None = None,
        *,
        by_label: bool = False,
        model_options: Mapping[str, Any] | None = None,
    ) -> Choices:
        """What is given, and the defaults for what is None; `by_label` says that single labels have prices."""
        name = strategy_name(strategy, by_label=by_label)
        is_open = is_left_open(strategy)
        target = _by_name("strategy", name)().target
        default_model_name, default_options = MODEL_OF[target]
        return cls(
            model=default_model_name if model is None else model,
            model_options=default_options if model is None and model_options is None else dict(model_options or {}),
            strategy=name,
            start=(START_OF[target] if is_open else 0) if start is None else start,
            control=(Guard().control if is_open else 0.0) if control is None else control,
            guard=is_open and control is None,
        )


def default_model(name: Any, target: str) -> Any:
    """The model itself or by its name; for None the default where "items" or "pairs" are asked.

    A plain scikit-learn classifier or pipeline becomes a model of one classifier per label.

    >>> type(default_model(None, "pairs")).__name__, type(default_model(None, "items")).__name__
    ('LabelGP', 'SemiSupervised')
    """
    if name is None:
        default, options = MODEL_OF[target]
        return models.BY_NAME[default]().set_params(**options)
    if isinstance(name, str):
        return _by_name("model", name)()
    return checked("model", models.as_label_model(name), "posterior")


def default_decision(rule: Any = None) -> Any:
    """The rule itself; for None the default.

    >>> default_decision().average
    'samples'
    """
    return decisions.BY_NAME[decisions.DEFAULT]() if rule is None else checked("decision", rule, "decide")


def default_strategy(name: Any, *, by_label: bool) -> Any:
    """The strategy itself or by its name, or the default: "items", "pairs", or by whether labels have prices.

    >>> type(default_strategy("auto", by_label=True)).__name__, type(default_strategy("auto", by_label=False)).__name__
    ('BalancedPairs', 'LabelCovariance')
    """
    if name is None or isinstance(name, str):
        return _by_name("strategy", strategy_name(name, by_label=by_label))()
    return checked("strategy", name, "choose")


def strategy_name(name: str | None, *, by_label: bool = False) -> str:
    """A name in `labelwise.queries.BY_NAME`: the one given, or the default.

    A person reads an item once and picks its labels, so whole items are asked, unless single labels have prices.
    """
    if name is not None and not is_left_open(name):
        return name
    pairs = by_label if name in (None, "auto") else name == "pairs"
    return STRATEGY_OF["pairs" if pairs else "items"]


def _by_name(what: str, name: str) -> Any:
    known: Mapping[str, Any] = models.BY_NAME if what == "model" else queries.BY_NAME
    if name not in known:
        names = (*(WORDS if what == "strategy" else ()), *known)
        raise ValueError(f"{what} must be a {what} or one of {', '.join(names)}, got {name!r}")
    return known[name]


def is_left_open(strategy: Any) -> bool:
    """Whether nobody chose a strategy, so that start and control follow the defaults, too."""
    return strategy is None or (isinstance(strategy, str) and strategy in WORDS)


def checked(what: str, given: Any, method: str) -> Any:
    """What was given, if it is an object with such a method, and not the class of one.

    >>> checked("decision", "threshold", "decide")
    Traceback (most recent call last):
    TypeError: decision must be an object with a method `decide`, got 'threshold'
    """
    if isinstance(given, type):
        raise TypeError(f"{what} must be an instance, got the class: write {given.__name__}()")
    if not callable(getattr(given, method, None)):
        raise TypeError(f"{what} must be an object with a method `{method}`, got {given!r}")
    return given
