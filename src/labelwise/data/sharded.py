"""Features of a pool that is never loaded whole: rows in files, of which some are read when somebody needs them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import DAMAGED, UNREADABLE, FormatError
from labelwise.data.formats.parquet import column_values, pyarrow, valid_parquet
from labelwise.data.reading import check_archive
from labelwise.files import AnyPath, split_name

IndexArray = npt.NDArray[np.intp]
Rows: TypeAlias = IndexArray | slice
CURE = "write the shard again, or take it out of the folder"
SUFFIXES = (".npy", ".npz", ".parquet")


class Shard(Protocol):
    """Some consecutive rows of a pool."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    @property
    def is_sparse(self) -> bool: ...

    def rows(self, rows: Rows) -> Any:
        """Rows of the shard, counted from its first, as an array or csr_array of float."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayShard:
    """Rows that are in memory, or memory-mapped by somebody else."""

    array: Any  # (n, d) array or csr_array of float

    @property
    def shape(self) -> tuple[int, int]:
        return (int(self.array.shape[0]), int(self.array.shape[1]))

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.array.dtype)

    @property
    def is_sparse(self) -> bool:
        return bool(sp.issparse(self.array))

    def rows(self, rows: Rows) -> Any:
        return self.array[rows] if self.is_sparse else np.asarray(self.array[rows])


# Of a file when it was opened: bytes, and when it last changed; 0 on another machine, whose copy may have another time.
Stamp: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class FileShard:
    """A .npy file, mapped into memory, so that only what is asked for is read; or a .npz file, loaded as a whole."""

    path: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    is_sparse: bool
    stamp: Stamp

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stamp": (self.stamp[0], 0)}

    def rows(self, rows: Rows) -> Any:
        _check_unchanged(self.path, self.stamp)
        whole = _mapped(self.path) if self.path.lower().endswith(".npy") else _unpacked(self.path, self.stamp)
        return whole[rows] if self.is_sparse else np.asarray(whole[rows])


@dataclass(frozen=True)
class ParquetShard:
    """A parquet file of numeric columns, or of one column of lists of numbers, read row group by row group."""

    path: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    columns: tuple[str, ...]
    ends: tuple[int, ...]  # of the row groups
    stamp: Stamp
    is_sparse = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stamp": (self.stamp[0], 0)}

    def rows(self, rows: Rows) -> npt.NDArray[Any]:
        _check_unchanged(self.path, self.stamp)
        wanted = np.arange(self.shape[0])[rows]
        result = np.empty((wanted.size, self.shape[1]), dtype=self.dtype)
        group = np.searchsorted(self.ends, wanted, side="right")
        for number in np.unique(group).tolist():
            start = self.ends[number - 1] if number else 0
            mine = np.flatnonzero(group == number)
            result[mine] = _row_group(self.path, number, self.columns, self.stamp)[wanted[mine] - start]
        return result


@dataclass(frozen=True, eq=False)
class OtherColumns:
    """A shard seen with other columns, of the same kind of numbers."""

    shard: Shard

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.shard.dtype

    @property
    def is_sparse(self) -> bool:
        return self.shard.is_sparse


@dataclass(frozen=True, eq=False)
class WideShard(OtherColumns):
    """A shard with more columns behind its own, which are in memory."""

    more: sp.csr_array  # (n, k)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.shard.shape[0], self.shard.shape[1] + int(self.more.shape[1]))

    def rows(self, rows: Rows) -> Any:
        own, more = self.shard.rows(rows), self.more[rows].astype(self.dtype)
        return (
            sp.csr_array(sp.hstack([own, more], format="csr")) if self.is_sparse else np.hstack([own, more.toarray()])
        )


@dataclass(frozen=True, eq=False)
class ChosenColumns(OtherColumns):
    """Some columns of a shard."""

    columns: IndexArray  # (k,)

    @property
    def shape(self) -> tuple[int, int]:
        return (self.shard.shape[0], self.columns.size)

    def rows(self, rows: Rows) -> Any:
        return self.shard.rows(rows)[:, self.columns]


def open_shard(path: Path, features: tuple[str, ...] | None = None, others: tuple[str, ...] = ()) -> Shard:
    """A file as a shard; for parquet, `features` names its columns, or all are but for `others`."""
    suffix = split_name(path)[1]
    if not path.exists():
        raise FileNotFoundError(f"there is no shard {str(path)!r}: check the path, or list only shards that exist")
    if suffix == ".parquet":
        return _open_parquet(path, features, others)
    if suffix not in SUFFIXES:
        raise FormatError(f"a shard must be a file of {', '.join(SUFFIXES)}; convert it or take it out", path)
    stamp = _stamp(path)
    whole = _mapped(str(path)) if suffix == ".npy" else _unpacked(str(path), stamp)
    if whole.ndim != 2 or whole.dtype.kind not in "fiub":
        raise FormatError(
            f"a shard must hold numbers in two dimensions (items, features), found {whole.dtype} of shape "
            f"{whole.shape}; {CURE}",
            path,
        )
    return FileShard(str(path), _shape(whole.shape), np.dtype(whole.dtype), bool(sp.issparse(whole)), stamp)


def _mapped(path: str) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except DAMAGED as error:
        raise FormatError(f"this is not a whole .npy file ({_first_line(error)}); {CURE}", path) from None
    return array


@lru_cache(maxsize=1)
def _unpacked(path: str, stamp: Stamp) -> Any:
    """The array of a .npz file, made by `scipy.sparse.save_npz` or with the one array X; the last one is kept."""
    try:
        check_archive(path)
        with np.load(path, allow_pickle=False) as file:
            names = list(file.files)
            if "format" not in names:
                if names != ["X"] and len(names) != 1:
                    raise FormatError(f"found the arrays {', '.join(names)}, expected one, X; {CURE}", path)
                return np.asarray(file[names[0]])  # bytes, where it is no array
        rows = sp.csr_array(sp.load_npz(path))
        rows.check_format(full_check=True)  # an index outside would be read from anywhere in memory
        return rows
    except FormatError:
        raise
    except UNREADABLE as error:
        raise FormatError(f"this is not a whole .npz file ({_first_line(error)}); {CURE}", path) from None


def _open_parquet(path: Path, features: tuple[str, ...] | None, others: tuple[str, ...]) -> ParquetShard:
    _, parquet = pyarrow()
    with valid_parquet(path, "whole", CURE):
        file = parquet.ParquetFile(path)
    names = tuple(file.schema_arrow.names)
    columns = features or tuple(name for name in names if name not in others)
    missing = [name for name in columns if name not in names]
    if missing or not columns:
        raise FormatError(f"there is no column {missing[0]!r}" if missing else "there are no feature columns", path)
    meta = file.metadata
    ends = np.cumsum([meta.row_group(group).num_rows for group in range(meta.num_row_groups)])
    stamp = _stamp(path)
    if meta.num_rows == 0:
        raise FormatError(f"there is no row; {CURE}", path)
    first = _row_group(str(path), 0, columns, stamp)
    return ParquetShard(
        str(path), (int(meta.num_rows), first.shape[1]), first.dtype, columns, tuple(ends.tolist()), stamp
    )


@lru_cache(maxsize=2)
def _row_group(path: str, number: int, columns: tuple[str, ...], stamp: Stamp) -> npt.NDArray[Any]:
    """(n, d) the features of one row group; the last two are kept."""
    arrow, parquet = pyarrow()
    try:
        table = parquet.ParquetFile(path).read_row_group(number, columns=list(columns))
    except (arrow.ArrowException, OSError, *DAMAGED) as error:
        raise FormatError(f"row group {number} cannot be read ({_first_line(error)}); {CURE}", path) from None
    parts = []
    for name in columns:
        values = column_values(arrow, table.column(name))
        if not isinstance(values, np.ndarray):
            raise FormatError(
                f"the column {name!r} of row group {number} holds blanks or no numbers: fill them in, or say features=",
                path,
            )
        parts.append(values.reshape(len(values), -1))
    return parts[0] if len(parts) == 1 else np.hstack(parts)


def _stamp(path: Path) -> Stamp:
    return path.stat().st_size, path.stat().st_mtime_ns


def _check_unchanged(path: str, stamp: Stamp) -> None:
    if not Path(path).exists():
        raise FileNotFoundError(f"the shard {path!r} is gone: put it back, or open the pool again without it")
    size, changed = _stamp(Path(path))
    if size != stamp[0] or stamp[1] not in (0, changed):
        raise FormatError("this shard has changed since the pool was opened; open the pool again", path)


def _shape(shape: tuple[int, ...]) -> tuple[int, int]:
    return (int(shape[0]), int(shape[1]))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


# -- all shards of a pool ---------------------------------------------------------------------------------------------


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
        """Rows as an array or csr_array: a slice, indices or a mask."""
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
        """The same rows with more columns (n, k) behind the others; they stay in memory, so let them be sparse."""
        columns = sp.csr_array(more)
        if columns.shape[0] != self.shape[0]:
            raise ValueError(f"there are {self.shape[0]} rows, but {columns.shape[0]} of the new columns")
        ends = zip(self.shards, self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True)
        return ShardedFeatures(tuple(WideShard(shard, columns[start:stop]) for shard, start, stop in ends))

    def only_columns(self, columns: IndexArray) -> ShardedFeatures:
        """The same rows with some of the columns."""
        return ShardedFeatures(tuple(ChosenColumns(shard, np.asarray(columns)) for shard in self.shards))

    def read_columns(self, start: int, stop: int) -> sp.csr_array:
        """(n, k) columns of all rows, in memory; of those that are there already no file is read."""
        return sp.csr_array(sp.vstack([_columns(shard, start, stop) for shard in self.shards], format="csr"))

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


def _columns(shard: Shard, start: int, stop: int) -> sp.csr_array:
    if isinstance(shard, WideShard):
        width = shard.shard.shape[1]
        if start >= width:
            return sp.csr_array(shard.more[:, start - width : stop - width])
        if stop <= width:
            return _columns(shard.shard, start, stop)
    return sp.csr_array(shard.rows(slice(0, shard.shape[0]))[:, start:stop])


def _path(shard: Shard) -> str | None:
    return shard.path if isinstance(shard, FileShard | ParquetShard) else None
