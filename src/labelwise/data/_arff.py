"""ARFF files as such, whoever says which attributes are labels: the reader and the writer behind Mulan and MEKA."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data._arff_columns import ColumnPlan, DenseColumns, SparseColumns
from labelwise.data._arff_header import Header, quote, read_header
from labelwise.data._arff_rows import BlockParser, RowParser
from labelwise.data._files import AnyPath, line_blocks
from labelwise.data._numbers import check_dtype, format_number
from labelwise.data.errors import FormatError, Problem
from labelwise.records import LabelData

ROWS_AT_ONCE = 1000  # rows turned into text at a time
ChooseLabels = Callable[[Header], Sequence[int]]


def read_arff(
    path: AnyPath,
    choose_labels: ChooseLabels,
    dtype: npt.DTypeLike = np.float64,
    encoding: str = "utf-8",
    compiled: bool | None = None,
) -> LabelData:
    """Read dense or sparse ARFF; `choose_labels` says which attributes are labels, by position.

    `compiled=None` parses small files in Python and large ones with compiled loops; both give the same.
    """
    check_dtype(dtype)
    blocks = line_blocks(path)
    header, rest = read_header(path, blocks, encoding)
    try:
        labels = sorted(choose_labels(header))
        plan = ColumnPlan(header.attributes, labels, dtype)
    except Problem as problem:
        raise FormatError(str(problem), path) from None
    following = next(blocks, None)
    make_parser = _compiled_parser() if (following is not None if compiled is None else compiled) else BlockParser
    parser = make_parser(RowParser.of(header, labels), path, encoding)
    X, Y, observed = _read_rows(parser, plan, _numbered(rest, following, blocks, header.first_line))
    return LabelData(
        X=X,
        Y=Y,
        observed=observed,
        item_ids=tuple(map(str, range(X.shape[0]))),
        label_names=tuple(plan.label_names),
        feature_names=tuple(plan.feature_names),
    )


def _compiled_parser() -> type[BlockParser]:
    """Loaded only for files large enough to deserve it: numba takes half a second to import."""
    chosen: type[BlockParser] = import_module("labelwise.data._arff_compiled").CompiledBlockParser
    return chosen


def _numbered(rest: bytes, following: bytes | None, blocks: Iterator[bytes], line: int) -> Iterator[tuple[bytes, int]]:
    """The blocks behind the header, each with the number of its first line."""
    yield rest, line
    line += rest.count(b"\n")
    while following is not None:
        yield following, line
        line += following.count(b"\n")
        following = next(blocks, None)


def _read_rows(parser: BlockParser, plan: ColumnPlan, blocks: Iterator[tuple[bytes, int]]) -> tuple[Any, Any, Any]:
    columns: SparseColumns | DenseColumns | None = None
    for block, line in blocks:
        if columns is None:
            first = parser.first_row(block, line)
            if first is None:
                continue
            columns = SparseColumns(plan) if first.startswith("{") else DenseColumns(plan)
        if isinstance(columns, SparseColumns):
            columns.add(parser.sparse(block, line))
        else:
            columns.add(parser.dense(block, line))
    if columns is None:
        raise FormatError("there is no row behind @data", parser.path)
    return columns.finish()


def write_arff(file: IO[bytes], data: LabelData, relation: str, labels_first: bool) -> None:
    """Write dense ARFF for an array, sparse ARFF for a sparse matrix; `?` where a label is unknown."""
    names = feature_names(data)
    features = [f"@attribute {quote(name)} numeric\n" for name in names]
    labels = [f"@attribute {quote(name)} {{0,1}}\n" for name in data.label_names]
    attributes = labels + features if labels_first else features + labels
    file.write(f"@relation {quote(relation)}\n\n{''.join(attributes)}\n@data\n".encode())
    lines = _sparse_lines if sp.issparse(data.X) else _dense_lines
    for start in range(0, data.n_items, ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, data.n_items))
        file.write("\n".join([*lines(data, rows, labels_first), ""]).encode())


def feature_names(data: LabelData) -> tuple[str, ...]:
    """The names of the features, x0, x1, ... where they have none."""
    return data.feature_names or tuple(f"x{column}" for column in range(data.n_features))


def check_writable(data: LabelData, path: AnyPath) -> None:
    """Refuse what ARFF cannot say: no rows, or an attribute name that stands twice."""
    if data.n_items == 0:
        raise FormatError("there is no item to write", path)
    seen: set[str] = set()
    for name in (*feature_names(data), *data.label_names):
        if name in seen:
            raise FormatError(f"the name {name!r} stands for two attributes; rename a feature or a label", path)
        seen.add(name)


def _label_cells(data: LabelData, rows: slice) -> npt.NDArray[np.str_]:
    """(rows, q) of "0", "1" and "?"."""
    cells = np.where(data.Y[rows].toarray(), "1", "0")
    return cells if data.observed is None else np.where(data.observed[rows].toarray(), cells, "?")


def _dense_lines(data: LabelData, rows: slice, labels_first: bool) -> list[str]:
    features = [",".join(map(format_number, row)) for row in np.asarray(data.X[rows], np.float64).tolist()]
    labels = [",".join(row) for row in _label_cells(data, rows).tolist()]
    sides = (labels, features) if labels_first else (features, labels)
    return [",".join(filter(None, pair)) for pair in zip(*sides, strict=True)]


def _sparse_lines(data: LabelData, rows: slice, labels_first: bool) -> list[str]:
    X = sp.csr_array(data.X[rows], dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    shift, label_shift = (data.n_labels, 0) if labels_first else (0, data.n_features)
    features = _row_texts(X.indptr, X.indices + shift, map(format_number, X.data.tolist()))
    cells = _label_cells(data, rows)
    which, columns = np.nonzero(cells != "0")
    ends = np.searchsorted(which, np.arange(len(cells) + 1))
    labels = _row_texts(ends, columns + label_shift, cells[which, columns].tolist())
    sides = (labels, features) if labels_first else (features, labels)
    return [f"{{{','.join(filter(None, pair))}}}" for pair in zip(*sides, strict=True)]


def _row_texts(ends: npt.NDArray[Any], columns: npt.NDArray[Any], values: Any) -> list[str]:
    """Per row "index value,index value"; row r has the entries from ends[r] to ends[r + 1]."""
    cells = [f"{column} {value}" for column, value in zip(columns.tolist(), values, strict=True)]
    places = ends.tolist()
    return [",".join(cells[start:stop]) for start, stop in itertools.pairwise(places)]
