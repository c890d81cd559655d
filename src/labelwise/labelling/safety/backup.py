"""Backups: a whole project in one SQLite file, whatever it lives in, and back into a file or a PostgreSQL database.

A backup is itself a project that can be verified and opened. It takes its name only when it is complete, on disk and
checked. It lets nobody in: sessions, links and the tokens of programs are left out. What is derived (model, snapshot)
is not in it; the worker makes it anew.
"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from labelwise.files import replacing
from labelwise.labelling.errors import StoreError
from labelwise.labelling.safety.verify import DAMAGED, SEAL, Damaged, Verdict, verify, verify_in
from labelwise.labelling.store import Location, Store, schema
from labelwise.labelling.store.checking import integrity_problems, mark_as_sealed, seal
from labelwise.labelling.store.copying import (
    Progress,
    copy_pages,
    copy_rows,
    count_rows,
    delete_credentials,
    is_empty,
    make_whole,
    new_sqlite,
)
from labelwise.labelling.store.engine import read_version, write_value
from labelwise.labelling.store.read_only import ReadOnlyStore, is_damage
from labelwise.labelling.training.derived import DERIVED, derived_path

BESIDE = ("-wal", "-journal", "-shm")  # files of SQLite beside one that is in use


@dataclass(frozen=True)
class Copied:
    """What was written: where, of which version of the tables, and how many rows of each."""

    location: str
    version: int
    rows: dict[str, int]


class _RollBack(Exception):
    """Ends a transaction whose changes are not wanted."""


def _quiet(*_: object) -> None:
    """No progress is shown."""


def backup(
    location: Location, file: str | os.PathLike[str], *, overwrite: bool = False, progress: Progress = _quiet
) -> Copied:
    """Write a project, as it is at this moment, into a new file, while people label and the worker trains.

    Parameters
    ----------
    location : path of a SQLite file, or postgresql://user@host/database
    file : path of the backup; one that is there is only replaced with `overwrite`
    progress : called with what is being done, how much of it is done, and of how much

    Examples
    --------
    >>> from labelwise import Answer, LabelData, Project
    >>> folder = tempfile.mkdtemp()
    >>> project = Project.create(folder + "/sizes.db", LabelData.from_arrays([[0.0], [1.0]], label_names=["small"]))
    >>> _ = project.tell(Answer("0", {"small": True}), who="ann")
    >>> backup(folder + "/sizes.db", folder + "/sizes-backup.db").rows["events"]
    1
    >>> project.close()
    """
    target = Path(file)
    store = ReadOnlyStore(location)
    with closing(store):
        if store.is_file and target.exists() and target.samefile(store.location):
            raise StoreError(f"{target} is the project itself; give the backup another name")
        with atomic_file(target, overwrite=overwrite) as scratch, _report_damage(store.shown):
            version, rows = (_copy_file if store.is_file else _copy_database)(store, scratch, progress)
            _check_copy(scratch, rows)
    return Copied(str(target), version, rows)


def restore(
    file: str | os.PathLike[str],
    location: Location,
    *,
    copy: bool = False,
    accept_damage: bool = False,
    progress: Progress = _quiet,
) -> Copied:
    """Make a project of a backup, in a new file or an empty PostgreSQL database; all of it, or nothing is left there.

    Parameters
    ----------
    file : path of a backup (or of a project, which is copied)
    location : where the project is to live
    copy : whether the project it came from goes on; this one then gets an identity of its own. Otherwise it takes the
        place of that one: answers that still wait in the browsers of people reach it.
    accept_damage : whether to go on where the events are not in order, though the file can be read
    progress : as in `backup`
    """
    _refuse_damage(verify(file, progress), accept_damage)
    source = ReadOnlyStore(file)
    with closing(source):
        with source.reading() as connection:
            version = read_version(connection, source.shown)
        if "://" not in os.fspath(location):
            rows = _restore_file(source, Path(location), copy, accept_damage, progress)
        elif version == schema.VERSION:
            rows = _restore_database(source, location, copy, accept_damage, progress)
        else:
            with _up_to_date(source, progress) as newer:
                rows = _restore_database(newer, location, copy, accept_damage, progress)
    return Copied(Store(location).shown, schema.VERSION, rows)


# -- backing up --------------------------------------------------------------------------------------------------------


def _copy_file(store: Store, scratch: Path, progress: Progress) -> tuple[int, dict[str, int]]:
    """Pages as they are, so that a backup of an older version is of that version."""
    with store.reading() as connection:
        version, rows = read_version(connection, store.shown), count_rows(connection)
        copy_pages(connection, scratch, progress)
    delete_credentials(scratch)
    make_whole(scratch)
    return version, rows


def _copy_database(store: Store, scratch: Path, progress: Progress) -> tuple[int, dict[str, int]]:
    """Rows, in one transaction that sees one state."""
    with store.reading() as connection:
        version = read_version(connection, store.shown)
        if version == schema.VERSION:
            return version, _write_rows(connection, scratch, progress)
    writer, rows = Store(store.location), {}
    with closing(writer), suppress(_RollBack), writer.writing() as connection:
        schema.migrate(connection, read_version(connection, store.shown))  # for the export alone; others wait for it
        write_value(connection, "version", schema.VERSION)
        rows = _write_rows(connection, scratch, progress)
        raise _RollBack
    return schema.VERSION, rows


def _write_rows(connection: sa.Connection, scratch: Path, progress: Progress) -> dict[str, int]:
    with new_sqlite(scratch) as target:
        schema.create(target)
        rows = copy_rows(connection, target, progress)
    make_whole(scratch)
    return rows


def _check_copy(scratch: Path, rows: dict[str, int]) -> None:
    """Read the copy as a whole, once more, and write down what is in it."""
    store = ReadOnlyStore(scratch)
    with closing(store), store.reading() as connection:
        problems, there = integrity_problems(connection), count_rows(connection)
        if problems:
            raise Damaged(f"the project is damaged, no backup was written: {problems[0]}; see labelwise verify")
        if there != rows:
            raise StoreError(f"the copy has {there} rows where the project has {rows}; no backup was written")
        sealed = seal(connection)
    with new_sqlite(scratch) as connection:
        write_value(connection, SEAL, {"made_at": time.time(), "seal": sealed})
        mark_as_sealed(connection)
    make_whole(scratch)


@contextmanager
def _report_damage(shown: str) -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        if not is_damage(error):
            raise
        raise Damaged(f"{shown} is damaged, no backup was written: {error}; see labelwise verify") from error


# -- restoring ---------------------------------------------------------------------------------------------------------


def _refuse_damage(verdict: Verdict, accept: bool) -> None:
    if verdict.state != DAMAGED:
        return
    wrong = [check for check in verdict.checks if check.state == DAMAGED]
    if accept and not {"file", "tables"} & {check.name for check in wrong}:
        return
    raise Damaged(f"{verdict.location} is damaged, nothing was restored: {wrong[0].name}: {wrong[0].examples[0]}")


def _restore_file(source: Store, target: Path, copy: bool, accept: bool, progress: Progress) -> dict[str, int]:
    with atomic_file(target) as scratch:
        with source.reading() as connection:
            copy_pages(connection, scratch, progress)
        delete_credentials(scratch)
        store = Store.open(scratch)  # brings an older version up to date
        with closing(store), store.writing() as connection:
            _set_identity(connection, copy)
            rows = count_rows(connection)
        make_whole(scratch)
        for suffix in ("-wal", "-shm"):
            scratch.with_name(scratch.name + suffix).unlink(missing_ok=True)
        _refuse_damage(verify(scratch, progress), accept)
        for name in DERIVED:  # of an earlier project of that name
            derived_path(Store(target), name).unlink(missing_ok=True)
    return rows


def _restore_database(
    source: Store, location: Location, copy: bool, accept: bool, progress: Progress
) -> dict[str, int]:
    store = Store(location)
    with closing(store):
        with store.writing() as target:
            if not is_empty(target):
                raise StoreError(f"{store.shown} is not empty; restore into a new database, or a new schema of one")
            schema.create(target)
            with source.reading() as connection:
                rows = copy_rows(connection, target, progress)
            _set_identity(target, copy)
            _refuse_damage(verify_in(target, store.shown, progress), accept)
        for name in DERIVED:
            derived_path(store, name).unlink(missing_ok=True)
    return rows


def _set_identity(connection: sa.Connection, copy: bool) -> None:
    if copy:
        write_value(connection, "identity", uuid.uuid4().hex)


@contextmanager
def _up_to_date(source: Store, progress: Progress) -> Iterator[Store]:
    """A copy of an older file, brought to this version."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "newer.db"
        with source.reading() as connection:
            copy_pages(connection, path, progress)
        with closing(Store.open(path)) as store:
            yield store


# -- files that are complete or not there ------------------------------------------------------------------------------


@contextmanager
def atomic_file(target: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A name beside the target to write to; what is there at the end is synchronised and then gets its real name."""
    _check_free(target, overwrite)
    try:
        with replacing(target, overwrite=overwrite) as scratch:
            try:
                yield scratch
            finally:
                for suffix in BESIDE:
                    scratch.with_name(scratch.name + suffix).unlink(missing_ok=True)
            _check_free(target, overwrite)
    except FileExistsError:
        raise StoreError(f"{target} is there already; choose another name") from None


def _check_free(target: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise StoreError(f"{target} is a folder; give the name of a file")
    if target.exists() and not overwrite:
        raise StoreError(f"{target} is there already; choose another name")
    for suffix in BESIDE[:2]:
        beside = target.with_name(target.name + suffix)
        if beside.exists():  # SQLite would take it for a part of the new file
            raise StoreError(f"{beside} is there: {target} is in use as a project, or was; choose another name")
