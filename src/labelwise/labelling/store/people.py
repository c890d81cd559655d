"""Who may use the page: users, the one-time links they come in by, and their sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from labelwise.labelling.store.engine import insert_rows, pieces
from labelwise.labelling.store.events import BY_PEOPLE, STANDS
from labelwise.labelling.store.schema import (
    api_tokens,
    assignments,
    events,
    invitations,
    items,
    sessions,
    tokens,
    users,
)

ACTIVE = users.c.removed_at.is_(None)
SESSION = sa.select(sessions.c.who, sessions.c.is_local, sessions.c.expires_at, users.c.role).select_from(
    sessions.outerjoin(users, (users.c.name == sessions.c.who) & ACTIVE)
)


@dataclass(frozen=True)
class StoredUser:
    """A person who may sign in."""

    name: str
    role: str
    added_at: float


@dataclass(frozen=True)
class StoredSession:
    """A session as it is stored; `role` is None where its user is gone or never was one."""

    who: str
    is_local: bool
    expires_at: float
    role: str | None


@dataclass(frozen=True)
class StoredToken:
    """A token of a program that acts for a person; `role` is None where that person is no user."""

    name: str
    digest: str
    who: str
    scope: str
    expires_at: float | None
    role: str | None


def read_users(connection: sa.Connection) -> list[StoredUser]:
    """Those who may sign in, by name."""
    found = sa.select(users.c.name, users.c.role, users.c.added_at).where(ACTIVE)
    return sorted((StoredUser(*row) for row in connection.execute(found)), key=lambda user: user.name)


def count_users(connection: sa.Connection) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(users).where(ACTIVE)).scalar_one()


def was_removed(connection: sa.Connection, name: str) -> bool:
    """Whether there was a user by this name who is one no more."""
    gone = (users.c.name == name) & users.c.removed_at.is_not(None)
    return connection.execute(sa.select(users.c.name).where(gone)).first() is not None


def write_user(connection: sa.Connection, name: str, role: str, at: float) -> None:
    """Add a user, or take one who was removed in again."""
    again = users.update().where(users.c.name == name).values(role=role, added_at=at, removed_at=None)
    if connection.execute(again).rowcount == 0:
        connection.execute(users.insert().values(name=name, role=role, added_at=at))


def set_role(connection: sa.Connection, name: str, role: str) -> None:
    connection.execute(users.update().where(users.c.name == name).values(role=role))


def remove_user(connection: sa.Connection, name: str, at: float) -> bool:
    """Take a user, their links, sessions and tokens out of use; whether there was one. Their answers stay.

    Items that were assigned to them are nobody's.
    """
    gone = connection.execute(users.update().where(users.c.name == name, ACTIVE).values(removed_at=at))
    connection.execute(invitations.delete().where(invitations.c.who == name))
    connection.execute(sessions.delete().where(sessions.c.who == name))
    connection.execute(api_tokens.delete().where(api_tokens.c.who == name))
    unassign(connection, name)
    return gone.rowcount > 0


# -- whose items are whose ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Assigned:
    """Items of one person: how many, and of how many they, or anybody, said something."""

    items: int = 0
    answered: int = 0
    answered_by_anybody: int = 0


def read_assigned(connection: sa.Connection) -> dict[str, Assigned]:
    """What is assigned to whom, and how much of it is answered."""
    said = sa.select(events.c.item, events.c.who).where(STANDS, BY_PEOPLE).distinct().subquery()
    theirs = sa.case((said.c.who == assignments.c.who, said.c.item))
    query = (
        sa.select(
            assignments.c.who,
            sa.func.count(sa.distinct(assignments.c.item)),
            sa.func.count(sa.distinct(theirs)),
            sa.func.count(sa.distinct(said.c.item)),
        )
        .select_from(assignments.outerjoin(said, said.c.item == assignments.c.item))
        .group_by(assignments.c.who)
    )
    return {who: Assigned(*counts) for who, *counts in connection.execute(query)}


def items_to_assign(connection: sa.Connection, who: str) -> tuple[int, npt.NDArray[np.int64]]:
    """How many items there are, and the numbers of those that are nobody's or this person's."""
    query = sa.select(items.c.id, assignments.c.who).select_from(items.outerjoin(assignments)).order_by(items.c.id)
    rows = connection.execute(query).all()
    return len(rows), np.array([item for item, whose in rows if whose in (None, who)], dtype=np.int64)


def assign(connection: sa.Connection, who: str, numbers: Sequence[int]) -> None:
    """These items are this person's from now on, whosoever they were."""
    for part in pieces(numbers, 500):
        connection.execute(assignments.delete().where(assignments.c.item.in_(part)))
    insert_rows(connection, assignments, ("item", "who"), [(item, who) for item in numbers])


def unassign(connection: sa.Connection, who: str) -> None:
    connection.execute(assignments.delete().where(assignments.c.who == who))


def add_invitation(connection: sa.Connection, digest: str, who: str, expires_at: float) -> None:
    connection.execute(invitations.insert().values(digest=digest, who=who, expires_at=expires_at))


def invited(connection: sa.Connection, digest: str, now: float) -> str | None:
    """Whose link this is, if it was not used and its time is not over."""
    valid = (invitations.c.digest == digest) & invitations.c.used_at.is_(None) & (invitations.c.expires_at > now)
    return connection.execute(sa.select(invitations.c.who).where(valid)).scalar()


def use_invitation(connection: sa.Connection, digest: str, now: float) -> None:
    connection.execute(invitations.update().where(invitations.c.digest == digest).values(used_at=now))


def add_session(connection: sa.Connection, digest: str, who: str, is_local: bool, expires_at: float) -> None:
    row = sessions.insert().values(digest=digest, who=who, is_local=is_local, expires_at=expires_at)
    connection.execute(row)


def find_session(connection: sa.Connection, digest: str) -> StoredSession | None:
    row = connection.execute(SESSION.where(sessions.c.digest == digest)).first()
    return None if row is None else StoredSession(*row)


def end_session(connection: sa.Connection, digest: str) -> None:
    connection.execute(sessions.delete().where(sessions.c.digest == digest))


def forget_expired_sessions(connection: sa.Connection, now: float) -> None:
    connection.execute(sessions.delete().where(sessions.c.expires_at < now))


def write_token(connection: sa.Connection, name: str, digest: str, at: float) -> None:
    """The token of a program; one that it had before is no good any more."""
    drop_token(connection, name)
    connection.execute(tokens.insert().values(name=name, digest=digest, added_at=at))


def drop_token(connection: sa.Connection, name: str) -> bool:
    """Take a program's token out of use; whether there was one."""
    gone = [connection.execute(table.delete().where(table.c.name == name)).rowcount for table in (tokens, api_tokens)]
    return sum(gone) > 0


def write_api_token(connection: sa.Connection, token: StoredToken, at: float) -> None:
    """The token of a program that acts for a person; one that it had before is no good any more."""
    drop_token(connection, token.name)
    row = {"name": token.name, "digest": token.digest, "who": token.who, "scope": token.scope, "added_at": at}
    connection.execute(api_tokens.insert().values(**row, expires_at=token.expires_at))


def find_api_token(connection: sa.Connection, digest: str) -> StoredToken | None:
    columns = (api_tokens.c[name] for name in ("name", "digest", "who", "scope", "expires_at"))
    found = sa.select(*columns, users.c.role).select_from(
        api_tokens.outerjoin(users, (users.c.name == api_tokens.c.who) & ACTIVE)
    )
    row = connection.execute(found.where(api_tokens.c.digest == digest)).first()
    return None if row is None else StoredToken(*tuple(row))


def owner_of_token(connection: sa.Connection, digest: str) -> str | None:
    return connection.execute(sa.select(tokens.c.name).where(tokens.c.digest == digest)).scalar()
