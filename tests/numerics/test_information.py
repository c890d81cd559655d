"""The greedy engine against literal transcriptions of its definition, and against the laws it must obey."""

from __future__ import annotations

import heapq
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import lapack

from labelwise.numerics.information import DenseInformation, LowRank, LowRankInformation, Picks, greedy_information

CRITERIA = ("mi", "entropy", "mi_fixed_rest")
TIE = 1e-10


# ---- rivals: the definition, computed from scratch for every candidate ----


def conditional_variance(C, x, on):
    on = sorted(set(on) - {x})
    return C[x, x] - C[x, on] @ np.linalg.solve(C[np.ix_(on, on)], C[on, x]) if on else C[x, x]


def literal_gain(C, x, given, picked, criterion):
    chosen = set(given) | set(picked)
    pool = set(range(len(C))) - set(given)
    entropy = 0.5 * np.log(conditional_variance(C, x, chosen))
    if criterion == "entropy":
        return entropy
    rest = pool - {x} if criterion == "mi_fixed_rest" else pool - set(picked) - {x}
    return entropy - 0.5 * np.log(conditional_variance(C, x, rest))


def literal_greedy(C, n, given=(), criterion="mi", costs=None, eligible=None):
    """O(n) linear systems of order n for each pick."""
    costs = np.ones(len(C)) if costs is None else costs
    open_ = [x for x in range(len(C)) if x not in set(given) and (eligible is None or eligible[x])]
    picked, gains, by_criterion = [], [], 0
    for _ in range(min(n, len(open_))):
        gain = {x: literal_gain(C, x, given, picked, criterion) for x in open_}
        rate = {x: gain[x] / costs[x] for x in open_}
        best = max(open_, key=lambda x: rate[x])
        if criterion == "entropy" or by_criterion < len(picked) or gain[best] <= TIE:
            rate = {x: 0.5 * np.log(conditional_variance(C, x, {*given, *picked}) / costs[x]) for x in open_}
            by_criterion += criterion == "entropy"
        else:
            by_criterion += 1
        top = max(rate.values())
        winner = min(x for x in open_ if rate[x] >= top - TIE * max(1.0, abs(top)))
        picked.append(winner)
        gains.append(gain[winner])
        open_.remove(winner)
    return Picks(np.array(picked, dtype=np.intp), np.array(gains), costs[picked], by_criterion)


def queue_greedy(C, n, given=()):
    """The lazy queue of Minoux: gains only fall, so the head of the queue wins once it is fresh."""
    queue = [(-np.inf, x, -1) for x in range(len(C)) if x not in set(given)]
    picked = []
    while len(picked) < n:
        _, x, age = heapq.heappop(queue)
        if age == len(picked):
            picked.append(x)
        else:
            heapq.heappush(queue, (-literal_gain(C, x, given, picked, "mi"), x, len(picked)))
    return np.array(picked)


def pools():
    rng = np.random.default_rng(0)
    n, r = 36, 4
    F = rng.standard_normal((n, r))
    twins, zeros, constant = F.copy(), F.copy(), F.copy()
    twins[18:] = twins[:18]
    zeros[::3] = 0.0
    constant[:, 0] = 1.0
    yield "random", F, 0.3
    yield "near as wide as long", rng.standard_normal((20, 16)), 0.1
    yield "wider than long", rng.standard_normal((14, 30)), 0.5
    yield "twins", twins, 0.3
    yield "zero rows", zeros, 0.3
    yield "constant feature", constant, 0.05
    yield "unequal noise", F, rng.uniform(0.01, 2.0, n)
    yield "one column", F[:, :1], 0.2
    yield "unit rows", F / np.linalg.norm(F, axis=1, keepdims=True), 0.1


POOLS = {name: (F, np.broadcast_to(np.asarray(noise, dtype=float), len(F))) for name, F, noise in pools()}


def covariance(F, noise):
    return F @ F.T + np.diag(noise)


def rbf(n, seed, noise=0.05):
    x = np.random.default_rng(seed).uniform(0, 3, (n, 2))
    return np.exp(-((x[:, None] - x[None]) ** 2).sum(-1)) + noise * np.eye(n)


def assert_same(a, b, atol=1e-9):
    assert_array_equal(a.indices, b.indices)
    assert_allclose(a.gains, b.gains, atol=atol)
    assert_array_equal(a.costs, b.costs)
    assert a.n_by_criterion == b.n_by_criterion


# ---- all forms agree with the definition ----


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("given", [(), (1, 2, 9)])
def test_every_form_is_the_definition(name, criterion, given):
    F, noise = POOLS[name]
    truth = literal_greedy(covariance(F, noise), len(F), given, criterion)
    assert_same(DenseInformation(covariance(F, noise), given=given, criterion=criterion).pick(len(F)), truth)
    for factor in (F, sp.csr_array(F)):
        for lazy in (True, False, "auto"):
            state = LowRankInformation(LowRank(factor, noise), given=given, criterion=criterion, lazy=lazy)
            assert_same(state.pick(len(F)), truth)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_costs_and_eligible_by_the_definition(criterion):
    F, noise = POOLS["unequal noise"]
    rng = np.random.default_rng(5)
    options = {
        "given": [4, 30],
        "criterion": criterion,
        "costs": rng.uniform(0.5, 3.0, len(F)),
        "eligible": rng.random(len(F)) < 0.6,
    }
    truth = literal_greedy(covariance(F, noise), len(F), **options)
    assert options["eligible"][truth.indices].all()
    assert_same(greedy_information(covariance(F, noise), len(F), **options), truth)
    assert_same(greedy_information(LowRank(F, noise), len(F), **options), truth)
    assert_allclose(truth.gains_per_cost * options["costs"][truth.indices], truth.gains)


def test_costs_move_the_picks_and_one_cost_for_all_does_not():
    C = rbf(25, 0)
    plain = greedy_information(C, 5)
    dear = np.ones(25)
    dear[plain.indices[0]] = 100.0
    assert plain.indices[0] not in greedy_information(C, 5, costs=dear).indices
    assert_array_equal(greedy_information(C, 5, costs=7.0).indices, plain.indices)
    assert_allclose(greedy_information(C, 5, costs=7.0).gains, plain.gains)


@pytest.mark.parametrize("given", [(), (0, 3, 8)])
def test_queue_dense_and_definition_agree_on_a_smooth_kernel(given):
    C = rbf(30, 1)
    picks = greedy_information(C, 12, given=given)
    assert_array_equal(picks.indices, queue_greedy(C, 12, given))
    assert_same(picks, literal_greedy(C, 12, given))


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 255, 256, 257, 300])
def test_low_rank_equals_dense_for_every_shape_of_tournament(n):
    rng = np.random.default_rng(n)
    F = rng.standard_normal((n, 7))
    dense = greedy_information(covariance(F, np.full(n, 0.2)), n)
    for lazy in (True, False, "auto"):
        assert_same(LowRankInformation(LowRank(F, 0.2), lazy=lazy).pick(n), dense)


# ---- laws ----


@pytest.mark.parametrize("given", [(), (2, 5)])
def test_gains_telescope_to_mutual_information(given):
    """Σ gains = I(A; rest | given side): by log-determinants of the chosen given the labelled, and of the rest."""
    C = rbf(24, 2)
    pool = np.setdiff1d(np.arange(24), given)
    picks = greedy_information(C, 20, given=given)
    for t in (1, 7, 20):
        chosen = picks.indices[:t]
        rest = np.setdiff1d(pool, chosen)
        known = np.r_[given, chosen].astype(int)
        logdets = (logdet(C, known) - logdet(C, given), logdet(C, rest), -logdet(C, pool))
        assert_allclose(picks.gains[:t].sum(), 0.5 * sum(logdets), atol=1e-10)


def logdet(C, index):
    index = np.asarray(index, dtype=int)
    return np.linalg.slogdet(C[np.ix_(index, index)])[1] if index.size else 0.0


def test_entropy_is_pivoted_cholesky():
    C = rbf(40, 3, noise=0.01)
    _, pivots, rank, _ = lapack.dpstrf(C, lower=1)
    picks = greedy_information(C, 40, criterion="entropy")
    assert rank == 40
    assert_array_equal(picks.indices, pivots - 1)
    assert picks.n_by_criterion == 40
    assert_allclose(picks.gains.sum(), 0.5 * logdet(C, np.arange(40)))


def test_entropy_takes_a_singular_covariance():
    F = np.random.default_rng(0).standard_normal((12, 3))
    picks = greedy_information(F @ F.T, 12, criterion="entropy")
    assert sorted(picks.indices) == list(range(12))
    assert np.all(picks.gains[:3] > -3) and np.all(picks.gains[3:] < -15)


matrices = st.builds(
    lambda seed, n, r, noise: (np.random.default_rng(seed).standard_normal((n, r)), noise),
    st.integers(0, 10**6),
    st.integers(3, 25),
    st.integers(1, 8),
    st.floats(0.01, 2.0),
)


@for_all(matrices)
@settings(max_examples=30, deadline=None)
def test_every_gain_falls_from_step_to_step(matrix):
    F, noise = matrix
    for state in (DenseInformation(covariance(F, np.full(len(F), noise))), LowRankInformation(LowRank(F, noise))):
        before = state.gains()
        while len(state.pick(1).indices):
            after = state.gains()
            assert np.all(after <= before + 1e-9)
            before = after
        assert np.all(before == -np.inf)


@for_all(matrices, st.integers(0, 10**6), st.floats(0.01, 100.0))
@settings(max_examples=30, deadline=None)
def test_the_unit_of_a_single_variable_does_not_matter(matrix, which, scale):
    F, noise = matrix
    C = covariance(F, np.full(len(F), noise))
    units = np.ones(len(F))
    units[which % len(F)] = scale
    scaled = C * np.outer(units, units)
    assert_allclose(DenseInformation(scaled).gains(), DenseInformation(C).gains(), atol=1e-9)
    in_units = LowRank(F * units[:, None], noise * units**2)
    assert_allclose(LowRankInformation(in_units).gains(), DenseInformation(C).gains(), atol=1e-9)


@for_all(matrices, st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_permuting_the_pool_permutes_the_picks(matrix, seed):
    F, noise = matrix
    order = np.random.default_rng(seed).permutation(len(F))
    n = len(F) // 2
    for make in (lambda F: covariance(F, np.full(len(F), noise)), lambda F: LowRank(F, noise)):
        plain, permuted = greedy_information(make(F), n), greedy_information(make(F[order]), n)
        assert_allclose(permuted.gains, plain.gains, atol=1e-9)
        if np.all(np.abs(np.diff(np.sort(plain.gains))) > 1e-8):  # no ties: a pool of two has equal gains
            assert_array_equal(order[permuted.indices], plain.indices)


# ---- picking now and later ----


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("form", ["dense", "low rank"])
def test_picks_in_pieces_equal_picks_at_once(criterion, form):
    F = np.random.default_rng(8).standard_normal((200, 12))
    C = covariance(F, np.full(200, 0.1))

    def start():
        options = {"criterion": criterion, "given": [7, 100]}
        return DenseInformation(C, **options) if form == "dense" else LowRankInformation(LowRank(F, 0.1), **options)

    at_once, state = start().pick(150), start()
    pieces = [state.pick(n) for n in (1, 0, 1, 20, 78, 50)]  # from rows of the factor to the inverse in full
    assert_array_equal(np.concatenate([p.indices for p in pieces]), at_once.indices)
    assert_allclose(np.concatenate([p.gains for p in pieces]), at_once.gains, atol=1e-9)
    assert sum(p.n_by_criterion for p in pieces) == at_once.n_by_criterion


@pytest.mark.parametrize("criterion", ["mi", "entropy"])
def test_what_was_picked_may_be_given_next_time(criterion):
    F = np.random.default_rng(9).standard_normal((60, 5))
    for matrix in (covariance(F, np.full(60, 0.1)), LowRank(F, 0.1)):
        at_once = greedy_information(matrix, 20, criterion=criterion)
        later = greedy_information(matrix, 10, given=at_once.indices[:10], criterion=criterion)
        assert_array_equal(later.indices, at_once.indices[10:])


def test_taking_is_conditioning():
    F = np.random.default_rng(10).standard_normal((30, 4))
    C = covariance(F, np.full(30, 0.3))
    for state in (DenseInformation(C), LowRankInformation(LowRank(F, 0.3))):
        state.take(12)
        state.take(3)
        assert_allclose(state.gains(), DenseInformation(C, given=[3, 12]).gains(), atol=1e-10)
        with pytest.raises(ValueError, match="12 is outside the covariance, given, picked"):
            state.take(12)
        with pytest.raises(ValueError, match="-1 is outside"):
            state.take(-1)


# ---- the end of positive gains, and small pools ----


@pytest.mark.parametrize("make", [lambda C: C, lambda C: LowRank(np.linalg.cholesky(C - 0.05 * np.eye(30)), 0.05)])
def test_past_positive_gains_entropy_goes_on_or_the_picks_end(make):
    C = rbf(30, 4)
    everything = greedy_information(make(C), 30)
    m = everything.n_by_criterion
    assert 0 < m < 30
    assert np.all(everything.gains[:m] > 0) and np.all(everything.gains[m:] <= 1e-10)
    assert_allclose(everything.gains.sum(), 0.0, atol=1e-8)  # nothing is left to tell about
    by_entropy = greedy_information(make(C), 30, given=everything.indices[:m], criterion="entropy")
    assert_array_equal(everything.indices[m:], by_entropy.indices)
    stopped = greedy_information(make(C), 30, stop_when_not_positive=True)
    assert_array_equal(stopped.indices, everything.indices[:m])
    assert stopped.n_by_criterion == m


def test_a_stopped_selection_stays_stopped_and_can_go_on():
    state = DenseInformation(rbf(20, 5))
    m = len(state.pick(20, stop_when_not_positive=True).indices)
    assert state.fell_back
    assert len(state.pick(5, stop_when_not_positive=True).indices) == 0
    more = state.pick(20)
    assert len(more.indices) == 20 - m and more.n_by_criterion == 0


@pytest.mark.parametrize("make", [lambda: np.eye(5) * 2.0, lambda: LowRank(np.zeros((5, 3)), 2.0)])
def test_independent_variables_tell_nothing_and_come_in_order(make):
    assert len(greedy_information(make(), 5, stop_when_not_positive=True).indices) == 0
    picks = greedy_information(make(), 5)
    assert_array_equal(picks.indices, np.arange(5))
    assert_allclose(picks.gains, 0.0, atol=1e-14)
    assert picks.n_by_criterion == 0


@pytest.mark.parametrize("make", [lambda F: covariance(F, np.ones(len(F))), lambda F: LowRank(F, 1.0)])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_small_pools_are_defined(make, criterion):
    F = np.random.default_rng(0).standard_normal((6, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert greedy_information(make(F[:0]), 3, criterion=criterion).indices.shape == (0,)
        assert greedy_information(make(F), 0, criterion=criterion).gains.shape == (0,)
        assert len(greedy_information(make(F), 3, given=np.arange(6), criterion=criterion).indices) == 0
        assert len(greedy_information(make(F), 3, eligible=np.zeros(6, dtype=bool), criterion=criterion).indices) == 0
        assert sorted(greedy_information(make(F), 99, given=[2, 2], criterion=criterion).indices) == [0, 1, 3, 4, 5]
        assert greedy_information(make(F[:1]), 1, criterion=criterion).indices.tolist() == [0]


# ---- bad input ----


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda C: C[:3], r"square, got shape \(3, 6\)"),
        (lambda C: C + np.triu(np.ones((6, 6)), 1), r"symmetric, got a difference of 1: pass \(C \+ C.T\) / 2"),
        (lambda C: np.where(np.eye(6)[::-1] == 1, np.nan, C), "finite, got NaN"),
        (lambda C: np.where(np.eye(6)[::-1] == 1, np.inf, C), "finite, got NaN or infinity"),
        (lambda C: C * (1 - np.eye(6)), "variances must be positive, got 0.0 at 0: add noise"),
        (lambda C: np.ones((6, 6)), "positive definite, but its variable 1 .* add noise"),
        (lambda C: C - 3 * np.ones((6, 6)) + 3 * np.eye(6), "positive definite"),
    ],
)
def test_bad_covariances_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        greedy_information(change(4 * np.eye(6) + 1.0), 2)


def test_an_indefinite_covariance_is_refused_when_seen():
    C = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(ValueError, match="conditional variance of -3"):
        greedy_information(C, 2, criterion="entropy")
    with pytest.raises(ValueError, match="conditional variance of -3"):
        greedy_information(C, 1, given=[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, "n must be 0 or more, got -1"),
        ({"criterion": "variance"}, "criterion must be one of .* got 'variance'"),
        ({"given": [6]}, r"given must lie in 0..5, got 6..6"),
        ({"given": [-1, 2]}, r"given must lie in 0..5, got -1..2"),
        ({"given": [True] * 6}, "given must hold indices, got bool; use np.flatnonzero"),
        ({"costs": [1, 1, 1, 0, 1, 1]}, "costs must be positive and finite, got 0.0"),
        ({"costs": np.nan}, "costs must be positive and finite, got nan"),
        ({"costs": [1.0, 2.0]}, r"costs must be a number or have shape \(6,\), got shape \(2,\)"),
        ({"eligible": np.arange(6)}, r"eligible must be a mask of shape \(6,\), got int64"),
    ],
)
def test_bad_options_are_refused(options, message):
    for matrix in (np.eye(6), LowRank(np.eye(6), 1.0)):
        with pytest.raises(ValueError, match=message):
            greedy_information(matrix, **{"n": 2, **options})
