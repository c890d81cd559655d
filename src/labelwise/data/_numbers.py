"""Numbers in text: what counts as one, and how one is written so that it comes back unchanged."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.data.errors import Problem, shown

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
INDEX = re.compile(r"[0-9]+")
NOT_FINITE = {"nan", "inf", "infinity"}


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
    if INDEX.fullmatch(token) is None:
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
