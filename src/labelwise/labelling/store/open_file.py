"""The file that SQLite has open, compared with the file at the project's path.

SQLite goes on writing to a file that was deleted or replaced, and nobody finds these answers again. It also keeps newer
pages in FILE-wal; beside another FILE they would damage it. So every transaction compares, and what does not match is
refused before anything is acknowledged.

Nothing here opens and closes the file itself: closing it would drop the locks that SQLite has on it in this process.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import threading
import time
from collections.abc import MutableMapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import quote

from labelwise.labelling.errors import ProjectFileReplaced, StoreError

Identity: TypeAlias = tuple[int, int] | None  # device and inode; None where there is no file
WAL, SHM = "-wal", "-shm"
SET_ASIDE = "replaced"
PATIENCE = 0.5  # seconds in which a checkpoint of another process may leave the pages of the file half written
PUBLIC = (
    "the project's file was replaced or deleted while it was open; nothing was saved; "
    "stop the server, put the right file in its place, then start the server again"
)


BUSY = "the project's file is being written by another program; nothing was saved; try again in a moment"


@dataclass(frozen=True)
class Content:
    """What the main file says of itself without its write-ahead log.

    The project, the numbers that only rise, and the first page of each table. A copy that was packed anew has others,
    and the pages in the log would not fit into it.
    """

    project: str | None
    numbers: dict[str, int]
    first_pages: dict[str, int] = field(default_factory=dict)

    def may_become(self, later: Content) -> bool:
        """Whether this can be an earlier state of the same file, if its tables are still where they were."""
        same = self.project in (None, later.project)
        return same and all(later.numbers.get(name, -1) >= number for name, number in self.numbers.items())

    def has_moved(self, later: Content) -> bool:
        """Whether a table or index begins at another page: the file was packed anew, here or as a copy."""
        return any(later.first_pages.get(name, page) != page for name, page in self.first_pages.items())


class OpenFile:
    """A project's file as it was when it was opened; `check` refuses where the path leads to something else.

    Parameters
    ----------
    path : str
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._mutex = threading.Lock()
        self.forget()

    def forget(self) -> None:
        """Nothing is open any more: whatever is opened next is the project's file."""
        self._main: Identity = None
        self._side: tuple[Identity, Identity] = (None, None)  # the log and its index
        self._stamp: tuple[int, int] | None = None
        self._content = Content(None, {})
        self._overwritten = False

    @property
    def is_open(self) -> bool:
        return self._main is not None

    @property
    def is_overwritten(self) -> bool:
        """Whether something else was copied into the file while it was open."""
        return self._overwritten

    def check_main(self) -> None:
        """Refuse a new connection that leads to another file than the connections before."""
        identity = _identity(self.path)
        if self._overwritten or (self.is_open and identity is None):
            raise self._refusal()
        if self.is_open and identity != self._main:
            raise self._refusal(self._set_aside(*self._side))

    def note(self, info: MutableMapping[Any, Any]) -> None:
        """Remember which files a new connection has open."""
        found = os.stat(self.path)
        side = (_identity(self.path + WAL), _identity(self.path + SHM))
        info["files"] = (_identity_of(found), *side)
        with self._mutex:
            self._side = side
            if self._main is None:
                self._main, self._stamp = _identity_of(found), _stamp_of(found)
                with suppress(sqlite3.Error):  # what is wrong with it is told when it is used
                    self._content = _read_content(self.path)

    def check(self, info: MutableMapping[Any, Any]) -> None:
        """Refuse where the path no longer leads to the files that a connection has open. A few microseconds."""
        main, wal, shm = info["files"]
        try:
            found = os.stat(self.path)
        except OSError:
            raise self._refusal() from None  # it may come back: its log is left where it is
        if self._overwritten:
            raise self._refusal()
        if _identity_of(found) != main or main != self._main:
            raise self._refusal(self._set_aside(wal, shm))
        if (_identity(self.path + WAL), _identity(self.path + SHM)) != (wal, shm):
            raise self._refusal()
        if _stamp_of(found) != self._stamp:
            self._check_content(wal, shm)

    def _check_content(self, wal: Identity, shm: Identity) -> None:
        """The main file was written to: by SQLite, whose numbers only rise, or by somebody who copied over it.

        Only a file that can be read alone and is another one was copied over. One that cannot be read alone is being
        written, or somebody died in the middle of a checkpoint: its log makes it whole and must stay beside it.
        """
        with self._mutex:
            until = time.monotonic() + PATIENCE
            while True:
                stamp = _stamp_of(os.stat(self.path))
                content = _content_or_none(self.path)
                if content is None and time.monotonic() > until:
                    with suppress(sqlite3.Error):
                        _finish_checkpoint(self.path)
                    stamp, content = _stamp_of(os.stat(self.path)), _content_or_none(self.path)
                    if content is None:
                        raise StoreError(f"{self.path}: {BUSY}", BUSY)
                if content is not None and self._may_become(content):
                    self._stamp, self._content = stamp, content
                    return
                if time.monotonic() > until:
                    break
                time.sleep(PATIENCE / 10)
            self._overwritten = True
            _keep_open(self.path)
        raise self._refusal(self._set_aside(wal, shm))

    def _may_become(self, content: Content) -> bool:
        if not self._content.may_become(content):
            return False
        return not self._content.has_moved(content) or _fits_its_log(self.path, content)

    def _set_aside(self, wal: Identity, shm: Identity) -> str:
        """Rename the log of the old file, which would damage the new one; what it is called now."""
        kept = ""
        for suffix, mine in ((WAL, wal), (SHM, shm)):
            place = self.path + suffix
            if mine is not None and _identity(place) == mine:
                aside = _free_name(f"{place}.{SET_ASIDE}")
                with suppress(OSError):
                    os.rename(place, aside)
                    kept = kept or aside
        return kept

    def _refusal(self, kept: str = "") -> ProjectFileReplaced:
        more = f". The newest answers to the old file may be in {kept}: keep it beside that file" if kept else ""
        return ProjectFileReplaced(f"{self.path}: {PUBLIC}{more}", PUBLIC)


def _identity(path: str) -> Identity:
    try:
        return _identity_of(os.stat(path))
    except OSError:
        return None


def _identity_of(found: os.stat_result) -> Identity:
    return found.st_dev, found.st_ino


def _stamp_of(found: os.stat_result) -> tuple[int, int]:
    return found.st_mtime_ns, found.st_size


def _read_content(path: str) -> Content:
    """From the main file alone, without locks. SQLite does the reading: it knows how to close a file that it locks."""
    address = f"file:{quote(os.path.abspath(path))}?mode=ro&immutable=1"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        first_pages = _first_pages(connection)
        if not {"labelwise_project", "sqlite_sequence"} <= first_pages.keys():
            return Content(None, {})
        named = connection.execute("SELECT value FROM labelwise_project WHERE key = 'identity'").fetchone()
        numbers = dict(connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
    return Content(None if named is None else str(named[0]), numbers, first_pages)


def _first_pages(connection: sqlite3.Connection) -> dict[str, int]:
    return dict(connection.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0").fetchall())


def _fits_its_log(path: str, content: Content) -> bool:
    """Whether file and log together are whole and begin as the file alone does: so it is after a VACUUM of SQLite."""
    try:
        with closing(sqlite3.connect(path, timeout=1.0)) as connection:
            is_same = _first_pages(connection) == content.first_pages
            return is_same and connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",)
    except sqlite3.Error:
        return False


def _content_or_none(path: str) -> Content | None:
    """None where the main file cannot be read without its log."""
    try:
        return _read_content(path)
    except sqlite3.Error:
        return None


def _finish_checkpoint(path: str) -> None:
    """Copy what the log holds into the main file once more: somebody may have died half-way."""
    with closing(sqlite3.connect(path, timeout=1.0)) as connection:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def _keep_open(path: str) -> None:
    """Hold the file open until the process ends: the last connection to be closed would write its log into the file.

    Python closes a connection with its last reference, so one is never given back.
    """
    with suppress(sqlite3.Error):
        connection = sqlite3.connect(path, check_same_thread=False)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _free_name(path: str) -> str:
    number = 1
    while os.path.lexists(f"{path}-{number}"):
        number += 1
    return f"{path}-{number}"
