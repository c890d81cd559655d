"""Blocks that are worked on together: one task, one record of bounds, and one lot of candidates for several blocks.

What is sent over a network, and what a scheduler counts, are groups; what is in memory at a time is still one block and
the candidates. The functions here are those of `blocks`, over a group: they take it, the bounds of its blocks and a
task, and return new bounds and a `BlockReport`. Sums over the pool are made group by group, so that they are rounded
in the same way wherever the groups are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.information import blocks as work
from labelwise.numerics.information.blocks import (
    BestRows,
    BlockReport,
    Bounds,
    Candidates,
    News,
    Refresh,
    RowBlock,
    Start,
    Wanted,
)
from labelwise.numerics.information.state import IndexArray
from labelwise.numerics.information.weights import Factor

FEWEST_GROUPS = 12  # where there are so many blocks: for as many workers something to do
MOST_TOGETHER = 8  # blocks: what is computed again after a loss, and the shortest step of a progress


@dataclass(frozen=True, eq=False)
class Group:
    """Consecutive blocks."""

    blocks: Sequence[RowBlock]

    @property
    def start(self) -> int:
        return self.blocks[0].start

    @property
    def starts(self) -> npt.NDArray[np.int64]:
        """(b + 1,) the first row of each block in the pool, and the first after the last."""
        return np.array([*(block.start for block in self.blocks), self.start + self.n_rows], dtype=np.int64)

    @property
    def n_rows(self) -> int:
        return sum(block.n_rows for block in self.blocks)


def grouped(blocks: Sequence[RowBlock]) -> list[Group]:
    """All blocks in groups; which ones depends on their number alone."""
    sizes = [block.n_rows for block in blocks]
    if not any(sizes):
        raise ValueError("there are no rows to choose from: give at least one block that has some")
    if [block.start for block in blocks] != [0, *np.cumsum(sizes[:-1]).tolist()] or not all(sizes):
        raise ValueError("blocks must follow one another without gaps, start at row 0, and none may be empty")
    n_groups = min(len(blocks), max(FEWEST_GROUPS, -(-len(blocks) // MOST_TOGETHER)))
    edges = np.linspace(0, len(blocks), n_groups + 1).astype(int)
    return [Group(tuple(blocks[first:last])) for first, last in pairwise(edges)]


def start_group(group: Group, _: None, task: Start) -> tuple[list[Bounds], BlockReport]:
    """First bounds of all rows, and Σ f fᵀ/noise over the group."""
    lot, total = _Lot(group, task.wanted), None
    for block, (first, last) in zip(group.blocks, pairwise(group.starts - group.start), strict=True):
        part = slice(first, last)
        own = replace(task, cost=task.cost[part], is_rest=task.is_rest[part], is_open=task.is_open[part])
        first_bounds, report = work.start_block(block, None, replace(own, wanted=lot.wanted()))
        lot.add(first_bounds, report)
        if report.gram is not None:
            total = report.gram if total is None else total + report.gram
    bounds, report = lot.finish()
    return bounds, replace(report, gram=total)


def refresh_group(
    group: Group, bounds: Sequence[Bounds], order: tuple[Refresh, News, Wanted]
) -> tuple[list[Bounds], BlockReport]:
    """Lower the bounds of all rows that may reach the threshold, by the moves they have missed."""
    task, news, wanted = order
    lot = _Lot(group, wanted)
    for block, known, own in zip(group.blocks, bounds, _news_of_blocks(group, news), strict=True):
        lot.add(*work.refresh_block(block, known, (task, own, lot.wanted())))
    return lot.finish()


def rescore_group(group: Group, bounds: Sequence[Bounds], wanted: Wanted) -> tuple[list[Bounds], BlockReport]:
    """What is left under another rule; loads nothing and sends nothing."""
    lot = _Lot(group, wanted)
    for block, known in zip(group.blocks, bounds, strict=True):
        lot.add(*work.rescore_block(block, known, wanted))
    return lot.finish()


def residuals_group(group: Group, bounds: Sequence[Bounds], covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(b,) residuals and inverse residuals of all rows, exactly."""
    parts = [work.residuals_block(block, covariances) for block in group.blocks]
    residual, inverse_residual = (np.concatenate(column) for column in zip(*parts, strict=True))
    return residual, inverse_residual


def load_rows(group: Group, bounds: Sequence[Bounds] | None, rows: IndexArray) -> tuple[Factor, FloatArray]:
    """Factor and noise of some rows, sorted and counted from the first of the group."""
    edges = np.searchsorted(rows, group.starts - group.start)
    parts = [
        block.load(rows[first:last] + (group.start - block.start))
        for block, (first, last) in zip(group.blocks, pairwise(edges), strict=True)
        if first < last
    ]
    factors, noises = zip(*parts, strict=True)
    stack = np.concatenate if isinstance(factors[0], np.ndarray) else partial(sp.vstack, format="csr")
    return stack(factors), np.concatenate(noises)


class _Lot:
    """What is found in the blocks of a group, one after the other; the best `at_most` of all candidates are sent."""

    def __init__(self, group: Group, wanted: Wanted) -> None:
        self._group, self._wanted = group, wanted
        self._held: BestRows | None = None
        self._bounds: list[Bounds] = []
        self._found: list[BlockReport] = []
        self._evicted: list[Candidates] = []

    def wanted(self) -> Wanted:
        """What to ask of the next block."""
        cut = -np.inf if self._held is None else self._held.cut
        return replace(self._wanted, at_least=max(self._wanted.at_least, cut))

    def add(self, bounds: Bounds, found: BlockReport) -> None:
        self._bounds.append(bounds)
        self._found.append(found)
        if found.candidates is not None and self._wanted.at_most > 0:
            if self._held is None:
                self._held = BestRows(found.candidates.factor[:0], self._wanted.at_most, self._wanted.unit)
            self._make_room(self._held.add(found.candidates))

    def finish(self) -> tuple[list[Bounds], BlockReport]:
        candidates = None
        if self._held is not None:
            candidates, evicted = self._held.finish()
            self._make_room(evicted)
        self._put_back()
        lefts, firsts = np.array([found.left for found in self._found]), [found.first for found in self._found]
        left = float(lefts.max())
        ties = lefts >= left - work.tie_slack(left, self._wanted.unit)
        first = firsts[int(np.argmax(ties))] if left > -np.inf else 0
        n_loaded, n_blocks = (sum(getattr(found, name) for found in self._found) for name in ("n_loaded", "n_blocks"))
        return self._bounds, BlockReport(candidates, left, first, n_loaded, n_blocks)

    def _make_room(self, evicted: Candidates | None) -> None:
        if evicted is not None:
            self._evicted.append(evicted)

    def _put_back(self) -> None:
        """Open the rows again that are not sent after all, and tell what is left with them."""
        if not self._evicted:
            return
        indices = np.concatenate([evicted.indices for evicted in self._evicted])
        for number, (first, last) in enumerate(pairwise(self._group.starts)):
            here = indices[(indices >= first) & (indices < last)]
            if here.size:
                bounds, block = self._bounds[number], self._group.blocks[number]
                bounds.is_open[here - first] = True
                _, found = work.rescore_block(block, bounds, self._wanted)
                self._found[number] = replace(self._found[number], left=found.left, first=found.first)


def _news_of_blocks(group: Group, news: News) -> list[News]:
    """What happened to the rows of each block."""
    taken = np.array(news.taken, dtype=np.int64) + group.start
    each = []
    for first, last in pairwise(group.starts):
        own = taken[(taken >= first) & (taken < last)] - first
        places = [np.flatnonzero((back.indices >= first) & (back.indices < last)) for back in news.returned]
        returned = [back.bare(which) for back, which in zip(news.returned, places, strict=True) if which.size]
        each.append(News(own.tolist(), returned))
    return each
