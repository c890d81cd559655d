"""Names for the types of arrays; boolean matrices whose columns are often alike."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]
IntegerArray = npt.NDArray[np.integer[Any]]  # of any size


class DistinctColumns(NamedTuple):
    """The different columns of a mask, where each is first found, and which of them every column is."""

    columns: BoolArray  # (n, k)
    first: IntArray  # (k,)
    member: IntArray  # (q,)

    def groups(self) -> list[IntArray]:
        """The columns of the mask that are alike, for each of the k kinds."""
        order = np.argsort(self.member, kind="stable")
        return np.split(order, np.searchsorted(self.member[order], np.arange(1, self.first.size)))


def distinct_columns(mask: BoolArray) -> DistinctColumns:
    """Columns compared as packed bits, which is many times faster than comparing booleans one by one.

    >>> distinct_columns(np.array([[True, False, True], [False, False, False]])).member
    array([1, 0, 1])
    """
    n, q = mask.shape
    if n == 0 or q <= 1:
        return DistinctColumns(mask[:, :1], np.zeros(min(q, 1), dtype=np.intp), np.zeros(q, dtype=np.intp))
    packed = np.ascontiguousarray(np.packbits(mask, axis=0).T)  # (q, bytes)
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, member = np.unique(keys, return_index=True, return_inverse=True)
    return DistinctColumns(mask[:, first], first, member)
