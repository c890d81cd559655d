"""The engine on blocks against the engine in memory: same picks, bounds that hold, rows read only where they matter."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.numerics.information import (
    LowRank,
    LowRankBlocks,
    LowRankInformation,
    StreamedInformation,
    array_blocks,
    greedy_information,
)
from labelwise.numerics.information.blocks import Bounds, Refresh, Wanted, refresh_block
from labelwise.numerics.information.blocks import News as BlockNews
from rest_slow import rest_slow

CRITERIA = ("mi", "entropy", "mi_fixed_rest")
NOISE = 0.1


def pool(kind="plain", n=300, r=12, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, r))
    if kind == "decaying":
        F *= 3 * np.exp(-np.arange(r) / 3)
    if kind == "twins":
        F = F[rng.integers(0, n // 10, n)]
    if kind == "sparse":
        return sp.csr_array(np.where(rng.random((n, r)) < 0.3, F, 0.0).astype(dtype))
    return F.astype(dtype)


def blocked(F, size=40, n_candidates=25, **options):
    return LowRankBlocks(array_blocks(F, NOISE, size), n_candidates=n_candidates, **options)


def all_bounds(state):
    """(n,) the bounds of scores that the engine keeps, wherever it keeps them."""
    bounds = np.concatenate([kept.scores(state._rule()) for group in state._bounds for kept in group])
    for number, returned in state._returned.items():
        for back in returned:
            assert_array_equal(state._number(back.indices), number)
            bounds[back.indices] = Bounds(back.rows, np.ones(len(back.rows), dtype=bool), np.inf).scores(state._rule())
    scores = state._candidates.scores()
    bounds[state._indices[scores > -np.inf]] = scores[scores > -np.inf]
    return bounds


# ---- the same picks ----


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("dtype", rest_slow([np.float32, np.float64]))
@pytest.mark.parametrize("kind", ["plain", "decaying", "sparse"])
@pytest.mark.parametrize("size", rest_slow([5, 40]))  # several blocks to a group, and one
def test_picks_are_those_of_the_engine_in_memory(size, kind, dtype, criterion):
    F = pool(kind, dtype=dtype)
    truth = greedy_information(LowRank(F, NOISE), 60, criterion=criterion)
    state = StreamedInformation(blocked(F, size), criterion=criterion)
    first, second = state.pick(20), state.pick(40)
    assert_array_equal(np.concatenate([first.indices, second.indices]), truth.indices)
    assert_allclose(np.concatenate([first.gains, second.gains]), truth.gains, atol=1e-10)
    assert len(state.walks) > 2  # the candidates alone would not have been enough


@pytest.mark.parametrize(("size", "n_candidates"), [(1, 64), (7, 1), (40, 300), (300, 25), (1000, 25)])
def test_sizes_of_blocks_and_of_what_is_held_do_not_matter(size, n_candidates):
    F = pool()
    truth = greedy_information(LowRank(F, NOISE), 40)
    assert_array_equal(greedy_information(blocked(F, size, n_candidates), 40).indices, truth.indices)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("dtype", rest_slow([np.float32, np.float64]))
@pytest.mark.parametrize("size", rest_slow([5, 40]))
def test_of_twins_the_first_is_picked(size, dtype, criterion):
    F = pool("twins", dtype=dtype)
    truth = greedy_information(LowRank(F, NOISE), 80, criterion=criterion)
    assert_array_equal(greedy_information(blocked(F, size), 80, criterion=criterion).indices, truth.indices)


def test_items_that_are_all_alike_come_in_order():
    F = np.ones((50, 3), dtype=np.float32)
    assert_array_equal(greedy_information(blocked(F, 7, 4), 20, criterion="entropy").indices, np.arange(20))


@pytest.mark.parametrize("cost", [1e-4, 1e3])
def test_ties_are_as_wide_as_costs_make_them(cost):
    F, costs = pool("twins", dtype=np.float32), np.full(300, cost)
    truth = greedy_information(LowRank(F, NOISE), 60, costs=costs)
    assert_array_equal(greedy_information(blocked(F), 60, costs=costs).indices, truth.indices)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", ["plain", "sparse"])
@pytest.mark.parametrize("size", [40, 5])
def test_costs_given_and_ineligible_rows(size, kind, criterion):
    F, rng = pool(kind), np.random.default_rng(1)
    options = {
        "costs": rng.uniform(0.5, 2.0, 300),
        "eligible": rng.random(300) < 0.7,
        "given": rng.choice(300, 8, replace=False),
        "criterion": criterion,
    }
    truth = LowRankInformation(LowRank(F, NOISE), **options).pick(50)
    picks = StreamedInformation(blocked(F, size), **options).pick(50)
    assert_array_equal(picks.indices, truth.indices)
    assert_allclose(picks.gains_per_cost, truth.gains_per_cost, atol=1e-10)


def test_unequal_noise():
    F, noise = pool(), np.random.default_rng(2).uniform(0.05, 0.5, 300)
    truth = greedy_information(LowRank(F, noise), 50)
    matrix = LowRankBlocks(array_blocks(F, noise, 40), n_candidates=25)
    assert_array_equal(greedy_information(matrix, 50).indices, truth.indices)


def test_when_no_gain_is_positive_it_goes_on_by_entropy():
    F = pool(n=40, r=3)
    truth = greedy_information(LowRank(F, NOISE), 40)
    picks = greedy_information(blocked(F, 9, 5), 40)
    assert 0 < picks.n_by_criterion < 40
    assert picks.n_by_criterion == truth.n_by_criterion
    assert_array_equal(picks.indices, truth.indices)


def test_what_is_known_outside_the_pool_conditions_both_sides():
    """As if the pool had the covariance of a posterior: F (I + K)⁻¹ Fᵀ."""
    F, known = pool(), pool(n=9, seed=5)
    K = known.T @ known / NOISE
    root = np.linalg.cholesky(np.linalg.inv(np.eye(12) + K))
    truth = greedy_information(LowRank(F @ root, NOISE), 50)
    assert_array_equal(greedy_information(blocked(F, known_gram=K), 50).indices, truth.indices)
    without = greedy_information(blocked(F), 50)
    assert not np.array_equal(without.indices, truth.indices)


def test_rows_that_are_not_in_the_pool_are_passed_over():
    F, rows = pool(), np.flatnonzero(np.random.default_rng(3).random(300) < 0.6)
    in_pool = np.isin(np.arange(300), rows)
    truth = greedy_information(LowRank(F[rows], NOISE), 50)
    assert_array_equal(greedy_information(blocked(F, in_pool=in_pool), 50).indices, rows[truth.indices])


@pytest.mark.parametrize("index", [0, 137])
@pytest.mark.parametrize("size", [40, 5])
def test_taking_a_row_is_as_if_it_had_been_picked(size, index):
    F = pool()
    memory, streamed = LowRankInformation(LowRank(F, NOISE)), StreamedInformation(blocked(F, size))
    for state in (memory, streamed):
        state.pick(3)
        state.take(index)
    assert_array_equal(streamed.pick(30).indices, memory.pick(30).indices)


# ---- bounds ----


@settings(max_examples=25, deadline=None)
@for_all(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(["plain", "decaying", "twins", "sparse"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    criterion=st.sampled_from(["mi", "entropy"]),
    picks=st.integers(0, 30),
    size=st.sampled_from([30, 2]),
)
def test_no_bound_is_ever_below_the_truth(seed, kind, dtype, criterion, picks, size):
    state = StreamedInformation(blocked(pool(kind, n=120, r=8, dtype=dtype, seed=seed), size, 10), criterion=criterion)
    state.pick(picks)
    gains, bounds = state.gains(), all_bounds(state)
    still_open = gains > -np.inf
    assert_array_equal(bounds > -np.inf, still_open)
    assert np.all(bounds[still_open] >= gains[still_open] - 1e-12)


def test_exact_gains_are_those_in_memory():
    F = pool()
    memory, streamed = LowRankInformation(LowRank(F, NOISE)), StreamedInformation(blocked(F))
    memory.pick(9), streamed.pick(9)
    assert_allclose(streamed.gains(), memory.gains(), atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounded_products_lower_bounds_never_too_far(dtype):
    """Half the products cancel, so that single precision has no right digit left in them."""
    rng = np.random.default_rng(0)
    F = rng.standard_normal((200, 400)).astype(dtype)
    state = StreamedInformation(LowRankBlocks(array_blocks(F, NOISE, 200), n_candidates=3))
    state.pick(3)
    log, rule = state._log, state._rule()
    task = Refresh(log.beliefs.covariances, log.since(0), log.count, -np.inf, False, False)
    block, before = state._groups[0].blocks[0], state._bounds[0][0]
    bounds, _ = refresh_block(block, before, (task, BlockNews([], []), Wanted(rule, np.inf, 0)))
    exact, _ = refresh_block(
        block,
        before,
        (
            Refresh(task.covariances, task.steps, task.count, -np.inf, True, False),
            BlockNews([], []),
            Wanted(rule, np.inf, 0),
        ),
    )
    free = bounds.is_open
    slack = bounds.rows["residual"][free] / exact.rows["residual"][free] - 1.0
    assert slack.min() > -1e-13
    assert slack.max() < (1e-4 if dtype is np.float32 else 1e-12)
    assert np.all(bounds.rows["residual"][free] < before.rows["residual"][free])  # they did fall


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_in_a_large_pool_precisions_are_not_looked_at_and_the_picks_are_the_same(dtype):
    F = pool(n=20_000, r=40, dtype=dtype)
    state = StreamedInformation(blocked(F, 2000, 5))
    picks = state.pick(20)
    kept = np.concatenate([bounds.rows for group in state._bounds for bounds in group])
    assert len(state.walks) > 3
    lowered = kept["seen"] > 0
    assert lowered.sum() > 100
    assert np.mean(kept["inverse_residual"][lowered] == 1 / NOISE) > 0.5  # those that were candidates know theirs
    assert_array_equal(picks.indices, greedy_information(LowRank(F, NOISE), 20).indices)
    gains, bounds = state.gains(), all_bounds(state)
    still_open = gains > -np.inf
    assert np.all(bounds[still_open] >= gains[still_open] - 1e-12)


# ---- what is read ----


class CountingBlock:
    """A block that counts the rows it is asked for."""

    def __init__(self, block, counts):
        self._block, self._counts = block, counts
        self.start, self.n_rows = block.start, block.n_rows

    def load(self, rows=None):
        self._counts[self.start + (np.arange(self.n_rows) if rows is None else rows)] += 1
        return self._block.load(rows)


def test_one_walk_is_enough_where_the_candidates_are_far_ahead():
    F = pool(n=400)
    F[::20] *= 10.0
    counts = np.zeros(400, dtype=int)
    blocks = [CountingBlock(block, counts) for block in array_blocks(F, NOISE, 50)]
    state = StreamedInformation(LowRankBlocks(blocks, n_candidates=30))
    picks = state.pick(8)
    counts[0] -= 1  # looked at for its width
    assert_array_equal(counts, 1)
    assert len(state.walks) == 1
    assert np.all(picks.indices % 20 == 0)


def test_later_batches_read_few_blocks_where_the_strong_rows_are_together():
    F = pool(n=400, r=30)
    F[:50] *= 3.0
    state = StreamedInformation(LowRankBlocks(array_blocks(F, NOISE, 50), n_candidates=8))
    for _ in range(4):
        state.pick(5)
    later = state.walks[1:]
    assert later and all(walk.n_blocks == 1 for walk in later)
    assert_array_equal(
        StreamedInformation(LowRankBlocks(array_blocks(F, NOISE, 50), n_candidates=8)).pick(20).indices,
        greedy_information(LowRank(F, NOISE), 20).indices,
    )


# ---- elsewhere ----


def elsewhere(function, tasks):
    """Workers that know nothing but what was sent, and answer in any order."""
    done = [(task[0], pickle.loads(pickle.dumps(function))(*pickle.loads(pickle.dumps(task[1:])))) for task in tasks]
    for place in np.random.default_rng(0).permutation(len(done)):
        yield pickle.loads(pickle.dumps(done[place]))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kind", ["plain", "twins", "sparse"])
@pytest.mark.parametrize("size", rest_slow([5, 40]))
def test_blocks_may_be_worked_on_elsewhere_and_in_any_order(size, kind, criterion):
    F = pool(kind, dtype=np.float32)
    truth = greedy_information(LowRank(F, NOISE), 50, criterion=criterion)
    picks = greedy_information(blocked(F, size, run=elsewhere), 50, criterion=criterion)
    assert_array_equal(picks.indices, truth.indices)


# ---- errors ----


def test_rows_that_are_not_finite_are_named_by_their_block():
    F = pool()
    F[95, 3] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity in rows 80 to 119 of the pool"):
        StreamedInformation(blocked(F))


def test_blocks_must_follow_one_another():
    blocks = array_blocks(pool(), NOISE, 100)
    with pytest.raises(ValueError, match="without gaps"):
        StreamedInformation(LowRankBlocks([blocks[0], blocks[2]]))
    with pytest.raises(ValueError, match="no rows to choose from"):
        StreamedInformation(LowRankBlocks([]))


def test_denominators_that_are_not_kept_are_not_told():
    with pytest.raises(ValueError, match="mi_fixed_rest"):
        StreamedInformation(blocked(pool()), criterion="mi_fixed_rest").gains()
