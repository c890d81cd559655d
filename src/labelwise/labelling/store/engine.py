"""Where a project lives: one SQLite file, or a PostgreSQL database. One writer at a time, on disk before it returns."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote

import sqlalchemy as sa

from labelwise.labelling.errors import NoProject, StoreError
from labelwise.labelling.store import schema
from labelwise.labelling.store.database_errors import WAIT_SECONDS, DamagedRow, database_errors, translated_error
from labelwise.labelling.store.open_file import OpenFile

Location: TypeAlias = str | os.PathLike[str]
Row = TypeVar("Row")
Result = TypeVar("Result")

FORMAT = "labelwise project"
WRITER_KEY, WORKER_KEY = 0x1ABE1, 0x1ABE2  # of PostgreSQL's advisory locks: the one writer, the one worker
HERE = "hashtext(current_schema())"  # locks are those of one project, where a database has several schemas
HELD = f"""
    SELECT 1 FROM pg_locks JOIN pg_database d ON d.oid = pg_locks.database AND d.datname = current_database()
    WHERE locktype = 'advisory' AND granted AND objsubid = 2
      AND classid::bigint = {{key}} AND objid::bigint = ({HERE}::bigint & 4294967295)
"""
VALUES_AT_ONCE = 500  # that one statement looks for
CONNECT_SECONDS = 10  # to wait for a database that does not answer


class Store:
    """A connection to a project's database: `reading()` and `writing()` give transactions.

    Writing is one at a time, in SQLite by its own lock and in PostgreSQL by an advisory one. So the numbers of events
    rise in the order in which they become visible, and nobody who reads "up to here" misses one.
    """

    def __init__(self, location: Location) -> None:
        self.location = os.fspath(location)
        self.is_file = "://" not in self.location
        self._turn = threading.Lock()  # threads queue up here instead of polling the database's lock
        self._mutex = threading.Lock()  # of the two below, held for no longer than it takes to look
        self._waiting: deque[_Job] = deque()
        self._somebody_leads = False
        self._file = OpenFile(os.path.abspath(self.location)) if self.is_file else None
        self._engine = sqlite_engine(self._file) if self._file is not None else postgresql_engine(self.location)

    @classmethod
    def create(cls, location: Location) -> Store:
        """A place for a new project; refused where there is something already."""
        store = cls(location)
        if store.is_file and Path(store.location).exists():
            raise StoreError(f"{store.location} is there already; choose another name, or delete it first")
        return store

    @classmethod
    def open(cls, location: Location) -> Store:
        """A project that is there, brought to this version of the tables if it is older."""
        store = cls(location)
        with store._translate_errors():
            if store.is_file:
                _check_file(Path(store.location))
        with store.reading() as connection:
            version = read_version(connection, store.shown)
        if version < schema.VERSION:
            with store.writing() as connection:
                schema.migrate(connection, read_version(connection, store.shown))
                write_value(connection, "version", schema.VERSION)
        return store

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent look, also while others write."""
        with self._translate_errors(), self._engine.connect() as connection:
            self._check_file(connection)
            if not self.is_file:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """All of it on disk when this returns, or nothing changed; what many people do all the time is for `write`."""
        with self._turn, self._transaction() as connection:
            yield connection

    def write(self, task: Callable[[sa.Connection], Result]) -> Result:
        """Do a short task that writes; on disk when this returns, or nothing changed and its error raised.

        Tasks that wait while another is being saved are then saved together: one of their threads does them all in
        one transaction, each behind a savepoint of its own. Waiting for the disk is what a small write costs most.
        """
        job = _Job(task)
        with self._mutex:
            self._waiting.append(job)
            leads, self._somebody_leads = not self._somebody_leads, True
        if not leads:
            try:
                job.woken.wait()
            except BaseException:  # Ctrl-C: nobody must wait for one who has gone
                self._give_up(job)
                raise
        if not job.done:
            self._lead()
        return job.result()

    def _give_up(self, job: _Job) -> None:
        with self._mutex:
            if job in self._waiting:
                self._waiting.remove(job)
            if job.woken.is_set() and not job.done:
                self._somebody_leads = bool(self._waiting)
                if self._waiting:
                    self._waiting[0].woken.set()

    def _lead(self) -> None:
        """Do everything that waits, one's own task among it; then wake whose task is done, and a new leader."""
        batch: list[_Job] = []
        try:
            with self._turn:
                with self._mutex:
                    batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
                self._do(batch)
        finally:
            with self._mutex:
                self._somebody_leads = bool(self._waiting)
                woken = [*batch, *([self._waiting[0]] if self._waiting else [])]
            for each in woken:
                each.woken.set()

    def _do(self, batch: list[_Job]) -> None:
        try:
            with self._transaction() as connection:
                if len(batch) == 1:
                    batch[0].run_alone(connection)
                else:
                    for job in batch:
                        job.run(connection, self._translate_errors)
        except BaseException as error:  # nothing of it was saved
            for job in batch:
                job.error = job.error or error
            if not isinstance(error, Exception):
                raise
        finally:
            for job in batch:
                job.done = True

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        with self._translate_errors(), self._engine.connect() as connection:
            connection = connection.execution_options(writing=True)
            with connection.begin():
                self._check_file(connection)
                if not self.is_file:
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({WRITER_KEY}, {HERE})")
                yield connection
            self._check_file(connection)  # what went into a file that is gone is not acknowledged

    @contextmanager
    def held_by_one(self, key: int) -> Iterator[Callable[[], None] | None]:
        """In PostgreSQL: be the one who has the lock of that key until the end or one's death; None where another has.

        What is yielded raises `StoreError` where the lock was lost since, with the connection that held it.
        """
        with self._translate_errors(), self._engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            got = bool(connection.exec_driver_sql(f"SELECT pg_try_advisory_lock({key}, {HERE})").scalar())

            def check() -> None:
                with self._translate_errors():
                    connection.exec_driver_sql("SELECT 1")

            try:
                yield check if got else None
            finally:
                if got and not connection.invalidated:
                    connection.exec_driver_sql(f"SELECT pg_advisory_unlock({key}, {HERE})")

    def is_held(self, key: int) -> bool:
        """In PostgreSQL: whether anybody has the lock of that key; looking does not take it."""
        with self.reading() as connection:
            return connection.exec_driver_sql(HELD.format(key=key)).first() is not None

    def check(self) -> None:
        """Raise `StoreError` where the project cannot be read, or its file is no longer the one that was opened."""
        with self.reading():
            pass

    def close(self) -> None:
        if self._file is None:
            self._engine.dispose()
            return
        with suppress(StoreError):
            if self._file.is_open:
                self.check()
        if not self._file.is_overwritten:  # closing it would write the newest pages of the old one into it
            self._engine.dispose()
            self._file.forget()

    def _check_file(self, connection: sa.Connection) -> None:
        if self._file is not None:
            self._file.check(connection.info)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except database_errors(self._engine) as error:
            raise translated_error(error, self.shown) from error
        except (
            UnicodeDecodeError,
            json.JSONDecodeError,
            DamagedRow,
        ) as error:  # of what is stored: requests are read elsewhere
            raise StoreError(f"{self.shown}: the file is damaged ({error}); restore it from a copy") from error

    @property
    def folder(self) -> Path | None:
        """The folder of the file, in full; None for a database."""
        return Path(self.location).resolve().parent if self.is_file else None

    @property
    def shown(self) -> str:
        """The location as it may be printed, without a password."""
        if self.is_file:
            return self.location
        return sa.make_url(self.location).difference_update_query(["password"]).render_as_string(hide_password=True)

    @property
    def name(self) -> str:
        """What people call the project: the file's name without its suffix, or the database's."""
        return Path(self.location).stem if self.is_file else sa.make_url(self.location).database or ""


class _Job:
    """A task that waits to be done, then its result or error."""

    def __init__(self, task: Callable[[sa.Connection], Any]) -> None:
        self._task = task
        self._value: Any = None
        self.error: BaseException | None = None
        self.done = False
        self.woken = threading.Event()  # it is done, or it is its turn to lead

    def run_alone(self, connection: sa.Connection) -> None:
        """Without a savepoint: where it fails, the transaction is its own."""
        self._value = self._task(connection)

    def run(self, connection: sa.Connection, translate: Callable[[], AbstractContextManager[None]]) -> None:
        connection.exec_driver_sql("SAVEPOINT task")
        try:
            with translate():
                self._value = self._task(connection)
        except Exception as error:
            self.error = error
            self._roll_back(connection, error)
        connection.exec_driver_sql("RELEASE SAVEPOINT task")

    @staticmethod
    def _roll_back(connection: sa.Connection, error: Exception) -> None:
        """Take back this task alone; where the database has dropped the whole transaction, all get the reason."""
        try:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT task")
        except sa.exc.SQLAlchemyError:
            if isinstance(error, StoreError):
                raise error from None
            raise

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        return self._value


def begin_project(connection: sa.Connection, settings: dict[str, Any]) -> None:
    """The tables of a new project and its settings."""
    if sa.inspect(connection).has_table(schema.project.name):
        raise StoreError("there is a project in this database already; take another database")
    schema.create(connection)
    values = {"format": FORMAT, "version": schema.VERSION, "identity": uuid.uuid4().hex, "settings": settings}
    connection.execute(schema.project.insert(), [{"key": key, "value": value} for key, value in values.items()])


def pieces(rows: Sequence[Row], size: int = 2000) -> Iterator[Sequence[Row]]:
    """A long list in parts of at most `size`, for statements that must stay short."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def rows_in(
    connection: sa.Connection, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Iterable[Any]
) -> Iterator[sa.Row[Any]]:
    """The rows of a query where a column has one of these values, however many there are."""
    for part in pieces(list(dict.fromkeys(values)), VALUES_AT_ONCE):
        yield from connection.execute(query.where(column.in_(part))).all()


def insert_many(connection: sa.Connection, table: sa.Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Add rows given as tuples in the order of the table's columns."""
    names = table.c.keys()
    for part in pieces(rows):
        connection.execute(table.insert(), [dict(zip(names, row, strict=True)) for row in part])


def insert_rows(
    connection: sa.Connection, table: sa.Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Add rows of plain values; `insert_many` without what it costs to look at every value's type."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    marks = ", ".join([mark] * len(columns))
    if rows:
        connection.exec_driver_sql(f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES ({marks})", list(rows))


def begins_with(connection: sa.Connection, text: sa.ColumnElement[Any], prefix: str) -> sa.ColumnElement[bool]:
    """Whether a text begins so, letter by letter, whatever the alphabet of the database; an index is used.

    Never by `<` and `>`: they follow the collation, and only in C a text sorts with what it begins with.
    """
    if connection.dialect.name == "sqlite":  # whose LIKE does not tell capitals from small letters
        escaped = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in prefix)
        return text.op("GLOB", is_comparison=True)(f"{escaped}*")
    return text.startswith(prefix, autoescape=True)


def read_value(connection: sa.Connection, key: str) -> Any:
    return connection.execute(sa.select(schema.project.c.value).where(schema.project.c.key == key)).scalar()


def write_value(connection: sa.Connection, key: str, value: Any) -> None:
    changed = connection.execute(schema.project.update().where(schema.project.c.key == key).values(value=value))
    if changed.rowcount == 0:
        connection.execute(schema.project.insert().values(key=key, value=value))


def read_version(connection: sa.Connection, location: str) -> int:
    """The version of the tables; refused where there is no project, or one of a newer labelwise."""
    if not sa.inspect(connection).has_table(schema.project.name):
        raise NoProject(_no_project(location))
    if read_value(connection, "format") != FORMAT:
        raise StoreError(f"{location} holds no labelwise project of ours; was it written by another program?")
    version = read_value(connection, "version")
    if not isinstance(version, int):
        raise StoreError(f"{location} is damaged: its version is {version!r}; restore it from a copy")
    if version > schema.VERSION:
        raise StoreError(
            f"{location} was written by a newer labelwise (tables of version {version}, this one knows up to "
            f"{schema.VERSION}); update labelwise"
        )
    return version


def _no_project(location: str) -> str:
    return f"{location} is a database, but holds no labelwise project; make one with: labelwise new"


def _check_file(path: Path) -> None:
    if not path.exists():
        raise NoProject(f"there is no project {path}; make one with: labelwise new {path} --items ... --labels ...")
    if path.is_dir():
        raise StoreError(f"{path} is a folder, a project is one file")
    if path.stat().st_size == 0 and not path.with_name(path.name + "-wal").exists():
        raise StoreError(f"{path} is empty: its making was cut short; delete it and make it anew")
    address = f"file:{quote(str(path))}?mode=ro"  # a file that is not ours must not be touched
    with closing(sqlite3.connect(address, uri=True)) as connection:
        count = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", (schema.project.name,))
        if not count.fetchone()[0]:
            raise StoreError(_no_project(str(path)))


# -- how connections are made ------------------------------------------------------------------------------------------


def sqlite_engine(file: OpenFile) -> sa.Engine:
    """Connections to a project's file: on disk at every commit, and to that file only."""
    engine = sa.create_engine(
        sa.URL.create("sqlite+pysqlite", database=file.path),
        connect_args={"timeout": WAIT_SECONDS, "check_same_thread": False},
        pool_size=8,
        max_overflow=-1,
    )

    @sa.event.listens_for(engine, "do_connect")
    def _check_file_first(*_: Any) -> None:
        file.check_main()  # SQLite would make a file where there is none any more

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, record: Any) -> None:
        try:
            file.check_main()  # before SQLite looks into it
            connection.isolation_level = None  # transactions begin where we say, below
            for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "cache_size=-4000"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the write-ahead log
            file.note(record.info)
        except Exception:
            connection.close()
            raise

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def postgresql_engine(location: str) -> sa.Engine:
    """Connections to a database, made anew after it was restarted."""
    try:
        url = sa.make_url(location)
    except sa.exc.ArgumentError:
        raise StoreError(f"{location!r} is no address of a database; write postgresql://user@host/database") from None
    if url.get_backend_name() != "postgresql":
        raise StoreError(f"projects live in SQLite files or in postgresql://, got {url.get_backend_name()}://")
    patience = {} if "connect_timeout" in url.query else {"connect_timeout": CONNECT_SECONDS}
    try:
        return sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args=patience,
            pool_size=8,
            max_overflow=-1,
            pool_pre_ping=True,  # a connection from before a restart of the server is not given out
            isolation_level="READ COMMITTED",
        )
    except ImportError:
        raise ImportError("psycopg is needed for PostgreSQL: pip install 'labelwise[postgres]'") from None
