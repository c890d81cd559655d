"""`labelwise backup` and `labelwise restore`: a whole project to one file, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwise.cli._common import patient_bars, user_errors
from labelwise.cli._projects import ProjectPlace, check_extras


def backup(
    project: ProjectPlace,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup to write.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace FILE, once the new one is complete.")] = False,
) -> None:
    """Write a whole project into one file, while people label and the worker trains.

    FILE has the project as it is when the command starts: every answer that was acknowledged before is in it. It gets
    its name only when it is complete and checked. It is a SQLite file, also for a project in PostgreSQL, and can be
    verified and restored by itself.

    Sessions, sign-in links and the tokens of programs are left out. Pictures that are files of their own are not in
    it, nor is what the worker makes anew.

    **Examples**

    ```
    labelwise backup tickets.db tickets-monday.db
    labelwise backup postgresql://me@server/tickets tickets-monday.db --overwrite
    ```
    """
    check_extras()
    from labelwise.labelling.figures.wording import counted
    from labelwise.labelling.safety import backup as copying  # needs the extras just looked for

    with user_errors(), patient_bars() as progress:
        done = copying.backup(project, file, overwrite=overwrite, progress=progress)
    told = f"{counted(done.rows['items'], 'item')}, {counted(done.rows['events'], 'event')}"
    typer.echo(f"{done.location}: {told}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A backup.")],
    project: Annotated[str, typer.Argument(metavar="PROJECT", help="A new file, or an empty PostgreSQL database.")],
    copy: Annotated[
        bool, typer.Option("--copy", help="The project it came from goes on: make this one a project of its own.")
    ] = False,
    accept_damage: Annotated[
        bool, typer.Option("--accept-damage", help="Go on where verify finds events that are not in order.")
    ] = False,
) -> None:
    """Make a project of a backup, in a new file or an empty PostgreSQL database.

    Nothing that is there is overwritten. The backup is verified first and the project afterwards; where anything goes
    wrong, nothing is left behind. Users are there and need a new link to sign in: labelwise user link.

    **Examples**

    ```
    labelwise restore tickets-monday.db tickets.db
    labelwise restore tickets-monday.db postgresql://me@server/empty
    labelwise restore tickets-monday.db try-out.db --copy
    ```
    """
    check_extras()
    from labelwise.labelling.figures.wording import counted
    from labelwise.labelling.safety import backup as copying  # needs the extras just looked for

    with user_errors(accept_damage="--accept-damage"), patient_bars() as progress:
        done = copying.restore(file, project, copy=copy, accept_damage=accept_damage, progress=progress)
    typer.echo(f"{done.location}: {counted(done.rows['items'], 'item')}, {counted(done.rows['events'], 'event')}")
    if done.rows["users"]:
        typer.echo(f"users need a new link to sign in: labelwise user link {done.location} NAME")
