"""Numbers in sentences, the same on the command line, on the page and in the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isinf
from typing import TYPE_CHECKING, Any

from labelwise.labelling.texts import ENGLISH, Texts
from labelwise.views.wording import counted

if TYPE_CHECKING:
    from labelwise.records.learning_curve import IntervalEstimate, Outlook

SHOWN = 5  # names in a sentence


def miss_line(misses: Any, t: Texts = ENGLISH) -> str:
    """How often somebody misses labels: `PersonMisses` in a sentence.

    >>> from types import SimpleNamespace
    >>> miss_line(SimpleNamespace(who="ann", found=66, missed=9, rate=0.124, low=0.07, high=0.19))
    'ann missed 9 of 75 labels when picking, as far as checked: about 12 % (7 to 19 %)'
    """
    checked = t.plain("count.labels", count=misses.found + misses.missed)
    rate, low, high = (t.number(100 * value) for value in (misses.rate, misses.low, misses.high))
    figures = {"missed": misses.missed, "labels": checked, "rate": rate, "low": low, "high": high}
    return t.plain("figures.missed", who=misses.who, **figures)


def encoding_line(encoding: Mapping[str, Any] | None, t: Texts = ENGLISH) -> str | None:
    """How far the vectors of the texts are; None where there is nothing to wait for.

    >>> encoding_line({"done": 1200, "of": 8000, "trouble": None})
    '1,200 of 8,000 texts have vectors; until all have, the model learns from words'
    """
    if encoding is None or (encoding["done"] == encoding["of"] and not encoding["trouble"]):
        return None
    key = "figures.vectors_stopped" if encoding["trouble"] else "figures.vectors"
    return t.plain(key, done=encoding["done"], of=encoding["of"], trouble=encoding["trouble"])


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


def why_no_f1(f1: Mapping[str, Any] | None, t: Texts = ENGLISH) -> str:
    """Why there is no estimate yet.

    >>> why_no_f1({"f1": None, "items": 1, "found": 2, "needed": 20})
    'not yet: 1 random item, 20 are needed'
    >>> why_no_f1({"f1": None, "items": 13, "found": 0, "needed": 20})
    'not yet: 13 random items, 20 are needed; no label was found among the random answers yet'
    """
    if f1 is None:
        return t.plain("figures.not_yet", why=t.plain("figures.f1_needs"))
    items, waits = t.plain("count.random_items", count=f1["items"]), []
    if f1["items"] < f1["needed"]:
        waits.append(t.plain("figures.f1_few", items=items, needed=f1["needed"]))
    if not f1["found"]:
        waits.append(t.plain("figures.f1_none_found"))
    return t.plain("figures.not_yet", why="; ".join(waits or [t.plain("figures.f1_nothing")]))


def roughly(seconds: float, t: Texts = ENGLISH) -> str:
    """A time that is only expected, in round figures.

    >>> roughly(70), roughly(23 * 60), roughly(5900), roughly(40 * 3600 + 900)
    ('1 min', '25 min', '1 h 40 min', '40 h')
    """
    minutes = seconds / 60
    step = next(size for limit, size in ((20, 1), (60, 5), (600, 10), (float("inf"), 60)) if minutes < limit)
    return t.duration(60 * max(step * round(minutes / step), step))


def to_target(f1: float, more: IntervalEstimate | None, t: Texts = ENGLISH) -> str:
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
    goal = f"F1 {t.number(f1, 2)}"
    if more is None:
        return t.plain("figures.goal_unknown", goal=goal)
    if isinf(more.low):
        return t.plain("figures.goal_far", goal=goal)
    least = roughly(more.low, t) if more.low else "0 min"
    if isinf(more.value):
        return t.plain("figures.goal_or_more", goal=goal, least=least)
    if more.high == 0:
        return t.plain("figures.goal_reached", goal=goal)
    most = "" if isinf(more.high) else roughly(more.high, t)
    if more.value == 0:
        return t.plain("figures.goal_probably" if most else "figures.goal_perhaps", goal=goal, most=most)
    key = "figures.goal_about" if most else "figures.goal_about_or_more"
    return t.plain(key, goal=goal, time=roughly(more.value, t), least=least, most=most)


def saving(standing: Mapping[str, Any], t: Texts = ENGLISH) -> str:
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
        return t.plain("figures.saving_unknown")
    ends = ("value", "high", "low") if saved["value"] < 0 else ("value", "low", "high")
    sign = -100 if saved["value"] < 0 else 100
    value, low, high = (t.number(sign * saved[name]) for name in ends)
    said = t.plain("figures.saving_none" if sign < 0 else "figures.saving", value=value, low=low, high=high)
    return t.plain("figures.doubt", said=said) if saved["low"] <= 0 <= saved["high"] else said


def standing_lines(standing: Mapping[str, Any] | None, outlook: Outlook | None = None, t: Texts = ENGLISH) -> list[str]:
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
        lines.append(t.plain("figures.strategy", points=_points(gain, t), spread=_spread(gain, t)))
    if standing.get("per_doubling") is not None:  # there is an estimate
        lines.append(t.plain("figures.saves", saving=saving(standing, t)))
        ahead = None if outlook is None or outlook.next_hour is None else vars(outlook.next_hour)
        brings = t.plain("figures.unknown") if ahead is None else f"{_points(ahead, t)} {_spread(ahead, t)}"
        lines.append(t.plain("figures.next_hour", brings=brings))
    if outlook is not None and outlook.target_f1 is not None:
        lines.append(t.plain("figures.goal", reached=to_target(outlook.target_f1, outlook.to_target, t)))
    lines += [_sweep_line(each, t) for each in standing.get("sweeps", ())[:1]]
    return [*lines, t.plain("figures.advice", advice=t.message(standing["advice"]))]


def _sweep_line(worth: Mapping[str, Any], t: Texts = ENGLISH) -> str:
    """What a page of a sweep is expected to bring.

    >>> _sweep_line({"label": "rare", "found": 5.6, "seconds": 15.0, "times": 3.14})
    'sweep: “rare” is worth a sweep, about 6 items with it on a page of 15 s, 3.1 times what whole items bring'
    """
    items, page = t.plain("count.items", count=round(worth["found"])), t.duration(worth["seconds"])
    times = t.number(worth["times"], 1)
    return t.plain("figures.sweep", label=worth["label"], items=items, page=page, times=times)


def _points(gain: Mapping[str, float], t: Texts) -> str:
    return t.plain("figures.points", points=t.number(100 * gain["value"], 1, "+"))


def _spread(gain: Mapping[str, float], t: Texts) -> str:
    return t.plain("figures.spread", **{name: t.number(100 * gain[name], 1, "+") for name in ("low", "high")})
