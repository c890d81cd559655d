"""`labelwise export` and `labelwise import`: what is known, what people did, and the model, to files and back."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from labelwise.cli._common import (
    CSV,
    Delimiter,
    Encoding,
    LabelSeparator,
    ProjectPlace,
    RawCsv,
    csv_options,
    opened,
    print_notice,
    waiting,
)

if TYPE_CHECKING:
    from labelwise.labelling import Project
    from labelwise.labelling.exchange.transfer import Imported


def export(
    project: ProjectPlace,
    out: Annotated[
        str, typer.Argument(help=".csv, .xlsx, .jsonl, .parquet; .json for Label Studio; .skops with --model.")
    ],
    answers: Annotated[
        bool, typer.Option("--answers", help="Every answer with who, when and why (csv, jsonl).")
    ] = False,
    notes: Annotated[
        bool, typer.Option("--notes", help="Every note on an item, with its answer (csv, jsonl).")
    ] = False,
    model: Annotated[bool, typer.Option("--model", help="The model, trained on everything (skops).")] = False,
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Label Studio: add the model's predictions.")
    ] = False,
    raw_csv: RawCsv = False,
) -> None:
    """Write the known labels of the items, every answer, notes, Label Studio tasks, or the model.

    A table has one column per label: 1, 0, and blank for unknown. A model file is loaded by
    `labelwise.labelling.TrainedLabeller.load`, which runs no code from the file.

    In csv, text that a spreadsheet would run as a formula gets an apostrophe in front. labelwise removes it when it
    reads the file.

    **Examples**

    ```
    labelwise export tickets.db labelled.csv
    labelwise export tickets.db answers.jsonl --answers
    labelwise export tickets.db tasks.json --predictions
    labelwise export tickets.db tickets.skops --model
    ```
    """
    with opened(project) as found:
        from labelwise.labelling.exchange.transfer import export_answers, export_labels, export_notes, export_tasks
        from labelwise.labelling.figures.wording import counted

        with waiting(f"writing {out}"):
            if model:
                if not out.endswith(".skops"):
                    raise ValueError(f"a model is written to a .skops file, got {out!r}")
                found.model().save(out)
                told = "the model"
            elif answers:
                told = counted(export_answers(found, out, raw_csv=raw_csv), "event")
            elif notes:
                told = counted(export_notes(found, out, raw_csv=raw_csv), "note")
            elif out.endswith(".json"):
                told = counted(export_tasks(found, out, predictions=predictions), "task")
            else:
                told = counted(export_labels(found, out, raw_csv=raw_csv), "item")
    typer.echo(f"{told}: {out}")


def import_(
    project: ProjectPlace,
    file: Annotated[str | None, typer.Argument(help="Answers (--answers), Label Studio .json, or more items.")] = None,
    answers: Annotated[bool, typer.Option("--answers", help="The file was written by export --answers.")] = False,
    opinions: Annotated[
        str | None,
        typer.Option(
            help="The file has opinions of a source of this name: label sets or scores by item (jsonl, json, csv)."
        ),
    ] = None,
    known: Annotated[str | None, typer.Option(help="Items: column of known labels, or 0/1 columns by comma.")] = None,
    id: Annotated[str | None, typer.Option(help="Items: column of ids. Default: the project's.")] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    label_separator: LabelSeparator = None,
    from_label_studio: Annotated[
        str | None, typer.Option(help="Address of a running Label Studio; its token is in LABEL_STUDIO_TOKEN.")
    ] = None,
    studio_project: Annotated[
        int | None, typer.Option("--project", help="Number of the project in Label Studio.")
    ] = None,
    reconcile: Annotated[
        bool, typer.Option("--reconcile", help="Label Studio: take back answers whose annotations were deleted there.")
    ] = False,
) -> None:
    """Import answers given elsewhere, Label Studio tasks, more items, or opinions about the items.

    A file is imported completely, or not at all if something in it is wrong. Answers and items that are there already
    are skipped and counted: you may import a file twice.

    Opinions are what a language model, an older classifier, rules or a spreadsheet say of the items. They are shown as
    suggestions, weighed by the answers, judged by the random share, and never taken as answers. Opinions of the same
    name are replaced.

    **Examples**

    ```
    labelwise import tickets.db answers.jsonl --answers
    labelwise import tickets.db label-studio-export.json
    labelwise import tickets.db --from-label-studio http://localhost:8080 --project 1
    labelwise import tickets.db more-tickets.csv --known tags
    labelwise import tickets.db gpt.jsonl --opinions gpt
    ```
    """
    with opened(project, labels="--known", label_names="the labels of the project", **CSV) as found:
        from labelwise.data import read_opinions
        from labelwise.labelling.exchange.transfer import import_answers, import_items, import_tasks
        from labelwise.labelling.figures.wording import counted

        if from_label_studio is not None:
            told = _import_live(found, file, from_label_studio, studio_project, reconcile)
        elif file is None:
            raise ValueError("give a file, or --from-label-studio with the address of a Label Studio")
        elif opinions is not None:
            if answers or reconcile:
                raise ValueError("--opinions goes with neither --answers nor --reconcile")
            told = f"opinions of {opinions} on {counted(found.add_opinions(read_opinions(file, opinions)), 'item')}"
        elif reconcile and (answers or not file.endswith(".json")):
            raise ValueError(f"--reconcile is for Label Studio, got {file!r}")
        elif answers:
            new, repeated = import_answers(found, file)
            told = f"{counted(new, 'new event')}{_already(repeated)}"
        elif file.endswith(".json"):
            told = _imported_in_words(import_tasks(found, file, reconcile=reconcile))
        else:
            csv = csv_options(encoding, delimiter, label_separator)
            new, repeated = import_items(found, file, known=known, id=id, notice=print_notice, **csv)
            told = f"{counted(new, 'new item')}{_already(repeated)}"
    typer.echo(told)


def _import_live(project: Project, file: str | None, address: str, number: int | None, reconcile: bool) -> str:
    from labelwise.labelling.exchange.label_studio_api import (  # needs the extras that were looked for
        TOKEN,
        LabelStudio,
    )
    from labelwise.labelling.exchange.transfer import import_live

    if file is not None:
        raise ValueError(f"give a file or --from-label-studio, not both, got {file!r}")
    if number is None:
        raise ValueError("which project of Label Studio? Give --project and the number in its address")
    studio = LabelStudio(address, os.environ.get(TOKEN, ""))
    return _imported_in_words(import_live(project, studio, number, reconcile=reconcile))


def _imported_in_words(done: Imported) -> str:
    """What was new, and a line for everything that is not here afterwards."""
    from labelwise.labelling.figures.wording import counted

    lines = [f"{counted(done.items, 'new item')}, {counted(done.events, 'new event')}"]
    if done.repeated:
        lines[0] += f", {done.repeated} known already"
    if done.labels:
        lines.append(f"{counted(len(done.labels), 'new label')}: {', '.join(done.labels)}")
    lines += [f"refused {counted(number, 'annotation')}: {why}" for why, number in done.refused.items()]
    if done.unknown_labels:
        lines.append(f"no labels here: {', '.join(sorted(done.unknown_labels))}; labelwise labels add makes one")
    if done.taken_back:
        lines.append(f"took back {counted(done.taken_back, 'answer')}: the annotations are gone in Label Studio")
    elif done.missing:
        lines.append(
            f"{counted(done.missing, 'annotation')} known from there not found now: --reconcile takes them back"
        )
    return "\n".join(lines)


def _already(repeated: int) -> str:
    return f"; {repeated:,} were there already" if repeated else ""
