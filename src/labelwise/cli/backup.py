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

    FILE contains the project at the moment when the command starts: every answer acknowledged before is in it. It gets
    its name only when it is complete and checked. It is a SQLite file, even if the project is in PostgreSQL, and needs
    nothing else to be verified and restored.

    Sessions, sign-in links, tokens of programs, separate picture files and the files that the worker can make again are
    left out.

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
        bool,
        typer.Option(
            "--copy", help="Use this if the original project stays in use: the restored one becomes a separate project."
        ),
    ] = False,
    accept_damage: Annotated[
        bool, typer.Option("--accept-damage", help="Restore even if verify finds events that are not in order.")
    ] = False,
) -> None:
    """Restore a project from a backup, into a new file or an empty PostgreSQL database.

    Nothing is overwritten. The backup is verified first and the project afterwards; if anything fails, nothing is left
    behind. The users are restored, too; they need a new link to sign in: labelwise user link.

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
