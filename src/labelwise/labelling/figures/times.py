"""How much time people spent, and how long a question of each kind takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from labelwise.labelling.store.timings import recent_times, time_totals

IN_WORDS = {"item": "whole items", "pair": "single labels", "further": "further labels", "sweep": "sweeps"}


@dataclass(frozen=True)
class PersonTime:
    """One person and one kind of question: how many were timed, the seconds in all, and the median of the latest."""

    who: str
    question: str
    timed: int
    seconds: float
    median: float | None

    @property
    def questions(self) -> str:
        return IN_WORDS.get(self.question, self.question)


def time_spent(connection: sa.Connection) -> tuple[PersonTime, ...]:
    """Of each person and kind of question, the most time first."""
    latest: dict[tuple[str, str], list[float]] = {}
    for row in recent_times(connection):
        latest.setdefault((row.who, row.question), []).append(row.seconds)
    found = []
    for who, question, timed, seconds in time_totals(connection):
        times = latest.get((who, question))
        median = None if times is None else round(float(np.median(times)), 2)
        found.append(PersonTime(who, question, timed, round(seconds, 3), median))
    return tuple(sorted(found, key=lambda each: (-each.seconds, each.who, each.question)))
