"""Shards: consecutive rows of a pool, in a file that is read when somebody needs them, or in memory."""

from __future__ import annotations

import struct
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

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
    """A .npy file, or a sparse .npz file that is not compressed: mapped, so that only what is asked for is read.

    Any other .npz file is loaded as a whole.
    """

    path: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    is_sparse: bool
    stamp: Stamp

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stamp": (self.stamp[0], 0)}

    def rows(self, rows: Rows) -> Any:
        _check_unchanged(self.path, self.stamp)
        layout = _csr_layout(self.path, self.stamp) if self.is_sparse else None
        if layout is not None:
            return _mapped_rows(self.path, layout, rows)
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
    layout = _csr_layout(str(path), stamp) if suffix == ".npz" else None
    if layout is not None:
        return FileShard(str(path), layout.shape, np.dtype(layout.data.dtype), True, stamp)
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


class MappedArray(NamedTuple):
    """Where the numbers of an array are in a file."""

    offset: int
    dtype: str
    size: int

    def of(self, path: str) -> npt.NDArray[Any]:
        if self.size == 0:  # nothing can be mapped
            return np.empty(0, dtype=self.dtype)
        return np.memmap(path, dtype=self.dtype, mode="r", offset=self.offset, shape=(self.size,))


class CsrLayout(NamedTuple):
    """Where the three arrays of a csr matrix are in a file."""

    shape: tuple[int, int]
    data: MappedArray
    indices: MappedArray
    indptr: MappedArray


@lru_cache(maxsize=4096)
def _csr_layout(path: str, stamp: Stamp) -> CsrLayout | None:
    """Of a .npz file of `scipy.sparse.save_npz(..., compressed=False)` that is in order; None of any other."""
    try:
        with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if not {"format", "shape", "data", "indices", "indptr"} <= members.keys():
                return None
            if any(info.compress_type != zipfile.ZIP_STORED for info in members.values()):
                return None
            with np.load(path, allow_pickle=False) as saved:
                if saved["format"].item() not in (b"csr", "csr"):
                    return None
                n, d = map(int, saved["shape"])
            arrays = [_mapped_member(file, members[name]) for name in ("data", "indices", "indptr")]
            layout = CsrLayout((n, d), *arrays)
            ends = layout.indptr.of(path)
        rises = ends.size == n + 1 and ends[0] == 0 and bool((np.diff(ends) >= 0).all())
        fits = ends[-1] == layout.data.size == layout.indices.size and np.dtype(layout.indices.dtype).kind == "i"
        return layout if rises and fits else None
    except UNREADABLE:  # whoever loads it as a whole says what is wrong
        return None


def _mapped_member(file: Any, info: zipfile.ZipInfo) -> MappedArray:
    """An array of one dimension in an archive that does not compress it; its header comes first, see the zip format."""
    file.seek(info.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4))
    start = info.header_offset + 30 + name + extra
    file.seek(start)
    version = np.lib.format.read_magic(file)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    (size,), _, dtype = read_header(file)
    if dtype.kind not in "fiub" or not 0 <= size * dtype.itemsize <= start + info.file_size - file.tell():
        raise ValueError(f"an array of {size} {dtype} does not fit into {info.file_size} bytes")
    return MappedArray(file.tell(), dtype.str, int(size))


def _mapped_rows(path: str, layout: CsrLayout, rows: Rows) -> sp.csr_array:
    """Rows of a mapped csr matrix, in memory; only these are read."""
    data, indices, ends = (array.of(path) for array in (layout.data, layout.indices, layout.indptr))
    n, d = layout.shape
    if isinstance(rows, slice) and rows.step in (None, 1):
        start, stop, _ = rows.indices(n)
        own = ends[start : max(start, stop) + 1]
        places: Any = slice(int(own[0]), int(own[-1]))
        own = own - own[0]
    else:
        chosen = np.arange(n)[rows]
        own = np.concatenate([[0], np.cumsum(ends[chosen + 1] - ends[chosen])])
        places = np.repeat(ends[chosen] - own[:-1], np.diff(own)) + np.arange(own[-1])
    columns = np.array(indices[places])
    if columns.size and (columns.min() < 0 or columns.max() >= d):
        wrong = columns.min() if columns.min() < 0 else columns.max()
        raise FormatError(f"a row has an entry in column {wrong}, but there are {d} columns; {CURE}", path)
    return sp.csr_array((np.array(data[places]), columns, own.astype(columns.dtype)), shape=(own.size - 1, d))


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
