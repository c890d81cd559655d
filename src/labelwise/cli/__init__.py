"""The `labelwise` command: a small file for each command or for those that belong together; the work is done below.

Exit codes: 0 done, 1 something broke inside, 2 wrong usage or input (one line says what is wrong and how to correct
it), 3 another worker is running, 4 nothing to ask, 5 the answer was refused (too late, or its label is gone), 6 the
project cannot be opened, read or written, 7 it is damaged, 8 verify found something suspicious, 130 stopped by Ctrl-C.

Every option is also read from the environment, `--port` of `serve` as LABELWISE_SERVE_PORT, and from a TOML file that
`--config` or LABELWISE_CONFIG names. The command line counts before the environment, and that before the file.
"""

from __future__ import annotations

import os
import tomllib
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from labelwise.views.wording import did_you_mean

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


class LightGroup(TyperGroup):
    """A group that does not check options that were not given: Typer would load pydantic for it."""

    def get_params(self, ctx: Any) -> list[Any]:
        found = super().get_params(ctx)
        for option in found:
            if "process_value" not in vars(option):
                option.process_value = partial(_process, option.process_value)  # type: ignore[method-assign]
        return found


def _process(process: Any, ctx: Any, value: Any) -> Any:
    return None if value is None else process(ctx, value)


class Commands(LightGroup):
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
        holder.add_typer(found, name=name, cls=LightGroup)
    else:
        holder.command(name)(found)
    holder.callback()(lambda: None)  # with a callback of its own the holder is a group, even around one command
    return _quiet(typer.main.get_group(holder).commands[name])


def _quiet(command: Any) -> Any:
    """The same command, whose help does not repeat the name of a variable at every option."""
    for option in command.params:
        if option.param_type_name == "option":
            option.show_envvar = False
    for part in getattr(command, "commands", {}).values():
        _quiet(part)
    return command


def _version(wanted: bool) -> None:
    if wanted:
        from labelwise import __version__  # looked up in what is installed, which takes a while

        typer.echo(f"labelwise {__version__}")
        raise typer.Exit


def labelwise(
    ctx: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, allow_from_autoenv=False, help="Print the version and stop."
        ),
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(envvar="LABELWISE_CONFIG", metavar="FILE", help="TOML file with options: [serve] port = 8080."),
    ] = None,
) -> None:
    """Tag many items with sets of labels in a few hours: it asks what is worth your time and learns the rest.

    Options can also be set by the environment (LABELWISE_SERVE_PORT for --port of serve) or by a file (--config).
    """
    if config is not None:
        from labelwise.cli._common import PROJECT_VARIABLE, user_errors  # only where there is a file

        with user_errors():
            given = tomllib.loads(config.read_text(encoding="utf-8"))
            if "project" in given:
                os.environ.setdefault(PROJECT_VARIABLE, str(given.pop("project")))
            ctx.default_map = _by_parameter(given, ctx.command, str(config))


def _by_parameter(given: Any, command: Any, place: str) -> dict[str, Any]:
    """What a file says of a command, or of those of a group, by the names of their parameters."""
    if not isinstance(given, dict):
        raise ValueError(f"{place}: expected a table of options, got {given!r}")
    if hasattr(command, "list_commands"):
        parts = {name: command.get_command(None, name) for name in command.list_commands(None) if name in given}
        _refuse_unknown(given, command.list_commands(None), place)
        return {name: _by_parameter(given[name], part, f"{place}: {name}") for name, part in parts.items()}
    names = {spelt.lstrip("-"): each.name for each in command.params for spelt in each.opts if each.name != "help"}
    _refuse_unknown(given, names, place)
    return {names[key]: value for key, value in given.items()}


def _refuse_unknown(given: dict[str, Any], known: Any, place: str) -> None:
    for key in given:
        if key not in known:
            hint = did_you_mean(key, known) or f"; there are {', '.join(known)}"
            raise ValueError(f"{place}: {key!r} is no option and no command here{hint}")


app = typer.Typer(name="labelwise", cls=Commands, context_settings={"auto_envvar_prefix": "LABELWISE"}, **LOOK)
app.callback()(labelwise)


def main() -> None:
    """Run the command."""
    app(prog_name="labelwise")
