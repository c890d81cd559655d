"""A strategy that does not pay is pulled to random, one that pays is left alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

from labelwise import Answer, BinaryRelevance, Campaign, Costs, Guard, LabelData, LabelGP, Random
from labelwise.campaign import refit_point
from labelwise.campaign.guard import _precision, equally_long, strategy_evidence
from labelwise.campaign.standing import AnswerArrays
from labelwise.numerics.metrics import precision_at
from labelwise.posterior import MarginalPosterior
from labelwise.queries.base import Choice
from labelwise.studies import Answerer

Q = 6


def make_pool(seed=0, n=500, junk=150):
    """Labels that follow from the features; the first items are long, of other features, and tell nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 24))
    X[junk:, 12:], X[:junk, :12] = 0.0, 0.0
    X[:junk] *= 3.0
    score = X[:, :12] @ rng.normal(size=(12, Q)) / 3.5 + 0.4 * rng.normal(size=(n, Q))
    score[:junk] = rng.normal(size=(junk, Q))
    return LabelData.from_arrays(X, score > np.quantile(score, 0.7, axis=0))


@dataclass(frozen=True)
class ByLength:
    """Asks the longest items, or the shortest, first: those that tell nothing, or those that do."""

    longest: bool
    target: str = "items"
    looks_at_answers = True

    def choose(self, posterior, closed, n, rng, *, known):
        open_ = np.flatnonzero(~closed.toarray().all(1))
        length = np.linalg.norm(known.X[open_], axis=1)
        rows = open_[np.argsort(-length if self.longest else length)][:n]
        return Choice(rows, None, np.zeros(rows.size))


def play(strategy, control, seed, answers=140, junk=150):
    pool = make_pool(seed, junk=junk)
    answerer = Answerer(pool)
    campaign = Campaign(
        pool.hide(), model=BinaryRelevance(), strategy=strategy, start=20, control=control, random_state=seed
    )
    while len(campaign.answers) < answers:
        campaign.tell(answerer.answers(campaign.ask(10)))
    clean = np.setdiff1d(np.flatnonzero(~pool.X[:, 12:].any(axis=1)), [int(answer.item) for answer in campaign.answers])
    p = campaign.believe(pool.X[clean]).probabilities()
    return campaign, precision_at(p, pool.Y[clean].toarray(), 2)


@pytest.mark.slow
def test_a_bad_strategy_is_pulled_to_random_and_scores_as_random_does():
    at_random, bare, guarded, shares = [], [], [], []
    for seed in range(4):
        at_random.append(play(Random(), 0.0, seed)[1])
        bare.append(play(ByLength(longest=True), 0.0, seed)[1])
        campaign, score = play(ByLength(longest=True), Guard(), seed)
        shares.append(campaign.random_share())
        guarded.append(score)
    assert np.mean(shares) > 0.7
    assert np.mean(bare) < np.mean(at_random) - 0.1
    assert np.mean(guarded) > np.mean(at_random) - 0.03


@pytest.mark.slow
def test_a_good_strategy_is_left_alone():
    shares, gains = [], []
    for seed in range(10):  # what ten random items tell of a strategy is little, so single campaigns differ much
        campaign, score = play(ByLength(longest=False), Guard(), seed, junk=280)
        shares.append(campaign.random_share())
        gains.append(score - play(Random(), 0.0, seed, junk=280)[1])
    assert np.mean(shares) < 0.45
    assert np.mean(gains) > 0.03


def test_a_campaign_rebuilt_from_its_answers_trusts_as_much():
    campaign, _ = play(ByLength(longest=True), Guard(), seed=0, answers=70)
    again = Campaign(
        campaign.data,
        model=campaign.model,
        strategy=campaign.strategy,
        start=20,
        control=Guard(),
        answers=campaign.answers,
    )
    assert again.random_share() == campaign.random_share()
    assert again.ask(5) == campaign.ask(5)


def test_a_default_campaign_that_went_on_asks_what_a_fresh_one_asks():
    """Factors that grew, a kernel kept for the guard: nothing that is kept between rounds changes what is asked."""
    pool = make_pool(n=120, junk=0)
    answerer, unbroken = Answerer(pool), Campaign(pool.hide(), strategy="items")
    while len(unbroken.answers) < 80:
        questions = unbroken.ask(10)
        if len(unbroken.answers) in (30, 40, 70):  # before 32 and 64, where the guard looks, and after them
            fresh = Campaign(pool.hide(), strategy="items", answers=unbroken.answers)
            assert fresh.random_share() == unbroken.random_share()
            asked = [(question.item, question.reason) for question in fresh.ask(10)]
            assert asked == [(question.item, question.reason) for question in questions]
        unbroken.tell(answerer.answers(questions))
    assert unbroken._evidence[1] != 0.0


def test_the_guard_compares_answers_that_took_equally_long(monkeypatch):
    campaign, _ = play(ByLength(longest=False), Guard(), seed=0, answers=70)
    given = []
    monkeypatch.setattr(
        "labelwise.campaign.loop.strategy_evidence", lambda told, X, learn, rng, seconds: given.append(seconds) or 0.0
    )
    for costs in (Costs.short_text(), Costs.picture()):
        again = Campaign(campaign.data, strategy=campaign.strategy, control=Guard(), costs=costs)
        again.tell(campaign.answers[:64])
        again.random_share()
        assert given[-1].sum() == pytest.approx(again.spent().seconds)
        assert given[-1].size == again._book.told(64).rows.size
    assert given[0].sum() > given[1].sum()


@pytest.mark.parametrize("after", [64, 71, 79])
def test_the_guard_searches_for_no_kernel_whenever_it_looks(after, monkeypatch):
    """It keeps that of the last fit before the answers it judges, whether it looks at once or later."""
    pool = make_pool(n=120, junk=0)
    answerer, campaign = Answerer(pool), Campaign(pool.hide(), strategy="items")
    while len(campaign.answers) < 80:
        campaign.tell(answerer.answers(campaign.ask(10)))
    told = campaign.answers[:after]
    kernel_of_fit = Campaign(pool.hide(), strategy="items", answers=told[: refit_point(64)]).fitted().model_.kernel_
    judging = Campaign(pool.hide(), strategy="items", answers=told)
    seen = []
    whole_fit = LabelGP.fit

    def fit(model, X, Y, observed=None):
        fitted = whole_fit(model, X, Y, observed)
        seen.append((model.kernel, fitted.kernel_))
        return fitted

    monkeypatch.setattr(LabelGP, "fit", fit)
    judging.random_share()
    searched = [kernel for name, kernel in seen if name == "auto"]
    assert searched == [kernel_of_fit] and len(seen) > 4
    assert {kernel for _, kernel in seen} == {kernel_of_fit}


def test_shares_by_the_normal_distribution():
    guard = Guard(control=0.1, trust=1.0)
    for z in (-3.0, -0.5, 0.0, 2.0):
        assert guard.share("items", z) == pytest.approx(0.1 + 0.9 * norm.cdf(-1.0 - z))
    assert Guard().share("pairs") < 0.1 < 0.5 < Guard().share("items")
    assert Guard().share("items", of_strategy=1.0) == pytest.approx(0.05 + 0.95 * norm.cdf(-1.0))
    assert guard.share("items", of_strategy=3.0) == guard.share("items")  # a trust that was chosen stands
    with pytest.raises(ValueError, match="share of random questions above 0"):
        Guard(control=0.0)


@pytest.mark.parametrize("priced", [False, True])
def test_both_models_learn_from_answers_that_took_equally_long(priced):
    rng = np.random.default_rng(0)
    random, open_ = rng.random(60) < 0.5, rng.random(60) < 0.8
    seconds = np.where(random, 1.0, 3.0) * rng.uniform(0.5, 1.5, 60) if priced else np.ones(60)
    at_random, by_strategy = equally_long(random, open_, seconds if priced else None)
    alone, chosen = at_random & ~by_strategy, by_strategy & ~at_random
    assert abs(seconds[alone].sum() - seconds[chosen].sum()) <= (seconds.max() if priced else 0.0)
    assert (alone.sum() > 1.5 * chosen.sum()) == priced  # dear answers: fewer of them
    assert not (at_random & ~random).any() and (by_strategy & ~random).any()
    assert not ((at_random | by_strategy) & ~open_).any()


def test_where_everything_is_free_answers_are_counted():
    random, open_ = np.arange(40) % 2 == 0, np.ones(40, dtype=bool)
    free, counted = equally_long(random, open_, np.zeros(40)), equally_long(random, open_)
    assert all((a == b).all() for a, b in zip(free, counted, strict=True))


def test_nothing_is_said_without_random_answers_or_without_the_strategys():
    rows, labels = np.repeat(np.arange(30), 2), np.tile([0, 1], 30)
    for random in (np.zeros(60, dtype=bool), np.ones(60, dtype=bool)):
        told = AnswerArrays(rows, labels, labels == 0, random)
        assert strategy_evidence(told, np.zeros((30, 1)), lambda allowed: None, np.random.default_rng(0)) == 0.0


def test_precision_of_a_ranking_against_counting():
    class Fixed:
        def posterior(self, X):
            return MarginalPosterior(p)

    rng = np.random.default_rng(1)
    p, Y, known = rng.random((20, 7)), rng.random((20, 7)) < 0.4, rng.random((20, 7)) < 0.8
    Y &= known
    Y[:, 0] = known[:, 0] = True
    for row, found in enumerate(_precision(Fixed(), np.zeros((20, 1)), Y, known)):
        ranked = [Y[row, j] for j in np.argsort(-p[row]) if known[row, j]]
        hits = [sum(ranked[: k + 1]) / (k + 1) for k in range(len(ranked)) if ranked[k]]
        assert found == pytest.approx(np.mean(hits))


@pytest.mark.parametrize("target", ["items", "pairs"])
def test_a_campaign_starts_from_random_items_answered_in_full(target):
    pool = make_pool()
    campaign = Campaign(pool.hide(), model=BinaryRelevance(), strategy=Random(target=target), start=4, random_state=3)
    truth = pool.Y.toarray()
    names = {name: column for column, name in enumerate(pool.label_names)}
    asked = []
    while (questions := campaign.ask(5)) and questions[0].reason == "start":
        begun = [question for question in questions if question.reason == "start"]
        asked += begun
        campaign.tell(
            Answer(q.item, {name: truth[int(q.item), names[name]] for name in q.labels}, q.reason) for q in begun
        )
    full = campaign.labelled().observed_mask().toarray().all(axis=1)
    assert full.sum() == 4 and len({question.item for question in asked}) == 4
    items = [question.item for question in asked]
    assert sum(a != b for a, b in pairwise(items)) == 3  # one after the other
    assert campaign.ask(3)[0].reason != "start"
