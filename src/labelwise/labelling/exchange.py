"""What people did, to files and back: one event per line of jsonl, or one value per row of csv. Nothing is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from labelwise.data.errors import FormatError
from labelwise.data.rows import JSON_LINES, file_suffix, read_rows, write_rows
from labelwise.labelling.terms import Event

COLUMNS = ("event", "at", "who", "kind", "item", "asked", "reason", "undoes")
WORDS: dict[str, bool | None] = {"yes": True, "no": False, "unsure": None}
KINDS = ("answer", "skip", "undo")


def write_events(events: Iterable[Event], path: str) -> None:
    """Write events so that `read_events_file` gives the same back; the suffix .csv or .jsonl says how.

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
        write_rows(({**_row(event), "values": dict(event.values)} for event in events), path, (*COLUMNS, "values"))
    else:
        write_rows(_long(events), path, (*COLUMNS, "label", "value"))


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
                raise ValueError(f"event {head['id']} is told in two ways")
            values |= _json_values(row["values"]) if as_json else _csv_value(row["label"], row["value"])
        except (ValueError, TypeError, KeyError) as error:
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
    }


def _long(events: Iterable[Event]) -> Iterator[dict[str, Any]]:
    words = {value: word for word, value in WORDS.items()}
    for event in events:
        for label, value in event.values.items():
            yield {**_row(event), "label": label, "value": words[value]}
        if not event.values:
            yield {**_row(event), "label": None, "value": None}


def _head(row: dict[str, Any]) -> dict[str, Any]:
    if row["kind"] not in KINDS:
        raise ValueError(f"found the kind {row['kind']!r}, expected {', '.join(KINDS)}")
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
    }


def _json_values(values: Any) -> dict[str, bool | None]:
    if not isinstance(values, dict) or not all(value is None or isinstance(value, bool) for value in values.values()):
        raise ValueError(f"found the values {values!r}, expected true, false or null for each label")
    return values


def _csv_value(label: str, word: str) -> dict[str, bool | None]:
    if not label:
        return {}
    if word not in WORDS:
        raise ValueError(f"found {word!r} for the label {label!r}, expected {', '.join(WORDS)}")
    return {label: WORDS[word]}
