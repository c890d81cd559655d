"""`labelwise serve-worker`: train beside the people who label."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwise.cli._common import errors
from labelwise.cli._projects import ProjectPlace, opened


def serve_worker(
    project: ProjectPlace,
    once: Annotated[bool, typer.Option("--once", help="Train on all answers, prepare questions, and stop.")] = False,
) -> None:
    """Train on new answers and keep questions ready, until stopped with Ctrl-C.

    A project has one worker; a second one stops with exit code 3. If the worker is killed, nothing is lost: the last
    good questions and model stay, and the next worker continues from the answers.

    **Examples**

    ```
    labelwise serve-worker tickets.db
    labelwise serve-worker postgresql://me@server/tickets --once
    ```
    """
    with opened(project) as found:
        worker = found.worker(on_event=errors.print)
        try:
            worker.run(until=(lambda: found.is_settled) if once else (lambda: False), patient=not once)
        except KeyboardInterrupt:
            errors.print("stopped; the questions made so far stay ready")
        worker.keep_model()
