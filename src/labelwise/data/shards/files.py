"""One file of a pool that is too large to load: its shape, and rows of it when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import DAMAGED, UNREADABLE, FormatError
from labelwise.data.formats.parquet import column_values, pyarrow, valid_parquet
from labelwise.data.reading import check_archive
from labelwise.files import split_name

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
