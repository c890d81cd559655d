"""Labels in tables: one column that lists them, or one column each; and back."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data._table import Table, TableLayout, is_blank
from labelwise.data.errors import FormatError, Problem, shown
from labelwise.records import LabelData

TRUTH = {"0": 0.0, "0.0": 0.0, "false": 0.0, "1": 1.0, "1.0": 1.0, "true": 1.0}
Labels = tuple[sp.csr_array, sp.csr_array | None, tuple[str, ...]]  # Y, observed, names


def read_labels(table: Table, layout: TableLayout) -> Labels:
    """Y, observed and the names of the labels."""
    table.need(layout.label_columns, "labels")
    if layout.labels is None:
        names = layout.known_names() or ()
        nothing = sp.csr_array((table.n_rows, len(names)), dtype=bool)
        return nothing, nothing.copy(), names
    if isinstance(layout.labels, str):
        tags = table.each(layout.labels, lambda cell: parse_tags(cell, layout.separator))
        return _from_tags(table, layout.labels, tags, layout.known_names())
    names = tuple(layout.labels)
    if len(set(names)) < len(names):
        raise FormatError(f"labels= names a column twice: {shown(names, 200)}", table.path)
    values = np.array([table.each(name, parse_truth) for name in names], np.float64).T.reshape(-1, len(names))  # (n, q)
    known = ~np.isnan(values)
    return sp.csr_array(values == 1.0), (None if known.all() else sp.csr_array(known)), names


def parse_tags(cell: Any, separator: str) -> list[str] | None:
    """The labels that a cell lists, or None where it is blank: nothing is known.

    >>> parse_tags("red; round", ";"), parse_tags(";", ";"), parse_tags("", ";")
    (['red', 'round'], [], None)
    """
    if isinstance(cell, str) and not separator.strip() and cell == separator:
        return []  # a blank separator: a cell of it alone is not a blank cell
    if is_blank(cell):
        return None
    if isinstance(cell, str):
        if cell.strip() == separator.strip():
            return []
        names = [name.strip() for name in cell.split(separator)]
    elif isinstance(cell, list | tuple):
        names = [str(name) for name in cell if isinstance(name, str | int)]
        if len(names) < len(cell):
            raise Problem(f"found {shown(cell)}, expected a list of label names")
    elif isinstance(cell, int):
        names = [str(cell)]
    else:
        raise Problem(f"found {shown(cell)}, expected label names joined by {separator!r} or a list of them")
    if "" in names:
        raise Problem(f"found {shown(cell)}, which holds an empty label name; {separator!r} alone means no label")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Problem(f"the label {twice!r} is given twice")
    return names


def parse_truth(cell: Any) -> float:
    """0.0 or 1.0, NaN where the cell is blank: unknown."""
    if is_blank(cell):
        return float("nan")
    value = TRUTH.get(str(cell).strip().lower())
    if value is None:
        raise Problem(f"found {shown(cell)}, expected 0, 1 or blank (unknown)")
    return value


def _from_tags(table: Table, column: str, tags: list[list[str] | None], given: tuple[str, ...] | None) -> Labels:
    names = tuple(sorted({name for found in tags for name in found or ()})) if given is None else given
    if not names:
        raise FormatError(f"column {column!r} holds no label at all; list the labels with label_names=", table.path)
    if len(set(names)) < len(names):
        raise FormatError(f"label_names= holds a name twice: {shown(names, 200)}", table.path)
    place = {name: label for label, name in enumerate(names)}
    rows: list[int] = []
    labels: list[int] = []
    for row, found in enumerate(tags):
        for name in found or ():
            if name not in place:
                raise table.wrong(row, f"column {column!r}: found the label {name!r}, which is not in label_names=")
            rows.append(row)
            labels.append(place[name])
    shape = (len(tags), len(names))
    Y = sp.csr_array((np.ones(len(rows), dtype=bool), (rows, labels)), shape=shape)
    known = np.array([found is not None for found in tags])
    observed = None if known.all() else sp.csr_array(np.broadcast_to(known[:, None], shape))
    return Y, observed, names


def label_columns(data: LabelData) -> dict[str, list[int | None]]:
    """One column per label with 0, 1 and None for unknown."""
    values: npt.NDArray[Any] = data.Y.toarray().astype(object).astype(int).astype(object)
    if data.observed is not None:
        values[~data.observed.toarray()] = None
    return dict(zip(data.label_names, values.T.tolist(), strict=True))


def label_lists(data: LabelData) -> list[list[str] | None]:
    """The labels present on each item, None where nothing is known of it; one column cannot say more."""
    Y = sp.csr_array(data.Y, copy=True)
    Y.sort_indices()
    ends, names = Y.indptr.tolist(), [data.label_names[label] for label in Y.indices.tolist()]
    lists: list[list[str] | None] = [names[start:stop] for start, stop in itertools.pairwise(ends)]
    if data.observed is None:
        return lists
    counts = np.diff(sp.csr_array(data.observed).indptr)  # (n,)
    partial = np.flatnonzero((counts > 0) & (counts < data.n_labels))
    if len(partial):
        item = data.item_ids[partial[0]]
        raise Problem(
            f"only some labels of item {item!r} are known, which one column of labels cannot say; "
            "use labels=None to write one column per label"
        )
    return [found if count else None for found, count in zip(lists, counts.tolist(), strict=True)]


def join_tags(names: Sequence[str] | None, separator: str) -> str:
    """The inverse of `parse_tags` for a text cell."""
    if names is None:
        return ""
    joined = separator.join(names) if names else separator
    if parse_tags(joined, separator) != list(names):
        raise Problem(f"the labels {shown(list(names))} cannot be joined by {separator!r}; choose another separator=")
    return joined
