"""Greedy information over a pool whose blocks, and what is known of them, stay with the workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.cluster._connect import Cluster, collect, connected, near, workers_of
from labelwise.numerics.information import (
    Criterion,
    LowRankBlocks,
    Picks,
    StreamedInformation,
)
from labelwise.numerics.information.blocks import ArrayBlock, Block, Refresh, refresh_block, rescore_block, start_block
from labelwise.numerics.information.state import FloatArray, IndexArray
from labelwise.numerics.information.streamed import Task

IN_HAND = 2  # tasks that each worker has at a time: one to do, one to follow
CHANGES_BOUNDS = (start_block, refresh_block, rescore_block)  # these return new bounds first; they stay where they are


def greedy_information(
    covariance: LowRankBlocks,
    n: int,
    *,
    cluster: Cluster,
    given: npt.ArrayLike | None = None,
    criterion: Criterion = "mi",
    costs: npt.ArrayLike | None = None,
    eligible: npt.ArrayLike | None = None,
) -> Picks:
    """`labelwise.numerics.information.greedy_information` on a pool in blocks: the same picks, by many machines.

    Workers keep the bounds of their blocks and send the rows that may win; the walk over these is made here. Blocks of
    memory-mapped arrays are opened by the workers, from the same path, and nothing of them is sent. Blocks in memory
    are sent once. What a lost worker held is computed again.

    Parameters
    ----------
    covariance : F Fᵀ + diag(noise) by its blocks of rows
    n : how many
    cluster : see `connected`
    given, criterion, costs, eligible : as on one machine

    Examples
    --------
    >>> from labelwise.numerics.information import array_blocks
    >>> F = np.array([[1.0], [1.0], [3.0], [0.0]])
    >>> pool = LowRankBlocks(array_blocks(F, noise=0.1, size=2))
    >>> greedy_information(pool, 2, cluster=2).indices  # starts two processes # doctest: +SKIP
    array([2, 0])
    """
    with connected(cluster) as client:
        there = replace(covariance, run=BlockRunner(client))
        state = StreamedInformation(there, given=given, criterion=criterion, costs=costs, eligible=eligible)
        return state.pick(n)


class BlockRunner:
    """Who does the work on blocks for `LowRankBlocks.run`: each block has a worker, and its bounds stay there.

    Results come in the order of the tasks, so that sums over blocks are rounded as on one machine.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._blocks: dict[int, tuple[Block, Any]] = {}  # by number: the block as it is here, and there
        self._shared: tuple[Any, Any] = (None, None)  # the last task that all blocks have in common, sent once

    def __call__(self, function: Callable[..., Any], tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        workers = workers_of(self._client)
        in_hand: deque[tuple[int, Any, Any]] = deque()
        for number, block, bounds, task in tasks:
            in_hand.append((number, *self._submit(function, number, block, bounds, task, near(workers, number))))
            if len(in_hand) >= IN_HAND * len(workers):
                yield self._finish(*in_hand.popleft())
        while in_hand:
            yield self._finish(*in_hand.popleft())

    def _submit(
        self, function: Callable[..., Any], number: int, block: Block, bounds: Any, task: Any, where: dict[str, Any]
    ) -> tuple[Any, Any]:
        """The new bounds if there are any, and the result without them: both still to come."""
        known = self._blocks.get(number)
        if known is None or known[0] is not block:  # another pool, or the same after more answers
            known = self._blocks[number] = block, self._client.submit(_itself, portable(block), **where)
        parts = tuple(self._sent_once(part, where) for part in task) if function is refresh_block else (task,)
        done = self._client.submit(_do, function, known[1], bounds, *parts, **where)
        if function not in CHANGES_BOUNDS:
            return None, done
        return self._client.submit(itemgetter(0), done, **where), self._client.submit(itemgetter(1), done, **where)

    def _sent_once(self, part: Any, where: dict[str, Any]) -> Any:
        if not isinstance(part, Refresh):
            return part
        if self._shared[0] is not part:
            self._shared = part, self._client.submit(_itself, part, **where)
        return self._shared[1]

    def _finish(self, number: int, bounds: Any, result: Any) -> tuple[int, Any]:
        found = collect(self._client, result)
        return number, found if bounds is None else (bounds, found)


def _itself(thing: Any) -> Any:
    return thing


def _do(function: Callable[..., Any], block: Block, bounds: Any, *parts: Any) -> Any:
    return function(block, bounds, parts if len(parts) > 1 else parts[0])


# -- blocks that travel -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MappedBlock:
    """Rows of an array in a file, opened where they are needed."""

    start: int
    path: str
    dtype: str
    offset: int
    shape: tuple[int, int]
    noise: FloatArray

    @property
    def n_rows(self) -> int:
        return self.shape[0]

    def load(self, rows: IndexArray | None = None) -> tuple[npt.NDArray[Any], FloatArray]:
        factor = np.memmap(self.path, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)
        return (np.asarray(factor), self.noise) if rows is None else (np.asarray(factor[rows]), self.noise[rows])


def portable(block: Block) -> Block:
    """A block of a memory-mapped array by its path: pickled as it is, it would carry its rows along."""
    if not isinstance(block, ArrayBlock) or not isinstance(block.factor, np.memmap):
        return block
    mapped: Any = block.factor
    if not mapped.flags.c_contiguous or mapped.filename is None:
        return block
    root = mapped
    while isinstance(root.base, np.memmap):
        root = root.base
    offset = root.offset + mapped.ctypes.data - root.ctypes.data
    return MappedBlock(block.start, str(mapped.filename), mapped.dtype.str, offset, mapped.shape, block.noise)
