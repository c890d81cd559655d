"""A pool in a folder: shards of features that are never loaded whole, and labels and names, which are."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.data.errors import UNREADABLE, FormatError
from labelwise.data.formats.parquet import pyarrow
from labelwise.data.formats.table.labels import matrix_of_tags
from labelwise.data.reading import check_archive, read_names, text_lines
from labelwise.data.shard_files import SUFFIXES
from labelwise.data.sharded import ShardedFeatures
from labelwise.files import AnyPath, split_name, writing
from labelwise.records import Block, LabelData

NAMES, IDS, LABELS, OBSERVED, ITEMS = "names.json", "ids.txt", "labels.npz", "observed.npz", "items.jsonl"
NO_SHARDS = (LABELS, OBSERVED)
SHARD_BYTES = 2**28  # of dense features in a shard that `write` makes
SPARSE_SHARD = 2**17  # sparse rows in a shard that `write` makes


def read(
    path: AnyPath,
    *,
    label_names: Any = None,
    labels: str | None = None,
    id: str | None = None,
    features: Sequence[str] | None = None,
) -> LabelData:
    """Read a folder of .npy, .npz or .parquet shards, in the order of their names, as a pool.

    Features stay in the files. What `write` put beside them (names, ids, labels, items) is read as well. In a folder
    made otherwise every label is unknown, unless parquet shards have a column that lists them.

    Parameters
    ----------
    label_names : the labels to learn, or a file with one in each line; by default those found
    labels : the column of parquet shards that lists the labels of an item; null where they are unknown
    id : the column of parquet shards with the ids of items
    features : the columns of parquet shards that are features; by default all others
    """
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path)!r} with the shards of a pool")
    files = shard_files(folder)
    others = tuple(name for name in (labels, id) if name is not None)
    X = ShardedFeatures.open(files, features=features, others=others)
    names = _names(folder)
    found = names.get("label_names") if label_names is None else read_names(label_names)
    if others:
        return _from_parquet(X, files, found, labels, id)
    if found is None:
        raise FormatError(f"nothing says which labels to learn: give label_names=, or write {NAMES}", folder)
    Y, observed = (_mask(folder / name, (X.shape[0], len(found))) for name in NO_SHARDS)
    ids = read_names(folder / IDS) if (folder / IDS).exists() else tuple(map(str, range(X.shape[0])))
    feature_names = names.get("feature_names")
    nothing = sp.csr_array((X.shape[0], len(found)), dtype=bool)
    return LabelData(
        X=X,
        Y=nothing if Y is None else Y,
        observed=nothing.copy() if Y is None else observed,
        item_ids=ids,
        label_names=tuple(found),
        feature_names=None if feature_names is None else tuple(feature_names),
        items=_items(folder / ITEMS),
        blocks=_blocks(names.get("blocks", ()), folder / NAMES),
    )


def write(data: LabelData, path: AnyPath, *, rows: int | None = None) -> None:
    """Write a pool as a folder of shards that `read` reads: .npy for dense features, .npz for sparse ones.

    Parameters
    ----------
    rows : items in a shard; by default 256 MiB of dense features or 131072 sparse rows
    """
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FormatError("this folder is not empty: give a new one", folder)
    sparse = bool(getattr(data.X, "is_sparse", sp.issparse(data.X)))
    wide = max(1, data.n_features) * data.X.dtype.itemsize
    size = rows or (SPARSE_SHARD if sparse else max(1, SHARD_BYTES // wide))
    for number, start in enumerate(range(0, data.n_items, size)):
        part, name = data.X[start : start + size], f"features-{number:05d}.{'npz' if sparse else 'npy'}"
        with writing(folder / name) as file:
            if sparse:
                sp.save_npz(file, part, compressed=False)
            else:
                np.save(file, part)
    for name, mask in ((LABELS, data.Y), (OBSERVED, data.observed)):
        if mask is not None:
            with writing(folder / name) as file:
                sp.save_npz(file, mask)
    _write_lines(folder / IDS, data.item_ids)
    if data.items is not None:
        _write_lines(folder / ITEMS, (json.dumps(item, ensure_ascii=False) for item in data.items))
    names: dict[str, Any] = {"label_names": data.label_names, "feature_names": data.feature_names}
    if data.blocks:
        names["blocks"] = [asdict(block) for block in data.blocks]
    _write_lines(folder / NAMES, [json.dumps(names, ensure_ascii=False)])


def shard_files(folder: Path) -> list[Path]:
    """The shards of a folder in the order of their names."""
    found = [file for file in sorted(folder.iterdir()) if file.suffix in SUFFIXES and file.name not in NO_SHARDS]
    if not found:
        raise FormatError(f"there is no shard in this folder; shards are files of {', '.join(SUFFIXES)}", folder)
    if len({split_name(file)[1] for file in found}) > 1:
        raise FormatError(f"shards of one pool must be of one kind, found {found[0].name} and {found[-1].name}", folder)
    return found


def _names(folder: Path) -> dict[str, Any]:
    path = folder / NAMES
    if not path.exists():
        return {}
    try:
        names = json.loads("".join(text_lines(path, "utf-8")))
    except FormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FormatError(f"this is not valid JSON ({error}); write it again or take it out", path) from None
    if not isinstance(names, dict):
        raise FormatError("expected an object with label_names and feature_names", path)
    return names


def _blocks(given: Any, path: Path) -> tuple[Block, ...]:
    try:
        return tuple(Block(**each) for each in given)
    except (TypeError, ValueError) as error:
        raise FormatError(f"the blocks of features are no records of ours ({error}); write it again", path) from None


def _mask(path: Path, shape: tuple[int, int]) -> sp.csr_array | None:
    if not path.exists():
        return None
    try:
        check_archive(path)
        mask = sp.csr_array(sp.load_npz(path)).astype(bool)
        mask.check_format(full_check=True)  # an index outside would be read from anywhere in memory
    except UNREADABLE as error:
        raise FormatError(f"this is not a whole sparse .npz file ({error}); write it again", path) from None
    if mask.shape != shape:
        raise FormatError(f"found shape {mask.shape}, expected (items, labels) = {shape}; write it again", path)
    return mask


def _items(path: Path) -> tuple[Any, ...] | None:
    items = []
    for number, line in enumerate(text_lines(path, "utf-8") if path.exists() else (), start=1):
        try:
            items.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"this is not valid JSON ({error}); write it again", path, number) from None
    return tuple(items) if path.exists() else None


def _write_lines(path: Path, lines: Any) -> None:
    with writing(path) as file:
        for line in lines:
            if "\n" in line:
                raise FormatError(f"an id may not hold a line break, got {line!r}", path)
            file.write(f"{line}\n".encode())


def _from_parquet(
    X: ShardedFeatures, files: list[Path], names: Sequence[str] | None, labels: str | None, id: str | None
) -> LabelData:
    """Labels and ids from columns; only these are read."""
    lists: list[Any] = [None] * X.shape[0] if labels is None else list(_column(files, labels))
    ids = tuple(map(str, range(X.shape[0]) if id is None else _column(files, id)))
    said = dict.fromkeys(name for each in lists if each is not None for name in each)
    if names is None and labels is None:
        raise FormatError("nothing says which labels to learn: give label_names= or labels=", os.fspath(files[0]))
    known = dict.fromkeys(said if names is None else names)
    strange = [name for name in said if name not in known]
    if strange:
        raise FormatError(f"found the label {strange[0]!r}, which is not in label_names=", os.fspath(files[0]))
    Y, observed = matrix_of_tags(lists, tuple(known))
    return LabelData(X=X, Y=Y, observed=observed, item_ids=ids, label_names=tuple(known))


def _column(files: list[Path], name: str) -> Iterator[Any]:
    arrow, parquet = pyarrow()
    for file in files:
        try:
            yield from parquet.ParquetFile(file).read(columns=[name]).column(name).to_pylist()
        except (arrow.ArrowException, KeyError):
            raise FormatError(f"there is no column {name!r} in this shard", file) from None
