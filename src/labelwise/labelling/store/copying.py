"""Whole projects from one database to another: pages of a file as they are, or rows table by table."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.errors import StoreError
from labelwise.labelling.store import schema
from labelwise.labelling.store.database_errors import cure_of

Progress = Callable[[str, int, int], None]  # what is being done, how much of it is done, of how much

CREDENTIALS = (
    schema.sessions,
    schema.invitations,
    schema.tokens,
    schema.api_tokens,
)  # who holds one of these is let in: not copied
SEQUENCES = ("events", "changes", "trainings", "notes")  # tables whose numbers are given by the database, never twice
REFER_FORWARD = {"labels": "merged_into"}  # a row may name a later one of its own table: filled in afterwards
PAGES_AT_ONCE, ROWS_AT_ONCE = 2000, 1000


def copied_tables() -> list[sa.Table]:
    """The tables of a project that are copied, each after those that it refers to."""
    return [table for table in schema.metadata.sorted_tables if table not in CREDENTIALS]


def count_rows(connection: sa.Connection) -> dict[str, int]:
    """How many rows each table has that is copied; tables that an older version does not have are left out."""
    there = set(sa.inspect(connection).get_table_names())
    return {
        table.name: connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in copied_tables()
        if table.name in there
    }


# -- files -------------------------------------------------------------------------------------------------------------


def copy_pages(connection: sa.Connection, path: Path, progress: Progress) -> None:
    """Copy the SQLite file that is read in this transaction, as it is at its beginning, into a new file.

    The transaction holds the copy to one state: others may write meanwhile, without a wait and without a new start.
    """
    source: Any = connection.connection.driver_connection

    def report(_status: int, remaining: int, total: int) -> None:
        progress("pages", total - remaining, total)

    with _translate_errors(), closing(sqlite3.connect(path, isolation_level=None)) as target:
        _write_fast(target.execute)
        source.backup(target, pages=PAGES_AT_ONCE, progress=report)


def delete_credentials(path: Path) -> None:
    """Take sessions, links and tokens out of a copy, from the bytes of the file too."""
    with _translate_errors(), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete=ON")
        there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in CREDENTIALS:
            if table.name in there:
                connection.execute(f"DELETE FROM {table.name}")


def make_whole(path: Path) -> None:
    """All of a copy in its one file, without a log beside it."""
    with _translate_errors(), closing(sqlite3.connect(path, isolation_level=None)) as connection:
        mode = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
    if mode != "delete":
        raise StoreError(f"{path} could not be closed; is somebody else reading it?")


@contextmanager
def new_sqlite(path: Path) -> Iterator[sa.Connection]:
    """A transaction in a new file; references are looked at afterwards, when all rows are there."""
    engine = sa.create_engine(sa.URL.create("sqlite+pysqlite", database=str(path)))
    try:
        with _translate_errors(), engine.connect() as connection:
            _write_fast(connection.exec_driver_sql)
            connection.commit()
            with connection.begin():
                yield connection
    finally:
        engine.dispose()


def _write_fast(execute: Callable[[str], Any]) -> None:
    """A copy that breaks off is thrown away, and one that is complete is synchronised as a whole before it is named."""
    for pragma in ("synchronous=OFF", "journal_mode=OFF"):
        execute(f"PRAGMA {pragma}")


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Errors without the hidden name that a copy has until it is complete."""
    try:
        yield
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        raise StoreError(f"the copy could not be made: {cure_of(error)}") from error


# -- rows --------------------------------------------------------------------------------------------------------------


def copy_rows(source: sa.Connection, target: sa.Connection, progress: Progress) -> dict[str, int]:
    """Copy every table that both have, in pieces; the numbers of rows. Both are of the present version."""
    wanted = count_rows(source)
    total, done = sum(wanted.values()), 0
    copied = {}
    for table in copied_tables():
        copied[table.name] = 0
        found = source.execute(_in_order(table), execution_options={"yield_per": ROWS_AT_ONCE})
        for rows in found.partitions():
            _insert(target, table, rows)
            copied[table.name] += len(rows)
            done += len(rows)
            progress("rows", done, total)
        if table.name in REFER_FORWARD:
            _fill_in(source, target, table, REFER_FORWARD[table.name])
    _set_sequences(target, _read_sequences(source))
    return copied


def _in_order(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table).order_by(*table.primary_key.columns)


def _insert(target: sa.Connection, table: sa.Table, rows: Sequence[sa.Row[Any]]) -> None:
    later = REFER_FORWARD.get(table.name)
    values = [dict(row._mapping) for row in rows]
    target.execute(table.insert(), [each | {later: None} for each in values] if later else values)


def _fill_in(source: sa.Connection, target: sa.Connection, table: sa.Table, name: str) -> None:
    (key,), column = table.primary_key.columns, table.c[name]
    for number, value in source.execute(sa.select(key, column).where(column.is_not(None))).all():
        target.execute(table.update().where(key == number).values({name: value}))


def _read_sequences(connection: sa.Connection) -> dict[str, int]:
    """The last number that each table has given, also where its row is gone."""
    if connection.dialect.name == "sqlite":
        given = connection.exec_driver_sql("SELECT name, seq FROM sqlite_sequence").all()
        return {name: int(last) for name, last in given if name in SEQUENCES}
    last_numbers = {}
    for name in SEQUENCES:
        sequence = connection.exec_driver_sql(f"SELECT pg_get_serial_sequence('{name}', 'id')").scalar_one()
        last, used = connection.exec_driver_sql(f"SELECT last_value, is_called FROM {sequence}").one()
        last_numbers[name] = int(last) if used else 0
    return last_numbers


def _set_sequences(connection: sa.Connection, last: dict[str, int]) -> None:
    for name, number in last.items():
        if number == 0:
            continue
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
            connection.exec_driver_sql("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, number))
        else:
            connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), {number})")


def is_empty(connection: sa.Connection) -> bool:
    """Whether nothing is in the place that a project is to be restored into."""
    look = sa.inspect(connection)
    return not look.get_table_names() and not look.get_view_names()
