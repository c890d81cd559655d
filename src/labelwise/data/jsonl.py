"""JSON lines: one object per item, its keys are the columns. null, or a key left out, is a blank cell."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from labelwise.data._files import AnyPath, text_lines, writing
from labelwise.data._table import Table, TableLayout
from labelwise.data._table_data import to_columns, to_data
from labelwise.data.errors import FormatError, Problem, shown
from labelwise.records import LabelData

ROWS_AT_ONCE = 1000  # rows turned into text at a time


def read(path: AnyPath, **layout: Any) -> LabelData:
    """Read JSON lines, plain or compressed; see `labelwise.data.TableLayout` for the options."""
    chosen = TableLayout(**layout)
    rows, lines = [], []
    for number, text in enumerate(text_lines(path, "utf-8"), start=1):
        if text.strip():
            try:
                rows.append(parse_object(text))
            except Problem as problem:
                raise FormatError(str(problem), path, number) from None
            lines.append(number)
    if not rows:
        raise FormatError("the file is empty, expected one JSON object per line", path)
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return to_data(Table(path, columns, lines, is_text=False), chosen)


def write(
    data: LabelData,
    path: AnyPath,
    *,
    labels: str | None = "labels",
    text: str | None = None,
    id: str | None = "id",
) -> None:
    """Write JSON lines: id, the fields of `items`, features, labels.

    Parameters
    ----------
    labels : name of the one key that lists the labels of an item, or None for one key per label
    text : the field of `items` that features are made of; they are then left out
    id : key of the ids, None leaves them out
    """
    columns = to_columns(data, path, labels, text, id)
    names = columns.names
    with writing(path) as file:
        for block in columns.blocks(ROWS_AT_ONCE):
            for row in zip(*block, strict=True):
                file.write(_line(dict(zip(names, row, strict=True)), path))


def parse_object(text: str) -> dict[str, Any]:
    """The one JSON object of a line."""
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise Problem(f"found {shown(text.strip())}, expected a JSON object ({error.msg} at {error.pos})") from None
    if not isinstance(found, dict):
        raise Problem(f"found {shown(text.strip())}, expected a JSON object")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise Problem(f"the key {next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise Problem(f"found {name}, expected a finite number; fill it in or drop the row first")


def _line(row: dict[str, Any], path: AnyPath) -> bytes:
    try:
        return (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except (TypeError, ValueError) as error:
        raise FormatError(f"an item holds what JSON cannot say: {error}", path) from None
