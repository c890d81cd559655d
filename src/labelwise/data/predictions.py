"""Predictions of a stream to a file, batch by batch: which labels an item gets, and how probable they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from labelwise.data.errors import FormatError, Problem
from labelwise.data.formats.cells import escape_formula
from labelwise.data.formats.csv import comma_lines
from labelwise.data.formats.parquet import pyarrow
from labelwise.data.formats.table.labels import join_tags
from labelwise.files import AnyPath, split_name, writing
from labelwise.records.labels import SEPARATOR

DIGITS = 6  # of a probability, after the point

Columns = dict[str, list[Any]]


@contextmanager
def writing_predictions(path: AnyPath, *, raw_csv: bool = False) -> Iterator[Callable[[Columns], None]]:
    """A function that appends `prediction_columns` to a .jsonl, .csv (both also .gz, .bz2) or .parquet file.

    The file takes its name only once it is complete. In csv, text that a spreadsheet would run as a formula gets an
    apostrophe in front, unless `raw_csv`.
    """
    as_csv = partial(_csv, escape=str if raw_csv else escape_formula)
    makers: dict[str, Callable[[IO[bytes], AnyPath], Writer]]
    makers = {".jsonl": _jsonl, ".ndjson": _jsonl, ".csv": as_csv, ".parquet": _parquet}
    _, suffix, compression = split_name(path)
    if suffix not in makers or (suffix == ".parquet" and compression):
        raise ValueError(f"predictions are written to .jsonl, .csv or .parquet files, got {str(path)!r}")
    with writing(path) as file:
        append, finish = makers[suffix](file, path)
        try:
            yield append
        finally:
            finish()


def prediction_columns(
    ids: Sequence[str],
    sets: npt.NDArray[np.bool_],
    probabilities: npt.NDArray[np.floating[Any]],
    label_names: Sequence[str],
    top: int = 0,
    predicted: npt.NDArray[np.bool_] | None = None,
) -> Columns:
    """The columns of a file of predictions: id, labels, probabilities, the most probable label first.

    With `top`, also the `top` most probable labels of each item, whether it gets them or not; only those among the
    labels that are `predicted` (q,) at all.

    Examples
    --------
    >>> p = np.array([[0.2, 0.9, 0.6]])
    >>> prediction_columns(["a"], p > 0.5, p, ["x", "y", "z"], top=1)
    {'id': ['a'], 'labels': [['y', 'z']], 'probabilities': [[0.9, 0.6]],
     'top_labels': [['y']], 'top_probabilities': [[0.9]]}
    """
    rows, labels = np.nonzero(sets)
    order = np.lexsort((-probabilities[rows, labels], rows))
    rows, labels = rows[order], labels[order]
    columns: Columns = {"id": list(ids)}
    columns |= _lists("", np.bincount(rows, minlength=len(ids)), rows, labels, probabilities, label_names)
    if top > 0:
        there = np.ones(len(label_names), dtype=bool) if predicted is None else predicted
        order = np.argsort(-np.where(there, probabilities, -1.0), axis=1, kind="stable")
        best = order[:, : min(top, int(there.sum()))]  # (n, top)
        rows = np.repeat(np.arange(len(ids)), best.shape[1])
        counts = np.full(len(ids), best.shape[1])
        columns |= _lists("top_", counts, rows, best.ravel(), probabilities, label_names)
    return columns


def _lists(prefix: str, counts: Any, rows: Any, labels: Any, probabilities: Any, label_names: Sequence[str]) -> Columns:
    names = [label_names[label] for label in labels.tolist()]
    values = np.round(probabilities[rows, labels].astype(np.float64), DIGITS).tolist()
    parts = list(pairwise(np.concatenate([[0], np.cumsum(counts)]).tolist()))
    return {
        f"{prefix}labels": [names[start:stop] for start, stop in parts],
        f"{prefix}probabilities": [values[start:stop] for start, stop in parts],
    }


Writer = tuple[Callable[[Columns], None], Callable[[], None]]  # append columns; finish


def _jsonl(file: IO[bytes], path: AnyPath) -> Writer:
    def append(columns: Columns) -> None:
        lines = [
            json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)
            for row in zip(*columns.values(), strict=True)
        ]
        file.write("".join(f"{line}\n" for line in lines).encode())

    return append, lambda: None


def _csv(file: IO[bytes], path: AnyPath, escape: Callable[[str], str]) -> Writer:
    begun = False

    def append(columns: Columns) -> None:
        nonlocal begun
        cells = [[escape(_cell(name, value, path)) for value in column] for name, column in columns.items()]
        rows = zip(*cells, strict=True)
        file.write(comma_lines(rows if begun else [tuple(columns), *rows]).encode())
        begun = True

    return append, lambda: None


def _cell(name: str, value: Any, path: AnyPath) -> str:
    if name.endswith("labels"):
        try:
            return join_tags(value, SEPARATOR)
        except Problem as problem:
            raise FormatError(f"{problem}; or write .jsonl", path) from None
    return SEPARATOR.join(map(str, value)) if isinstance(value, list) else str(value)


def _parquet(file: IO[bytes], path: AnyPath) -> Writer:
    arrow, parquet = pyarrow()
    open_writers: list[Any] = []

    def append(columns: Columns) -> None:
        kinds = {"id": arrow.string()}
        for name in columns:
            if name != "id":
                kinds[name] = arrow.list_(arrow.string() if name.endswith("labels") else arrow.float64())
        table = arrow.table({name: arrow.array(column, kinds[name]) for name, column in columns.items()})
        if not open_writers:
            open_writers.append(parquet.ParquetWriter(file, table.schema))
        open_writers[0].write_table(table)

    def finish() -> None:
        for writer in open_writers:
            writer.close()

    return append, finish
