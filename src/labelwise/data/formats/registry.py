"""From a path to a format and its reader or writer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from labelwise.data.formats import csv, jsonl, parquet, xmc
from labelwise.data.formats.arff import files as arff
from labelwise.data.formats.arff import meka, mulan
from labelwise.data.formats.table.layout import TableLayout
from labelwise.data.formats.table.reader import to_columns
from labelwise.data.shards import folder as shards
from labelwise.files import AnyPath, split_name
from labelwise.records import LabelData

BY_NAME: dict[str, ModuleType] = {
    "arff": arff,
    "csv": csv,
    "jsonl": jsonl,
    "parquet": parquet,
    "xmc": xmc,
    "mulan": mulan,
    "meka": meka,
    "shards": shards,
}
NAME_BY_SUFFIX = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "xmc",
    ".xmc": "xmc",
    ".libsvm": "xmc",
    ".svm": "xmc",
}
BY_SUFFIX = {suffix: BY_NAME[name] for suffix, name in NAME_BY_SUFFIX.items()}
OF_TABLES = {  # options that csv, jsonl and parquet share, of their `read` and their `write`
    "layout": [*inspect.signature(TableLayout).parameters],
    "columns": [*inspect.signature(to_columns).parameters][2:],
}
SPREADSHEETS = (".xlsx", ".xls", ".ods")


def read(path: AnyPath, *, format: str | None = None, **options: Any) -> LabelData:
    """Read a file into LabelData. The suffix decides the format; .gz and .bz2 are uncompressed.

    A folder is read as a pool in shards, whose features stay in the files.

    Parameters
    ----------
    path : path of the file, or of a folder of shards
    format : "arff", "mulan", "meka", "xmc", "csv", "jsonl", "parquet" or "shards"; by default the suffix decides
    options : those of the format's `read`, for example `labels=`

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/two.csv"
    >>> _ = open(path, "w").write("size,tags\\n1.5,red;round\\n2.5,red\\n")
    >>> data = read(path, labels="tags")
    >>> data.label_names, data.X.tolist()
    (('red', 'round'), [[1.5], [2.5]])
    """
    if format is None and not Path(path).exists() and not split_name(path)[1]:
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}: check the path")
    name = _format_of(path, format)
    _check_options(name, BY_NAME[name].read, options)
    data: LabelData = BY_NAME[name].read(path, **options)
    return data


def write(data: LabelData, path: AnyPath, *, format: str | None = None, **options: Any) -> None:
    """Write LabelData to a file that `read` reads back unchanged. The file appears only when it is complete.

    Parameters
    ----------
    data : LabelData
    path : path of the file; its suffix (.arff, .csv, .jsonl, .parquet, .txt ..., also .gz and .bz2) decides the format
    format : as in `read`
    options : those of the format's own `write`
    """
    name = _format_of(path, format)
    _check_options(name, BY_NAME[name].write, options)
    BY_NAME[name].write(data, path, **options)


def _format_of(path: AnyPath, format: str | None) -> str:
    if format is not None:
        if format not in BY_NAME:
            raise ValueError(f"format must be one of {', '.join(BY_NAME)}, got {format!r}")
        return format
    if Path(path).is_dir():
        return "shards"
    suffix = split_name(path)[1]
    if suffix in SPREADSHEETS:
        raise ValueError(f"{str(path)!r}: a spreadsheet is not read; save it as .csv, in UTF-8")
    if suffix not in BY_SUFFIX:
        raise ValueError(
            f"the suffix {suffix!r} of {str(path)!r} says no format; known are {', '.join(BY_SUFFIX)}, "
            f"or give format=, one of {', '.join(BY_NAME)}"
        )
    return NAME_BY_SUFFIX[suffix]


def _check_options(name: str, function: Callable[..., Any], options: dict[str, Any]) -> None:
    known: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            known.append(parameter.name)
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            known += OF_TABLES[parameter.name]
    strange = [option for option in options if option not in known]
    if strange:
        raise TypeError(f"{name} files have no option {strange[0]!r}; they have {', '.join(known)}")
