"""Plain rows of csv and jsonl files, for what is no LabelData: answers, lists, logs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from labelwise.data.errors import FormatError
from labelwise.data.formats.cells import escape_formula
from labelwise.data.formats.csv import comma_lines, text_rows
from labelwise.data.formats.jsonl import parse_lines
from labelwise.data.reading import text_lines
from labelwise.files import AnyPath, split_name, writing

JSON_LINES = (".jsonl", ".ndjson")
TABLES = (".csv", ".tsv", *JSON_LINES, ".parquet", ".xlsx")  # whose columns have names


def file_suffix(path: AnyPath) -> str:
    """The suffix that says the format of a file, in lower case, whether it is compressed or not.

    >>> file_suffix("docs.CSV.gz")
    '.csv'
    """
    return split_name(path)[1]


def read_lines(path: AnyPath) -> list[str]:
    """The lines of a text file, without their ends and the blanks around them; blank ones are none."""
    return [line.strip() for line in text_lines(path, "utf-8") if line.strip()]


def read_rows(path: AnyPath, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a .csv or .jsonl file with the line each begins on; all `columns` must be there.

    Cells of a csv file are str, "" where blank; the apostrophe before what would be a formula is taken off.
    """
    if file_suffix(path) in JSON_LINES:
        yield from _read_json_lines(path, columns)
    elif file_suffix(path) == ".csv":
        yield from _read_csv(path, columns)
    else:
        raise FormatError("expected a .csv or .jsonl file", path)


def write_rows(
    rows: Iterable[Mapping[str, Any]], path: AnyPath, columns: Sequence[str], *, raw_csv: bool = False
) -> None:
    """Write rows that `read_rows` reads; None is a blank cell in csv. The file appears only once it is complete.

    In csv, text that a spreadsheet would run as a formula gets an apostrophe in front, unless `raw_csv`.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/rows.csv"
    >>> write_rows([{"who": "ann", "said": "yes, well"}], path, ["who", "said"])
    >>> list(read_rows(path, ["who"]))
    [(2, {'who': 'ann', 'said': 'yes, well'})]
    """
    as_json = file_suffix(path) in JSON_LINES
    if not as_json and file_suffix(path) != ".csv":
        raise FormatError("expected the name of a .csv or .jsonl file", path)
    with writing(path) as file:
        escape = str if raw_csv else escape_formula
        if not as_json:
            file.write(comma_lines([list(map(escape, columns))]).encode())
        for row in rows:
            if as_json:
                file.write((json.dumps({name: row[name] for name in columns}, ensure_ascii=False) + "\n").encode())
            else:
                cells = ["" if row[name] is None else escape(str(row[name])) for name in columns]
                file.write(comma_lines([cells]).encode())


def _read_json_lines(path: AnyPath, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, row in parse_lines(text_lines(path, "utf-8"), path):
        _check_columns(row, columns, path, number)
        yield number, row


def _read_csv(path: AnyPath, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    names: list[str] | None = None
    for line, cells in text_rows(path, ",", "utf-8"):
        if names is None:
            names = cells
            _check_columns(names, columns, path, line)
        elif len(cells) != len(names):
            raise FormatError(f"found {len(cells)} cells, expected {len(names)}", path, line)
        else:
            yield line, dict(zip(names, cells, strict=True))
    if names is None:
        raise FormatError("the file is empty, expected a first line with the names of the columns", path)


def _check_columns(found: Iterable[str], columns: Sequence[str], path: AnyPath, line: int) -> None:
    missing = [name for name in columns if name not in found]
    if missing:
        raise FormatError(f"there is no {missing[0]!r}; expected {', '.join(columns)}", path, line)
