"""How long people took: totals by person and kind of question, and the latest times one by one."""

from __future__ import annotations

import sqlalchemy as sa

from labelwise.labelling.store.schema import event_values, events, timings

RECENT = 1000  # times to learn from and to take medians of: people get faster


def time_totals(connection: sa.Connection) -> list[sa.Row]:
    """Person, kind of question, number and sum of the times of all that was done, taken back or not: it was spent."""
    query = sa.select(events.c.who, timings.c.question, sa.func.count(), sa.func.sum(timings.c.seconds))
    joined = query.select_from(timings.join(events, events.c.id == timings.c.event))
    return list(connection.execute(joined.group_by(events.c.who, timings.c.question)))


def recent_times(connection: sa.Connection, most: int = RECENT) -> list[sa.Row]:
    """The latest timed answers, oldest first, with person, item and how many labels were answered."""
    answers = sa.select(sa.func.count()).where(event_values.c.event == timings.c.event).scalar_subquery()
    query = (
        sa.select(*timings.c, events.c.who, events.c.item, answers.label("answers"))
        .select_from(timings.join(events, events.c.id == timings.c.event))
        .where(events.c.kind == "answer")
        .order_by(timings.c.event.desc())
        .limit(most)
    )
    return list(reversed(connection.execute(query).all()))
