"""Cells of text files: what counts as a number, how it is written to come back unchanged, and what is no formula."""

from __future__ import annotations

import itertools
import math
import re
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import Problem, shown

NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")  # no digit fits in two places
INDEX = re.compile(r"[0-9]+")
MOST_DIGITS = 1000  # of an index with zeros before it; Python refuses to convert much more
NOT_FINITE = {"nan", "inf", "infinity"}
ROWS_AT_ONCE = 1000  # rows turned into text at a time
BEGINNINGS = "=+-@\t\r\n"  # of a cell that a spreadsheet would run as a formula
FORMULA = re.compile(rf"'*[{re.escape(BEGINNINGS)}]")
ESCAPED = re.compile(rf"'+[{re.escape(BEGINNINGS)}]")


def parse_number(token: str) -> float:
    """A finite decimal number; narrower than float(), which takes underscores, spaces and "nan".

    >>> parse_number("-2.50e1")
    -25.0
    """
    if NUMBER.fullmatch(token) is None:
        if token.lower().lstrip("+-") in NOT_FINITE:
            raise Problem(f"found {shown(token)}, expected a finite number; fill it in or drop the row first")
        raise Problem(f"found {shown(token)}, expected a number")
    value = float(token)
    if math.isinf(value):
        raise Problem(f"found {shown(token)}, which is too large for a 64-bit number")
    return value


def parse_index(token: str, what: str) -> int:
    if INDEX.fullmatch(token) is None or len(token) > MOST_DIGITS:
        raise Problem(f"found {shown(token)}, expected {what}")
    return int(token)


def format_number(value: float) -> str:
    """The shortest text that reads back as this very float.

    >>> format_number(3.0), format_number(0.1)
    ('3', '0.1')
    """
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def check_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {kind}")
    return kind


def escape_formula(cell: str) -> str:
    """The cell with an apostrophe in front where a spreadsheet would run it; `unescape_formula` takes it off again.

    >>> [escape_formula(cell) for cell in ("=1+1", "-2.5", "-x", "a=b", "'=1")]
    ["'=1+1", '-2.5', "'-x", 'a=b', "''=1"]
    """
    return f"'{cell}" if FORMULA.match(cell) and not NUMBER.fullmatch(cell) else cell


def unescape_formula(cell: str) -> str:
    """Take off exactly what `escape_formula` put on.

    >>> [unescape_formula(cell) for cell in ("'=1+1", "-2.5", "'tis", "''=1")]
    ['=1+1', '-2.5', "'tis", "'=1"]
    """
    return cell[1:] if cell[:1] == "'" and ESCAPED.match(cell) else cell


def compiled_parser(kind: str) -> Any:
    """A parser of `compiled`, loaded only for files large enough: numba takes half a second to import."""
    return getattr(import_module("labelwise.data.formats.compiled"), f"Compiled{kind}Parser")


def sparse_cells(X: Any, first: int, sign: str) -> list[list[str]]:
    """Per row the entries that are not 0, in order, as index, sign and number; the first column is called `first`.

    >>> sparse_cells(sp.csr_array([[0.0, 2.5], [0.0, 0.0]]), 1, ":")
    [['2:2.5'], []]
    """
    X = sp.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    pairs = zip((X.indices + first).tolist(), X.data.tolist(), strict=True)
    cells = [f"{column}{sign}{format_number(value)}" for column, value in pairs]
    return [cells[start:stop] for start, stop in itertools.pairwise(X.indptr.tolist())]
