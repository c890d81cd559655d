"""From a path to a format and its reader, its writer, or its stream: batches of a file larger than memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

from labelwise._lazy import LateModule, Registry
from labelwise.data.formats import csv, datasets, jsonl, parquet, xmc
from labelwise.data.formats.arff import files as arff
from labelwise.data.formats.arff import meka, mulan
from labelwise.data.formats.streaming import Position, Span, Stream
from labelwise.data.formats.table.batches import TableOptions
from labelwise.data.formats.table.layout import ALL, TableLayout
from labelwise.data.formats.table.reader import read_frame, to_columns
from labelwise.data.vectors import with_encoded, with_vectors
from labelwise.files import AnyPath, split_name
from labelwise.records import LabelData, is_frame
from labelwise.views.wording import did_you_mean

BUILT_IN: dict[str, ModuleType] = {
    "arff": arff,
    "csv": csv,
    "jsonl": jsonl,
    "parquet": parquet,
    "xmc": xmc,
    "mulan": mulan,
    "meka": meka,
    "shards": LateModule("labelwise.data.formats.shards"),
    "xlsx": LateModule("labelwise.data.formats.xlsx"),
    "datasets": datasets,
    "spacy": LateModule("labelwise.data.formats.spacy"),
    "rcv1": LateModule("labelwise.data.formats.rcv1"),
}
BY_NAME = Registry(BUILT_IN, "labelwise.formats", lambda entry: entry.load())  # each a module
NAME_BY_SUFFIX = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".xlsx": "xlsx",
    ".txt": "xmc",
    ".xmc": "xmc",
    ".libsvm": "xmc",
    ".svm": "xmc",
    ".dat": "rcv1",
}
BY_SUFFIX = {suffix: BY_NAME[name] for suffix, name in NAME_BY_SUFFIX.items()}
STREAMS: Mapping[str, tuple[Any, Any]] = {  # format to its stream and the options of that
    "xmc": (xmc.XmcStream, xmc.XmcOptions),
    "jsonl": (jsonl.JsonlStream, TableOptions),
    "parquet": (parquet.ParquetStream, TableOptions),
}
OF_TABLES = {  # options that csv, jsonl, parquet and others share, of their `read` and their `write`
    "layout": [*inspect.signature(TableLayout).parameters],
    "columns": [*inspect.signature(to_columns).parameters][2:],
}
SPREADSHEETS = (".xls", ".ods", ".xlsb")  # that are not read


def read(
    path: Any,
    *,
    format: str | None = None,
    embed: Any = None,
    embeddings: Any = None,
    encoder: str = "",
    **options: Any,
) -> LabelData:
    """Read a file into LabelData. The suffix decides the format; .gz and .bz2 are uncompressed.

    A folder is read as a pool in shards, whose features stay in the files, or as a Hugging Face dataset. A data frame
    is read like a table, with all columns that can be features: numbers, lists of numbers, and words that repeat as
    categories.

    Parameters
    ----------
    path : path of the file, or of a folder of shards; or a pandas.DataFrame
    format : "arff", "mulan", "meka", "xmc", "csv", "jsonl", "parquet", "xlsx", "shards", "datasets", "spacy" or
        "rcv1"; by default the suffix decides
    embed : an encoder of the column `text`: "minilm", "package.module:name", or an object with `encode`, see
        docs/features.md
    embeddings : vectors of the items: an array in their order, the path of a .npy, .npz or .parquet file, or the name
        of a column of lists, see `labelwise.data.with_vectors`
    encoder : the name of the encoder that made `embeddings`
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
    if is_frame(path):
        _refuse_strange("data frames", options, OF_TABLES["layout"])
        data = read_frame(path, TableLayout(**({"features": ALL} | options)))
    else:
        data = _read_file(path, format, options)
    if embeddings is not None:
        data = with_vectors(data, embeddings, encoder=encoder)
    return data if embed is None else with_encoded(data, embed, options.get("text"))


def _read_file(path: AnyPath, format: str | None, options: dict[str, Any]) -> LabelData:
    if format is None and not Path(path).exists() and not split_name(path)[1]:
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}: check the path")
    name = _format_of(path, format)
    _check_options(name, BY_NAME[name].read, options)
    data: LabelData = BY_NAME[name].read(path, **options)
    return data


def write(data: LabelData, path: AnyPath, *, format: str | None = None, **options: Any) -> None:
    """Write LabelData to a file that `read` reads back unchanged. The file appears only when it is complete.

    Blocks of features are kept in folders of shards. In other formats they become one block, and opinions are left out.

    Parameters
    ----------
    data : LabelData
    path : path of the file; its suffix (.arff, .csv, .jsonl, .parquet, .txt ..., also .gz and .bz2) decides the format
    format : as in `read`
    options : those of the format's own `write`

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> data = lw.data.make_shapes(20, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(data, f"{folder}/shapes.csv")
    ...     print(lw.read(f"{folder}/shapes.csv").n_items)
    20
    """
    name = _format_of(path, format)
    _check_options(name, BY_NAME[name].write, options)
    if name != "shards":  # the others have no place for blocks: opinions would come back as features
        data = data.without_opinions()
    BY_NAME[name].write(data, path, **options)


def _format_of(path: AnyPath, format: str | None) -> str:
    if format is not None:
        if format not in BY_NAME:
            raise ValueError(
                f"format must be one of {', '.join(BY_NAME)}, got {format!r}{did_you_mean(format, BY_NAME)}"
            )
        return format
    if Path(path).is_dir():
        return "datasets" if datasets.is_dataset(path) else "shards"
    suffix = split_name(path)[1]
    if suffix in SPREADSHEETS:
        raise ValueError(
            f"{str(path)!r}: a spreadsheet of this kind is not read; save it as .xlsx, or as .csv in UTF-8"
        )
    if suffix not in BY_SUFFIX:
        for name, module in BY_NAME.items():  # of other packages
            if suffix in getattr(module, "SUFFIXES", ()):
                return str(name)
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
    _refuse_strange(f"{name} files", options, known)


def _refuse_strange(what: str, options: dict[str, Any], known: Sequence[str]) -> None:
    strange = [option for option in options if option not in known]
    if strange:
        raise TypeError(f"{what} have no option {strange[0]!r}; they have {', '.join(known)}")


def open_stream(
    path: AnyPath,
    *,
    format: str | None = None,
    batch: int = 1000,
    start: Position | None = None,
    limit: int | None = None,
    seen_labels: Sequence[str] = (),
    labelled: bool = True,
    **options: Any,
) -> Stream:
    """Read a file in batches of rows: XMC or libsvm text, jsonl (both plain, .gz or .bz2) or parquet.

    Parameters
    ----------
    path : path of the file
    format : "xmc", "jsonl" or "parquet"; None: by the suffix
    batch : rows at a time (of text, lines; of parquet, not across row groups); all that is ever held
    start : the `end` of a batch read earlier, to go on behind it
    limit : rows of the file to stop after
    seen_labels : labels known from earlier, which keep the first columns of Y
    labelled : False leaves labels unread, which then need not be there
    options : xmc: `shape`, `one_based`, `one_based_labels`, `label_names` as in `read`; jsonl and parquet: `labels`,
        `text`, `features`, `id`, `label_names`, `separator`, and `hashed_width`, the number of columns to which text
        and mappings of names to numbers are hashed

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/news.libsvm"
    >>> _ = open(path, "w").write("7 1:0.5 3:1\\n7,2 3:2\\n2 1:1\\n")
    >>> stream = open_stream(path, batch=2)
    >>> [(batch.X.shape, batch.Y.shape, batch.end.row) for batch in stream], stream.label_names
    ([((2, 4), (2, 2), 2), ((1, 2), (1, 2), 3)], ['7', '2'])
    """
    span = Span(batch, start, limit, seen_labels, labelled)
    name = stream_format(path, format)
    make, layout = STREAMS[name]
    _refuse_strange(f"{name} streams", options, [field.name for field in fields(layout)])
    opened: Stream = make(path, layout(**options), span)
    return opened


def stream_format(path: AnyPath, format: str | None = None) -> str:
    """The name of the format of a stream, as given or by the suffix of the path.

    >>> stream_format("tickets.jsonl.gz")
    'jsonl'
    """
    name = format or NAME_BY_SUFFIX.get(split_name(path)[1], "of no known suffix")
    if name not in STREAMS:
        raise ValueError(
            f"{str(path)!r} ({name}) cannot be read as a stream; streams are {', '.join(STREAMS)}: "
            "say format=, or convert it with labelwise.read and labelwise.write"
        )
    return name
