"""Probabilities of each label in falling order, as groups: every item its own group, or bins on a logit grid.

Rules that take the most probable items of a label need its items in order and little else. Ranks are exact and cost a
sort; bins cost one byte or two per entry, can be filled block by block, and lose only the order inside a bin. Further
letter: g groups, group 0 holding the most probable items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from labelwise.numerics.arrays import BoolArray, FloatArray, IntegerArray

FLAT = 1e-6  # probabilities that differ by less than this, relative to the highest, are the same


@dataclass(frozen=True, eq=False)
class Groups:
    """The items of each label, grouped by falling probability."""

    code: IntegerArray  # (n, q), the group of each entry
    probability: FloatArray  # (q, g), mean in the group, falling
    count: FloatArray  # (q, g), items in the group

    def sets(self, taken: npt.ArrayLike) -> BoolArray:
        """(n, q) the entries of the first `taken` groups of each label."""
        return self.code < np.asarray(taken)

    def largest(self, sizes: IntegerArray) -> BoolArray:
        """(n, q) the sizes[j] most probable items of each label j; within a group the first items come first."""
        return take_in_order(self.code, *self.cuts(sizes))

    def cuts(self, sizes: IntegerArray) -> tuple[IntegerArray, IntegerArray]:
        """(q,) groups that fit into each label's size as a whole, and how many items of the next one still do."""
        ends = np.cumsum(self.count, axis=1)  # (q, g)
        cut = (ends <= sizes[:, None]).sum(1)
        whole = np.concatenate([np.zeros((len(ends), 1)), ends], axis=1)[np.arange(len(ends)), cut]
        return cut, (sizes - whole).astype(np.int64)

    def flat(self) -> BoolArray:
        """(q,) labels that are equally probable for all items, to six digits, and less likely than not.

        >>> rank_groups(np.array([[0.2, 0.2, 0.6], [0.2, 0.1, 0.6]])).flat()
        array([ True, False, False])
        """
        there = self.count > 0
        highest = np.where(there, self.probability, 0.0).max(axis=1, initial=0.0)
        lowest = np.where(there, self.probability, 1.0).min(axis=1, initial=1.0)
        return (highest - lowest <= FLAT * highest) & (highest < 0.5)

    def count_of(self, sets: BoolArray) -> FloatArray:
        """(q, g) how many of a group's items are in the given (n, q) sets."""
        found = np.zeros_like(self.count)
        add_counts(self.code, sets, found)
        return found


def rank_groups(p: FloatArray) -> Groups:
    """Every item of (n, q) is a group of its own; equal probabilities keep the order of the items.

    >>> rank_groups(np.array([[0.2], [0.9], [0.2]])).code.ravel()
    array([1, 0, 2], dtype=int32)
    """
    columns = np.ascontiguousarray(p.T, dtype=float)  # (q, n)
    falling = np.argsort(-columns, axis=1, kind="stable")
    rank = np.empty(columns.shape, dtype=np.int32)
    np.put_along_axis(rank, falling, np.arange(columns.shape[1], dtype=np.int32)[None, :], axis=1)
    return Groups(np.ascontiguousarray(rank.T), np.take_along_axis(columns, falling, 1), np.ones(columns.shape))


def logit_codes(p: FloatArray, n_bins: int, reach: float) -> IntegerArray:
    """The bin of each probability: equal steps of the logit from +reach (bin 0) down to −reach, open at both ends.

    Equal steps of the logit are equal ratios of small probabilities: rare labels live there, and a grid in p itself
    cannot tell them apart.

    >>> logit_codes(np.array([[1.0, 0.73, 0.5, 0.27, 0.0]]), 4, reach=2.0)
    array([[0, 1, 2, 2, 3]], dtype=uint8)
    """
    codes = np.empty(p.shape, dtype=np.uint8 if n_bins <= 256 else np.uint16)
    _logit_codes(p, n_bins, reach, codes)
    return codes


def bin_groups(codes: IntegerArray, sums: FloatArray, counts: FloatArray) -> Groups:
    """Groups out of what `add_to_bins` has gathered; an empty bin is given the probability of the one before it."""
    mean = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)  # (q, g)
    return Groups(codes, np.minimum(np.minimum.accumulate(mean, axis=1), 1.0), counts)


@njit(cache=True, nogil=True)
def add_to_bins(codes: IntegerArray, p: FloatArray, sums: FloatArray, counts: FloatArray) -> None:
    """Add a block of items, (n, q) codes and probabilities, to the (q, g) sums and counts."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            g = codes[i, j]
            sums[j, g] += p[i, j]
            counts[j, g] += 1


@njit(cache=True, nogil=True)
def add_counts(codes: IntegerArray, among: BoolArray, counts: FloatArray) -> None:
    """Add the entries of a block that are in the (n, q) mask `among` to the (q, g) counts."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if among[i, j]:
                counts[j, codes[i, j]] += 1


@njit(cache=True, nogil=True)
def add_hits(codes: IntegerArray, drawn: BoolArray, hits: IntegerArray) -> None:
    """Add the positives among (s, n, q) drawn labels to their group's place in (s, q, g)."""
    for t in range(drawn.shape[0]):
        for i in range(drawn.shape[1]):
            for j in range(drawn.shape[2]):
                if drawn[t, i, j]:
                    hits[t, j, codes[i, j]] += 1


@njit(cache=True, nogil=True)
def _logit_codes(p: FloatArray, n_bins: int, reach: float, codes: IntegerArray) -> None:
    low, high = 1 / (1 + np.exp(reach)), 1 / (1 + np.exp(-reach))
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            if p[i, j] <= low:
                codes[i, j] = n_bins - 1
            elif p[i, j] >= high:
                codes[i, j] = 0
            else:
                place = (reach - np.log(p[i, j] / (1 - p[i, j]))) * (n_bins / (2 * reach))
                codes[i, j] = min(max(int(place), 0), n_bins - 1)


@njit(cache=True, nogil=True)
def take_in_order(code: IntegerArray, cut: IntegerArray, left: IntegerArray) -> BoolArray:
    """Entries before the cut, and the first `left` entries of the group at the cut, which are counted down."""
    taken = np.zeros(code.shape, dtype=np.bool_)
    for i in range(code.shape[0]):
        for j in range(code.shape[1]):
            if code[i, j] < cut[j]:
                taken[i, j] = True
            elif code[i, j] == cut[j] and left[j] > 0:
                taken[i, j] = True
                left[j] -= 1
    return taken
