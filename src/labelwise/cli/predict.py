"""`labelwise predict`: label new items."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from labelwise.cli._common import (
    CSV,
    Delimiter,
    Encoding,
    ProjectPlace,
    RawCsv,
    at_least_one,
    csv_options,
    errors,
    opened,
    waiting,
)

if TYPE_CHECKING:
    from labelwise.records.opinions import Opinions


def predict(
    project: ProjectPlace,
    items: Annotated[
        str | None, typer.Argument(metavar="[NEW_ITEMS]", help="File of items. Default: the project's own items.")
    ] = None,
    out: Annotated[Path, typer.Option(help=".csv, .jsonl or .parquet.")] = Path("predictions.csv"),
    top: Annotated[int | None, typer.Option(help="Also write this number of most probable labels.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Labels above this probability. Default: the sets with the best expected F1.")
    ] = None,
    every_label: Annotated[
        bool, typer.Option("--every-label", help="Also predict labels without any yes so far.")
    ] = False,
    opinions: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="What the source NAME says of the new items (jsonl, json, csv, as for labelwise import). "
            "May be given several times.",
        ),
    ] = None,
    id: Annotated[str | None, typer.Option(help="Column of item ids. Default: the project's; '' numbers rows.")] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    raw_csv: RawCsv = False,
) -> None:
    """Write label sets and probabilities of new items.

    NEW_ITEMS is read in the same way as the project's own items. New answers are learnt first. If a worker is running,
    this is left to the worker, and the command says how many answers it has not learnt yet. Answered labels of the
    project's own items keep their answers.

    Labels without any yes so far are left out, and the command says so: no item is known that has them. --every-label
    includes them. Columns of numbers are matched by name, in any order.

    If the project has opinions of others, give what the same sources say of the new items by --opinions. Without, they
    are labelled by the rest of what was learnt, and the command says so.

    **Examples**

    ```
    labelwise predict tickets.db tomorrow.csv --out tomorrow-labelled.csv
    labelwise predict tickets.db --out all.parquet --top 3
    labelwise predict tickets.db tomorrow.csv --opinions gpt=tomorrow-gpt.jsonl
    ```
    """
    with opened(project, **CSV) as found:
        import numpy as np  # start-up

        from labelwise.data.predictions import prediction_columns, writing_predictions

        at_least_one("--top", top)
        with writing_predictions(out, raw_csv=raw_csv) as append:  # first: what cannot be written is told at once
            with waiting("learning and predicting"):
                predicted = found.predict(
                    items,
                    id=id,
                    threshold=threshold,
                    every_label=every_label,
                    opinions=[_read_opinions(each) for each in opinions or ()],
                    **csv_options(encoding, delimiter),
                )
            names = predicted.label_names
            there = np.array([name not in set(predicted.left_out) for name in names], dtype=bool)
            append(prediction_columns(predicted.ids, predicted.sets, predicted.probabilities, names, top or 0, there))
    from labelwise.labelling.figures.wording import counted, left_out, unlearnt

    if predicted.left_out:
        errors.print(left_out(predicted.left_out, len(predicted.label_names)))
    if predicted.unheard:
        errors.print(
            f"nothing is said of these items by {', '.join(predicted.unheard)}: labelled without; see --opinions"
        )
    if predicted.unlearnt:
        errors.print(f"{unlearnt(predicted.unlearnt)}; see labelwise status {project}")
    per_item = predicted.sets.sum() / max(len(predicted.ids), 1)
    typer.echo(f"{counted(len(predicted.ids), 'item')}, {per_item:.2f} labels each: {out}")


def _read_opinions(option: str) -> Opinions:
    name, has_file, file = option.partition("=")
    if not has_file or not file:
        raise typer.BadParameter(f"write NAME=FILE, such as gpt=gpt.jsonl, got {option!r}", param_hint="--opinions")
    from labelwise.data.opinions import read_opinions  # start-up

    return read_opinions(file, name)
