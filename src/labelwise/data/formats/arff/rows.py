"""The rows of an ARFF file, block by block, in Python: this defines the format; `compiled` is the fast way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from labelwise.data.errors import FormatError, Problem, shown
from labelwise.data.formats.arff.header import BLANKS, Attribute, Header, split_cells, unquote
from labelwise.data.formats.cells import parse_index, parse_number
from labelwise.data.reading import decode
from labelwise.files import AnyPath

PAIR = re.compile(r"([^ \t\r]+)[ \t\r]+(.+)", re.DOTALL)


class SparseBlock(NamedTuple):
    """Entries of consecutive rows: a number, the position of a nominal value, or NaN for an unknown label."""

    lengths: npt.NDArray[np.int64]  # (rows,)
    attributes: npt.NDArray[np.int32]  # (entries,)
    values: npt.NDArray[np.float64]  # (entries,)


@dataclass(frozen=True)
class RowParser:
    """Parses one row at a time and says what is wrong with it."""

    attributes: tuple[Attribute, ...]
    is_label: tuple[bool, ...]
    codes: tuple[dict[str, int] | None, ...]  # of the values of nominal attributes

    @classmethod
    def of(cls, header: Header, labels: Sequence[int]) -> RowParser:
        chosen = set(labels)
        return cls(
            header.attributes,
            tuple(position in chosen for position in range(len(header.attributes))),
            tuple(
                None if attribute.values is None else {value: code for code, value in enumerate(attribute.values)}
                for attribute in header.attributes
            ),
        )

    def dense(self, text: str) -> list[float]:
        """Values of a row `value,value,...`."""
        if text.startswith("{"):
            raise Problem("found a sparse row {...} among dense ones")
        cells = split_cells(text)
        if len(cells) != len(self.attributes):
            raise Problem(f"found {len(cells)} values, expected {len(self.attributes)}, one per attribute")
        return [self.cell(position, token) for position, token in enumerate(cells)]

    def sparse(self, text: str) -> tuple[list[int], list[float]]:
        """Attributes, in order, and values of a row `{index value, ...}`."""
        if not text.startswith("{"):
            raise Problem(f"found {shown(text)}, expected a row in braces like the first one")
        if not text.endswith("}"):
            raise Problem(f"found {shown(text[-20:])} at the end of the row, expected }}")
        entries: dict[int, float] = {}
        body = text[1:-1].strip(BLANKS)
        for token in split_cells(body) if body else []:
            pair = PAIR.fullmatch(token)
            if pair is None:
                raise Problem(f"found {shown(token)}, expected an attribute's index, a space and its value")
            position = parse_index(pair[1], "the index of an attribute")
            if position >= len(self.attributes):
                raise Problem(f"found the index {position}, expected 0 to {len(self.attributes) - 1}")
            if position in entries:
                raise Problem(f"index {position} ({self.attributes[position].name!r}) is given twice")
            entries[position] = self.cell(position, pair[2])
        order = sorted(entries)
        return order, [entries[position] for position in order]

    def cell(self, position: int, token: str) -> float:
        name, codes = self.attributes[position].name, self.codes[position]
        if token == "?":
            if self.is_label[position]:
                return float("nan")
            raise Problem(f"found ? (missing) for the feature {name!r}, expected a value; fill it in or drop the row")
        if codes is not None:
            value = unquote(token)
            if value not in codes:
                raise Problem(f"found {shown(value)} for {name!r}, expected one of {shown(tuple(codes), 200)}")
            return float(codes[value])
        try:
            number = parse_number(token)
        except Problem as problem:
            raise Problem(f"attribute {name!r}: {problem}") from None
        if self.is_label[position] and number not in (0.0, 1.0):
            raise Problem(f"found {token} for the label {name!r}, expected 0, 1 or ? (unknown)")
        return number


@dataclass(frozen=True)
class BlockParser:
    """Parses blocks of whole lines of one file; `line` is the number of the first one."""

    rows: RowParser
    path: AnyPath
    encoding: str

    def sparse(self, block: bytes, line: int) -> SparseBlock:
        lengths: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        for number, text in self._rows_of(block, line):
            row_columns, row_values = self.row(self.rows.sparse, text, number)
            lengths.append(len(row_columns))
            columns += row_columns
            values += row_values
        return SparseBlock(np.array(lengths, np.int64), np.array(columns, np.int32), np.array(values, np.float64))

    def dense(self, block: bytes, line: int) -> npt.NDArray[np.float64]:
        """(rows, attributes) as in `SparseBlock`."""
        rows = [self.row(self.rows.dense, text, number) for number, text in self._rows_of(block, line)]
        return np.array(rows, np.float64).reshape(len(rows), len(self.rows.attributes))

    def row(self, parse: Any, text: str, line: int) -> Any:
        try:
            return parse(text)
        except Problem as problem:
            raise FormatError(str(problem), self.path, line) from None

    def first_row(self, block: bytes, line: int) -> str | None:
        """The first row of a block, or None where it holds comments only."""
        return next((text for _, text in self._rows_of(block, line)), None)

    def _rows_of(self, block: bytes, line: int) -> Any:
        for number, raw in enumerate(block.split(b"\n"), start=line):
            row = raw.strip(BLANKS.encode())
            if row and not row.startswith(b"%"):
                yield number, decode(row, self.encoding, self.path, number)
