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
labelwise labels add tickets.db "late delivery" --like delivery=0.3
labelwise labels merge tickets.db invoice billing
```
""",
)

Name = Annotated[str, typer.Argument(help="A label.")]


@labels.command()
def add(
    project: ProjectPlace,
    name: Name,
    like: Annotated[
        list[str] | None,
        typer.Option(help="LABEL=SHARE: the share of the items with LABEL that also have the new label. Repeatable."),
    ] = None,
    example: Annotated[list[str] | None, typer.Option(help="An item that has it. Repeatable.")] = None,
    who: Who = None,
) -> None:
    """Add a label. It is unknown for every item except the examples.

    With --like it starts from a hint: the labels that it occurs with. Its answers take over.

    **Examples**

    ```
    labelwise labels add tickets.db "late delivery" --like delivery=0.3 --like refund=0.1
    labelwise labels add tickets.db fraud --example T0007 --example T0113
    ```
    """
    with opened(project) as found:
        found.add_label(name, like=_shares(like or []), examples=example or [], who=person(who))
    typer.echo(f"added: {name}")


def _shares(given: list[str]) -> dict[str, float]:
    """`cats=0.4` as a label and a share; the label may hold an = itself."""
    shares: dict[str, float] = {}
    for text in given:
        label, _, share = text.rpartition("=")
        try:
            shares[label.strip()] = float(share)
        except ValueError:
            raise ValueError(f"--like must be LABEL=SHARE, say cats=0.4, got {text!r}") from None
    return shares


@labels.command()
def rename(project: ProjectPlace, old: Name, new: Name, who: Who = None) -> None:
    """Give a label another name."""
    with opened(project) as found:
        found.rename_label(old, new, who=person(who))
    typer.echo(f"{old} is now {new}")


@labels.command()
def merge(project: ProjectPlace, source: Name, target: Name, who: Who = None) -> None:
    """Merge two labels into one: yes to either is yes."""
    with opened(project) as found:
        found.merge_labels(source, target, who=person(who))
    typer.echo(f"{source} is now part of {target}")


@labels.command()
def retire(project: ProjectPlace, name: Name, who: Who = None) -> None:
    """Stop asking about a label; its answers are kept."""
    with opened(project) as found:
        found.retire_label(name, who=person(who))
    typer.echo(f"retired: {name}")
