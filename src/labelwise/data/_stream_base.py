"""What streams of every format share: places, batches, and a vocabulary of labels that grows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data._files import AnyPath, line_blocks
from labelwise.data.errors import Problem

NEWLINE = 10


@dataclass(frozen=True)
class Position:
    """A place between two rows of a file, from which a stream can go on.

    Examples
    --------
    >>> Position().row, Position(row=2000, line=2002, offset=1_350_211).line
    (0, 2002)
    """

    row: int = 0  # rows before it
    line: int = 1  # the line that follows; text only
    offset: int = 0  # bytes before it, uncompressed; text only


@dataclass(frozen=True, eq=False)
class StreamBatch:
    """Consecutive rows of a stream.

    `X` and `Y` have as many columns as features and labels are known at that time; later batches may have more. As in
    `LabelData`, `observed=None` means that every entry of Y is known.
    """

    X: Any  # (n, d) csr_array of float
    Y: Any  # (n, q) csr_array of bool
    observed: Any  # (n, q) csr_array of bool, or None
    ids: tuple[str, ...]
    end: Position  # behind the last row

    @property
    def n_rows(self) -> int:
        return len(self.ids)


class Stream(ABC):
    """Rows of a file in batches, one after another, never more than one in memory. Made by `open_stream`.

    Attributes
    ----------
    label_names : list of str
        The labels known so far, in the order of the columns of Y; it grows while the stream is read.
    """

    format: str

    def __init__(self, path: AnyPath, vocabulary: Vocabulary) -> None:
        self.path = path
        self.vocabulary = vocabulary

    @property
    def label_names(self) -> list[str]:
        return self.vocabulary.names

    @abstractmethod
    def __iter__(self) -> Iterator[StreamBatch]: ...

    @abstractmethod
    def fraction(self, position: Position) -> float | None:
        """How much of the file lies before a position, from 0 to 1; None where that cannot be known."""


class Vocabulary:
    """Label names in order of their first appearance; a closed one takes no more.

    Examples
    --------
    >>> words = Vocabulary(["red"])
    >>> words.columns(["round", "red", "blue"]), words.names
    ([1, 0, 2], ['red', 'round', 'blue'])
    """

    def __init__(self, names: Iterable[str] = (), closed: bool = False) -> None:
        self.names = list(names)
        self.closed = closed
        self._place = {name: column for column, name in enumerate(self.names)}
        if len(self._place) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"the label {twice!r} is there twice; label names must be unique")

    def __len__(self) -> int:
        return len(self.names)

    def columns(self, names: Sequence[str]) -> list[int]:
        """The columns of these labels; new ones are appended."""
        for name in names:
            if name not in self._place:
                if self.closed:
                    raise Problem(f"found the label {name!r}, which is not in label_names=")
                self._place[name] = len(self.names)
                self.names.append(name)
        return [self._place[name] for name in names]


class Lines:
    """Lines of a text file, taken in as many at a time as wanted, from a position on."""

    def __init__(self, path: AnyPath, start: Position) -> None:
        self.line, self.offset = start.line, start.offset
        self._blocks = line_blocks(path, offset=start.offset)
        self._block = b""
        self._ends: npt.NDArray[np.intp] = np.empty(0, dtype=np.intp)  # of the lines in the block
        self._taken = 0  # lines of the block

    def take(self, count: int) -> bytes:
        """At most `count` whole lines, fewer only at the end of the file; the last line may lack its newline."""
        pieces = []
        while count > 0:
            if self._taken == len(self._ends) and not self._next_block():
                break
            stop = min(self._taken + count, len(self._ends))
            start = self._ends[self._taken - 1] if self._taken else 0
            pieces.append(self._block[start : self._ends[stop - 1]])
            count -= stop - self._taken
            self.line += stop - self._taken
            self.offset += len(pieces[-1])
            self._taken = stop
        return b"".join(pieces)

    def _next_block(self) -> bool:
        block = next(self._blocks, None)
        if block is None:
            return False
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == NEWLINE) + 1
        if not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        self._block, self._ends, self._taken = block, ends, 0
        return True


def rows_of(lengths: npt.NDArray[np.integer[Any]], columns: Any, values: Any, width: int) -> Any:
    """CSR rows of these lengths; columns are sorted within each."""
    ends = np.concatenate([[0], np.cumsum(lengths)])
    rows = sp.csr_array((values, columns, ends), shape=(len(lengths), width))
    rows.sort_indices()
    return rows


def rows_left(limit: int | None, row: int, batch: int) -> int:
    """Rows to read next: a batch, or what the limit leaves of it."""
    return batch if limit is None else min(batch, limit - row)
