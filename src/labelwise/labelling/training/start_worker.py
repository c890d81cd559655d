"""Starting a worker beside: needs nothing of what the worker loads."""

from __future__ import annotations

import os
import sys
from subprocess import DEVNULL, Popen
from typing import Any

from labelwise.labelling.store import Store


def start_worker(store: Store, **environment: str) -> Popen[Any]:
    """A worker in a process of its own, which goes on until it is ended or its parent is gone."""
    command = [sys.executable, "-m", "labelwise.labelling.training.worker_process", store.location, str(os.getpid())]
    spare = str(max(1, (os.cpu_count() or 2) - 1))  # a core is left for those who wait for an answer
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), spare)
    return Popen(command, stdin=DEVNULL, stdout=DEVNULL, env={**threads, **os.environ, **environment})
