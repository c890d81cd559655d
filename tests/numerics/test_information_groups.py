"""Groups of blocks against their blocks one by one, and against all rows at once."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.numerics.information import LowRank, LowRankBlocks, array_blocks, greedy_information
from labelwise.numerics.information.blocks import News, Refresh, Start, Wanted
from labelwise.numerics.information.groups import (
    Group,
    grouped,
    load_rows,
    refresh_group,
    rescore_group,
    residuals_group,
    start_group,
)
from labelwise.numerics.information.low_rank import MoveLog
from labelwise.numerics.information.weights import WeightBeliefs

N, R, NOISE = 60, 6, 0.1
MI, ENTROPY = (False, True, True), (True, True, False)


@pytest.fixture
def factor():
    return np.random.default_rng(0).standard_normal((N, R)) * np.linspace(0.5, 1.5, N)[:, None]


@pytest.fixture
def group(factor):
    """The second half of a pool."""
    return Group(array_blocks(factor, NOISE, 10)[3:])


def start(is_open=None, at_most=N, at_least=-np.inf, rule=MI):
    everyone = np.ones(N // 2, dtype=bool)
    wanted = Wanted(rule, at_least, at_most)
    return Start(np.ones(N // 2), everyone, everyone if is_open is None else is_open, None, True, wanted, R)


def first_scores(factor):
    """(n,) of rows that nothing is known of: their variance over their noise."""
    return 0.5 * np.log1p(np.sum(factor**2, axis=1) / NOISE)


# ---- which blocks ----


@pytest.mark.parametrize("n_blocks", [1, 2, 11, 12, 13, 60, 96, 97, 1000])
def test_groups_have_all_blocks_in_order_and_about_equally_many(n_blocks):
    blocks = array_blocks(np.zeros((n_blocks * 3 - 1, 2)), NOISE, 3)
    groups = grouped(blocks)
    assert [block for group in groups for block in group.blocks] == blocks
    sizes = [len(group.blocks) for group in groups]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= 8
    assert len(groups) >= min(n_blocks, 12)
    assert [group.start for group in groups] == [0, *np.cumsum([group.n_rows for group in groups])[:-1].tolist()]


def test_many_blocks_are_few_tasks():
    assert len(grouped(array_blocks(np.zeros((1000, 2)), NOISE, 1))) == 125


@pytest.mark.parametrize("blocks", [[], array_blocks(np.zeros((0, 3)), NOISE)])
def test_nothing_to_choose_from_is_an_error(blocks):
    with pytest.raises(ValueError, match="no rows to choose from"):
        grouped(blocks)


# ---- what is found ----


def test_the_best_of_all_blocks_are_sent_and_the_others_stay_open(factor, group):
    bounds, found = start_group(group, None, start(at_most=7))
    scores = first_scores(factor)[N // 2 :]
    best = np.sort(np.argsort(-scores)[:7])
    assert_array_equal(found.candidates.indices, best + N // 2)
    assert_array_equal(found.candidates.factor, factor[best + N // 2])
    assert_allclose(found.candidates.scores, scores[best])
    is_open = np.concatenate([each.is_open for each in bounds])
    assert_array_equal(np.flatnonzero(~is_open), best)
    assert found.left == pytest.approx(np.delete(scores, best).max())
    assert scores[found.first - N // 2] == pytest.approx(found.left)
    assert_allclose(found.gram, factor[N // 2 :].T @ factor[N // 2 :] / NOISE)
    assert (found.n_loaded, found.n_blocks) == (N // 2, 3)


def test_of_blocks_that_tie_the_first_row_is_told():
    group = Group(array_blocks(np.ones((30, R)), NOISE, 10))
    is_open = np.ones(30, dtype=bool)
    is_open[:12] = False
    _, found = start_group(group, None, start(is_open, at_most=0))
    assert found.first == 12
    assert found.candidates is None or found.candidates.indices.size == 0


def test_nothing_open_leaves_nothing(group):
    _, found = start_group(group, None, start(np.zeros(N // 2, dtype=bool)))
    assert found.left == -np.inf
    assert found.candidates.indices.size == 0


def test_rows_below_what_is_wanted_are_not_sent(factor, group):
    scores = first_scores(factor)[N // 2 :]
    least = float(np.median(scores))
    _, found = start_group(group, None, start(at_least=least))
    assert_array_equal(found.candidates.indices - N // 2, np.flatnonzero(scores >= least))


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_walk_tells_every_block_what_happened_to_its_rows(factor, group, is_exact):
    """Rows that were taken stay closed, those that come back are open, and all know the move that was made."""
    bounds, found = start_group(group, None, start(at_most=9))
    returned = found.candidates.bare(np.arange(9))
    taken = next(row for row in range(N // 2) if row + N // 2 not in returned.indices)
    log = MoveLog(WeightBeliefs(np.zeros((R, R)), factor.T @ factor / NOISE))
    log.move(factor[N // 2 + taken], NOISE)
    task = Refresh(log.beliefs.covariances, log.since(0), log.count, -np.inf, is_exact, False)
    bounds, found = refresh_group(group, bounds, (task, News([taken], [returned]), Wanted(MI, np.inf, 0)))
    rows, is_open = (np.concatenate([getattr(each, name) for each in bounds]) for name in ("rows", "is_open"))
    assert_array_equal(np.flatnonzero(~is_open), [taken])
    residual, inverse = residuals_group(group, bounds, log.beliefs.covariances)
    truth = np.einsum("ij,jk,ik->i", factor[N // 2 :], log.beliefs.covariances[0], factor[N // 2 :]) + NOISE
    assert_allclose(residual, truth)
    slack = rows["residual"][is_open] / residual[is_open] - 1
    assert -1e-12 < slack.min() <= slack.max() < 1e-9
    assert np.all(rows["inverse_residual"][is_open] >= inverse[is_open] * (1 - 1e-12))
    assert found.left >= (0.5 * np.log(residual * inverse))[is_open].max() - 1e-12


def test_another_rule_scores_the_same_rows(factor, group):
    bounds, _ = start_group(group, None, start(at_most=0))
    again, found = rescore_group(group, bounds, Wanted(ENTROPY, np.inf, 0))
    variances = np.sum(factor[N // 2 :] ** 2, axis=1) + NOISE
    assert found.candidates is None
    assert_array_equal(again[1].rows, bounds[1].rows)
    assert found.first == N // 2 + np.argmax(variances)
    assert found.n_loaded == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_several_blocks_are_loaded_in_order(factor, sparse):
    made = Group(array_blocks(sp.csr_array(factor) if sparse else factor, NOISE, 10)[3:])
    rows = np.array([0, 9, 10, 11, 29])
    loaded, noise = load_rows(made, None, rows)
    assert_array_equal(loaded.toarray() if sparse else loaded, factor[rows + N // 2])
    assert_array_equal(noise, np.full(5, NOISE))


# ---- what is sent by one group ----


def test_a_pool_whose_best_rows_are_all_in_one_group_gives_the_same_picks():
    """Then a group may not send all that could be held."""
    rng = np.random.default_rng(1)
    F = rng.standard_normal((24_000, 8))
    F[13_000:14_000] *= 3.0
    truth = greedy_information(LowRank(F, NOISE), 200)
    assert np.mean((truth.indices >= 13_000) & (truth.indices < 14_000)) > 0.9
    blocks = LowRankBlocks(array_blocks(F, NOISE, 500), n_candidates=600)
    assert_array_equal(greedy_information(blocks, 200).indices, truth.indices)
