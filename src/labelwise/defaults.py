"""What a campaign uses: what was chosen, and where nobody chose the winners of the study in docs/study.md."""

from __future__ import annotations

from typing import Any, Literal

from labelwise import models, queries
from labelwise.models import AutoModel, LabelGP
from labelwise.queries import BalancedPairs, LabelCovariance

START = 20  # random items answered in full before the strategy takes over
PAIR_KERNEL: Literal["rbf+linear"] = "rbf+linear"  # left to choose by answers that were chosen themselves, it jumps
PAIRS_FROM = 20  # labels, from which on single yes/no questions are asked
WORDS = ("auto", "items", "pairs")  # that leave the strategy to us


def default_model(name: Any, target: str) -> Any:
    """The model itself or by its name; for None what won where so is asked: "items" or "pairs".

    >>> type(default_model(None, "pairs")).__name__, type(default_model(None, "items")).__name__
    ('LabelGP', 'AutoModel')
    """
    if name is None:
        return LabelGP(PAIR_KERNEL) if target == "pairs" else AutoModel()
    if isinstance(name, str):
        if name not in models.BY_NAME:
            raise ValueError(f"model must be a model or one of {', '.join(models.BY_NAME)}, got {name!r}")
        return models.BY_NAME[name]()
    return checked("model", name, "posterior")


def default_strategy(name: Any, n_labels: int) -> Any:
    """The strategy itself or by its name, or the default for "items", "pairs", or (None, "auto") for so many labels.

    >>> type(default_strategy("auto", 300)).__name__, type(default_strategy("auto", 6)).__name__
    ('BalancedPairs', 'LabelCovariance')
    """
    if not is_left_open(name):
        if not isinstance(name, str):
            return checked("strategy", name, "choose")
        if name not in queries.BY_NAME:
            raise ValueError(
                f"strategy must be a strategy or one of {', '.join((*WORDS, *queries.BY_NAME))}, got {name!r}"
            )
        return queries.BY_NAME[name]()
    pairs = n_labels >= PAIRS_FROM if name in (None, "auto") else name == "pairs"
    return BalancedPairs() if pairs else LabelCovariance()


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
