"""Random numbers that are a function of their address: any of them can be made again without those before it.

Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011). A draw of the
weights of a model then needs no memory. The weight of feature j and label c in sample t is the same whenever, and in
whichever block of items, it is asked for.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@numba.njit(nogil=True)
def philox(counter: Any, key: Any) -> tuple[int, int, int, int]:
    """Four 32-bit words of a counter of four words under a key of two, all held as uint64."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0 = np.uint64(0xD2511F53) * c0
        p1 = np.uint64(0xCD9E8D57) * c2
        c0, c1, c2, c3 = (p1 >> HALF) ^ c1 ^ k0, p1 & LOW, (p0 >> HALF) ^ c3 ^ k1, p0 & LOW
        k0 = (k0 + np.uint64(0x9E3779B9)) & LOW
        k1 = (k1 + np.uint64(0xBB67AE85)) & LOW
    return c0, c1, c2, c3


@numba.njit(nogil=True, cache=True)
def fill_uniforms(out: Any, first: int, kind: int, sample: int, seed: int) -> None:
    """out (m, q): uniform numbers from 0 up to 1 at the addresses (seed, kind, sample, first + i, c)."""
    word = np.uint64(seed)
    key = (word & LOW, word >> HALF)
    for i in range(out.shape[0]):
        row = np.uint64(first + i)
        high = (row >> HALF) ^ (np.uint64(kind) << np.uint64(24))
        for group in range((out.shape[1] + 3) // 4):
            words = philox((np.uint64(group), row & LOW, high, np.uint64(sample)), key)
            for c in range(4 * group, min(4 * group + 4, out.shape[1])):
                out[i, c] = words[c - 4 * group] / 2.0**32


@numba.njit(nogil=True, cache=True)
def fill_normals(out: Any, rows: Any, kind: int, sample: int, seed: int) -> None:
    """out (m, q): standard normals at the addresses (seed, kind, sample, rows[i], c)."""
    word = np.uint64(seed)
    key = (word & LOW, word >> HALF)
    for i in range(out.shape[0]):
        row = np.uint64(rows[i])
        high = (row >> HALF) ^ (np.uint64(kind) << np.uint64(24))
        for group in range((out.shape[1] + 3) // 4):
            words = philox((np.uint64(group), row & LOW, high, np.uint64(sample)), key)
            for pair in range(2):
                # Box-Muller; the half keeps the logarithm finite
                radius = math.sqrt(-2 * math.log((words[2 * pair] + 0.5) / 2.0**32))
                angle = 2 * math.pi * (words[2 * pair + 1] / 2.0**32)
                c = 4 * group + 2 * pair
                if c < out.shape[1]:
                    out[i, c] = radius * math.cos(angle)
                if c + 1 < out.shape[1]:
                    out[i, c + 1] = radius * math.sin(angle)


def standard_normals(
    rows: npt.NDArray[np.int64], n_columns: int, *, seed: int, sample: int, kind: int
) -> npt.NDArray[np.float32]:
    """(m, n_columns) standard normals, one line per address in `rows`.

    >>> line = standard_normals(np.array([7]), 3, seed=1, sample=0, kind=0)
    >>> again = standard_normals(np.array([5, 7]), 3, seed=1, sample=0, kind=0)[1:]
    >>> bool(np.array_equal(line, again))
    True
    """
    out = np.empty((len(rows), n_columns), dtype=np.float32)
    fill_normals(out, np.asarray(rows, dtype=np.int64), kind, sample, np.uint64(seed))
    return out


def uniforms(first: int, n_rows: int, n_columns: int, *, seed: int, sample: int, kind: int) -> npt.NDArray[np.float64]:
    """(n_rows, n_columns) uniform numbers, those of row `first` and of the rows behind it.

    >>> part = uniforms(5, 1, 3, seed=1, sample=0, kind=0)
    >>> bool(np.array_equal(part, uniforms(4, 2, 3, seed=1, sample=0, kind=0)[1:]))
    True
    """
    out = np.empty((n_rows, n_columns))
    fill_uniforms(out, first, kind, sample, np.uint64(seed))
    return out
