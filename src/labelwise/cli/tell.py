"""`labelwise tell`: save answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from labelwise.cli._common import errors
from labelwise.cli._projects import AsJson, ProjectPlace, Who, opened, person
from labelwise.data import read_answers
from labelwise.records.asking import Answer


def tell(
    project: ProjectPlace,
    answers: Annotated[Path | None, typer.Argument(help="jsonl file of answers: item, values.")] = None,
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

    **Examples**

    ```
    labelwise tell tickets.db --lease 3f9c51c2ab04d7e8 --yes billing --others-no
    labelwise tell tickets.db --item 1042 --yes billing --unsure fraud
    labelwise tell tickets.db answers.jsonl --who ann
    labelwise tell tickets.db --undo
    ```
    """
    with opened(project) as found:
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
            receipts = found.tell(read_answers(answers), who=name)  # type: ignore[arg-type]  # one of four was given
    for receipt in receipts:
        for notice in receipt.notices:
            errors.print(notice)
    if as_json:
        typer.echo(json.dumps({"events": [receipt.event for receipt in receipts]}))
    elif receipts:
        repeated = sum(receipt.repeated for receipt in receipts)
        already = f"; there already: {repeated:,}" if repeated else ""
        typer.echo(f"saved: {len(receipts) - repeated:,}{already}")


def _answers_by_label(by_word: dict[str, list[str]]) -> dict[str, bool | None]:
    """The answer for each label; two different answers for one are refused."""
    words: dict[str, str] = {}
    for word, labels in by_word.items():
        for label in labels:
            if words.setdefault(label, word) != word:
                raise ValueError(f"label {label!r} is given as {words[label]} and as {word}; give one of them")
    return {label: {"yes": True, "no": False, "unsure": None}[word] for label, word in words.items()}
