"""Strategies: which question is worth asking next. `BY_NAME` is what the command, the page and the tests go by."""

from collections.abc import Callable
from functools import partial

from labelwise.queries.base import Choice, ScoringStrategy, Strategy
from labelwise.queries.random import Random
from labelwise.queries.uncertainty import Uncertainty

BY_NAME: dict[str, Callable[[], Strategy]] = {
    "random": Random,
    "uncertainty": Uncertainty,
    "random_pairs": partial(Random, target="pairs"),
    "uncertainty_pairs": partial(Uncertainty, target="pairs"),
}

__all__ = ["BY_NAME", "Choice", "Random", "ScoringStrategy", "Strategy", "Uncertainty"]
