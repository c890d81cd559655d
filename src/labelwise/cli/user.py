"""`labelwise user`: who may label on the page."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from labelwise.cli._common import AsJson, ProjectPlace, fail, served

user = typer.Typer(no_args_is_help=True, help="Add, list and remove the people who may label on the page.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name that answers are saved under.")]
Address = Annotated[str, typer.Option(help="Address at which the user opens the page.")]


@user.command()
def add(
    project: ProjectPlace,
    name: Name,
    admin: Annotated[bool, typer.Option("--admin", help="The same as --role admin.")] = False,
    role: Annotated[
        str, typer.Option(help="annotator; reviewer: sees everybody's answers, settles; admin; viewer: only looks.")
    ] = "annotator",
    at: Address = "http://127.0.0.1:8000",
) -> None:
    """Add a user and print a link to sign in with. The link works once, for a week.

    **Examples**

    ```
    labelwise user add tickets.db ann --at https://label.example.org
    labelwise user add tickets.db bob --admin
    labelwise user add tickets.db eve --role reviewer
    ```
    """
    with served(project) as found:
        _print_link(at, found.people.add(name, "admin" if admin else role))


@user.command()
def role(
    project: ProjectPlace,
    name: Name,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="annotator, reviewer, admin or viewer.")],
) -> None:
    """Give a user another role, at once."""
    with served(project) as found:
        found.people.change_role(name, role)


@user.command()
def link(project: ProjectPlace, name: Name, at: Address = "http://127.0.0.1:8000") -> None:
    """Print another one-time link, for a second browser or after a session has ended."""
    with served(project) as found:
        _print_link(at, found.people.link(name))


@user.command()
def assign(
    project: ProjectPlace,
    name: Name,
    share: Annotated[
        str | None,
        typer.Argument(metavar="[SHARE]", help="Share of all items, such as 30%; 0 takes everything back."),
    ] = None,
    find: Annotated[str | None, typer.Option(metavar="WORDS", help="The items with all these words, instead.")] = None,
    items: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="The items named in a file, one a line, instead."),
    ] = None,
) -> None:
    """Assign items to a user: they are asked of this person first, and of others last.

    A share replaces what the user had, and is drawn by chance from the items that are nobody's. Found and named items
    are added, and taken from whoever had them. If the user is removed, the items are nobody's again.

    **Examples**

    ```
    labelwise user assign tickets.db ann 30%
    labelwise user assign tickets.db bob --find "invoice late"
    labelwise user assign tickets.db ann 0
    ```
    """
    if sum(each is not None for each in (share, find, items)) != 1:
        raise fail("say one of a share such as 30%, --find WORDS and --items FILE")
    part = None if share is None else _share(share)
    with served(project) as found:
        if part is not None:
            number = found.people.assign_share(name, part)
        else:
            from labelwise.labelling.items.browse import Browser, ItemSearch  # loaded only where it is used

            names = items.read_text(encoding="utf-8").splitlines() if items else None
            if names is None:
                names = Browser(found).names_found(ItemSearch(words=find or ""))
            number = found.people.assign_items(name, [each for each in names if each.strip()])
    typer.echo(f"{name}: {number} {'item' if number == 1 else 'items'} assigned")


def _share(text: str) -> float:
    """A share as people write it: 30%, 30 %, 0.3."""
    number, sign, rest = text.strip().partition("%")
    try:
        share = float(number) / (100 if sign else 1)
    except ValueError:
        share = float("nan")
    if rest or not 0 <= share <= 1:
        raise fail(f"a share of the items is between 0% and 100%, such as 30% or 0.3, got {text!r}")
    return share


@user.command("list")
def list_users(project: ProjectPlace, as_json: AsJson = False) -> None:
    """List the users and their roles."""
    with served(project) as found:
        users, assigned = found.people.all(), found.people.assigned()
    if as_json:
        rows = [{"name": each.name, "role": each.role, "added_at": each.added_at} for each in users]
        for row in rows:
            has = assigned.get(str(row["name"]))
            row |= {} if has is None else {"assigned": has.items, "assigned_answered": has.answered}
        typer.echo(json.dumps(rows))
        return
    for each in users:
        since = f"since {datetime.fromtimestamp(each.added_at, UTC):%Y-%m-%d}"
        has = assigned.get(each.name)
        progress = "" if has is None else f"  {has.answered} of {has.items} own items answered"
        typer.echo(f"{each.name}  {each.role}  {since}{progress}")
    if not users:
        typer.echo("no users: only this machine is served, by the address that labelwise serve prints")


@user.command()
def remove(project: ProjectPlace, name: Name) -> None:
    """Remove a user, who is signed out at once. The answers stay."""
    with served(project) as found:
        found.people.remove(name)


@user.command()
def token(
    project: ProjectPlace,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the program, such as label-studio or nightly.")],
    scope: Annotated[
        str | None,
        typer.Option(help="For /api: metrics, read, answer, or admin for all that the person may do. Needs --as."),
    ] = None,
    who: Annotated[str | None, typer.Option("--as", metavar="USER", help="Person for whom it acts at /api.")] = None,
    days: Annotated[float | None, typer.Option(help="Days that it is good for at /api. Default: no end.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Refuse its token from now on.")] = False,
) -> None:
    """Print a token for a program: for Label Studio, or with --scope and --as for scripts that use /api or /metrics.

    A program has one token: a new one replaces the old one. It is printed once and stored as a digest. At /api a
    program may do what its scope and the role of its person allow; `labelwise.Client` is a client in Python.

    **Examples**

    ```
    labelwise user token tickets.db label-studio
    labelwise user token tickets.db nightly --as ann --scope answer --days 90
    labelwise user token tickets.db prometheus --as ann --scope metrics
    labelwise user token tickets.db nightly --remove
    ```
    """
    if (scope is None) != (who is None):
        raise fail("a token for /api needs both: --scope metrics, read, answer or admin, and --as USER")
    with served(project) as found:
        if remove:
            found.people.remove_token(name)
        elif scope is None or who is None:
            typer.echo(found.people.add_token(name))
        else:
            typer.echo(found.people.add_api_token(name, who, scope, days))


def _print_link(at: str, secret: str) -> None:
    typer.echo(f"{at.rstrip('/')}/enter/{secret}")
