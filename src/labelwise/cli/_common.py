"""What commands share: options, where to print, how to fail, how to read data and open projects."""

from __future__ import annotations

import getpass
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from threading import Event, Timer
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from labelwise.labelling import Project
    from labelwise.labelling.served import ServedProject
    from labelwise.records import LabelData

OPTIONS = {"labels": "--labels", "text": "--text", "id": "--id"}  # to read a table, by the library's names
# text= or encoding='latin-1' in a message of the library, not features=100
ARGUMENT = re.compile(r"( or )?\b([a-z_]+)=(?:('[^']*')|(?=[\s,;.)]|$))")
INTERRUPTED = 130  # what a shell expects of a command stopped by Ctrl-C

pressed = Event()  # Ctrl-C, within `stoppable`
errors = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)  # messages may hold [brackets]
ClusterOption = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS", help="Run on a Dask cluster: its address, or a number of workers here."
    ),
]
PriceListOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Prices in seconds: short_text, long_text or picture, with :low, :mid or :high, as in long_text:high.",
    ),
]
ReadCostOption = Annotated[
    str | None,
    typer.Option(
        metavar="TIME", help="Price of reading an item, as 8s, 2min or 8 for seconds; pair strategies weigh it."
    ),
]
AnswerCostOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="Price of one yes or no, as 1.7s or 1.7 for seconds.")
]
PROJECT_VARIABLE = "LABELWISE_PROJECT"
ProjectPlace = Annotated[
    str,
    typer.Argument(metavar="PROJECT", envvar=PROJECT_VARIABLE, help="A project file, or postgresql://user@host/db."),
]
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
    float | None, typer.Option(help="Gain in F1 that makes an hour worth it, as 0.01: the advice to stop follows it.")
]
Risk = Annotated[
    float | None,
    typer.Option(help="Stop where more time is worth it with a smaller probability than this. Default: 0.2."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
IN_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0}
TIME = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([a-z]*)\s*")
CSV = {"encoding": "--encoding", "delimiter": "--delimiter", "separator": "--label-separator"}  # for `user_errors`


def fail(message: str, code: int = 2) -> typer.Exit:
    """Say in one line what is wrong; raise the result."""
    errors.print(Text.assemble(("error:", "bold red"), " ", " ".join(message.split())))
    return typer.Exit(code)


@contextmanager
def user_errors(**options: str) -> Iterator[None]:
    """Around everything that depends on what the user gave: its errors become one line and their exit code, or 2.

    `options` are the command's own where they are not those of `OPTIONS`: by the library's name, what to type.
    """
    try:
        yield
    except (ValueError, TypeError, OSError, ImportError) as error:
        raise fail(in_options(_message_of(error), OPTIONS | options), getattr(error, "exit_code", 2)) from None


def in_options(message: str, options: Mapping[str, str]) -> str:
    """A message of the library as a command says it: options for arguments, without second choices that it lacks.

    >>> in_options("give text= or features=, or say encoding='latin-1'", {"text": "--text", "encoding": "--encoding"})
    "give --text, or say --encoding 'latin-1'"
    """

    def typed(match: re.Match[str]) -> str:
        also, name, value = match[1] or "", match[2], match[3]
        if name not in options:
            return "" if also and not value else match[0]
        return f"{also}{options[name]}{f' {value}' if value else ''}"

    return ARGUMENT.sub(typed, message)


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Bars on stderr, to be called with the name of a task, how much of it is done and of how much."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors) as bar:
        tasks: dict[str, TaskID] = {}

        def update(name: str, done: int, total: int) -> None:
            if pressed.is_set():
                raise KeyboardInterrupt
            if name not in tasks:
                tasks[name] = bar.add_task(name)
            bar.update(tasks[name], completed=done, total=total)

        yield update


@contextmanager
def patient_bars(seconds: float = 2.0) -> Iterator[Callable[[str, int, int], None]]:
    """The same, shown only where the work takes longer than this."""
    began = perf_counter()
    with ExitStack() as stack:
        shown: list[Callable[[str, int, int], None]] = []

        def update(name: str, done: int, total: int) -> None:
            if not shown and perf_counter() - began > seconds:
                shown.append(stack.enter_context(progress_bars()))
            for bar in shown:
                bar(name, done, total)

        yield update


@contextmanager
def waiting(doing: str, seconds: float = 1.0) -> Iterator[None]:
    """Say on stderr what is being done, where it takes longer than this: a spinner, or a line where nobody watches."""
    spinner = errors.status(doing)
    timer = Timer(seconds, lambda: spinner.start() if errors.is_terminal else errors.print(f"{doing} …"))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        spinner.stop()


def starting() -> AbstractContextManager[None]:
    """Around what a command loads, which takes a second or two: a spinner where somebody watches."""
    return waiting("starting") if errors.is_terminal else nullcontext()


@contextmanager
def stoppable(message: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C ends with a word about how to go on.

    An interrupt that falls into a callback of compiled code is lost there: the next step of a bar raises it again.
    """
    before = signal.getsignal(signal.SIGINT)
    pressed.clear()

    def press(*_: object) -> None:
        pressed.set()
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGINT, press)
        yield
    except KeyboardInterrupt:
        errors.print(message())
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGINT, before)
        pressed.clear()


def at_least_one(option: str, value: int | None) -> None:
    """Refuse a count below one; None means that the option was not given."""
    if value is not None and value < 1:
        raise ValueError(f"{option} must be at least 1, got {value}")


def listed(text: str) -> list[str]:
    """The names in a comma-separated option.

    >>> listed("random, uncertainty")
    ['random', 'uncertainty']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def load(
    source: str, test: Path | None, *, labels: str | None, text: str | None, id: str | None
) -> tuple[str, LabelData, LabelData | None]:
    """A built-in set or a file, with a test file read the same way: the name to call it by, data and test."""
    from labelwise.studies.sources import Source  # loaded when needed: most commands about projects do without

    given = Source(source, test=test, labels=None if labels is None else label_option(labels), text=text, id=id)
    return given.name, *given.load()


def label_option(text: str) -> str | int | list[str]:
    """One column or file by name, several columns by comma, or a number of ARFF attributes."""
    if text.lstrip("-").isdigit():
        return int(text)
    names = listed(text)
    return names if len(names) > 1 else text


def _message_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        where = Path(str(error.filename))
        half_written = where.name.startswith(".") and where.suffix == ".part"  # nobody named it: its folder is at fault
        return f"{where.parent if half_written else where}: {error.strerror}"
    return str(error)


@contextmanager
def on_cluster(address: str | None) -> Iterator[None]:
    """What runs side by side within goes to the cluster, where one is named."""
    with ExitStack() as stack:
        if address is not None:
            with user_errors():
                from labelwise.cluster import fan_out  # loads Dask, which most commands do without

                stack.enter_context(fan_out(int(address) if address.isdigit() else address))
        yield


def seconds(option: str, text: str | None) -> float | None:
    """A time in seconds, by its unit; None where none was given.

    >>> seconds("--read-cost", "8s"), seconds("--read-cost", "1.5 min"), seconds("--read-cost", "20")
    (8.0, 90.0, 20.0)
    """
    if text is None:
        return None
    match = TIME.fullmatch(text)
    if match is None or match[2] not in IN_SECONDS:
        raise ValueError(f"{option} {text!r} is no time; write seconds, as 8 or 8s, or another unit: 500ms, 2min, 1h")
    return float(match[1]) * IN_SECONDS[match[2]]


@contextmanager
def opened(location: str, **options: str) -> Iterator[Project]:
    """A project; what goes wrong with it becomes one line and an exit code, with options as in `user_errors`."""
    with starting():
        from labelwise.labelling import Project  # loaded when needed: it takes a second

    with user_errors(**options), Project(location) as project:
        yield project


@contextmanager
def served(location: str) -> Iterator[ServedProject]:
    """The same, without anything to train with."""
    with starting():
        from labelwise.labelling.served import ServedProject  # loaded when needed: it takes a second

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
