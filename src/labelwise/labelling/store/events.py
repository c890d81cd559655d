"""What people did, only ever added to: answers, skips, and answers taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from labelwise.labelling.store.database_errors import DamagedRow
from labelwise.labelling.store.engine import begins_with, insert_many, insert_rows, pieces
from labelwise.labelling.store.schema import event_values, events, timings
from labelwise.records.asking import SWEEP, VERIFY, Timing

votes = sa.table("votes", *(sa.column(name) for name in ("event", "item", "label", "who", "reason", "value")))
MERGED = "merged:"  # how the lease begins of what was said of a label and moved to the one it was merged into
VALUE_COLUMNS = ("event", "label", "value")
TIMING_COLUMNS = ("event", "seconds", "question", "by_key", "by_search", "by_suggestion")
NAMES = tuple(column.name for column in events.c if not column.primary_key)
_undoing = events.alias()
UNDONE = sa.exists().where(_undoing.c.undoes == events.c.id)  # taken back
STANDS = (events.c.kind == "answer") & ~UNDONE
TOGETHER = ("sweep", "bulk")  # reasons of answers that are taken back together, not one by one
BY_PEOPLE = events.c.reason != "given"  # what came with the items is nobody's answer
WHOLE_ANSWERS = STANDS & BY_PEOPLE & (events.c.reason != VERIFY)  # what was verified belongs to an answer
WITH_VALUES = events.join(event_values, event_values.c.event == events.c.id)
RECENT = 1000  # times to learn from and to take medians of: people get faster


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
    timing: Timing | None = None


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
    if event.timing is not None:
        insert_rows(connection, timings, TIMING_COLUMNS, [(number, *astuple(event.timing))])
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
    columns = (events.c.id, events.c.item, event_values.c.label, event_values.c.value, events.c.who, events.c.reason)
    query = sa.select(*columns).select_from(WITH_VALUES).where(events.c.id > event)
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

    `swept` is the same event where it is of a sweep. In the order of the people, then of the answers. What came with
    the items, was taken back, or was moved to another label when two were merged, cost nobody anything.
    """
    last = sa.func.max(events.c.id).label("event")
    swept = sa.func.max(sa.case((events.c.reason == SWEEP, events.c.id))).label("swept")
    query = (
        sa.select(events.c.item, event_values.c.label, events.c.who, last, swept)
        .select_from(WITH_VALUES)
        .where(STANDS, BY_PEOPLE, ~_moved_by_merge(connection))
        .group_by(events.c.item, event_values.c.label, events.c.who)
    )
    found = connection.execute(query.order_by(last, event_values.c.label)).all()
    return sorted(found, key=lambda row: row.who)  # here: databases have alphabets of their own


def read_events(connection: sa.Connection, after: int = 0) -> list[tuple[sa.Row, dict[int, int]]]:
    """Every event with its values by label, oldest first."""
    said: dict[int, dict[int, int]] = {}
    for row in connection.execute(sa.select(event_values).where(event_values.c.event > after)):
        said.setdefault(row.event, {})[row.label] = row.value
    found = connection.execute(sa.select(events).where(events.c.id > after).order_by(events.c.id))
    return [(row, said.get(row.id, {})) for row in found]


def read_timings(connection: sa.Connection) -> dict[int, Timing]:
    """How long each event took, by its number; those of which nothing is known are not there."""
    return {row[0]: Timing(*row[1:]) for row in connection.execute(sa.select(timings)).all()}


def event_of_lease(connection: sa.Connection, token: str) -> tuple[int, dict[int, int]] | None:
    """The event that a lease ended in, with its values."""
    number = connection.execute(sa.select(events.c.id).where(events.c.lease == token)).scalar()
    if number is None:
        return None
    said = connection.execute(
        sa.select(event_values.c.label, event_values.c.value).where(event_values.c.event == number)
    )
    return number, dict(said.all())


def said_before(connection: sa.Connection, item: int, who: str, values: Mapping[int, int]) -> int | None:
    """The latest event by which a person said exactly this of an item, where all of it still stands; else None.

    Labels that came with the items are nobody's answer.
    """
    query = (
        sa.select(events.c.id, event_values.c.label, event_values.c.value)
        .select_from(WITH_VALUES)
        .where(events.c.item == item, events.c.who == who, STANDS, BY_PEOPLE)
        .order_by(events.c.id)
    )
    stands = {row.label: (row.value, row.id) for row in connection.execute(query)}
    if any(label not in stands or stands[label][0] != value for label, value in values.items()):
        return None
    return max(stands[label][1] for label in values)


def last_answer_of(connection: sa.Connection, who: str) -> sa.Row | None:
    """A person's latest answer or skip that was not taken back.

    A vote that a merge moved is not one, nor are answers to one label of many items, which are taken back together.
    """
    is_own = (events.c.kind != "undo") & events.c.reason.not_in(TOGETHER)
    mine = sa.select(events).where(events.c.who == who, is_own, ~UNDONE, ~_moved_by_merge(connection))
    return connection.execute(mine.order_by(events.c.id.desc()).limit(1)).first()


def answer_before(connection: sa.Connection, event: sa.Row) -> sa.Row | None:
    """The answer of the same person about the same item that came before an event, if it was the last thing before."""
    mine = sa.select(events).where(events.c.who == event.who, events.c.id < event.id, STANDS)
    before = connection.execute(mine.order_by(events.c.id.desc()).limit(1)).first()
    return before if before is not None and before.item == event.item and before.reason != "given" else None


def moved_by_merges(connection: sa.Connection, event: sa.Row) -> list[sa.Row]:
    """The votes that merges of labels made out of an answer, and that were not taken back."""
    spoke_of = sa.select(event_values.c.label).where(event_values.c.event == event.id)
    leases = [f"{MERGED}{label}:{event.item}:{event.who}" for label in connection.execute(spoke_of).scalars()]
    found: list[sa.Row] = []
    while leases:  # a label may have been merged, and its target after it
        rows = connection.execute(sa.select(events).where(events.c.lease.in_(leases), ~UNDONE)).all()
        found += rows
        leases = [f"{MERGED}{row.asked}:{row.item}:{row.who}" for row in rows]
    return found


def _moved_by_merge(connection: sa.Connection) -> sa.ColumnElement[bool]:
    """Whether an event is a vote that a merge of labels moved."""
    return begins_with(connection, sa.func.coalesce(events.c.lease, ""), MERGED)


def standing_skips(connection: sa.Connection) -> list[tuple[str, int, int]]:
    """Person, item and label (or WHOLE_ITEM) of every skip that was not taken back."""
    skips = sa.select(events.c.who, events.c.item, events.c.asked).distinct().where(events.c.kind == "skip", ~UNDONE)
    return [(row.who, row.item, row.asked) for row in connection.execute(skips)]


def undone_by(connection: sa.Connection, event: int, who: str) -> sa.Row | None:
    """The event by which a person took this answer of theirs back; a number that no event can have has none."""
    if not 0 < event < 2**63:
        return None
    number = sa.literal(event, sa.BigInteger)  # PostgreSQL refuses to look for what a smaller type cannot hold
    return connection.execute(sa.select(events).where(events.c.undoes == number, events.c.who == who)).first()


def voters_count(connection: sa.Connection, after: int = 0) -> dict[str, int]:
    """Answers of each person since an event, but for what was taken back, came with the items, or was verified."""
    mine = sa.select(events.c.who, sa.func.count()).where(events.c.id > after, WHOLE_ANSWERS)
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


def read_given(connection: sa.Connection, items: Sequence[int]) -> dict[int, dict[int, int]]:
    """What came with some items, by item and label, as it was given last."""
    found: dict[int, dict[int, int]] = {}
    for part in pieces(items, 500):
        query = (
            sa.select(events.c.item, event_values.c.label, event_values.c.value)
            .select_from(WITH_VALUES)
            .where(events.c.reason == "given", events.c.item.in_(part))
            .order_by(events.c.id)
        )
        for row in connection.execute(query):
            found.setdefault(row.item, {})[row.label] = row.value
    return found


def _as_votes(rows: Sequence[sa.Row]) -> Votes:
    try:
        numbers = np.array([tuple(row)[:4] for row in rows], dtype=np.int64).reshape(-1, 4).T
    except (TypeError, ValueError, OverflowError) as error:
        raise DamagedRow(f"an answer holds no number where one must be: {error}") from None
    event, item, label, value = numbers
    return Votes(event, item, label, value, tuple(row[4] for row in rows), tuple(row[5] for row in rows))


# -- how long people took ---------------------------------------------------------------------------------------------


def time_totals(connection: sa.Connection) -> list[sa.Row]:
    """Person, kind of question, number and sum of the times of all that was done, taken back or not: it was spent."""
    query = sa.select(events.c.who, timings.c.question, sa.func.count(), sa.func.sum(timings.c.seconds))
    joined = query.select_from(timings.join(events, events.c.id == timings.c.event))
    return list(connection.execute(joined.group_by(events.c.who, timings.c.question)))


def recent_times(connection: sa.Connection, most: int = RECENT) -> list[sa.Row]:
    """The latest timed answers, oldest first, with person, item, moment and how many labels were answered.

    So many of sweeps, which have an answer for each item on a page, and as many of everything else.
    """
    answers = sa.select(sa.func.count()).where(event_values.c.event == timings.c.event).scalar_subquery()
    query = (
        sa.select(*timings.c, events.c.who, events.c.item, events.c.at, answers.label("answers"))
        .select_from(timings.join(events, events.c.id == timings.c.event))
        .where(events.c.kind == "answer")
        .order_by(timings.c.event.desc())
        .limit(most)
    )
    is_sweep = timings.c.question == SWEEP
    found = [row for which in (is_sweep, ~is_sweep) for row in connection.execute(query.where(which)).all()]
    return sorted(found, key=lambda row: row.event)
