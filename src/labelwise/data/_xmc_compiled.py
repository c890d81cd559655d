"""The compiled engine for XMC rows: a kernel for plain lines, the Python parser for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.data import _kernels as kernels
from labelwise.data._arff_compiled import line_end, pass_line, room, round_hard
from labelwise.data.xmc import XmcBlock, XmcParser


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
