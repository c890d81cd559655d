"""`python -m` this module `PROJECT PARENT`: a worker that ends with the process that began it."""

from __future__ import annotations

import os
import signal
import sys

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.project import Project


def main(location: str, parent: int) -> int:
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
