"""What is special to the low-rank engine: precisions, storage, lazy evaluation, weight beliefs, the tournament."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.numerics.information import (
    DenseInformation,
    LowRank,
    LowRankInformation,
    WeightBeliefs,
    _kernels,
    gram,
    greedy_information,
)
from labelwise.numerics.information import weights as weights_module
from rest_slow import rest_slow

CRITERIA = ("mi", "entropy", "mi_fixed_rest")


def pool(n, r, seed=0):
    return np.random.default_rng(seed).standard_normal((n, r))


def dense(F, noise):
    return F @ F.T + np.diag(np.broadcast_to(noise, len(F)))


# ---- precisions: the labels of one item ----


def label_posterior(q=40, k=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, 1.0, q), rng.standard_normal((k, q)), 0.3  # alpha, Phi, v


def test_scaled_precision_of_labels_has_the_picks_of_their_covariance():
    """Covariance and precision swap roles; the product, and so "mi", stays."""
    alpha, Phi, v = label_posterior()
    Sigma = np.linalg.inv(np.diag(alpha) + Phi.T @ Phi / v)
    F = Phi.T / np.sqrt(alpha[:, None] * v)
    truth = greedy_information(Sigma, 40, stop_when_not_positive=True)
    picks = greedy_information(LowRank(F, 1.0), 40, stop_when_not_positive=True)
    assert len(picks.indices) > 10
    assert_array_equal(picks.indices, truth.indices)
    assert_allclose(picks.gains, truth.gains, atol=1e-10)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("given", [(), (3, 17)])
@pytest.mark.parametrize("lazy", [True, False, "auto"])
def test_a_low_rank_precision_is_the_covariance_it_inverts_to(criterion, given, lazy):
    alpha, Phi, v = label_posterior(seed=1)
    Sigma = np.linalg.inv(np.diag(alpha) + Phi.T @ Phi / v)
    matrix = LowRank(Phi.T / np.sqrt(v), alpha, of="precision")
    truth = DenseInformation((Sigma + Sigma.T) / 2, given=given, criterion=criterion).pick(40)
    picks = LowRankInformation(matrix, given=given, criterion=criterion, lazy=lazy).pick(40)
    assert_array_equal(picks.indices, truth.indices)
    assert_allclose(picks.gains, truth.gains, atol=1e-9)
    assert picks.n_by_criterion == truth.n_by_criterion


# ---- storage ----


@pytest.mark.parametrize("noise", rest_slow([0.001, 0.1]))
def test_single_precision_rows_give_double_precision_picks(noise):
    F = pool(3000, 12)
    F32 = F.astype(np.float32)
    exact, single = greedy_information(LowRank(F, noise), 60), greedy_information(LowRank(F32, noise), 60)
    assert_array_equal(single.indices, exact.indices)
    assert_allclose(single.gains, exact.gains, atol=1e-5)
    cast_up = greedy_information(LowRank(F32.astype(np.float64), noise), 60)  # the same numbers, so no rounding at all
    assert_array_equal(single.indices, cast_up.indices)
    assert_allclose(single.gains, cast_up.gains, rtol=1e-11)


@pytest.mark.parametrize(
    "convert", [sp.csr_array, sp.csc_array, sp.coo_matrix, np.asfortranarray, lambda F: F[:, ::-1]]
)
def test_storage_does_not_matter(convert):
    F = np.where(np.random.default_rng(1).random((150, 20)) < 0.2, pool(150, 20), 0.0)
    expected = greedy_information(dense(F, 0.2), 80, given=[5])
    for dtype in (np.float32, np.float64):
        picks = greedy_information(LowRank(convert(F.astype(dtype)), 0.2), 80, given=[5])
        assert_array_equal(picks.indices, expected.indices)
        assert_allclose(picks.gains, expected.gains, atol=1e-5)


def test_entries_stored_twice_in_a_sparse_factor_add_up():
    split = sp.csr_array((np.array([1.0, 2.0, 1.0, 4.0]), np.array([0, 0, 1, 1]), np.array([0, 2, 3, 4])), shape=(3, 2))
    expected = DenseInformation(dense(split.toarray(), 0.5)).gains()
    assert_allclose(LowRankInformation(LowRank(split, 0.5)).gains(), expected, atol=1e-12)


def test_whole_numbers_are_features_too():
    counts = np.random.default_rng(0).integers(0, 4, (30, 5))
    expected = greedy_information(dense(counts.astype(float), 0.5), 10)
    assert_array_equal(greedy_information(LowRank(counts, 0.5), 10).indices, expected.indices)


def test_no_columns_means_independent_variables():
    picks = greedy_information(LowRank(np.empty((4, 0)), [1.0, 3.0, 2.0, 3.0]), 4)
    assert_array_equal(picks.indices, [1, 3, 2, 0])
    assert_allclose(picks.gains, 0.0)


def test_nothing_given_is_overwritten():
    F, noise, costs = pool(40, 3), np.full(40, 0.2), np.linspace(1, 2, 40)
    kept = F.copy(), noise.copy(), costs.copy()
    C = dense(F, noise)
    C_kept = C.copy()
    greedy_information(LowRank(F, noise), 20, costs=costs)
    greedy_information(C, 20, costs=costs)
    for array, copy in zip((F, noise, costs, C), (*kept, C_kept), strict=True):
        assert_array_equal(array, copy)


# ---- lazy evaluation ----


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("lazy", [True, False, "auto"])
def test_gains_at_any_time_are_those_of_the_dense_engine(lazy, sparse):
    """After 2, 7 and 40 picks missed by rows of 12 entries: one by one, by matrix products, from the beliefs."""
    F = pool(300, 12)
    truth = DenseInformation(dense(F, 0.1))
    state = LowRankInformation(LowRank(sp.csr_array(F) if sparse else F, 0.1), lazy=lazy)
    for n in (0, 2, 7, 40, 100):
        assert_array_equal(state.pick(n).indices, truth.pick(n).indices)
        assert_allclose(state.gains(), truth.gains(), atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_that_missed_more_moves_than_are_kept_are_looked_at_together(sparse):
    """Rank 3 keeps three moves: after more picks stale rows, some hundreds of them, start again from the beliefs."""
    F = np.random.default_rng(0).standard_normal((1500, 3))
    matrix = LowRank(sp.csr_array(F) if sparse else F, 0.1)
    lazy, eager = (LowRankInformation(matrix, lazy=lazy) for lazy in (True, False))
    assert_array_equal(lazy.pick(60).indices, eager.pick(60).indices)
    assert_allclose(lazy.gains(), eager.gains(), atol=1e-10)


def test_lazy_evaluation_leaves_most_rows_alone_and_eager_none():
    F = pool(5000, 10)
    lazy, eager = (LowRankInformation(LowRank(F, 0.1), lazy=lazy) for lazy in (True, False))
    assert_array_equal(lazy.pick(10).indices, eager.pick(10).indices)
    assert np.mean(lazy._lazy_rows.rows["seen"] == 0) > 0.5
    assert np.mean(eager._lazy_rows.rows["seen"] == 9) > 0.99


def test_auto_sweeps_when_every_pick_lowers_every_score():
    """Unit rows in the plane: all gains are nearly equal, so one-by-one refreshing would touch the whole pool."""
    F = pool(4000, 2)
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    auto, lazy = (LowRankInformation(LowRank(F, 0.1), lazy=lazy) for lazy in ("auto", True))
    assert_array_equal(auto.pick(100).indices, lazy.pick(100).indices)
    assert auto._lazy_rows.n_swept > 0 and lazy._lazy_rows.n_swept == 0


def test_equal_rows_are_picked_in_order():
    picks = greedy_information(LowRank(np.ones((2000, 3)), 0.1), 50)
    assert_array_equal(picks.indices, np.arange(50))


# ---- weight beliefs ----


def test_grams_of_parts_add_up():
    F, weights = pool(101, 6), np.random.default_rng(1).random(101)
    whole = F.T @ (weights[:, None] * F)
    for convert in (np.asarray, sp.csr_array):
        parts = [gram(convert(F[part]), weights[part]) for part in (slice(0, 30), slice(30, 31), slice(31, 101))]
        assert_allclose(sum(parts), whole)
    assert_allclose(gram(F.astype(np.float32), weights), whole, rtol=1e-5)


def test_long_factors_are_worked_through_in_blocks(monkeypatch):
    monkeypatch.setattr(weights_module, "BLOCK_BYTES", 100_000)  # 2500 rows in double precision
    F = pool(70_000, 5).astype(np.float32)
    weights = np.random.default_rng(1).random(len(F))
    assert_allclose(gram(F, weights), F.T.astype(float) @ (weights[:, None] * F), rtol=1e-10)
    state = LowRankInformation(LowRank(F, 0.1))
    state.pick(5)
    row = F[69_999].astype(float)
    known, others = state.beliefs.covariances
    expected = 0.5 * np.log((0.1 + row @ known @ row) * (0.1 - row @ others @ row) / 0.01)
    assert_allclose(state.gains()[69_999], expected)


def test_beliefs_are_posteriors_of_the_weights():
    F, noise = pool(25, 4), np.random.default_rng(2).uniform(0.1, 1.0, 25)
    beliefs = WeightBeliefs(np.zeros((4, 4)), gram(F, 1 / noise))
    for row in (3, 11, 20):
        beliefs.move(F[row], noise[row])
    chosen = np.isin(np.arange(25), (3, 11, 20))
    for covariance, seen in zip(beliefs.covariances, (chosen, ~chosen), strict=True):
        precision = np.eye(4) + F[seen].T @ (F[seen] / noise[seen, None])
        assert_allclose(covariance @ precision, np.eye(4), atol=1e-12)
    residual, inverse_residual = beliefs.residuals(F, noise)
    C = dense(F, noise)
    rest = np.ix_(~chosen, ~chosen)
    cross = C[np.ix_(~chosen, chosen)]
    left = C[rest] - cross @ np.linalg.solve(C[np.ix_(chosen, chosen)], cross.T)
    assert_allclose(residual[~chosen], np.diag(left))
    assert_allclose(inverse_residual[~chosen], np.diag(np.linalg.inv(C[rest])))


def test_a_coordinator_that_holds_only_beliefs_finds_the_same_picks():
    F, noise = pool(90, 5), np.full(90, 0.2)
    parts = np.array_split(np.arange(90), 4)
    beliefs = WeightBeliefs(np.zeros((5, 5)), sum(gram(F[part], 1 / noise[part]) for part in parts))
    picked: list[int] = []
    for _ in range(15):
        best = []
        for part in parts:  # each worker scores its own rows from the two matrices
            open_ = np.setdiff1d(part, picked)
            residual, inverse_residual = beliefs.residuals(F[open_], noise[open_])
            winner = np.argmax(residual * inverse_residual)
            best.append((residual[winner] * inverse_residual[winner], open_[winner]))
        picked.append(int(max(best)[1]))
        beliefs.move(F[picked[-1]], noise[picked[-1]])
    assert_array_equal(picked, greedy_information(LowRank(F, 0.2), 15).indices)


# ---- the tournament ----


@for_all(st.integers(1, 600), st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_the_tournament_knows_the_first_player_above_any_score_within_reach(n, seed):
    rng = np.random.default_rng(seed)
    scores, starts = _kernels.start_tournament(n)
    assert scores[-1] == -np.inf
    scores[:n] = rng.integers(0, 20, n)
    _kernels.replay(scores, starts)
    for _ in range(30):
        assert scores[-1] == scores[:n].max()
        for least in (scores[-1], scores[-1] - 1.5, scores[:n].min()):
            assert _kernels.first_at_least(scores, starts, least) == np.flatnonzero(scores[:n] >= least)[0]
        _kernels.set_score(scores, starts, int(rng.integers(n)), float(rng.integers(-5, 25)))


# ---- bad input ----


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (LowRank(np.ones(4), 1.0), r"factor must have shape \(n, r\), got \(4,\)"),
        (LowRank(np.array([[1.0], [np.nan]]), 1.0), "factor must be finite"),
        (LowRank(sp.csr_array([[1.0], [np.inf]]), 1.0), "factor must be finite"),
        (LowRank(np.eye(3), 0.0), "noise must be positive and finite, got 0.0: a variable without noise"),
        (LowRank(np.eye(3), [1.0, -2.0, 1.0]), "noise must be positive and finite, got -2.0"),
        (LowRank(np.eye(3), np.nan), "noise must be positive and finite, got nan"),
        (LowRank(np.eye(3), [1.0, 2.0]), r"noise must be a number or have shape \(3,\), got shape \(2,\)"),
        (LowRank(np.eye(3), 1.0, of="inverse"), "of must be .* got 'inverse'"),
    ],
)
def test_bad_matrices_are_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        greedy_information(matrix, 1)


def test_bad_laziness_is_refused():
    with pytest.raises(ValueError, match="lazy must be True, False or \"auto\", got 'very'"):
        LowRankInformation(LowRank(np.eye(3), 1.0), lazy="very")


def test_noise_beyond_double_precision_is_refused_and_within_it_harmless():
    F = pool(30, 5)
    with pytest.raises(ValueError, match="noise must be at least 1e-12 of the variance, got 1e-13"):
        greedy_information(LowRank(F, 1e-13), 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picks = greedy_information(LowRank(F, 1e-10), 30)
    truth = greedy_information(dense(F, 1e-10), 30, criterion="mi")
    assert_array_equal(picks.indices[:5], truth.indices[:5])
    assert_allclose(picks.gains[:5], truth.gains[:5], rtol=1e-3)
    assert np.isfinite(picks.gains).all()
