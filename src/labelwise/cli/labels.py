"""`labelwise labels`: add, rename, merge and retire labels in mid-campaign."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwise.cli._projects import ProjectPlace, Who, opened, person

labels = typer.Typer(
    no_args_is_help=True,
    help="""Add, rename, merge or retire labels while people label.

**Examples**

```
labelwise labels add tickets.db "late delivery"
labelwise labels merge tickets.db invoice billing
```
""",
)

Name = Annotated[str, typer.Argument(help="A label.")]


@labels.command()
def add(project: ProjectPlace, name: Name, who: Who = None) -> None:
    """Add a label, unknown for every item so far."""
    with opened(project) as found:
        found.add_label(name, who=person(who))
    typer.echo(f"added: {name}")


@labels.command()
def rename(project: ProjectPlace, old: Name, new: Name, who: Who = None) -> None:
    """Give a label another name."""
    with opened(project) as found:
        found.rename_label(old, new, who=person(who))
    typer.echo(f"{old} is now {new}")


@labels.command()
def merge(project: ProjectPlace, source: Name, target: Name, who: Who = None) -> None:
    """Make one label of two: yes to either is yes."""
    with opened(project) as found:
        found.merge_labels(source, target, who=person(who))
    typer.echo(f"{source} is now part of {target}")


@labels.command()
def retire(project: ProjectPlace, name: Name, who: Who = None) -> None:
    """Stop asking about a label; its answers are kept."""
    with opened(project) as found:
        found.retire_label(name, who=person(who))
    typer.echo(f"retired: {name}")
