"""The items of a sweep that a person looks at, held for a while; and answers that were saved, and go, together.

A tile of a page is a lease in a state of its own: nobody is asked it as a question. Answers that belong together have
leases that begin with the same token, so that they are found again, and taken back, as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from labelwise.labelling.store.engine import begins_with, insert_rows, pieces
from labelwise.labelling.store.events import STANDS, UNDONE, WITH_VALUES
from labelwise.labelling.store.questions import HELD, NAMES, StoredLease
from labelwise.labelling.store.schema import WHOLE_ITEM, event_values, events, leases
from labelwise.records.asking import SWEEP


def tile_token(page: str, place: int) -> str:
    """The lease of a tile, and of an answer to it."""
    return f"{page}-{place:04d}"


def hold_tiles(
    connection: sa.Connection, page: str, label: int, who: str, items: Sequence[int], times: tuple[float, float]
) -> None:
    """Keep items for one person's page of a sweep; `times` has now, and until when."""
    tiles = [
        StoredLease(tile_token(page, place), item, label, who, SWEEP, None, place, None, *times, state=HELD)
        for place, item in enumerate(items)
    ]
    insert_rows(connection, leases, NAMES, [tuple(getattr(tile, name) for name in NAMES) for tile in tiles])


def tiles_of(connection: sa.Connection, page: str, who: str) -> list[StoredLease]:
    """The tiles of a person's page, in order, whatever became of them."""
    mine = begins_with(connection, leases.c.token, f"{page}-") & (leases.c.who == who) & (leases.c.reason == SWEEP)
    found = connection.execute(sa.select(*(leases.c[name] for name in NAMES)).where(mine))
    return sorted((StoredLease(*row) for row in found), key=lambda tile: tile.token)


def held_tiles(connection: sa.Connection, who: str) -> list[StoredLease]:
    """All tiles that a person's pages hold."""
    mine = (leases.c.state == HELD) & (leases.c.who == who)
    return [StoredLease(*row) for row in connection.execute(sa.select(*(leases.c[n] for n in NAMES)).where(mine))]


def end_tiles(connection: sa.Connection, tokens: Iterable[str], state: str) -> None:
    for part in pieces(list(tokens), 500):
        connection.execute(leases.update().where(leases.c.token.in_(part)).values(state=state))


def taken_items(connection: sa.Connection, label: int, who: str, now: float) -> set[int]:
    """Items whose label anybody is asked about now, alone or with the whole item, or somebody else has in a sweep."""
    asked = (leases.c.state == "open") & leases.c.label.in_([label, WHOLE_ITEM])
    swept = (leases.c.state == HELD) & (leases.c.label == label) & (leases.c.expires_at >= now) & (leases.c.who != who)
    return set(connection.execute(sa.select(leases.c.item).where(asked | swept)).scalars())


def answered_items(connection: sa.Connection, label: int) -> set[int]:
    """Items of which anybody said anything of a label that was not taken back."""
    query = sa.select(events.c.item).distinct().select_from(WITH_VALUES).where(STANDS, event_values.c.label == label)
    return set(connection.execute(query).scalars())


def saved_together(connection: sa.Connection, token: str, who: str) -> list[sa.Row]:
    """A person's answers that were saved together, in order, each with whether it was taken back (`undone`)."""
    mine = begins_with(connection, sa.func.coalesce(events.c.lease, ""), f"{token}-") & (events.c.who == who)
    query = sa.select(*events.c, UNDONE.label("undone")).where(mine, events.c.kind == "answer")
    return list(connection.execute(query.order_by(events.c.id)).all())


def values_of(connection: sa.Connection, numbers: Sequence[int], label: int) -> dict[int, int]:
    """What events said of a label, by event."""
    query = sa.select(event_values.c.event, event_values.c.value).where(event_values.c.label == label)
    parts = (query.where(event_values.c.event.in_(part)) for part in pieces(list(numbers), 500))
    return {row.event: row.value for part in parts for row in connection.execute(part)}
