"""A project as it lies there: opened to be read, whatever its version, and never changed by it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from labelwise.labelling.errors import StoreError
from labelwise.labelling.store.database_errors import WAIT_SECONDS
from labelwise.labelling.store.engine import Location, Store

NOT_DAMAGE = (  # what SQLite says where the file itself may be in order
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_AUTH,
)


class ReadOnlyStore(Store):
    """A project that is read while others may write; an older version is not brought up to date."""

    def __init__(self, location: Location) -> None:
        super().__init__(location)
        if self.is_file:
            _check_place(Path(self.location))
            self._file = None  # one transaction on a file that stays open: whatever takes its name is not looked at
            self._engine = _read_only_sqlite(Path(self.location))
        else:
            sa.event.listen(self._engine, "connect", _refuse_writes)


def is_damage(error: BaseException) -> bool:
    """Whether an error of reading says that the project is damaged, and not that it cannot be reached now."""
    cause: Any = error.__cause__ if isinstance(error, StoreError) else error
    original = getattr(cause, "orig", None) or cause
    if not isinstance(original, sqlite3.Error):  # PostgreSQL: a view or column that is not as it was, unreadable data
        return isinstance(cause, sa.exc.ProgrammingError | sa.exc.DataError | sa.exc.InternalError)
    code = getattr(original, "sqlite_errorcode", None)
    if code is None:  # said by Python, not by SQLite
        return "UTF-8" in str(original) or "malformed" in str(original)
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF not in NOT_DAMAGE


def _check_place(path: Path) -> None:
    if not path.exists():
        raise StoreError(f"there is no file {path}; is the name right?")
    if path.is_dir():
        raise StoreError(f"{path} is a folder, a project is one file")
    if path.stat().st_size == 0 and not path.with_name(path.name + "-wal").exists():
        raise StoreError(f"{path} is empty: its making was cut short")


def _read_only_sqlite(path: Path) -> sa.Engine:
    engine = sa.create_engine("sqlite+pysqlite://", creator=lambda: _connect(path), poolclass=sa.pool.QueuePool)

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def _connect(path: Path) -> sqlite3.Connection:
    """Read-only; in a folder that cannot be written to, where nobody else writes either, without any lock."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    try:
        return _prepared(address)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CANTOPEN or path.with_name(path.name + "-wal").exists():
            raise
        return _prepared(f"{address}&immutable=1")


def _prepared(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, timeout=WAIT_SECONDS, check_same_thread=False, isolation_level=None)
    try:
        for pragma in ("query_only=ON", "trusted_schema=OFF", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except UnicodeDecodeError as error:  # of the message: SQLite quotes names from the file
        connection.close()
        raise sqlite3.DatabaseError("malformed database schema") from error
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_writes(connection: Any, _record: Any) -> None:
    connection.read_only = True
