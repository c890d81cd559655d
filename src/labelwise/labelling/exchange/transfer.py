"""A project's labels, answers and tasks to files, and from files into a project."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from itertools import chain, count
from typing import Any

import numpy as np

from labelwise.data import read, write
from labelwise.data.errors import FormatError, Problem
from labelwise.data.formats.rows import JSON_LINES, file_suffix, read_rows, write_rows
from labelwise.data.formats.table.labels import parse_truth
from labelwise.files import write_text
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.exchange.label_studio import (
    Task,
    from_label_studio,
    labels_in,
    moment_of,
    read_tasks,
    to_label_studio,
)
from labelwise.labelling.exchange.label_studio_answers import (
    Interface,
    PlacedAnnotation,
    TakenAnnotation,
    forget_absent,
    missing,
    take_all,
)
from labelwise.labelling.exchange.label_studio_api import LabelStudio
from labelwise.labelling.exchange.label_studio_tasks import data_digest, task_key
from labelwise.labelling.exchange.sources import id_column, read_new, read_pool
from labelwise.labelling.notes import Note
from labelwise.labelling.project import Project
from labelwise.labelling.records import EVENT_KINDS, IN_WORDS, Event, ExpectedLabels
from labelwise.labelling.store.annotations import write_tasks
from labelwise.labelling.store.items import item_ids
from labelwise.labelling.store.schema import STUDIO
from labelwise.records import Answer, LabelData, Timing
from labelwise.records.asking import BY_RATE
from labelwise.views.wording import did_you_mean

COLUMNS = ("event", "at", "who", "kind", "item", "asked", "reason", "undoes")
TIME_COLUMNS = tuple(each.name for each in fields(Timing))  # blank, or not there, where nothing is known


def export_labels(project: Project, out: str, *, raw_csv: bool = False) -> int:
    """Items with one column per label: 1, 0, blank for unknown; features only where they are the source.

    `raw_csv`: formulas in texts stay as they are, in formats that spreadsheets open.
    """
    data = project.labelled()
    features = project.settings.features
    options: dict[str, Any] = {"raw_csv": raw_csv} if file_suffix(out) in (".csv", ".tsv") else {}
    if features["kind"] == "numbers":
        names = features.get("names")
        write(replace(data, feature_names=None if names is None else tuple(names)), out, labels=None, **options)
    else:
        write(data, out, labels=None, text=features.get("field") or "text", **options)
    return data.n_items


def export_answers(project: Project, out: str, *, raw_csv: bool = False) -> int:
    """Everything that people did."""
    events = project.events()
    write_events(events, out, raw_csv=raw_csv)
    return len(events)


def export_notes(project: Project, out: str, *, raw_csv: bool = False) -> int:
    """Every note on an item, with who, when, and what was answered."""
    notes = project.notes.all()
    write_rows([asdict(note) for note in notes], out, [each.name for each in fields(Note)], raw_csv=raw_csv)
    return len(notes)


def export_tasks(project: Project, out: str, *, predictions: bool = False) -> int:
    """Label Studio tasks, with annotations and, if wanted, the model's predictions."""
    learner = project.learner()
    contents = dict(zip(learner.items.names, learner.items.contents, strict=True))
    expected = None
    if predictions and learner.believes:
        campaign, names = learner.campaign, learner.labels.names
        beliefs, suggested = campaign.believe(), campaign.suggest(learner.items.names)
        rows = zip(beliefs.probabilities().tolist(), campaign.decide(beliefs).tolist(), suggested, strict=True)
        of_items = [
            replace(ExpectedLabels.of(names, p, present), reasons=tuple(each for each in why if each.source != BY_RATE))
            for p, present, why in rows
        ]
        expected = dict(zip(learner.items.names, of_items, strict=True))
    tasks = to_label_studio(contents, project.events(), learner.labels.names, expected, project.identity)
    write_text(out, json.dumps(tasks, ensure_ascii=False, indent=1))
    return len(tasks)


def import_answers(project: Project, path: str) -> tuple[int, int]:
    """Events that `export_answers` wrote; how many were new, and how many were there already."""
    events = read_events_file(path)
    added = project.record(events)
    return added, len(events) - added


@dataclass
class Imported:
    """What became of the tasks and annotations of an import.

    Parameters
    ----------
    items, events : how many are new
    labels : those that are new
    repeated : annotations that were known already, in this state or a later one, or were deleted
    refused : how many annotations were not taken, by why
    unknown_labels : choices that are no labels here
    missing : annotations that are known from there and are not in the import
    taken_back : answers taken back because their annotations are missing
    """

    items: int = 0
    events: int = 0
    labels: tuple[str, ...] = ()
    repeated: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    unknown_labels: set[str] = field(default_factory=set)
    missing: int = 0
    taken_back: int = 0

    def add(self, taken: TakenAnnotation) -> None:
        if taken.is_new:
            self.events += 1
        elif taken.refused:
            self.refused[taken.refused] += 1
        else:
            self.repeated += 1
        self.unknown_labels |= set(taken.unknown_labels)


def import_tasks(project: Project, path: str, *, reconcile: bool = False) -> Imported:
    """Label Studio tasks of a file: items, labels and annotations that are new.

    With `reconcile` the file is taken to have all annotations of its Label Studio project. What is known from there and
    is not in the file is taken back, unless it is newer than everything in the file.
    """
    found = read_tasks(path)
    names = project.label_names()
    known = {*names, *project.gone_labels()}
    fresh = [name for name in labels_in(found) if name not in known]
    tasks = from_label_studio(found, [*names, *fresh])
    result = Imported(labels=tuple(fresh))
    result.items = _add_tasks(project, tasks, [*names, *fresh])
    if not result.items:
        for name in fresh:
            project.add_label(name)
    _take_annotations(project, tasks, result)
    _reconcile(project, tasks, result, reconcile=reconcile, as_of=None)
    return result


def import_live(project: Project, studio: LabelStudio, number: int, *, reconcile: bool = False) -> Imported:
    """The annotations of a project of a running Label Studio; tasks that are no items here are refused.

    Taken in again and again they count once: this is how answers are got that were made while nobody listened to the
    webhook. With `reconcile`, answers whose annotations are no longer there are taken back.
    """
    as_of = time.time()
    interface = Interface.read(studio.label_config(number), project.label_names())
    listed = [_relevant(task, interface) for task in studio.tasks(number)]
    tasks = from_label_studio(listed, interface.asked, is_live=True)
    result = Imported()
    _take_annotations(project, tasks, result, as_of)
    _reconcile(project, tasks, result, reconcile=reconcile, as_of=as_of, source=str(number))
    return result


def _relevant(task: Any, interface: Interface) -> Any:
    annotations = task.get("annotations") if isinstance(task, dict) else None
    if not isinstance(annotations, list):
        return task
    return {**task, "annotations": [interface.relevant(a) if isinstance(a, dict) else a for a in annotations]}


def _add_tasks(project: Project, tasks: Sequence[Task], label_names: Sequence[str]) -> int:
    """Make items of the tasks that are none yet; how many."""
    places = project.task_items.find([task.source for task in tasks])
    taken = project.item_names()
    new: dict[str, Task] = {}
    for task, place in zip(tasks, places, strict=True):
        if place.number is None and not place.is_ambiguous:
            new[_free_name(task, taken | new.keys())] = task
    if new:
        width = project.settings.features.get("width", 1)
        data = LabelData.from_arrays(
            np.zeros((len(new), width)),
            label_names=label_names,
            item_ids=list(new),
            items=[task.content for task in new.values()],
        )
        project.add_items(data)
        _note_tasks(project, new)
    return len(new)


def _free_name(task: Task, taken: Set[str]) -> str:
    """A task's own name, or one after its project and number where another item has that name."""
    if task.item not in taken:
        return task.item
    base = STUDIO + ":".join(task_key(task.source) or (task.item,))
    return next(name for name in chain([base], (f"{base} ({i})" for i in count(2))) if name not in taken)


def _note_tasks(project: Project, new: Mapping[str, Task]) -> None:
    """New items are known again by their tasks, also where several show the same."""
    with project.store.writing() as connection:
        numbers = item_ids(connection, new)
        keys = {name: task_key(task.source) for name, task in new.items()}
        rows = [(*key, numbers[name], data_digest(new[name].source)) for name, key in keys.items() if key is not None]
        write_tasks(connection, rows)


def _take_annotations(project: Project, tasks: Sequence[Task], result: Imported, as_of: float | None = None) -> None:
    """The annotations of tasks: of Label Studio by their numbers, of our own exports by person and moment."""
    live: list[PlacedAnnotation] = []
    own: list[Event] = []
    for task, place in zip(tasks, project.task_items.find([task.source for task in tasks]), strict=True):
        is_ours = _get_meta(task).get("project") == project.identity
        for each in task.annotations:
            if place.number is None:
                result.refused[place.why] += 1
            elif each.source and each.number:
                live.append(PlacedAnnotation(each, place.number, as_of, is_ours))
            else:
                own.append(replace(each.event, item=place.name))
    own.sort(key=lambda event: (event.at, event.id))
    recorded = project.record(own) if own else 0
    result.events += recorded
    result.repeated += len(own) - recorded
    live.sort(key=lambda found: (found.annotation.event.at, found.annotation.number))
    for taken in take_all(project.store, live):
        result.add(taken)


def _get_meta(task: Task) -> Mapping[str, Any]:
    meta = task.source.get("meta")
    return meta if isinstance(meta, Mapping) else {}


def _reconcile(
    project: Project,
    tasks: Sequence[Task],
    result: Imported,
    *,
    reconcile: bool,
    as_of: float | None,
    source: str = "",
) -> None:
    """Tell, and take back if wanted, the answers whose annotations the tasks no longer have."""
    seen: dict[str, set[str]] = {source: set()} if source else {}
    for task in tasks:
        key = task_key(task.source)
        if key is not None:
            seen.setdefault(key[0], set()).update(each.number for each in task.annotations)
    newest = max((moment for task in tasks for moment in _moments(task)), default=0.0)
    for there, numbers in seen.items():
        gone = missing(project.store, there, numbers, as_of=as_of, newest=newest)
        result.missing += len(gone)
        if reconcile:
            result.taken_back += forget_absent(project.store, there, gone)


def _moments(task: Task) -> list[float]:
    said = [task.source.get("updated_at"), task.source.get("created_at")]
    return [each.event.at for each in task.annotations] + [moment_of(text) for text in said]


def import_items(
    project: Project, path: str, *, known: str | None = None, id: str | None = None, **options: Any
) -> tuple[int, int]:
    """More items, with what is known of them; how many were new, and how many were there already.

    Options are those of tables (encoding, delimiter, separator), and `notice`, called with what was found.
    """
    if known is None:
        data = read_new(path, project.settings, project.label_names(), id, **options)
    else:
        columns = [name.strip() for name in known.split(",")]
        text = project.settings.features.get("field")
        names = project.label_names() if len(columns) == 1 else None
        options |= {"text": text, "id": id_column(project.settings, id)}
        data = read_pool(path, known=columns[0] if names else columns, labels=names, **options)
    added = project.add_items(data)
    return added, data.n_items - added


def table_answers(project: Project, path: str, *, id: str | None = None, **csv: Any) -> list[Answer]:
    """What a table says of the project's items that is not known so: exactly the cells that were filled in or changed.

    The columns are those of `export_labels`: the ids of items, and some or all labels with 1, 0 and blank. A blank cell
    says nothing, also where a label is known. Other columns are passed over. `csv`: encoding and delimiter.
    """
    names = project.label_names()
    options: dict[str, Any] = {"labels": None, "label_names": names, "features": []} | csv
    table = read(path, **options, **({} if id is None else {"id": id}))
    rows: Sequence[Any] = table.items or ()
    columns = [name for name in names if rows and name in rows[0]]
    if not columns:
        there = ", ".join(map(repr, list(rows[0])[:5])) if rows else "none"
        raise ProjectError(f"{path} has no column that is a label of the project; it has {there}")
    known = project.labelled()
    Y, observed, place = known.Y, known.observed_mask(), {item: row for row, item in enumerate(known.item_ids)}
    column_of = {name: column for column, name in enumerate(known.label_names)}
    found = []
    for number, (item, row) in enumerate(zip(table.item_ids, rows, strict=True), start=1):
        if item not in place:
            raise ProjectError(
                f"{path}, item {number}: there is no item {item!r} in the project{did_you_mean(item, place)}"
            )
        said = {}
        for name in columns:
            try:
                value = parse_truth(row[name])
            except Problem as problem:
                raise FormatError(f"item {item!r}, column {name!r}: {problem}", path) from None
            at = place[item], column_of[name]
            if value == value and not (observed[at] and bool(Y[at]) == bool(value)):
                said[name] = bool(value)
        if said:
            found.append(Answer(item, said, correction=True))
    return found


# -- files of answers: one event per line of jsonl, or one value per row of csv ----------------------------------------


def write_events(events: Iterable[Event], path: str, *, raw_csv: bool = False) -> None:
    """Write events so that `read_events_file` gives the same back; the suffix .csv or .jsonl says how.

    `raw_csv`: see `write_rows`.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/answers.csv"
    >>> said = Event(1, 1.5e9, "ann", "answer", "doc7", None, "strategy", {"a;b, c": True, "d": None})
    >>> write_events([said], path)
    >>> read_events_file(path) == [said]
    True
    """
    if file_suffix(path) in JSON_LINES:
        write_rows(
            ({**_row(event), "values": dict(event.values)} for event in events),
            path,
            (*COLUMNS, *TIME_COLUMNS, "values"),
        )
    else:
        write_rows(_long(events), path, (*COLUMNS, *TIME_COLUMNS, "label", "value"), raw_csv=raw_csv)


def read_events_file(path: str) -> list[Event]:
    """The events of a file that `write_events` wrote, or of one made by hand in the same form."""
    as_json = file_suffix(path) in JSON_LINES
    last = ("values",) if as_json else ("label", "value")
    found: dict[int, tuple[dict[str, Any], dict[str, bool | None]]] = {}
    for line, row in read_rows(path, (*COLUMNS, *last)):
        try:
            head = _head(row)
            kept, values = found.setdefault(head["id"], (head, {}))
            if kept != head:
                raise ValueError(f"event {head['id']} is listed with two contents")
            values |= _json_values(row["values"]) if as_json else _csv_value(row["label"], row["value"])
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            raise FormatError(str(error), path, line) from None
    return [Event(**head, values=values) for head, values in found.values()]


def _row(event: Event) -> dict[str, Any]:
    at = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="microseconds")
    return {
        "event": event.id,
        "at": at,
        "who": event.who,
        "kind": event.kind,
        "item": event.item,
        "asked": event.asked,
        "reason": event.reason,
        "undoes": event.undoes,
        **(dict.fromkeys(TIME_COLUMNS) if event.timing is None else asdict(event.timing)),
    }


def _long(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    words = {value: word for word, value in IN_WORDS.items()}
    for event in events:
        for label, value in event.values.items():
            yield {**_row(event), "label": label, "value": words[value]}
        if not event.values:
            yield {**_row(event), "label": None, "value": None}


def _head(row: dict[str, Any]) -> dict[str, Any]:
    if row["kind"] not in EVENT_KINDS:
        raise ValueError(f"found the kind {row['kind']!r}, expected {', '.join(EVENT_KINDS)}")
    at = datetime.fromisoformat(row["at"])
    if at.tzinfo is None:
        raise ValueError(f"found the time {row['at']!r} without a zone; write +00:00 after it")
    return {
        "id": int(row["event"]),
        "at": at.timestamp(),
        "who": str(row["who"]),
        "kind": row["kind"],
        "item": str(row["item"]),
        "asked": row["asked"] or None,
        "reason": row["reason"],
        "undoes": int(row["undoes"]) if row["undoes"] not in ("", None) else None,
        "timing": _timing(row),
    }


def _timing(row: dict[str, Any]) -> Timing | None:
    if row.get("seconds") in ("", None):
        return None
    picks = {name: int(row.get(name) or 0) for name in TIME_COLUMNS if name not in ("seconds", "question")}
    return Timing(float(row["seconds"]), str(row.get("question") or "item"), **picks)


def _json_values(values: Any) -> dict[str, bool | None]:
    if not isinstance(values, dict) or not all(value is None or isinstance(value, bool) for value in values.values()):
        raise ValueError(f"found the values {values!r}, expected true, false or null for each label")
    return values


def _csv_value(label: str, word: str) -> dict[str, bool | None]:
    if not label:
        return {}
    if word not in IN_WORDS:
        raise ValueError(f"found {word!r} for the label {label!r}, expected {', '.join(IN_WORDS)}")
    return {label: IN_WORDS[word]}
