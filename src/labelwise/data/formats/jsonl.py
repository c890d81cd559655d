"""JSON lines: one object per item, its keys are the columns. null, or a key left out, is a blank cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from labelwise.data.errors import FormatError, Problem, repeated, shown
from labelwise.data.formats.cells import ROWS_AT_ONCE
from labelwise.data.formats.streaming import Lines, Position, Span, Stream, StreamBatch
from labelwise.data.formats.table.batches import TableOptions, TableReader, table_vocabulary
from labelwise.data.formats.table.layout import RawTable, TableLayout
from labelwise.data.formats.table.reader import to_columns, to_data
from labelwise.data.reading import decode, text_lines
from labelwise.files import AnyPath, writing
from labelwise.records import LabelData

LOOK_AHEAD = 100  # lines of a file without a schema that show what its columns hold


def read(path: AnyPath, **layout: Any) -> LabelData:
    """Read JSON lines, plain or compressed; see `labelwise.data.TableLayout` for the options."""
    chosen = TableLayout(**layout)
    numbered = list(parse_lines(text_lines(path, "utf-8"), path))
    if not numbered:
        raise FormatError("the file is empty, expected one JSON object per line", path)
    lines, rows = [number for number, _ in numbered], [row for _, row in numbered]
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return to_data(RawTable(path, columns, lines, is_text=False), chosen)


def write(data: LabelData, path: AnyPath, **columns: Any) -> None:
    """Write JSON lines; see `to_columns` for the options and the keys."""
    table = to_columns(data, path, **columns)
    names = table.names
    with writing(path) as file:
        for block in table.blocks(ROWS_AT_ONCE):
            for row in zip(*block, strict=True):
                file.write(_line(dict(zip(names, row, strict=True)), path))


def parse_lines(lines: Iterable[str], path: AnyPath, first: int = 1) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of the lines that are not blank, each with its line's number; that of the first line is `first`."""
    for number, text in enumerate(lines, start=first):
        if text.strip():
            try:
                yield number, parse_object(text)
            except Problem as problem:
                raise FormatError(str(problem), path, number) from None


def parse_object(text: str) -> dict[str, Any]:
    """The one JSON object of a line."""
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise Problem(f"found {shown(text.strip())}, expected a JSON object ({error.msg} at {error.pos})") from None
    except Problem:
        raise
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in thousands of brackets
        raise Problem(f"found {shown(text.strip())}, which is too large or too deep to read ({error})") from None
    if not isinstance(found, dict):
        raise Problem(f"found {shown(text.strip())}, expected a JSON object")
    return found


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Problem(f"the key {repeated(name for name, _ in pairs)!r} is there twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise Problem(f"found {name}, expected a finite number; fill it in or drop the row first")


def _line(row: dict[str, Any], path: AnyPath) -> bytes:
    try:
        return (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n").encode()
    except (TypeError, ValueError) as error:
        raise FormatError(f"an item holds what JSON cannot say: {error}", path) from None


class JsonlStream(Stream):
    """One object per line, its keys are the columns; null, or a key left out, is a blank cell."""

    format = "jsonl"

    def __init__(self, path: AnyPath, options: TableOptions, span: Span) -> None:
        super().__init__(path, table_vocabulary(options, span.seen_labels), span)
        self._reader = TableReader(path, options, self._first_cells(), span.labelled)

    def _first_cells(self) -> dict[str, Any]:
        """The first filled cell of each column, in the lines at the beginning."""
        rows, _ = self._parse(Lines(self.path, Position()).take(LOOK_AHEAD), 1)
        if not rows:
            raise FormatError("there is no row, expected one JSON object per line", self.path)
        first: dict[str, Any] = {}
        for row in rows:
            for name, cell in row.items():
                if first.get(name) is None:
                    first[name] = cell
        return first

    def __iter__(self) -> Iterator[StreamBatch]:
        lines, row = Lines(self.path, self._start), self._start.row
        while (wanted := self.span.rows_left(row)) > 0:
            line = lines.line
            text = lines.take(wanted)
            if not text:
                return
            rows, numbers_of = self._parse(text, line)
            row += len(rows)
            columns = {name: [cells.get(name) for cells in rows] for name in self._reader.columns}
            table = RawTable(self.path, columns, numbers_of, is_text=False)
            if rows:
                yield self._reader.batch(table, self.vocabulary, Position(row, lines.line, lines.offset))

    def _parse(self, text: bytes, line: int) -> tuple[list[dict[str, Any]], list[int]]:
        decoded = decode(text, "utf-8", self.path, line).removeprefix("\ufeff" if line == 1 else "")
        numbered = list(parse_lines(decoded.split("\n"), self.path, line))
        return [row for _, row in numbered], [number for number, _ in numbered]
