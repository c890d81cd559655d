"""ARFF files as such, whoever says which attributes are labels: the reader and the writer behind Mulan and MEKA."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import FormatError, Problem, refuse_losses, repeated, shown
from labelwise.data.formats.arff.header import Attribute, Header, quote, read_header
from labelwise.data.formats.arff.rows import BlockParser, RowParser, SparseBlock
from labelwise.data.formats.cells import ROWS_AT_ONCE, check_dtype, compiled_parser, format_number, sparse_cells
from labelwise.data.reading import line_blocks, numbered
from labelwise.files import AnyPath, writing
from labelwise.records import LabelData

TRUTH = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0}  # what the values of a label may be called
Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]
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
    following = list(itertools.islice(blocks, 1))
    make_parser = compiled_parser("Block") if (bool(following) if compiled is None else compiled) else BlockParser
    parser: BlockParser = make_parser(RowParser.of(header, labels), path, encoding)
    X, Y, observed = _read_rows(parser, plan, numbered([rest], following, blocks, line=header.first_line))
    return LabelData(
        X=X,
        Y=Y,
        observed=observed,
        item_ids=tuple(map(str, range(X.shape[0]))),
        label_names=tuple(plan.label_names),
        feature_names=tuple(plan.feature_names),
    )


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


def columns_of(attribute: Attribute, is_label: bool) -> tuple[list[str], list[int], list[float]]:
    """The columns an attribute becomes; for each of its nominal values, which of them it sets, and to what.

    >>> columns_of(Attribute("size", ("S", "M")), is_label=False)
    (['size=S', 'size=M'], [0, 1], [1.0, 1.0])
    >>> columns_of(Attribute("word", ("0", "1")), is_label=False)
    (['word'], [0, 0], [0.0, 1.0])
    """
    values = attribute.values
    if is_label and not attribute.name.strip():
        raise Problem(f"found {attribute.name!r} as the name of a label, expected one that can be read; rename it")
    if values is None:
        return [attribute.name], [], []
    if is_label:
        truths = [TRUTH[value.lower()] for value in values if value.lower() in TRUTH]
        if len(truths) < len(values):
            raise Problem(f"label {attribute.name!r} has values {shown(values, 200)}, expected {{0,1}}")
        return [attribute.name], [0] * len(values), truths
    if set(values) <= {"0", "1"}:
        return [attribute.name], [0] * len(values), [float(value) for value in values]
    return [f"{attribute.name}={value}" for value in values], list(range(len(values))), [1.0] * len(values)


class ColumnPlan:
    """Where the cells of each attribute go: numbers as they are, nominal values as `columns_of` says."""

    def __init__(self, attributes: Sequence[Attribute], labels: Sequence[int], dtype: npt.DTypeLike) -> None:
        self.dtype = np.dtype(dtype)
        self.is_label = np.zeros(len(attributes), dtype=bool)
        self.is_label[list(labels)] = True
        self.feature_names: list[str] = []
        self.label_names: list[str] = []
        self.column = np.zeros(len(attributes), np.int32)  # the first one of each attribute, in X or in Y
        self.first_code = np.full(len(attributes), -1, np.int64)  # of a nominal attribute, in the two tables below
        self.plain = True  # the position of a nominal value is the value, as in {0,1}
        shifts: list[int] = []
        values: list[float] = []
        implied: list[int] = []
        for position, attribute in enumerate(attributes):
            names, own_shifts, own_values = columns_of(attribute, bool(self.is_label[position]))
            known = self.label_names if self.is_label[position] else self.feature_names
            self.column[position] = len(known)
            known += names
            if own_values:
                self.first_code[position] = len(values)
                self.plain &= own_values == [0.0, 1.0][: len(own_values)]
                shifts += own_shifts
                values += own_values
                implied += [position] if own_values[0] != 0.0 else []
        self.code_shift, self.code_value = np.array(shifts, np.int32), np.array(values)
        self.implied = np.array(implied, np.int32)  # left out of a sparse row they have their first value: not 0

    def place(self, attributes: Ints, cells: Floats) -> tuple[Ints, Floats]:
        """Column and value of each cell; NaN stays NaN."""
        columns = self.column[attributes]
        if self.plain:
            return columns, cells
        coded = np.flatnonzero((self.first_code[attributes] >= 0) & ~np.isnan(cells))
        codes = self.first_code[attributes[coded]] + cells[coded].astype(np.int64)
        columns[coded] += self.code_shift[codes]
        values = cells.copy()
        values[coded] = self.code_value[codes]
        return columns, values


class LabelParts:
    """Labels of rows that arrive block by block."""

    def __init__(self, n_labels: int) -> None:
        self.n_labels = n_labels
        self.n_rows = 0
        self.present: list[tuple[Ints, Ints]] = []  # (rows, labels)
        self.unknown: list[tuple[Ints, Ints]] = []

    def add(self, n_rows: int, rows: Ints, columns: Ints, values: Floats) -> None:
        """Entries of the next n_rows rows, counted from 0; the labels without an entry are absent."""
        for parts, chosen in ((self.present, values == 1.0), (self.unknown, np.isnan(values))):
            parts.append((rows[chosen] + self.n_rows, columns[chosen]))
        self.n_rows += n_rows

    def finish(self) -> tuple[sp.csr_array, sp.csr_array | None]:
        """Y and observed."""
        shape = (self.n_rows, self.n_labels)
        rows, columns = (np.concatenate(part) for part in zip(*self.present, strict=True))
        Y = sp.csr_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=shape)
        rows, columns = (np.concatenate(part) for part in zip(*self.unknown, strict=True))
        if not len(rows):
            return Y, None
        observed = np.ones(shape, dtype=bool)
        observed[rows, columns] = False
        return Y, sp.csr_array(observed)


class SparseColumns:
    """Builds X (csr), Y and observed from blocks of sparse rows."""

    def __init__(self, plan: ColumnPlan) -> None:
        self.plan = plan
        self.labels = LabelParts(len(plan.label_names))
        self.lengths: list[Ints] = []
        self.indices: list[Ints] = []
        self.values: list[Floats] = []

    def add(self, block: SparseBlock) -> None:
        n_rows = len(block.lengths)
        rows: Ints = np.repeat(np.arange(n_rows, dtype=np.int32), block.lengths)
        attributes: Ints = block.attributes
        cells: Floats = block.values
        if len(self.plan.implied):
            rows, attributes, cells = self._with_implied(n_rows, rows, attributes, cells)
        columns, values = self.plan.place(attributes, cells)
        is_label = self.plan.is_label[attributes]
        self.labels.add(n_rows, rows[is_label], columns[is_label], values[is_label])
        kept = ~is_label & (values != 0)
        self.lengths.append(np.bincount(rows[kept], minlength=n_rows))
        self.indices.append(columns[kept])
        self.values.append(values[kept].astype(self.plan.dtype, copy=False))

    def _with_implied(self, n_rows: int, rows: Ints, attributes: Ints, cells: Floats) -> tuple[Ints, Ints, Floats]:
        """Add the left-out cells whose value is not 0."""
        implied = self.plan.implied
        place = np.full(len(self.plan.is_label), -1)
        place[implied] = np.arange(len(implied))
        given = place[attributes]  # (entries,)
        absent = np.ones((n_rows, len(implied)), dtype=bool)
        absent[rows[given >= 0], given[given >= 0]] = False
        more_rows, more = np.nonzero(absent)
        rows = np.concatenate([rows, more_rows.astype(np.int32)])
        attributes = np.concatenate([attributes, implied[more]])
        order = np.lexsort((attributes, rows))
        return rows[order], attributes[order], np.concatenate([cells, np.zeros(len(more))])[order]

    def finish(self) -> tuple[Any, sp.csr_array, sp.csr_array | None]:
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(self.lengths))])
        indices = _joined(self.indices)
        values = _joined(self.values)
        if len(indices) <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        X = sp.csr_array((values, indices, indptr), shape=(self.labels.n_rows, len(self.plan.feature_names)))
        return X, *self.labels.finish()


class DenseColumns:
    """Builds X (array), Y and observed from blocks of dense rows."""

    def __init__(self, plan: ColumnPlan) -> None:
        self.plan = plan
        self.labels = LabelParts(len(plan.label_names))
        self.X: list[Floats] = []

    def add(self, block: Floats) -> None:
        n_rows, plan = len(block), self.plan
        attributes = np.arange(block.shape[1])
        rows = np.repeat(np.arange(n_rows), np.count_nonzero(plan.is_label))
        columns, values = plan.place(np.tile(attributes[plan.is_label], n_rows), block[:, plan.is_label].ravel())
        self.labels.add(n_rows, rows, columns, values)
        if plan.plain:
            self.X.append(block[:, ~plan.is_label].astype(plan.dtype, copy=False))
            return
        X = np.zeros((n_rows, len(plan.feature_names)), plan.dtype)
        for attribute in attributes[~plan.is_label]:
            columns, values = plan.place(np.repeat(attribute, n_rows), block[:, attribute])
            X[np.arange(n_rows), columns] = values
        self.X.append(X)

    def finish(self) -> tuple[Any, sp.csr_array, sp.csr_array | None]:
        return _joined(self.X), *self.labels.finish()


def _joined(parts: list[Any]) -> Any:
    """One array out of the parts, which are let go."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


# -- writing -----------------------------------------------------------------------------------------------------------


def write_arff(data: LabelData, path: AnyPath, relation: str, *, labels_first: bool, lossy: bool) -> None:
    """Write dense ARFF for an array, sparse ARFF for a sparse matrix; `?` where a label is unknown.

    ARFF has no place for item ids and for `items`: with `lossy=True` they are left out, otherwise that is an error.
    """
    refuse_losses(data, path, "ARFF", ("feature_names", "label_names"), lossy)
    names = data.feature_names or tuple(f"x{column}" for column in range(data.n_features))
    if (twice := repeated((*names, *data.label_names))) is not None:
        raise FormatError(f"the name {twice!r} stands for two attributes; rename a feature or a label", path)
    features = [f"@attribute {quote(name)} numeric\n" for name in names]
    labels = [f"@attribute {quote(name)} {{0,1}}\n" for name in data.label_names]
    lines = _sparse_lines if sp.issparse(data.X) else _dense_lines
    with writing(path) as file:
        attributes = labels + features if labels_first else features + labels
        file.write(f"@relation {quote(relation)}\n\n{''.join(attributes)}\n@data\n".encode())
        for start in range(0, data.n_items, ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, data.n_items))
            file.write("\n".join([*lines(data, rows, labels_first), ""]).encode())


def _dense_lines(data: LabelData, rows: slice, labels_first: bool) -> list[str]:
    features = [list(map(format_number, row)) for row in np.asarray(data.X[rows], np.float64).tolist()]
    labels = _label_cells(data, rows).tolist()
    sides = (labels, features) if labels_first else (features, labels)
    return [",".join(left + right) for left, right in zip(*sides, strict=True)]


def _sparse_lines(data: LabelData, rows: slice, labels_first: bool) -> list[str]:
    shift, label_shift = (data.n_labels, 0) if labels_first else (0, data.n_features)
    features = sparse_cells(data.X[rows], shift, " ")
    cells = _label_cells(data, rows)
    labels: list[list[str]] = [[] for _ in cells]
    which, columns = np.nonzero(cells != "0")
    for row, column, cell in zip(which.tolist(), columns.tolist(), cells[which, columns].tolist(), strict=True):
        labels[row].append(f"{column + label_shift} {cell}")
    sides = (labels, features) if labels_first else (features, labels)
    return [f"{{{','.join(left + right)}}}" for left, right in zip(*sides, strict=True)]


def _label_cells(data: LabelData, rows: slice) -> npt.NDArray[np.str_]:
    """(rows, q) of "0", "1" and "?"."""
    cells = np.where(data.Y[rows].toarray(), "1", "0")
    return cells if data.observed is None else np.where(data.observed[rows].toarray(), cells, "?")
