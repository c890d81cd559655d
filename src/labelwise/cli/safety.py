"""`labelwise backup`, `restore` and `verify`: a whole project to one file and back, and whether it is sound."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from labelwise.cli._common import AsJson, ProjectPlace, patient_bars, person, user_errors

if TYPE_CHECKING:
    from labelwise.labelling.safety.verify import Verdict

SHOWN = 5  # cases of one problem that are printed; --json has more
COLUMNS = ("item", "item_name", "who", "asked", "first", "second", "contradicts", "take_back")


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
    from labelwise.labelling.figures.wording import counted
    from labelwise.labelling.safety.backup import backup as copy_project  # start-up

    with user_errors(), patient_bars() as progress:
        done = copy_project(project, file, overwrite=overwrite, progress=progress)
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
    from labelwise.labelling.figures.wording import counted
    from labelwise.labelling.safety.backup import restore as restore_project  # start-up

    with user_errors(accept_damage="--accept-damage"), patient_bars() as progress:
        done = restore_project(file, project, copy=copy, accept_damage=accept_damage, progress=progress)
    typer.echo(f"{done.location}: {counted(done.rows['items'], 'item')}, {counted(done.rows['events'], 'event')}")
    if done.rows["users"]:
        typer.echo(f"users need a new link to sign in: labelwise user link {done.location} NAME")


def verify(
    project: ProjectPlace,
    repair: Annotated[
        bool, typer.Option("--repair", help="Take back the copies of questions that somebody answered twice at once.")
    ] = False,
    keep: Annotated[
        Path | None, typer.Option("--backup", help="With --repair: the backup to write first. Default: beside PROJECT.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="With --repair: do not ask.")] = False,
    doubled: Annotated[
        Path | None, typer.Option(help="Write the questions that were answered twice at once to this csv file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a project or a backup is whole: the file, every event, and that what is known follows from them.

    The command only reads, also while the project is served, and does not change an older version. Exit code 0: sound.
    7: damaged. 8: nothing is damaged, but something is suspicious, such as two answers of one person to one question
    within a second. In projects with --overlap an earlier version of the page gave one person both copies of a
    question; the "no" of the second copy then outweighed the marks of the first.

    --repair makes a backup, then takes back the copy that nobody filled in, by undo events: nothing is deleted.

    **Examples**

    ```
    labelwise verify tickets.db
    labelwise verify tickets-monday.db --json
    labelwise verify tickets.db --doubled to-review.csv
    labelwise verify tickets.db --repair
    ```
    """
    from labelwise.labelling.safety.verify import verify as check_project  # start-up

    with user_errors():
        with patient_bars() as progress:
            verdict = check_project(project, progress)
        if repair:
            _repair(project, verdict, keep, yes)
            verdict = check_project(project)
        if doubled is not None:
            from labelwise.data.formats.rows import write_rows  # loads scikit-learn, which checking does without

            write_rows(verdict.as_dict()["doubled"], str(doubled), COLUMNS)
    if as_json:
        typer.echo(json.dumps(verdict.as_dict(), indent=2, ensure_ascii=False))
    else:
        _print(verdict)
    raise typer.Exit(verdict.exit_code)


def _print(verdict: Verdict) -> None:
    from labelwise.labelling.figures.wording import counted
    from labelwise.labelling.safety.verify import CHECKS, DAMAGED

    grid = Grid("check", "", "found")
    for check in verdict.checks:
        found = str(check.number) if check.number else "ok" if check.done else "not done"
        grid.add_row(check.name, CHECKS[check.name], found)
    Console(highlight=False, markup=False).print(grid)
    for check in verdict.checks:
        for example in check.examples[:SHOWN]:
            typer.secho(f"{check.name}: {example}", fg="red" if check.state == DAMAGED else "yellow")
        if check.number > SHOWN:
            typer.echo(f"{check.name}: {check.number - SHOWN} more; --json lists the first of them")
    rows = verdict.rows
    size = f", {counted(rows['items'], 'item')}, {counted(rows['events'], 'event')}" if "events" in rows else ""
    older = f" (of version {verdict.version}; opening it brings it up to date)" if verdict.is_older else ""
    typer.echo(f"{verdict.location}{older}{size}: {verdict.state}")
    _advise(verdict)


def _advise(verdict: Verdict) -> None:
    from labelwise.labelling.figures.wording import counted
    from labelwise.labelling.safety.verify import DAMAGED

    if verdict.state == DAMAGED:
        typer.echo("keep the file as it is, and restore the last backup that is sound: labelwise restore")
    elif verdict.doubled:
        people = ", ".join(sorted({each.who for each in verdict.doubled}))
        clear = sum(each.take_back is not None for each in verdict.doubled)
        told = counted(len({each.item for each in verdict.doubled}), "item")
        typer.echo(f"answered twice at once: {told}, by {people}")
        if clear:
            typer.echo(f"in {counted(clear, 'case')} one copy was not filled in: --repair takes it back")
        if clear < len(verdict.doubled):
            left = counted(len(verdict.doubled) - clear, "case")
            typer.echo(f"in {left} both may be meant: --doubled FILE.csv lists them; answer those items again")


def _repair(project: str, verdict: Verdict, keep: Path | None, yes: bool) -> None:
    from labelwise.labelling.figures.wording import counted
    from labelwise.labelling.safety.backup import backup as copy_project
    from labelwise.labelling.safety.doubled import repair
    from labelwise.labelling.safety.verify import DAMAGED, Damaged
    from labelwise.labelling.store import Store

    if verdict.state == DAMAGED:
        raise Damaged(f"{verdict.location} is damaged; --repair cannot help: restore a sound backup")
    clear = [each for each in verdict.doubled if each.take_back is not None]
    if not clear:
        typer.echo("there is nothing to repair", err=True)
        return
    kept = keep or _default_backup(project)
    question = f"Back up to {kept}, then take back {counted(len(clear), 'answer')} given twice?"
    if not yes and not typer.confirm(question, err=True):
        raise typer.Exit(verdict.exit_code)
    copy_project(project, kept)
    with closing(Store.open(project)) as store:
        undone = repair(store, clear, person(None))
    typer.echo(f"backup: {kept}; taken back: {counted(len(undone), 'answer')}", err=True)


def _default_backup(project: str) -> Path:
    name = f"before-repair-{time.strftime('%Y%m%d-%H%M%S')}.db"
    path = Path(project)
    return Path(f"project-{name}") if "://" in project else path.with_name(f"{path.stem}-{name}")
