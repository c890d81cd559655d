"""The one place that chooses: masks, ties and batches, for items and for (item, label) pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

TIE = 1e-10  # scores closer than this, relative to the largest, are equal: rounding must not choose


def open_items(closed: sp.csr_array) -> npt.NDArray[np.intp]:
    """Rows with at least one entry that may still be asked."""
    return np.flatnonzero(np.diff(closed.indptr) < closed.shape[1])


def open_counts(closed: sp.csr_array) -> npt.NDArray[np.intp]:
    """How many entries of each row may still be asked."""
    return closed.shape[1] - np.diff(closed.indptr)


def open_entries(closed: sp.csr_array) -> npt.NDArray[np.bool_]:
    """The complement of `closed` as a dense mask; for blocks of rows."""
    return ~closed.toarray()


def best(
    scores: npt.NDArray[np.floating[Any]], n: int, priority: npt.NDArray[np.floating[Any]]
) -> npt.NDArray[np.intp]:
    """Positions of the n highest scores, best first; ties go to the higher priority; −inf and NaN are never chosen.

    Drawing `priority` at random breaks ties fairly, and keeping it with each candidate lets a pool be chosen from
    block by block with the same outcome as at once.

    >>> best(np.array([1.0, 3.0, -np.inf, 2.0, 3.0]), 3, np.array([0.1, 0.2, 0.3, 0.4, 0.5]))
    array([4, 1, 3])
    """
    eligible = np.flatnonzero(scores > -np.inf)  # NaN compares false
    if eligible.size == 0 or n <= 0:
        return np.empty(0, dtype=np.intp)
    values = scores[eligible]
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    step = TIE * max(float(largest), float(np.finfo(float).tiny))
    if n < values.size:  # keep whatever might tie with the n-th
        cut = np.partition(values, values.size - n)[values.size - n]
        kept = values >= cut - step
        eligible, values = eligible[kept], values[kept]
    falling = np.argsort(-values, kind="stable")
    with np.errstate(invalid="ignore"):  # inf - inf: equal, no new group
        new_group = np.diff(values[falling], prepend=values[falling[0]]) < -step
    group = np.empty(values.size, dtype=np.intp)
    group[falling] = np.cumsum(new_group)
    return eligible[np.lexsort((-priority[eligible], group))][:n]


def random_items(closed: sp.csr_array, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """n different rows that are still open, uniformly; all of them, shuffled, where there are fewer."""
    rows = open_items(closed)
    return rng.permutation(rows)[:n]


def random_pairs(
    closed: sp.csr_array, n: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """n different open (row, label) entries, uniformly over all open entries, without making the n × q mask."""
    counts = open_counts(closed)
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    picks = rng.choice(total, size=min(n, total), replace=False)
    rows = np.searchsorted(ends, picks, side="right")
    offset = picks - (ends - counts)[rows]  # the offset-th open label of that row
    free = open_entries(closed[rows])  # (picks, q)
    labels = (np.cumsum(free, axis=1) <= offset[:, None]).sum(1)
    return rows, labels
