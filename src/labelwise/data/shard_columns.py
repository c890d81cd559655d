"""Shards seen otherwise: with the columns of other shards beside their own, or with some of their columns or rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.data.shard_files import IndexArray, Rows, Shard


@dataclass(frozen=True, eq=False)
class WideShard:
    """A shard with the columns of another behind its own, of the same items."""

    shard: Shard
    more: Shard
    dtype: np.dtype[Any]
    is_sparse: bool

    @property
    def shape(self) -> tuple[int, int]:
        return (self.shard.shape[0], self.shard.shape[1] + self.more.shape[1])

    def rows(self, rows: Rows) -> Any:
        parts = [part.rows(rows).astype(self.dtype, copy=False) for part in (self.shard, self.more)]
        if self.is_sparse:
            return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts], format="csr"))
        return np.hstack([part.toarray() if sp.issparse(part) else part for part in parts])


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """Some columns of a shard, of the same kind of numbers."""

    shard: Shard
    columns: IndexArray  # (k,)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.shard.shape[0], self.columns.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.shard.dtype

    @property
    def is_sparse(self) -> bool:
        return self.shard.is_sparse

    def rows(self, rows: Rows) -> Any:
        return self.shard.rows(rows)[:, self.columns]


@dataclass(frozen=True, eq=False)
class RowRange:
    """Consecutive rows of features in shards, as a shard of their own."""

    X: Any  # ShardedFeatures
    start: int
    stop: int

    @property
    def shape(self) -> tuple[int, int]:
        return (self.stop - self.start, int(self.X.shape[1]))

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.X.dtype)

    @property
    def is_sparse(self) -> bool:
        return bool(self.X.is_sparse)

    def rows(self, rows: Rows) -> Any:
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(self.stop - self.start)
            return self.X[self.start + start : self.start + max(start, stop)]
        return self.X[self.start + np.arange(self.stop - self.start)[rows]]


def column_range(shard: Shard, start: int, stop: int) -> Shard:
    """The columns from `start` to `stop`: of columns side by side, only the files that hold some of them are read."""
    if start == 0 and stop == shard.shape[1]:
        return shard
    if isinstance(shard, WideShard):
        width = shard.shard.shape[1]
        if stop <= width:
            return column_range(shard.shard, start, stop)
        if start >= width:
            return column_range(shard.more, start - width, stop - width)
    if isinstance(shard, RowRange):
        return RowRange(shard.X[:, start:stop], shard.start, shard.stop)
    return ChosenColumns(shard, np.arange(start, stop))
