"""What is wrong in a file, and where."""

from __future__ import annotations

import os
from typing import Any


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


class Problem(ValueError):
    """What is wrong with a line, raised where file and line number are not known; it becomes a `FormatError`."""


def shown(text: Any, width: int = 60) -> str:
    """A value as it appears in a message: quoted, and cut where it is long.

    >>> shown("a" * 100, 8)
    "'aaaaa..."
    """
    whole = repr(text)
    return whole if len(whole) <= width else whole[: width - 2] + "..."
