"""`labelwise predict`: label new items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from labelwise.cli._common import at_least_one, errors
from labelwise.cli._projects import CSV, Delimiter, Encoding, ProjectPlace, RawCsv, csv_options, opened
from labelwise.data.predictions import prediction_columns, writing_predictions


def predict(
    project: ProjectPlace,
    items: Annotated[
        str | None, typer.Argument(metavar="[NEW_ITEMS]", help="Default: the project's own items.")
    ] = None,
    out: Annotated[Path, typer.Option(help=".csv, .jsonl or .parquet.")] = Path("predictions.csv"),
    top: Annotated[int | None, typer.Option(help="Write so many most probable labels as well.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Labels above this probability. Default: the sets with the best expected F1.")
    ] = None,
    every_label: Annotated[
        bool, typer.Option("--every-label", help="Predict labels that nobody has said yes to as well.")
    ] = False,
    id: Annotated[str | None, typer.Option(help="Column of item ids.")] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    raw_csv: RawCsv = False,
) -> None:
    """Write label sets and probabilities of new items.

    NEW_ITEMS is read as the project's own items were. Answers that no training has had are learnt first; while a worker
    is running that is left to it, and you are told how many it has not come to. For the project's own items, what was
    answered stands.

    Labels that nobody has said yes to so far are left out, and you are told: a model knows no item that has them.
    --every-label takes them in. Columns of numbers go by their names, in any order.

    **Examples**

    ```
    labelwise predict tickets.db tomorrow.csv --out tomorrow-labelled.csv
    labelwise predict tickets.db --out all.parquet --top 3
    ```
    """
    with opened(project, **CSV) as found:
        at_least_one("--top", top)
        with writing_predictions(out, raw_csv=raw_csv) as append:  # first: what cannot be written is told at once
            options = csv_options(encoding, delimiter)
            predicted = found.predict(items, id=id, threshold=threshold, every_label=every_label, **options)
            names = predicted.label_names
            there = np.array([name not in set(predicted.left_out) for name in names], dtype=bool)
            append(prediction_columns(predicted.ids, predicted.sets, predicted.probabilities, names, top or 0, there))
    from labelwise.labelling.figures.wording import counted, left_out, unlearnt

    if predicted.left_out:
        errors.print(left_out(predicted.left_out, len(predicted.label_names)))
    if predicted.unlearnt:
        errors.print(f"{unlearnt(predicted.unlearnt)}; see labelwise status {project}")
    per_item = predicted.sets.sum() / max(len(predicted.ids), 1)
    typer.echo(f"{counted(len(predicted.ids), 'item')}, {per_item:.2f} labels each: {out}")
