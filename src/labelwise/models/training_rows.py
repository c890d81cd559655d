"""The rows a model has learnt from: answers about an item seen before are put to that item's row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, IntArray
from labelwise.numerics.recovery.row_completion import telling_rows

COMPLETE_ROWS = 30  # with so many rows answered in full, a kernel is chosen on them alone
COMPLETION_ROUNDS = 3  # else: complete the rows, choose again, and so on


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Labels and mask of the distinct rows, in order of arrival.

    An (item, label) answer arrives as a row of its own, with the item's features and one known label. Kept apart,
    thousands of them would each be a training row; put together they are the one item they are about, which gives the
    same regression. Two answers to the same question stay two rows: each tells something.
    """

    Y: BoolArray  # (n, q)
    observed: BoolArray  # (n, q)
    open_rows: dict[str, tuple[int, ...]] = field(default_factory=dict)  # incomplete rows by their features

    @classmethod
    def none(cls, n_labels: int) -> TrainingRows:
        empty = np.zeros((0, n_labels), dtype=bool)
        return cls(empty, empty)

    def __len__(self) -> int:
        return self.Y.shape[0]

    def take(self, rows: IntArray) -> TrainingRows:
        """Some of the rows; those among them that are incomplete stay open."""
        number = {int(row): i for i, row in enumerate(rows)}
        kept = {key: tuple(number[row] for row in old if row in number) for key, old in self.open_rows.items()}
        return TrainingRows(self.Y[rows], self.observed[rows], {key: new for key, new in kept.items() if new})

    def add(self, X: Any, Y: BoolArray, observed: BoolArray) -> tuple[TrainingRows, IntArray]:
        """The rows with these answers added, and which of the rows of X are new ones."""
        n, incomplete = len(self), np.flatnonzero(~observed.all(axis=1))
        masks = {row: self.observed[row].copy() for rows in self.open_rows.values() for row in rows}
        hosts: dict[int, int] = {}  # row of X: the row it is about; rows of X are numbered from n on for now
        open_rows = dict(self.open_rows)
        for i, key in row_keys(X, incomplete):
            known = open_rows.get(key, ())
            host = next((row for row in known if not (masks[row] & observed[i]).any()), None)
            if host is None:
                open_rows[key] = (*known, n + i)
                masks[n + i] = observed[i].copy()
            else:
                masks[host] |= observed[i]
                hosts[i] = host
        is_new = np.ones(X.shape[0], dtype=bool)
        is_new[list(hosts)] = False
        number = np.concatenate([np.arange(n), n + np.cumsum(is_new) - 1])  # final numbers, merged rows left out
        new = np.flatnonzero(is_new)
        all_Y, all_observed = np.vstack([self.Y, (Y & observed)[new]]), np.vstack([self.observed, observed[new]])
        for i, host in hosts.items():
            all_Y[number[host]] |= Y[i] & observed[i]
            all_observed[number[host]] |= observed[i]
        numbered = {key: tuple(int(number[row]) for row in rows) for key, rows in open_rows.items()}
        return TrainingRows(all_Y, all_observed, numbered), new


def row_keys(X: Any, rows: IntArray) -> list[tuple[int, str]]:
    """The given rows with their features as text, which files of models can hold: equal for equal rows, however their
    zeros are stored.
    """
    if rows.size == 0:
        return []
    part = X[rows].astype(np.float64)
    if sp.issparse(part):
        part = sp.csr_array(part)
        part.sum_duplicates()
        part.eliminate_zeros()
        indices, data = part.indices.astype(np.int64), part.data
        bounds = zip(part.indptr[:-1], part.indptr[1:], strict=True)
        keys = [(indices[a:b].tobytes() + data[a:b].tobytes()).hex() for a, b in bounds]
    else:
        keys = [row.tobytes().hex() for row in part + 0.0]  # −0.0 becomes 0.0
    return list(zip(rows.tolist(), keys, strict=True))


def shaping_rows(observed: BoolArray) -> IntArray:
    """The rows that codes or components of labels are learnt from: those with a good share of the labels known, if they
    are enough or hold most of the answers; otherwise all.

    A single answer does not say which code or component an item has. Hundreds of such items would make components of
    their own, and teach a regression no more than what it believes already.

    >>> shaping_rows(np.array([[True] * 9, [True] * 9, [True] + [False] * 8]))
    array([0, 1])
    >>> shaping_rows(np.eye(3, dtype=bool))
    array([0, 1, 2])
    """
    telling = telling_rows(observed)
    enough = telling.size >= COMPLETE_ROWS or 2 * observed[telling].sum() >= observed.sum()
    return telling if enough else np.arange(len(observed))
