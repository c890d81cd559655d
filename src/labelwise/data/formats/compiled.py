"""The compiled engines for rows of ARFF and XMC files: kernels for plain lines, the Python parsers for the others.

A kernel walks whole lines of a block and stops before the first one that is not plain: a quoted value, indices out of
order, a mistake. Its caller parses that line in Python, which understands it or says what is wrong, and resumes behind
it. So a kernel never judges, and the Python parser alone defines the format.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from labelwise.data.formats.arff.header import BLANKS
from labelwise.data.formats.arff.rows import BlockParser, RowParser, SparseBlock
from labelwise.data.formats.xmc import XmcBlock, XmcParser
from labelwise.data.reading import decode

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

NUMERIC, NOMINAL, NUMERIC_LABEL, NOMINAL_LABEL = 0, 1, 2, 3  # kinds of ARFF attributes
PLAIN, HARD, STOP = 0, 1, 2  # a value was parsed; it needs correct rounding by float(); this line is not for us
POSITION, ROWS, ENTRIES, HARDS, LINES, LABELS = range(6)  # slots of `state`: what is done, updated after each line

TAB, NEWLINE, RETURN, SPACE = 9, 10, 13, 32
QUOTE, APOSTROPHE, BACKSLASH = 34, 39, 92
PERCENT, COMMA, COLON, QUESTION, OPEN, CLOSE = 37, 44, 58, 63, 123, 125
PLUS, MINUS, POINT, ZERO, NINE, UPPER_E, LOWER_E = 43, 45, 46, 48, 57, 69, 101
EXACT_POWERS = 10.0 ** np.arange(23)  # the powers of ten that a float64 holds exactly
EXACT_MANTISSA = 1 << 53


class CellSpec(NamedTuple):
    """How to read the cells of an ARFF file: the values of nominal attributes lie end to end in `value_bytes`."""

    kinds: npt.NDArray[np.int8]  # (attributes,)
    first_value: Indices  # (attributes + 1,) into value_start
    value_start: Indices  # (values + 1,) into value_bytes
    value_bytes: Bytes


class SparseRows(NamedTuple):
    """Room for the rows of a block: row r ends at ends[r] of `columns` and `values`."""

    ends: Ints
    columns: Indices
    values: Floats
    hard: Ints  # (k, 3): entry, first and last byte + 1 of a number that needs float()


class LabelRows(NamedTuple):
    """Room for the labels of the rows of an XMC block."""

    ends: Ints
    labels: Indices


@njit(cache=True, nogil=True)
def skip_blanks(buffer: Bytes, i: int) -> int:
    while i < buffer.size and (buffer[i] == SPACE or buffer[i] == TAB or buffer[i] == RETURN):
        i += 1
    return i


@njit(cache=True, nogil=True)
def skip_line(buffer: Bytes, i: int) -> int:
    while i < buffer.size and buffer[i] != NEWLINE:
        i += 1
    return i + 1


@njit(cache=True, nogil=True)
def digits(buffer: Bytes, i: int) -> tuple[int, int]:
    """An index of at most nine digits and the place behind it; −1 where there is none."""
    start, value = i, 0
    while i < buffer.size and ZERO <= buffer[i] <= NINE and i - start < 10:
        value = value * 10 + (buffer[i] - ZERO)
        i += 1
    return (value if 0 < i - start < 10 else -1), i


@njit(cache=True, nogil=True)
def exponent_of(buffer: Bytes, i: int) -> tuple[int, int]:
    """The exponent that may follow a number, and the place behind it; −1 as place where it is malformed."""
    if i >= buffer.size or (buffer[i] != LOWER_E and buffer[i] != UPPER_E):
        return 0, i
    i += 1
    negative = i < buffer.size and buffer[i] == MINUS
    if i < buffer.size and (buffer[i] == PLUS or buffer[i] == MINUS):
        i += 1
    value, end = digits(buffer, i)
    return (-value if negative else value), (end if value >= 0 else -1)


@njit(cache=True, nogil=True)
def number(buffer: Bytes, i: int) -> tuple[float, int, int]:
    """A decimal number as (value, place behind it, PLAIN / HARD / STOP).

    A mantissa below 2^53 times or over an exact power of ten is rounded once, hence correctly (Clinger, PLDI 1990).
    """
    negative = i < buffer.size and buffer[i] == MINUS
    if i < buffer.size and (buffer[i] == PLUS or buffer[i] == MINUS):
        i += 1
    mantissa, kept, seen, scale, fraction = 0, 0, 0, 0, False
    while i < buffer.size:
        if ZERO <= buffer[i] <= NINE:
            seen += 1
            if kept < 18:
                mantissa = mantissa * 10 + (buffer[i] - ZERO)
                kept += mantissa > 0
                scale -= fraction
            else:
                kept += 1  # more digits than fit: float() will round them
                scale += not fraction
        elif buffer[i] == POINT and not fraction:
            fraction = True
        else:
            break
        i += 1
    power, i = exponent_of(buffer, i)
    power += scale
    if seen == 0 or i < 0:
        return 0.0, i, STOP
    if kept > 18 or mantissa > EXACT_MANTISSA or (mantissa > 0 and abs(power) > 22):
        return 0.0, i, (HARD if abs(power) < 280 else STOP)
    value = 0.0
    if mantissa > 0:
        value = mantissa * EXACT_POWERS[power] if power >= 0 else mantissa / EXACT_POWERS[-power]
    return (-value if negative else value), i, PLAIN


@njit(cache=True, nogil=True)
def token_end(buffer: Bytes, i: int) -> int:
    """The place behind an unquoted token; −1 where it holds a quote or a backslash."""
    while i < buffer.size:
        c = buffer[i]
        if c in (QUOTE, APOSTROPHE, BACKSLASH):
            return -1
        if c in (COMMA, SPACE, TAB, RETURN, NEWLINE, CLOSE, OPEN):
            break
        i += 1
    return i


@njit(cache=True, nogil=True)
def nominal(buffer: Bytes, i: int, attribute: int, spec: CellSpec) -> tuple[float, int, int]:
    """The position of a token among the values of its attribute."""
    end = token_end(buffer, i)
    if end == i:
        return 0.0, i, STOP
    for value in range(spec.first_value[attribute], spec.first_value[attribute + 1]):
        start, size = spec.value_start[value], spec.value_start[value + 1] - spec.value_start[value]
        if size != end - i:
            continue
        same = True
        for k in range(size):
            if spec.value_bytes[start + k] != buffer[i + k]:
                same = False
                break
        if same:
            return float(value - spec.first_value[attribute]), end, PLAIN
    return 0.0, i, STOP


@njit(cache=True, nogil=True)
def cell(buffer: Bytes, i: int, attribute: int, spec: CellSpec) -> tuple[float, int, int]:
    """The value of an attribute: a number, the position of a nominal value, or NaN for the unknown label `?`."""
    kind = spec.kinds[attribute]
    if kind == NUMERIC and i + 1 < buffer.size and ZERO <= buffer[i] <= NINE and buffer[i + 1] in (COMMA, CLOSE):
        return float(buffer[i] - ZERO), i + 1, PLAIN  # one digit: counts and flags are most of what there is
    if i < buffer.size and buffer[i] == QUESTION and token_end(buffer, i) == i + 1:
        return np.nan, i + 1, (PLAIN if kind >= NUMERIC_LABEL else STOP)
    if kind in (NOMINAL, NOMINAL_LABEL):
        return nominal(buffer, i, attribute, spec)
    value, end, status = number(buffer, i)
    if kind == NUMERIC_LABEL and (status == HARD or (value != 0.0 and value != 1.0)):
        status = STOP
    return value, end, status


@njit(cache=True, nogil=True)
def note_hard(hards: Ints, count: int, entry: int, start: int, end: int) -> int:
    hards[count, 0], hards[count, 1], hards[count, 2] = entry, start, end
    return count + 1


@njit(cache=True, nogil=True)
def line_ends(buffer: Bytes, i: int) -> bool:
    return i >= buffer.size or buffer[i] == NEWLINE


@njit(cache=True, nogil=True)
def sparse_arff_row(buffer: Bytes, i: int, state: Ints, spec: CellSpec, out: SparseRows) -> tuple[int, int, int]:
    """One row `{index value, ...}` as (place behind it, entries, hards so far); −1 as place where it is not plain."""
    stop = (-1, 0, 0)
    entry, hard, last = state[ENTRIES], state[HARDS], -1
    if buffer[i] != OPEN:
        return stop
    i = skip_blanks(buffer, i + 1)
    more = i < buffer.size and buffer[i] != CLOSE
    while more:
        column, end = digits(buffer, i)
        i = skip_blanks(buffer, end)
        if column <= last or column >= spec.kinds.size or i == end:
            return stop
        value, end, status = cell(buffer, i, column, spec)
        if status == STOP or (status == HARD and hard == len(out.hard)):
            return stop
        if status == HARD:
            hard = note_hard(out.hard, hard, entry, i, end)
        out.columns[entry], out.values[entry], last = column, value, column
        entry += 1
        i = skip_blanks(buffer, end)
        more = i < buffer.size and buffer[i] == COMMA
        if more:
            i = skip_blanks(buffer, i + 1)
    if i >= buffer.size or buffer[i] != CLOSE:
        return stop
    i = skip_blanks(buffer, i + 1)
    return (i, entry, hard) if line_ends(buffer, i) else stop


@njit(cache=True, nogil=True)
def sparse_arff(buffer: Bytes, state: Ints, spec: CellSpec, out: SparseRows) -> bool:
    """The rows of a sparse block from state on; True when it is done, False before a line that is not plain."""
    while state[POSITION] < buffer.size:
        i = skip_blanks(buffer, state[POSITION])
        if not line_ends(buffer, i) and buffer[i] != PERCENT:
            i, entry, hard = sparse_arff_row(buffer, i, state, spec, out)
            if i < 0:
                return False
            out.ends[state[ROWS]] = entry
            state[ROWS] += 1
            state[ENTRIES], state[HARDS] = entry, hard
        state[POSITION] = skip_line(buffer, i)
        state[LINES] += 1
    return True


@njit(cache=True, nogil=True)
def dense_arff_row(buffer: Bytes, i: int, state: Ints, spec: CellSpec, values: Floats, hards: Ints) -> tuple[int, int]:
    """One row `value,value,...` as (place behind it, hards so far); −1 as place where it is not plain."""
    row, hard, width = state[ROWS], state[HARDS], spec.kinds.size
    for column in range(width):
        value, end, status = cell(buffer, i, column, spec)
        if status == STOP or (status == HARD and hard == len(hards)):
            return -1, 0
        if status == HARD:
            hard = note_hard(hards, hard, row * width + column, i, end)
        values[row, column] = value
        i = skip_blanks(buffer, end)
        if column < width - 1:
            if i >= buffer.size or buffer[i] != COMMA:
                return -1, 0
            i = skip_blanks(buffer, i + 1)
    return (i, hard) if line_ends(buffer, i) else (-1, 0)


@njit(cache=True, nogil=True)
def dense_arff(buffer: Bytes, state: Ints, spec: CellSpec, values: Floats, hards: Ints) -> bool:
    """The rows of a dense block into values (rows, attributes); True when done, False before a line not plain."""
    while state[POSITION] < buffer.size:
        i = skip_blanks(buffer, state[POSITION])
        if not line_ends(buffer, i) and buffer[i] != PERCENT:
            i, hard = dense_arff_row(buffer, i, state, spec, values, hards)
            if i < 0:
                return False
            state[ROWS] += 1
            state[HARDS] = hard
        state[POSITION] = skip_line(buffer, i)
        state[LINES] += 1
    return True


@njit(cache=True, nogil=True)
def xmc_labels(buffer: Bytes, i: int, state: Ints, limits: Ints, out: LabelRows) -> tuple[int, int]:
    """The labels a line may start with, as (place behind them, labels so far); −1 as place where not plain."""
    label, last = state[LABELS], -1
    value, end = digits(buffer, i)
    if end < buffer.size and buffer[end] == COLON:
        return i, label  # that was the first feature: the row has no label
    if end == i and (i == buffer.size or buffer[i] <= SPACE):
        return i, label
    while last < value <= limits[3] and value >= limits[2]:
        out.labels[label], last = value, value
        label += 1
        if end >= buffer.size or buffer[end] != COMMA:
            return end, label
        value, end = digits(buffer, end + 1)
    return -1, 0


@njit(cache=True, nogil=True)
def xmc_features(buffer: Bytes, i: int, state: Ints, limits: Ints, out: SparseRows) -> tuple[int, int, int]:
    """The features `index:value ...` of a line as (place behind, entries, hards so far); −1 where not plain."""
    stop = (-1, 0, 0)
    entry, hard, last = state[ENTRIES], state[HARDS], -1
    spaced = True
    while not line_ends(buffer, i):
        column, end = digits(buffer, i)
        if column <= last or column < limits[0] or column > limits[1]:
            return stop
        if not spaced or end >= buffer.size or buffer[end] != COLON:
            return stop
        value, after, status = number(buffer, end + 1)
        if status == STOP or (status == HARD and hard == len(out.hard)):
            return stop
        if status == HARD:
            hard = note_hard(out.hard, hard, entry, end + 1, after)
        out.columns[entry], out.values[entry], last = column, value, column
        entry += 1
        i = skip_blanks(buffer, after)
        spaced = i > after
    return i, entry, hard


@njit(cache=True, nogil=True)
def xmc_rows(buffer: Bytes, state: Ints, limits: Ints, labels: LabelRows, features: SparseRows) -> bool:
    """The rows of an XMC block from state on; True when it is done, False before a line that is not plain.

    `limits` are the first and the last feature, the first and the last label.
    """
    while state[POSITION] < buffer.size:
        i, label = xmc_labels(buffer, state[POSITION], state, limits, labels)
        if i < 0:
            return False
        i = skip_blanks(buffer, i)
        if line_ends(buffer, i) and label == state[LABELS]:
            return False  # a blank line: the Python parser knows what it means
        i, entry, hard = xmc_features(buffer, i, state, limits, features)
        if i < 0:
            return False
        row = state[ROWS]
        labels.ends[row], features.ends[row] = label, entry
        state[LABELS], state[ENTRIES], state[HARDS] = label, entry, hard
        state[POSITION] = i + 1
        state[ROWS] += 1
        state[LINES] += 1
    return True


# -- from blocks of bytes to rows -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompiledBlockParser(BlockParser):
    """A `BlockParser` that goes over the bytes of plain lines in compiled loops."""

    @cached_property
    def spec(self) -> CellSpec:
        return cell_spec(self.rows, self.encoding)

    def sparse(self, block: bytes, line: int) -> SparseBlock:
        state, out = np.zeros(6, np.int64), room(block, shortest_entry=4)  # "0 1,"
        buffer = np.frombuffer(block, np.uint8)
        while not sparse_arff(buffer, state, self.spec, out):
            columns, values = self.row(self.rows.sparse, *self._odd_line(block, line, state))
            start, stop = state[ENTRIES], state[ENTRIES] + len(columns)
            out.columns[start:stop], out.values[start:stop] = columns, values
            out.ends[state[ROWS]] = stop
            state[ENTRIES] = stop
            state[ROWS] += 1
            pass_line(block, state)
        entries = state[ENTRIES]
        round_hard(block, out.values, out.hard[: state[HARDS]])
        lengths = np.diff(out.ends[: state[ROWS]], prepend=0)
        return SparseBlock(lengths, out.columns[:entries], out.values[:entries])

    def dense(self, block: bytes, line: int) -> npt.NDArray[np.float64]:
        state, values = np.zeros(6, np.int64), np.empty((block.count(b"\n") + 1, self.spec.kinds.size))
        hards = np.empty((len(block) // 16 + 16, 3), np.int64)
        buffer = np.frombuffer(block, np.uint8)
        while not dense_arff(buffer, state, self.spec, values, hards):
            values[state[ROWS]] = self.row(self.rows.dense, *self._odd_line(block, line, state))
            state[ROWS] += 1
            pass_line(block, state)
        round_hard(block, values.reshape(-1), hards[: state[HARDS]])
        return values[: state[ROWS]]

    def _odd_line(self, block: bytes, line: int, state: npt.NDArray[np.int64]) -> tuple[str, int]:
        """The line that a kernel stopped at, and its number."""
        start, number = int(state[POSITION]), line + int(state[LINES])
        return decode(block[start : line_end(block, start)], self.encoding, self.path, number).strip(BLANKS), number


def cell_spec(rows: RowParser, encoding: str) -> CellSpec:
    """The attributes as the kernels want them."""
    nominal = [attribute.values is not None for attribute in rows.attributes]
    kinds = np.array(nominal, np.int8) * NOMINAL + np.array(rows.is_label, np.int8) * NUMERIC_LABEL
    counts = [len(attribute.values or ()) for attribute in rows.attributes]
    values = [value.encode(encoding) for attribute in rows.attributes for value in attribute.values or ()]
    return CellSpec(
        kinds,
        np.cumsum([0, *counts], dtype=np.int32),
        np.cumsum([0, *map(len, values)], dtype=np.int32),
        np.frombuffer(b"".join(values) + b"\0", np.uint8),  # frombuffer refuses an empty one
    )


def room(block: bytes, shortest_entry: int) -> SparseRows:
    """Arrays that any block of this size fits into; a number that needs float() is rarely shorter than 16 bytes."""
    entries = len(block) // shortest_entry + 1
    return SparseRows(
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
    state[POSITION] = line_end(block, int(state[POSITION]))
    state[LINES] += 1


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
        labels = LabelRows(np.empty_like(features.ends), np.empty(len(block) // 2 + 1, np.int32))  # "0,"
        buffer = np.frombuffer(block, np.uint8)
        while not xmc_rows(buffer, state, limits, labels, features):
            start = int(state[POSITION])
            row = self.row(block[start : line_end(block, start)], line + int(state[LINES]))
            if row is not None:
                _append(row, state, labels, features)
            pass_line(block, state)
        round_hard(block, features.values, features.hard[: state[HARDS]])
        rows, n_labels, entries = (int(state[slot]) for slot in (ROWS, LABELS, ENTRIES))
        return XmcBlock(
            np.diff(labels.ends[:rows], prepend=0),
            labels.labels[:n_labels].copy(),
            np.diff(features.ends[:rows], prepend=0),
            features.columns[:entries].copy(),
            features.values[:entries].copy(),
        )


def _append(row: Any, state: npt.NDArray[np.int64], labels: LabelRows, features: SparseRows) -> None:
    """Put a row that was parsed in Python behind those of the kernel."""
    own_labels, columns, values = row
    label_end, end = state[LABELS] + len(own_labels), state[ENTRIES] + len(columns)
    labels.labels[state[LABELS] : label_end] = own_labels
    features.columns[state[ENTRIES] : end] = columns
    features.values[state[ENTRIES] : end] = values
    labels.ends[state[ROWS]], features.ends[state[ROWS]] = label_end, end
    state[LABELS], state[ENTRIES] = label_end, end
    state[ROWS] += 1
