"""Numbers in sentences, the same on the command line, on the page and in the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SHOWN = 5  # names in a sentence


def counted(number: float, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "item"), counted(2000, "item"), counted(0, "person", "people")
    ('1 item', '2,000 items', '0 people')
    """
    whole = round(number)
    return f"{whole:,} {one if whole == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """A time as people say it.

    >>> duration(4.25), duration(75), duration(3600 * 2 + 60 * 7), duration(0)
    ('4.2 s', '1 min 15 s', '2 h 07 min', '0 s')
    """
    if seconds < 59.5:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s".replace(" 00 s", "")
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min".replace(" 00 min", "")


def unlearnt(answers: int) -> str:
    """How far behind the answers a model is.

    >>> unlearnt(1)
    'the model has not learnt the last answer'
    """
    return f"the model has not learnt the last {'answer' if answers == 1 else counted(answers, 'answer')}"


def left_out(labels: Sequence[str], of: int) -> str:
    """The labels that are not predicted, and how to include them.

    >>> left_out(["go"], 5)
    "1 of 5 labels was left out, because it has no yes so far: 'go'; --every-label includes it"
    """
    names = ", ".join(map(repr, labels[:SHOWN])) + (", ..." if len(labels) > SHOWN else "")
    was, has, them = ("was", "it has", "it") if len(labels) == 1 else ("were", "they have", "them")
    sentence = f"{len(labels):,} of {counted(of, 'label')} {was} left out, because {has} no yes so far"
    return f"{sentence}: {names}; --every-label includes {them}"


def why_no_f1(f1: Mapping[str, Any] | None) -> str:
    """Why there is no estimate yet.

    >>> why_no_f1({"f1": None, "items": 1, "found": 2, "needed": 20})
    'not yet: 1 random item, 20 are needed'
    >>> why_no_f1({"f1": None, "items": 13, "found": 0, "needed": 20})
    'not yet: 13 random items, 20 are needed; no label was found among the random answers yet'
    """
    if f1 is None:
        return "not yet: it needs answers to random questions, and a trained model"
    waits = [f"{counted(f1['items'], 'random item')}, {f1['needed']} are needed"] if f1["items"] < f1["needed"] else []
    waits += [] if f1["found"] else ["no label was found among the random answers yet"]
    return f"not yet: {'; '.join(waits or ['nothing was answered that a model could learn from'])}"


def standing_lines(standing: Mapping[str, Any] | None) -> list[str]:
    """What the random questions show about the strategy and about stopping, one line each.

    >>> gain = {"value": 0.031, "low": -0.01, "high": 0.07}
    >>> standing_lines({"over_random": gain, "saved": {"value": 0.5}, "advice": "go on: it still rises"})
    ['strategy: +3.1 points of F1 over random questions (-1.0 to +7.0)', 'advice: go on: it still rises']
    """
    if standing is None:
        return []
    lines, gain = [], standing.get("over_random")
    if gain is not None:
        points = [f"{100 * gain[name]:+.1f}" for name in ("value", "low", "high")]
        lines.append(f"strategy: {points[0]} points of F1 over random questions ({points[1]} to {points[2]})")
    return [*lines, f"advice: {standing['advice']}"]
