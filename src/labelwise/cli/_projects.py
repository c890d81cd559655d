"""What the commands about projects share."""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from labelwise.cli._common import errors, fail, in_options, user_errors

if TYPE_CHECKING:
    from labelwise.labelling import Project
    from labelwise.labelling.served import ServedProject

CSV = {"encoding": "--encoding", "delimiter": "--delimiter", "separator": "--label-separator"}  # for `user_errors`
NEEDED = {"sqlalchemy": "serve", "skops": "serve"}

ProjectPlace = Annotated[str, typer.Argument(metavar="PROJECT", help="A project file, or postgresql://user@host/db.")]
Who = Annotated[str | None, typer.Option(help="Who answers. Default: the name you are logged in with.")]
Encoding = Annotated[str | None, typer.Option(help="Encoding of a csv file, such as latin-1. Default: utf-8.")]
Delimiter = Annotated[str | None, typer.Option(help="Sign between the columns of a csv file, \\t for a tab.")]
RawCsv = Annotated[bool, typer.Option("--raw-csv", help="Do not mark text that a spreadsheet would run as a formula.")]
LabelSeparator = Annotated[
    str | None,
    typer.Option(help="Sign between labels in one cell, such as ; , or |. Default: detected and reported."),
]
TargetF1 = Annotated[float | None, typer.Option(help="F1 to reach, as 0.8: status, page and report tell the time.")]
WorthAnHour = Annotated[
    float | None, typer.Option(help="Gain in F1 that an hour is worth, as 0.01: below it the advice is to stop.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def check_extras(also: Iterable[str] = ()) -> None:
    """Fail with what to install if a package for projects, or one of `also`, is missing."""
    missing = [package for package in (*NEEDED, *also) if find_spec(package) is None]
    if missing:
        raise fail(f"projects need {' and '.join(missing)}: pip install 'labelwise[serve]'")


@contextmanager
def opened(location: str, **options: str) -> Iterator[Project]:
    """A project; what goes wrong with it becomes one line and an exit code, with options as in `user_errors`."""
    check_extras()
    from labelwise.labelling import Project  # needs the extras just looked for

    with user_errors(**options), Project(location) as project:
        yield project


@contextmanager
def served(location: str) -> Iterator[ServedProject]:
    """The same, without anything to train with."""
    check_extras()
    from labelwise.labelling.served import ServedProject  # needs the extras just looked for

    with user_errors(), ServedProject(location) as project:
        yield project


def print_notice(sentence: str) -> None:
    """Say what was found in a file, on stderr, in the words of the command line."""
    errors.print(in_options(sentence, CSV))


def csv_options(encoding: str | None, delimiter: str | None, separator: str | None = None) -> dict[str, str]:
    """What of it was given, as `labelwise.read` takes it."""
    given = {"encoding": encoding, "delimiter": _typed(delimiter), "separator": _typed(separator)}
    return {name: value for name, value in given.items() if value is not None}


def _typed(sign: str | None) -> str | None:
    return None if sign is None else sign.replace("\\t", "\t")


def person(given: str | None) -> str:
    """The name that answers are saved under."""
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "somebody"
