"""How a project stands, in figures: what status, report and page show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np

from labelwise.labelling.agreement import krippendorff_alpha
from labelwise.labelling.locks import worker_is_running
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.events import read_given_answers, read_votes, voters_count
from labelwise.labelling.store.items import count_items
from labelwise.labelling.store.labels import StoredLabels, read_labels
from labelwise.labelling.store.questions import count_ready, open_leases
from labelwise.labelling.store.schema import NO, UNSURE, YES
from labelwise.labelling.store.trainings import last_good, read_trainings
from labelwise.labelling.terms import Settings


@dataclass(frozen=True)
class LabelStatus:
    """One label: how often it was answered each way, how far people agree, and its share by the random questions."""

    name: str
    yes: int
    no: int
    unsure: int
    agreement: float | None
    base_rate: dict[str, float] | None


@dataclass(frozen=True)
class Status:
    """A project at one moment.

    `f1` is the estimate of the last good training on the items kept apart, with its interval; `course` is the same for
    every good training so far; `unseen` counts the answers that came after it, `trouble` says what is wrong, if
    anything is. `readings` counts an item once for answers in a row of one person about it, and `cost` is what readings
    and answers cost by the settings.
    """

    items: int
    answers: int
    answered_items: int
    readings: int
    cost: float
    people: dict[str, int]
    labels: tuple[LabelStatus, ...]
    f1: dict[str, Any] | None
    course: tuple[dict[str, Any], ...]
    ready: int
    leased: int
    worker: bool
    unseen: int
    trouble: str | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def status_of(project: ServedProject) -> Status:
    """Look at a project; one consistent view of the store, no model is loaded."""
    running = worker_is_running(project.store)
    with project.store.reading() as connection:
        votes, labels = read_votes(connection), read_labels(connection)
        trainings, good = read_trainings(connection), last_good(connection)
        counted, answered = voters_count(connection), read_given_answers(connection)
        unseen = sum(voters_count(connection, good.seen_event).values()) if good is not None else sum(counted.values())
        basics = {
            "items": count_items(connection),
            "ready": count_ready(connection),
            "leased": len(open_leases(connection)),
        }
    course = tuple(
        {"answers": row.report["answers"], **row.report["f1"]}
        for row in trainings
        if row.state == "good" and row.report and row.report.get("f1", {}).get("f1") is not None
    )
    report = good.report if good is not None and good.report else {}
    last = trainings[-1] if trainings else None
    trouble = None
    if last is not None and last.state in ("failed", "killed"):
        trouble = f"the last training {'failed' if last.state == 'failed' else 'was killed'}: {last.message}"
    return Status(
        **basics,
        answers=sum(counted.values()),
        answered_items=len(set(votes.item.tolist())),
        **_paid(answered, labels, project.settings),
        people=dict(Counter(counted).most_common()),
        labels=_label_table(votes, labels, report.get("base_rates", {})),
        f1=report.get("f1"),
        course=course,
        worker=running,
        unseen=unseen,
        trouble=trouble,
    )


def _paid(answered: Sequence[Any], labels: StoredLabels, settings: Settings) -> dict[str, Any]:
    """Readings and cost of what people answered, of labels that are no longer in use, too: what was paid stays paid."""
    readings = sum(1 for _ in groupby(answered, key=lambda row: (row.who, row.item)))
    counts = Counter(row.label for row in answered)
    names = list(labels.all_names.values())
    costs = settings.costs(names).of_labels(names)
    return {"readings": readings, "cost": costs.total(readings, [counts[label] for label in labels.all_names])}


def _label_table(votes: Any, labels: StoredLabels, base_rates: dict[str, Any]) -> tuple[LabelStatus, ...]:
    table = []
    for label, name in zip(labels.ids, labels.names, strict=True):
        mine = votes.label == label
        values, items = votes.value[mine], votes.item[mine]
        _, place = np.unique(items, return_inverse=True)
        alpha = krippendorff_alpha(
            np.bincount(place[values == YES], minlength=place.max(initial=-1) + 1),
            np.bincount(place[values == NO], minlength=place.max(initial=-1) + 1),
        )
        yes, no, unsure = (int((values == code).sum()) for code in (YES, NO, UNSURE))
        agreement = None if np.isnan(alpha) else round(alpha, 4)
        table.append(LabelStatus(name, yes, no, unsure, agreement, base_rates.get(name)))
    return tuple(table)
