"""Items in the database: what to show of each, its numbers where they are the source, and the notes on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.store.engine import insert_many, pieces, rows_in
from labelwise.labelling.store.schema import items, notes

SHOWN = sa.select(items.c.name, items.c.content).where(items.c.id == sa.bindparam("number"))


@dataclass(frozen=True)
class StoredItems:
    """Items in their order: row i of every array about the pool is `ids[i]`."""

    ids: tuple[int, ...]
    names: tuple[str, ...]
    contents: tuple[Any, ...]
    numbers: tuple[bytes | None, ...]


def add_items(
    connection: sa.Connection, names: Sequence[str], contents: Sequence[Any], numbers: Sequence[bytes | None]
) -> list[int]:
    """Write new items after those there are; their numbers. Names must be new."""
    taken = _taken(connection, names)
    if taken is not None:
        raise ProjectError(f"the item {taken!r} is in the project already; leave it out or give it another id")
    start = connection.execute(sa.select(sa.func.coalesce(sa.func.max(items.c.id), 0))).scalar_one() + 1
    ids = list(range(start, start + len(names)))
    insert_many(connection, items, list(zip(ids, names, contents, numbers, strict=True)))
    return ids


def read_items(connection: sa.Connection) -> StoredItems:
    rows = connection.execute(sa.select(items).order_by(items.c.id)).all()
    columns: Iterable[tuple[Any, ...]] = zip(*rows, strict=True) if rows else ((), (), (), ())
    return StoredItems(*columns)


def count_items(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(items)).scalar_one()


def item_ids(connection: sa.Connection, names: Iterable[str]) -> dict[str, int]:
    """The numbers of items by name; an unknown name raises."""
    wanted = list(dict.fromkeys(names))
    number_of = known_items(connection, wanted)
    for name in wanted:
        if name not in number_of:
            raise ProjectError(f"there is no item {name!r} in the project")
    return number_of


def known_items(connection: sa.Connection, names: Iterable[str]) -> dict[str, int]:
    """The numbers of those of these items that there are."""
    wanted = (name for name in names if "\0" not in name)  # PostgreSQL has no such sign
    return {row.name: row.id for row in rows_in(connection, sa.select(items.c.name, items.c.id), items.c.name, wanted)}


def read_some(connection: sa.Connection, ids: Iterable[int]) -> dict[int, tuple[Any, bytes | None]]:
    """Content and numbers of some items."""
    query = sa.select(items.c.id, items.c.content, items.c.numbers)
    return {row.id: (row.content, row.numbers) for row in rows_in(connection, query, items.c.id, ids)}


def items_by_number(connection: sa.Connection, numbers: Iterable[int]) -> dict[int, sa.Row]:
    """Names and contents of some items."""
    query = sa.select(items.c.id, items.c.name, items.c.content)
    return {row.id: row for row in rows_in(connection, query, items.c.id, numbers)}


def show_item(connection: sa.Connection, item: int) -> tuple[str, Any]:
    """Name and content of one item."""
    row = connection.execute(SHOWN, {"number": item}).one()
    return row.name, row.content


def item_names(connection: sa.Connection) -> dict[int, str]:
    return dict(connection.execute(sa.select(items.c.id, items.c.name)).all())


def _taken(connection: sa.Connection, names: Sequence[str]) -> str | None:
    """The first of the names that is in the project already."""
    return next((row.name for row in rows_in(connection, sa.select(items.c.name), items.c.name, names)), None)


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
