"""A worker in a process of its own: `python -m` this module `PROJECT PARENT` ends with the process that began it.

Starting one needs nothing of what the worker loads.
"""

from __future__ import annotations

import os
import signal
import sys
from subprocess import DEVNULL, Popen
from typing import Any

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.store import Store


def start_worker(store: Store, **environment: str) -> Popen[Any]:
    """A worker in a process of its own, which goes on until it is ended or its parent is gone."""
    command = [sys.executable, "-m", "labelwise.labelling.training.worker_process", store.location, str(os.getpid())]
    spare = str(max(1, (os.cpu_count() or 2) - 1))  # a core is left for those who wait for an answer
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), spare)
    return Popen(command, stdin=DEVNULL, stdout=DEVNULL, env={**threads, **os.environ, **environment})


def main(location: str, parent: int) -> int:
    from labelwise.labelling.project import Project  # loads the models: not where a worker is only started

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the parent
    try:
        with Project(location) as project:
            project.worker().run(until=lambda: os.getppid() != parent)
    except ProjectError as error:
        print(f"worker: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
