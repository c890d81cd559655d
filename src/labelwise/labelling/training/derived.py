"""Where files that are derived from a project are kept: beside it, or in the user's cache. May be deleted any time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from labelwise.data.errors import UNREADABLE
from labelwise.files import cache_folder
from labelwise.labelling.store import Store
from labelwise.labelling.store.engine import read_value

MODEL, SNAPSHOT, SIMILAR = "model.skops", "snapshot.npz", "similar.npz"
DERIVED = (MODEL, SNAPSHOT, SIMILAR)

T = TypeVar("T")


def derived_path(store: Store, name: str) -> Path:
    """The path of one such file; it may not be there."""
    if store.is_file:
        return Path(f"{store.location}.derived") / name
    with store.reading() as connection:
        identity = read_value(connection, "identity")
    return cache_folder() / identity / name


class DerivedReader(Generic[T]):
    """The latest of a derived file; it is read again only when it has changed."""

    def __init__(self, store: Store, name: str, load: Callable[[Path], T]) -> None:
        self._path, self._load = derived_path(store, name), load
        self._latest: tuple[Any, T | None] = (None, None)

    def read(self) -> T | None:
        """None where no worker has written it, or it was deleted."""
        try:
            status = self._path.stat()
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            latest = self._latest
            if latest[0] != stamp:
                latest = (stamp, self._load(self._path))
                self._latest = latest
            return latest[1]
        except UNREADABLE:  # derived: the worker writes it anew
            return None
