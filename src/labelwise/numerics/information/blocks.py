"""Rows of a factor in blocks that may live anywhere: what is done with one block, as pure functions of small records.

The streamed engine keeps, for every block, `Bounds`: what is known of its rows, never less than the truth. A function
here takes a block, its bounds and a task, and returns new bounds and a `BlockReport`. All can be pickled, so that
blocks, and their bounds with them, may stay on other machines; `StreamedInformation`, which hands them out in groups
(`groups`), never looks inside bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.kernels import squared_norms
from labelwise.numerics.information import _kernels as kernels
from labelwise.numerics.information.low_rank import check_noise
from labelwise.numerics.information.state import IndexArray
from labelwise.numerics.information.weights import Factor, add_gram, arrays, double_blocks, residuals

BLOCK_BYTES = 2**25  # of the rows of a block, in the precision they come in
MAX_SHARE_ROW_BY_ROW = 1 / 4  # of a block: of more rows, nearly every page is touched anyway, and all are loaded
NORM_SLACK = 1.001  # for what is rounded in norms and in γ
MOVES_TOGETHER = 16  # rows whose number of missed moves differs by less share a matrix product
NEGLIGIBLE = 1e-3  # twice what a bound of a gain may lose by not looking at how the precision of a row falls
CANDIDATE_BYTES = 2**22  # more are looked at in vain, fewer mean more walks over the pool
FEWEST_CANDIDATES = 64
ROOM = 8  # times what is held in the end, while rows come in: making room costs a copy of what is held


class RowBlock(Protocol):
    """Consecutive rows of a pool; small enough to be held, loaded when asked for."""

    @property
    def start(self) -> int:
        """Its first row in the pool."""

    @property
    def n_rows(self) -> int: ...

    def load(self, rows: IndexArray | None = None) -> tuple[Factor, FloatArray]:
        """Factor (b, r) and noise (b,) of all its rows, or of some, counted from its own first."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayBlock:
    """Rows of an array, which may be memory-mapped, or of a csr_array."""

    start: int
    factor: Factor
    noise: FloatArray

    @property
    def n_rows(self) -> int:
        return int(self.factor.shape[0])

    def load(self, rows: IndexArray | None = None) -> tuple[Factor, FloatArray]:
        return (self.factor, self.noise) if rows is None else (self.factor[rows], self.noise[rows])


def array_blocks(factor: Factor, noise: float | FloatArray, size: int | None = None) -> list[ArrayBlock]:
    """An array, say a memory-mapped one, in blocks of at most `size` rows."""
    if size is not None and size < 1:
        raise ValueError(f"size must be at least 1, got {size!r}")
    if sp.issparse(factor):
        factor = sp.csr_array(factor)
    n, r = factor.shape
    size = size or max(1, BLOCK_BYTES // (factor.dtype.itemsize * max(1, r)))
    every = np.broadcast_to(np.asarray(noise, dtype=np.float64), n)
    return [ArrayBlock(at, factor[at : at + size], every[at : at + size]) for at in range(0, n, size)]


@dataclass(frozen=True, eq=False)
class Bounds:
    """What is known of the rows of a block: upper bounds of their residuals, and which of them may be picked."""

    rows: npt.NDArray[np.void]  # (b,) of type ROW; `seen` is how many moves the bounds account for
    is_open: BoolArray  # (b,) False for what may not be picked, was picked, or is a candidate
    longest: float  # no row has a larger |f|

    def scores(self, rule: kernels.Rule) -> FloatArray:
        """(b,) upper bounds of the scores, −inf where closed."""
        return np.where(self.is_open, row_scores(self.rows, rule), -np.inf)


def row_scores(rows: npt.NDArray[np.void], rule: kernels.Rule) -> FloatArray:
    """What `_kernels` would score rows, as an array."""
    by_entropy, residual_counts, inverse_counts = rule
    amount = (rows["residual"] if residual_counts else 1.0) * (rows["inverse_residual"] if inverse_counts else 1.0)
    return np.asarray(kernels.score(amount, rows["fixed"], rows["cost"], by_entropy))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Rows that may win soon, with their features."""

    indices: IndexArray  # (k,) in the pool
    factor: Factor  # (k, r), or (0, r) where nobody needs it any more
    rows: npt.NDArray[np.void]  # (k,) of type ROW, as in the bounds they were taken from
    scores: FloatArray  # (k,) upper bounds
    is_exact: BoolArray  # (k,) whether the residuals are the truth after as many moves as they have `seen`

    def bare(self, places: IndexArray) -> Candidates:
        """Some of them without their features."""
        rows, scores = self.rows[places], self.scores[places]
        return Candidates(self.indices[places], self.factor[:0], rows, scores, self.is_exact[places])


@dataclass(frozen=True, eq=False)
class BlockReport:
    """What the engine learns of a block."""

    candidates: Candidates | None
    left: float  # the highest bound of a score among the other open rows, −inf where there is none
    first: int  # the first row, in the pool, that has it or ties with it
    n_loaded: int  # rows that were loaded
    n_blocks: int  # blocks that some of them are in
    gram: FloatArray | None = None  # (r, r) Σ f fᵀ/noise over the rows of the rest


@dataclass(frozen=True)
class Wanted:
    """Which rows are sent as candidates: the best `at_most` of those with a bound of `at_least`."""

    rule: kernels.Rule
    at_least: float
    at_most: int
    unit: float = 1.0  # what a gain of one is scored by the cheapest question, if more than one


@dataclass(frozen=True, eq=False)
class Start:
    """The task of the first walk."""

    cost: FloatArray  # (b,)
    is_rest: BoolArray  # (b,) whether a row belongs to the rest
    is_open: BoolArray  # (b,)
    told: FloatArray | None  # (r, t) U with M = I − U Uᵀ where something is known at the start
    needs_gram: bool
    wanted: Wanted
    width: int  # r


@dataclass(frozen=True, eq=False)
class Refresh:
    """The task of a later walk, the same for all blocks."""

    covariances: FloatArray | None  # (2, r, r) M and H now, None where nobody needs them
    steps: FloatArray  # (m, 2, r) the last moves
    count: int  # number of moves
    threshold: float  # rows with bounds below need not be looked at
    is_exact: bool  # whether bounds must become the truth
    keeps_rest: bool  # whether the denominators found now are those to keep, for "mi_fixed_rest"

    def is_exact_for(self, missed: int) -> bool:
        """Whether rows that have missed so many moves are looked at exactly: they must be, or it is less work."""
        return self.is_exact or missed > min(len(self.steps), self.steps.shape[2] // 2)


@dataclass(frozen=True, eq=False)
class News:
    """What happened to rows of a block since it was last read."""

    taken: Sequence[int]  # picked though they were no candidates; counted from the block's first row
    returned: Sequence[Candidates]  # candidates no more, without their features


@dataclass(frozen=True, eq=False)
class Loaded:
    """Rows of a block that are in memory, and which of them are looked at."""

    factor: Factor
    rows: IndexArray  # (k,) in the block
    places: IndexArray  # (k,) in the factor


def start_block(block: RowBlock, _: None, task: Start) -> tuple[Bounds, BlockReport]:
    """First bounds: the variance given what is known, which is exact, and as precision that of the row's own noise.

    The precision of a row given the others of the rest is (1 − leverage)/noise. Leverages add up to at most r over the
    pool, so in a large pool both are nearly the same; the leverage needs all rows first.
    """
    factor, noise = block.load()
    if factor.shape[1] != task.width:
        raise ValueError(
            f"all blocks must have the same features, got {factor.shape[1]} in rows {block.start} to "
            f"{block.start + block.n_rows - 1} of the pool, {task.width} in the first"
        )
    total, norms, longest = _gram_and_norms(factor, task.is_rest / noise if task.needs_gram else None, task.told)
    if not np.isfinite(norms.sum()):
        last = block.start + block.n_rows - 1
        raise ValueError(f"features must be finite, got NaN or infinity in rows {block.start} to {last} of the pool")
    rows = np.zeros(block.n_rows, dtype=kernels.ROW)
    rows["noise"], rows["cost"] = noise, task.cost
    check_noise(noise, noise + norms)
    rows["residual"], rows["inverse_residual"], rows["fixed"] = noise + norms, 1.0 / noise, 1.0
    if not task.wanted.rule[0] and not task.wanted.rule[2]:  # "mi_fixed_rest", until its denominators are known
        rows["fixed"] = 1.0 / noise
    bounds = Bounds(rows, task.is_open.copy(), longest)
    everyone = np.arange(block.n_rows)
    bounds, report = _send(block, bounds, task.wanted, Loaded(factor, everyone, everyone))
    return bounds, replace(report, gram=total)


def refresh_block(block: RowBlock, bounds: Bounds, order: tuple[Refresh, News, Wanted]) -> tuple[Bounds, BlockReport]:
    """Lower the bounds of all rows that may reach the threshold, by the moves they have missed."""
    task, news, wanted = order
    rows, is_open = bounds.rows.copy(), bounds.is_open.copy()
    for back in news.returned:
        places = back.indices - block.start
        rows[places], is_open[places] = back.rows, True
    is_open[np.array(news.taken, dtype=np.intp)] = False  # last: a row may have been returned before it was taken
    bounds = Bounds(rows, is_open, bounds.longest)
    stale = np.flatnonzero((bounds.scores(wanted.rule) >= task.threshold) & is_open)
    if stale.size == 0:
        return _send(block, bounds, wanted, None)
    factor, noise = block.load(None if stale.size > MAX_SHARE_ROW_BY_ROW * block.n_rows else stale)
    loaded = Loaded(factor, stale, np.arange(stale.size) if len(noise) == stale.size else stale)
    exact = task.is_exact_for(task.count - int(rows["seen"][stale].min()))
    if exact and task.covariances is not None:
        residual, inverse_residual = residuals(factor[loaded.places], noise[loaded.places], task.covariances)
        part = rows[stale]
        kernels.apply_residuals(part, residual, inverse_residual, task.count)
        if task.keeps_rest:
            part["fixed"] = part["inverse_residual"]
        rows[stale] = part
    else:
        _lower_by_moves(bounds, loaded, task, wanted.rule)
    return _send(block, bounds, wanted, loaded, exact=exact)


def rescore_block(block: RowBlock, bounds: Bounds, wanted: Wanted) -> tuple[Bounds, BlockReport]:
    """What is left under another rule; loads nothing and sends nothing."""
    return _send(block, bounds, wanted, None)


def residuals_block(block: RowBlock, covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(b,) residuals and inverse residuals of all rows, exactly."""
    factor, noise = block.load()
    return residuals(factor, noise, covariances)


def _send(
    block: RowBlock, bounds: Bounds, wanted: Wanted, loaded: Loaded | None, *, exact: bool = False
) -> tuple[Bounds, BlockReport]:
    """The best of the rows looked at go out as candidates and are closed; what is left is told."""
    scores, candidates = bounds.scores(wanted.rule), None
    if loaded is not None:
        here = scores[loaded.rows]
        sent = np.flatnonzero(here >= max(wanted.at_least, np.finfo(float).min))
        if sent.size > wanted.at_most:
            sent = np.sort(sent[best_first(here[sent], sent, wanted.unit)[: wanted.at_most]])
        out, factor = loaded.rows[sent], loaded.factor[loaded.places[sent]]
        is_exact, is_open = np.full(sent.size, exact), bounds.is_open.copy()
        candidates = Candidates(block.start + out, factor, bounds.rows[out], scores[out], is_exact)
        scores[out], is_open[out] = -np.inf, False
        bounds = replace(bounds, is_open=is_open)
    left = float(scores.max(initial=-np.inf))
    first = block.start + first_of_ties(scores, left, wanted.unit) if left > -np.inf else 0
    n_loaded = 0 if loaded is None else int(loaded.factor.shape[0])
    return bounds, BlockReport(candidates, left, first, n_loaded, int(n_loaded > 0))


def best_first(scores: FloatArray, indices: IndexArray, unit: float) -> IndexArray:
    """An order of rows by falling score, in which those that tie with the best come by their index, not by rounding.

    So the first of the rows that tie with the best is never left out, however few are kept.
    """
    best = float(scores.max(initial=-np.inf))
    behind = scores < best - tie_slack(best, unit)
    return np.lexsort((np.where(behind, 0, indices), np.where(behind, -scores, -np.inf), behind))


def first_of_ties(scores: FloatArray, best: float, unit: float) -> int:
    """The first place whose score is the best, or so close that either may be."""
    return int(np.argmax(scores >= best - tie_slack(best, unit)))


def tie_slack(score: float, unit: float) -> float:
    """Scores this close to another may tie with it; wide enough for both sides of a tie."""
    return 2.0 * kernels.TIE * max(unit, abs(score)) if np.isfinite(score) else 0.0


def _gram_and_norms(
    factor: Factor, weights: FloatArray | None, told: FloatArray | None
) -> tuple[FloatArray | None, FloatArray, float]:
    """Σ_i weights_i f_i f_iᵀ, if wanted, (b,) fᵀ(I − U Uᵀ)f, never less, and the largest |f|, in one walk."""
    n, r = factor.shape
    total, longest = None if weights is None else np.zeros((r, r)), 0.0
    norms = np.empty(n)
    for part, rows in _double_parts(factor):
        square = norms[part] = squared_norms(rows)
        longest = max(longest, float(np.sqrt(square.max(initial=0.0))))
        if told is not None:
            norms[part] -= squared_norms(rows @ told)
            norms[part] += 8 * r * kernels.EPS * square  # the difference may cancel
        if weights is None or total is None:
            continue
        if sp.issparse(rows):
            kernels.add_sparse_gram(arrays(rows), weights[part], total)
        else:
            add_gram(rows, weights[part], total)
    return total, np.maximum(norms, 0.0), longest * NORM_SLACK


def _double_parts(factor: Factor) -> Iterator[tuple[slice, Any]]:
    if isinstance(factor, np.ndarray):
        yield from double_blocks(factor)
    else:
        yield slice(0, factor.shape[0]), factor.astype(np.float64)


def _lower_by_moves(bounds: Bounds, loaded: Loaded, task: Refresh, rule: kernels.Rule) -> None:
    """Lower the bounds of the rows looked at by the moves they missed, those that missed about as many together."""
    rows, longest = bounds.rows, bounds.longest
    missed = task.count - rows["seen"][loaded.rows]
    group_of = -(-missed // MOVES_TOGETHER)
    for number in np.unique(group_of[missed > 0]).tolist():
        group = np.flatnonzero(group_of == number)
        which, factor = loaded.rows[group], loaded.factor[loaded.places[group]]
        a, b = task.steps[len(task.steps) - int(missed[group].max()) :].transpose(1, 0, 2)  # (m, r) each
        falls = _least_falls(factor, a, longest, missed[group])
        most = longest**2 * np.sum(b * b) / float(rows["noise"][which].min())  # of 1 in noise × precision
        needs_inverse = rule[2] and most > NEGLIGIBLE
        inverse_falls = _least_falls(factor, b, longest, missed[group]) if needs_inverse else np.zeros(len(which))
        kernels.lower_bounds(rows, which, falls, inverse_falls, task.count)


def _least_falls(factor: Factor, directions: FloatArray, longest: float, last: IndexArray) -> FloatArray:
    """(b,) Σ (f·d)² at least over the `last` (b,) directions, by products in the precision of the rows.

    |fl(x·y) − x·y| ≤ γ |x| |y| with γ = r u/(1 − r u), u half the distance of 1 from the next number, holds for any
    order of summation (Higham, Accuracy and stability of numerical algorithms, 2002, section 3.1). Rounding the
    directions adds one u.
    """
    dots = np.asarray(factor @ directions.astype(factor.dtype).T)  # (b, m)
    unit = float(np.finfo(factor.dtype).eps) / 2
    slack = (factor.shape[1] + 2) * unit * longest * np.sqrt(squared_norms(directions))  # (m,)
    return np.asarray(kernels.least_falls(dots, slack, last))


# -- the rows that a streamed selection holds: the best so far of those it was sent -----------------------------------


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
