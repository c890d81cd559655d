"""The `labelwise` command: a small file for each command or for those that belong together; the work is done below.

Exit codes: 0 done, 1 something broke inside, 2 wrong usage or input (one line says what is wrong and how to correct
it), 3 another worker is running, 4 nothing to ask, 5 the answer was refused (too late, or its label is gone), 6 the
project cannot be opened, read or written, 7 it is damaged, 8 verify found something suspicious, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

from labelwise import __version__

MISSING = [package for package in ("typer", "rich") if find_spec(package) is None]
if not MISSING:
    import typer  # an extra; where it is missing, `main` says so

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


def __getattr__(name: str) -> Any:
    """`app`, the application with all commands."""
    if name != "app":
        raise AttributeError(f"module 'labelwise.cli' has no attribute {name!r}")
    return build()


def main() -> None:
    """Run the command, or say what to install when the extra for it is missing."""
    if MISSING:
        print(f"the labelwise command needs {' and '.join(MISSING)}: pip install labelwise[cli]", file=sys.stderr)
        sys.exit(2)
    wanted = sys.argv[1] if len(sys.argv) > 1 else None
    build(wanted if wanted in COMMANDS else None)()
