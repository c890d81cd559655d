"""Greedy information over a pool whose blocks, and what is known of them, stay with the workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from labelwise.cluster._connect import Cluster, collect, connected, near, workers_of
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.information import (
    Criterion,
    LowRankBlocks,
    Picks,
    StreamedInformation,
)
from labelwise.numerics.information.blocks import ArrayBlock, Block, Refresh
from labelwise.numerics.information.groups import Group, refresh_group, rescore_group, start_group
from labelwise.numerics.information.state import IndexArray
from labelwise.numerics.information.streamed import Task

IN_HAND = 2  # tasks that each worker has at a time: one to do, one to follow
TOGETHER = 6  # groups in a task
CHANGES_BOUNDS = (start_group, refresh_group, rescore_group)  # these return new bounds first; they stay where they are


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
    """Who does the work on blocks for `LowRankBlocks.run`: each group has a worker, and its bounds stay there.

    What a worker does for several groups is one task, so that a scheduler has little to do. Results come in the order
    of the tasks, so that sums over groups are rounded as on one machine.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._groups: dict[int, tuple[Group, Any]] = {}  # by number: the group as it is here, and there
        self._shared: tuple[Any, Any] = (None, None)  # the last task that all groups have in common, sent once

    def __call__(self, function: Callable[..., Any], tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
        workers, waves, under_way = workers_of(self._client), iter(tasks), deque[list[_Bundle]]()
        while wave := list(islice(waves, TOGETHER * len(workers))):
            shares = [[task for task in wave if task[0] % len(workers) == place] for place in range(len(workers))]
            under_way.append([self._submit(function, share, workers) for share in shares if share])
            if len(under_way) >= IN_HAND:
                yield from self._finish(under_way.popleft())
        for bundles in under_way:
            yield from self._finish(bundles)

    def _submit(self, function: Callable[..., Any], tasks: Sequence[Task], workers: list[str]) -> _Bundle:
        numbers = [number for number, _, _, _ in tasks]
        where = near(workers, numbers[0])
        before = _Before([bounds for _, _, bounds, _ in tasks])
        groups = [self._there(number, group, where) for number, group, _, _ in tasks]
        orders: list[Any] = [order for _, _, _, order in tasks]
        shared = None
        if function is refresh_group:
            shared, orders = self._sent_once(orders[0][0], where), [order[1:] for order in orders]
        done = self._client.submit(_do, function, groups, before.futures, before.places, shared, orders, **where)
        if function not in CHANGES_BOUNDS:
            return _Bundle(numbers, None, done)
        return _Bundle(numbers, done, self._client.submit(itemgetter(1), done, **where))

    def _there(self, number: int, group: Group, where: dict[str, Any]) -> Any:
        known = self._groups.get(number)
        if known is None or known[0] is not group:  # another pool, or the same after more answers
            portables = Group(tuple(portable(block) for block in group.blocks))
            known = self._groups[number] = group, self._client.submit(_itself, portables, **where)
        return known[1]

    def _sent_once(self, task: Refresh, where: dict[str, Any]) -> Any:
        if self._shared[0] is not task:
            self._shared = task, self._client.submit(_itself, task, **where)
        return self._shared[1]

    def _finish(self, bundles: Sequence[_Bundle]) -> Iterator[tuple[int, Any]]:
        found: dict[int, Any] = {}
        for bundle, results in zip(bundles, collect(self._client, [b.results for b in bundles]), strict=True):
            for place, (number, result) in enumerate(zip(bundle.numbers, results, strict=True)):
                found[number] = result if bundle.bounds is None else (Kept(bundle.bounds, place), result)
        yield from sorted(found.items())


@dataclass(frozen=True)
class Kept:
    """Bounds of a group that are with a worker."""

    future: Any  # of the bounds of several groups, and of what was found in them
    place: int


class _Bundle(NamedTuple):
    """What one worker does for some groups."""

    numbers: list[int]
    bounds: Any  # a future of the new bounds and of what was found, or None where bounds stay as they are
    results: Any  # a future of what was found


class _Before:
    """Where the bounds of some groups are: futures, each once, and for each group which of them and where in it."""

    def __init__(self, kept: Sequence[Kept | None]) -> None:
        self.futures = list({id(bounds.future): bounds.future for bounds in kept if bounds is not None}.values())
        number = {id(future): at for at, future in enumerate(self.futures)}
        self.places = [None if bounds is None else (number[id(bounds.future)], bounds.place) for bounds in kept]


def _itself(thing: Any) -> Any:
    return thing


def _do(
    function: Callable[..., Any],
    groups: Sequence[Group],
    futures: Sequence[tuple[list[Any], list[Any]]],
    places: Sequence[tuple[int, int] | None],
    shared: Refresh | None,
    orders: Sequence[Any],
) -> Any:
    """The results for all groups, or where bounds change, all bounds and all results."""
    results = []
    for group, place, order in zip(groups, places, orders, strict=True):
        bounds = None if place is None else futures[place[0]][0][place[1]]
        results.append(function(group, bounds, order if shared is None else (shared, *order)))
    return tuple(map(list, zip(*results, strict=True))) if function in CHANGES_BOUNDS else results


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
