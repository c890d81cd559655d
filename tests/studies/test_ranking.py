"""Ranks and tests against scipy, printed tables and plain enumeration."""

from __future__ import annotations

from itertools import product
from math import inf, isnan

import numpy as np
import pytest
from scipy import stats

from labelwise.studies.ranking import Ranking, critical_difference, holm, rank_over_sets, signed_rank_p


@pytest.mark.parametrize("digits", [9, 1])  # without ties, and with many
def test_friedmans_p_value_is_scipys(digits):
    scores = np.random.default_rng(3).random((9, 5)).round(digits)
    ranked = rank_over_sets(list("abcde"), scores)
    assert ranked.p_value == pytest.approx(stats.friedmanchisquare(*scores.T).pvalue)
    assert ranked.mean_ranks == pytest.approx(np.mean([stats.rankdata(-row) for row in scores], axis=0))
    assert ranked.mean_ranks.sum() == pytest.approx(5 * 6 / 2)


def test_friedmans_p_value_is_the_share_of_shuffles_that_differ_as_much():
    scores = np.random.default_rng(0).random((15, 4)) + np.array([0.2, 0.0, 0.0, 0.0])
    ranks = np.array([stats.rankdata(-row) for row in scores])
    shuffles = np.array([np.random.default_rng(s).permuted(ranks, axis=1).mean(0) for s in range(4000)])
    spread = ((shuffles - 2.5) ** 2).sum(1)
    share = np.mean(spread >= ((ranks.mean(0) - 2.5) ** 2).sum() - 1e-9)
    assert rank_over_sets(list("abcd"), scores).p_value == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_nemenyis_values_are_the_printed_ones(k, q):
    """Demšar 2006, table 5a."""
    assert critical_difference(k, 14) == pytest.approx(q * np.sqrt(k * (k + 1) / (6 * 14)), rel=5e-4)


def test_the_critical_difference_bounds_the_widest_gap_of_equals_nineteen_times_in_twenty():
    rng = np.random.default_rng(1)
    ranks = rng.permuted(np.tile(np.arange(1.0, 6.0), (4000, 30, 1)), axis=2).mean(1)  # (repeats, k)
    assert np.mean(np.ptp(ranks, axis=1) > critical_difference(5, 30)) == pytest.approx(0.05, abs=0.012)


def test_holm_is_the_step_down_rule():
    p = np.random.default_rng(5).random(7) ** 3
    adjusted = np.array(holm(p))
    for alpha in np.linspace(0.01, 0.99, 40):
        rejected, order = set(), np.argsort(p)
        for step, place in enumerate(order):  # reject while p(i) ≤ α / (m − i + 1)
            if p[place] * (len(p) - step) > alpha:
                break
            rejected.add(int(place))
        assert rejected == set(np.flatnonzero(adjusted <= alpha).tolist())


def test_the_signed_rank_test_counts_all_ways_to_turn_differences_around():
    d = np.array([0.5, -0.1, 0.7, 0.2, -0.3, 0.9, 0.4])
    ranks = stats.rankdata(np.abs(d))
    seen = abs((np.sign(d) * ranks).sum())
    all_ways = [abs(np.dot(signs, ranks)) for signs in product([-1, 1], repeat=len(d))]
    assert signed_rank_p(d) == pytest.approx(np.mean([way >= seen - 1e-9 for way in all_ways]))


def test_sets_where_both_are_equal_or_one_is_unknown_say_nothing():
    assert signed_rank_p([0.1, 0.0, np.nan, 0.3, 0.2]) == signed_rank_p([0.1, 0.3, 0.2]) == 0.25
    assert signed_rank_p([0.0, np.nan]) == 1.0


def test_neighbours_closer_than_the_critical_difference_stand_in_one_group():
    ranked = Ranking(tuple("abcd"), np.array([3.4, 1.0, 1.8, 2.5]), 9, 0.01, 1.0)
    assert ranked.best_first() == ["b", "c", "d", "a"]
    assert ranked.groups() == [("b", "c"), ("c", "d"), ("d", "a")]
    wide = Ranking(tuple("abcd"), ranked.mean_ranks, 9, 0.5, 3.0)
    assert wide.groups() == [("b", "c", "d", "a")]  # no smaller group inside a larger one
    assert Ranking(tuple("abcd"), ranked.mean_ranks, 9, 0.0, 0.1).groups() == []


def test_a_set_where_a_score_is_unknown_is_left_out():
    scores = [[0.9, 0.8, 0.7], [0.1, np.nan, 0.3], [0.6, 0.5, 0.4]]
    ranked = rank_over_sets(list("abc"), scores)
    assert ranked.n_sets == 2
    assert ranked.mean_ranks.tolist() == [1, 2, 3]


def test_one_set_or_none_decides_nothing():
    one = rank_over_sets(["a", "b"], [[0.9, 0.8]])
    assert isnan(one.p_value) and one.critical_difference == inf
    none = rank_over_sets(["a", "b"], [[np.nan, 0.8]])
    assert none.n_sets == 0 and np.isnan(none.mean_ranks).all()
    with pytest.raises(ValueError, match="1 names need as many columns of scores and at least two"):
        rank_over_sets(["a"], [[0.9]])
