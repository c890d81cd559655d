"""The record of trainings: which answers each saw, how it ended, and what it found."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from labelwise.labelling.store.engine import rows_in
from labelwise.labelling.store.schema import course_of, trainings


def begin_training(connection: sa.Connection, seen_event: int, seen_change: int, at: float) -> int:
    """Note that a training has begun; its number."""
    row = trainings.insert().values(state="running", started_at=at, seen_event=seen_event, seen_change=seen_change)
    return int(connection.execute(row).inserted_primary_key[0])  # type: ignore[index]  # one row was inserted: never None


def end_training(
    connection: sa.Connection,
    number: int,
    state: str,
    at: float,
    *,
    message: str | None = None,
    report: dict[str, Any] | None = None,
    seen: tuple[int, int] | None = None,
) -> None:
    """Note how a training ended, and the last event and change that it saw where that is known better now."""
    ended = trainings.update().where(trainings.c.id == number)
    known = {} if seen is None else {"seen_event": seen[0], "seen_change": seen[1]}
    connection.execute(ended.values(state=state, finished_at=at, message=message, report=report, **known))


def amend_report(connection: sa.Connection, number: int, report: dict[str, Any]) -> None:
    """Put a longer report in the place of the one that a training ended with."""
    connection.execute(trainings.update().where(trainings.c.id == number).values(report=report))


def shorten_reports(connection: sa.Connection, number: int) -> None:
    """Keep of the good training before this one only the course of the estimate: there may be thousands of them."""
    earlier = sa.select(trainings.c.id, trainings.c.report).where(trainings.c.state == "good", trainings.c.id < number)
    row = connection.execute(earlier.order_by(trainings.c.id.desc()).limit(1)).first()
    if row is not None and row.report is not None:
        short = trainings.update().where(trainings.c.id == row.id)
        connection.execute(short.values(report=course_of(row.report)))


def mark_killed(connection: sa.Connection, at: float) -> int:
    """Trainings that are noted as running although no worker is there were killed; how many."""
    killed = trainings.update().where(trainings.c.state == "running")
    return connection.execute(
        killed.values(state="killed", finished_at=at, message="the worker was killed, or lost power or the database")
    ).rowcount


def last_good(connection: sa.Connection) -> sa.Row | None:
    good = sa.select(trainings).where(trainings.c.state == "good")
    return connection.execute(good.order_by(trainings.c.id.desc()).limit(1)).first()


def last_training(connection: sa.Connection) -> sa.Row | None:
    return connection.execute(sa.select(trainings).order_by(trainings.c.id.desc()).limit(1)).first()


def count_trainings(connection: sa.Connection) -> dict[str, int]:
    """How many trainings ended in which way."""
    states = sa.select(trainings.c.state, sa.func.count()).group_by(trainings.c.state)
    return {row.state: row[1] for row in connection.execute(states)}


def read_trainings(connection: sa.Connection) -> list[sa.Row]:
    """Every training, oldest first: the course of the project."""
    return list(connection.execute(sa.select(trainings).order_by(trainings.c.id)).all())


def read_course(connection: sa.Connection, most: int | None = 300) -> list[dict[str, Any]]:
    """The reports of all good trainings, or of at most so many, evenly spread from the first to the last."""
    good = sa.select(trainings.c.id).where(trainings.c.state == "good", trainings.c.report.is_not(None))
    numbers = connection.execute(good.order_by(trainings.c.id)).scalars().all()
    step = 1 if most is None else max(1, -(-len(numbers) // most))
    query = sa.select(trainings.c.report).order_by(trainings.c.id)
    return [row.report for row in rows_in(connection, query, trainings.c.id, sorted(numbers[::-1][::step]))]


def forget_trainings(connection: sa.Connection) -> None:
    connection.execute(trainings.delete())
