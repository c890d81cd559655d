"""`labelwise stream`: learn a file larger than memory in one pass, and predict another."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from labelwise.cli._common import at_least_one, errors, listed, stoppable, user_errors
from labelwise.files import write_bytes

if TYPE_CHECKING:
    from labelwise.streams.train import StreamProgress, Training

stream = typer.Typer(
    no_args_is_help=True,
    help="""Train on streams larger than memory, and predict them.

**Examples**

```
labelwise stream train news.libsvm --model news.npz
labelwise stream predict new.libsvm --model news.npz --out new.jsonl
```
""",
)

# as in streams.judge: a test compares them
RULE_NAMES = "class_mass, expected_f1, expected_f1_per_item, threshold, top_labels"
RULES = f"{RULE_NAMES}; threshold:0.3 and top_labels:5 set their number"

File = Annotated[Path, typer.Argument(metavar="FILE", help="XMC or libsvm text, jsonl (also .gz, .bz2), or parquet.")]
READING = {"format": "--format", "features": "--features", "label_names": "--label-names"}  # for `user_errors`
Format = Annotated[str | None, typer.Option(help="xmc, jsonl or parquet, if the suffix does not show it.")]
Labels = Annotated[str | None, typer.Option(help="Label column, or 0/1 columns by comma. Default: labels.")]
Text = Annotated[str | None, typer.Option(help="Column of text to hash.")]
Features = Annotated[str | None, typer.Option(help="Feature columns by comma. Default: all that hold numbers.")]
Id = Annotated[str | None, typer.Option(help="Column of ids. Default: id, or row numbers.")]
LabelNames = Annotated[Path | None, typer.Option(help="File with one label per line: the only labels.")]
OneBased = Annotated[bool, typer.Option("--one-based", help="libsvm: features are counted from 1.")]
OneBasedLabels = Annotated[bool, typer.Option("--one-based-labels", help="libsvm: labels are counted from 1.")]
Batch = Annotated[int, typer.Option(help="Rows in memory at a time.")]
Limit = Annotated[int | None, typer.Option(help="Stop after this number of rows.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


@stream.command()
def train(
    file: File,
    model: Annotated[Path, typer.Option(help="File of the model. It is created, or continued if it exists.")],
    test: Annotated[Path | None, typer.Option(help="Labelled file to score the model on at the end.")] = None,
    coupled: Annotated[
        bool | None, typer.Option("--coupled/--independent", help="One bias for all labels, or one each.")
    ] = None,
    half_life: Annotated[
        float | None,
        typer.Option("--half-life", "--forgetting", help="Rows after which half of what was learnt is forgotten."),
    ] = None,
    score_noise: Annotated[
        float | None, typer.Option("--score-noise", "--noise", help="Standard deviation of the noise on scores.")
    ] = None,
    hash_features: Annotated[int | None, typer.Option(help="Fold the features into this number of columns.")] = None,
    block_size: Annotated[int | None, typer.Option(help="Labels that share a bias; blocks run on threads.")] = None,
    decision: Annotated[str, typer.Option(help=f"Rule for the sets that are judged, or none: {RULES}.")] = "class_mass",
    batch: Batch = 1000,
    window: Annotated[int, typer.Option(help="Rows judged together.")] = 5000,
    checkpoint_every: Annotated[int, typer.Option(help="Rows after which the model is saved.")] = 100_000,
    limit: Limit = None,
    threads: Annotated[int | None, typer.Option(help="Threads over blocks of labels. The result is the same.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start again, even if the model exists.")] = False,
    format: Format = None,
    labels: Labels = None,
    text: Text = None,
    features: Features = None,
    id: Id = None,
    label_names: LabelNames = None,
    one_based: OneBased = False,
    one_based_labels: OneBasedLabels = False,
    as_json: AsJson = False,
) -> None:
    """Learn a file in one pass: predict each batch, judge the predictions, learn it.

    Memory holds a batch, and 8 bytes per label and feature. If it is stopped or killed, the same command continues
    after the last checkpoint and ends with exactly the model of a run without a stop. If the file has grown, it learns
    the new rows. Another file is learnt on top of what the model knows. The learning curve is saved with the model, as
    .csv and as a picture.

    **Examples**

    ```
    labelwise stream train news.libsvm.gz --model news.npz --one-based
    labelwise stream train tickets.jsonl --text body --labels tags --model tickets.npz --half-life 20000
    labelwise stream train clicks.parquet --model clicks.npz --independent --threads 4 --test held-out.parquet
    ```
    """
    from labelwise.streams.predict import score_stream  # seconds of start-up
    from labelwise.streams.train import StreamPlan, train_stream

    reading = _given(format=format, labels=_names(labels), text=text, features=features and listed(features), id=id)
    reading |= _given(label_names=label_names, one_based=one_based or None, one_based_labels=one_based_labels or None)
    coupling = None if coupled is None else ("global" if coupled else "independent")
    settings = _given(coupling=coupling, half_life=half_life, score_noise=score_noise, hash_features=hash_features)
    settings |= _given(block_size=block_size, n_jobs=threads)
    with user_errors(**READING):
        plan = StreamPlan(batch, window, checkpoint_every, None if decision == "none" else decision, limit)
        if test is not None:
            test.stat()  # a missing test file is reported before the training, not after it
        target = _model_file(model)
        target.parent.mkdir(parents=True, exist_ok=True)
        with stoppable(lambda: _how_to_go_on(target)):
            with _progress(file.name) as update:
                on_batch = partial(_show, update)
                done = train_stream(
                    file, target, settings=settings, reading=reading, plan=plan, fresh=fresh, on_batch=on_batch
                )
            scores = {"progressive": done.measures}
            if test is not None:
                with _progress(test.name) as update:
                    scored = score_stream(test, target, decision=plan.decision or "class_mass", on_batch=update)
                scores["test"] = scored.measures()
    files = _save_curve(done, target)
    facts = {"model": str(target), "rows": done.rows, "new_rows": done.new_rows, "labels": len(done.label_names)}
    if as_json:
        typer.echo(json.dumps({**facts, **{name: _plain(one) for name, one in scores.items()}, **files}, indent=2))
        return
    if done.new_rows == 0:
        errors.print(f"nothing new: all rows of {file} were learnt before")
    typer.echo(f"{done.new_rows:,} rows learnt, {done.rows:,} in all; {len(done.label_names):,} labels")
    if done.new_rows and not len(done.curve) and plan.decision is not None:
        errors.print(f"no row was judged: the first batch is learnt unjudged; --batch below {batch:,} makes it smaller")
    _print_scores(scores)
    for what, path in {"Model": str(target), **{name.capitalize(): path for name, path in files.items()}}.items():
        typer.echo(f"{what}: {path}")


@stream.command()
def predict(
    file: File,
    model: Annotated[Path, typer.Option(help="A model made by labelwise stream train, or saved by OnlineBayes.")],
    out: Annotated[Path, typer.Option(help="File for the predictions: .jsonl, .csv (also .gz, .bz2) or .parquet.")],
    decision: Annotated[str, typer.Option(help=f"Rule for the label sets: {RULES}.")] = "class_mass",
    top: Annotated[int, typer.Option(help="Also write this number of most probable labels of each row.")] = 0,
    batch: Batch = 1000,
    limit: Limit = None,
    format: Format = None,
    text: Text = None,
    features: Features = None,
    id: Id = None,
    one_based: OneBased = False,
    as_json: AsJson = False,
) -> None:
    """Write the label sets of a file, with the probabilities of their labels.

    Unless you give other options, the file is read like the training file; labels in it are ignored. class_mass and
    expected_f1 need all rows before they decide, so they read the file twice.

    **Examples**

    ```
    labelwise stream predict new.libsvm --model news.npz --out new.jsonl
    labelwise stream predict new.jsonl.gz --model tickets.npz --out new.csv --decision threshold:0.3 --top 5
    ```
    """
    from labelwise.streams.predict import predict_stream  # seconds of start-up

    reading = _given(format=format, text=text, features=features and listed(features), id=id, limit=limit)
    reading |= _given(one_based=one_based or None, batch=batch)
    with user_errors(**READING):
        at_least_one("--batch", batch)
        at_least_one("--limit", limit)
        source = _model_file(model)
        with stoppable(lambda: "stopped; nothing was written"), _progress(file.name) as update:
            done = predict_stream(file, source, out, decision=decision, top=top, reading=reading, on_batch=update)
    per_row = done.labels_given / max(done.rows, 1)
    if as_json:
        facts = {"out": str(out), "rows": done.rows, "labels_given": done.labels_given}
        typer.echo(json.dumps({**facts, "believed_macro_f1": done.believed_macro_f1}, indent=2))
    else:
        typer.echo(f"{done.rows:,} rows, {per_row:.2f} labels each: {out}")


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _names(text: str | None) -> str | list[str] | None:
    """One column by name, or several by comma."""
    names = [] if text is None else listed(text)
    return names if len(names) > 1 else text


def _model_file(model: Path) -> Path:
    return model / "model.npz" if model.is_dir() else model


def _how_to_go_on(target: Path) -> str:
    if not target.exists():
        return (
            "stopped before the first checkpoint: nothing was saved; --checkpoint-every with fewer rows saves earlier"
        )
    return f"stopped; {target} holds the last checkpoint: give the same command again to continue"


@contextmanager
def _progress(what: str) -> Iterator[Callable[..., None]]:
    """A bar on stderr, to be called with rows, the share of the file (None where unknown), and more to say."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[text]}"))
    with Progress(*columns, TimeElapsedColumn(), console=errors) as bar:
        task = bar.add_task(what, total=None, text="")
        began: tuple[int, float] | None = None  # rows and time at the first call with rows: before it is loading

        def update(rows: int, share: float | None, more: str = "") -> None:
            nonlocal began
            if began is None or began[0] == 0:
                began = rows, perf_counter()
            seconds = perf_counter() - began[1]
            speed = f" · {(rows - began[0]) / seconds:,.0f} rows/s" if rows > began[0] else ""
            total = None if share is None else 1.0
            bar.update(task, total=total, completed=share or 0.0, text=f"{rows:,} rows{speed}{more}")

        yield update


def _show(update: Callable[..., None], progress: StreamProgress) -> None:
    more = ""
    if progress.window is not None:
        measures = progress.window.score.measures()
        more = f" · micro-F1 {measures['micro_f1']:.3f}, macro-F1 {measures['macro_f1']:.3f}"
    update(progress.rows, progress.fraction, more)


def _save_curve(done: Training, target: Path) -> dict[str, str]:
    """The curve beside the model, and its picture."""
    if len(done.curve) == 0:
        return {}
    table = target.with_suffix(".curve.csv")
    done.curve.write_csv(table)
    from labelwise.studies.figures import draw_progress  # matplotlib takes a second to load
    from labelwise.views.plots import as_png

    picture = target.with_suffix(".curve.png")
    write_bytes(picture, as_png(draw_progress(done.curve)))
    return {"curve": str(table), "picture": str(picture)}


def _print_scores(scores: dict[str, dict[str, float]]) -> None:
    from labelwise.studies.findings import in_words  # start-up

    console = Console(highlight=False)
    grid = Grid(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("")
    for metric in next(iter(scores.values())):
        grid.add_column(in_words(metric), justify="right", no_wrap=True)
    for name, measures in scores.items():
        grid.add_row(name, *("" if math.isnan(value) else f"{value:.3f}" for value in measures.values()))
    console.print(grid)


def _plain(measures: dict[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in measures.items()}
