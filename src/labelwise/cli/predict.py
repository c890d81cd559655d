"""`labelwise predict`: label new items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from labelwise.cli._common import at_least_one, errors
from labelwise.cli._projects import CSV, Delimiter, Encoding, ProjectPlace, csv_options, opened
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
    id: Annotated[str | None, typer.Option(help="Column of item ids.")] = None,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
) -> None:
    """Write label sets and probabilities of new items.

    NEW_ITEMS is read as the project's own items were. Answers that no training has had are learnt first; while a worker
    is running that is left to it, and you are told how many it has not come to. For the project's own items, what was
    answered stands.

    **Examples**

    ```
    labelwise predict tickets.db tomorrow.csv --out tomorrow-labelled.csv
    labelwise predict tickets.db --out all.parquet --top 3
    ```
    """
    with opened(project, **CSV) as found:
        at_least_one("--top", top)
        with writing_predictions(out) as append:  # first: that it cannot be written is told before anything is trained
            predicted = found.predict(items, id=id, threshold=threshold, **csv_options(encoding, delimiter))
            append(
                prediction_columns(
                    predicted.ids, predicted.sets, predicted.probabilities, predicted.label_names, top or 0
                )
            )
    from labelwise.labelling.wording import counted, unlearnt

    if predicted.unlearnt:
        errors.print(f"{unlearnt(predicted.unlearnt)}; see labelwise status {project}")
    per_item = predicted.sets.sum() / max(len(predicted.ids), 1)
    typer.echo(f"{counted(len(predicted.ids), 'item')}, {per_item:.2f} labels each: {out}")
