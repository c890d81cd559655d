"""Folders of Hugging Face `datasets` (`save_to_disk`): Arrow files beside a description of the columns."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from labelwise.data.errors import FormatError
from labelwise.data.formats.parquet import arrow_table, column_values, pyarrow, valid_parquet
from labelwise.data.formats.table.layout import RawTable, TableLayout
from labelwise.data.formats.table.reader import to_data
from labelwise.files import AnyPath, replacing, write_text
from labelwise.records import LabelData

INFO, STATE, SPLITS = "dataset_info.json", "state.json", "dataset_dict.json"
ARROW = "data-00000-of-00001.arrow"
TYPES = {"int8": "int8", "int64": "int64", "double": "float64", "float": "float32", "bool": "bool", "string": "string"}


def is_dataset(path: AnyPath) -> bool:
    """Whether a folder was made by `save_to_disk`: of one set, or of several splits."""
    return Path(path).is_dir() and any((Path(path) / name).is_file() for name in (STATE, SPLITS))


def read(path: AnyPath, *, split: str | None = None, **layout: Any) -> LabelData:
    """Read a folder; numbers of classes become their names, and lists of them lists of labels.

    Parameters
    ----------
    path : path of the folder
    split : of a folder with several splits, which one; None is the only one, or "train"
    layout : see `labelwise.data.TableLayout`
    """
    folder = _split(Path(path), split)
    arrow, _ = pyarrow()
    import pyarrow.ipc as ipc  # loaded when it is needed

    info = _described(folder / INFO)
    named = [each["filename"] for each in _described(folder / STATE).get("_data_files", [])]
    files = [folder / Path(name).name for name in named] or sorted(folder.glob("*.arrow"))
    if not files:
        raise FormatError("there is no .arrow file in it", folder)
    tables = []
    for file in files:
        with valid_parquet(file, kind="valid Arrow stream, no", cure="save the dataset again"), open(file, "rb") as raw:
            tables.append(ipc.open_stream(raw).read_all())
    table = arrow.concat_tables(tables)
    features = info.get("features") or {}
    columns: dict[str, Any] = {}
    for name in table.column_names:
        names = _class_names(features.get(name))
        values = column_values(arrow, table.column(name))
        columns[name] = values if names is None else [_named(value, names, name, folder) for value in _list(values)]
    return to_data(RawTable(path, columns, None, is_text=False), TableLayout(**layout))


def write(data: LabelData, path: AnyPath, **columns: Any) -> None:
    """Write a folder that `datasets.load_from_disk` opens; see `to_columns` for the options and the columns."""
    import pyarrow.ipc as ipc  # loaded when it is needed

    folder = Path(path)
    if folder.exists() and not is_dataset(folder):
        raise FormatError("this is there already, and is no dataset; choose another name", path)
    whole = arrow_table(data, path, **columns)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / ARROW) as part, open(part, "wb") as raw, ipc.new_stream(raw, whole.schema) as stream:
        stream.write_table(whole)
    features = {field.name: _feature(field, path) for field in whole.schema}
    write_text(folder / INFO, json.dumps({"features": features}, ensure_ascii=False, indent=1))
    mark = hashlib.sha256((folder / ARROW).read_bytes()).hexdigest()[:16]
    state: dict[str, Any] = {"_data_files": [{"filename": ARROW}], "_fingerprint": mark, "_split": None}
    state |= {"_format_columns": None, "_format_kwargs": {}, "_format_type": None, "_output_all_columns": False}
    write_text(folder / STATE, json.dumps(state, indent=1))


def _feature(field: Any, path: AnyPath) -> dict[str, Any]:
    """The type of a column in the words of `datasets`."""
    kind = str(field.type)
    if kind.startswith("list<"):
        return {
            "feature": {"dtype": TYPES.get(str(field.type.value_type), "string"), "_type": "Value"},
            "_type": "List",
        }
    if kind not in TYPES and kind != "null":
        raise FormatError(f"a dataset has no place for the field {field.name!r} of type {kind}; use jsonl", path)
    return {"dtype": TYPES.get(kind, kind), "_type": "Value"}


def _split(folder: Path, wanted: str | None) -> Path:
    if not (folder / SPLITS).is_file():
        if wanted is not None:
            raise FormatError(f"there are no splits in it; leave out split={wanted!r}", folder)
        return folder
    names = [str(name) for name in _described(folder / SPLITS).get("splits", [])]
    chosen = wanted or (names[0] if len(names) == 1 else "train")
    if chosen not in names:
        raise FormatError(f"there is no split {chosen!r}; say split=, one of {', '.join(map(repr, names))}", folder)
    return folder / chosen


def _described(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"this is no valid JSON: {error}", path) from None
    if not isinstance(found, dict):
        raise FormatError(f"expected an object, found {type(found).__name__}", path)
    return found


def _class_names(feature: Any) -> list[str] | None:
    """The names behind numbers of classes, of a column or of lists in it; None where it holds something else."""
    if isinstance(feature, list) and len(feature) == 1:  # as older versions write lists
        return _class_names(feature[0])
    if not isinstance(feature, dict):
        return None
    if feature.get("_type") == "ClassLabel":
        return [str(name) for name in feature.get("names") or []] or None
    return _class_names(feature.get("feature"))


def _list(values: Any) -> list[Any]:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _named(value: Any, names: list[str], column: str, path: Path) -> Any:
    """A number of a class, or a list of them, by name; −1 and None are unknown."""
    if isinstance(value, list):
        return [_named(each, names, column, path) for each in value]
    if value is None or value == -1:
        return None
    if not 0 <= int(value) < len(names):
        raise FormatError(f"column {column!r}: found the class {value}, and there are {len(names)}", path)
    return names[int(value)]
