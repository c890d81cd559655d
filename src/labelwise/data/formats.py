"""From a path to a format and its reader or writer."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

from labelwise.data import arff, csv, jsonl, meka, mulan, parquet, shards, xmc
from labelwise.data._files import AnyPath, split_name
from labelwise.data._table import TableLayout
from labelwise.records import LabelData

BY_SUFFIX: dict[str, ModuleType] = {
    ".arff": arff,
    ".csv": csv,
    ".tsv": csv,
    ".jsonl": jsonl,
    ".ndjson": jsonl,
    ".parquet": parquet,
    ".txt": xmc,
    ".xmc": xmc,
    ".libsvm": xmc,
    ".svm": xmc,
}
BY_NAME: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module for module in (*BY_SUFFIX.values(), mulan, meka, shards)
}


def read(path: AnyPath, *, format: str | None = None, **options: Any) -> LabelData:
    """Read a file into LabelData, by the format that its suffix says; .gz and .bz2 are uncompressed on the way.

    A folder is read as a pool in shards, whose features stay in the files.

    Parameters
    ----------
    path : path of the file, or of a folder of shards
    format : "arff", "mulan", "meka", "xmc", "csv", "jsonl", "parquet" or "shards"; None goes by the suffix
    options : those of the format's own `read`, for example `labels=`

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
    name, module = _format_of(path, format)
    _check_options(name, module.read, options)
    data: LabelData = module.read(path, **options)
    return data


def write(data: LabelData, path: AnyPath, *, format: str | None = None, **options: Any) -> None:
    """Write LabelData to a file that `read` reads back unchanged; the file appears only once it is complete.

    Parameters
    ----------
    data : LabelData
    path : path of the file, its suffix (.arff, .csv, .jsonl, .parquet, .txt ..., also .gz and .bz2) says the format
    format : as in `read`
    options : those of the format's own `write`
    """
    name, module = _format_of(path, format)
    _check_options(name, module.write, options)
    module.write(data, path, **options)


def _format_of(path: AnyPath, format: str | None) -> tuple[str, ModuleType]:
    if format is not None:
        if format not in BY_NAME:
            raise ValueError(f"format must be one of {', '.join(BY_NAME)}, got {format!r}")
        return format, BY_NAME[format]
    if Path(path).is_dir():
        return "shards", shards
    suffix = split_name(path)[1]
    if suffix not in BY_SUFFIX:
        raise ValueError(
            f"the suffix {suffix!r} of {str(path)!r} says no format; known are {', '.join(BY_SUFFIX)}, "
            f"or give format=, one of {', '.join(BY_NAME)}"
        )
    module = BY_SUFFIX[suffix]
    return module.__name__.rpartition(".")[2], module


def _check_options(name: str, function: Callable[..., Any], options: dict[str, Any]) -> None:
    parameters = inspect.signature(function).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY]
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        known += [field.name for field in fields(TableLayout)]
    strange = [option for option in options if option not in known]
    if strange:
        raise TypeError(f"{name} files have no option {strange[0]!r}; they have {', '.join(known)}")
