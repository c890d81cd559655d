"""What `verify` reads: columns that every version of the tables has, in pieces, nothing of it taken for granted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.store import schema
from labelwise.labelling.store.events import votes
from labelwise.labelling.store.questions import HELD, LEFT
from labelwise.labelling.store.schema import WHOLE_ITEM, changes, event_values, events, items, labels, leases

AT_ONCE = 2000  # rows read in one go
SEALED_FILE = 0x1ABE15EA  # the application id of a file with a seal
MOST_TOLD = 20  # problems of one kind that are listed
EVENT_COLUMNS = ("id", "at", "who", "kind", "item", "asked", "reason", "lease", "undoes")
ONCE = ((items.c.name,), (events.c.lease,), (events.c.undoes,))  # what is there at most once
SEALED = {  # what is only ever added to, by the number that rises, and the columns that every version has
    "items": (items.c.id, (items.c.id, items.c.name, items.c.content, items.c.numbers)),
    "events": (events.c.id, tuple(events.c[name] for name in EVENT_COLUMNS)),
    "event_values": (event_values.c.event, (event_values.c.event, event_values.c.label, event_values.c.value)),
    "changes": (changes.c.id, (changes.c.id, changes.c.at, changes.c.who, changes.c.what, changes.c.detail)),
}


@dataclass(slots=True)
class EventRow:
    """An event as it is stored, with its values by label and when its lease was given, where that is still known."""

    id: int
    at: float
    who: str
    kind: str
    item: int
    asked: int
    reason: str
    lease: str | None
    undoes: int | None
    given_at: float | None
    values: dict[int, int] = field(default_factory=dict)


# -- the database ------------------------------------------------------------------------------------------------------


def integrity_problems(connection: sa.Connection) -> list[str]:
    """What SQLite finds wrong with the pages, rows and indices of a file; PostgreSQL looks after its own."""
    if connection.dialect.name != "sqlite":
        return []
    found = connection.exec_driver_sql(f"PRAGMA integrity_check({MOST_TOLD})").scalars().all()
    return [str(each) for each in found if each != "ok"]


def is_project(connection: sa.Connection) -> bool:
    """Whether any table of a project is there."""
    there = set(sa.inspect(connection).get_table_names())
    return schema.project.name in there or {"items", "events", "event_values"} <= there


def missing_parts(connection: sa.Connection, version: int | None) -> list[str]:
    """Tables, columns, indices and views that a project of the present version has and this one lacks."""
    look = sa.inspect(connection)
    there, seen = set(look.get_table_names()), set(look.get_view_names())
    lacking = [f"the view {name}" for name in schema.VIEWS if name not in seen]
    for table in schema.metadata.sorted_tables if version == schema.VERSION else _first_tables():
        if table.name not in there:
            lacking.append(f"the table {table.name}")
        elif version == schema.VERSION:
            columns = {column["name"] for column in look.get_columns(table.name)}
            lacking += [f"the column {table.name}.{name}" for name in sorted(set(table.c.keys()) - columns)]
            indices = {index["name"] for index in look.get_indexes(table.name)}
            lacking += [f"the index {index.name}" for index in table.indexes if index.name not in indices]
    return sorted(lacking)


def _first_tables() -> list[sa.Table]:
    """The tables that every version has."""
    return [schema.project, items, labels, events, event_values, changes, leases, schema.questions, schema.trainings]


def strange_parts(connection: sa.Connection, version: int | None) -> list[str]:
    """Triggers, which a project has none of, and views that are not ours or not as this version makes them."""
    if connection.dialect.name != "sqlite":
        triggers = "SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT t.tgisinternal"
        here = f"{triggers} AND c.relnamespace = to_regnamespace(current_schema()::text)"
        return [f"the trigger {name}" for name in connection.exec_driver_sql(here).scalars()]
    query = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('trigger', 'view') ORDER BY name"
    ours = {*schema.VIEWS, *(() if version == schema.VERSION else schema.FORMER_VIEWS)}
    found = []
    for kind, name, sql in connection.exec_driver_sql(query):
        if kind == "trigger" or name not in ours:
            found.append(f"the {kind} {name}")
        elif version == schema.VERSION and sql.split() != f"CREATE VIEW {name} AS {schema.VIEWS[name]}".split():
            found.append(f"the view {name}, which was changed")
    return found


def broken_references(connection: sa.Connection) -> Iterator[str]:
    """Rows that refer to one that is not there; the same question to both kinds of database."""
    look = sa.inspect(connection)
    there = set(look.get_table_names())
    for table in schema.metadata.sorted_tables:
        for key in sorted(table.foreign_keys, key=lambda key: key.parent.name) if table.name in there else ():
            referred = key.column.table
            parent = referred.alias("parent")
            missing = ~sa.exists().where(parent.c[key.column.name] == key.parent)
            query = sa.select(key.parent, sa.func.count()).where(key.parent.is_not(None), missing)
            for value, number in connection.execute(query.group_by(key.parent).limit(MOST_TOLD)):
                yield f"{number} of {table.name} name {key.parent.name} {value!r}, which {referred.name} lacks"


def repeated_values(connection: sa.Connection) -> Iterator[str]:
    """What may be there once and is there more often."""
    for (column,) in ONCE:
        query = sa.select(column, sa.func.count()).where(column.is_not(None)).group_by(column)
        for value, number in connection.execute(query.having(sa.func.count() > 1).limit(MOST_TOLD)):
            yield f"{column.table.name}.{column.name} {value!r} is there {number} times"


def unreadable_json(connection: sa.Connection) -> Iterator[str]:
    """Fields of a file that should hold JSON and do not; PostgreSQL checks its own."""
    if connection.dialect.name != "sqlite":
        return
    look = sa.inspect(connection)
    there = set(look.get_table_names())
    for table in schema.metadata.sorted_tables:
        columns = {column["name"] for column in look.get_columns(table.name)} if table.name in there else set()
        (key, *_) = table.primary_key.columns
        for column in table.c:
            if not isinstance(column.type, sa.JSON) or column.name not in columns:
                continue
            query = sa.select(key, sa.type_coerce(column, sa.Text)).where(column.is_not(sa.null()))
            for number, text in connection.execute(query, execution_options={"yield_per": AT_ONCE}):
                if not _is_json(text):
                    yield f"{table.name} {number!r}: {column.name} is no JSON"


def _is_json(text: Any) -> bool:
    if not isinstance(text, str):
        return isinstance(text, int | float)  # SQLite keeps a bare number as one
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# -- what people did ---------------------------------------------------------------------------------------------------


def count_events(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(events)).scalar_one()


def events_by_item(connection: sa.Connection) -> Iterator[tuple[int, list[EventRow]]]:
    """Items that anything was done about, each with its events, the oldest first."""
    said = events.outerjoin(event_values, event_values.c.event == events.c.id).outerjoin(
        leases, leases.c.token == events.c.lease
    )
    columns = [*(events.c[name] for name in EVENT_COLUMNS), leases.c.given_at, event_values.c.label]
    query = sa.select(*columns, event_values.c.value).select_from(said)
    rows = connection.execute(
        query.order_by(events.c.item, events.c.id, event_values.c.label), execution_options={"yield_per": AT_ONCE}
    )
    for item, of_item in groupby(rows, key=lambda row: row.item):
        found: dict[int, EventRow] = {}
        for *columns_of_event, label, value in of_item:
            event = found.setdefault(columns_of_event[0], EventRow(*columns_of_event))
            if label is not None:
                event.values[label] = value
        yield item, list(found.values())


def votes_by_item(connection: sa.Connection) -> Iterator[tuple[int, dict[tuple[int, str], tuple[int, int, str]]]]:
    """What the view `votes` says of each item: by label and person the event, the value and the reason."""
    columns = (votes.c.item, votes.c.label, votes.c.who, votes.c.event, votes.c.value, votes.c.reason)
    rows = connection.execute(sa.select(*columns).order_by(votes.c.item), execution_options={"yield_per": AT_ONCE})
    for item, found in groupby(rows, key=lambda row: row.item):
        yield item, {(label, who): (event, value, reason) for _, label, who, event, value, reason in found}


def lease_problems(connection: sa.Connection) -> Iterator[str]:
    """Leases whose state is not what their event says, and events that are not of the lease they name.

    An answer or skip about the whole item may name a lease on one label. It ends the other leases of its person on the
    item, too, and these have no event of their own.
    """
    kinds = {"answered": ("answer",), "skipped": ("skip",), LEFT: ("answer", "skip")}
    with_events = leases.outerjoin(events, events.c.lease == leases.c.token)
    columns = (leases.c.token, leases.c.state, _ended_by_another().label("is_ended"))
    questions = (leases.c.item, leases.c.who, leases.c.label)
    answered = (events.c.id, events.c.kind, events.c.item, events.c.who, events.c.asked)
    answers = (column.label(f"event_{column.name}") for column in answered)
    query = sa.select(*columns, *questions, *answers).select_from(with_events)
    for row in connection.execute(query, execution_options={"yield_per": AT_ONCE}):
        token, state, is_ended, *question = row[:6]
        event, kind, *answer = row[6:]
        if state not in ("open", "expired", HELD, *kinds):
            yield f"the lease {token!r} has the state {state!r}"
        elif event is None and state in kinds and not is_ended:
            yield f"the lease {token!r} is {state} and has no event"
        elif event is not None and kind not in kinds.get(state, ()):
            yield f"the lease {token!r} is {state} and has the event {event}, {kind!r}"
        elif event is not None and answer not in (question, [*question[:2], WHOLE_ITEM]):
            yield f"event {event} is not about the item, label and person of its lease {token!r}"


def _ended_by_another() -> sa.ColumnElement[bool]:
    """Whether an event with another lease of the same person on the same item has also ended this lease."""
    other, value = events.alias(), event_values.alias()
    is_said = sa.exists().where(value.c.event == other.c.id, value.c.label == leases.c.label)
    is_answer = sa.and_(other.c.kind == "answer", sa.or_(other.c.asked == leases.c.label, is_said))
    is_whole = sa.and_(other.c.kind.in_(("answer", "skip")), other.c.asked == WHOLE_ITEM)
    return sa.exists().where(
        other.c.item == leases.c.item,
        other.c.who == leases.c.who,
        other.c.lease.is_not(None),
        other.c.lease != leases.c.token,
        sa.or_(sa.and_(leases.c.state == "answered", is_answer), sa.and_(leases.c.state == LEFT, is_whole)),
    )


# -- labels and changes ------------------------------------------------------------------------------------------------


def label_rows(connection: sa.Connection) -> list[tuple[Any, ...]]:
    """Number, name, when retired, and what it was merged into."""
    columns = (labels.c.id, labels.c.name, labels.c.retired_at, labels.c.merged_into)
    return [tuple(row) for row in connection.execute(sa.select(*columns).order_by(labels.c.id))]


def change_rows(connection: sa.Connection) -> list[tuple[Any, ...]]:
    """Number, when, who, what, and the details."""
    columns = (changes.c.id, changes.c.at, changes.c.who, changes.c.what, changes.c.detail)
    return [tuple(row) for row in connection.execute(sa.select(*columns).order_by(changes.c.id))]


def item_rows(connection: sa.Connection) -> Iterator[tuple[Any, Any]]:
    """Number and name of every item."""
    query = sa.select(items.c.id, items.c.name).order_by(items.c.id)
    yield from (tuple(row) for row in connection.execute(query, execution_options={"yield_per": AT_ONCE}))


# -- the seal of a backup ----------------------------------------------------------------------------------------------


def mark_as_sealed(connection: sa.Connection) -> None:
    """Note in the head of a file that it has a seal, so that one whose seal is lost is not taken for one without."""
    connection.exec_driver_sql(f"PRAGMA application_id={SEALED_FILE}")


def is_marked_as_sealed(connection: sa.Connection) -> bool:
    if connection.dialect.name != "sqlite":
        return False
    return connection.exec_driver_sql("PRAGMA application_id").scalar() == SEALED_FILE


def seal(connection: sa.Connection, upto: dict[str, int] | None = None) -> dict[str, dict[str, Any]]:
    """Of each table that is only added to: the last number, and a digest of all rows up to it (or to the one given)."""
    found = {}
    for name, (number, columns) in SEALED.items():
        last = connection.execute(sa.select(sa.func.max(number))).scalar() or 0
        last = last if upto is None else upto[name]
        query = sa.select(*columns).where(number <= last).order_by(*number.table.primary_key.columns)
        digest = hashlib.sha256()
        for row in connection.execute(query, execution_options={"yield_per": AT_ONCE}):
            digest.update(json.dumps([_plain(value) for value in row], sort_keys=True).encode())
        found[name] = {"last": last, "sha256": digest.hexdigest()}
    return found


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
