"""Excel workbooks (.xlsx), through openpyxl: a sheet is a table, its first row names the columns."""

from __future__ import annotations

from datetime import date, datetime
from datetime import time as clock
from typing import Any

from labelwise.data.errors import UNREADABLE, FormatError, Problem, repeated
from labelwise.data.formats.cells import ROWS_AT_ONCE, format_number
from labelwise.data.formats.table.labels import join_tags
from labelwise.data.formats.table.layout import RawTable, TableLayout
from labelwise.data.formats.table.reader import to_columns, to_data
from labelwise.data.reading import check_archive
from labelwise.files import AnyPath, split_name, writing
from labelwise.records import LabelData

MOST_LETTERS = 32_767  # that a cell of a workbook holds; openpyxl would cut the rest off without a word
MOST_COLUMNS = 16_384


def openpyxl() -> Any:
    """The package, loaded when it is needed."""
    try:
        import openpyxl  # an extra
    except ImportError:
        raise ImportError("spreadsheets need openpyxl: pip install 'labelwise[spreadsheets]'") from None
    return openpyxl


def read(path: AnyPath, *, sheet: str | None = None, **layout: Any) -> LabelData:
    """Read a sheet of a workbook; of formulas, the value that the spreadsheet program computed last.

    Parameters
    ----------
    path : path of the file
    sheet : name of the sheet; None is the first one
    layout : see `labelwise.data.TableLayout`
    """
    return to_data(read_table(path, sheet), TableLayout(**layout))


def read_table(path: AnyPath, sheet: str | None = None) -> RawTable:
    """The cells of a sheet by column. Blank rows are left out; blank cells of a column of texts are ""."""
    _refuse_compression(path)
    package = openpyxl()
    try:
        check_archive(path)
        book = package.load_workbook(path, read_only=True, data_only=True)
        try:
            chosen = _sheet(book, sheet, path)
            rows = [(number, list(row)) for number, row in enumerate(chosen.iter_rows(values_only=True), start=1)]
        finally:
            book.close()
    except FormatError:
        raise
    except UNREADABLE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's fault, not the file's
        raise FormatError(f"this is not a valid .xlsx file ({error}); save it again", path) from None
    rows = [(number, row) for number, row in rows if any(cell is not None for cell in row)]
    if not rows:
        raise FormatError("the sheet is empty, expected a first row with the names of the columns", path)
    names = _column_names(rows[0][1], path)
    columns: dict[str, Any] = {}
    for place, name in enumerate(names):
        cells = [_plain(row[place]) if place < len(row) else None for _, row in rows[1:]]
        is_text = all(cell is None or isinstance(cell, str) for cell in cells)
        columns[name] = ["" if cell is None else cell for cell in cells] if is_text else cells
    return RawTable(path, columns, [number for number, _ in rows[1:]], is_text=False)


def write(data: LabelData, path: AnyPath, *, separator: str = ";", **columns: Any) -> None:
    """Write a workbook of one sheet. Texts are written as texts, also those that look like formulas.

    Parameters
    ----------
    separator : between labels in one cell
    columns : see `to_columns`
    """
    _refuse_compression(path)
    table = to_columns(data, path, **columns)
    if len(table.names) > MOST_COLUMNS:
        raise FormatError(f"there are {len(table.names):,} columns, and a sheet has {MOST_COLUMNS:,}; use .csv", path)
    package = openpyxl()
    book = package.Workbook(write_only=True)
    sheet = book.create_sheet("items")
    sheet.freeze_panes = "A2"
    try:
        if table.list_column is not None:
            tags = table.answers[table.list_column]
            table.answers[table.list_column] = [join_tags(names, separator) for names in tags]
        blocks = table.blocks(ROWS_AT_ONCE)
        rows = [table.names, *(row for block in blocks for row in zip(*block, strict=True))]
        cells = [[_cell(package, sheet, value) for value in row] for row in rows]
    except Problem as problem:
        raise FormatError(str(problem), path) from None
    for row in cells:  # only once all are known to fit
        sheet.append(row)
    with writing(path) as file:
        book.save(file)


def _sheet(book: Any, name: str | None, path: AnyPath) -> Any:
    if name is None:
        return book.worksheets[0]
    if name not in book.sheetnames:
        raise FormatError(f"there is no sheet {name!r}; there are {', '.join(map(repr, book.sheetnames))}", path)
    return book[name]


def _column_names(row: list[Any], path: AnyPath) -> list[str]:
    while row and row[-1] is None:
        row = row[:-1]
    names = ["" if cell is None else str(_plain(cell)).strip() for cell in row]
    for place, name in enumerate(names, start=1):
        if not name:
            raise FormatError(f"column {place} has no name; write one into the first row", path, 1)
    if (twice := repeated(names)) is not None:
        raise FormatError(f"the column {twice!r} is there twice", path, 1)
    return names


def _plain(cell: Any) -> Any:
    """Dates as text, whole numbers as int: a spreadsheet knows no difference between 1 and 1.0."""
    if isinstance(cell, datetime | date | clock):
        return cell.isoformat()
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell


def _cell(package: Any, sheet: Any, value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, float):
        number = package.cell.WriteOnlyCell(sheet, value=value)
        number._value = format_number(value)  # as text in a cell of a number: openpyxl would write 16 digits of 17
        return number
    text = value if isinstance(value, str) else str(value)
    if len(text) > MOST_LETTERS:
        raise Problem(f"a text has {len(text):,} letters, and a cell holds {MOST_LETTERS:,}; use .csv or .parquet")
    try:
        cell = package.cell.WriteOnlyCell(sheet, value=text)
    except package.utils.exceptions.IllegalCharacterError:
        raise Problem(f"found {text[:40]!r}, with a sign that a workbook cannot hold; use .csv or .parquet") from None
    if cell.data_type == "f":
        cell.data_type = "s"
    return cell


def _refuse_compression(path: AnyPath) -> None:
    if split_name(path)[2]:
        raise FormatError("a workbook is compressed inside; write it without .gz or .bz2", path)
