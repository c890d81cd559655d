"""`labelwise export` and `labelwise import`: what is known, what people did, and the model, to files and back."""

from __future__ import annotations

from typing import Annotated

import typer

from labelwise.cli._projects import CSV, Delimiter, Encoding, ProjectPlace, csv_options, opened


def export(
    project: ProjectPlace,
    out: Annotated[str, typer.Argument(help=".csv, .jsonl, .parquet; .json for Label Studio; .skops with --model.")],
    answers: Annotated[
        bool, typer.Option("--answers", help="Every answer with who, when and why (csv, jsonl).")
    ] = False,
    model: Annotated[bool, typer.Option("--model", help="The model, trained on everything (skops).")] = False,
    predictions: Annotated[bool, typer.Option("--predictions", help="Label Studio: add the model's.")] = False,
) -> None:
    """Write what is known of the items, every answer, Label Studio tasks, or the model.

    A table has one column per label: 1, 0, and blank for unknown. A model file is loaded by
    `labelwise.labelling.TrainedLabeller.load`, which runs no code from the file.

    **Examples**

    ```
    labelwise export tickets.db labelled.csv
    labelwise export tickets.db answers.jsonl --answers
    labelwise export tickets.db tasks.json --predictions
    labelwise export tickets.db tickets.skops --model
    ```
    """
    with opened(project) as found:
        from labelwise.labelling.transfer import export_answers, export_labels, export_tasks
        from labelwise.labelling.wording import counted

        if model:
            if not out.endswith(".skops"):
                raise ValueError(f"a model is written to a .skops file, got {out!r}")
            found.model(everything=True).save(out)
            told = "the model"
        elif answers:
            told = counted(export_answers(found, out), "event")
        elif out.endswith(".json"):
            told = counted(export_tasks(found, out, predictions=predictions), "task")
        else:
            told = counted(export_labels(found, out), "item")
    typer.echo(f"{told}: {out}")


def import_(
    project: ProjectPlace,
    file: Annotated[str, typer.Argument(help="Answers (--answers), Label Studio .json, or more items.")],
    answers: Annotated[bool, typer.Option("--answers", help="The file was written by export --answers.")] = False,
    known: Annotated[str | None, typer.Option(help="Items: column of known labels, or 0/1 columns by comma.")] = None,
    id: Annotated[str | None, typer.Option(help="Items: column of ids.")] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Take in answers given elsewhere, Label Studio tasks, or more items.

    All of a file is taken in, or nothing where something in it is wrong. Answers that are here already are passed over.

    **Examples**

    ```
    labelwise import tickets.db answers.jsonl --answers
    labelwise import tickets.db label-studio-export.json
    labelwise import tickets.db more-tickets.csv --known tags
    ```
    """
    with opened(project, labels="--known", **CSV) as found:
        from labelwise.labelling.transfer import import_answers, import_items, import_tasks
        from labelwise.labelling.wording import counted

        if answers:
            told = counted(import_answers(found, file), "new event")
        elif file.endswith(".json"):
            items, events = import_tasks(found, file)
            told = f"{counted(items, 'new item')}, {counted(events, 'new event')}"
        else:
            added = import_items(found, file, known=known, id=id, **csv_options(encoding, delimiter))
            told = counted(added, "new item")
    typer.echo(told)
