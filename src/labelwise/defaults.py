"""What a campaign uses where nobody chose: the winners of the study in docs/study.md."""

from __future__ import annotations

from typing import Any, Literal

from labelwise.models import AutoModel, LabelGP
from labelwise.queries import BalancedPairs, LabelCovariance

START = 20  # random items answered in full before the strategy takes over
PAIR_KERNEL: Literal["rbf+linear"] = "rbf+linear"  # left to choose by answers that were chosen themselves, it jumps
PAIRS_FROM = 20  # labels, from which on single yes/no questions are asked


def default_model(name: Any, target: str) -> Any:
    """The model itself; `AutoModel` for "auto"; for None what won where so is asked: "items" or "pairs".

    >>> type(default_model(None, "pairs")).__name__, type(default_model(None, "items")).__name__
    ('LabelGP', 'AutoModel')
    """
    if name is None:
        return LabelGP(PAIR_KERNEL) if target == "pairs" else AutoModel()
    if name == "auto":
        return AutoModel()
    if isinstance(name, str):
        raise ValueError(f'model must be a model or "auto", got {name!r}; see labelwise.models.BY_NAME')
    return name


def default_strategy(name: Any, n_labels: int) -> Any:
    """The strategy itself, or the default for "items", for "pairs", or (None, "auto") for so many labels.

    >>> type(default_strategy("auto", 300)).__name__, type(default_strategy("auto", 6)).__name__
    ('BalancedPairs', 'LabelCovariance')
    """
    if not (name is None or isinstance(name, str)):
        return name
    if name not in (None, "auto", "items", "pairs"):
        raise ValueError(f'strategy must be a strategy, "auto", "items" or "pairs", got {name!r}')
    pairs = n_labels >= PAIRS_FROM if name in (None, "auto") else name == "pairs"
    return BalancedPairs() if pairs else LabelCovariance()
