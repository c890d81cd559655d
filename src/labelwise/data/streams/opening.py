"""Files larger than memory: rows in batches, with the place to go on from behind each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from labelwise.data.formats.jsonl import JsonlStream
from labelwise.data.formats.parquet import ParquetStream
from labelwise.data.formats.registry import NAME_BY_SUFFIX
from labelwise.data.formats.table.batches import TableOptions
from labelwise.data.formats.xmc import XmcOptions, XmcStream
from labelwise.data.streams.base import Position, Span, Stream, StreamBatch
from labelwise.files import AnyPath, split_name

STREAMS: Mapping[str, tuple[Any, Any]] = {
    "xmc": (XmcStream, XmcOptions),
    "jsonl": (JsonlStream, TableOptions),
    "parquet": (ParquetStream, TableOptions),
}

__all__ = ["STREAMS", "Position", "Stream", "StreamBatch", "open_stream", "stream_format"]


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
    """Walk a file in batches of rows: XMC or libsvm text, jsonl (both plain, .gz or .bz2) or parquet.

    Parameters
    ----------
    path : path of the file
    format : "xmc", "jsonl" or "parquet"; None goes by the suffix
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
    known = [field.name for field in fields(layout)]
    strange = [option for option in options if option not in known]
    if strange:
        raise TypeError(f"{name} streams have no option {strange[0]!r}; they have {', '.join(known)}")
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
