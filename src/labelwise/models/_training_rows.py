"""The rows a model has learnt from: answers about an item seen before are put to that item's row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.models.base import BoolArray

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Labels and mask of the distinct rows, in order of arrival.

    An (item, label) answer arrives as a row of its own, with the item's features and one known label. Kept apart,
    thousands of them would each be a training row; put together they are the one item they are about, which gives the
    same regression. Two answers to the same question stay two rows: each tells something.
    """

    Y: BoolArray  # (n, q)
    observed: BoolArray  # (n, q)
    open_rows: dict[bytes, tuple[int, ...]] = field(default_factory=dict)  # incomplete rows by their features

    @classmethod
    def none(cls, n_labels: int) -> TrainingRows:
        empty = np.zeros((0, n_labels), dtype=bool)
        return cls(empty, empty)

    def __len__(self) -> int:
        return self.Y.shape[0]

    def add(self, X: Any, Y: BoolArray, observed: BoolArray) -> tuple[TrainingRows, IntArray]:
        """The rows with these answers added, and which of the rows of X are new ones."""
        open_rows, next_row, target = dict(self.open_rows), len(self), np.full(X.shape[0], -1)
        masks = {row: self.observed[row].copy() for rows in open_rows.values() for row in rows} if open_rows else {}
        incomplete = np.flatnonzero(~observed.all(axis=1))
        keys = row_keys(X, incomplete)
        is_new = np.ones(X.shape[0], dtype=bool)
        for i in range(X.shape[0]):
            if (key := keys.get(i)) is not None:
                hosts = open_rows.get(key, ())
                host = next((row for row in hosts if not (masks[row] & observed[i]).any()), None)
                if host is not None:
                    masks[host] |= observed[i]
                    target[i], is_new[i] = host, False
                    continue
                open_rows[key] = (*hosts, next_row)
                masks[next_row] = observed[i].copy()
            target[i], next_row = next_row, next_row + 1
        all_Y = np.vstack([self.Y, np.zeros((next_row - len(self), Y.shape[1]), dtype=bool)])
        all_observed = np.vstack([self.observed, np.zeros((next_row - len(self), Y.shape[1]), dtype=bool)])
        np.logical_or.at(all_Y, target, Y & observed)
        np.logical_or.at(all_observed, target, observed)
        return TrainingRows(all_Y, all_observed, open_rows), np.flatnonzero(is_new)


def row_keys(X: Any, rows: IntArray) -> dict[int, bytes]:
    """The features of the given rows as bytes: equal for equal rows, however their zeros are stored."""
    part = X[rows].astype(np.float64)
    if sp.issparse(part):
        part = sp.csr_array(part)
        part.sum_duplicates()
        part.eliminate_zeros()
        indices, data = part.indices.astype(np.int64), part.data
        bounds = zip(part.indptr[:-1], part.indptr[1:], strict=True)
        found = [indices[a:b].tobytes() + data[a:b].tobytes() for a, b in bounds]
    else:
        found = [row.tobytes() for row in part + 0.0]  # −0.0 becomes 0.0
    return dict(zip(rows.tolist(), found, strict=True))
