"""The questions that are ready to be asked, in order, and the leases that give one to a person for a while.

The statements of a request are made once, here: making them anew would cost more than the database does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as given

from labelwise.labelling.store.engine import insert_rows
from labelwise.labelling.store.schema import event_values, events, leases, questions, trainings


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
    words: str | None = None


@dataclass(frozen=True)
class Held:
    """A lease as it is stored."""

    token: str
    item: int
    label: int
    who: str
    reason: str
    score: float | None
    rank: int
    beliefs: bytes | None
    given_at: float
    expires_at: float
    state: str = "open"
    words: str | None = None


NAMES = tuple(Held.__dataclass_fields__)
# The questions asked from are those of the last good training: those of another are written before it ends, bit by
# bit, so that nobody who answers waits for them, and seen all at once when it is marked as good.
PLAN = sa.select(trainings.c.id).where(trainings.c.state == "good").order_by(trainings.c.id.desc()).limit(1)
_IN_PLAN = questions.c.plan == PLAN.scalar_subquery()
_had, _undone = events.alias(), events.alias()
_WAS_ASKED = sa.exists().where(
    _had.c.item == questions.c.item,
    _had.c.who == given("person"),
    _had.c.asked == questions.c.label,
    _had.c.kind != "undo",
    ~sa.exists().where(_undone.c.undoes == _had.c.id),
)
_HAS_IT = sa.exists().where(
    leases.c.item == questions.c.item,
    leases.c.label == questions.c.label,
    leases.c.state == "open",
    leases.c.who == given("person"),
)
BEST_FOR = (
    sa.select(*(questions.c[field] for field in Ready.__dataclass_fields__))
    .where(_IN_PLAN, questions.c.remaining > 0, ~_WAS_ASKED, ~_HAS_IT)
    .order_by(questions.c.rank)
    .limit(given("most"))
)
BEST_ABOUT = BEST_FOR.where(questions.c.item == given("about"))
_HERE = _IN_PLAN & (questions.c.item == given("at_item")) & (questions.c.label == given("at_label"))
CHANGE_REMAINING = questions.update().where(_HERE).values(remaining=questions.c.remaining + given("change"))
DROP = questions.delete().where(_HERE)
DROP_FINISHED = questions.delete().where(_HERE, questions.c.remaining <= 0)
OVERDUE = sa.select(*(leases.c[name] for name in NAMES)).where(
    leases.c.state == "open", leases.c.expires_at < given("now")
)
LEASE = sa.select(*(leases.c[name] for name in NAMES)).where(leases.c.token == given("of"))
LEASES_OF = (
    sa.select(leases)
    .where(leases.c.state == "open", leases.c.who == given("person"))
    .order_by(leases.c.given_at, leases.c.rank)
)
END_LEASE = leases.update().where(leases.c.token == given("of")).values(state=given("becomes"))
RENEW = leases.update().where(leases.c.token == given("of")).values(expires_at=given("until"))
VOTES_ON = (
    sa.select(event_values.c.label, events.c.who, events.c.reason, event_values.c.value)
    .select_from(events.join(event_values, event_values.c.event == events.c.id))
    .where(
        events.c.item == given("at_item"),
        events.c.kind == "answer",
        ~sa.exists().where(_undone.c.undoes == events.c.id),
    )
    .order_by(events.c.id)
)


# -- the queue ---------------------------------------------------------------------------------------------------------


def write_plan(connection: sa.Connection, plan: int, ready: Sequence[Ready]) -> None:
    """Write some of the questions of a training that has not ended."""
    columns = ("plan", *Ready.__dataclass_fields__)
    insert_rows(connection, questions, columns, [(plan, *(getattr(q, name) for name in columns[1:])) for q in ready])


def trim_plan(connection: sa.Connection, plan: int, seen_event: int) -> None:
    """Take out of a plan what was answered or leased while it was being made."""
    answers = (events.c.id > seen_event) & (events.c.kind == "answer")
    answered = (events.c.item == questions.c.item) & (events.c.asked == questions.c.label)
    held = (leases.c.item == questions.c.item) & (leases.c.label == questions.c.label)
    for table, which, same in ((events, answers, answered), (leases, leases.c.state == "open", held)):
        number = sa.select(sa.func.count()).select_from(table).where(which, same).scalar_subquery()
        touched = questions.c.item.in_(sa.select(table.c.item).where(which))
        fewer = questions.update().where(questions.c.plan == plan, touched)
        connection.execute(fewer.values(remaining=questions.c.remaining - number))
    connection.execute(questions.delete().where(questions.c.plan == plan, questions.c.remaining <= 0))


def drop_other_plans(connection: sa.Connection, plan: int, ranks: range) -> None:
    """Forget the questions of other trainings, those of some ranks at a time."""
    where = (questions.c.plan != plan) & (questions.c.rank >= ranks.start) & (questions.c.rank < ranks.stop)
    connection.execute(questions.delete().where(where))


def highest_rank(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.coalesce(sa.func.max(questions.c.rank), 0))).scalar_one()


def count_ready(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(questions).where(_IN_PLAN)).scalar_one()


def clear_questions(connection: sa.Connection) -> None:
    """Throw the derived questions away; the worker makes them anew."""
    connection.execute(questions.delete())


def forget_beliefs(connection: sa.Connection, gone: int | None = None) -> None:
    """After a change of the labels: what was believed no longer lines up, and a label may be gone."""
    connection.execute(questions.update().values(beliefs=None, words=None))
    connection.execute(leases.update().where(leases.c.state == "open").values(beliefs=None, words=None))
    if gone is not None:
        connection.execute(questions.delete().where(questions.c.label == gone))


def take(connection: sa.Connection, who: str, n: int, about: int | None = None) -> list[Ready]:
    """The n best questions that this person has not had (about one item, or any), taken out of the queue."""
    if about is None:
        rows = connection.execute(BEST_FOR, {"person": who, "most": n})
    else:
        rows = connection.execute(BEST_ABOUT, {"person": who, "most": n, "about": about})
    found = [Ready(*row) for row in rows]
    for question in found:
        here = {"at_item": question.item, "at_label": question.label}
        if question.remaining == 1:
            connection.execute(DROP, here)
        else:
            connection.execute(CHANGE_REMAINING, {**here, "change": -1})
    return found


def withdraw(connection: sa.Connection, item: int, label: int) -> None:
    """One person fewer to be asked a question, if it is in the queue."""
    here = {"at_item": item, "at_label": label}
    connection.execute(CHANGE_REMAINING, {**here, "change": -1})
    connection.execute(DROP_FINISHED, here)


def put_back(connection: sa.Connection, held: Held) -> None:
    """A question that was not answered may be given to somebody else, at its old place."""
    raised = connection.execute(CHANGE_REMAINING, {"at_item": held.item, "at_label": held.label, "change": 1})
    plan = connection.execute(PLAN).scalar()
    if raised.rowcount == 0 and plan is not None:
        again = Ready(held.item, held.label, held.rank, held.reason, held.score, 1, held.beliefs, held.words)
        write_plan(connection, plan, [again])


# -- leases ------------------------------------------------------------------------------------------------------------


def open_lease(connection: sa.Connection, held: Held) -> None:
    """Write a new lease."""
    insert_rows(connection, leases, NAMES, [tuple(getattr(held, name) for name in NAMES)])


def expire(connection: sa.Connection, now: float) -> int:
    """End the leases whose time is over and put their questions back; how many there were."""
    over = [Held(*row) for row in connection.execute(OVERDUE, {"now": now})]
    for held in over:
        end_lease(connection, held.token, "expired")
        put_back(connection, held)
    return len(over)


def find_lease(connection: sa.Connection, token: str) -> Held | None:
    row = connection.execute(LEASE, {"of": token}).first()
    return None if row is None else Held(*row)


def leases_of(connection: sa.Connection, who: str) -> list[Held]:
    """A person's open leases, the first given first."""
    return [Held(*row) for row in connection.execute(LEASES_OF, {"person": who})]


def open_leases(connection: sa.Connection) -> list[Held]:
    """Every open lease."""
    return [Held(*row) for row in connection.execute(sa.select(leases).where(leases.c.state == "open"))]


def renew(connection: sa.Connection, held: Held, until: float) -> Held:
    """The same lease for longer."""
    connection.execute(RENEW, {"of": held.token, "until": until})
    return replace(held, expires_at=until)


def end_lease(connection: sa.Connection, token: str, state: str) -> None:
    connection.execute(END_LEASE, {"of": token, "becomes": state})


def others_have(connection: sa.Connection, held: Held) -> int:
    """How many others hold the question of a lease now, or have answered it since it was given."""
    others = sa.select(sa.func.count()).where(
        leases.c.item == held.item,
        leases.c.label == held.label,
        leases.c.who != held.who,
        leases.c.state.in_(["open", "answered"]),
        leases.c.given_at >= held.given_at,
    )
    return connection.execute(others).scalar_one()


def votes_on(connection: sa.Connection, item: int) -> list[Any]:
    """Label, person, reason and value of everything said of one item that was not taken back, oldest first."""
    return list(connection.execute(VOTES_ON, {"at_item": item}).all())
