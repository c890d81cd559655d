"""The one place that chooses: masks, ties and batches, for items and for (item, label) pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

TIE = 1e-10  # scores closer than this, relative to their size, are equal: rounding must not choose
_DROPPED_BITS = 20  # of the 52 of a float64 fraction: what lies below TIE


def canonical(closed: sp.csr_array) -> sp.csr_array:
    """The same mask with sorted columns, without explicit False and repeats: its entries can then be counted."""
    if closed.has_canonical_format and closed.data.all():
        return closed
    closed = closed.copy()
    closed.sum_duplicates()
    closed.eliminate_zeros()
    return closed


def open_items(closed: sp.csr_array) -> npt.NDArray[np.intp]:
    """Rows with at least one entry that may still be asked."""
    return np.flatnonzero(open_counts(closed))


def open_counts(closed: sp.csr_array) -> npt.NDArray[np.intp]:
    """How many entries of each row may still be asked."""
    return closed.shape[1] - np.diff(canonical(closed).indptr)


def open_entries(closed: sp.csr_array) -> npt.NDArray[np.bool_]:
    """The complement of `closed` as a dense mask; for blocks of rows."""
    return ~closed.toarray()


def best(
    scores: npt.NDArray[np.floating[Any]], n: int, priority: npt.NDArray[np.floating[Any]]
) -> npt.NDArray[np.intp]:
    """Positions of the n highest scores, best first; ties go to the higher priority; −inf and NaN are never chosen.

    Whether two scores tie depends on these two alone. Drawing `priority` at random breaks ties fairly, and keeping it
    with each candidate lets a pool be chosen from block by block with the same outcome as at once.

    >>> best(np.array([1.0, 3.0, -np.inf, 2.0, 3.0]), 3, np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    array([4, 1, 3])
    """
    eligible = np.flatnonzero(scores > -np.inf)  # NaN compares false
    if eligible.size == 0 or n <= 0:
        return np.empty(0, dtype=np.intp)
    values = _rounded(scores[eligible])
    if n < values.size:  # keep whatever ties with the n-th
        kept = values >= np.partition(values, values.size - n)[values.size - n]
        eligible, values = eligible[kept], values[kept]
    return eligible[np.lexsort((-priority[eligible], -values))[:n]]


def _rounded(scores: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float64]:
    """Scores to the nearest number with _DROPPED_BITS trailing zero bits; a carry moves into the exponent by itself."""
    bits = scores.astype(np.float64).view(np.int64)
    return ((bits + (1 << (_DROPPED_BITS - 1))) & -(1 << _DROPPED_BITS)).view(np.float64)


def random_items(closed: sp.csr_array, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """n different rows that are still open, uniformly; all of them, shuffled, where there are fewer."""
    rows = open_items(closed)
    return rng.permutation(rows)[:n]


def random_pairs(
    closed: sp.csr_array, n: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """n different open (row, label) entries, uniformly over all open entries, without making the n × q mask."""
    closed = canonical(closed)
    counts = open_counts(closed)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    picks = rng.choice(total, size=min(n, total), replace=False)
    rows = np.searchsorted(ends, picks, side="right")
    return rows, _open_label(closed, rows, picks - (ends - counts)[rows])


def _open_label(closed: sp.csr_array, rows: npt.NDArray[np.intp], offset: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """The label that is the offset-th open one of each row, counted from 0, found from the closed ones alone."""
    per_row, q = np.diff(closed.indptr), closed.shape[1]
    before = closed.indices - (np.arange(closed.nnz) - np.repeat(closed.indptr[:-1], per_row))  # open labels before it
    row_of = np.repeat(np.arange(closed.shape[0]), per_row)
    passed = np.searchsorted(row_of * (q + 1) + before, rows * (q + 1) + offset, side="right") - closed.indptr[rows]
    return offset + passed
