"""Looking at a project: who answered when, which items hold a word, what happened to one item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from labelwise.labelling.store.engine import pieces
from labelwise.labelling.store.events import BY_PEOPLE, STANDS, WHOLE_ANSWERS, WITH_VALUES, votes
from labelwise.labelling.store.questions import PLAN
from labelwise.labelling.store.schema import NO, YES, event_values, events, items, questions, timings

DAY = 86400


def answers_by_day(connection: sa.Connection) -> list[tuple[int, str, int]]:
    """(day, person, answers) in order; days since 1970 in UTC. Without what was taken back or came with the items."""
    since = events.c.at / DAY  # SQLite cuts off, PostgreSQL would round
    day = sa.cast(since if connection.dialect.name == "sqlite" else sa.func.floor(since), sa.Integer).label("day")
    query = sa.select(day, events.c.who, sa.func.count()).where(WHOLE_ANSWERS)
    return sorted(tuple(row) for row in connection.execute(query.group_by(day, events.c.who)))


def done_between(connection: sa.Connection, who: str, begin: float, end: float) -> tuple[int, float]:
    """Items that a person answered about in some time, and the seconds that were measured of all they did in it."""
    mine = (events.c.who == who) & (events.c.at >= begin) & (events.c.at < end)
    number = sa.select(sa.func.count(sa.distinct(events.c.item))).where(mine, WHOLE_ANSWERS)
    spent = sa.select(sa.func.coalesce(sa.func.sum(timings.c.seconds), 0.0))
    spent = spent.select_from(timings.join(events, events.c.id == timings.c.event)).where(mine)
    return connection.execute(number).scalar_one(), float(connection.execute(spent).scalar_one())


def count_answered_items(connection: sa.Connection) -> int:
    """Items that anybody said anything of."""
    return connection.execute(sa.select(sa.func.count(sa.distinct(events.c.item))).where(STANDS)).scalar_one()


def answerers(connection: sa.Connection) -> list[str]:
    """Everybody who ever answered, by name."""
    query = sa.select(events.c.who).distinct().where(events.c.kind == "answer", BY_PEOPLE)
    return sorted(connection.execute(query).scalars())


def find_items(
    connection: sa.Connection, words: Sequence[str] = (), who: str | None = None, unanswered: bool = False
) -> npt.NDArray[np.int64]:
    """The numbers of items, rising: all words in their names or contents, answered by a person, or by nobody."""
    query = sa.select(items.c.id).order_by(items.c.id)
    for word in words:
        query = query.where(_says(connection.dialect.name, word))
    if who is not None:
        query = query.where(items.c.id.in_(sa.select(events.c.item).where(STANDS, events.c.who == who)))
    if unanswered:
        query = query.where(items.c.id.not_in(sa.select(events.c.item).where(STANDS)))
    return np.array(connection.execute(query).scalars().all(), dtype=np.int64)


def _says(dialect: str, word: str) -> sa.ColumnElement[bool]:
    """The word is in the item's name, or in a value of its content; names of fields and pictures do not count."""
    forms = {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}
    escaped = [form.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for form in sorted(forms)]

    def holds(text: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
        return sa.or_(*(text.ilike(f"%{form}%", escape="\\") for form in escaped))

    value, is_plain = _values_in_sqlite() if dialect == "sqlite" else _values_in_postgresql()
    in_content = sa.exists(sa.select(sa.literal(1)).where(holds(value), value.not_like("data:%"), is_plain))
    return holds(items.c.name) | in_content


def _values_in_sqlite() -> tuple[sa.ColumnElement[Any], sa.ColumnElement[bool]]:
    """Every value in the content of an item as text, however deep, and whether it is one rather than a list of them."""
    value = sa.func.json_tree(items.c.content).table_valued("atom").c.atom
    return value, value.is_not(None)


def _values_in_postgresql() -> tuple[sa.ColumnElement[Any], sa.ColumnElement[bool]]:
    from sqlalchemy.dialects.postgresql import JSONB  # loaded when needed: it is large, and most projects are files

    each = sa.func.jsonb_path_query(sa.cast(items.c.content, JSONB), sa.literal_column("'$.**'")).column_valued("each")
    return each.op("#>>")(sa.literal_column("'{}'")), sa.func.jsonb_typeof(each).not_in(["object", "array"])


def answerers_of(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, list[str]]:
    """Who answered about some items; labels that came with them are nobody's answers."""
    mine = STANDS & (BY_PEOPLE) & events.c.item.in_(numbers)
    found: dict[int, list[str]] = {}
    for item, who in connection.execute(sa.select(events.c.item, events.c.who).where(mine).distinct()):
        found.setdefault(item, []).append(who)
    return {item: sorted(names) for item, names in found.items()}


def spoken_of(
    connection: sa.Connection, who: str, numbers: Sequence[int] | None = None, label: int | None = None
) -> npt.NDArray[np.int64]:
    """(m, 3) of item, label and whether this person may see what was said of it: they said something, or it was given.

    Of some items, or of all; of one label, or of all.
    """
    mine = sa.case(((events.c.who == who) | (events.c.reason == "given"), 1), else_=0)
    query = (
        sa.select(events.c.item, event_values.c.label, sa.func.max(mine))
        .select_from(WITH_VALUES)
        .where(STANDS)
        .group_by(events.c.item, event_values.c.label)
    )
    if label is not None:
        query = query.where(event_values.c.label == label)
    parts = [query] if numbers is None else [query.where(events.c.item.in_(part)) for part in pieces(numbers, 500)]
    rows = [tuple(row) for part in parts for row in connection.execute(part)]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def disputed(connection: sa.Connection) -> npt.NDArray[np.int64]:
    """(m, 2) of item and label that one person says yes to and another no, and nobody has settled; in order."""
    is_settled = sa.func.max(sa.case((votes.c.reason == "settled", 1), else_=0))
    least = sa.func.min(sa.case((votes.c.value >= NO, votes.c.value)))  # without those who are unsure
    query = (
        sa.select(votes.c.item, votes.c.label)
        .where(votes.c.reason != "given")
        .group_by(votes.c.item, votes.c.label)
        .having(sa.func.max(votes.c.value) == YES, least == NO, is_settled == 0)
        .order_by(votes.c.item, votes.c.label)
    )
    return np.array([tuple(row) for row in connection.execute(query)], dtype=np.int64).reshape(-1, 2)


def touched_since(connection: sa.Connection, event: int) -> list[int]:
    """Items about which anything was said or taken back after an event."""
    query = sa.select(events.c.item).distinct().where(events.c.id > event)
    return sorted(connection.execute(query).scalars())


def events_on(connection: sa.Connection, item: int) -> list[tuple[sa.Row, dict[int, int]]]:
    """Everything that happened to one item with its values by label, oldest first."""
    rows = connection.execute(sa.select(events).where(events.c.item == item).order_by(events.c.id)).all()
    said: dict[int, dict[int, int]] = {row.id: {} for row in rows}
    for part in pieces(list(said), 500):
        for row in connection.execute(sa.select(event_values).where(event_values.c.event.in_(part))):
            said[row.event][row.label] = row.value
    return [(row, said[row.id]) for row in rows]


def next_questions(connection: sa.Connection, n: int) -> list[Any]:
    """Label (or WHOLE_ITEM), reason and beliefs of the n questions to be asked next."""
    columns = (questions.c.item, questions.c.label, questions.c.reason, questions.c.beliefs)
    query = sa.select(*columns).where(questions.c.plan == PLAN.scalar_subquery(), questions.c.remaining > 0)
    return list(connection.execute(query.order_by(questions.c.rank).limit(n)).all())


def words_ready(connection: sa.Connection) -> list[str]:
    """Why labels are believed of the items that questions are ready about, as it is stored."""
    query = sa.select(questions.c.words).where(
        questions.c.plan == PLAN.scalar_subquery(), questions.c.words.is_not(None)
    )
    return list(connection.execute(query).scalars())


def ready_of(connection: sa.Connection, numbers: Sequence[int]) -> dict[int, tuple[int, str | None]]:
    """The best rank of some items among the questions ready, and why labels are believed, as it is stored.

    Items that are not among them are left out.
    """
    query = sa.select(questions.c.item, questions.c.rank, questions.c.words).order_by(questions.c.rank)
    query = query.where(questions.c.plan == PLAN.scalar_subquery())
    found: dict[int, tuple[int, str | None]] = {}
    for part in pieces(numbers, 500):
        for row in connection.execute(query.where(questions.c.item.in_(part))):
            found.setdefault(row.item, (row.rank, row.words))
    return found
