"""Labels under labels: where a child implies its parent, answers, predictions and probabilities keep to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.records.labels import Label

IntArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LabelTree:
    """Which label is the parent of which, for the rule that a child implies its parent.

    A yes to a child is a yes to all labels above it; a no to a label is a no to all below it.

    Parameters
    ----------
    parents : (q,) the column of each label's parent, −1 for a label without one

    Examples
    --------
    >>> tree = LabelTree.of([Label("science"), Label("science/physics"), Label("art")])
    >>> tree.parents.tolist()
    [-1, 0, -1]
    >>> tree.probabilities(np.array([[0.2, 0.7, 0.1]]))
    array([[0.7, 0.7, 0.1]])
    """

    parents: IntArray

    @classmethod
    def of(cls, labels: Sequence[Label]) -> LabelTree:
        """By `Label.parent`, or by the path in a name; a parent that is no label itself implies nothing."""
        place = {label.name: column for column, label in enumerate(labels)}
        found = cls(np.array([place.get(_parent(label, place), -1) for label in labels], dtype=np.intp))
        found.check([label.name for label in labels])
        return found

    def check(self, names: Sequence[str]) -> None:
        """Raise where a label stands above itself."""
        depth = self.depth
        if (depth < 0).any():
            name = names[int(np.argmax(depth < 0))]
            raise ValueError(f"label {name!r} stands above itself: follow its parents, and take one away")

    @cached_property
    def depth(self) -> IntArray:
        """(q,) how many labels stand above each; −1 in a circle."""
        above, depth = self.parents.copy(), np.zeros(self.parents.size, dtype=np.intp)
        for _ in range(self.parents.size):
            has = above >= 0
            if not has.any():
                return depth
            depth[has] += 1
            above[has] = self.parents[above[has]]
        return np.where(above >= 0, -1, depth)

    @cached_property
    def levels(self) -> tuple[IntArray, ...]:
        """Labels that have a parent, by depth, the highest first."""
        return tuple(np.flatnonzero(self.depth == level) for level in range(1, int(self.depth.max(initial=0)) + 1))

    @property
    def is_flat(self) -> bool:
        return not self.levels

    def upwards(self, yes: Any) -> Any:
        """The same (..., q) booleans, or scores, in which a label is at least what those below it are."""
        found = np.moveaxis(np.array(yes), -1, 0)
        for level in reversed(self.levels):
            np.maximum.at(found, self.parents[level], found[level])
        return np.moveaxis(found, 0, -1)

    def downwards(self, no: BoolArray) -> BoolArray:
        """The same (..., q) booleans in which a label has what any above it has."""
        found = np.array(no)
        for level in self.levels:
            found[..., level] |= found[..., self.parents[level]]
        return found

    def close(self, yes: BoolArray, no: BoolArray) -> tuple[BoolArray, BoolArray]:
        """What follows from yes and no (..., q); where they contradict each other, yes wins."""
        yes = self.upwards(yes)
        return yes, self.downwards(no & ~yes) & ~yes

    def probabilities(self, p: FloatArray) -> FloatArray:
        """(..., q) each at least that of the labels below it."""
        return np.asarray(self.upwards(p))

    @cached_property
    def above(self) -> sp.csr_array:
        """(q, q) True where the label of the column stands above that of the row."""
        rows, columns = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        at, row = self.parents, np.arange(self.parents.size)
        while (has := at >= 0).any():
            row, at = row[has], at[has]
            rows.append(row)
            columns.append(at)
            at = self.parents[at]
        place = (np.concatenate(rows), np.concatenate(columns))
        return sp.csr_array((np.ones(place[0].size, dtype=bool), place), shape=(self.parents.size,) * 2)

    def close_sparse(self, Y: sp.csr_array, observed: sp.csr_array | None) -> tuple[sp.csr_array, sp.csr_array | None]:
        """What follows from known labels (n, q) and their mask, None where all are known; yes wins."""
        above = self.above.astype(np.int32)
        yes = _is_positive(Y.astype(np.int32) + Y.astype(np.int32) @ above)
        if observed is None:
            return yes, None
        no = _is_positive(observed.astype(np.int32) - observed.multiply(yes).astype(np.int32))
        closed = yes.astype(np.int32) + no.astype(np.int32) + no.astype(np.int32) @ above.T
        return yes, _is_positive(closed)


def _is_positive(counts: Any) -> sp.csr_array:
    counts = sp.csr_array(counts)
    counts.eliminate_zeros()
    return sp.csr_array(counts > 0)


def _parent(label: Label, place: dict[str, int]) -> str:
    if label.parent:
        return label.parent
    parts = label.name.split("/")
    paths = ("/".join(parts[:length]) for length in range(len(parts) - 1, 0, -1))
    return next((path for path in paths if path in place), "")
