"""How a project comes along, as the page shows it: read from what the worker wrote down, no model is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.browsing import answers_by_day, count_answered_items, next_questions
from labelwise.labelling.store.events import voters_count
from labelwise.labelling.store.items import count_items
from labelwise.labelling.store.labels import StoredLabels, read_labels
from labelwise.labelling.store.questions import count_ready
from labelwise.labelling.store.schema import WHOLE_ITEM
from labelwise.labelling.store.trainings import last_good, last_training, read_course
from labelwise.labelling.terms import CONTROL

NEXT = 100  # questions and answers to look ahead


@dataclass(frozen=True)
class LabelFigures:
    """One label: how often it was answered each way, Krippendorff's alpha, and its share on the random questions."""

    name: str
    yes: int
    no: int
    unsure: int
    alpha: float | None
    base_rate: Mapping[str, float] | None


@dataclass(frozen=True)
class PairFigures:
    """Two people: the labels both said yes or no to, the share they agree on, and Cohen's kappa."""

    first: str
    second: str
    both: int
    share: float
    kappa: float | None


@dataclass(frozen=True)
class NextQuestions:
    """The questions to be asked next: how many, how many of them at random, and the yes that is expected of them."""

    number: int
    at_random: int
    yes: float | None
    labels: tuple[tuple[str, float], ...]  # those with most yes expected, most first


@dataclass(frozen=True)
class Progress:
    """A project at one moment; what the worker found is as of its last good training at `trained_at`.

    `days` has days since 1970 (UTC), every one from the first to the last answer; `by_person` has for each person as
    many numbers. `unseen` is how many answers came after the training.
    """

    items: int
    answered_items: int
    ready: int
    days: range
    by_person: Mapping[str, tuple[int, ...]]
    labels: tuple[LabelFigures, ...]
    pairs: tuple[PairFigures, ...]
    f1: Mapping[str, Any] | None
    course: tuple[Mapping[str, Any], ...]
    calibration: Mapping[str, Any] | None
    forecast: Mapping[str, Any] | None
    following: NextQuestions
    trained_at: float | None
    unseen: int
    trouble: str | None

    @property
    def answers(self) -> int:
        return sum(map(sum, self.by_person.values()))

    @property
    def people(self) -> dict[str, int]:
        """Answers of each person, the busiest first."""
        totals = {who: sum(numbers) for who, numbers in self.by_person.items()}
        return dict(sorted(totals.items(), key=lambda pair: (-pair[1], pair[0])))


def progress_of(project: ServedProject) -> Progress:
    """Look at a project; one consistent view of the store."""
    with project.store.reading() as connection:
        good, last, labels = last_good(connection), last_training(connection), read_labels(connection)
        days, by_person = _by_day(answers_by_day(connection))
        report = (good.report or {}) if good is not None else {}
        return Progress(
            items=count_items(connection),
            answered_items=count_answered_items(connection),
            ready=count_ready(connection),
            days=days,
            by_person=by_person,
            labels=_labels(labels, report),
            pairs=tuple(_pair(*figures) for figures in report.get("pairs", ())),
            f1=report.get("f1"),
            course=_course(connection),
            calibration=report.get("calibration"),
            forecast=report.get("forecast"),
            following=_following(connection, labels),
            trained_at=None if good is None else good.finished_at,
            unseen=sum(voters_count(connection, 0 if good is None else good.seen_event).values()),
            trouble=_trouble(last),
        )


def _by_day(counted: list[tuple[int, str, int]]) -> tuple[range, dict[str, tuple[int, ...]]]:
    if not counted:
        return range(0), {}
    days = range(counted[0][0], counted[-1][0] + 1)
    table: dict[str, list[int]] = {who: [0] * len(days) for who in sorted({who for _, who, _ in counted})}
    for day, who, number in counted:
        table[who][day - days.start] = number
    return days, {who: tuple(numbers) for who, numbers in table.items()}


def _course(connection: sa.Connection) -> tuple[dict[str, Any], ...]:
    reports = read_course(connection)
    return tuple(
        {"answers": report["answers"], **report["f1"]}
        for report in reports
        if (report.get("f1") or {}).get("f1") is not None
    )


def _labels(labels: StoredLabels, report: Mapping[str, Any]) -> tuple[LabelFigures, ...]:
    said, rates = report.get("labels", {}), report.get("base_rates", {})
    table = []
    for label, name in zip(labels.ids, labels.names, strict=True):
        yes, no, unsure, alpha = said.get(str(label), (0, 0, 0, None))
        table.append(LabelFigures(name, yes, no, unsure, alpha, rates.get(name)))
    return tuple(table)


def _pair(first: str, second: str, both: int, same: int, kappa: float | None) -> PairFigures:
    return PairFigures(first, second, both, same / both, kappa)


def _following(connection: sa.Connection, labels: StoredLabels) -> NextQuestions:
    """What the stored beliefs expect of the next questions: the probabilities of the labels asked about, summed."""
    asked = next_questions(connection, NEXT)
    at_random = sum(row.reason == CONTROL for row in asked)
    expected, any_beliefs = np.zeros(len(labels.ids)), False
    for row in asked:
        p = np.frombuffer(row.beliefs or b"", dtype="<f4")
        if p.size == expected.size:
            any_beliefs = True
            where = slice(None) if row.label == WHOLE_ITEM else labels.column_of[row.label]
            expected[where] += p[where]
    most = np.argsort(-expected, kind="stable")[:10]
    found = tuple((labels.names[column], float(expected[column])) for column in most.tolist() if expected[column] > 0)
    return NextQuestions(len(asked), at_random, float(expected.sum()) if any_beliefs else None, found)


def _trouble(last: sa.Row | None) -> str | None:
    if last is None or last.state not in ("failed", "killed"):
        return None
    return f"The last training {'failed' if last.state == 'failed' else 'was killed'}: {last.message}"
