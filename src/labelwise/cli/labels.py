"""`labelwise labels`: show, describe, add, rename, merge and retire labels in mid-campaign."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from labelwise import data
from labelwise.cli._common import AsJson, ProjectPlace, Who, opened, person, served
from labelwise.views.wording import counted

labels = typer.Typer(
    no_args_is_help=True,
    help="""Show, describe, add, rename, merge or retire labels while people label.

**Examples**

```
labelwise labels describe tickets.db billing "Invoices, payments and prices"
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
    counts: Annotated[
        Path | None, typer.Option(help="csv of `labelwise cooccurrence`, from which the shares are taken.")
    ] = None,
    example: Annotated[list[str] | None, typer.Option(help="An item that has it. Repeatable.")] = None,
    who: Who = None,
) -> None:
    """Add a label. It is unknown for every item except the examples.

    With --like or --counts it starts from a hint: the labels that it occurs with. Its answers take over.

    **Examples**

    ```
    labelwise labels add tickets.db "late delivery" --like delivery=0.3 --like refund=0.1
    labelwise labels add tickets.db fraud --example T0007 --example T0113
    labelwise labels add tickets.db fraud --counts counts.csv
    ```
    """
    with opened(project) as found:
        shares = _shares(like or [])
        if counts is not None:
            if shares:
                raise ValueError("--like and --counts say the same: give one of them")
            shares = _shares_elsewhere(counts, name, found.label_names())
        found.add_label(name, like=shares, examples=example or [], who=person(who))
    typer.echo(f"added: {name}" + (f", by its shares of {counted(len(shares), 'label')}" if counts else ""))


def _shares_elsewhere(path: Path, name: str, known: Sequence[str]) -> dict[str, float]:
    """Of the labels of a project that were counted with a new one: the share of their items that have it, too."""
    counted = data.read_cooccurrence(path)
    shares = {label: share for label, share in counted.shares_of(name).items() if label in set(known)}
    if not shares:
        raise ValueError(
            f"{path} counts {name!r} with no label of the project; count them by the names that they have here"
        )
    return shares


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
def show(project: ProjectPlace, as_json: AsJson = False) -> None:
    """List the labels in use, with what they mean. --json prints what `labelwise labels read` reads."""
    with served(project) as found:
        there = found.labels()
    if as_json:
        typer.echo(json.dumps([label.as_dict() for label in there], ensure_ascii=False, indent=1))
        return
    for label in there:
        typer.echo(f"{label.name}: {label.description}" if label.description else label.name)


@labels.command()
def describe(
    project: ProjectPlace,
    name: Name,
    description: Annotated[str, typer.Argument(help="What the label means, in a sentence or two.")] = "",
    keyword: Annotated[list[str] | None, typer.Option(help="A word that speaks for it. Repeatable.")] = None,
    alias: Annotated[list[str] | None, typer.Option(help="Another name of it. Repeatable.")] = None,
    parent: Annotated[str, typer.Option(help="A more general label.")] = "",
    who: Who = None,
) -> None:
    """Say what a label means, in place of what was said before. The next training uses it.

    **Examples**

    ```
    labelwise labels describe tickets.db billing "Invoices, payments and prices" --keyword refund
    ```
    """
    label = {"name": name, "description": description, "keywords": keyword, "aliases": alias, "parent": parent}
    with served(project) as found:
        changed = found.describe_labels([label], who=person(who))
    typer.echo(f"described: {name}" if changed else f"{name} was described like this before")


@labels.command()
def read(
    project: ProjectPlace,
    file: Annotated[str, typer.Argument(help="csv, jsonl or json with names and descriptions of labels.")],
    who: Who = None,
) -> None:
    """Say what many labels mean: from a csv with columns name, description, keywords, aliases, parent, or from json.

    **Examples**

    ```
    labelwise labels read tickets.db labels.csv
    ```
    """
    with served(project) as found:
        changed = found.describe_labels(data.read_labels(file), who=person(who))
    typer.echo(f"{changed} described anew")


@labels.command()
def imply(
    project: ProjectPlace,
    off: Annotated[bool, typer.Option("--off", help="A label implies nothing.")] = False,
    who: Who = None,
) -> None:
    """Say that a label implies its parent: answers and predictions keep to it.

    A yes to a label is then a yes to all above it, and a no is a no to all below it. Parents come from
    `labelwise labels describe --parent`, from a file, or from names like science/physics.

    **Examples**

    ```
    labelwise labels describe tickets.db refund --parent billing
    labelwise labels imply tickets.db
    ```
    """
    with served(project) as found:
        changed = found.imply_parents(not off, who=person(who))
    said = "labels imply nothing" if off else "labels imply their parents"
    typer.echo(f"{said} now" if changed else f"{said}, as before")


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
