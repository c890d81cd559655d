"""The compiled engines for rows of ARFF and XMC files: kernels for plain lines, the Python parsers for the others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.data.formats import _kernels as kernels
from labelwise.data.formats.arff.header import BLANKS
from labelwise.data.formats.arff.rows import BlockParser, RowParser, SparseBlock
from labelwise.data.formats.xmc import XmcBlock, XmcParser
from labelwise.data.reading import decode


@dataclass(frozen=True)
class CompiledBlockParser(BlockParser):
    """A `BlockParser` that goes over the bytes of plain lines in compiled loops."""

    @cached_property
    def spec(self) -> kernels.CellSpec:
        return cell_spec(self.rows, self.encoding)

    def sparse(self, block: bytes, line: int) -> SparseBlock:
        state, out = np.zeros(6, np.int64), room(block, shortest_entry=4)  # "0 1,"
        buffer = np.frombuffer(block, np.uint8)
        while not kernels.sparse_arff(buffer, state, self.spec, out):
            columns, values = self.row(self.rows.sparse, *self._odd_line(block, line, state))
            start, stop = state[kernels.ENTRIES], state[kernels.ENTRIES] + len(columns)
            out.columns[start:stop], out.values[start:stop] = columns, values
            out.ends[state[kernels.ROWS]] = stop
            state[kernels.ENTRIES] = stop
            state[kernels.ROWS] += 1
            pass_line(block, state)
        entries = state[kernels.ENTRIES]
        round_hard(block, out.values, out.hard[: state[kernels.HARDS]])
        lengths = np.diff(out.ends[: state[kernels.ROWS]], prepend=0)
        return SparseBlock(lengths, out.columns[:entries], out.values[:entries])

    def dense(self, block: bytes, line: int) -> npt.NDArray[np.float64]:
        state, values = np.zeros(6, np.int64), np.empty((block.count(b"\n") + 1, self.spec.kinds.size))
        hards = np.empty((len(block) // 16 + 16, 3), np.int64)
        buffer = np.frombuffer(block, np.uint8)
        while not kernels.dense_arff(buffer, state, self.spec, values, hards):
            values[state[kernels.ROWS]] = self.row(self.rows.dense, *self._odd_line(block, line, state))
            state[kernels.ROWS] += 1
            pass_line(block, state)
        round_hard(block, values.reshape(-1), hards[: state[kernels.HARDS]])
        return values[: state[kernels.ROWS]]

    def _odd_line(self, block: bytes, line: int, state: npt.NDArray[np.int64]) -> tuple[str, int]:
        """The line that a kernel stopped at, and its number."""
        start, number = int(state[kernels.POSITION]), line + int(state[kernels.LINES])
        return decode(block[start : line_end(block, start)], self.encoding, self.path, number).strip(BLANKS), number


def cell_spec(rows: RowParser, encoding: str) -> kernels.CellSpec:
    """The attributes as the kernels want them."""
    nominal = [attribute.values is not None for attribute in rows.attributes]
    kinds = np.array(nominal, np.int8) * kernels.NOMINAL + np.array(rows.is_label, np.int8) * kernels.NUMERIC_LABEL
    counts = [len(attribute.values or ()) for attribute in rows.attributes]
    values = [value.encode(encoding) for attribute in rows.attributes for value in attribute.values or ()]
    return kernels.CellSpec(
        kinds,
        np.cumsum([0, *counts], dtype=np.int32),
        np.cumsum([0, *map(len, values)], dtype=np.int32),
        np.frombuffer(b"".join(values) + b"\0", np.uint8),  # frombuffer refuses an empty one
    )


def room(block: bytes, shortest_entry: int) -> kernels.SparseRows:
    """Arrays that any block of this size fits into; a number that needs float() is rarely shorter than 16 bytes."""
    entries = len(block) // shortest_entry + 1
    return kernels.SparseRows(
        np.empty(block.count(b"\n") + 1, np.int64),
        np.empty(entries, np.int32),
        np.empty(entries, np.float64),
        np.empty((len(block) // 16 + 16, 3), np.int64),
    )


def line_end(block: bytes, start: int) -> int:
    """The place behind the line that starts here."""
    return block.find(b"\n", start) + 1 or len(block)


def pass_line(block: bytes, state: npt.NDArray[np.int64]) -> None:
    """Go behind a line that was parsed in Python."""
    state[kernels.POSITION] = line_end(block, int(state[kernels.POSITION]))
    state[kernels.LINES] += 1


def round_hard(block: bytes, values: npt.NDArray[np.float64], hards: npt.NDArray[Any]) -> None:
    """Numbers with more digits than the kernels round correctly go through float()."""
    if len(hards):
        values[hards[:, 0]] = [float(block[start:stop]) for _, start, stop in hards.tolist()]


@dataclass(frozen=True)
class CompiledXmcParser(XmcParser):
    """An `XmcParser` that goes over the bytes of plain lines in compiled loops."""

    def block(self, block: bytes, line: int) -> XmcBlock:
        state, limits = np.zeros(6, np.int64), np.array([*self.range_of("feature"), *self.range_of("label")])
        features = room(block, shortest_entry=4)  # "0:1 "
        labels = kernels.LabelRows(np.empty_like(features.ends), np.empty(len(block) // 2 + 1, np.int32))  # "0,"
        buffer = np.frombuffer(block, np.uint8)
        while not kernels.xmc_rows(buffer, state, limits, labels, features):
            start = int(state[kernels.POSITION])
            row = self.row(block[start : line_end(block, start)], line + int(state[kernels.LINES]))
            if row is not None:
                _append(row, state, labels, features)
            pass_line(block, state)
        round_hard(block, features.values, features.hard[: state[kernels.HARDS]])
        rows, n_labels, entries = (int(state[slot]) for slot in (kernels.ROWS, kernels.LABELS, kernels.ENTRIES))
        return XmcBlock(
            np.diff(labels.ends[:rows], prepend=0),
            labels.labels[:n_labels].copy(),
            np.diff(features.ends[:rows], prepend=0),
            features.columns[:entries].copy(),
            features.values[:entries].copy(),
        )


def _append(row: Any, state: npt.NDArray[np.int64], labels: kernels.LabelRows, features: kernels.SparseRows) -> None:
    """Put a row that was parsed in Python behind those of the kernel."""
    own_labels, columns, values = row
    label_end, end = state[kernels.LABELS] + len(own_labels), state[kernels.ENTRIES] + len(columns)
    labels.labels[state[kernels.LABELS] : label_end] = own_labels
    features.columns[state[kernels.ENTRIES] : end] = columns
    features.values[state[kernels.ENTRIES] : end] = values
    labels.ends[state[kernels.ROWS]], features.ends[state[kernels.ROWS]] = label_end, end
    state[kernels.LABELS], state[kernels.ENTRIES] = label_end, end
    state[kernels.ROWS] += 1
