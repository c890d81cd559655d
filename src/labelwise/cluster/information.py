"""Strategies on a cluster: greedy information over blocks that stay with the workers, and scores of pools in shards."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple, Unpack

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.cluster._connect import Cluster, check_client, collect, connected, itself, near, workers_of
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.choosing import best, open_entries
from labelwise.numerics.information import LowRankBlocks, Picks, StreamedInformation
from labelwise.numerics.information.blocks import ArrayBlock, Refresh, RowBlock
from labelwise.numerics.information.groups import Group, refresh_group, rescore_group, start_group
from labelwise.numerics.information.state import IndexArray, Selection
from labelwise.numerics.information.streamed import Task
from labelwise.posterior import LabelPosterior
from labelwise.queries import MutualInformation
from labelwise.queries.base import BLOCK, Choice, ScoringStrategy, Target

IN_HAND = 2  # tasks that each worker has at a time: one to do, one to follow
TOGETHER = 6  # groups in a task
CHANGES_BOUNDS = (start_group, refresh_group, rescore_group)  # these return new bounds first; they stay where they are


def greedy_information(covariance: LowRankBlocks, n: int, *, cluster: Cluster, **selection: Unpack[Selection]) -> Picks:
    """`labelwise.numerics.information.greedy_information` on a pool in blocks: the same picks, by many machines.

    Workers keep the bounds of their blocks and send the rows that may win; the walk over these is made here. Blocks of
    memory-mapped arrays are opened by the workers, from the same path, and nothing of them is sent. Blocks in memory
    are sent once. What a lost worker held is computed again.

    Parameters
    ----------
    covariance : F Fᵀ + diag(noise) by its blocks of rows
    n : how many
    cluster : see `connected`
    selection : given, criterion, costs and eligible, as on one machine

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
        state = StreamedInformation(there, **selection)
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
            known = self._groups[number] = group, self._client.submit(itself, portables, **where)
        return known[1]

    def _sent_once(self, task: Refresh, where: dict[str, Any]) -> Any:
        if self._shared[0] is not task:
            self._shared = task, self._client.submit(itself, task, **where)
        return self._shared[1]

    def _finish(self, bundles: Sequence[_Bundle]) -> Iterator[tuple[int, Any]]:
        by_number: dict[int, Any] = {}
        for bundle, results in zip(bundles, collect(self._client, [b.results for b in bundles]), strict=True):
            for place, (number, result) in enumerate(zip(bundle.numbers, results, strict=True)):
                by_number[number] = result if bundle.bounds is None else (Kept(bundle.bounds, place), result)
        yield from sorted(by_number.items())


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


def portable(block: RowBlock) -> RowBlock:
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


# -- strategies on a cluster ------------------------------------------------------------------------------------------


def on_cluster(strategy: Any, client: Any) -> Any:
    """The same strategy, with pools in shards scored or walked by the workers: exactly the same questions.

    Parameters
    ----------
    strategy : `MutualInformation`, or one that scores items or pairs by themselves, like `Uncertainty`
    client : `distributed.Client`; `connected` gives one, and it must stay open for as long as questions are asked

    Examples
    --------
    >>> from labelwise import Campaign, LabelGP, Uncertainty
    >>> from labelwise.cluster import connected, on_cluster
    >>> with connected("tcp://10.0.0.5:8786") as client:  # needs a cluster # doctest: +SKIP
    ...     campaign = Campaign(pool, model=LabelGP(), strategy=on_cluster(Uncertainty(), client))
    ...     questions = campaign.ask(100)
    """
    check_client(client)
    if isinstance(strategy, MutualInformation):
        return replace(strategy, run=BlockRunner(client))
    if isinstance(strategy, ScoringStrategy):
        return ScoredOnWorkers(strategy, client)
    raise ValueError(
        f"{type(strategy).__name__} plans over the whole pool at once, and that stays on one machine; "
        "MutualInformation and strategies that score items or pairs by themselves can go to a cluster"
    )


@dataclass(frozen=True, eq=False)
class ScoredOnWorkers:
    """A scoring strategy that leaves a pool in shards to the workers.

    A pool in memory is scored here, and so are beliefs that hold more than a model, say guesses at new labels.
    """

    strategy: ScoringStrategy
    client: Any

    @property
    def target(self) -> Target:
        return self.strategy.target

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        """Every block sends its n best, with the priorities that one machine would have drawn for them."""
        if not posterior.is_streamed or not _can_travel(posterior):
            return self.strategy.choose(posterior, closed, n, rng)
        workers, width = workers_of(self.client), 1 if self.target == "items" else posterior.n_labels
        everyone = [self.client.submit(itself, thing, **near(workers, 0)) for thing in (posterior, self.strategy)]
        in_hand: deque[Any] = deque()
        found: list[tuple[Any, ...]] = []
        for number, start in enumerate(range(0, posterior.n_items, BLOCK)):
            part = slice(start, min(start + BLOCK, posterior.n_items))
            task = _Scoring(part, closed[part], n, _ahead(rng, start * width))
            in_hand.append(self.client.submit(_score, *everyone, task, **near(workers, number)))
            if len(in_hand) > IN_HAND * len(workers):
                found.append(collect(self.client, in_hand.popleft()))
        found += [collect(self.client, future) for future in in_hand]
        rng.bit_generator.state = _ahead(rng, posterior.n_items * width).bit_generator.state
        places, scores, priority = (np.concatenate(column) for column in zip(*found, strict=True))
        kept = best(scores, n, priority)
        if self.target == "items":
            return Choice(places[kept], None, scores[kept])
        return Choice(places[kept] // width, places[kept] % width, scores[kept])


@dataclass(frozen=True, eq=False)
class _Scoring:
    """What a worker is asked about a block."""

    part: slice
    closed: sp.csr_array
    n: int
    rng: np.random.Generator  # as it is on one machine when it comes to this block


def _score(posterior: LabelPosterior, strategy: ScoringStrategy, task: _Scoring) -> tuple[Any, Any, Any]:
    """Places, scores and priorities of the best of a block."""
    before = deepcopy(task.rng.bit_generator.state)
    scores = strategy.masked_scores(posterior.rows(task.part), open_entries(task.closed), task.rng).ravel()
    if task.rng.bit_generator.state != before:
        raise ValueError(
            f"{type(strategy).__name__} draws while it scores, so blocks cannot be scored apart with the same outcome; "
            "use it on one machine"
        )
    width = scores.size // (task.part.stop - task.part.start)
    priority = task.rng.random(scores.size)
    kept = best(scores, task.n, priority)
    return task.part.start * width + kept, scores[kept], priority[kept]


def _can_travel(posterior: LabelPosterior) -> bool:
    try:
        pickle.dumps(posterior)
    except (AttributeError, TypeError, pickle.PicklingError):
        return False
    return True


def _ahead(rng: np.random.Generator, draws: int) -> np.random.Generator:
    """The generator after this number of draws."""
    twin = deepcopy(rng)
    if not hasattr(twin.bit_generator, "advance"):
        raise ValueError(f"{type(rng.bit_generator).__name__} cannot be advanced; use numpy.random.default_rng")
    twin.bit_generator.advance(draws)
    return twin
