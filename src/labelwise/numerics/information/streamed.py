"""The engine on F Fᵀ + diag(noise) whose rows are never held all at once: blocks are read when they may matter.

`greedy_information` is one call for every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, Unpack

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.information import _kernels as kernels
from labelwise.numerics.information import blocks, groups
from labelwise.numerics.information.blocks import BestRows, BlockReport, Candidates, RowBlock, Wanted, fitting_rows
from labelwise.numerics.information.dense import DenseInformation
from labelwise.numerics.information.groups import Group, grouped
from labelwise.numerics.information.low_rank import NO_MOVE, LazyRows, LowRank, LowRankInformation, MoveLog, dense_row
from labelwise.numerics.information.state import IndexArray, InformationState, Picks, Selection
from labelwise.numerics.information.weights import Factor, WeightBeliefs, gram

HORIZON = 0.25  # of what the best score has fallen since the start: bounds so far below it are lowered by a walk, too
FAIR_SHARES = 1.5  # of what is held may come from one group in one walk
FEWEST_SENT = 16  # that a group may send, however many there are
NOTHING_TOLD = 1e-12  # a direction of the weights with a variance this close to its prior

Task: TypeAlias = tuple[int, Group, Any, Any]  # number of the group, the group, its bounds, what to do
Run: TypeAlias = Callable[[Callable[..., Any], Iterable[Task]], Iterator[tuple[int, Any]]]


def run_here(function: Callable[..., Any], tasks: Iterable[Task]) -> Iterator[tuple[int, Any]]:
    """Do the tasks one after the other in this process; each result comes with the number of its group."""
    for number, group, bounds, task in tasks:
        yield number, function(group, bounds, task)


@dataclass(frozen=True)
class Walk:
    """What one walk over the pool read."""

    n_blocks: int
    n_rows: int
    n_moves: int  # picks since the walk before
    is_exact: bool  # whether it computed scores instead of bounds


@dataclass(frozen=True, eq=False)
class LowRankBlocks:
    """A covariance F Fᵀ + diag(noise) whose rows are in blocks, conditioned on what is known outside them.

    Parameters
    ----------
    blocks : the rows in order, see `RowBlock`; `array_blocks` makes them of an array, memory-mapped or not
    known_gram : (r, r) Σ f fᵀ/noise over rows outside the pool that everything is conditioned on, say the labelled
        items. Both the variance given the chosen and that given the rest are also given these
    in_pool : (n,) mask of the rows that exist; the others are passed over as if the blocks did not have them
    n_candidates : rows held at a time; by default what fits into 4 MiB
    run : who does the work on the blocks: takes a function of `groups` and tasks, gives results in any order

    Examples
    --------
    >>> from labelwise.numerics.information import array_blocks, greedy_information
    >>> F = np.array([[1.0], [1.0], [3.0], [0.0]])
    >>> greedy_information(LowRankBlocks(array_blocks(F, noise=0.1, size=2)), 2).indices
    array([2, 0])
    """

    blocks: Sequence[RowBlock]
    known_gram: FloatArray | None = None
    in_pool: npt.NDArray[np.bool_] | None = None
    n_candidates: int | None = None
    run: Run = run_here


class StreamedInformation(InformationState):
    """`LowRankInformation` on rows in blocks: the same picks, with memory for the candidates alone.

    The first walk over the pool sums the Gram matrix and takes an upper bound of every row's score; the rows with the
    highest are held as candidates. Picks are made among them for as long as the best score exceeds every bound left
    behind. Then the blocks with higher bounds are read again: bounds are lowered by the picks made since, and better
    rows become candidates. Scores only fall, so nothing is missed. docs/mathematics/information.md, *In blocks*.

    Parameters
    ----------
    matrix : the covariance
    selection : given, criterion, costs and eligible, see `Selection`

    Attributes
    ----------
    walks : list of `Walk`, the first of which sums the Gram matrix

    Examples
    --------
    >>> from labelwise.numerics.information import array_blocks
    >>> F = np.random.default_rng(0).standard_normal((1000, 5))
    >>> state = StreamedInformation(LowRankBlocks(array_blocks(F, noise=0.1, size=100), n_candidates=100))
    >>> state.pick(4).indices, [walk.n_rows for walk in state.walks]
    (array([550, 630,  47, 361]), [1000])
    """

    def __init__(self, matrix: LowRankBlocks, **selection: Unpack[Selection]) -> None:
        self._groups, self._run = grouped(matrix.blocks), matrix.run
        self._starts = np.array([*(group.start for group in self._groups), sum(g.n_rows for g in self._groups)])
        n, in_pool, known_gram = int(self._starts[-1]), matrix.in_pool, matrix.known_gram
        super().__init__(n, **selection)
        self._in_pool = np.ones(n, dtype=bool) if in_pool is None else np.asarray(in_pool, dtype=bool)
        if self._in_pool.shape != (n,):
            raise ValueError(f"in_pool must be a mask of the {n} rows, got shape {self._in_pool.shape}")
        if np.any(self._given & ~self._in_pool):
            raise ValueError(f"given must be rows of the pool, got {np.flatnonzero(self._given & ~self._in_pool)[:5]}")
        if matrix.n_candidates is not None and matrix.n_candidates < 1:
            raise ValueError(f"n_candidates must be at least 1, got {matrix.n_candidates!r}")
        self._open &= self._in_pool
        self._unit = max(1.0, 1.0 / float(self._costs.min()))  # of scores, for ties
        self._bounds: list[Any] = [None] * len(self._groups)  # may be tokens: they are only handed on
        self._left = np.full(len(self._groups), -np.inf)  # highest bound in each group that is not a candidate's
        self._first = np.zeros(len(self._groups), dtype=np.int64)  # the first row that has it
        self._returned: dict[int, list[Candidates]] = {}  # candidates no more, of which the group is not told yet
        self._taken: dict[int, list[int]] = {}  # rows taken that were no candidates, likewise
        self._n_walked, self._best_at_first = 0, np.inf  # moves at the last walk; the best score of all
        self._n_exact = -1  # moves at the last walk that computed scores
        self.walks: list[Walk] = []
        one_row = self._load(np.zeros(1, dtype=np.intp))[0]
        self._capacity = matrix.n_candidates or fitting_rows(one_row)
        fair_share = int(FAIR_SHARES * self._capacity / len(self._groups))
        self._at_most = min(self._capacity, max(FEWEST_SENT, fair_share))
        self._start(_checked_gram(known_gram, one_row.shape[1]), one_row[:0])

    def gains(self) -> FloatArray:
        """(n,) exactly, by a walk over the whole pool; not for "mi_fixed_rest", whose denominators are not kept."""
        if self.criterion == "mi_fixed_rest":
            raise ValueError('gains of the whole pool are not kept for "mi_fixed_rest"; use "mi" or "entropy"')
        gains = np.full(len(self._open), -np.inf)
        covariances = self._log.beliefs.covariances
        tasks = ((number, group, self._bounds[number], covariances) for number, group in enumerate(self._groups))
        for number, (residual, inverse_residual) in self._run(groups.residuals_group, tasks):
            amount = residual * inverse_residual if self.criterion == "mi" else residual
            gains[self._span(number)] = 0.5 * np.log(amount)
        gains[~self._open] = -np.inf
        return gains

    # -- picks --------------------------------------------------------------------------------------------------------

    def _winner(self) -> int:
        while True:
            if self._candidates.best() == -np.inf:
                self._walk(-np.inf)
                continue
            place = self._candidates.winner()
            best, winner = self._candidates.best(), int(self._indices[place])
            width = kernels.tie_width(best, float(self._candidates.rows["cost"][place]), self.by_entropy)
            rivals = self._left >= best - width
            settled = not np.any(rivals & ((self._left > best + width) | (self._first < winner)))
            if settled or self._n_exact == self._log.count:  # after an exact walk only rounding could say otherwise
                self._best_at_first = best if self._best_at_first == np.inf else self._best_at_first
                return winner
            self._walk(best - width)

    def _gain(self, index: int) -> float:
        place = self._place(index)
        assert place is not None  # winners are candidates
        row = self._candidates.rows[place]
        amount = row["residual"] * (row["inverse_residual"] if self.criterion == "mi" else row["fixed"])
        return float(0.5 * np.log(amount))

    def _eliminate(self, index: int) -> None:
        place = self._place(index)
        if place is not None:
            noise = float(self._candidates.rows["noise"][place])
            self._log.move(dense_row(self._candidates.factor, place), noise)
            self._candidates.close(place)
            return
        factor, noises = self._load(np.array([index]))
        self._log.move(dense_row(factor, 0), float(noises[0]))
        number = self._number(index)
        self._taken.setdefault(number, []).append(index - int(self._starts[number]))

    def _reserve(self, n: int) -> None:
        """Nothing grows with the number of picks."""

    def _start_entropy(self) -> None:
        super()._start_entropy()
        self._best_at_first, self._n_exact = np.inf, -1  # whatever was found out about scores was about others
        self._candidates.score_by(self._rule())
        wanted = Wanted(self._rule(), np.inf, 0, self._unit)
        tasks = ((number, group, self._bounds[number], wanted) for number, group in enumerate(self._groups))
        for number, result in self._run(groups.rescore_group, tasks):
            self._keep(number, result)
        for number, returned in self._returned.items():
            for candidates in returned:
                self._leave(number, candidates.indices, blocks.row_scores(candidates.rows, self._rule()))

    def _rule(self) -> kernels.Rule:
        return self.by_entropy, True, self.criterion == "mi" and not self.by_entropy

    # -- walks --------------------------------------------------------------------------------------------------------

    def _start(self, known: FloatArray, no_rows: Factor) -> None:
        chosen, rest = known + self._given_gram(), np.array(known, dtype=np.float64)
        needs_rest, fixes_rest = self.criterion != "entropy", self.criterion == "mi_fixed_rest"
        told, held, n_blocks, n_rows = _known_directions(chosen), BestRows(no_rows, self._capacity, self._unit), 0, 0

        def tasks() -> Iterator[Task]:
            for number, group in enumerate(self._groups):
                span = self._span(number)
                wanted = Wanted(self._rule(), held.cut, 0 if fixes_rest else self._at_most, self._unit)
                is_rest = self._in_pool[span] & ~self._given[span]
                start = blocks.Start(self._costs[span], is_rest, self._open[span], told, needs_rest, wanted, len(known))
                yield number, group, None, start

        for number, result in self._run(groups.start_group, tasks()):
            report = self._keep(number, result)
            n_blocks, n_rows = n_blocks + report.n_blocks, n_rows + report.n_loaded
            if report.gram is not None:
                rest += report.gram
            self._put_back(held.add(report.candidates))
        self._log = MoveLog(WeightBeliefs(chosen, rest))
        if not needs_rest:
            self._log.beliefs.covariances[1] = 0.0  # nobody asks, and without the Gram matrix it would be nonsense
        self.walks.append(Walk(n_blocks, n_rows, 0, not needs_rest))
        self._hold(held)
        if fixes_rest:
            self._walk(-np.inf, keeps_rest=True)

    def _walk(self, threshold: float, *, keeps_rest: bool = False) -> None:
        """Read the rows with bounds above the threshold, lower them, and take better candidates.

        A second walk without a move in between computes the scores themselves: bounds were not enough.
        """
        log, best = self._log, self._candidates.best()
        fall = max(0.0, self._best_at_first - best) if np.isfinite([self._best_at_first, best]).all() else 0.0
        held, is_exact = BestRows(self._candidates.factor[:0], self._capacity, self._unit), self._n_walked == log.count
        if is_exact:
            self._candidates.sweep()
        held.add(self._held_now())
        task = blocks.Refresh(None, log.since(0), log.count, threshold - HORIZON * fall, is_exact, keeps_rest)
        if task.is_exact_for(log.count):
            task = replace(task, covariances=log.beliefs.covariances)

        def tasks() -> Iterator[Task]:
            for number in np.flatnonzero((self._left >= threshold) & (self._left > -np.inf)).tolist():
                news = blocks.News(self._taken.pop(number, []), self._returned.pop(number, []))
                wanted = Wanted(self._rule(), held.cut, self._at_most, self._unit)
                yield number, self._groups[number], self._bounds[number], (task, news, wanted)

        evicted: list[Candidates | None] = []  # put back after the walk: groups still to come report for themselves
        n_blocks, n_rows = 0, 0
        for number, result in self._run(groups.refresh_group, tasks()):
            report = self._keep(number, result)
            n_blocks, n_rows = n_blocks + report.n_blocks, n_rows + report.n_loaded
            evicted.append(held.add(report.candidates))
        for candidates in evicted:
            self._put_back(candidates)
        self.walks.append(Walk(n_blocks, n_rows, log.count - self._n_walked, is_exact))
        self._n_walked = log.count
        self._n_exact = log.count if is_exact else self._n_exact
        self._hold(held)

    def _keep(self, number: int, result: tuple[Any, BlockReport]) -> BlockReport:
        self._bounds[number], report = result
        self._left[number], self._first[number] = report.left, report.first
        return report

    def _put_back(self, evicted: Candidates | None) -> None:
        """Candidates that had to make room belong to their groups again."""
        if evicted is None:
            return
        numbers = self._number(evicted.indices)
        for number in np.unique(numbers).tolist():
            part = evicted.bare(np.flatnonzero(numbers == number))
            self._leave(number, part.indices, part.scores)
            self._returned.setdefault(number, []).append(part)

    def _leave(self, number: int, indices: IndexArray, scores: FloatArray) -> None:
        """Some rows of a group have bounds besides those it told of."""
        top = float(scores.max(initial=-np.inf))
        if top == -np.inf:
            return
        bounds = np.append(scores, self._left[number])
        self._left[number] = max(top, self._left[number])
        order = np.argsort(np.append(indices, self._first[number]), kind="stable")
        place = blocks.first_of_ties(bounds[order], self._left[number], self._unit)
        self._first[number] = np.append(indices, self._first[number])[order[place]]

    # -- candidates ---------------------------------------------------------------------------------------------------

    def _hold(self, held: BestRows) -> None:
        kept, evicted = held.finish()
        self._put_back(evicted)
        self._indices, rows = kept.indices, kept.rows.copy()
        self._seen_there = kept.rows["seen"]  # what the bounds account for, where they are bounds
        rows["seen"] = np.where(kept.is_exact, kept.rows["seen"], NO_MOVE)
        everyone = np.ones(len(rows), dtype=bool)
        self._candidates = LazyRows(kept.factor, rows, everyone, self._log, self._rule())

    def _held_now(self) -> Candidates:
        rows, scores = self._candidates.rows.copy(), self._candidates.scores().copy()
        is_exact = rows["seen"] > NO_MOVE
        rows["seen"] = np.where(is_exact, rows["seen"], self._seen_there)
        return Candidates(self._indices, self._candidates.factor, rows, scores, is_exact)

    def _place(self, index: int) -> int | None:
        place = int(np.searchsorted(self._indices, index))
        return place if place < len(self._indices) and self._indices[place] == index else None

    # -- groups -------------------------------------------------------------------------------------------------------

    def _span(self, number: int) -> slice:
        return slice(int(self._starts[number]), int(self._starts[number + 1]))

    def _number(self, index: Any) -> Any:
        """The group of a row, or of each of several."""
        return np.searchsorted(self._starts, index, side="right") - 1

    def _load(self, indices: IndexArray) -> tuple[Factor, FloatArray]:
        """Some rows, sorted; all of one group."""
        number = int(self._number(indices[0]))
        task = (number, self._groups[number], self._bounds[number], indices - self._starts[number])
        return next(iter(self._run(groups.load_rows, [task])))[1]

    def _given_gram(self) -> FloatArray | float:
        given = np.flatnonzero(self._given)
        total: FloatArray | float = 0.0
        for part in np.split(given, np.flatnonzero(np.diff(self._number(given))) + 1):
            if part.size:
                factor, noise = self._load(part)
                total = total + gram(factor, 1.0 / noise)
        return total


def _checked_gram(known_gram: FloatArray | None, r: int) -> FloatArray:
    if known_gram is None:
        return np.zeros((r, r))
    known = np.asarray(known_gram, dtype=np.float64)
    if known.shape != (r, r) or not np.isfinite(known).all() or np.any(np.diag(known) < 0.0):
        raise ValueError(
            f"known_gram must be a sum of f fᵀ/noise over rows, ({r}, {r}) and finite, got shape {known.shape}"
            + (f" with {known.min():g} as its least entry" if known.shape == (r, r) else "")
        )
    return known


def _known_directions(chosen_gram: FloatArray) -> FloatArray | None:
    """U (r, t) with (I + chosen_gram)⁻¹ = I − U Uᵀ, t the number of directions that something is known of."""
    if not chosen_gram.any():
        return None
    eigenvalues, vectors = np.linalg.eigh(chosen_gram)
    share = np.maximum(eigenvalues, 0.0) / (1.0 + np.maximum(eigenvalues, 0.0))
    known = share > NOTHING_TOLD
    return np.ascontiguousarray(vectors[:, known] * np.sqrt(share[known]))


def greedy_information(
    covariance: npt.ArrayLike | LowRank | LowRankBlocks,
    n: int,
    *,
    stop_when_not_positive: bool = False,
    **selection: Unpack[Selection],
) -> Picks:
    """The n variables that, taken one after the other, tell most about those not taken.

    The gain of x is ½ log[var(x | chosen) / var(x | all others not chosen)], Krause, Singh & Guestrin, JMLR 2008. The
    variable with the highest gain per cost is taken, the first of those within a relative 1e-10.

    Parameters
    ----------
    covariance : (n, n) array, or `LowRank`, which is never formed, or `LowRankBlocks`, whose factor is not held either
    n : how many; all that are open where they are fewer
    given : indices conditioned on from the start, say the labelled items
    criterion : "mi"; "entropy", the numerator alone: the most uncertain given what was chosen; "mi_fixed_rest", where
        the denominator stays what it was at the start: var(x | all others not given)
    costs : (n,) positive, or one number. "entropy" takes the highest variance per cost
    eligible : (n,) mask of what may be picked; what may not still belongs to the rest
    stop_when_not_positive : end when no gain is positive, instead of going on by entropy

    Examples
    --------
    On a line of nine points entropy begins at an end, mutual information in the middle, where there is more to tell of:

    >>> import numpy as np
    >>> x = np.arange(9.0)
    >>> covariance = np.exp(-0.5 * np.subtract.outer(x, x) ** 2) + 0.01 * np.eye(9)
    >>> greedy_information(covariance, 3).indices, greedy_information(covariance, 3, criterion="entropy").indices
    (array([4, 1, 7]), array([0, 5, 8]))
    """
    state: InformationState
    if isinstance(covariance, LowRank):
        state = LowRankInformation(covariance, **selection)
    elif isinstance(covariance, LowRankBlocks):
        state = StreamedInformation(covariance, **selection)
    else:
        state = DenseInformation(covariance, **selection)
    return state.pick(n, stop_when_not_positive=stop_when_not_positive)
