"""Price lists learnt from times: against a simulated person's own, and against times that are no times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, t

from labelwise import Costs
from labelwise.records import MeasuredTimes, learn_costs
from labelwise.records.costs import OWN_SD, SPEED_SD, STUDENT_TAIL, _log_factors, _noise_variance

SEEDS = range(60)


def times_of(seconds, question="item", *, words=50.0, answers=1, picked=0, accepted=0):
    seconds = np.asarray(seconds, dtype=float)
    columns = (words, answers, picked, accepted)
    return MeasuredTimes(seconds, np.full(seconds.shape, question), *(np.full(seconds.shape, each) for each in columns))


def work_of(person, n, seed, noise=0.25, strange=0.06):
    """Whole items as a person does them: noise on every time, and a few that are far off."""
    rng = np.random.default_rng(seed)
    words, picked = np.round(np.exp(rng.normal(np.log(45), 0.7, n))), rng.poisson(2.0, n)
    accepted = rng.poisson(0.7, n)
    seconds = person.whole_item(picked, words=words, accepted=accepted) * np.exp(rng.normal(0, noise, n))
    seconds[rng.random(n) < strange] *= 15
    return MeasuredTimes(seconds, np.full(n, "item"), words, picked + accepted, picked, accepted)


def somebody(seed):
    """Prices of a person: one speed for all, and a factor for each price."""
    rng, usual = np.random.default_rng([seed, 1]), Costs.short_text()
    speed = np.exp(rng.normal(0, 0.4))
    prices = {
        name: getattr(usual, name) * speed * np.exp(rng.normal(0, 0.25)) for name in ("read_word", "open", "pick")
    }
    return replace(usual, **prices)


def test_fifty_items_tell_what_items_cost_a_person_within_15_percent():
    off = []
    for seed in SEEDS:
        person = somebody(seed)
        learnt = learn_costs(work_of(person, 50, seed), Costs.short_text())
        for words, picked in ((20, 1), (50, 2), (100, 3)):
            off.append(learnt.whole_item(picked, words=words) / person.whole_item(picked, words=words))
    assert np.abs(np.log(off)).max() < np.log(1.15)


@pytest.mark.parametrize("price", ["read_word", "pick"])
def test_fifty_items_tell_single_prices_within_15_percent_as_a_rule(price):
    people = [somebody(seed) for seed in SEEDS]
    learnt = [learn_costs(work_of(person, 50, seed), Costs.short_text()) for seed, person in enumerate(people)]
    off = [abs(np.log(getattr(a, price) / getattr(b, price))) for a, b in zip(learnt, people, strict=True)]
    assert np.median(off) < np.log(1.15)


def test_without_times_the_list_is_the_one_it_started_from():
    assert learn_costs(times_of([]), Costs.long_text()) == Costs.long_text()
    one = learn_costs(times_of([30 * 4.0], words=100, picked=1), Costs.short_text())
    usual, told = Costs.short_text().whole_item(1, words=100), 120.0
    assert usual < one.whole_item(1, words=100) < told  # a single time moves it, and not all the way


def test_what_is_learnt_grows_with_the_times():
    prior = Costs.short_text()
    slow = [learn_costs(times_of([3 * float(prior.pair(50))] * n, "pair"), prior).pair(50) for n in (1, 4, 16, 64)]
    assert (np.diff(slow) > 0).all() and slow[-1] == pytest.approx(3 * prior.pair(50), rel=0.1)


def test_the_estimate_is_the_most_probable_one():
    """The same posterior, maximised by a general optimiser."""
    rng = np.random.default_rng(4)
    paid = rng.gamma(2.0, size=(30, 3))
    observed = np.log(paid @ np.array([2.0, 1.0, 0.5])) + rng.normal(0, 0.3, 30)
    found = _log_factors(observed, paid)
    scale = np.sqrt(_noise_variance(observed - np.log(paid @ np.exp(found))))
    prior = multivariate_normal(np.zeros(3), SPEED_SD**2 * np.ones((3, 3)) + OWN_SD**2 * np.eye(3))

    def improbability(theta):
        residuals = observed - np.log(paid @ np.exp(theta))
        return -t.logpdf(residuals, STUDENT_TAIL, scale=scale).sum() - prior.logpdf(theta)

    assert found == pytest.approx(minimize(improbability, np.zeros(3), tol=1e-10).x, abs=1e-3)


@pytest.mark.parametrize("strange", [1e-9, 1800.0, 8 * 3600.0, 1e300])
def test_a_time_that_cannot_be_dominates_nothing(strange):
    """A clock that jumped, or a tab that was open over night, among ten times."""
    prior, usual = Costs.short_text(), np.full(10, 20.0)
    without, with_it = (learn_costs(times_of(s, picked=2), prior).whole_item(2) for s in (usual, [*usual, strange]))
    assert with_it == pytest.approx(without, rel=0.06)


@pytest.mark.parametrize("none", [-3.0, 0.0, float("nan"), float("inf"), float("-inf")])
def test_what_is_no_time_is_left_out(none):
    prior, usual = Costs.short_text(), np.full(5, 20.0)
    assert learn_costs(times_of([*usual, none], picked=2), prior) == learn_costs(times_of(usual, picked=2), prior)
    assert learn_costs(times_of([none]), prior) == prior


def test_kinds_are_learnt_apart_and_unseen_prices_follow_the_speed():
    prior = Costs.short_text()
    fast_picks = learn_costs(work_of(replace(prior, pick=1.5), 200, 0, strange=0), prior)
    assert fast_picks.pick < 0.6 * prior.pick and fast_picks.read_word == pytest.approx(prior.read_word, rel=0.2)
    slow = learn_costs(times_of(4 * prior.further(np.ones(40)), "further"), prior)
    assert slow.answer > 3 * prior.answer and slow.pick > 1.5 * prior.pick and slow.cell > 1.5 * prior.cell


def test_a_list_that_lacks_a_kind_is_learnt_without_it():
    bare = Costs(answer=2.0)
    assert learn_costs(times_of([30.0] * 40, answers=5), bare).answer == pytest.approx(6.0, rel=0.05)
    assert learn_costs(times_of([30.0] * 40, "sweep", answers=5), bare) == bare  # nothing tells what a cell costs
    assert learn_costs(times_of([30.0] * 40, "essay"), bare) == bare
    assert learn_costs(times_of([9.0] * 40, words=np.nan, picked=1), Costs.long_text()).read_word < 0.25


def test_prices_of_labels_and_money_are_nobodys_time():
    for prices in (Costs.laboratory({"a": 3.0}), replace(Costs.short_text(), unit="EUR")):
        assert learn_costs(times_of([100.0] * 9), prices) == prices
