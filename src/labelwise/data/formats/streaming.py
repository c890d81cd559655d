"""What streams of every format share: places, batches, and a vocabulary of labels that grows."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import Problem, repeated
from labelwise.data.reading import line_blocks
from labelwise.files import AnyPath, split_name

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

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lw.data.write(lw.data.make_drifting_stream(30), f"{folder}/items.txt")
    ...     [(batch.n_rows, batch.end.row) for batch in lw.data.open_stream(f"{folder}/items.txt", batch=20)]
    [(20, 20), (10, 30)]
    """

    X: Any  # (n, d) csr_array of float
    Y: Any  # (n, q) csr_array of bool
    observed: Any  # (n, q) csr_array of bool, or None
    ids: tuple[str, ...]
    end: Position  # behind the last row

    @property
    def n_rows(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Span:
    """How a stream goes over its file; see `open_stream`."""

    batch: int
    start: Position | None = None
    limit: int | None = None
    seen_labels: Sequence[str] = ()
    labelled: bool = True

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise ValueError(f"batch must be at least 1, got {self.batch!r}")
        if self.limit is not None and self.limit < 0:
            raise ValueError(f"limit must not be negative, got {self.limit!r}")

    def rows_left(self, row: int) -> int:
        """Rows to read next: a batch, or what the limit leaves of it."""
        return self.batch if self.limit is None else min(self.batch, self.limit - row)


class Stream(ABC):
    """Rows of a file in batches, one after another, never more than one in memory. Made by `open_stream`.

    Attributes
    ----------
    label_names : list of str
        The labels known so far, in the order of the columns of Y; it grows while the stream is read.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lw.write(lw.data.make_shapes(50, random_state=0), f"{folder}/shapes.libsvm", lossy=True)
    ...     print([batch.n_rows for batch in lw.data.open_stream(f"{folder}/shapes.libsvm", batch=20)])
    [20, 20, 10]
    """

    format: str

    def __init__(self, path: AnyPath, vocabulary: Vocabulary, span: Span) -> None:
        self.path, self.vocabulary, self.span = path, vocabulary, span
        self._start = span.start or Position()

    @property
    def label_names(self) -> list[str]:
        return self.vocabulary.names

    @abstractmethod
    def __iter__(self) -> Iterator[StreamBatch]: ...

    def fraction(self, position: Position) -> float | None:
        """How much of the file lies before a position, from 0 to 1; None where that cannot be known.

        By bytes, which say nothing where they are compressed.
        """
        return None if split_name(self.path)[2] else position.offset / max(os.path.getsize(self.path), 1)


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
        if (twice := repeated(self.names)) is not None:
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
