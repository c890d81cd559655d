"""From the cells of ARFF attributes to the columns of X and Y: labels apart, nominal features one-hot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data._arff_header import Attribute
from labelwise.data._arff_rows import SparseBlock
from labelwise.data.errors import Problem, shown

TRUTH = {"0": 0.0, "1": 1.0, "false": 0.0, "true": 1.0}  # what the values of a label may be called
Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.floating[Any]]


def columns_of(attribute: Attribute, is_label: bool) -> tuple[list[str], list[int], list[float]]:
    """The columns an attribute becomes; for each of its nominal values, which of them it sets, and to what.

    >>> columns_of(Attribute("size", ("S", "M")), is_label=False)
    (['size=S', 'size=M'], [0, 1], [1.0, 1.0])
    >>> columns_of(Attribute("word", ("0", "1")), is_label=False)
    (['word'], [0, 0], [0.0, 1.0])
    """
    values = attribute.values
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
