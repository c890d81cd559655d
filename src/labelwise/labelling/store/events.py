"""What people did, only ever added to: answers, skips, and answers taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from labelwise.labelling.store.engine import insert_many, insert_rows, pieces
from labelwise.labelling.store.schema import event_values, events

votes = sa.table("votes", *(sa.column(name) for name in ("event", "item", "label", "who", "reason", "value")))
MERGED = "merged:"  # how the lease begins of what was said of a label and moved to the one it was merged into
VALUE_COLUMNS = ("event", "label", "value")
NAMES = tuple(column.name for column in events.c if not column.primary_key)
current_labels = sa.table("current_labels", *(sa.column(name) for name in ("item", "label", "value")))


@dataclass(frozen=True)
class NewEvent:
    """An event to be written; labels by number, values as YES, NO and UNSURE."""

    at: float
    who: str
    item: int
    kind: str = "answer"
    asked: int = 0
    reason: str = "strategy"
    values: Mapping[int, int] | None = None
    lease: str | None = None
    undoes: int | None = None


@dataclass(frozen=True)
class Votes:
    """Votes as columns, in the order of their events: who said what of which label of which item, and why asked."""

    event: npt.NDArray[np.int64]
    item: npt.NDArray[np.int64]
    label: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]
    who: tuple[str, ...]
    reason: tuple[str, ...]


def add_event(connection: sa.Connection, event: NewEvent) -> int:
    """Write one event; its number."""
    number = int(connection.execute(events.insert(), _columns(event)).inserted_primary_key[0])  # type: ignore[index]  # never None
    if event.values:
        insert_rows(connection, event_values, VALUE_COLUMNS, [(number, *said) for said in event.values.items()])
    return number


def _columns(event: NewEvent) -> dict[str, Any]:
    return {name: getattr(event, name) for name in NAMES}


def last_event(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.coalesce(sa.func.max(events.c.id), 0))).scalar_one()


def read_votes(connection: sa.Connection, items: Sequence[int] | None = None) -> Votes:
    """The last word of each person on each label of each item (of some, or of all), oldest first."""
    columns = (votes.c.event, votes.c.item, votes.c.label, votes.c.value, votes.c.who, votes.c.reason)
    query = sa.select(*columns).order_by(votes.c.event, votes.c.label)
    if items is None:
        return _as_votes(connection.execute(query).all())
    found = [row for part in pieces(items, 500) for row in connection.execute(query.where(votes.c.item.in_(part)))]
    return _as_votes(sorted(found, key=lambda row: (row.event, row.label)))


def votes_since(connection: sa.Connection, event: int) -> Votes | None:
    """What was said after this event, or None where something earlier was taken back since."""
    taken_back = sa.select(events.c.id).where(events.c.id > event, events.c.kind == "undo").limit(1)
    if connection.execute(taken_back).first() is not None:
        return None
    said = events.join(event_values, event_values.c.event == events.c.id)
    columns = (events.c.id, events.c.item, event_values.c.label, event_values.c.value, events.c.who, events.c.reason)
    query = sa.select(*columns).select_from(said).where(events.c.id > event)
    return _as_votes(connection.execute(query.order_by(events.c.id, event_values.c.label)).all())


def move_votes(connection: sa.Connection, source: int, target: int, at: float) -> None:
    """What people said of one label, said anew of another: yes where a person said yes to either."""
    said: dict[tuple[int, str], dict[int, tuple[int, str]]] = {}
    query = sa.select(votes).where(votes.c.label.in_([source, target])).order_by(votes.c.event)
    for row in connection.execute(query):
        said.setdefault((row.item, row.who), {})[row.label] = (row.value, row.reason)
    for (item, who), by_label in said.items():
        if source in by_label:
            value, reason = by_label[source]
            before = by_label.get(target, (None, ""))[0]
            if before is None or value > before:
                lease = f"{MERGED}{source}:{item}:{who}"  # a label is merged once
                moved = NewEvent(at, who, item, asked=target, reason=reason, values={target: value}, lease=lease)
                add_event(connection, moved)


def read_given_answers(connection: sa.Connection) -> list[sa.Row]:
    """Item, label and person of everything that people answered, labels no longer in use too, and when they last did.

    In the order of the people, then of the answers. What came with the items, was taken back, or was moved to another
    label when two were merged, cost nobody anything.
    """
    undone = events.alias()
    last = sa.func.max(events.c.id).label("event")
    query = (
        sa.select(events.c.item, event_values.c.label, events.c.who, last)
        .select_from(events.join(event_values, event_values.c.event == events.c.id))
        .where(
            events.c.kind == "answer",
            events.c.reason != "given",
            sa.func.coalesce(events.c.lease, "").not_like(f"{MERGED}%"),
            ~sa.exists().where(undone.c.undoes == events.c.id),
        )
        .group_by(events.c.item, event_values.c.label, events.c.who)
    )
    return list(connection.execute(query.order_by(events.c.who, last, event_values.c.label)).all())


def read_current(connection: sa.Connection) -> npt.NDArray[np.int64]:
    """(m, 3) of item, label and 0 or 1: everything that is known now, labels merged."""
    columns = (current_labels.c.item, current_labels.c.label, current_labels.c.value)
    found = connection.execute(sa.select(*columns).order_by(current_labels.c.item, current_labels.c.label)).all()
    return np.array([tuple(row) for row in found], dtype=np.int64).reshape(-1, 3)


def read_events(connection: sa.Connection, after: int = 0) -> list[tuple[sa.Row, dict[int, int]]]:
    """Every event with its values by label, oldest first."""
    said: dict[int, dict[int, int]] = {}
    for row in connection.execute(sa.select(event_values).where(event_values.c.event > after)):
        said.setdefault(row.event, {})[row.label] = row.value
    found = connection.execute(sa.select(events).where(events.c.id > after).order_by(events.c.id))
    return [(row, said.get(row.id, {})) for row in found]


def event_of_lease(connection: sa.Connection, token: str) -> tuple[int, dict[int, int]] | None:
    """The event that a lease ended in, with its values."""
    number = connection.execute(sa.select(events.c.id).where(events.c.lease == token)).scalar()
    if number is None:
        return None
    said = connection.execute(
        sa.select(event_values.c.label, event_values.c.value).where(event_values.c.event == number)
    )
    return number, dict(said.all())


def events_of_leases(connection: sa.Connection, prefix: str) -> list[tuple[sa.Row, bool]]:
    """The events whose lease begins so, oldest first, and whether each was taken back."""
    later = events.alias()
    undone = sa.exists().where(later.c.undoes == events.c.id).label("undone")
    mine = (events.c.lease >= prefix) & (events.c.lease < prefix[:-1] + chr(ord(prefix[-1]) + 1))
    rows = connection.execute(sa.select(*events.c, undone).where(mine).order_by(events.c.id))
    return [(row, bool(row.undone)) for row in rows]


def last_answer_of(connection: sa.Connection, who: str) -> sa.Row | None:
    """A person's latest answer or skip that was not taken back."""
    later = events.alias()
    undone = sa.exists().where(later.c.undoes == events.c.id)
    mine = sa.select(events).where(events.c.who == who, events.c.kind != "undo", ~undone)
    return connection.execute(mine.order_by(events.c.id.desc()).limit(1)).first()


def undone_by(connection: sa.Connection, event: int, who: str) -> sa.Row | None:
    """The event by which a person took this answer of his back."""
    return connection.execute(sa.select(events).where(events.c.undoes == event, events.c.who == who)).first()


def voters_count(connection: sa.Connection, after: int = 0) -> dict[str, int]:
    """Answers of each person since an event; those taken back, and labels that came with the items, are not counted."""
    undone = events.alias()
    mine = sa.select(events.c.who, sa.func.count()).where(
        events.c.id > after,
        events.c.kind == "answer",
        events.c.reason != "given",
        ~sa.exists().where(undone.c.undoes == events.c.id),
    )
    return {row[0]: row[1] for row in connection.execute(mine.group_by(events.c.who))}


def add_given(connection: sa.Connection, said: Iterable[tuple[int, Mapping[int, int]]], at: float, who: str) -> None:
    """Labels that came with the items: one event per item, numbered in one go because there may be many."""
    start = last_event(connection) + 1
    rows, values = [], []
    for number, (item, known) in enumerate(said, start=start):
        rows.append((number, at, who, "answer", item, 0, "given", None, None))
        values += [(number, label, value) for label, value in known.items()]
    insert_many(connection, events, rows)
    insert_rows(connection, event_values, VALUE_COLUMNS, values)
    if rows and connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            "SELECT setval(pg_get_serial_sequence('events', 'id'), (SELECT max(id) FROM events))"
        )


def _as_votes(rows: Sequence[sa.Row]) -> Votes:
    numbers = np.array([tuple(row)[:4] for row in rows], dtype=np.int64).reshape(-1, 4).T
    event, item, label, value = numbers
    return Votes(event, item, label, value, tuple(row[4] for row in rows), tuple(row[5] for row in rows))
