"""Numbers in sentences, the same on the command line, on the page and in the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf
from typing import TYPE_CHECKING, Any

from labelwise.views.wording import counted, duration

if TYPE_CHECKING:
    from labelwise.records.learning_curve import IntervalEstimate, Outlook

SHOWN = 5  # names in a sentence


def miss_line(misses: Any) -> str:
    """How often somebody misses labels: `PersonMisses` in a sentence.

    >>> from types import SimpleNamespace
    >>> miss_line(SimpleNamespace(who="ann", found=66, missed=9, rate=0.124, low=0.07, high=0.19))
    'ann missed 9 of 75 labels when picking, as far as checked: about 12 % (7 to 19 %)'
    """
    rate, low, high = (f"{100 * value:.0f}" for value in (misses.rate, misses.low, misses.high))
    checked = counted(misses.found + misses.missed, "label")
    about = f"about {rate} % ({low} to {high} %)"
    return f"{misses.who} missed {misses.missed:,} of {checked} when picking, as far as checked: {about}"


def encoding_line(encoding: Mapping[str, Any] | None) -> str | None:
    """How far the vectors of the texts are; None where there is nothing to wait for.

    >>> encoding_line({"done": 1200, "of": 8000, "trouble": None})
    '1200 of 8000 texts have vectors; until all have, the model learns from words'
    """
    if encoding is None or (encoding["done"] == encoding["of"] and not encoding["trouble"]):
        return None
    why = (
        f"no more are made: {encoding['trouble']}"
        if encoding["trouble"]
        else "until all have, the model learns from words"
    )
    return f"{encoding['done']} of {encoding['of']} texts have vectors; {why}"


def opinion_line(judged: Mapping[str, Any]) -> str:
    """What a source of opinions is worth.

    >>> figures = {"coverage": 1.0, "items": 40, "precision": {"value": 0.6, "low": 0.52, "high": 0.68}, "recall": None}
    >>> opinion_line({"name": "gpt", **figures})
    'opinions of gpt: precision 0.60 (0.52 to 0.68), recall not known yet, by 40 random items'
    """
    said = []
    for what in ("precision", "recall"):
        figures = judged[what]
        said.append(f"{what} {'not known yet' if figures is None else interval(figures, 'value')}")
    part = "" if judged["coverage"] == 1 else f"; it speaks of {judged['coverage']:.0%} of the items"
    return f"opinions of {judged['name']}: {', '.join(said)}, by {counted(judged['items'], 'random item')}{part}"


def interval(figures: Mapping[str, float], key: str) -> str:
    """An estimate and how far it may be off."""
    return f"{figures[key]:.2f} ({figures['low']:.2f} to {figures['high']:.2f})"


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


def roughly(seconds: float) -> str:
    """A time that is only expected, in round figures.

    >>> roughly(70), roughly(23 * 60), roughly(5900), roughly(40 * 3600 + 900)
    ('1 min', '25 min', '1 h 40 min', '40 h')
    """
    minutes = seconds / 60
    step = next(size for limit, size in ((20, 1), (60, 5), (600, 10), (float("inf"), 60)) if minutes < limit)
    return duration(60 * max(step * round(minutes / step), step))


def to_target(f1: float, more: IntervalEstimate | None) -> str:
    """How much more time it takes to reach an F1.

    >>> from labelwise.records.learning_curve import IntervalEstimate as E
    >>> to_target(0.8, E(5900, 2400, 10800))
    'about 1 h 40 min more to reach F1 0.80 (40 min to 3 h)'
    >>> to_target(0.8, E(5900, 2400, float("inf")))
    'about 1 h 40 min more to reach F1 0.80 (40 min or more; perhaps it is never reached)'
    >>> to_target(0.9, E(float("inf"), 7200, float("inf")))
    'not known yet how long it takes to reach F1 0.90: 2 h or more; perhaps it is never reached'
    >>> to_target(0.9, E(float("inf"), float("inf"), float("inf")))
    'F1 0.90 is not in sight: it takes more than ten times the time so far, or is never reached'
    >>> to_target(0.5, E(0, 0, 0)), to_target(0.5, E(0, 0, 1200))
    ('F1 0.50 is reached', 'F1 0.50 is probably reached; at most 20 min more')
    >>> to_target(0.8, None)
    'not known yet how long it takes to reach F1 0.80'
    """
    goal, never = f"F1 {f1:.2f}", "perhaps it is never reached"
    if more is None:
        return f"not known yet how long it takes to reach {goal}"
    if isinf(more.low):
        return f"{goal} is not in sight: it takes more than ten times the time so far, or is never reached"
    if isinf(more.value):
        return f"not known yet how long it takes to reach {goal}: {roughly(more.low)} or more; {never}"
    if more.value == 0:
        left = f"; {never}" if isinf(more.high) else f"; at most {roughly(more.high)} more"
        return f"{goal} is reached" if more.high == 0 else f"{goal} is probably reached{left}"
    least = roughly(more.low) if more.low else "0 min"
    spread = f"{least} or more; {never}" if isinf(more.high) else f"{least} to {roughly(more.high)}"
    return f"about {roughly(more.value)} more to reach {goal} ({spread})"


def saving(standing: Mapping[str, Any]) -> str:
    """The time that the strategy saves against random questions, or why that is not known.

    >>> saving({"saved": {"value": 0.38, "low": -0.1, "high": 0.6}})
    '38 % of the time of random questions (-10 % to 60 %); noise may explain it'
    >>> saving({"saved": {"value": -0.5, "low": -0.9, "high": -0.2}})
    'none: it takes 50 % longer than random questions (20 % to 90 %)'
    >>> saving({"saved": {"value": -0.5, "low": -0.9, "high": 0.2}})
    'none: it takes 50 % longer than random questions (-20 % to 90 %); noise may explain it'
    >>> saving({"over_random": None, "saved": None})
    'not known: all questions so far were random'
    """
    saved = standing.get("saved")
    if saved is None:
        return "not known: all questions so far were random"
    doubt = "; noise may explain it" if saved["low"] <= 0 <= saved["high"] else ""
    if saved["value"] < 0:
        value, low, high = (f"{-100 * saved[name]:.0f} %" for name in ("value", "high", "low"))
        return f"none: it takes {value} longer than random questions ({low} to {high}){doubt}"
    value, low, high = (f"{100 * saved[name]:.0f} %" for name in ("value", "low", "high"))
    return f"{value} of the time of random questions ({low} to {high}){doubt}"


def standing_lines(standing: Mapping[str, Any] | None, outlook: Outlook | None = None) -> list[str]:
    """What the random questions show: the strategy, the time it saves, what more time brings, and whether to stop.

    >>> gain = {"value": 0.031, "low": -0.01, "high": 0.07}
    >>> for line in standing_lines({"over_random": gain, "saved": gain, "per_doubling": gain, "advice": "go on"}):
    ...     print(line)
    strategy: +3.1 points of F1 over random questions that took as long (-1.0 to +7.0)
    saving: 3 % of the time of random questions (-1 % to 7 %); noise may explain it
    next hour: not known yet
    advice: go on
    """
    if standing is None:
        return []
    lines, gain = [], standing.get("over_random")
    if gain is not None:
        lines.append(f"strategy: {_points(gain)} over random questions that took as long {_spread(gain)}")
    if standing.get("per_doubling") is not None:  # there is an estimate
        lines.append(f"saving: {saving(standing)}")
        ahead = None if outlook is None or outlook.next_hour is None else vars(outlook.next_hour)
        lines.append(f"next hour: {'not known yet' if ahead is None else f'{_points(ahead)} {_spread(ahead)}'}")
    if outlook is not None and outlook.target_f1 is not None:
        lines.append(f"goal: {to_target(outlook.target_f1, outlook.to_target)}")
    lines += [_sweep_line(each) for each in standing.get("sweeps", ())[:1]]
    return [*lines, f"advice: {standing['advice']}"]


def _sweep_line(worth: Mapping[str, Any]) -> str:
    """What a page of a sweep is expected to bring.

    >>> _sweep_line({"label": "rare", "found": 5.6, "seconds": 15.0, "times": 3.14})
    'sweep: “rare” is worth a sweep, about 6 items with it on a page of 15 s, 3.1 times what whole items bring'
    """
    page = f"about {counted(worth['found'], 'item')} with it on a page of {duration(worth['seconds'])}"
    return f"sweep: “{worth['label']}” is worth a sweep, {page}, {worth['times']:.1f} times what whole items bring"


def _points(gain: Mapping[str, float]) -> str:
    return f"{100 * gain['value']:+.1f} points of F1"


def _spread(gain: Mapping[str, float]) -> str:
    return f"({100 * gain['low']:+.1f} to {100 * gain['high']:+.1f})"
