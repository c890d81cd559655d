"""`labelwise ask`: the next questions, as text or for keys in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from labelwise.cli._common import at_least_one, fail, user_errors
from labelwise.cli._projects import AsJson, ProjectPlace, Who, opened, person

if TYPE_CHECKING:
    from labelwise.labelling import Lease, Project


def ask(
    project: ProjectPlace,
    tty: Annotated[bool, typer.Option("--tty", help="Answer in the terminal, with single keys.")] = False,
    who: Who = None,
    n: Annotated[
        int | None,
        typer.Option("-n", help="Questions to print (default: 1), or with --tty answers after which to stop."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask the questions most worth asking; with --tty, label in the terminal.

    Without --tty the questions are printed with their leases. They are yours until you answer them with `labelwise
    tell`, or until their leases end. With --tty a worker trains while you label. Exit code 4: nothing to ask.

    **Examples**

    ```
    labelwise ask tickets.db --tty
    labelwise ask tickets.db -n 3 --json --who ann
    ```
    """
    with user_errors():
        at_least_one("-n", n)
    with opened(project) as found:
        from labelwise.cli._terminal import TerminalLabeller, next_lease
        from labelwise.labelling.figures.wording import counted

        if tty:
            if not sys.stdin.isatty():
                raise fail("--tty needs a terminal to read keys from; leave it out to print the question")
            with _worker_beside(found) as lives:
                desk = TerminalLabeller(found, person(who), typer.getchar, Console(highlight=False), lives)
                typer.echo(f"{counted(desk.work(n), 'answer')} saved")
            return
        from labelwise.labelling.leases import held_most

        leases = next_lease(found, person(who), n or 1)
        limit = held_most(len(leases))
        if limit is not None and (n or 1) > len(leases):
            typer.echo(limit, err=True)
    if as_json:
        typer.echo(json.dumps([_plain(lease) for lease in leases], indent=2, ensure_ascii=False))
    else:
        for lease in leases:
            _print(lease)


@contextmanager
def _worker_beside(project: Project) -> Iterator[Callable[[], bool]]:
    """A worker in a process of its own, unless one is running already; a function that tells whether it lives."""
    from labelwise.labelling.training.locks import worker_is_running
    from labelwise.labelling.training.worker_process import start_worker

    worker = None if worker_is_running(project.store) else start_worker(project.store)
    try:
        yield lambda: (worker is not None and worker.poll() is None) or worker_is_running(project.store)
    finally:
        if worker is not None:
            worker.terminate()
            worker.wait()


def _plain(lease: Lease) -> dict[str, Any]:
    return {
        "lease": lease.token,
        "item": lease.question.item,
        "labels": list(lease.question.labels),
        "reason": lease.question.reason,
        "content": lease.content,
        "beliefs": {name: round(p, 4) for name, p in lease.beliefs.items()},
        "expires_at": lease.expires_at,
    }


def _print(lease: Lease) -> None:
    from labelwise.cli._terminal import as_text

    typer.secho(f"item {lease.question.item}  (lease {lease.token}, {lease.question.reason})", bold=True)
    typer.echo(as_text(lease.content))
    typer.echo(f"labels: {' | '.join(lease.question.labels)}\n")
