"""Comma- and tab-separated tables: one row per item, the first line names the columns.

Cells of a .tsv file are taken as they stand, without quoting, as is the custom there.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from labelwise.data.errors import FormatError, Problem, shown
from labelwise.data.formats.cells import ROWS_AT_ONCE, escape_formula, format_number, unescape_formula
from labelwise.data.formats.table.labels import join_tags
from labelwise.data.formats.table.layout import RawTable, TableLayout, delimiter_hint
from labelwise.data.formats.table.reader import to_columns, to_data
from labelwise.data.reading import text_lines
from labelwise.files import AnyPath, split_name, writing
from labelwise.records import LabelData


def read(
    path: AnyPath,
    *,
    delimiter: str | None = None,
    columns: Sequence[str] | None = None,
    encoding: str = "utf-8",
    **layout: Any,
) -> LabelData:
    """Read a csv or tsv table, plain or compressed.

    Parameters
    ----------
    path : path of the file
    delimiter : between cells; None is a tab for .tsv, else a comma
    columns : names of the columns of a file that has no first line with them
    encoding : of the file
    layout : see `labelwise.data.TableLayout`
    """
    chosen = TableLayout(**layout)
    delimiter = delimiter or _delimiter_of(path)
    with _long_cells():
        return to_data(_read_table(path, delimiter, columns, encoding), chosen)


def write(data: LabelData, path: AnyPath, *, separator: str = ";", raw_csv: bool = False, **columns: Any) -> None:
    """Write a csv or tsv table.

    Parameters
    ----------
    separator : between labels in one cell
    raw_csv : leave text as it is that a spreadsheet would run as a formula; else it gets an apostrophe in front, which
        `read` takes off again
    columns : see `to_columns`
    """
    table = to_columns(data, path, **columns)
    as_lines = _tab_lines if _delimiter_of(path) == "\t" else comma_lines
    try:
        if table.list_column is not None:
            tags = table.answers[table.list_column]
            table.answers[table.list_column] = [join_tags(names, separator) for names in tags]
        with writing(path) as file:
            file.write(as_lines([table.names if raw_csv else list(map(escape_formula, table.names))]).encode())
            as_text = _as_text if raw_csv else _as_safe_text
            for block in table.blocks(ROWS_AT_ONCE):
                file.write(as_lines(zip(*(map(as_text, column) for column in block), strict=True)).encode())
    except Problem as problem:
        raise FormatError(str(problem), path) from None


def _delimiter_of(path: AnyPath) -> str:
    return "\t" if split_name(path)[1] == ".tsv" else ","


def _read_table(path: AnyPath, delimiter: str, columns: Sequence[str] | None, encoding: str) -> RawTable:
    names: list[str] | None = None if columns is None else list(columns)
    cells: list[list[str]] = []
    lines: list[int] = []
    for line, row in text_rows(path, delimiter, encoding):
        if names is None:
            names = row
        elif len(row) != len(names):
            hint = delimiter_hint(names)
            raise FormatError(f"found {len(row)} cells, expected {len(names)}, one per column{hint}", path, line)
        else:
            cells.append(row)
            lines.append(line)
    if names is None:
        raise FormatError("the file is empty, expected a first line with the names of the columns", path)
    _check_names(names, path)
    by_column = zip(*cells, strict=True) if cells else ([] for _ in names)
    return RawTable(path, dict(zip(names, map(list, by_column), strict=True)), lines, is_text=True)


def _check_names(names: list[str], path: AnyPath) -> None:
    for position, name in enumerate(names):
        if not name:
            raise FormatError(f"column {position + 1} has no name; give all names with columns=", path, 1)
        if name in names[:position]:
            raise FormatError(f"the column {name!r} is there twice", path, 1)


def text_rows(path: AnyPath, delimiter: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    """The rows with the number of the line each starts on; blank lines are none, and formulas are text again."""
    for line, cells in _raw_rows(path, delimiter, encoding):
        yield line, [unescape_formula(cell) if cell[:1] == "'" else cell for cell in cells]


def _raw_rows(path: AnyPath, delimiter: str, encoding: str) -> Iterator[tuple[int, list[str]]]:
    lines = text_lines(path, encoding)
    if delimiter == "\t":
        for number, line in enumerate(lines, start=1):
            if line.strip("\r\n"):
                yield number, line.rstrip("\r\n").split("\t")
        return
    reader, start = csv.reader(lines, delimiter=delimiter, strict=True), 1
    try:
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(f"the quotes are wrong in the row that starts here ({error})", path, start) from None


@contextmanager
def _long_cells() -> Iterator[None]:
    """Take cells of any length: the csv module stops at 128 KiB, and documents are longer."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def comma_lines(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(rows)  # lines end in \r\n: with \n alone the module would not quote a cell that holds \r
    return text.getvalue()


def _tab_lines(rows: Iterable[Sequence[str]]) -> str:
    lines = []
    for row in rows:
        for cell in row:
            if "\t" in cell or "\n" in cell or "\r" in cell:
                raise Problem(f"found {shown(cell)}, but a cell of a .tsv file holds no tab and no line end; use .csv")
        lines.append("\t".join(row) + "\n")
    return "".join(lines)


def _as_safe_text(cell: Any) -> str:
    return escape_formula(cell) if isinstance(cell, str) else _as_text(cell)


def _as_text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    if cell is None:
        return ""
    return format_number(cell) if isinstance(cell, float) else json.dumps(cell, ensure_ascii=False, default=str)
