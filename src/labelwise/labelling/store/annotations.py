"""Annotations and tasks of Label Studio: which answer each annotation is, and which item each task is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.store.engine import VALUES_AT_ONCE, insert_rows, pieces, read_value, rows_in, write_value
from labelwise.labelling.store.events import UNDONE, NewEvent, add_event
from labelwise.labelling.store.labels import note_change
from labelwise.labelling.store.schema import (
    STUDIO,
    event_values,
    events,
    items,
    studio_annotations,
    studio_tasks,
)

PEOPLE = "label_studio_people"  # key of a value of the project: what people there are called
DELETED, ABSENT = "deleted", "absent"  # Label Studio said so; an import of its project did not have it
UNDO_COLUMNS = ("at", "who", "kind", "item", "asked", "reason", "undoes")
TASK_COLUMNS = ("source", "number", "item", "digest")
BARE_COLUMNS = ("source", "number", "state", "noted_at", "partial", "gone")

ANSWER = sa.select(events).where(events.c.id == sa.bindparam("number"), ~UNDONE)
VALUES = sa.select(event_values.c.label, event_values.c.value).where(event_values.c.event == sa.bindparam("number"))
SAME = (  # made once: it is asked for every new annotation
    sa.select(events)
    .where(
        events.c.item == sa.bindparam("item"),
        events.c.kind == sa.bindparam("kind"),
        events.c.who.in_(sa.bindparam("names", expanding=True)),
        events.c.at.in_(sa.bindparam("times", expanding=True)),
        ~UNDONE,
        ~sa.exists().where(studio_annotations.c.event == events.c.id),
    )
    .order_by(events.c.id)
    .limit(1)
)


def people_there(connection: sa.Connection) -> dict[str, str]:
    """The names of people in Label Studio whose email addresses are known, by what they are called by number."""
    return dict(read_value(connection, PEOPLE) or {})


def name_people(connection: sa.Connection, emails: Mapping[str, str], who: str, at: float) -> None:
    """Call people in Label Studio by their email addresses from now on, and in all that they said before.

    The first address that is known of a number stays its name.
    """
    known = people_there(connection)
    new = {STUDIO + number: STUDIO + email for number, email in emails.items()}
    new = {old: name for old, name in new.items() if old not in known and name not in known.values()}
    if not new:
        return
    write_value(connection, PEOPLE, {**known, **new})
    for old, name in new.items():
        connection.execute(events.update().where(events.c.who == old).values(who=name))
        note_change(connection, "name person", {"old": old, "new": name}, who, at)


def known_annotations(connection: sa.Connection, source: str, numbers: Iterable[str]) -> dict[str, sa.Row]:
    """Those of these annotations of a project there that are known, by number."""
    query = sa.select(studio_annotations).where(studio_annotations.c.source == source)
    return {row.number: row for row in rows_in(connection, query, studio_annotations.c.number, numbers)}


def standing_annotations(connection: sa.Connection, source: str) -> list[sa.Row]:
    """All annotations of a project there that are not known to be gone."""
    mine = (studio_annotations.c.source == source) & studio_annotations.c.gone.is_(None)
    return list(connection.execute(sa.select(studio_annotations).where(mine)))


def add_annotation(connection: sa.Connection, source: str, number: str, columns: Mapping[str, Any]) -> None:
    """Note an annotation that is not known."""
    row = {"source": source, "number": number, **columns}
    insert_rows(connection, studio_annotations, tuple(row), [tuple(row.values())])


def change_annotation(connection: sa.Connection, source: str, number: str, columns: Mapping[str, Any]) -> None:
    """Note what has changed of an annotation that is known."""
    mine = (studio_annotations.c.source == source) & (studio_annotations.c.number == number)
    connection.execute(studio_annotations.update().where(mine).values(**columns))


def standing_event(connection: sa.Connection, number: int | None) -> tuple[sa.Row, dict[int, int]] | None:
    """An event with its values by label; None where there is none or it was taken back."""
    if number is None:
        return None
    row = connection.execute(ANSWER, {"number": number}).first()
    return None if row is None else (row, dict(connection.execute(VALUES, {"number": number}).all()))


def same_event(
    connection: sa.Connection, item: int, kind: str, names: Sequence[str], times: Sequence[float]
) -> sa.Row | None:
    """An answer by one of these names at one of these moments that stands and is no annotation that is known."""
    given = {"item": item, "kind": kind, "names": list(names), "times": list(times)}
    return connection.execute(SAME, given).first()


def take_back_event(connection: sa.Connection, row: sa.Row, at: float) -> None:
    """Take one answer back at this moment."""
    add_event(connection, NewEvent(at, row.who, row.item, "undo", row.asked, row.reason, undoes=row.id))


def take_back_annotations(connection: sa.Connection, source: str, numbers: Sequence[str], at: float, gone: str) -> int:
    """Take back what these annotations said, and note that they are gone; how many answers that are.

    A deletion may come before its annotation: it is noted, so that the annotation is not taken in later.
    """
    known = known_annotations(connection, source, numbers)
    wanted = [row.event for row in known.values() if row.event is not None and row.gone is None]
    standing = rows_in(connection, sa.select(events).where(~UNDONE), events.c.id, wanted)
    undos = [(max(at, row.at), row.who, "undo", row.item, row.asked, row.reason, row.id) for row in standing]
    insert_rows(connection, events, UNDO_COLUMNS, undos)
    for part in pieces([row.number for row in known.values() if row.gone != DELETED], VALUES_AT_ONCE):
        mine = (studio_annotations.c.source == source) & studio_annotations.c.number.in_(part)
        connection.execute(studio_annotations.update().where(mine).values(gone=gone, noted_at=at))
    if gone == DELETED:
        new = [number for number in dict.fromkeys(numbers) if number not in known]
        rows = [(source, number, 0.0, at, False, gone) for number in new]
        insert_rows(connection, studio_annotations, BARE_COLUMNS, rows)
    return len(undos)


def known_tasks(connection: sa.Connection, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, str]]:
    """The item and the digest of the data of those of these tasks (project, number) that are known."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for source, numbers in _by_source(keys).items():
        query = sa.select(studio_tasks).where(studio_tasks.c.source == source)
        for row in rows_in(connection, query, studio_tasks.c.number, numbers):
            found[(source, row.number)] = (row.item, row.digest)
    return found


def write_tasks(connection: sa.Connection, rows: Sequence[tuple[str, str, int, str]]) -> None:
    """Note which items tasks are: project there, number there, item, digest of the data."""
    for source, numbers in _by_source(row[:2] for row in rows).items():
        for part in pieces(numbers, VALUES_AT_ONCE):
            mine = (studio_tasks.c.source == source) & studio_tasks.c.number.in_(part)
            connection.execute(studio_tasks.delete().where(mine))
    insert_rows(connection, studio_tasks, TASK_COLUMNS, list({row[:2]: row for row in rows}.values()))


def _by_source(keys: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for source, number in keys:
        found.setdefault(source, []).append(number)
    return found


def contents_after(connection: sa.Connection, number: int) -> Iterable[sa.Row]:
    """Number and content of the items after this one, in order."""
    return connection.execute(sa.select(items.c.id, items.c.content).where(items.c.id > number).order_by(items.c.id))
