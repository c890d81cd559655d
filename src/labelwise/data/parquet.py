"""Parquet tables, through pyarrow: typed columns, lists of labels, lists of numbers as features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.data._extras import need
from labelwise.data._files import AnyPath, split_name, writing
from labelwise.data._table import Table, TableLayout
from labelwise.data._table_data import to_columns, to_data
from labelwise.data.errors import FormatError
from labelwise.records import LabelData


def read(path: AnyPath, **layout: Any) -> LabelData:
    """Read a parquet table; see `labelwise.data.TableLayout` for the options."""
    chosen = TableLayout(**layout)
    arrow, parquet = need("pyarrow", "io"), need("pyarrow.parquet", "io")
    _refuse_compression(path)
    try:
        with open(path, "rb") as file:
            table = parquet.read_table(file)
    except arrow.ArrowException as error:
        raise FormatError(f"this is not a valid parquet file ({str(error).splitlines()[0]})", path) from None
    names = table.column_names
    if len(set(names)) < len(names):
        raise FormatError(f"the column {next(n for n in names if names.count(n) > 1)!r} is there twice", path)
    columns = {name: column_values(arrow, table.column(name)) for name in names}
    return to_data(Table(path, columns, None, is_text=False), chosen)


def write(
    data: LabelData,
    path: AnyPath,
    *,
    labels: str | None = "labels",
    text: str | None = None,
    id: str | None = "id",
) -> None:
    """Write a parquet table: id, the fields of `items`, features, labels.

    Parameters
    ----------
    labels : name of the one column that lists the labels of an item, or None for one column per label
    text : the field of `items` that features are made of; they are then left out
    id : name of the column of ids, None leaves them out
    """
    arrow, parquet = need("pyarrow", "io"), need("pyarrow.parquet", "io")
    _refuse_compression(path)
    columns = to_columns(data, path, labels, text, id)
    kind = arrow.int8() if labels is None else arrow.list_(arrow.string())
    X = columns.X.toarray() if sp.issparse(columns.X) else np.asarray(columns.X)
    arrays = {name: _array(arrow, name, column, path) for name, column in columns.fields.items()}
    arrays |= {name: arrow.array(X[:, k]) for k, name in enumerate(columns.feature_names)}
    arrays |= {name: arrow.array(column, kind) for name, column in columns.answers.items()}
    with writing(path) as file:
        parquet.write_table(arrow.table(arrays), file)


def _array(arrow: Any, name: str, column: list[Any], path: AnyPath) -> Any:
    try:
        return arrow.array(column)
    except arrow.ArrowException as error:
        raise FormatError(f"the field {name!r} of items does not fit one parquet type: {error}", path) from None


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
