"""Models: from items and answers to a posterior. `BY_NAME` is what the command, the page and the tests go by."""

from collections.abc import Callable

from labelwise.models.base import LabelModel
from labelwise.models.binary_relevance import BinaryRelevance

BY_NAME: dict[str, Callable[[], LabelModel]] = {
    "binary_relevance": BinaryRelevance,
}

__all__ = ["BY_NAME", "BinaryRelevance", "LabelModel"]
