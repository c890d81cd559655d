"""`labelwise ask` and `labelwise tell`: the next questions, as text or for keys in the terminal, and their answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from labelwise.cli._common import (
    AsJson,
    ProjectPlace,
    Who,
    at_least_one,
    errors,
    fail,
    opened,
    person,
    user_errors,
    waiting,
)

if TYPE_CHECKING:
    from labelwise.labelling import Lease, Project
    from labelwise.records import Answer


def ask(
    project: ProjectPlace,
    tty: Annotated[bool, typer.Option("--tty", help="Answer in the terminal, with single keys.")] = False,
    who: Who = None,
    n: Annotated[
        int | None,
        typer.Option("-n", help="Questions to print (default: 1), or with --tty answers after which to stop."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask the questions most worth asking; with --tty, label in the terminal.

    Without --tty the questions are printed with their leases. They are yours until you answer them with `labelwise
    tell`, or until their leases end. With --tty a worker trains while you label. Exit code 4: nothing to ask.

    **Examples**

    ```
    labelwise ask tickets.db --tty
    labelwise ask tickets.db -n 3 --json --who ann
    ```
    """
    with user_errors():
        at_least_one("-n", n)
    with opened(project) as found:
        from labelwise.cli._terminal import TerminalLabeller, next_lease
        from labelwise.labelling.figures.wording import counted

        if tty:
            if not sys.stdin.isatty():
                raise fail("--tty needs a terminal to read keys from; leave it out to print the question")
            with _worker_beside(found) as lives:
                labeller = TerminalLabeller(found, person(who), typer.getchar, Console(highlight=False), lives)
                typer.echo(f"{counted(labeller.work(n), 'answer')} saved")
            return
        from labelwise.labelling.leases import held_most

        with waiting("choosing questions"):
            leases = next_lease(found, person(who), n or 1)
        limit = held_most(len(leases))
        if limit is not None and (n or 1) > len(leases):
            typer.echo(limit, err=True)
    if as_json:
        typer.echo(json.dumps([_plain(lease) for lease in leases], indent=2, ensure_ascii=False))
    else:
        for lease in leases:
            _print(lease)


@contextmanager
def _worker_beside(project: Project) -> Iterator[Callable[[], bool]]:
    """A worker in a process of its own, unless one is running already; a function that tells whether it lives."""
    from labelwise.labelling.training.locks import worker_is_running
    from labelwise.labelling.training.worker_process import start_worker

    worker = None if worker_is_running(project.store) else start_worker(project.store)
    try:
        yield lambda: (worker is not None and worker.poll() is None) or worker_is_running(project.store)
    finally:
        if worker is not None:
            worker.terminate()
            worker.wait()


def _plain(lease: Lease) -> dict[str, Any]:
    return {
        "lease": lease.token,
        "item": lease.question.item,
        "labels": list(lease.question.labels),
        "reason": lease.question.reason,
        "content": lease.content,
        "beliefs": {name: round(p, 4) for name, p in lease.beliefs.items()},
        "expires_at": lease.expires_at,
    }


def _print(lease: Lease) -> None:
    from labelwise.cli._terminal import as_text

    typer.secho(f"item {lease.question.item}  (lease {lease.token}, {lease.question.reason})", bold=True)
    typer.echo(as_text(lease.content))
    typer.echo(f"labels: {' | '.join(lease.question.labels)}\n")


def tell(
    project: ProjectPlace,
    answers: Annotated[
        Path | None, typer.Argument(help="jsonl file of answers (item, values), or a table as export writes it.")
    ] = None,
    lease: Annotated[str | None, typer.Option(help="The lease that labelwise ask printed.")] = None,
    item: Annotated[str | None, typer.Option(help="An item to answer without a question.")] = None,
    yes: Annotated[list[str] | None, typer.Option(help="A label that is present. Repeatable.")] = None,
    no: Annotated[list[str] | None, typer.Option(help="A label that is absent. Repeatable.")] = None,
    unsure: Annotated[list[str] | None, typer.Option(help="A label that you cannot decide. Repeatable.")] = None,
    others_no: Annotated[bool, typer.Option("--others-no", help="All other labels are absent.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Give the leased question back.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Undo your last answer.")] = False,
    correct: Annotated[bool, typer.Option("--correct", help="Replace your earlier answer.")] = False,
    who: Who = None,
    as_json: AsJson = False,
) -> None:
    """Save answers: to a leased question, to an item, or a file of them.

    If the command ends with exit code 0, the answers are on disk. Exit code 5: the answer came too late, its label is
    retired, or the lease belongs to somebody else than --who. Without --who the answer is saved for the owner of the
    lease. An answer that the same person gave before, and that still counts, is not saved again: you may give a file
    twice.

    A table (.csv, .tsv, .xlsx, .parquet) that `labelwise export` wrote may be filled in and corrected in a spreadsheet.
    Cells that differ from the project become answers of --who, and no others.

    **Examples**

    ```
    labelwise tell tickets.db --lease 3f9c51c2ab04d7e8 --yes billing --others-no
    labelwise tell tickets.db --item 1042 --yes billing --unsure fraud
    labelwise tell tickets.db answers.jsonl --who ann
    labelwise tell tickets.db corrected.xlsx --who ann
    labelwise tell tickets.db --undo
    ```
    """
    with opened(project) as found:
        from labelwise.records.asking import Answer

        if sum([answers is not None, lease is not None, item is not None, undo]) != 1:
            raise ValueError("give one of: a file of answers, --lease, --item or --undo")
        name = person(who)
        values: dict[str, bool | None] = dict.fromkeys(found.label_names() if others_no else (), False)
        values |= _answers_by_label({"yes": yes or [], "no": no or [], "unsure": unsure or []})
        if undo:
            receipts = []
            typer.echo(f"taken back: {found.service.undo(name).question.item}")
        elif lease is not None:
            receipts = [found.service.skip(lease, who) if skip else found.service.answer(lease, values, who)]
        elif item is not None:
            answer = Answer(item, values, correction=correct)  # type: ignore[arg-type]  # a project takes None: unsure
            receipts = found.tell(answer, who=name)
        else:
            receipts = found.tell(_read_file(found, str(answers)), who=name)
    for receipt in receipts:
        for notice in receipt.notices:
            errors.print(notice)
    if as_json:
        typer.echo(json.dumps({"events": [receipt.event for receipt in receipts]}))
    elif receipts:
        repeated = sum(receipt.repeated for receipt in receipts)
        already = f"; there already: {repeated:,}" if repeated else ""
        typer.echo(f"saved: {len(receipts) - repeated:,}{already}")


def _read_file(project: Project, path: str) -> list[Answer]:
    from labelwise.data import read_answers  # not for `ask`, which starts faster without
    from labelwise.data.formats.rows import JSON_LINES, TABLES, file_suffix

    if file_suffix(path) in TABLES and file_suffix(path) not in JSON_LINES:
        from labelwise.labelling.exchange.transfer import table_answers

        return table_answers(project, path)
    return read_answers(path)


def _answers_by_label(by_word: dict[str, list[str]]) -> dict[str, bool | None]:
    """The answer for each label; two different answers for one are refused."""
    words: dict[str, str] = {}
    for word, labels in by_word.items():
        for label in labels:
            if words.setdefault(label, word) != word:
                raise ValueError(f"label {label!r} is given as {words[label]} and as {word}; give one of them")
    return {label: {"yes": True, "no": False, "unsure": None}[word] for label, word in words.items()}
