"""The rows that a streamed selection holds: the best so far of those it was sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.information import _kernels as kernels
from labelwise.numerics.information.blocks import Candidates, best_first, tie_slack
from labelwise.numerics.information.state import IndexArray
from labelwise.numerics.information.weights import Factor

CANDIDATE_BYTES = 2**22  # more are looked at in vain, fewer mean more walks over the pool
FEWEST_CANDIDATES = 64
ROOM = 8  # times what is held in the end, while rows come in: making room costs a copy of what is held


class BestRows:
    """The `capacity` best of the rows that come in; a few times as many until the end.

    Rows with a score of −inf are dropped. Features are copied once, when it is known whose.

    Attributes
    ----------
    cut : rows with bounds below need not be sent, there are enough better ones
    """

    def __init__(self, no_rows: Factor, capacity: int, unit: float = 1.0) -> None:
        nothing = np.empty(0)
        self._all = Candidates(
            nothing.astype(np.intp), no_rows, np.empty(0, dtype=kernels.ROW), nothing, nothing.astype(bool)
        )
        self._parts: list[Candidates] = []
        self._capacity, self._unit = capacity, unit
        self.cut = -np.inf

    def add(self, candidates: Candidates | None) -> Candidates | None:
        """Take in rows; those that had to make room, if any, without their features."""
        if candidates is None or candidates.indices.size == 0:
            return None
        self._parts.append(candidates)
        scores = np.concatenate([part.scores for part in (self._all, *self._parts)])
        if scores.size >= self._capacity:
            last = float(np.partition(scores, scores.size - self._capacity)[scores.size - self._capacity])
            self.cut = last - tie_slack(
                last, self._unit
            )  # rounding must not keep out a row that comes first among those that tie
        return self._trim() if scores.size > ROOM * self._capacity else None

    def finish(self) -> tuple[Candidates, Candidates | None]:
        """The best, in the order of the pool, and those that had to make room at last."""
        evicted = self._trim()
        return self._all, evicted

    def _trim(self) -> Candidates | None:
        parts = [self._all, *self._parts]
        self._parts = []
        everyone = _without_features(parts)
        order = best_first(everyone.scores, everyone.indices, self._unit)
        order = order[everyone.scores[order] > -np.inf]
        kept, out = order[: self._capacity], order[self._capacity :]
        kept = kept[np.argsort(everyone.indices[kept])]
        self._all = replace(everyone.bare(kept), factor=_gathered([part.factor for part in parts], kept))
        return everyone.bare(out) if out.size else None


def fitting_rows(like: Factor) -> int:
    """How many rows to hold by default, given one of them."""
    size = like.nbytes if isinstance(like, np.ndarray) else like.data.nbytes + like.indices.nbytes
    return max(FEWEST_CANDIDATES, CANDIDATE_BYTES // max(1, size))


def _without_features(parts: list[Candidates]) -> Candidates:
    """All parts, one after the other."""
    columns = ((part.indices, part.rows, part.scores, part.is_exact) for part in parts)
    indices, rows, scores, is_exact = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Candidates(indices, parts[0].factor[:0], rows, scores, is_exact)


def _gathered(factors: list[Any], places: IndexArray) -> Factor:
    """Rows of the factors, counted through all of them."""
    stops = np.cumsum([factor.shape[0] for factor in factors])
    owner = np.searchsorted(stops, places, side="right")
    within = places - np.append(0, stops)[owner]
    if sp.issparse(factors[0]):
        order = np.argsort(owner, kind="stable")
        chosen = [factor[within[order][owner[order] == number]] for number, factor in enumerate(factors)]
        return sp.vstack(chosen, format="csr")[np.argsort(order)]
    gathered = np.empty((len(places), factors[0].shape[1]), dtype=np.result_type(*factors))
    for number, factor in enumerate(factors):
        here = np.flatnonzero(owner == number)
        kernels.copy_rows(factor, within[here], gathered, here)
    return gathered
