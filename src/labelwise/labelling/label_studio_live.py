"""Label Studio beside us: what it is told of its tasks, and what its annotations tell the project.

Label Studio asks for predictions of tasks and posts annotations as they are made, changed and deleted. Where it orders
tasks by the score of predictions it takes the lowest first, so a score here says when to ask: the questions that are
ready come first in their order, then the rest by what is open, then what is known.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import sqlalchemy as sa

from labelwise.data.errors import FormatError
from labelwise.labelling.browse import Browser, LabelOfItem
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.label_studio import item_of_task, read_annotation
from labelwise.labelling.served import ServedProject
from labelwise.labelling.service import check_person
from labelwise.labelling.store.events import NewEvent, add_event, events_of_leases
from labelwise.labelling.store.items import known_items
from labelwise.labelling.store.labels import StoredLabels, read_labels
from labelwise.labelling.store.questions import withdraw
from labelwise.labelling.store.schema import UNSURE, WHOLE_ITEM
from labelwise.labelling.terms import TOLD, Event

MOST_TASKS = 1000  # of one request
WRITTEN = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED")
DELETED = "ANNOTATIONS_DELETED"
ASKED_FIRST = 0.5  # scores below are questions that are ready, above are the other tasks

Beliefs = Callable[[Sequence[Any]], Sequence[Mapping[str, float]]]  # probabilities of labels, of contents not ours


@dataclass(frozen=True)
class Config:
    """The choices of a labelling interface: their name, what they are about, and which there are (None: unknown)."""

    from_name: str = "labels"
    to_name: str = "text"
    choices: frozenset[str] | None = None

    @classmethod
    def read(cls, text: Any, labels: Sequence[str]) -> Config:
        """From the XML of a labelling interface: its `Choices` with most of our labels; the default where it has none.

        >>> Config.read('<View><Choices name="t" toName="x"><Choice value="a"/></Choices></View>', ["a", "b"])
        Config(from_name='t', to_name='x', choices=frozenset({'a'}))
        """
        if not isinstance(text, str) or "<!" in text:  # a document type may hold entities that never end
            return cls()
        try:
            found = list(ElementTree.fromstring(text).iter("Choices"))
        except (ElementTree.ParseError, ValueError, RecursionError):
            return cls()
        best, most = cls(), -1
        for choices in found:
            values = frozenset(
                filter(None, (each.get("alias") or each.get("value") for each in choices.iter("Choice")))
            )
            common = len(values & set(labels))
            if common > most:
                best = cls(choices.get("name") or "labels", choices.get("toName") or "text", values or None)
                most = common
        return best


def predictions_of(browser: Browser, tasks: Sequence[Any], config: Config, believe: Beliefs) -> list[dict[str, Any]]:
    """A prediction for each task, in their order.

    Tasks are items of the project by `meta.item` or their id; others are believed by `believe`, from their data.
    """
    if len(tasks) > MOST_TASKS:
        raise ProjectError(f"at most {MOST_TASKS} tasks can be predicted at once, got {len(tasks)}")
    names = [item_of_task(task) if isinstance(task, Mapping) else None for task in tasks]
    ours = browser.standing_of([name for name in names if name is not None])
    strange = [i for i, name in enumerate(names) if name not in ours]
    contents = [tasks[i].get("data") if isinstance(tasks[i], Mapping) else None for i in strange]
    guessed = dict(zip(strange, believe(contents), strict=True))
    found = []
    for i, name in enumerate(names):
        if name in ours:
            labels, rank = ours[name]
            found.append(_prediction(_expected(labels), _score(labels, rank), config))
        else:
            p = guessed[i]
            found.append(_prediction(p, ASKED_FIRST + _certainty(list(p.values())) / 2, config))
    return found


def _expected(labels: Sequence[LabelOfItem]) -> dict[str, float]:
    """What is known stands; of the rest what is believed, where there is a belief."""
    found = {}
    for label in labels:
        if label.known is not None:
            found[label.name] = float(label.known)
        elif label.probability is not None:
            found[label.name] = label.probability
    return found


def _score(labels: Sequence[LabelOfItem], rank: float | None) -> float:
    """Lowest first: the place among the ready questions, then what is open, then what is known."""
    if rank is not None:
        return ASKED_FIRST * rank
    still_open = [label.probability for label in labels if label.known is None]
    if not still_open:
        return 1.0
    return ASKED_FIRST + _certainty([p for p in still_open if p is not None]) / 2 * 0.99


def _certainty(p: Sequence[float]) -> float:
    """0 where all is open, 1 where nothing is: how far probabilities are from one half, on average."""
    return float(np.abs(2 * np.asarray(p, dtype=np.float64) - 1).mean()) if len(p) else 0.0


def _prediction(believed: Mapping[str, float], score: float, config: Config) -> dict[str, Any]:
    usable = {name: p for name, p in believed.items() if config.choices is None or name in config.choices}
    chosen = [name for name, p in usable.items() if p > 0.5]
    result = {
        "from_name": config.from_name,
        "to_name": config.to_name,
        "type": "choices",
        "value": {"choices": chosen},
        "score": round(_certainty(list(usable.values())), 4),
    }
    return {"result": [result] if chosen else [], "score": round(score, 6)}


def take_in(project: ServedProject, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a webhook says: an annotation made, changed or deleted. Said twice, it counts once; the latest stands."""
    action = body.get("action")
    source = _source(body.get("project"))
    if action in WRITTEN:
        return _take_annotation(project, body, source)
    if action == DELETED:
        listed = body.get("annotations")
        numbers = [_number(each) for each in listed] if isinstance(listed, list) else [_number(body.get("annotation"))]
        back = project.store.write(lambda connection: [_take_back(connection, source, each) for each in numbers])
        return {"taken_back": sum(back)}
    return {"ignored": "nothing to do: training follows the answers by itself"}


def _take_annotation(project: ServedProject, body: Mapping[str, Any], source: str) -> dict[str, Any]:
    task, annotation = body.get("task"), body.get("annotation")
    if not isinstance(task, Mapping) or not isinstance(annotation, Mapping):
        raise ProjectError("the webhook has no task or no annotation; turn its payload on in Label Studio")
    number, name = _number(annotation), item_of_task(task)
    interface = body["project"].get("label_config") if isinstance(body.get("project"), Mapping) else None

    def write(connection: sa.Connection) -> dict[str, Any]:
        labels = read_labels(connection)
        item = known_items(connection, [name]).get(name)
        if item is None:
            return {"ignored": f"the task is no item of the project: {name[:80]!r}; labelwise import takes it in"}
        choices = Config.read(interface, labels.names).choices
        asked = labels.names if choices is None else [each for each in labels.names if each in choices]
        event = _read(annotation, name, asked)
        values, strange = _codes(event, labels)
        if event.kind == "answer" and not values:
            return {"ignored": "the annotation says nothing of the labels of the project"}
        told = _record(connection, event, item, values, (source, number))
        return told | ({"unknown_labels": strange} if strange else {})

    return project.store.write(write)


def _read(annotation: Mapping[str, Any], name: str, asked: Sequence[str]) -> Event:
    """The annotation as it is now: when it was last changed is when it was said."""
    at = annotation.get("updated_at") or annotation.get("created_at")
    try:
        event = read_annotation({**annotation, "created_at": at, "meta": {}}, name, asked, "of the webhook")
    except FormatError as error:
        raise ProjectError(str(error)) from None
    check_person(event.who)
    return replace(event, at=min(event.at, time.time()))


def _record(
    connection: sa.Connection, event: Event, item: int, values: dict[int, int], annotation: tuple[str, str]
) -> dict[str, Any]:
    """Write the event unless it is there already or there is a later one of the same annotation."""
    prefix = f"{annotation[0]}:{annotation[1]}:"
    key = f"{prefix}{event.at:.6f}"
    before = events_of_leases(connection, prefix)
    for row, _ in before:
        if row.lease == key:
            return {"event": row.id, "repeated": True}
    if any(float(row.lease.rpartition(":")[2]) > event.at for row, _ in before):
        return {"ignored": "a later state of the annotation is known"}
    _take_back(connection, *annotation)
    new = NewEvent(event.at, event.who, item, event.kind, WHOLE_ITEM, TOLD, values or None, lease=key)
    withdraw(connection, item, WHOLE_ITEM)
    return {"event": add_event(connection, new)}


def _take_back(connection: sa.Connection, source: str, number: str) -> int:
    """Take back what an annotation said; how many events that are."""
    standing = [row for row, undone in events_of_leases(connection, f"{source}:{number}:") if not undone]
    for row in standing:
        add_event(connection, NewEvent(row.at, row.who, row.item, "undo", row.asked, row.reason, undoes=row.id))
    return len(standing)


def _codes(event: Event, labels: StoredLabels) -> tuple[dict[int, int], list[str]]:
    """Values by label number, and the labels that the project does not have; of merged labels yes to either is yes."""
    values: dict[int, int] = {}
    strange = []
    for name, value in event.values.items():
        try:
            label = labels.recorded_id_of(name)
        except ProjectError:
            strange.append(name)
            continue
        code = UNSURE if value is None else int(value)
        values[label] = max(code, values.get(label, code))
    return values, strange


def _source(project: Any) -> str:
    """The Label Studio project an annotation is of, as part of a key."""
    number = project.get("id") if isinstance(project, Mapping) else project
    return f"label-studio:{_plain(number)}"


def _number(annotation: Any) -> str:
    number = annotation.get("id") if isinstance(annotation, Mapping) else annotation
    if isinstance(number, bool) or not isinstance(number, int | str) or not _plain(number):
        raise ProjectError("the annotation has no id")
    return _plain(number)


def _plain(value: Any) -> str:
    return re.sub(r"[^0-9A-Za-z_-]", "", str(value))[:40]
