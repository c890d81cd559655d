"""The Typer application: every command is registered here, and only here. One that is run alone is loaded alone."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Annotated

import typer

from labelwise import __version__

COMMANDS = {  # name: the module of this package and what in it is the command, or a group of them
    "cooccurrence": "cooccurrence:cooccurrence",
    "demo": "demo:demo",
    "diagnose": "diagnose:diagnose",
    "reproduce": "reproduce:reproduce",
    "simulate": "simulate:simulate",
    "stream": "stream:stream",
    "new": "new:new",
    "serve": "serve:serve",
    "user": "user:user",
    "ask": "ask:ask",
    "tell": "ask:tell",
    "status": "status:status",
    "predict": "predict:predict",
    "export": "exchange:export",
    "import": "exchange:import_",
    "report": "status:report",
    "serve-worker": "serve:serve_worker",
    "labels": "labels:labels",
    "backup": "safety:backup",
    "restore": "safety:restore",
    "verify": "safety:verify",
}


@cache
def build(only: str | None = None) -> typer.Typer:
    """The application with all commands, or with one."""
    app = typer.Typer(
        name="labelwise",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,  # a plain traceback is what a bug report needs
    )
    for name in COMMANDS if only is None else (only,):
        module, _, attribute = COMMANDS[name].partition(":")
        command = getattr(import_module(f"labelwise.cli.{module}"), attribute)
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name)
        else:
            app.command(name)(command)
    app.callback()(labelwise)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"labelwise {__version__}")
        raise typer.Exit


def labelwise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Bayesian multi-label learning that asks for the fewest labels."""
