"""Numbers in sentences, the same on the command line, on the page and in the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def counted(number: float, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "item"), counted(2000, "item"), counted(0, "person", "people")
    ('1 item', '2,000 items', '0 people')
    """
    whole = round(number)
    return f"{whole:,} {one if whole == 1 else many or one + 's'}"


def unlearnt(answers: int) -> str:
    """How far behind the answers a model is.

    >>> unlearnt(1)
    'the model has not learnt the last answer'
    """
    return f"the model has not learnt the last {'answer' if answers == 1 else counted(answers, 'answer')}"


def why_no_f1(f1: Mapping[str, Any] | None) -> str:
    """What an estimate that is not there waits for.

    >>> why_no_f1({"f1": None, "items": 1, "found": 2, "needed": 20})
    'not yet: 1 random item, 20 are needed'
    >>> why_no_f1({"f1": None, "items": 13, "found": 0, "needed": 20})
    'not yet: 13 random items, 20 are needed; no label was found among the random answers yet'
    """
    if f1 is None:
        return "not yet: it takes answers to questions asked at random, and a trained model"
    waits = [f"{counted(f1['items'], 'random item')}, {f1['needed']} are needed"] if f1["items"] < f1["needed"] else []
    waits += [] if f1["found"] else ["no label was found among the random answers yet"]
    return f"not yet: {'; '.join(waits or ['nothing was answered that a model could learn from'])}"
