"""XMC and libsvm text as a stream. The parser is the one of `labelwise.data.xmc`; only the walk differs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.data._files import BLOCK, AnyPath, decode, read_names, split_name
from labelwise.data._stream_base import Lines, Position, Stream, StreamBatch, Vocabulary, rows_left, rows_of
from labelwise.data.errors import FormatError
from labelwise.data.xmc import HEADER, MOST, Shape, XmcBlock, XmcParser


@dataclass(frozen=True)
class XmcOptions:
    """As in `labelwise.data.xmc.read`."""

    shape: Shape | None = None
    one_based: bool = False
    one_based_labels: bool = False
    label_names: Sequence[str] | AnyPath | None = None


class XmcStream(Stream):
    """Batches of lines. Labels are called by their number in the file, or by name where names are given.

    Where a header, `shape` or names say how many labels there are, all of them are known from the start; else a label
    is known from the batch in which it first appears.
    """

    format = "xmc"

    def __init__(
        self,
        path: AnyPath,
        options: XmcOptions,
        span: tuple[int, Position | None, int | None],
        seen_labels: Sequence[str],
        labelled: bool = True,
    ) -> None:
        self._batch, start, self._limit = span
        stated, begin = _header(path)
        if stated is not None and options.shape is not None:
            raise FormatError(f"it has the header {stated}, so shape={options.shape!r} must not be given", path, 1)
        self._shape = stated or options.shape
        self._start = start or begin
        self._bases = int(options.one_based), int(options.one_based_labels)
        self._names = None if options.label_names is None else read_names(options.label_names)
        self._labelled = labelled
        known = self._known_labels(path)
        super().__init__(path, Vocabulary(seen_labels or known if labelled else seen_labels))

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
        while (wanted := rows_left(self._limit, row, self._batch)) > 0:
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
            shape = (None, MOST, len(self._names))
        large = os.path.getsize(self.path) > BLOCK  # numba takes half a second to load: not for a small file
        make = import_module("labelwise.data._xmc_compiled").CompiledXmcParser if large else XmcParser
        parser: XmcParser = make(self.path, shape, self._bases)
        return parser

    def _rows(self, block: XmcBlock, end: Position) -> StreamBatch:
        columns = block.columns - self._bases[0]
        width = int(columns.max(initial=0)) + 1 if self._shape is None else self._shape[1]
        n = len(block.lengths)
        if self._labelled:
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
        return text_fraction(self.path, position)


def text_fraction(path: AnyPath, position: Position) -> float | None:
    """By bytes, which says nothing where they are compressed."""
    return None if split_name(path)[2] else position.offset / max(os.path.getsize(path), 1)


def _header(path: AnyPath) -> tuple[Any, Position]:
    """The numbers of the header line, if there is one, and where the rows begin."""
    lines = Lines(path, Position())
    first = lines.take(1)
    if not first:
        raise FormatError("the file is empty, expected a header line n d q or a row", path)
    match = HEADER.fullmatch(decode(first, "utf-8", path, 1).removeprefix("\ufeff"))
    if match is None:
        return None, Position()
    return tuple(map(int, match.groups())), Position(0, lines.line, lines.offset)
