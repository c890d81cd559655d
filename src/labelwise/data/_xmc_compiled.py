"""The compiled engine for XMC rows: a kernel for plain lines, the Python parser for the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.data import _kernels as kernels
from labelwise.data._arff_compiled import room, round_hard
from labelwise.data.xmc import XmcBlock, XmcParser


def parse(parser: XmcParser, block: bytes, line: int) -> XmcBlock:
    """As `XmcParser.block`."""
    state, limits = np.zeros(6, np.int64), np.array([*parser.range_of("feature"), *parser.range_of("label")])
    features = room(block, shortest_entry=4)  # "0:1 "
    labels = kernels.LabelRows(np.empty_like(features.ends), np.empty(len(block) // 2 + 1, np.int32))  # "0,"
    buffer = np.frombuffer(block, np.uint8)
    while not kernels.xmc_rows(buffer, state, limits, labels, features):
        start = int(state[kernels.POSITION])
        after = block.find(b"\n", start) + 1 or len(block)
        row = parser.row(block[start:after], line + int(state[kernels.LINES]))
        if row is not None:
            _append(row, state, labels, features)
        state[kernels.POSITION] = after
        state[kernels.LINES] += 1
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
    own_labels, columns, values = row
    label_end, end = state[kernels.LABELS] + len(own_labels), state[kernels.ENTRIES] + len(columns)
    labels.labels[state[kernels.LABELS] : label_end] = own_labels
    features.columns[state[kernels.ENTRIES] : end] = columns
    features.values[state[kernels.ENTRIES] : end] = values
    labels.ends[state[kernels.ROWS]], features.ends[state[kernels.ROWS]] = label_end, end
    state[kernels.LABELS], state[kernels.ENTRIES] = label_end, end
    state[kernels.ROWS] += 1
