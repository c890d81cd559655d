"""The one worker of a project: a lock that its death, however sudden, sets free."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from labelwise.labelling.errors import StoreError, WorkerBusy
from labelwise.labelling.store import Store
from labelwise.labelling.store.engine import WORKER_KEY

LOOK_SECONDS = 0.2  # to wait for others who look whether there is a worker: they hold its lock for a moment


@contextmanager
def only_worker(store: Store) -> Iterator[Callable[[], None]]:
    """Be the worker of a project, or raise `WorkerBusy` where there is one.

    What is yielded raises `StoreError` where the lock was lost since: with a restart of the database it is.
    """
    busy = WorkerBusy(f"another worker is training for {store.shown}; one is enough, so this one stops")
    if not store.is_file:
        with store.held_by_one(WORKER_KEY) as check:
            if check is None:
                raise busy
            yield check
        return
    with _lock_file(store) as file:
        until = time.monotonic() + LOOK_SECONDS
        while not _lock(file):  # perhaps by one who only looks whether there is a worker
            if time.monotonic() > until:
                raise busy
            time.sleep(LOOK_SECONDS / 10)
        yield lambda: None  # kept as long as the process lives


def worker_is_running(store: Store) -> bool:
    """Whether some process holds the lock now."""
    if not store.is_file:
        return store.is_held(WORKER_KEY)
    with _lock_file(store) as file:
        return not _lock(file)


@contextmanager
def _lock_file(store: Store) -> Iterator[Any]:
    place = f"{store.location}-worker"
    try:
        file = open(place, "a+b")  # noqa: SIM115  # closed below: what is raised while it is open is not to be caught here
    except OSError as error:
        raise StoreError(f"{place} cannot be opened: {error.strerror}; may you write in its folder?") from error
    with file:
        yield file


def _lock(file: Any) -> bool:
    """Lock an open file until it is closed or the process ends; False where another process has it."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # on Windows it has
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
