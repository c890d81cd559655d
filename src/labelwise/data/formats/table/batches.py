"""Rows of tables in batches, for streams of jsonl and parquet: which columns are features, and which labels come."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer

from labelwise.data.errors import FormatError, Problem, shown
from labelwise.data.formats.streaming import Position, StreamBatch, Vocabulary, rows_of
from labelwise.data.formats.table.features import NUMBERS, numbers, read_features
from labelwise.data.formats.table.labels import parse_tags, truth_columns
from labelwise.data.formats.table.layout import RawTable, TableLayout, columns_named
from labelwise.data.formats.table.reader import one_id
from labelwise.data.reading import read_names
from labelwise.files import AnyPath

LARGEST = sys.float_info.max  # an int of JSON may be larger


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

    @property
    def label_columns(self) -> tuple[str, ...]:
        return columns_named(self.labels)


class TableReader:
    """From the columns of a batch to features, labels and ids, as their first cells and the options say."""

    def __init__(self, path: AnyPath, options: TableOptions, first: Mapping[str, Any], labelled: bool) -> None:
        self.path, self.options, self.labelled = path, options, labelled and options.labels is not None
        row = RawTable(path, {name: [cell] for name, cell in first.items()}, None, is_text=False)
        self.label_columns = options.label_columns if self.labelled else ()
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
        other = {*self.options.label_columns, self.id}
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

    def batch(self, table: RawTable, vocabulary: Vocabulary, end: Position) -> StreamBatch:
        Y, observed = self._labels(table, vocabulary)
        ids = tuple(map(str, range(end.row - table.n_rows, end.row)))
        if self.id is not None:
            ids = tuple(table.each(self.id, one_id))
        return StreamBatch(self._X(table), Y, observed, ids, end)

    def _X(self, table: RawTable) -> Any:
        parts = []
        if self._plain.text is not None or self._plain.features:
            X = read_features(table, self._plain, categories=False)[0]
            if X.shape[1] != self._width:
                self._refuse_width(table)
            parts.append(sp.csr_array(X))
        for name in self._mappings:
            named = table.each(name, _named_numbers)
            parts.append(sp.csr_array(self._hasher.transform(named)))
        parts += [table.columns[name] for name in self.features if sp.issparse(table.columns[name])]
        return parts[0] if len(parts) == 1 else sp.hstack(parts, format="csr")

    def _refuse_width(self, table: RawTable) -> None:
        for name, width in self._widths.items():
            if numbers(table, name).shape[1] != width:
                raise table.wrong(0, f"column {name!r}: expected a list of {width} numbers as at the beginning")

    def _labels(self, table: RawTable, vocabulary: Vocabulary) -> tuple[Any, Any]:
        options, n = self.options, table.n_rows
        if not self.labelled:
            nothing = sp.csr_array((n, len(vocabulary)), dtype=bool)
            return nothing, nothing.copy()
        if not isinstance(options.labels, str):
            return truth_columns(table, self.label_columns)
        return _from_tags(table, options.labels, options.separator, vocabulary)


def _from_tags(table: RawTable, column: str, separator: str, vocabulary: Vocabulary) -> tuple[Any, Any]:
    def parse(cell: Any) -> list[int] | None:
        tags = parse_tags(cell, separator)
        return None if tags is None else vocabulary.columns(tags)

    found = table.each(column, parse)
    counts = np.array([len(labels or ()) for labels in found], np.int64)
    flat = np.fromiter(chain.from_iterable(labels or () for labels in found), np.int64)
    Y = rows_of(counts, flat, np.ones(len(flat), bool), len(vocabulary))
    known = np.array([labels is not None for labels in found], bool)
    return Y, None if known.all() else sp.csr_array(np.broadcast_to(known[:, None], Y.shape))


def table_vocabulary(options: TableOptions, seen_labels: Sequence[str]) -> Vocabulary:
    """One column of labels brings names as they come, unless they are given; several columns are the labels."""
    if isinstance(options.labels, str) and options.label_names is None:
        return Vocabulary(seen_labels)
    names = read_names(options.label_names) if options.label_names is not None else options.label_columns
    if seen_labels and options.labels is not None and list(seen_labels) != list(names):
        raise ValueError(
            f"the labels {shown(list(names), 200)} are not those learnt so far, {shown(list(seen_labels), 200)}; "
            "give the same labels or begin a new model"
        )
    return Vocabulary(seen_labels or names, closed=True)


def _is_feature(cell: Any) -> bool:
    if isinstance(cell, Mapping):
        return bool(cell) and set(map(type, cell.values())) <= NUMBERS
    return sp.issparse(cell) or type(cell) in NUMBERS


def _named_numbers(cell: Any) -> dict[str, float]:
    if not isinstance(cell, Mapping):
        raise Problem(f"found {shown(cell)}, expected a mapping of names to numbers as at the beginning")
    for name, value in cell.items():
        if type(value) not in NUMBERS or not abs(value) <= LARGEST:
            raise Problem(f"found {shown(value)} for {name!r}, expected a finite number")
        if any("\ud800" <= sign <= "\udfff" for sign in str(name)):
            raise Problem(f"found the name {name!a}, half of a character that needs two (a lone surrogate): correct it")
    return {str(name): float(value) for name, value in cell.items()}
