"""Annotations of Label Studio as answers, by whatever way they come: webhook, file or interface.

An annotation is known by its project there and its number, and its state by when it was last changed. The same state
counts once, an older one never replaces a newer one, and what was deleted stays so.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from xml.etree import ElementTree

import sqlalchemy as sa

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.exchange.label_studio import Annotation
from labelwise.labelling.records import TOLD, Event
from labelwise.labelling.store import Store
from labelwise.labelling.store.annotations import (
    ABSENT,
    DELETED,
    add_annotation,
    change_annotation,
    known_annotations,
    people_there,
    same_event,
    standing_annotations,
    standing_event,
    take_back_annotations,
    take_back_event,
)
from labelwise.labelling.store.engine import pieces
from labelwise.labelling.store.events import NewEvent, add_event
from labelwise.labelling.store.labels import StoredLabels, read_labels
from labelwise.labelling.store.questions import withdraw
from labelwise.labelling.store.schema import STUDIO, UNSURE, WHOLE_ITEM, YES

AT_ONCE = 20  # annotations of one write: others who write wait no longer than that takes
DELETED_AT_ONCE = 200
LONGEST_PAUSE = 0.05  # seconds after a write in which others get their turn
OTHER_SERVER = "another Label Studio has an annotation and a project of these numbers; connect only one of the two"
UNTOUCHED = 1.0  # seconds between the two times of a new annotation at most; nobody changes one so soon

Row = TypeVar("Row")
Done = TypeVar("Done")


@dataclass(frozen=True)
class Interface:
    """What a labelling interface asks: which of our labels, and which of its controls are about something else."""

    asked: tuple[str, ...]
    other_controls: frozenset[str] = frozenset()

    @classmethod
    def read(cls, text: Any, labels: Sequence[str]) -> Interface:
        """From its XML; every label is asked about where it does not say which choices there are.

        >>> topic = '<Choices name="t" toName="x"><Choice value="a"/><Choice value="z"/></Choices>'
        >>> mood = '<Choices name="m" toName="x"><Choice value="good"/></Choices>'
        >>> Interface.read(f"<View>{topic}{mood}</View>", ["a", "b"])
        Interface(asked=('a',), other_controls=frozenset({'m'}))
        """
        controls = choices_of(text)
        if not controls or any(not control.values for control in controls):
            return cls(tuple(labels))
        ours = [control.values for control in controls if control.values & set(labels)]
        asked = frozenset().union(*ours)
        others = frozenset(each.name for each in controls if not each.values & set(labels)) if ours else frozenset()
        return cls(tuple(name for name in labels if name in asked), others)

    def relevant(self, annotation: Any) -> Any:
        """The annotation without what was chosen in controls that are about something else."""
        results = annotation.get("result")
        if not self.other_controls or not isinstance(results, list):
            return annotation
        kept = [each for each in results if not isinstance(each, dict) or not self._is_other(each.get("from_name"))]
        return {**annotation, "result": kept}

    def _is_other(self, name: Any) -> bool:
        return isinstance(name, str) and name in self.other_controls


@dataclass(frozen=True)
class ChoicesControl:
    """A `Choices` of a labelling interface: its name and object, its values, and whether only one may be chosen."""

    name: str
    to_name: str
    values: frozenset[str]
    is_single: bool


def choices_of(text: Any) -> list[ChoicesControl]:
    """Every `Choices` of a labelling interface; none where it cannot be read. Without `choice`, one may be chosen."""
    return [
        ChoicesControl(
            control.get("name") or "labels",
            control.get("toName") or "text",
            frozenset(filter(None, (each.get("alias") or each.get("value") for each in control.iter("Choice")))),
            control.get("choice") != "multiple",
        )
        for control in _controls(text, "Choices")
    ]


def suggestions_box(text: Any) -> tuple[str, str] | None:
    """Name and object of the `TextArea` of a labelling interface that is named for suggestions; None without one."""
    boxes = ((control.get("name") or "", control.get("toName") or "text") for control in _controls(text, "TextArea"))
    return next((box for box in boxes if box[0] == "suggestions"), None)


def _controls(text: Any, tag: str) -> list[ElementTree.Element]:
    if not isinstance(text, str) or "<!" in text:  # a document type may hold entities that never end
        return []
    try:
        return list(ElementTree.fromstring(text).iter(tag))
    except (ElementTree.ParseError, ValueError, RecursionError):
        return []


@dataclass(frozen=True)
class TakenAnnotation:
    """What became of an annotation: `event` is its answer, and `is_new` whether that was added now."""

    event: int | None = None
    is_new: bool = False
    ignored: str = ""
    refused: str = ""
    unknown_labels: tuple[str, ...] = ()

    def reply(self) -> dict[str, Any]:
        """As a webhook is answered."""
        said: dict[str, Any] = {} if self.event is None else {"event": self.event}
        if self.event is not None and not self.is_new:
            said["repeated"] = True
        if self.ignored or self.refused:
            said["ignored"] = self.ignored or self.refused
        return said | ({"unknown_labels": list(self.unknown_labels)} if self.unknown_labels else {})


@dataclass(frozen=True)
class PlacedAnnotation:
    """An annotation and the number of its item; `as_of` is when Label Studio was asked, None where nobody knows.

    `is_ours` says that the task was exported by this project, so that the numbers of its answers are ours.
    """

    annotation: Annotation
    item: int
    as_of: float | None = None
    is_ours: bool = False


def take_all(store: Store, found: Sequence[PlacedAnnotation]) -> list[TakenAnnotation]:
    """Take annotations in, a few at a time so that others can write meanwhile."""
    numbers = Counter((each.annotation.source, each.annotation.number) for each in found)

    def take(part: Sequence[PlacedAnnotation], connection: sa.Connection) -> list[TakenAnnotation]:
        labels, known, people = read_labels(connection), _known(connection, part), people_there(connection)
        taken = []
        for each in part:
            each = _by_name(each, people)
            key = each.annotation.source, each.annotation.number
            taken.append(_take(connection, each, labels, known.get(key)))
            known |= _known(connection, [each]) if numbers[key] > 1 else {}  # the next one is about the same
        return taken

    return [taken for part in _in_turns(store, found, AT_ONCE, take) for taken in part]


def _by_name(found: PlacedAnnotation, people: Mapping[str, str]) -> PlacedAnnotation:
    """The annotation by the name of who made it, if that is known."""
    event = found.annotation.event
    name = people.get(event.who, event.who)
    return replace(found, annotation=replace(found.annotation, event=replace(event, who=name)))


def delete_all(store: Store, source: str, numbers: Sequence[str], *, gone: str = DELETED) -> int:
    """Take back what annotations said, now; how many answers that are."""

    def take_back(part: Sequence[str], connection: sa.Connection) -> int:
        return take_back_annotations(connection, source, part, time.time(), gone)

    return sum(_in_turns(store, numbers, DELETED_AT_ONCE, take_back))


def missing(store: Store, source: str, seen: Iterable[str], *, as_of: float | None, newest: float) -> list[str]:
    """Annotations that stand here and are not among those that an import has seen.

    What came later than the import is not missing: noted after `as_of`, or, where nobody knows when it was made,
    changed after the `newest` time in it.
    """
    here = set(seen)
    with store.reading() as connection:
        rows = standing_annotations(connection, source)
    old = [row for row in rows if (row.noted_at < as_of if as_of is not None else row.state <= newest)]
    return [row.number for row in old if row.number not in here]


def forget_absent(store: Store, source: str, numbers: Sequence[str]) -> int:
    """Take back what annotations said that Label Studio no longer has; they may come back."""
    return delete_all(store, source, numbers, gone=ABSENT)


def _in_turns(
    store: Store, rows: Sequence[Row], size: int, task: Callable[[Sequence[Row], sa.Connection], Done]
) -> list[Done]:
    """Do a task for a few rows at a time, each in a write of its own, and leave as much time again to others."""
    done = []
    for part in pieces(rows, size):
        begun = time.perf_counter()
        done.append(store.write(partial(task, part)))
        if len(rows) > size:
            time.sleep(min(time.perf_counter() - begun, LONGEST_PAUSE))
    return done


def _known(connection: sa.Connection, found: Sequence[PlacedAnnotation]) -> dict[tuple[str, str], sa.Row]:
    """Those of the annotations that are known, by project and number."""
    rows: dict[tuple[str, str], sa.Row] = {}
    for source in {each.annotation.source for each in found}:
        mine = [each.annotation.number for each in found if each.annotation.source == source]
        rows |= {(source, number): row for number, row in known_annotations(connection, source, mine).items()}
    return rows


def _take(
    connection: sa.Connection, found: PlacedAnnotation, labels: StoredLabels, known: sa.Row | None
) -> TakenAnnotation:
    annotation = found.annotation
    event = annotation.event
    values, strange = known_values(event, labels)
    is_empty = event.kind == "answer" and not values
    if found.is_ours and not is_empty and _is_echo(connection, found, values):
        return TakenAnnotation(event=annotation.import_id)
    if known is None:
        known = _adopt(connection, found)
    if known is not None:
        if known.unique_id and annotation.unique_id and known.unique_id != annotation.unique_id:
            return TakenAnnotation(refused=OTHER_SERVER)
        why = _is_over(known, found)
        if why:
            return TakenAnnotation(ignored=why)
        if known.gone is None and known.state == event.at and not known.partial:
            return TakenAnnotation(event=known.event)
    before = None if known is None else standing_event(connection, known.event)
    if is_empty:
        return _take_empty(connection, found, strange, None if before is None else before[0])
    if before is not None and known is not None:
        row, said = before
        same = (row.kind, row.item, said) == (event.kind, found.item, values) and known.gone is None
        if same:
            _note(connection, found, row.id, bool(strange), is_known=True)
            return TakenAnnotation(event=row.id, unknown_labels=tuple(strange))
        take_back_event(connection, row, max(row.at, min(event.at, time.time())))
    at = min(event.at, time.time())  # its clock may be ahead of ours
    new = NewEvent(at, event.who, found.item, event.kind, WHOLE_ITEM, TOLD, values or None, timing=event.timing)
    withdraw(connection, found.item, WHOLE_ITEM)
    number = add_event(connection, new)
    _note(connection, found, number, bool(strange), is_known=known is not None)
    return TakenAnnotation(event=number, is_new=True, unknown_labels=tuple(strange))


def _take_empty(
    connection: sa.Connection, found: PlacedAnnotation, strange: Sequence[str], before: sa.Row | None
) -> TakenAnnotation:
    """An annotation that says nothing of the labels here: it no longer says what it said `before`, either."""
    words = "none of its choices is a label of the project" if strange else "it says nothing of the labels here"
    words = f"nothing was saved of the annotation: {words}"
    if before is not None:
        take_back_event(connection, before, max(before.at, min(found.annotation.event.at, time.time())))
        _note(connection, found, before.id, True, is_known=True)
        words += "; what it said before is taken back"
    return TakenAnnotation(refused=words, unknown_labels=tuple(strange))


def _is_over(known: sa.Row, found: PlacedAnnotation) -> str:
    """Why an annotation that is known already cannot say anything more; blank where it can."""
    if known.gone == DELETED and (found.as_of is None or found.as_of <= known.noted_at):
        return "the annotation was deleted"
    return "a later state of the annotation is known" if found.annotation.event.at < known.state else ""


def _adopt(connection: sa.Connection, found: PlacedAnnotation) -> sa.Row | None:
    """Annotations that came before they were noted, or as answers of another project, are known by their times."""
    annotation, event = found.annotation, found.annotation.event
    names, times = [event.who, event.who.removeprefix(STUDIO)], [event.at, annotation.created_at]
    row = same_event(connection, found.item, event.kind, names, times)
    if row is None:
        return None
    earlier = replace(found, annotation=replace(annotation, event=replace(event, at=row.at)))
    _note(connection, earlier, row.id, False, is_known=False)
    return known_annotations(connection, annotation.source, [annotation.number])[annotation.number]


def _note(connection: sa.Connection, found: PlacedAnnotation, event: int, is_partial: bool, *, is_known: bool) -> None:
    annotation = found.annotation
    columns: dict[str, Any] = {"event": event, "state": annotation.event.at, "noted_at": time.time()}
    columns |= {"partial": is_partial, "gone": None}
    if annotation.unique_id:
        columns["unique_id"] = annotation.unique_id
    write = change_annotation if is_known else add_annotation
    write(connection, annotation.source, annotation.number, columns)


def _is_echo(connection: sa.Connection, found: PlacedAnnotation, values: dict[int, int]) -> bool:
    """Whether the annotation is an answer of ours that was imported there and not changed since."""
    annotation = found.annotation
    if annotation.import_id is None or annotation.event.at - annotation.created_at > UNTOUCHED:
        return False
    before = standing_event(connection, annotation.import_id)
    if before is None:
        return False
    row, said = before
    present = [{label for label, value in each.items() if value == YES} for each in (said, values)]
    return (row.kind, row.item) == (annotation.event.kind, found.item) and present[0] == present[1]


def known_values(event: Event, labels: StoredLabels) -> tuple[dict[int, int], list[str]]:
    """Values by label number, and the labels that the project does not have; of merged labels yes to either is yes.

    Who chose something that is no label here meant something that we do not know. Then only what was chosen counts, and
    nothing is taken as absent that was merely not chosen.
    """
    numbers: dict[str, int] = {}
    strange = []
    for name in event.values:
        try:
            numbers[name] = labels.recorded_id_of(name)
        except ProjectError:
            strange.append(name)
    values: dict[int, int] = {}
    for name, label in numbers.items():
        value = event.values[name]
        code = UNSURE if value is None else int(value)
        if not strange or code == YES:
            values[label] = max(code, values.get(label, code))
    return values, strange
