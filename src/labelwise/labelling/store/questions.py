"""The questions that are ready to be asked, in order, and the leases that give one to a person for a while.

The statements of a request are made once, here: making them anew would cost more than the database does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as given

from labelwise.labelling.store.engine import insert_rows
from labelwise.labelling.store.events import BY_PEOPLE, STANDS, UNDONE, WITH_VALUES
from labelwise.labelling.store.schema import (
    WHOLE_ITEM,
    assignments,
    event_values,
    events,
    leases,
    questions,
    trainings,
)
from labelwise.records.asking import CONTROL


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
class StoredLease:
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


NAMES = tuple(StoredLease.__dataclass_fields__)
HELD = "held"  # the state of an item on somebody's page of a sweep
LEFT = "left"  # the state of a lease whose question its person left open in an answer or skip about the whole item
# The questions asked from are those of the last good training: those of another are written before it ends, bit by
# bit, so that nobody who answers waits for them, and seen all at once when it is marked as good.
PLAN = sa.select(trainings.c.id).where(trainings.c.state == "good").order_by(trainings.c.id.desc()).limit(1)
_IN_PLAN = questions.c.plan == PLAN.scalar_subquery()
_had, _undone, _later, _value = events.alias(), events.alias(), events.alias(), event_values.alias()


def _had_by(who: Any, table: sa.FromClause) -> Any:
    """Answers and skips of a person to the question in a row of `table`, not taken back; given labels are no answers.

    An answer to more than was asked, or to the whole item, answers a question about each of its labels.
    """
    says_it = sa.exists().where(_value.c.event == _had.c.id, _value.c.label == table.c.label).correlate_except(_value)
    return (
        (_had.c.item == table.c.item)
        & (_had.c.who == who)
        & (_had.c.kind != "undo")
        & (_had.c.reason != "given")
        & ((_had.c.asked == table.c.label) | says_it)
        & ~sa.exists().where(_undone.c.undoes == _had.c.id)
    )


def _same_question(first: sa.ColumnElement[int], second: Any) -> sa.ColumnElement[bool]:
    """Whether two labels of one item overlap: the same one, or either is the whole item."""
    return (first == second) | (first == WHOLE_ITEM) | (second == WHOLE_ITEM)


def _taken_back_since(label: sa.ColumnElement[int]) -> Any:
    """Whether the person of an event took an answer to the question back later: he may then say it anew.

    So it is with a correction that is taken back, although the answer before it stands again.
    """
    since = (_later.c.kind == "undo") & (_later.c.asked == label) & (_later.c.id > _had.c.id)
    same = (_later.c.item == _had.c.item) & (_later.c.who == _had.c.who)
    return sa.exists().where(same, since).correlate_except(_later)


_WAS_ASKED = sa.exists().where(_had_by(given("person"), questions))
_HAS_IT = sa.exists().where(
    leases.c.item == questions.c.item,
    leases.c.state.in_(["open", LEFT]),
    leases.c.who == given("person"),
    _same_question(leases.c.label, questions.c.label),
)
BEST_FOR = (
    sa.select(*(questions.c[field] for field in Ready.__dataclass_fields__))
    .where(_IN_PLAN, questions.c.remaining > 0, ~_WAS_ASKED, ~_HAS_IT)
    .order_by(questions.c.rank)
    .limit(given("most"))
)
# Where items are assigned: one's own first, then nobody's, then those of others. The random share is of all items.
_assigned = assignments.c.item == questions.c.item
_PLACE = sa.case(
    (sa.exists().where(_assigned, assignments.c.who == given("person")), 0),
    (sa.exists().where(_assigned), 2),
    else_=1,
)
BEST_BY_PLACE = BEST_FOR.where(questions.c.reason != CONTROL).order_by(None).order_by(_PLACE, questions.c.rank)
BEST_AT_RANDOM = BEST_FOR.where(questions.c.reason == CONTROL)
ANY_ASSIGNED = sa.select(assignments.c.item).limit(1)
TURN = sa.select(
    PLAN.scalar_subquery(),
    sa.func.coalesce(sa.func.sum(questions.c.remaining), 0),
    sa.func.coalesce(sa.func.sum(sa.case((questions.c.reason == CONTROL, questions.c.remaining), else_=0)), 0),
).where(_IN_PLAN, questions.c.remaining > 0)
BEST_ABOUT = BEST_FOR.where(questions.c.item == given("about"))
READY_LABELS = sa.select(questions.c.label).where(_IN_PLAN, questions.c.item == given("about"))
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
ANSWERED_LEASES = sa.select(leases.c.token).where(
    leases.c.state == "open",
    leases.c.who == given("person"),
    sa.exists().where(_had_by(leases.c.who, leases), ~_taken_back_since(leases.c.label)),
)
OPEN_ON_ITEM = sa.select(*(leases.c[name] for name in NAMES)).where(
    leases.c.state == "open", leases.c.item == given("at_item"), leases.c.who == given("person")
)
ANSWERS_OF = (
    sa.select(
        events.c.id,
        events.c.asked,
        event_values.c.label,
        event_values.c.value,
        UNDONE.label("undone"),
    )
    .select_from(WITH_VALUES)
    .where(events.c.item == given("at_item"), events.c.who == given("person"), events.c.kind == "answer", BY_PEOPLE)
    .order_by(events.c.id)
)
WITH_OTHERS = (
    sa.select(leases.c.token)
    .where(
        leases.c.state == "open",
        leases.c.who != given("person"),
        ~sa.exists().where(_had_by(given("person"), leases)),
    )
    .limit(1)
)
VOTES_ON = (
    sa.select(event_values.c.label, events.c.who, events.c.reason, event_values.c.value)
    .select_from(WITH_VALUES)
    .where(events.c.item == given("at_item"), STANDS)
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
    spoke_of = sa.exists().where(event_values.c.event == events.c.id, event_values.c.label == questions.c.label)
    answered = (events.c.item == questions.c.item) & ((events.c.asked == questions.c.label) | spoke_of)
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


def items_asked_at_random(connection: sa.Connection) -> list[int]:
    """Items that a question of the random share is about, ready or with somebody."""
    ready = sa.select(questions.c.item).where(_IN_PLAN, questions.c.reason == CONTROL)
    out = sa.select(leases.c.item).where(leases.c.state == "open", leases.c.reason == CONTROL)
    return sorted({*connection.execute(ready).scalars(), *connection.execute(out).scalars()})


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
    return _taken(connection, rows)


def turn_of_queue(connection: sa.Connection) -> tuple[int, int, int] | None:
    """The plan, how many questions it has left and how many of them are random; None where no items are assigned."""
    if connection.execute(ANY_ASSIGNED).first() is None:
        return None
    plan, left, at_random = connection.execute(TURN).one()
    return int(plan or 0), int(left), int(at_random)


def take_by_place(connection: sa.Connection, who: str, at_random: bool) -> list[Ready]:
    """The best question for a person where items are assigned, or the best random one; the other if there is none."""
    for best in (BEST_AT_RANDOM, BEST_BY_PLACE) if at_random else (BEST_BY_PLACE, BEST_AT_RANDOM):
        taken = _taken(connection, connection.execute(best, {"person": who, "most": 1}))
        if taken:
            return taken
    return []


def _taken(connection: sa.Connection, rows: Iterable[Any]) -> list[Ready]:
    """The questions of these rows, taken out of the queue for one person."""
    ready = [Ready(*row) for row in rows]
    for question in ready:
        here = {"at_item": question.item, "at_label": question.label}
        if question.remaining == 1:
            connection.execute(DROP, here)
        else:
            connection.execute(CHANGE_REMAINING, {**here, "change": -1})
    return ready


def ready_labels(connection: sa.Connection, item: int) -> list[int]:
    """The labels (or WHOLE_ITEM) of the questions about one item that are in the queue."""
    return list(connection.execute(READY_LABELS, {"about": item}).scalars())


def is_askable(connection: sa.Connection, who: str) -> bool:
    """Whether the queue has a question for this person."""
    return connection.execute(BEST_FOR, {"person": who, "most": 1}).first() is not None


def size_of_queue(connection: sa.Connection) -> tuple[int, int]:
    """The number of questions that may be given, and to how many people in all."""
    size = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(questions.c.remaining), 0))
    return tuple(connection.execute(size.where(_IN_PLAN, questions.c.remaining > 0)).one())


def fewest_askable(connection: sa.Connection) -> int:
    """How many questions of the queue may be given to the person who can be given fewest: had and held do not count."""
    here = (_IN_PLAN, questions.c.remaining > 0)
    had = sa.select(_had.c.who, questions.c.item, questions.c.label).where(*here, _had_by(_had.c.who, questions))
    held = sa.select(leases.c.who, questions.c.item, questions.c.label).where(
        *here,
        leases.c.item == questions.c.item,
        leases.c.state.in_(["open", LEFT]),
        _same_question(leases.c.label, questions.c.label),
    )
    closed = sa.union(had, held).subquery()
    number = sa.func.count()
    most = sa.select(number).select_from(closed).group_by(closed.c.who).order_by(number.desc()).limit(1)
    return size_of_queue(connection)[0] - (connection.execute(most).scalar() or 0)


def withdraw(connection: sa.Connection, item: int, label: int) -> None:
    """One person fewer to be asked a question, if it is in the queue."""
    here = {"at_item": item, "at_label": label}
    connection.execute(CHANGE_REMAINING, {**here, "change": -1})
    connection.execute(DROP_FINISHED, here)


def return_question(connection: sa.Connection, held: StoredLease, state: str) -> None:
    """End a lease without an answer: its question may be given to somebody else, at its old place."""
    end_lease(connection, held.token, state)
    raised = connection.execute(CHANGE_REMAINING, {"at_item": held.item, "at_label": held.label, "change": 1})
    plan = connection.execute(PLAN).scalar()
    if raised.rowcount == 0 and plan is not None:
        again = Ready(held.item, held.label, held.rank, held.reason, held.score, 1, held.beliefs, held.words)
        write_plan(connection, plan, [again])


# -- leases ------------------------------------------------------------------------------------------------------------


def open_lease(connection: sa.Connection, held: StoredLease) -> bool:
    """Write a new lease, unless the person has one on the same question or answered it; whether it was written."""
    row = {name: getattr(held, name) for name in NAMES}
    return connection.execute(GUARDED_LEASE, row).first() is not None


def _guarded_lease() -> Any:
    """Insert a lease where the same person neither holds the question nor has answered or skipped it."""
    other = leases.alias()
    values = {name: sa.cast(given(name, type_=leases.c[name].type), leases.c[name].type) for name in NAMES}
    asked = sa.select(*(value.label(name) for name, value in values.items())).subquery()
    holds = sa.exists().where(
        other.c.item == asked.c.item,
        other.c.who == asked.c.who,
        other.c.state == "open",
        _same_question(other.c.label, asked.c.label),
    )
    answered = sa.exists().where(_had_by(asked.c.who, asked), ~_taken_back_since(asked.c.label))
    insert = leases.insert().from_select(NAMES, sa.select(asked).where(~holds, ~answered))
    return insert.returning(leases.c.token)


GUARDED_LEASE = _guarded_lease()


def leave_open(connection: sa.Connection, held: StoredLease, labels: Iterable[int]) -> None:
    """Note that a person who spoke of an item as a whole left these questions about it open: others are asked them."""
    left = [replace(held, token=f"{held.token}-{label}", label=label, state=LEFT) for label in labels]
    insert_rows(connection, leases, NAMES, [tuple(getattr(each, name) for name in NAMES) for each in left])


def expire(connection: sa.Connection, now: float) -> int:
    """End the leases whose time is over and put their questions back; how many there were."""
    over = [StoredLease(*row) for row in connection.execute(OVERDUE, {"now": now})]
    for held in over:
        return_question(connection, held, "expired")
    return len(over)


def find_lease(connection: sa.Connection, token: str) -> StoredLease | None:
    row = connection.execute(LEASE, {"of": token}).first()
    return None if row is None else StoredLease(*row)


def leases_of(connection: sa.Connection, who: str) -> list[StoredLease]:
    """A person's open leases, the first given first."""
    return [StoredLease(*row) for row in connection.execute(LEASES_OF, {"person": who})]


def answered_leases(connection: sa.Connection, who: str) -> set[str]:
    """A person's open leases whose question they have answered or skipped by another way."""
    return set(connection.execute(ANSWERED_LEASES, {"person": who}).scalars())


def leases_on_item(connection: sa.Connection, who: str, item: int) -> list[StoredLease]:
    """A person's open leases about one item."""
    return [StoredLease(*row) for row in connection.execute(OPEN_ON_ITEM, {"person": who, "at_item": item})]


def with_others(connection: sa.Connection, who: str) -> bool:
    """Whether somebody else holds a question that this person has not had."""
    return connection.execute(WITH_OTHERS, {"person": who}).first() is not None


def open_leases(connection: sa.Connection) -> list[StoredLease]:
    """Every open lease."""
    return [StoredLease(*row) for row in connection.execute(sa.select(leases).where(leases.c.state == "open"))]


def left_open(connection: sa.Connection) -> list[tuple[str, int, int]]:
    """Person, item and label of every question that somebody left open in an answer or skip about the whole item."""
    left = sa.select(leases.c.who, leases.c.item, leases.c.label).distinct().where(leases.c.state == LEFT)
    return [(row.who, row.item, row.label) for row in connection.execute(left)]


def renew(connection: sa.Connection, held: StoredLease, until: float) -> StoredLease:
    """The same lease for longer."""
    connection.execute(RENEW, {"of": held.token, "until": until})
    return replace(held, expires_at=until)


def end_lease(connection: sa.Connection, token: str, state: str) -> None:
    connection.execute(END_LEASE, {"of": token, "becomes": state})


def others_have(connection: sa.Connection, held: StoredLease) -> int:
    """How many others hold the question of a lease now, or have answered it since it was given."""
    others = sa.select(sa.func.count()).where(
        leases.c.item == held.item,
        leases.c.label == held.label,
        leases.c.who != held.who,
        leases.c.state.in_(["open", "answered"]),
        leases.c.given_at >= held.given_at,
    )
    return connection.execute(others).scalar_one()


def answers_of(connection: sa.Connection, who: str, item: int) -> list[Any]:
    """All that a person said of an item, oldest first: event, label asked about, label, value, whether taken back."""
    return list(connection.execute(ANSWERS_OF, {"person": who, "at_item": item}).all())


def votes_on(connection: sa.Connection, item: int) -> list[Any]:
    """Label, person, reason and value of everything said of one item that was not taken back, oldest first."""
    return list(connection.execute(VOTES_ON, {"at_item": item}).all())
