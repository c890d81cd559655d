"""The questions that are ready to be asked, in order, and the leases that give one to a person for a while."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.store.engine import insert_many
from labelwise.labelling.store.schema import event_values, events, leases, questions


@dataclass(frozen=True)
class Ready:
    """A question made by the worker: item and label (or WHOLE_ITEM) by number, and how many people may have it."""

    item: int
    label: int
    rank: int
    reason: str
    score: float | None
    remaining: int
    beliefs: bytes | None


def replace_questions(connection: sa.Connection, ready: Sequence[Ready], seen_event: int) -> None:
    """Put the new questions in place of the old, without what was answered or leased while they were being made."""
    gone = _had_since(connection, seen_event)
    for item, label, _ in open_leases(connection):
        gone[item, label] = gone.get((item, label), 0) + 1
    rows = []
    for question in ready:
        remaining = question.remaining - gone.get((question.item, question.label), 0)
        if remaining > 0:
            rows.append((question.item, question.label, question.rank, question.reason, question.score, remaining))
    beliefs = {(question.item, question.label): question.beliefs for question in ready}
    connection.execute(questions.delete())
    insert_many(connection, questions, [(*row, beliefs[row[0], row[1]]) for row in rows])


def count_ready(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(questions)).scalar_one()


def clear_questions(connection: sa.Connection) -> None:
    """Throw the derived questions away; the worker makes them anew."""
    connection.execute(questions.delete())


def forget_beliefs(connection: sa.Connection, gone: int | None = None) -> None:
    """After a change of the labels: what was believed no longer lines up, and a label may be gone."""
    connection.execute(questions.update().values(beliefs=None))
    connection.execute(leases.update().where(leases.c.state == "open").values(beliefs=None))
    if gone is not None:
        connection.execute(questions.delete().where(questions.c.label == gone))


def take(connection: sa.Connection, who: str, n: int) -> list[sa.Row]:
    """The n best questions that this person has not had, taken out of the queue."""
    had, undone = events.alias(), events.alias()
    answered = sa.exists().where(
        had.c.item == questions.c.item,
        had.c.who == who,
        had.c.asked == questions.c.label,
        had.c.kind != "undo",
        ~sa.exists().where(undone.c.undoes == had.c.id),
    )
    held = sa.exists().where(
        leases.c.item == questions.c.item,
        leases.c.label == questions.c.label,
        leases.c.state == "open",
        leases.c.who == who,
    )
    query = sa.select(questions).where(questions.c.remaining > 0, ~answered, ~held).order_by(questions.c.rank).limit(n)
    found = list(connection.execute(query).all())
    for row in found:
        here = (questions.c.item == row.item) & (questions.c.label == row.label)
        if row.remaining > 1:
            connection.execute(questions.update().where(here).values(remaining=row.remaining - 1))
        else:
            connection.execute(questions.delete().where(here))
    return found


def put_back(connection: sa.Connection, lease: sa.Row) -> None:
    """A question that was not answered may be given to somebody else, at its old place."""
    here = (questions.c.item == lease.item) & (questions.c.label == lease.label)
    raised = connection.execute(questions.update().where(here).values(remaining=questions.c.remaining + 1))
    if raised.rowcount == 0:
        row = (lease.item, lease.label, lease.rank, lease.reason, lease.score, 1, lease.beliefs)
        insert_many(connection, questions, [row])


def withdraw(connection: sa.Connection, item: int, label: int) -> None:
    """One person fewer to be asked a question that is in the queue."""
    here = (questions.c.item == item) & (questions.c.label == label)
    connection.execute(questions.update().where(here).values(remaining=questions.c.remaining - 1))
    connection.execute(questions.delete().where(here, questions.c.remaining <= 0))


def open_lease(connection: sa.Connection, row: Any, token: str, who: str, given_at: float, until: float) -> None:
    """Give a question that was taken out of the queue to a person."""
    values = (token, row.item, row.label, who, row.reason, row.score, row.rank, row.beliefs, given_at, until, "open")
    insert_many(connection, leases, [values])


def expire(connection: sa.Connection, now: float) -> int:
    """End the leases whose time is over and put their questions back; how many there were."""
    over = connection.execute(sa.select(leases).where(leases.c.state == "open", leases.c.expires_at < now)).all()
    for lease in over:
        end_lease(connection, lease.token, "expired")
        put_back(connection, lease)
    return len(over)


def find_lease(connection: sa.Connection, token: str) -> sa.Row | None:
    return connection.execute(sa.select(leases).where(leases.c.token == token)).first()


def leases_of(connection: sa.Connection, who: str) -> list[sa.Row]:
    """A person's open leases, the first given first."""
    mine = sa.select(leases).where(leases.c.state == "open", leases.c.who == who)
    return list(connection.execute(mine.order_by(leases.c.given_at, leases.c.rank)).all())


def open_leases(connection: sa.Connection) -> list[tuple[int, int, str]]:
    """Item, label and person of every open lease."""
    held = sa.select(leases.c.item, leases.c.label, leases.c.who).where(leases.c.state == "open")
    return [(item, label, who) for item, label, who in connection.execute(held)]


def renew(connection: sa.Connection, tokens: Iterable[str], until: float) -> None:
    connection.execute(leases.update().where(leases.c.token.in_(list(tokens))).values(expires_at=until))


def end_lease(connection: sa.Connection, token: str, state: str) -> None:
    connection.execute(leases.update().where(leases.c.token == token).values(state=state))


def others_have(connection: sa.Connection, lease: sa.Row) -> int:
    """How many others hold the question of a lease now, or have answered it since it was given."""
    held = sa.select(sa.func.count()).where(
        leases.c.item == lease.item,
        leases.c.label == lease.label,
        leases.c.who != lease.who,
        leases.c.state.in_(["open", "answered"]),
        leases.c.given_at >= lease.given_at,
    )
    return connection.execute(held).scalar_one()


def votes_on(connection: sa.Connection, item: int) -> list[tuple[int, str, str, int]]:
    """Label, person, reason and value of everything said of one item that was not taken back, oldest first."""
    undone = events.alias()
    said = (
        sa.select(event_values.c.label, events.c.who, events.c.reason, event_values.c.value)
        .select_from(events.join(event_values, event_values.c.event == events.c.id))
        .where(events.c.item == item, events.c.kind == "answer", ~sa.exists().where(undone.c.undoes == events.c.id))
        .order_by(events.c.id)
    )
    return [(row.label, row.who, row.reason, row.value) for row in connection.execute(said)]


def _had_since(connection: sa.Connection, seen_event: int) -> dict[tuple[int, int], int]:
    """How many people have answered each question after an event."""
    since = sa.select(events.c.item, events.c.asked, sa.func.count()).where(
        events.c.id > seen_event, events.c.kind == "answer"
    )
    found = connection.execute(since.group_by(events.c.item, events.c.asked))
    return {(item, asked): number for item, asked, number in found}
