"""The one worker of a project: a lock that its death, however sudden, sets free."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from labelwise.labelling.errors import WorkerBusy
from labelwise.labelling.store import Store
from labelwise.labelling.store.engine import WORKER_KEY


@contextmanager
def only_worker(store: Store) -> Iterator[None]:
    """Be the worker of a project, or raise `WorkerBusy` where there is one."""
    busy = WorkerBusy(f"another worker is training for {store.shown}; one is enough, so this one stops")
    if not store.is_file:
        with store.held_by_one(WORKER_KEY) as held:
            if not held:
                raise busy
            yield
        return
    with open(f"{store.location}-worker", "a+b") as file:
        if not _lock(file):
            raise busy
        yield


def worker_is_running(store: Store) -> bool:
    """Whether some process holds the lock now."""
    try:
        with only_worker(store):
            return False
    except WorkerBusy:
        return True


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
