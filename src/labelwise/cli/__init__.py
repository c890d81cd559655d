"""The `labelwise` command: a small file for each command or for those that belong together; the work is done below.

Exit codes: 0 done, 1 something broke inside, 2 wrong usage or input (one line says what is wrong and how to correct
it), 3 another worker is running, 4 nothing to ask, 5 the answer was refused (too late, or its label is gone), 6 the
project cannot be opened, read or written, 7 it is damaged, 8 verify found something suspicious, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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
LOOK: dict[str, Any] = {
    "no_args_is_help": True,
    "rich_markup_mode": "markdown",
    "pretty_exceptions_enable": False,  # a plain traceback is what a bug report needs
}


class Commands(TyperGroup):
    """The commands, each imported when it is called or when all are listed."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return self.commands[cmd_name]


def _load(name: str) -> Any:
    """A command, or a group of commands, as the library underneath Typer takes it."""
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(import_module(f"labelwise.cli.{module}"), attribute)
    holder = typer.Typer(add_completion=False, **LOOK)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        holder.command(name)(found)
    holder.callback()(labelwise)  # with a callback of its own the holder is a group, even around one command
    return typer.main.get_group(holder).commands[name]


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


app = typer.Typer(name="labelwise", cls=Commands, **LOOK)
app.callback()(labelwise)


def main() -> None:
    """Run the command."""
    app(prog_name="labelwise")
