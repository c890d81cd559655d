"""The text format of the extreme classification repository, and multi-label libsvm: `label,label index:value ...`.

A first line `n d q` gives the numbers of items, features and labels; libsvm files lack it. A line that starts with a
space, or with a feature, is an item without labels. Absent labels are not listed, so nothing can be unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data._files import AnyPath, decode, line_blocks, read_names, writing
from labelwise.data._losses import refuse_losses
from labelwise.data._numbers import check_dtype, format_number, parse_index, parse_number
from labelwise.data.errors import FormatError, Problem, shown
from labelwise.records import LabelData

HEADER = re.compile(r"\s*(\d+)\s+(\d+)\s+(\d+)\s*")
MOST = 10**9 - 1  # the largest index where no header limits it
ROWS_AT_ONCE = 1000  # rows turned into text at a time
BLANKS = " \t\r\n"
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
    shape, block = read_block(path, shape, (int(one_based), int(one_based_labels)))
    n = len(block.lengths)
    d, q = (None, None) if shape is None else shape[1:]
    q = _size(path, "label", block.labels, names[0], q)
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
    first, following = next(blocks, None), next(blocks, None)
    if first is None:
        raise FormatError("the file is empty, expected a header line n d q or a row", path)
    stated, body = _split_header(first, path)
    if stated is not None and shape is not None:
        raise FormatError(f"it has the header {stated}, so shape={shape!r} must not be given", path, 1)
    shape = stated or shape
    make_parser = _compiled_parser() if (following is not None if compiled is None else compiled) else XmcParser
    parser = make_parser(path, shape, bases)
    line, parts = 1 + (stated is not None), []
    for block in _chained(body, following, blocks):
        parts.append(parser.block(block, line))
        line += block.count(b"\n")
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
    end = block.find(b"\n") + 1 or len(block)
    match = HEADER.fullmatch(decode(block[:end], "utf-8", path, 1).removeprefix("\ufeff"))
    if match is None:
        return None, block
    n, d, q = map(int, match.groups())
    return (n, d, q), block[end:]


def _chained(first: bytes, following: bytes | None, blocks: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    if following is not None:
        yield following
    yield from blocks


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
        both = np.array(counts, np.int64).reshape(-1, 2)
        return XmcBlock(both[:, 0], _indices(labels), both[:, 1], _indices(columns), np.array(values, np.float64))

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
            return base, MOST
        return base, base - 1 + (self.shape[2] if what == "label" else self.shape[1])

    def _check(self, index: int, seen: Any, what: str) -> None:
        first, last = self.range_of(what)
        if not first <= index <= last:
            raise Problem(f"found {what} {index}, expected {first} to {last} (the first {what} is called {first})")
        if index in seen:
            raise Problem(f"{what} {index} is given twice")


def _compiled_parser() -> type[XmcParser]:
    """Loaded only for files large enough to deserve it: numba takes half a second to import."""
    chosen: type[XmcParser] = import_module("labelwise.data._xmc_compiled").CompiledXmcParser
    return chosen


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


def _ends(lengths: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return ends.astype(np.int32) if ends[-1] <= np.iinfo(np.int32).max else ends


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
    if data.n_items == 0:
        raise FormatError("there is no item to write", path)
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
    X = sp.csr_array(data.X[rows], dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    Y = sp.csr_array(data.Y[rows], copy=True)
    Y.sort_indices()
    labels = [str(label + label_base) for label in Y.indices.tolist()]
    pairs = zip(X.indices.tolist(), X.data.tolist(), strict=True)
    cells = [f"{column + base}:{format_number(value)}" for column, value in pairs]
    ends, label_ends = X.indptr.tolist(), Y.indptr.tolist()
    for row in range(len(ends) - 1):
        own_labels = ",".join(labels[label_ends[row] : label_ends[row + 1]])
        yield " ".join([own_labels, *cells[ends[row] : ends[row + 1]]]) or " "
