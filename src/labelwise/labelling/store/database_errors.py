"""Errors of a database: what each means, and what may be shown of it to whom."""

from __future__ import annotations

import sqlite3

import sqlalchemy as sa

from labelwise.labelling.errors import StoreError

WAIT_SECONDS = 60  # for another writer; a training never writes for long
UNREACHABLE = "the database does not answer: it is stopped, starting or out of reach; try again in a moment"
UNREACHABLE_STATES = ("08", "57P")  # how PostgreSQL's codes begin for lost connections and for a server that stops
CURES = (  # what the database says, what that means
    ("disk is full", "the disk is full: nothing was changed; make room and try again"),
    ("no space left", "the disk is full: nothing was changed; make room and try again"),
    ("readonly", "it cannot be written: the file or its folder is read-only"),
    ("read-only", "it cannot be written: the file or its folder is read-only"),
    ("unable to open", "it cannot be opened: is the folder there, and may you write in it?"),
    ("not a database", "this is no database file: a labelwise project was expected"),
    ("malformed", "the file is damaged or was cut short; restore it from a copy"),
    ("is locked", f"somebody else has been writing to it for more than {WAIT_SECONDS} s; try again"),
)


class DamagedRow(ValueError):
    """What is stored cannot be what was written: the file was damaged."""


def translated_error(error: Exception, where: str) -> StoreError:
    """The error in plain words: all of it for the log, and what is known to help for everybody."""
    said = " ".join(str(getattr(error, "orig", None) or error).split())
    cure = UNREACHABLE if _is_unreachable(error) else _cure(said)
    if cure is None:
        return StoreError(f"{where}: {said}")
    more = f" ({said})" if cure is UNREACHABLE else ""
    return StoreError(f"{where}: {cure}{more}", cure)


def database_errors(engine: sa.Engine) -> tuple[type[Exception], ...]:
    """Everything that a database, or the lack of one, raises: by SQLAlchemy, or past it by the driver."""
    ours = (sa.exc.DBAPIError, sa.exc.TimeoutError, sa.exc.PendingRollbackError, sa.exc.ResourceClosedError)
    driver = engine.dialect.dbapi
    return (*ours, sa.exc.DisconnectionError, sqlite3.Error, *(() if driver is None else (driver.Error,)))


def _is_unreachable(error: Exception) -> bool:
    """Whether the connection to a server was lost or never came about."""
    if isinstance(error, sa.exc.PendingRollbackError | sa.exc.ResourceClosedError | sa.exc.DisconnectionError):
        return True
    if getattr(error, "connection_invalidated", False):
        return True
    cause = getattr(error, "orig", None) or error
    kinds = {kind.__name__ for kind in type(cause).__mro__}
    if not hasattr(cause, "sqlstate") or not kinds & {"OperationalError", "InterfaceError"}:
        return False
    return cause.sqlstate is None or cause.sqlstate.startswith(UNREACHABLE_STATES)


def _cure(said: str) -> str | None:
    """What to do about it, where that is known."""
    return next((cure for words, cure in CURES if words in said.lower()), None)


def cure_of(error: Exception) -> str:
    """What a database says, and what to do about it."""
    said = " ".join(str(getattr(error, "orig", None) or error).split())
    return _cure(said) or said
