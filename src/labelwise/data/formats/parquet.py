"""Parquet tables, through pyarrow: typed columns, lists of labels, lists of numbers as features."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.data.errors import DAMAGED, FormatError, repeated
from labelwise.data.formats.streaming import Position, Span, Stream, StreamBatch
from labelwise.data.formats.table.batches import TableOptions, TableReader, table_vocabulary
from labelwise.data.formats.table.layout import RawTable, TableLayout
from labelwise.data.formats.table.reader import to_columns, to_data
from labelwise.files import AnyPath, split_name, writing
from labelwise.records import LabelData


def pyarrow() -> tuple[Any, Any]:
    """pyarrow and pyarrow.parquet, loaded when they are needed."""
    return import_module("pyarrow"), import_module("pyarrow.parquet")


def read(path: AnyPath, **layout: Any) -> LabelData:
    """Read a parquet table; see `labelwise.data.TableLayout` for the options."""
    chosen = TableLayout(**layout)
    arrow, parquet = pyarrow()
    _refuse_compression(path)
    with valid_parquet(path):
        with open(path, "rb") as file:
            table = parquet.read_table(file)
        names = table.column_names
        _check_names(names, path)
        columns = {name: column_values(arrow, table.column(name)) for name in names}
    return to_data(RawTable(path, columns, None, is_text=False), chosen)


def write(data: LabelData, path: AnyPath, **columns: Any) -> None:
    """Write a parquet table; see `to_columns` for the options and the columns."""
    _refuse_compression(path)
    table = arrow_table(data, path, **columns)
    with writing(path) as file:
        pyarrow()[1].write_table(table, file)


def arrow_table(data: LabelData, path: AnyPath, **columns: Any) -> Any:
    """The Arrow table of a data set; see `to_columns` for the options and the columns."""
    arrow = pyarrow()[0]
    table = to_columns(data, path, **columns)
    kind = arrow.int8() if table.list_column is None else arrow.list_(arrow.string())
    X = table.X.toarray() if sp.issparse(table.X) else np.asarray(table.X)
    arrays = {name: _array(arrow, name, column, path) for name, column in table.fields.items()}
    arrays |= {name: arrow.array(X[:, k]) for k, name in enumerate(table.feature_names)}
    arrays |= {name: arrow.array(column, kind) for name, column in table.answers.items()}
    return arrow.table(arrays)


@contextmanager
def valid_parquet(path: AnyPath, kind: str = "valid", cure: str = "write it again") -> Iterator[None]:
    """Around what pyarrow reads of a file: damage that it meets becomes an error of ours."""
    arrow = pyarrow()[0]
    try:
        yield
    except FormatError:
        raise
    except (arrow.ArrowException, OSError, *DAMAGED) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's fault, not the file's
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise FormatError(f"this is not a {kind} parquet file ({first}); {cure}", path) from None


def _array(arrow: Any, name: str, column: list[Any], path: AnyPath) -> Any:
    try:
        return arrow.array(column)
    except arrow.ArrowException as error:
        raise FormatError(f"the field {name!r} of items does not fit one type: {error}", path) from None


def _check_names(names: list[str], path: AnyPath) -> None:
    if (twice := repeated(names)) is not None:
        raise FormatError(f"the column {twice!r} is there twice", path)


def _refuse_compression(path: AnyPath) -> None:
    if split_name(path)[2]:
        raise FormatError("a parquet file is compressed inside; write it without .gz or .bz2", path)


def column_values(arrow: Any, column: Any) -> Any:
    """A column as numbers (n,), or (n, k) for lists of k numbers, where nothing is blank; else as Python values."""
    if column.null_count == 0 and _is_numeric(arrow, column.type):
        return column.to_numpy()
    is_list = arrow.types.is_list(column.type) or arrow.types.is_fixed_size_list(column.type)
    if column.null_count == 0 and len(column) and is_list and _is_numeric(arrow, column.type.value_type):
        inner = column.combine_chunks()
        lengths = np.unique(inner.value_lengths().to_numpy(zero_copy_only=False))
        if len(lengths) == 1 and lengths[0] > 0 and inner.flatten().null_count == 0:
            return inner.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    return column.to_pylist()


def _is_numeric(arrow: Any, kind: Any) -> bool:
    return bool(arrow.types.is_integer(kind) or arrow.types.is_floating(kind) or arrow.types.is_boolean(kind))


@dataclass(frozen=True)
class _Rows(RawTable):
    """Some rows of a table, which are counted from its beginning where something is wrong."""

    first: int
    size: int

    @property
    def n_rows(self) -> int:
        return self.size

    def wrong(self, row: int, problem: str) -> FormatError:
        return super().wrong(self.first + row, problem)


class ParquetStream(Stream):
    """Batches of rows; none reaches over the end of a row group.

    A column of maps from whole numbers to numbers is taken as sparse features, the keys being their columns; it has to
    be the only features. Maps from names are hashed, as in jsonl.
    """

    format = "parquet"

    def __init__(self, path: AnyPath, options: TableOptions, span: Span) -> None:
        super().__init__(path, table_vocabulary(options, span.seen_labels), span)
        self._arrow, parquet = pyarrow()
        if split_name(path)[2]:
            raise FormatError("a parquet file is compressed inside; unpack it first", path)
        with valid_parquet(path):
            self._file = parquet.ParquetFile(path)
            meta = self._file.metadata
            self._ends = np.cumsum([meta.row_group(group).num_rows for group in range(meta.num_row_groups)])
            first = self._first_row()
        self._reader = TableReader(path, options, first, span.labelled)
        kinds = [self._file.schema_arrow.field(name).type for name in self._reader.features]
        sparse = [self._arrow.types.is_map(kind) and self._arrow.types.is_integer(kind.key_type) for kind in kinds]
        if any(sparse) and (len(sparse) > 1 or options.text is not None):
            raise FormatError("a map from whole numbers has to be the only features", path)

    def _first_row(self) -> dict[str, Any]:
        names = self._file.schema_arrow.names
        _check_names(names, self.path)
        for batch in self._file.iter_batches(batch_size=1):
            cells = {name: batch.column(name).to_pylist()[0] for name in names}
            maps = {name: self._values(batch.column(name)) for name in names if self._is_map(name)}
            return cells | {name: found if sp.issparse(found) else found[0] for name, found in maps.items()}
        raise FormatError("there is no row", self.path)

    def _is_map(self, name: str) -> bool:
        return bool(self._arrow.types.is_map(self._file.schema_arrow.field(name).type))

    def __iter__(self) -> Iterator[StreamBatch]:
        row = self._start.row
        while row < self.n_rows and self.span.rows_left(row) > 0:
            parts, before = self._rest_of_group(row), row
            while True:
                with valid_parquet(self.path):
                    part = next(parts, None)
                    if part is None:
                        break
                    part = part[: self.span.rows_left(row)]
                    table = self._table(part, row)
                row += part.num_rows
                if part.num_rows:
                    yield self._reader.batch(table, self.vocabulary, Position(row))
            if row == before:
                raise FormatError(f"row {row + 1} is missing: the file promises {self.n_rows:,} rows", self.path)

    def _rest_of_group(self, row: int) -> Iterator[Any]:
        """What follows `row` in its row group."""
        group = int(np.searchsorted(self._ends, row, side="right"))
        skip = row - (int(self._ends[group - 1]) if group else 0)
        for part in self._file.iter_batches(self.span.batch, row_groups=[group], columns=self._reader.columns):
            if skip < part.num_rows:
                yield part[skip:]
            skip = max(0, skip - part.num_rows)

    def _table(self, part: Any, first: int) -> RawTable:
        columns = {name: self._values(part.column(name)) for name in self._reader.columns}
        return _Rows(self.path, columns, None, is_text=False, first=first, size=part.num_rows)

    def _values(self, column: Any) -> Any:
        if not self._arrow.types.is_map(column.type):
            return column_values(self._arrow, self._arrow.chunked_array([column]))
        if self._arrow.types.is_integer(column.type.key_type):
            return self._sparse(column)
        return [None if cell is None else dict(cell) for cell in column.to_pylist()]

    def _sparse(self, column: Any) -> Any:
        """Maps from column to value as CSR rows."""
        ends = column.offsets.to_numpy()
        inside = slice(int(ends[0]), int(ends[-1]))
        columns, values = column.keys[inside].to_numpy(), column.items[inside]
        if column.null_count or values.null_count:
            raise FormatError("a map of features is null, or holds null; fill it in or drop the row", self.path)
        if columns.min(initial=0) < 0 or not np.isfinite(values.to_numpy()).all():
            raise FormatError("a map of features holds a negative column, NaN or infinity; drop the row", self.path)
        shape = (len(column), int(columns.max(initial=0)) + 1)
        rows = sp.csr_array((values.to_numpy().astype(np.float64), columns.astype(np.int64), ends - ends[0]), shape)
        rows.sum_duplicates()
        if rows.nnz < len(columns):
            raise FormatError("a map of features holds a column twice; add its values up", self.path)
        return rows

    @property
    def n_rows(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def fraction(self, position: Position) -> float | None:
        return position.row / max(self.n_rows, 1)
