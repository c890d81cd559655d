"""Parquet as a stream: row group after row group, only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.data._extras import need
from labelwise.data._files import AnyPath, split_name
from labelwise.data._stream_base import Position, Stream, StreamBatch, rows_left
from labelwise.data._stream_table import TableOptions, TableReader, table_vocabulary
from labelwise.data._table import Table
from labelwise.data.errors import FormatError
from labelwise.data.parquet import column_values


@dataclass(frozen=True)
class _Rows(Table):
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

    def __init__(
        self,
        path: AnyPath,
        options: TableOptions,
        span: tuple[int, Position | None, int | None],
        seen_labels: Sequence[str],
        labelled: bool = True,
    ) -> None:
        self._batch, start, self._limit = span
        self._start = start or Position()
        super().__init__(path, table_vocabulary(options, seen_labels))
        self._arrow, parquet = need("pyarrow", "io"), need("pyarrow.parquet", "io")
        if split_name(path)[2]:
            raise FormatError("a parquet file is compressed inside; unpack it first", path)
        try:
            self._file = parquet.ParquetFile(path)
        except self._arrow.ArrowException as error:
            raise FormatError(f"this is not a valid parquet file ({str(error).splitlines()[0]})", path) from None
        meta = self._file.metadata
        self._ends = np.cumsum([meta.row_group(group).num_rows for group in range(meta.num_row_groups)])
        self._reader = TableReader(path, options, self._first_row(), labelled)
        kinds = [self._file.schema_arrow.field(name).type for name in self._reader.features]
        sparse = [self._arrow.types.is_map(kind) and self._arrow.types.is_integer(kind.key_type) for kind in kinds]
        if any(sparse) and (len(sparse) > 1 or options.text is not None):
            raise FormatError("a map from whole numbers has to be the only features", path)

    def _first_row(self) -> dict[str, Any]:
        names = self._file.schema_arrow.names
        if len(set(names)) < len(names):
            raise FormatError(f"the column {next(n for n in names if names.count(n) > 1)!r} is there twice", self.path)
        for batch in self._file.iter_batches(batch_size=1):
            cells = {name: batch.column(name).to_pylist()[0] for name in names}
            maps = {name: self._values(batch.column(name)) for name in names if self._is_map(name)}
            return cells | {name: found if sp.issparse(found) else found[0] for name, found in maps.items()}
        raise FormatError("there is no row", self.path)

    def _is_map(self, name: str) -> bool:
        return bool(self._arrow.types.is_map(self._file.schema_arrow.field(name).type))

    def __iter__(self) -> Iterator[StreamBatch]:
        row = self._start.row
        while row < self.n_rows and rows_left(self._limit, row, self._batch) > 0:
            for part in self._rest_of_group(row):
                part = part[: rows_left(self._limit, row, self._batch)]
                table = self._table(part, row)
                row += part.num_rows
                if part.num_rows:
                    yield self._reader.batch(table, self.vocabulary, Position(row))

    def _rest_of_group(self, row: int) -> Iterator[Any]:
        """What follows `row` in its row group."""
        group = int(np.searchsorted(self._ends, row, side="right"))
        skip = row - (int(self._ends[group - 1]) if group else 0)
        for part in self._file.iter_batches(self._batch, row_groups=[group], columns=self._reader.columns):
            if skip < part.num_rows:
                yield part[skip:]
            skip = max(0, skip - part.num_rows)

    def _table(self, part: Any, first: int) -> Table:
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
