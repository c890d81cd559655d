"""Write docs/commands.md, the reference of the command line, from the commands themselves.

python docs/commands.py
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from labelwise import cli

KINDS = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "PATH"}  # of the value of an option
PAGE = Path(__file__).with_suffix(".md")
HEAD = """# Commands

Every command of `labelwise`, with its arguments, options and defaults. `labelwise COMMAND --help` prints the same
in the terminal. `make docs-commands` writes this page from the code: change the command, not the page.
"""


def page() -> str:
    """The whole page: a list of all commands, then each of them."""
    commands = list(_commands(typer.main.get_command(cli.app), "labelwise"))
    contents = "".join(f"* [`{name}`](#{name.replace(' ', '-')}): {_first_line(made)}\n" for name, made in commands)
    exit_codes = next(part for part in (cli.__doc__ or "").split("\n\n") if part.startswith("Exit codes:"))
    return "\n".join([HEAD, contents, exit_codes, *(_section(name, made) for name, made in commands)])


def _commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(None):
        made = group.get_command(None, name)
        if made.hidden:
            continue
        if hasattr(made, "commands"):
            yield from _commands(made, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", made


def _first_line(made: Any) -> str:
    return " ".join((made.help or "").strip().split("\n\n")[0].split())


def _section(name: str, made: Any) -> str:
    shown = [one for one in made.params if not getattr(one, "hidden", False) and one.name != "help"]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name == "option"]
    kinds = get_type_hints(inspect.unwrap(made.callback))
    usage = " ".join([name, *map(_usage, arguments), *(["[OPTIONS]"] if options else [])])
    parts = [f"## {name}\n", f"```\n{usage}\n```\n", f"{(made.help or '').strip()}\n"]
    if arguments:
        parts.append(_table("argument", [(_argument(one), one) for one in arguments]))
    if options:
        parts.append(_table("option", [(_option(one, kinds[one.name]), one) for one in options]))
    return "\n".join(parts)


def _table(head: str, rows: list[tuple[str, Any]]) -> str:
    lines = [f"| {head} | meaning | default |", "| --- | --- | --- |"]
    for name, parameter in rows:
        cells = (f"`{name}`", parameter.help or "", _default(parameter))
        lines.append(f"| {' | '.join(' '.join(cell.replace('|', chr(92) + '|').split()) for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _usage(argument: Any) -> str:
    name = _argument(argument).rstrip(".") + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _argument(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _option(option: Any, kind: Any) -> str:
    """All its names, and the kind of its value: `--seeds INTEGER`, `--open`, `--coupled / --independent`."""
    names = " / ".join([", ".join(option.opts), *option.secondary_opts])
    return names if option.is_flag else f"{names} {option.metavar or _kind(kind)}"


def _kind(kind: Any) -> str:
    """The first known type within `list[int]`, `Path | None` and the like."""
    return KINDS.get(kind) or next((found for part in get_args(kind) if (found := _kind(part))), "")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    shown = getattr(parameter, "show_default", None)
    value = shown if isinstance(shown, str) else parameter.default
    if isinstance(value, bool):
        return f"`{parameter.opts[0]}`" if value else ""
    if isinstance(value, (str, int, float, Path)):
        return f"`{value}`"
    return f"`{', '.join(map(str, value))}`" if isinstance(value, (list, tuple)) and value else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
