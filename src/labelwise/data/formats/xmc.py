"""The text format of the extreme classification repository, and multi-label libsvm: `label,label index:value ...`.

A first line `n d q` gives the numbers of items, features and labels; libsvm files lack it. A line that starts with a
space, or with a feature, is an item without labels. Absent labels are not listed, so nothing can be unknown.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import FormatError, Problem, refuse_losses, shown
from labelwise.data.formats.arff.header import BLANKS
from labelwise.data.formats.cells import (
    ROWS_AT_ONCE,
    check_dtype,
    compiled_parser,
    parse_index,
    parse_number,
    sparse_cells,
)
from labelwise.data.formats.streaming import Lines, Position, Span, Stream, StreamBatch, Vocabulary, rows_of
from labelwise.data.reading import BLOCK, decode, line_blocks, numbered, read_names
from labelwise.files import AnyPath, writing
from labelwise.records import LabelData

HEADER = re.compile(r"\s*([0-9]{1,15})\s+([0-9]{1,15})\s+([0-9]{1,15})\s*")
MAX_INDEX = 10**9 - 1  # the largest index where no header limits it
MOST_UNNAMED = 200_000  # labels that get names by their numbers, whatever the file holds
Shape = tuple[int | None, int, int]


class XmcBlock(NamedTuple):
    """Labels and features of consecutive rows, indices as they stand in the file."""

    label_counts: npt.NDArray[np.int64]  # (rows,)
    labels: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]  # (rows,)
    columns: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]


def read(
    path: AnyPath,
    *,
    shape: Shape | None = None,
    one_based: bool = False,
    one_based_labels: bool = False,
    label_names: Sequence[str] | AnyPath | None = None,
    feature_names: Sequence[str] | AnyPath | None = None,
    dtype: npt.DTypeLike = np.float64,
) -> LabelData:
    """Read XMC or multi-label libsvm text, plain or compressed.

    Parameters
    ----------
    path : path of the file
    shape : (n, d, q) of a file without header line, n may be None
        Without either, d and q are as many as there are names, or else the largest index that occurs.
    one_based : whether features are counted from 1, as in libsvm files; nothing in a file tells, the default is from 0
    one_based_labels : the same for labels
    label_names, feature_names : list, or path of a file with one name per line
    dtype : float64 or float32, of X
    """
    check_dtype(dtype)
    names = [None if given is None else read_names(given) for given in (label_names, feature_names)]
    unstated = shape is None and label_names is None
    shape, block = read_block(path, shape, (int(one_based), int(one_based_labels)))
    n = len(block.lengths)
    d, q = (None, None) if shape is None else shape[1:]
    q = _size(path, "label", block.labels, names[0], q)
    if unstated:
        _check_labels(path, q, block)
    d = _size(path, "feature", block.columns, names[1], d)
    X = sp.csr_array((block.values.astype(dtype, copy=False), block.columns, _ends(block.lengths)), shape=(n, d))
    X.eliminate_zeros()
    present = np.ones(len(block.labels), dtype=bool)
    return LabelData(
        X=X,
        Y=sp.csr_array((present, block.labels, _ends(block.label_counts)), shape=(n, q)),
        observed=None,
        item_ids=tuple(map(str, range(n))),
        label_names=names[0] or tuple(f"label_{label}" for label in range(q)),
        feature_names=names[1],
    )


def read_block(
    path: AnyPath, shape: Shape | None, bases: tuple[int, int], compiled: bool | None = None
) -> tuple[Shape | None, XmcBlock]:
    """The shape that is known, and all rows as one block with indices from 0.

    `compiled=None` parses small files in Python and large ones with compiled loops; both give the same.
    """
    blocks = line_blocks(path)
    stated, body = _split_header(next(blocks, b""), path)
    following = list(islice(blocks, 1))
    if stated is not None and shape is not None:
        raise FormatError(f"it has the header {stated}, so shape={shape!r} must not be given", path, 1)
    shape = stated or shape
    make_parser = compiled_parser("Xmc") if (bool(following) if compiled is None else compiled) else XmcParser
    parser = make_parser(path, shape, bases)
    lines = numbered([body], following, blocks, line=1 + (stated is not None))
    parts = [parser.block(block, line) for block, line in lines]
    whole = XmcBlock(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    n = len(whole.lengths)
    if n == 0:
        raise FormatError("there is no row", path)
    if shape is not None and shape[0] not in (None, n):
        raise FormatError(f"found {n} rows, expected {shape[0]} as the header says", path)
    np.subtract(whole.columns, bases[0], out=whole.columns)
    np.subtract(whole.labels, bases[1], out=whole.labels)
    return shape, whole


def _split_header(block: bytes, path: AnyPath) -> tuple[Shape | None, bytes]:
    """The numbers of a header line, if the block starts with one, and what follows."""
    if not block:
        raise FormatError("the file is empty, expected a header line n d q or a row", path)
    end = block.find(b"\n") + 1 or len(block)
    match = HEADER.fullmatch(decode(block[:end], "utf-8", path, 1).removeprefix("\ufeff"))
    if match is None:
        return None, block
    n, d, q = map(int, match.groups())
    return (n, d, q), block[end:]


@dataclass(frozen=True)
class XmcParser:
    """Parses blocks of whole lines; this defines the format."""

    path: AnyPath
    shape: Shape | None
    bases: tuple[int, int]  # what the first feature and the first label are called: 0 or 1

    def block(self, block: bytes, line: int) -> XmcBlock:
        counts: list[tuple[int, int]] = []
        labels: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        lines = block.split(b"\n")
        for number, raw in enumerate(lines[:-1] if lines[-1] == b"" else lines, start=line):
            row = self.row(raw, number)
            if row is not None:
                counts.append((len(row[0]), len(row[1])))
                labels += row[0]
                columns += row[1]
                values += row[2]
        sizes = np.array(counts, np.int64).reshape(-1, 2)
        return XmcBlock(sizes[:, 0], _indices(labels), sizes[:, 1], _indices(columns), np.array(values, np.float64))

    def row(self, raw: bytes, line: int) -> tuple[list[int], list[int], list[float]] | None:
        """Labels, features and values of a line, each in order; None for a comment."""
        text = decode(raw, "utf-8", self.path, line)
        try:
            return self._parse(text)
        except Problem as problem:
            raise FormatError(str(problem), self.path, line) from None

    def _parse(self, text: str) -> tuple[list[int], list[int], list[float]] | None:
        body, comment, _ = text.partition("#")
        tokens = [token for token in re.split(f"[{BLANKS}]+", body) if token]
        if not tokens:
            if comment:
                return None
            if self.shape is None or self.shape[0] is None:
                raise Problem(
                    "found a blank line, which is an item only where a header or shape= states the number of items"
                )
        labels: dict[int, None] = {}
        if tokens and body[0] not in BLANKS and ":" not in tokens[0]:
            for token in tokens.pop(0).split(","):
                label = parse_index(token, "the number of a label")
                self._check(label, labels, "label")
                labels[label] = None
        features: dict[int, float] = {}
        for token in tokens:
            index, colon, value = token.partition(":")
            if not colon:
                raise Problem(f"found {shown(token)}, expected a feature like 12:0.5")
            column = parse_index(index, "the index of a feature before the colon")
            self._check(column, features, "feature")
            features[column] = parse_number(value)
        order = sorted(features)
        return sorted(labels), order, [features[column] for column in order]

    def range_of(self, what: str) -> tuple[int, int]:
        """The first and the last "feature" or "label" as they are called in the file."""
        base = self.bases[what == "label"]
        if self.shape is None:
            return base, MAX_INDEX
        return base, base - 1 + (self.shape[2] if what == "label" else self.shape[1])

    def _check(self, index: int, seen: Any, what: str) -> None:
        first, last = self.range_of(what)
        if not first <= index <= last:
            raise Problem(f"found {what} {index}, expected {first} to {last} (the first {what} is called {first})")
        if index in seen:
            raise Problem(f"{what} {index} is given twice")


def _indices(values: list[int]) -> npt.NDArray[np.int32]:
    return np.array(values, np.int32)


def _size(
    path: AnyPath, what: str, indices: npt.NDArray[np.int32], names: tuple[str, ...] | None, stated: int | None
) -> int:
    """The number of labels or features, which the names must fit."""
    least = int(indices.max(initial=-1)) + 1
    if names is None:
        return least if stated is None else stated
    if len(names) != stated if stated is not None else len(names) < least:
        raise FormatError(f"found {least if stated is None else stated} {what}s, but {len(names)} names for them", path)
    return len(names)


def _check_labels(path: AnyPath, q: int, block: XmcBlock) -> None:
    """Refuse to name many more labels than a file of this size can tell anything of."""
    cells = len(block.labels) + len(block.columns) + len(block.lengths)
    if q > MOST_UNNAMED and q > cells:
        raise too_many_labels(path, q)


def too_many_labels(path: AnyPath, q: int) -> FormatError:
    return FormatError(
        f"found {q:,} labels in a file that is too small for them; is the header, or the number of a label, wrong? "
        "To read it as it is, give label_names=",
        path,
    )


def _ends(lengths: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return ends.astype(np.int32) if ends[-1] <= np.iinfo(np.int32).max else ends


@dataclass(frozen=True)
class XmcOptions:
    """As in `labelwise.data.formats.xmc.read`."""

    shape: Shape | None = None
    one_based: bool = False
    one_based_labels: bool = False
    label_names: Sequence[str] | AnyPath | None = None


class XmcStream(Stream):
    """Batches of lines. Labels are called by their number in the file, or by name where names are given.

    Where a header, `shape` or names say how many labels there are, all of them are known from the start. Else a label
    is known from the batch in which it first appears.
    """

    format = "xmc"

    def __init__(self, path: AnyPath, options: XmcOptions, span: Span) -> None:
        lines = Lines(path, Position())
        stated, _ = _split_header(lines.take(1), path)
        if stated is not None and options.shape is not None:
            raise FormatError(f"it has the header {stated}, so shape={options.shape!r} must not be given", path, 1)
        self._shape = stated or options.shape
        self._bases = int(options.one_based), int(options.one_based_labels)
        self._names = None if options.label_names is None else read_names(options.label_names)
        most = max(MOST_UNNAMED, os.path.getsize(path))  # labels that the header of a file of this size may state
        if options.shape is None and self._names is None and stated and stated[2] > most:
            raise too_many_labels(path, stated[2])
        known = self._known_labels(path)
        super().__init__(path, Vocabulary(span.seen_labels or known if span.labelled else span.seen_labels), span)
        self._start = span.start or (Position() if stated is None else Position(0, lines.line, lines.offset))

    def _known_labels(self, path: AnyPath) -> Sequence[str]:
        stated = None if self._shape is None else self._shape[2]
        if self._names is not None:
            if stated not in (None, len(self._names)):
                raise FormatError(f"found {stated} labels, but {len(self._names)} names for them", path)
            return self._names
        return [str(label + self._bases[1]) for label in range(stated or 0)]

    def __iter__(self) -> Iterator[StreamBatch]:
        parser = self._parser()
        lines, row, wanted = Lines(self.path, self._start), self._start.row, 1
        while (wanted := self.span.rows_left(row)) > 0:
            line = lines.line
            text = lines.take(wanted)
            if not text:
                break
            block = parser.block(text, line)
            row += len(block.lengths)
            yield self._rows(block, Position(row, lines.line, lines.offset))
        stated = None if self._shape is None else self._shape[0]
        if wanted > 0 and stated not in (None, row):
            raise FormatError(f"found {row} rows, expected {stated} as the header says", self.path)

    def _parser(self) -> XmcParser:
        shape = self._shape
        if shape is None and self._names is not None:
            shape = (None, MAX_INDEX, len(self._names))
        make_parser = compiled_parser("Xmc") if os.path.getsize(self.path) > BLOCK else XmcParser
        parser: XmcParser = make_parser(self.path, shape, self._bases)
        return parser

    def _rows(self, block: XmcBlock, end: Position) -> StreamBatch:
        columns = block.columns - self._bases[0]
        width = int(columns.max(initial=0)) + 1 if self._shape is None else self._shape[1]
        n = len(block.lengths)
        if self.span.labelled:
            labels, counts = self._label_columns(block.labels), block.label_counts
        else:
            labels, counts = np.empty(0, np.int64), np.zeros(n, np.int64)
        return StreamBatch(
            X=rows_of(block.lengths, columns, block.values, width),
            Y=rows_of(counts, labels, np.ones(len(labels), bool), len(self.vocabulary)),
            observed=None,
            ids=tuple(map(str, range(end.row - n, end.row))),
            end=end,
        )

    def _label_columns(self, labels: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """Columns of the labels, new ones in the order in which they appear."""
        found, first, place = np.unique(labels, return_index=True, return_inverse=True)
        order = np.argsort(first)
        columns = np.empty(len(found), dtype=np.int64)
        columns[order] = self.vocabulary.columns([self._name(label) for label in found[order].tolist()])
        return columns[place]

    def _name(self, label: int) -> str:
        return str(label) if self._names is None else self._names[label - self._bases[1]]

    def fraction(self, position: Position) -> float | None:
        if self._shape is not None and self._shape[0] is not None:
            return position.row / max(self._shape[0], 1)
        return super().fraction(position)


def write(
    data: LabelData,
    path: AnyPath,
    *,
    header: bool = True,
    one_based: bool = False,
    one_based_labels: bool = False,
    lossy: bool = False,
) -> None:
    """Write XMC text, or libsvm text with `header=False, one_based=True`.

    The format lists the labels that are present, so all must be known. It has no place for ids, names and `items`:
    with `lossy=True` they are left out, otherwise that is an error.
    """
    refuse_losses(data, path, "XMC text", (), lossy)
    if data.n_observed < data.n_items * data.n_labels:
        raise FormatError(
            "XMC text cannot say that a label is unknown; use ARFF, or csv, jsonl or parquet with one column per label",
            path,
        )
    with writing(path) as file:
        if header:
            file.write(f"{data.n_items} {data.n_features} {data.n_labels}\n".encode())
        for start in range(0, data.n_items, ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, data.n_items))
            lines = list(_lines(data, rows, int(one_based), int(one_based_labels)))
            if not header and " " in lines:
                raise FormatError(
                    f"item {data.item_ids[start + lines.index(' ')]!r} has neither labels nor features, which only a "
                    "file with a header line can say; use header=True",
                    path,
                )
            file.write("\n".join([*lines, ""]).encode())


def _lines(data: LabelData, rows: slice, base: int, label_base: int) -> Iterator[str]:
    Y = sp.csr_array(data.Y[rows], copy=True)
    Y.sort_indices()
    labels = [str(label + label_base) for label in Y.indices.tolist()]
    features = sparse_cells(data.X[rows], base, ":")
    for (start, stop), cells in zip(pairwise(Y.indptr.tolist()), features, strict=True):
        yield " ".join([",".join(labels[start:stop]), *cells]) or " "
