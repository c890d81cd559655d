from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import entr

from labelwise import Costs
from labelwise.posterior import MarginalPosterior
from labelwise.queries import BalancedPairs
from labelwise.queries.balanced_pairs import LARGEST_SHARE, _per_cost, _shares


def nothing(n, q):
    return sp.csr_array((n, q), dtype=bool)


def choose(p, n, closed=None, seed=0, **options):
    closed = nothing(*p.shape) if closed is None else sp.csr_array(closed)
    return BalancedPairs(**options).choose(MarginalPosterior(p), closed, n, np.random.default_rng(seed))


def entropy(p):
    return entr(p) + entr(1 - p)


@pytest.fixture
def p():
    rates = np.array([0.5, 0.1, 0.02, 0.3])
    return np.clip(np.random.default_rng(1).normal(rates, rates / 4, (500, 4)), 1e-4, 1 - 1e-4)


def test_even_shares_are_the_least_certain_of_each_label(p):
    choice = choose(p, 40, focus=0.0)
    for label in range(4):
        rows = choice.rows[choice.labels == label]
        assert set(rows) == set(np.argsort(-entropy(p[:, label]))[:10])


def test_shares_follow_the_entropy_left(p):
    choice = choose(p, 200, focus=0.5)
    asked = np.bincount(choice.labels, minlength=4)
    weights = np.sqrt(entropy(p).mean(0))
    assert asked.sum() == 200
    assert np.abs(asked - 200 * weights / weights.sum()).max() <= 1.01


def test_answered_pairs_are_never_asked_and_leave_their_share_to_others(p):
    closed = np.zeros(p.shape, dtype=bool)
    closed[:, 0] = True  # all of the first label
    closed[3:, 1] = True  # all but three of the second
    choice = choose(p, 60, closed, focus=0.0)
    asked = np.bincount(choice.labels, minlength=4)
    assert asked[0] == 0 and asked[1] == 3 and asked.sum() == 60
    assert not closed[choice.rows, choice.labels].any()


def test_all_that_is_open_is_asked_when_little_is(p):
    closed = np.ones(p.shape, dtype=bool)
    closed[[3, 7, 7], [0, 1, 2]] = False
    choice = choose(p, 10, closed)
    assert sorted(zip(choice.rows.tolist(), choice.labels.tolist(), strict=True)) == [(3, 0), (7, 1), (7, 2)]
    assert choose(p, 10, np.ones(p.shape, dtype=bool)).rows.size == 0
    assert choose(p, 0).rows.size == 0


def test_no_pair_twice_and_items_stay_together(p):
    choice = choose(p, 300)
    assert len(set(zip(choice.rows.tolist(), choice.labels.tolist(), strict=True))) == 300
    changes = np.count_nonzero(np.diff(choice.rows))
    assert changes == np.unique(choice.rows).size - 1


def test_blocks_do_not_matter(p, monkeypatch):
    whole = choose(p, 50)
    monkeypatch.setattr("labelwise.queries.balanced_pairs.BLOCK", 37)
    parts = choose(p, 50)
    assert whole.rows.tolist() == parts.rows.tolist() and whole.labels.tolist() == parts.labels.tolist()


def test_permuting_labels_permutes_the_questions(p):
    order = np.array([2, 0, 3, 1])
    choice, permuted = choose(p, 40, focus=0.0), choose(p[:, order], 40, focus=0.0)
    assert set(zip(choice.rows, choice.labels, strict=True)) == set(
        zip(permuted.rows, order[permuted.labels], strict=True)
    )


def test_fewer_questions_than_labels_fall_on_different_labels():
    p = np.full((30, 8), 0.3)
    seen = [choose(p, 3, seed=seed).labels for seed in range(60)]
    assert all(np.unique(labels).size == 3 for labels in seen)
    assert np.unique(np.concatenate(seen)).size == 8  # none is left out for ever


def test_certain_labels_are_still_asked_at_random():
    p = np.zeros((50, 3))
    first = choose(p, 9, seed=0)
    assert np.bincount(first.labels).tolist() == [3, 3, 3]
    assert set(first.rows) != set(choose(p, 9, seed=1).rows)


def test_a_label_nobody_found_is_asked_where_the_others_explain_least():
    p = np.full((400, 3), 0.02)
    p[:200, 0], p[200:, 0] = 0.9, 0.1  # half of the items have a likely label
    weights = np.exp(-p.sum(axis=1))
    share = weights[200:].sum() / weights.sum()
    drawn = np.concatenate([rows_of(choose(p, 30, focus=0.0, seed=seed), label=2) for seed in range(60)])
    assert abs((drawn >= 200).mean() - share) < 4 * np.sqrt(share * (1 - share) / drawn.size)


def rows_of(choice, label):
    return choice.rows[choice.labels == label]


@pytest.mark.parametrize("n", [0, 1, 7, 100, 1000])
def test_shares_add_up_and_keep_their_bounds(n):
    rng = np.random.default_rng(n)
    for _ in range(20):
        weights, counts = rng.gamma(0.3, size=12), rng.integers(0, 40, 12)
        shares = _shares(weights, counts, n, rng)
        cap = LARGEST_SHARE * max(1.0, n / 12)
        assert (shares <= np.minimum(counts, np.ceil(cap))).all() and (shares >= 0).all()
        assert abs(shares.sum() - min(n, np.minimum(counts, cap).sum())) <= 1


def best_ratios(rows, worth, prices, read):
    """By trying every number of pairs of every item."""
    ranked = np.full(worth.size, -np.inf)
    for row in np.unique(rows):
        own = np.flatnonzero(rows == row)
        own = own[np.argsort(-worth[own])]
        ratios = np.cumsum(worth[own] * prices[own]) / (read + np.cumsum(prices[own]))
        ranked[own[: np.flatnonzero(ratios == ratios.max())[-1] + 1]] = ratios.max()
    return ranked


@pytest.mark.parametrize("read", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("same_price", [True, False])
def test_worth_per_cost_against_trying_everything(read, same_price):
    rng = np.random.default_rng(0)
    rows, worth = rng.integers(0, 15, 60), rng.random(60)
    prices = np.ones(60) if same_price else rng.gamma(2.0, size=60)
    assert _per_cost(rows, worth, prices, read) == pytest.approx(best_ratios(rows, worth, prices, read))


def test_dear_reading_asks_more_of_fewer_items(p):
    cheap, dear = choose(p, 60), choose(p, 60, costs=Costs(read=10.0))
    assert dear.rows.size == 60
    assert np.unique(dear.rows).size < 0.7 * np.unique(cheap.rows).size


def test_dear_labels_are_asked_less_by_the_root_of_their_price(p):
    alike = np.tile(p[:, :1], (1, 4))
    asked = np.bincount(choose(alike, 90, costs=Costs(labels=(1.0, 4.0, 4.0, 16.0))).labels, minlength=4)
    assert np.abs(asked - 90 * np.array([4, 2, 2, 1]) / 9).max() <= 1.01


def test_a_free_label_is_asked_most_and_breaks_nothing():
    alike = np.full((200, 4), 0.4)
    asked = np.bincount(choose(alike, 90, costs=Costs.laboratory((0.0, 4.0, 4.0, 4.0))).labels, minlength=4)
    assert asked.sum() == 90 and asked.argmax() == 0
    read_first = choose(alike, 90, costs=Costs(read=2.0, labels=(0.0, 4.0, 4.0, 4.0))).labels  # then none is free
    assert np.bincount(read_first, minlength=4).all() and read_first.size == 90
    even = np.bincount(choose(alike, 80, costs=Costs.laboratory((0.0,) * 4)).labels, minlength=4)
    assert even.tolist() == [20] * 4


def test_the_costs_of_a_campaign_come_first(p):
    beliefs, chance = MarginalPosterior(p), np.random.default_rng
    handed = BalancedPairs().choose(beliefs, nothing(*p.shape), 60, chance(0), costs=Costs(read=10.0))
    assert handed.rows.tolist() == choose(p, 60, costs=Costs(read=10.0)).rows.tolist()


def test_what_makes_no_sense_is_refused(p):
    with pytest.raises(ValueError, match="focus must"):
        choose(p, 3, focus=1.5)
