"""Vectors of items: from a file, an array or a column, or made by an encoder of their texts; a block of features."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.data.errors import UNREADABLE, FormatError
from labelwise.data.formats.parquet import pyarrow
from labelwise.data.reading import check_archive
from labelwise.encoders import as_encoder, encode_cached
from labelwise.encoders.base import rows_not_finite
from labelwise.files import AnyPath
from labelwise.records import LabelData, check_unique

Vectors = npt.NDArray[np.floating[Any]]
SUFFIXES = (".npy", ".npz", ".parquet")


def with_vectors(data: LabelData, source: Any, *, encoder: str = "", name: str = "vectors") -> LabelData:
    """The data with a vector for each item, as a block of features of the kind "vectors".

    Parameters
    ----------
    data : LabelData
    source : (n, w) array in the order of the items; a mapping of ids to vectors; the path of a .npy file with such an
        array, of a .npz file with the arrays "vectors" and, in any order, "ids", or of a .parquet file with a column of
        lists and a column "id"; or the name of a field of the items that holds lists of numbers
    encoder : the name of the encoder that made them, if labels shall be compared with items by it
    name : of the block

    Examples
    --------
    >>> data = LabelData.from_arrays([[1.0], [2.0]], label_names=["joy"], item_ids=["a", "b"])
    >>> with_vectors(data, {"b": [0, 1], "a": [1, 0]}).X.tolist()
    [[1.0, 1.0, 0.0], [2.0, 0.0, 1.0]]
    """
    if isinstance(source, str) and _has_field(data, source):
        cells, data = [item.get(source) for item in data.items or ()], _without_field(data, source)
        found, ids = _as_array(cells, f"the field {source!r}", data.item_ids), None
    elif isinstance(source, str | os.PathLike):
        found, ids = read_vectors(source)
    elif isinstance(source, Mapping):
        ids = tuple(map(str, source))
        found = _as_array(list(source.values()), "embeddings", ids)
    else:
        found, ids = _as_array(source, "embeddings", data.item_ids), None
    return data.with_block(_in_order(found, ids, data.item_ids), name, "vectors", encoder=encoder)


def with_encoded(
    data: LabelData, encoder: Any, text: str | None, *, progress: Callable[[int, int], None] | None = None
) -> LabelData:
    """The data with vectors of its texts: of this field of the items, or of the items themselves.

    `encoder` is a name in `labelwise.encoders.BY_NAME`, an import path or an object, see `labelwise.encoders`. Vectors
    are computed once and kept in the user's cache.

    Examples
    --------
    >>> import numpy as np, labelwise as lw
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return np.array([[float(len(text)), 1.0] for text in texts])
    >>> tickets = lw.data.make_tickets(5, random_state=0)
    >>> with_encoded(tickets, Lengths(), "text").X.shape
    (5, 3)
    """
    chosen = as_encoder(encoder)
    vectors = encode_cached(chosen, _texts(data, text), progress=progress)
    return data.with_block(vectors, chosen.name, "vectors", encoder=chosen.name)


def read_vectors(path: AnyPath) -> tuple[Vectors, tuple[str, ...] | None]:
    """(n, w) vectors of a .npy, .npz or .parquet file, and the ids of their items where it has them."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise FormatError(f"vectors are read from files of {', '.join(SUFFIXES)}, not of {suffix!r}", path)
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {os.fspath(path)!r} with vectors: check the path")
    if suffix == ".parquet":
        return _from_parquet(path)
    try:
        if suffix == ".npz":
            check_archive(path)
        loaded = np.load(path, mmap_mode="r" if suffix == ".npy" else None, allow_pickle=False)
        arrays = {"vectors": loaded} if suffix == ".npy" else {name: loaded[name] for name in loaded.files}
    except UNREADABLE as error:
        raise FormatError(f"no vectors can be read ({error}); save them by numpy.save, without objects", path) from None
    if "vectors" not in arrays:
        raise FormatError(f"there is no array 'vectors' in it, only {', '.join(arrays) or 'nothing'}", path)
    ids = tuple(map(str, arrays["ids"].tolist())) if "ids" in arrays else None
    return _as_array(arrays["vectors"], os.fspath(path), ids), ids


def _from_parquet(path: AnyPath) -> tuple[Vectors, tuple[str, ...] | None]:
    arrow, parquet = pyarrow()
    try:
        table = parquet.read_table(path)
    except (arrow.ArrowException, OSError) as error:
        raise FormatError(f"this is no parquet file that can be read ({error})", path) from None
    types = arrow.types
    is_list = [
        types.is_list(f.type) or types.is_fixed_size_list(f.type) or types.is_large_list(f.type) for f in table.schema
    ]
    lists = [name for name, yes in zip(table.column_names, is_list, strict=True) if yes]
    if len(lists) != 1:
        raise FormatError(f"expected one column of lists, the vectors, found {', '.join(lists) or 'none'}", path)
    ids = tuple(map(str, table.column("id").to_pylist())) if "id" in table.column_names else None
    return _as_array(table.column(lists[0]).to_pylist(), os.fspath(path), ids), ids


def _as_array(given: Any, where: str, ids: Sequence[str] | None) -> Vectors:
    """(n, w) finite numbers; errors name the item."""

    def named(row: int) -> str:
        return f"item {ids[row]!r}" if ids is not None and row < len(ids) else f"row {row + 1}"

    if isinstance(given, list):
        lengths = [len(vector) if isinstance(vector, Sequence | np.ndarray) else -1 for vector in given]
        odd = next((row for row, length in enumerate(lengths) if length != lengths[0] or length < 1), None)
        if odd is not None:
            what = "no list of numbers" if lengths[odd] < 1 else f"{lengths[odd]} numbers, the first has {lengths[0]}"
            raise ValueError(f"{where}: the vector of {named(odd)} has {what}; encode all items with one encoder")
    try:
        vectors = np.asarray(given)
        vectors = vectors if vectors.dtype in (np.float32, np.float64) else vectors.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: expected numbers, one vector for each item: {error}") from None
    if vectors.ndim != 2 or vectors.shape[1] < 1:
        raise ValueError(f"{where}: expected an array of shape (items, numbers of a vector), got {vectors.shape}")
    wrong = rows_not_finite(vectors)
    if wrong.size:
        raise ValueError(
            f"{where}: the vector of {named(int(wrong[0]))} has NaN or infinity, {wrong.size:,} of {len(vectors):,} "
            "have; encode them again, or set them to zeros: then the item is judged by its other features"
        )
    return vectors


def _in_order(vectors: Vectors, ids: Sequence[str] | None, item_ids: Sequence[str]) -> Vectors:
    if ids is None:
        if len(vectors) != len(item_ids):
            raise ValueError(
                f"there are {len(vectors):,} vectors for {len(item_ids):,} items; give one for each, in the order of "
                'the items, or a .npz file with the arrays "vectors" and "ids"'
            )
        return vectors
    if len(ids) != len(vectors):
        raise ValueError(f"there are {len(ids):,} ids for {len(vectors):,} vectors; give one for each")
    check_unique("id of a vector", ids)
    place = {name: row for row, name in enumerate(ids)}
    known = set(item_ids)
    missing, strange = [name for name in item_ids if name not in place], [name for name in ids if name not in known]
    for names, what in ((missing, "have no vector"), (strange, "of the vectors are not those of any item")):
        if names:
            raise ValueError(
                f"{len(names):,} ids {what}, such as {names[0]!r}; the ids must be those of the items, such as "
                f"{item_ids[0]!r}, in any order"
            )
    return vectors[[place[name] for name in item_ids]]


def _texts(data: LabelData, field: str | None) -> list[str]:
    if data.items is None:
        raise ValueError("there are no items to encode; give text=, the column of the texts")
    found: list[Any] = [item.get(field) if isinstance(item, Mapping) else item for item in data.items]
    wrong = next((row for row, text in enumerate(found) if not isinstance(text, str)), None)
    if wrong is not None:
        raise ValueError(
            f"item {data.item_ids[wrong]!r} has no text in {field!r} to encode, but {str(found[wrong])[:80]!r}; give "
            "text=, the column of the texts, and leave it among items="
        )
    return found


def _has_field(data: LabelData, name: str) -> bool:
    return any(isinstance(item, Mapping) and isinstance(item.get(name), list) for item in data.items or ())


def _without_field(data: LabelData, name: str) -> LabelData:
    """The same items without the numbers of their vectors, which nobody wants to look at."""
    items = tuple({key: cell for key, cell in item.items() if key != name} for item in data.items or ())
    return replace(data, items=items)
