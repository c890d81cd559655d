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
    starting,
    user_errors,
    waiting,
)

if TYPE_CHECKING:
    from labelwise.labelling import Project
    from labelwise.labelling.exchange.label_studio_api import LabelStudio

StudioProject = Annotated[int | None, typer.Option("--project", help="Number of the project in Label Studio.")]


def export(
    project: ProjectPlace,
    out: Annotated[
        str | None,
        typer.Argument(help=".csv, .xlsx, .jsonl, .parquet; .json, .xml for Label Studio; .skops with --model."),
    ] = None,
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
    to_label_studio: Annotated[
        str | None,
        typer.Option(help="Address of a running Label Studio to give predictions to; its token: LABEL_STUDIO_TOKEN."),
    ] = None,
    studio_project: StudioProject = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Label Studio: go on, and give it the predictions of each new training.")
    ] = False,
) -> None:
    """Write the known labels of the items, every answer, notes, Label Studio tasks, or the model.

    A table has one column per label: 1, 0, and blank for unknown. A model file is loaded by
    `labelwise.labelling.TrainedLabeller.load`, which runs no code from the file.

    In csv, text that a spreadsheet would run as a formula gets an apostrophe in front. labelwise removes it when it
    reads the file.

    A .json file has tasks for Label Studio, and an .xml file the labelling interface that fits them.

    --to-label-studio writes no file: a project of a running Label Studio gets the predictions of all its tasks and
    shows them, and its uncertainty sampling asks our next questions first.

    **Examples**

    ```
    labelwise export tickets.db labelled.csv
    labelwise export tickets.db answers.jsonl --answers
    labelwise export tickets.db tasks.json --predictions
    labelwise export tickets.db interface.xml
    labelwise export tickets.db --to-label-studio http://localhost:8080 --project 1 --follow
    labelwise export tickets.db tickets.skops --model
    ```
    """
    with opened(project) as found:
        from labelwise.labelling.exchange.label_studio_transfer import export_interface, export_tasks
        from labelwise.labelling.exchange.transfer import export_answers, export_labels, export_notes
        from labelwise.labelling.figures.wording import counted

        if to_label_studio is not None:
            _send_predictions(found, out, _studio(to_label_studio, studio_project), follow)
            return
        if out is None or follow:
            raise ValueError("give a file to write, or --to-label-studio with the address of a Label Studio")
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
            elif out.endswith(".xml"):
                told = f"labelling interface of {counted(export_interface(found, out), 'label')}"
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
    studio_project: StudioProject = None,
    reconcile: Annotated[
        bool, typer.Option("--reconcile", help="Label Studio: take back answers whose annotations were deleted there.")
    ] = False,
) -> None:
    """Import answers given elsewhere, Label Studio tasks, more items, or opinions about the items.

    A file is imported completely, or not at all if something in it is wrong. Answers and items that are there already
    are skipped and counted: you may import a file twice. Where there is no project yet, a Label Studio file makes one
    with the usual settings; labelwise new --items has options.

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
    is_tasks = file is not None and file.endswith(".json") and opinions is None and not answers
    if file is not None and is_tasks and from_label_studio is None and not reconcile and _made_of(project, file):
        return
    with opened(project, labels="--known", label_names="the labels of the project", **CSV) as found:
        from labelwise.data import read_opinions
        from labelwise.labelling.exchange.label_studio_transfer import import_tasks
        from labelwise.labelling.exchange.transfer import import_answers, import_items
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
            told = import_tasks(found, file, reconcile=reconcile).in_words()
        else:
            csv = csv_options(encoding, delimiter, label_separator)
            new, repeated = import_items(found, file, known=known, id=id, notice=print_notice, **csv)
            told = f"{counted(new, 'new item')}{_already(repeated)}"
    typer.echo(told)


def _import_live(project: Project, file: str | None, address: str, number: int | None, reconcile: bool) -> str:
    from labelwise.labelling.exchange.label_studio_transfer import import_live  # start-up

    if file is not None:
        raise ValueError(f"give a file or --from-label-studio, not both, got {file!r}")
    studio, there = _studio(address, number)
    return import_live(project, studio, there, reconcile=reconcile).in_words()


def _studio(address: str, number: int | None) -> tuple[LabelStudio, int]:
    """A running Label Studio and the number of a project there."""
    from labelwise.labelling.exchange.label_studio_api import (  # needs the extras that were looked for
        TOKEN,
        LabelStudio,
    )

    if number is None:
        raise ValueError("which project of Label Studio? Give --project and the number in its address")
    return LabelStudio(address, os.environ.get(TOKEN, "")), number


def _send_predictions(project: Project, out: str | None, there: tuple[LabelStudio, int], follow: bool) -> None:
    from labelwise.labelling.exchange.label_studio_transfer import follow_trainings, send_predictions  # start-up
    from labelwise.labelling.figures.wording import counted

    if out is not None:
        raise ValueError(f"give a file or --to-label-studio, not both, got {out!r}")
    if follow:
        follow_trainings(project, *there, told=typer.echo)
    with waiting("learning, predicting and sending"):
        version, sent = send_predictions(project, *there)
    typer.echo(f"{counted(sent, 'prediction')} of {version}")


def _made_of(location: str, file: str) -> bool:
    """Make a project of a Label Studio file where there is none yet; whether that was so."""
    with starting():
        from labelwise.labelling import Project
        from labelwise.labelling.errors import NoProject
        from labelwise.labelling.exchange.label_studio_transfer import TaskPool

    with user_errors(text="labelwise new --items ... --text", labels="labelwise new --items ... --labels"):
        try:
            Project(location).close()
        except NoProject:
            pool = TaskPool.read(file)
            with Project.create(location, pool.data, text=pool.text) as made, waiting("preparing the first questions"):
                imported = pool.take_answers(made)
                made.prepare()
                typer.echo(f"{made.store.shown}: a new project\n{imported.in_words()}")
            return True
    return False


def _already(repeated: int) -> str:
    return f"; {repeated:,} were there already" if repeated else ""
