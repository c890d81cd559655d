"""What is wrong in a file, and where."""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # errors are told where no data are loaded
    from labelwise.files import AnyPath
    from labelwise.records import LabelData


class FormatError(ValueError):
    """A file says something that its format does not allow, or a format cannot say what it is asked to.

    Parameters
    ----------
    problem : str
        What was found, what was expected.
    path : path, or None
    line : int, or None
        Counted from 1.

    Examples
    --------
    >>> print(FormatError("found 'x', expected a number", "a.csv", 3))
    a.csv, line 3: found 'x', expected a number
    """

    def __init__(self, problem: str, path: str | os.PathLike[str] | None = None, line: int | None = None) -> None:
        super().__init__(problem, path, line)
        self.problem = problem
        self.path = None if path is None else os.fspath(path)
        self.line = line

    def __str__(self) -> str:
        places = [] if self.path is None else [self.path]
        places += [] if self.line is None else [f"line {self.line}"]
        return f"{', '.join(places)}: {self.problem}" if places else self.problem


# What other libraries raise of a damaged file: its content is read as sizes, types and names before it is checked.
DAMAGED: tuple[type[Exception], ...] = (
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError, ArithmeticError, SyntaxError),
    *(RecursionError, NotImplementedError, RuntimeError, AssertionError, MemoryError, TokenError),
    *(zipfile.BadZipFile, zlib.error, struct.error, ImportError),
)
UNREADABLE: tuple[type[Exception], ...] = (*DAMAGED, OSError)


class Problem(ValueError):
    """What is wrong with a line, raised where file and line number are not known; it becomes a `FormatError`."""


def repeated(names: Iterable[str]) -> str | None:
    """The first name that is there more than once, if any.

    >>> repeated(["a", "b", "c", "b"])
    'b'
    """
    return next((name for name, times in Counter(names).items() if times > 1), None)


def shown(text: Any, width: int = 60) -> str:
    """A value as it appears in a message: quoted, and cut where it is long.

    >>> shown("a" * 100, 8)
    "'aaaaa..."
    """
    whole = repr(text)
    return whole if len(whole) <= width else whole[: width - 2] + "..."


def refuse_losses(data: LabelData, path: AnyPath, format: str, keeps: Sequence[str], lossy: bool) -> None:
    """Raise where `data` holds what the format would lose, unless `lossy` allows it, or no item at all.

    `keeps` lists what the format can say.
    """
    if data.n_items == 0:
        raise FormatError("there is no item to write", path)
    held = {
        "item_ids": data.item_ids != tuple(map(str, range(data.n_items))),
        "items": data.items is not None,
        "feature_names": data.feature_names is not None,
        "label_names": data.label_names != tuple(f"label_{label}" for label in range(data.n_labels)),
    }
    lost = [what for what, is_held in held.items() if is_held and what not in keeps]
    if lost and not lossy:
        raise FormatError(
            f"{format} has no place for {' and '.join(lost)}; pass lossy=True to write without, or use jsonl", path
        )
