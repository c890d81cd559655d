"""`labelwise user`: who may label on the page."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated

import typer

from labelwise.cli._common import AsJson, ProjectPlace, served

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


@user.command("list")
def list_users(project: ProjectPlace, as_json: AsJson = False) -> None:
    """List the users and their roles."""
    with served(project) as found:
        users = found.people.all()
    if as_json:
        typer.echo(json.dumps([{"name": each.name, "role": each.role, "added_at": each.added_at} for each in users]))
        return
    for each in users:
        typer.echo(f"{each.name}  {each.role}  since {datetime.fromtimestamp(each.added_at, UTC):%Y-%m-%d}")
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the program, such as label-studio.")],
    remove: Annotated[bool, typer.Option("--remove", help="Refuse its token from now on.")] = False,
) -> None:
    """Print a token for a program that reads predictions and sends answers, such as Label Studio.

    A program has one token: a new one replaces the old one.

    **Examples**

    ```
    labelwise user token tickets.db label-studio
    ```
    """
    with served(project) as found:
        if remove:
            found.people.remove_token(name)
        else:
            typer.echo(found.people.add_token(name))


def _print_link(at: str, secret: str) -> None:
    typer.echo(f"{at.rstrip('/')}/enter/{secret}")
