"""A project's labels, answers and notes to files, and from files into a project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from typing import Any

from labelwise.data import read, write
from labelwise.data.errors import FormatError, Problem
from labelwise.data.formats.rows import JSON_LINES, file_suffix, read_rows, write_rows
from labelwise.data.formats.table.labels import parse_truth
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.exchange.sources import id_column, read_new, read_pool
from labelwise.labelling.notes import Note
from labelwise.labelling.project import Project
from labelwise.labelling.records import EVENT_KINDS, IN_WORDS, Event
from labelwise.records import Answer, Timing
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


def import_answers(project: Project, path: str) -> tuple[int, int]:
    """Events that `export_answers` wrote; how many were new, and how many were there already."""
    events = read_events_file(path)
    added = project.record(events)
    return added, len(events) - added


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
