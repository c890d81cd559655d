"""A campaign of which nothing was said but its data."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from labelwise import (
    AutoModel,
    BalancedPairs,
    Campaign,
    Costs,
    Guard,
    LabelCovariance,
    LabelData,
    LabelGP,
    Random,
    SemiSupervised,
    Threshold,
    Uncertainty,
)
from labelwise.numerics.metrics import precision_at
from labelwise.studies import Answerer


def make_pool(n_labels, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    score = X @ rng.normal(size=(8, n_labels)) + rng.normal(size=(n, n_labels))
    return LabelData.from_arrays(X, score > np.quantile(score, 0.8, axis=0))


@pytest.mark.parametrize("n_labels", [3, 40])
def test_whole_items_are_asked_whatever_the_number_of_labels(n_labels):
    campaign = Campaign(make_pool(n_labels).hide())
    assert campaign.strategy == LabelCovariance(weight=inf) and isinstance(campaign.model, SemiSupervised)
    assert campaign.start == 10 and campaign.control == Guard()
    assert campaign.random_share() == Guard(trust=1.0).share("items")
    assert all(len(question.labels) == n_labels for question in campaign.ask(3))
    assert isinstance(Campaign(make_pool(n_labels).hide(), model="auto").model, AutoModel)
    pairs = Campaign(make_pool(n_labels).hide(), strategy="pairs")
    assert isinstance(pairs.strategy, BalancedPairs) and pairs.model.kernel == "rbf+linear"
    assert all(len(question.labels) == 1 for question in pairs.ask(3))


def test_pairs_are_asked_where_labels_have_prices():
    pool = make_pool(4).hide()
    campaign = Campaign(pool, costs=Costs.laboratory([1.0, 2.0, 50.0, 0.0]))
    assert isinstance(campaign.strategy, BalancedPairs) and isinstance(campaign.model, LabelGP)
    assert isinstance(Campaign(pool, costs=Costs.long_text()).strategy, LabelCovariance)
    items = Campaign(pool, costs=Costs.laboratory([1.0, 2.0, 50.0, 0.0]), strategy="items")
    assert isinstance(items.strategy, LabelCovariance)


def test_who_chooses_a_strategy_gets_nothing_else():
    campaign = Campaign(make_pool(30).hide(), strategy=Random())
    assert campaign.start == 0 and campaign.control == 0.0
    assert campaign.ask(1)[0].reason == "cold start"


def test_registered_names_are_a_choice_as_their_objects_are():
    campaign = Campaign(make_pool(30).hide(), model="label_gp", strategy="uncertainty_pairs")
    assert isinstance(campaign.model, LabelGP) and campaign.strategy == Uncertainty(target="pairs")
    assert campaign.start == 0 and campaign.control == 0.0
    assert campaign.ask(2) == Campaign(make_pool(30).hide(), model=LabelGP(), strategy=campaign.strategy).ask(2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"strategy": Uncertainty}, r"strategy must be an instance, got the class: write Uncertainty\(\)"),
        ({"model": LabelGP}, r"write LabelGP\(\)"),
        ({"strategy": 5}, "an object with a method `choose`, got 5"),
        ({"decision": "threshold"}, "decision must be an object with a method `decide`, got 'threshold'"),
        ({"decision": Threshold}, r"write Threshold\(\)"),
    ],
)
def test_what_is_no_choice_is_told_when_the_campaign_is_made(options, words):
    with pytest.raises(TypeError, match=words):
        Campaign(make_pool(3).hide(), **options)


@pytest.mark.parametrize(("word", "n"), [("items", 60), ("pairs", 60 * 21)])
def test_it_learns_from_an_empty_pool_on(word, n):
    pool = make_pool(21)
    campaign, answerer = Campaign(pool.hide(), strategy=word, random_state=1), Answerer(pool)
    reasons = []
    while (done := campaign.spent().answers) < 60 * 21:
        questions = campaign.ask(n // 3 if done else n // 2)
        reasons += [question.reason for question in questions]
        campaign.tell(answerer.answers(questions))
    assert reasons[0] == "start" and {"strategy", "control"} <= set(reasons)
    open_ = ~campaign.labelled().observed_mask().toarray().any(axis=1)
    if open_.sum() > 10:
        p = campaign.believe(pool.X[open_]).probabilities()
        assert precision_at(p, pool.Y[open_].toarray(), 1) > 0.5


@pytest.mark.parametrize("options", [{"strategy": "hope"}, {"model": "svm"}])
def test_words_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        Campaign(make_pool(3).hide(), **options)
