"""Rows of tables, jsonl and parquet, in batches: which columns are features, and the labels that they bring."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer

from labelwise.data._files import AnyPath, decode, read_names
from labelwise.data._stream_base import Lines, Position, Stream, StreamBatch, Vocabulary, rows_left, rows_of
from labelwise.data._stream_xmc import text_fraction
from labelwise.data._table import Table, TableLayout
from labelwise.data._table_data import one_id
from labelwise.data._table_features import NUMBERS, numbers, read_features
from labelwise.data._table_labels import parse_tags, parse_truth
from labelwise.data.errors import FormatError, Problem, shown
from labelwise.data.jsonl import parse_object

LOOK_AHEAD = 100  # lines of a file without a schema that show what its columns hold


@dataclass(frozen=True)
class TableOptions:
    """Which column means what: as in `TableLayout`, but nothing is fitted, because no batch sees the whole table.

    `text` and columns that hold mappings (name to number) are hashed to `hashed_width` columns each. `features=None`
    takes, without `text`, the columns that hold a number or a mapping of numbers at the beginning of the file.
    """

    labels: str | Sequence[str] | None = "labels"
    text: str | None = None
    features: Sequence[str] | None = None
    id: str | None = "id"
    label_names: Sequence[str] | AnyPath | None = None
    separator: str = ";"
    hashed_width: int = 2**20

    def __post_init__(self) -> None:
        if isinstance(self.features, str):
            raise ValueError(f"features must be a list of columns, got {self.features!r}; write [{self.features!r}]")
        if self.hashed_width < 1:
            raise ValueError(f"hashed_width must be at least 1, got {self.hashed_width!r}")


class TableReader:
    """From the columns of a batch to features, labels and ids, as their first cells and the options say."""

    def __init__(self, path: AnyPath, options: TableOptions, first: Mapping[str, Any], labelled: bool) -> None:
        self.path, self.options, self.labelled = path, options, labelled and options.labels is not None
        row = Table(path, {name: [cell] for name, cell in first.items()}, None, is_text=False)
        self.label_columns = _label_columns(options) if self.labelled else ()
        row.need(self.label_columns, "labels")
        row.need([options.text] if options.text else [], "text")
        self.id = None if options.id is None or (options.id == "id" and "id" not in first) else options.id
        row.need([self.id] if self.id else [], "id")
        self.features = self._chosen_features(first)
        row.need(self.features, "features")
        mappings = [name for name in self.features if isinstance(first[name], Mapping)]
        plain = [name for name in self.features if name not in mappings and not sp.issparse(first[name])]
        vectorizer = HashingVectorizer(n_features=options.hashed_width)
        self._plain = TableLayout(text=options.text, features=plain, vectorizer=vectorizer)
        self._hasher = FeatureHasher(options.hashed_width, input_type="dict")
        self._mappings = mappings
        self._widths = {name: numbers(row, name).shape[1] for name in plain}
        self._width = sum(self._widths.values()) + (0 if options.text is None else options.hashed_width)

    def _chosen_features(self, first: Mapping[str, Any]) -> list[str]:
        if self.options.features is not None:
            return list(self.options.features)
        if self.options.text is not None:
            return []
        other = {*_label_columns(self.options), self.id}
        found = [name for name, cell in first.items() if name not in other and _is_feature(cell)]
        if not found:
            raise FormatError(
                f"there is nothing to learn from: no column of {shown(list(first), 300)} holds a number or a mapping "
                "of numbers at the beginning; give text= or features=",
                self.path,
            )
        return found

    @property
    def columns(self) -> list[str]:
        """All columns that are needed."""
        other = [name for name in (self.options.text, self.id) if name is not None]
        return list(dict.fromkeys([*self.label_columns, *other, *self.features]))

    def batch(self, table: Table, vocabulary: Vocabulary, end: Position) -> StreamBatch:
        Y, observed = self._labels(table, vocabulary)
        ids = tuple(map(str, range(end.row - table.n_rows, end.row)))
        if self.id is not None:
            ids = tuple(table.each(self.id, one_id))
        return StreamBatch(self._X(table), Y, observed, ids, end)

    def _X(self, table: Table) -> Any:
        parts = []
        if self._plain.text is not None or self._plain.features:
            X = read_features(table, self._plain)[0]
            if X.shape[1] != self._width:
                self._refuse_width(table)
            parts.append(sp.csr_array(X))
        for name in self._mappings:
            named = table.each(name, _named_numbers)
            parts.append(sp.csr_array(self._hasher.transform(named)))
        parts += [table.columns[name] for name in self.features if sp.issparse(table.columns[name])]
        return parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")

    def _refuse_width(self, table: Table) -> None:
        for name, width in self._widths.items():
            if numbers(table, name).shape[1] != width:
                raise table.wrong(0, f"column {name!r}: expected a list of {width} numbers as at the beginning")

    def _labels(self, table: Table, vocabulary: Vocabulary) -> tuple[Any, Any]:
        options, n = self.options, table.n_rows
        if not self.labelled:
            nothing = sp.csr_array((n, len(vocabulary)), dtype=bool)
            return nothing, nothing.copy()
        if not isinstance(options.labels, str):
            values = np.array([table.each(name, parse_truth) for name in self.label_columns], np.float64).T  # (n, q)
            known = ~np.isnan(values)
            return sp.csr_array(values == 1.0), None if known.all() else sp.csr_array(known)
        return _from_tags(table, options.labels, options.separator, vocabulary)


def _from_tags(table: Table, column: str, separator: str, vocabulary: Vocabulary) -> tuple[Any, Any]:
    def parse(cell: Any) -> list[int] | None:
        tags = parse_tags(cell, separator)
        return None if tags is None else vocabulary.columns(tags)

    found = table.each(column, parse)
    counts = np.array([len(labels or ()) for labels in found], np.int64)
    flat = np.fromiter(chain.from_iterable(labels or () for labels in found), np.int64)
    Y = rows_of(counts, flat, np.ones(len(flat), bool), len(vocabulary))
    known = np.array([labels is not None for labels in found], bool)
    return Y, None if known.all() else sp.csr_array(np.broadcast_to(known[:, None], Y.shape))


class JsonlStream(Stream):
    """One object per line, its keys are the columns; null, or a key left out, is a blank cell."""

    format = "jsonl"

    def __init__(
        self,
        path: AnyPath,
        options: TableOptions,
        span: tuple[int, Position | None, int | None],
        seen_labels: Sequence[str],
        labelled: bool = True,
    ) -> None:
        self._batch, start, self._limit = span
        self._start = start or Position()
        super().__init__(path, table_vocabulary(options, seen_labels))
        self._reader = TableReader(path, options, self._first_cells(), labelled)

    def _first_cells(self) -> dict[str, Any]:
        """The first filled cell of each column, in the lines at the beginning."""
        rows, _ = self._parse(Lines(self.path, Position()).take(LOOK_AHEAD), 1)
        if not rows:
            raise FormatError("there is no row, expected one JSON object per line", self.path)
        first: dict[str, Any] = {}
        for row in rows:
            for name, cell in row.items():
                if first.get(name) is None:
                    first[name] = cell
        return first

    def __iter__(self) -> Iterator[StreamBatch]:
        lines, row = Lines(self.path, self._start), self._start.row
        while (wanted := rows_left(self._limit, row, self._batch)) > 0:
            line = lines.line
            text = lines.take(wanted)
            if not text:
                return
            rows, numbers_of = self._parse(text, line)
            row += len(rows)
            columns = {name: [cells.get(name) for cells in rows] for name in self._reader.columns}
            table = Table(self.path, columns, numbers_of, is_text=False)
            if rows:
                yield self._reader.batch(table, self.vocabulary, Position(row, lines.line, lines.offset))

    def _parse(self, text: bytes, line: int) -> tuple[list[dict[str, Any]], list[int]]:
        rows, lines = [], []
        decoded = decode(text, "utf-8", self.path, line).removeprefix("\ufeff" if line == 1 else "")
        for number, one in enumerate(decoded.split("\n"), start=line):
            if one.strip():
                try:
                    rows.append(parse_object(one))
                except Problem as problem:
                    raise FormatError(str(problem), self.path, number) from None
                lines.append(number)
        return rows, lines

    def fraction(self, position: Position) -> float | None:
        return text_fraction(self.path, position)


def table_vocabulary(options: TableOptions, seen_labels: Sequence[str]) -> Vocabulary:
    """One column of labels brings names as they come, unless they are given; several columns are the labels."""
    if isinstance(options.labels, str) and options.label_names is None:
        return Vocabulary(seen_labels)
    names = read_names(options.label_names) if options.label_names is not None else _label_columns(options)
    if seen_labels and options.labels is not None and list(seen_labels) != list(names):
        raise ValueError(
            f"the labels {shown(list(names), 200)} are not those learnt so far, {shown(list(seen_labels), 200)}; "
            "give the same labels or begin a new model"
        )
    return Vocabulary(seen_labels or names, closed=True)


def _label_columns(options: TableOptions) -> tuple[str, ...]:
    if options.labels is None:
        return ()
    return (options.labels,) if isinstance(options.labels, str) else tuple(options.labels)


def _is_feature(cell: Any) -> bool:
    if isinstance(cell, Mapping):
        return bool(cell) and set(map(type, cell.values())) <= NUMBERS
    return sp.issparse(cell) or type(cell) in NUMBERS


def _named_numbers(cell: Any) -> dict[str, float]:
    if not isinstance(cell, Mapping):
        raise Problem(f"found {shown(cell)}, expected a mapping of names to numbers as at the beginning")
    for name, value in cell.items():
        if type(value) not in NUMBERS or not np.isfinite(value):
            raise Problem(f"found {shown(value)} for {name!r}, expected a finite number")
    return {str(name): float(value) for name, value in cell.items()}
