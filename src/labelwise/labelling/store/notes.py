"""Notes that people leave on items, and what was answered to them."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from labelwise.labelling.store.engine import pieces
from labelwise.labelling.store.schema import items, notes


def add_note(connection: sa.Connection, item: int, who: str, at: float, kind: str, text: str) -> int:
    """Write a note; its number."""
    row = notes.insert().values(item=item, who=who, at=at, kind=kind, text=text)
    return int(connection.execute(row).inserted_primary_key[0])  # type: ignore[index]  # never None


def answer_note(connection: sa.Connection, number: int, who: str, at: float, answer: str) -> bool:
    """Answer a note that is open; whether there was one."""
    is_open = (notes.c.id == sa.literal(number, sa.BigInteger)) & notes.c.answered_at.is_(None)
    done = connection.execute(notes.update().where(is_open).values(answer=answer, answered_by=who, answered_at=at))
    return done.rowcount > 0


def reopen_note(connection: sa.Connection, number: int) -> bool:
    """Make an answered note an open one again; whether there was one. The answer is gone."""
    is_done = (notes.c.id == sa.literal(number, sa.BigInteger)) & notes.c.answered_at.is_not(None)
    nothing = {"answer": None, "answered_by": None, "answered_at": None}
    return connection.execute(notes.update().where(is_done).values(**nothing)).rowcount > 0


def read_notes(connection: sa.Connection, on: Iterable[int] | None = None) -> list[sa.Row]:
    """Notes with the name of their item, oldest first: all, or those on some items."""
    query = sa.select(*notes.c, items.c.name).join(items, items.c.id == notes.c.item).order_by(notes.c.id)
    if on is None:
        return list(connection.execute(query))
    return [row for part in pieces(list(on), 500) for row in connection.execute(query.where(notes.c.item.in_(part)))]
