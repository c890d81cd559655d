"""Features of a pool that is never loaded whole: rows in files, of which some are read when somebody needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import FormatError
from labelwise.data.shard_columns import ChosenColumns, RowRange, WideShard, column_range
from labelwise.data.shard_files import ArrayShard, FileShard, IndexArray, ParquetShard, Shard, open_shard
from labelwise.files import AnyPath

BLOCK_BYTES = 2**25  # of dense features in a block
SPARSE_BLOCK = 2**14  # sparse rows in a block


@dataclass(frozen=True, eq=False)
class ShardedFeatures:
    """Features (n, d) in shards: .npy files, mapped; .npz files, dense or sparse; parquet files; arrays.

    It stands where a matrix of features stands in `LabelData`. Rows are read when they are asked for, `X[rows]`, and a
    pool is read by `blocks`. It holds no open file and can be pickled, so that a block may be read elsewhere.

    Parameters
    ----------
    shards : the parts in order; `ShardedFeatures.open` makes them of files, `ShardedFeatures.of` of arrays

    Attributes
    ----------
    shape : (n, d)
    dtype : float32 where every shard is, else float64
    is_sparse : whether rows come as csr_array

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.save(folder / "0.npy", np.eye(3, 2, dtype=np.float32))
    >>> np.save(folder / "1.npy", np.ones((2, 2), dtype=np.float32))
    >>> X = ShardedFeatures.open(sorted(folder.iterdir()))
    >>> X.shape, X.dtype, X[[4, 0]].tolist()
    ((5, 2), dtype('float32'), [[1.0, 1.0], [1.0, 0.0]])
    >>> [(part.start, part.stop) for part, rows in X.blocks(2)]
    [(0, 2), (2, 3), (3, 5)]
    """

    shards: tuple[Shard, ...]

    def __post_init__(self) -> None:
        if not self.shards:
            raise ValueError("there are no shards: give at least one file or array")
        for shard in self.shards[1:]:
            if shard.shape[1] != self.shape[1]:
                raise FormatError(
                    f"this shard has {shard.shape[1]} features, the first has {self.shape[1]}: all must have the same; "
                    "write it again or take it out",
                    _path(shard),
                )
            if shard.is_sparse != self.is_sparse:
                kinds = ("dense", "sparse")
                raise FormatError(
                    f"this shard is {kinds[shard.is_sparse]}, the first is {kinds[self.is_sparse]}: convert one",
                    _path(shard),
                )

    @classmethod
    def open(
        cls, paths: Iterable[AnyPath], *, features: Sequence[str] | None = None, others: Sequence[str] = ()
    ) -> ShardedFeatures:
        """Files in the order given; `features` names parquet columns, by default all but `others`."""
        named = None if features is None else tuple(features)
        return cls(tuple(open_shard(Path(path), named, tuple(others)) for path in paths))

    @classmethod
    def of(cls, *arrays: Any) -> ShardedFeatures:
        """Arrays, memory-mapped or not, or sparse matrices, one under the other."""
        return cls(tuple(ArrayShard(sp.csr_array(array) if sp.issparse(array) else array) for array in arrays))

    @property
    def shape(self) -> tuple[int, int]:
        return (int(self._starts[-1]), self.shards[0].shape[1])

    @property
    def ndim(self) -> int:
        return 2

    @property
    def is_sparse(self) -> bool:
        return self.shards[0].is_sparse

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        single = all(shard.dtype == np.float32 for shard in self.shards)
        return np.dtype(np.float32 if single else np.float64)

    @cached_property
    def _starts(self) -> npt.NDArray[np.int64]:
        """(s + 1,) the first row of each shard, and the number of rows."""
        return np.concatenate([[0], np.cumsum([shard.shape[0] for shard in self.shards])]).astype(np.int64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        """Rows as an array or csr_array: a slice, indices or a mask. `X[:, columns]` is in shards itself."""
        if isinstance(rows, tuple):
            return self._of_columns(*rows)
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            return self._range(start, stop) if step == 1 else self.rows(np.arange(start, stop, step))
        places = np.asarray(rows)
        if places.ndim != 1:
            raise IndexError(f"rows must be a slice, a list of indices or a mask, got {rows!r}")
        return self.rows(np.arange(self.shape[0])[places if places.size else places.astype(np.intp)])

    def rows(self, indices: IndexArray) -> Any:
        """The rows at these places, in this order; each shard is read once, and only where it has some."""
        indices = np.asarray(indices, dtype=np.intp)
        if indices.size and (indices.min() < 0 or indices.max() >= self.shape[0]):
            raise IndexError(f"rows must lie in 0..{self.shape[0] - 1}, got {indices.min()}..{indices.max()}")
        number = np.searchsorted(self._starts, indices, side="right") - 1
        if indices.size and number.min() == number.max():
            shard = int(number[0])
            return self._converted(self.shards[shard].rows(indices - self._starts[shard]))
        order = np.argsort(number, kind="stable")
        parts = []
        for shard in np.unique(number).tolist():
            mine = order[number[order] == shard]
            parts.append(self._converted(self.shards[shard].rows(indices[mine] - self._starts[shard])))
        back = np.empty(indices.size, dtype=np.intp)
        back[order] = np.arange(indices.size)
        return self._stacked(parts)[back]

    def blocks(self, size: int | None = None) -> Iterator[tuple[slice, Any]]:
        """Go through the pool: slices of at most `size` rows of one shard, and the rows."""
        for part in self.parts(size):
            yield slice(part.start, part.start + part.n_rows), part.load()

    def parts(self, size: int | None = None) -> list[FeaturePart]:
        """The blocks of `blocks`, not loaded yet."""
        wide = max(1, self.shape[1]) * self.dtype.itemsize
        size = size or (SPARSE_BLOCK if self.is_sparse else max(1, BLOCK_BYTES // wide))
        parts = []
        for first, last in zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True):
            parts += [FeaturePart(self, at, min(size, last - at)) for at in range(first, last, size)]
        return parts

    def append(self, more: Any) -> ShardedFeatures:
        """These rows and then those of `more`, an array or another ShardedFeatures."""
        others = more.shards if isinstance(more, ShardedFeatures) else (ArrayShard(more),)
        return ShardedFeatures(self.shards + others)

    def with_columns(self, more: Any) -> ShardedFeatures:
        """The same rows with more columns (n, k) behind the others.

        Columns of another ShardedFeatures stay in their files, and rows are sparse where either has sparse ones. A
        matrix stays in memory, so let it be sparse.
        """
        columns = more if isinstance(more, ShardedFeatures) else sp.csr_array(more)
        if columns.shape[0] != self.shape[0]:
            raise ValueError(f"there are {self.shape[0]} rows, but {columns.shape[0]} of the new columns")
        wide: list[Shard] = []
        for shard, start, stop in zip(self.shards, self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True):
            if isinstance(columns, ShardedFeatures):
                dtype = np.dtype(np.float32 if self.dtype == columns.dtype == np.float32 else np.float64)
                sparse = self.is_sparse or columns.is_sparse
                wide.append(WideShard(shard, RowRange(columns, start, stop), dtype, sparse))
            else:
                wide.append(WideShard(shard, ArrayShard(columns[start:stop]), shard.dtype, shard.is_sparse))
        return ShardedFeatures(tuple(wide))

    def only_columns(self, columns: IndexArray) -> ShardedFeatures:
        """The same rows with some of the columns."""
        chosen = np.asarray(columns)
        if chosen.size and (np.diff(chosen) == 1).all():
            return self[:, int(chosen[0]) : int(chosen[-1]) + 1]
        return ShardedFeatures(tuple(ChosenColumns(shard, chosen) for shard in self.shards))

    def read_columns(self, start: int, stop: int) -> sp.csr_array:
        """(n, k) columns of all rows, in memory; of those that are there already no file is read."""
        parts = (sp.csr_array(shard.rows(slice(0, shard.shape[0]))) for shard in self[:, start:stop].shards)
        return sp.csr_array(sp.vstack(list(parts), format="csr"))

    def _of_columns(self, rows: Any, columns: Any) -> ShardedFeatures:
        if not (isinstance(rows, slice) and rows == slice(None)):
            raise IndexError(f"take columns of all rows, X[:, columns], or rows first, got rows {rows!r}")
        if not isinstance(columns, slice):
            return self.only_columns(np.arange(self.shape[1])[columns])
        start, stop, step = columns.indices(self.shape[1])
        if step != 1:
            return self.only_columns(np.arange(start, stop, step))
        return ShardedFeatures(tuple(column_range(shard, start, max(start, stop)) for shard in self.shards))

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        """Refused: what takes an array would load the pool whole."""
        raise TypeError(
            f"these {self.shape[0]} × {self.shape[1]} features are in shards and are not loaded whole; take rows, "
            "X[rows], walk X.blocks(), or use labelwise.Campaign, which does"
        )

    def _range(self, start: int, stop: int) -> Any:
        """Rows start to stop, without a list of them, so that mapped files need not be copied."""
        first, last = (int(np.searchsorted(self._starts, at, side="right")) - 1 for at in (start, max(start, stop - 1)))
        if start >= stop:
            return self._stacked([])
        parts = []
        for number in range(first, last + 1):
            base = int(self._starts[number])
            inside = slice(max(start - base, 0), min(stop - base, self.shards[number].shape[0]))
            parts.append(self._converted(self.shards[number].rows(inside)))
        return self._stacked(parts)

    def _converted(self, rows: Any) -> Any:
        return rows if rows.dtype == self.dtype else rows.astype(self.dtype)

    def _stacked(self, parts: list[Any]) -> Any:
        if len(parts) == 1:
            return parts[0]
        if self.is_sparse:
            return sp.vstack(parts, format="csr") if parts else sp.csr_array((0, self.shape[1]), dtype=self.dtype)
        return np.concatenate(parts) if parts else np.empty((0, self.shape[1]), dtype=self.dtype)


@dataclass(frozen=True, eq=False)
class FeaturePart:
    """Consecutive rows that are loaded when asked for, here or on another machine that sees the same files.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "0.npy")
    >>> np.save(file, np.eye(3))
    >>> FeaturePart(ShardedFeatures.open([file]), start=1, n_rows=2).load()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """

    features: ShardedFeatures
    start: int
    n_rows: int

    def load(self, rows: IndexArray | None = None) -> Any:
        """All its rows, or some, counted from its first."""
        if rows is None:
            return self.features[self.start : self.start + self.n_rows]
        return self.features.rows(self.start + rows)


def _path(shard: Shard) -> str | None:
    return shard.path if isinstance(shard, FileShard | ParquetShard) else None
