"""Whether a sweep of one label over many items is worth a person's time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from labelwise import Answer, Campaign, Costs, LabelData
from labelwise.campaign.sweeps import sweep_page, worth_sweeping
from labelwise.posterior import MarginalPosterior
from labelwise.records.asking import SWEEP_PAGE
from labelwise.studies import Answerer

LEARNT = np.ones(3, dtype=bool)


def pool(rng):
    """Three labels of 200 items, a fifth of them known, and beliefs: one common, one rare, one very rare."""
    p = np.clip(rng.beta(1, 3, (200, 3)) * [1.2, 0.5, 0.1], 0.001, 0.999)
    Y, observed = rng.random((200, 3)) < p, np.zeros((200, 3), dtype=bool)
    observed[:40] = observed[40:60, 1] = True
    data = LabelData.from_arrays(
        rng.standard_normal((200, 2)), Y & observed, observed=observed, label_names=["a", "b", "c"]
    )
    return p, data


@pytest.mark.parametrize("costs", [Costs.picture(), Costs.short_text("low"), replace(Costs.picture(), cell=60.0)])
def test_worth_is_what_plain_loops_say(costs):
    p, data = pool(np.random.default_rng(0))
    Y, observed = data.Y.toarray(), data.observed.toarray()
    have = [sum(Y[:, label]) for label in range(3)]
    open_rows = [row for row in range(200) if not observed[row].all()]
    open_p = [[p[row, label] for row in range(200) if not observed[row, label]] for label in range(3)]
    picked = sum(map(sum, open_p)) / len(open_rows)
    items = float(costs.sweep(SWEEP_PAGE)) / float(costs.whole_item(picked, words=None))
    doubts = [sum(x * (1 - x) for x in open_p[label]) / len(open_rows) for label in range(3)]
    full = [row for row in range(200) if observed[row].all()]
    once = sum(sum(Y[row, label] for row in full) == 1 for label in range(3))
    by_items = sum(math.log(1 + items * doubts[label] / (1 + have[label])) for label in range(3))
    by_items += items * once / len(full) * math.log(2)
    expected = {}
    for label, name in enumerate(data.label_names):
        best = sorted(open_p[label], key=lambda x: -x * (1 - x))[:SWEEP_PAGE]
        times = math.log(1 + sum(x * (1 - x) for x in best) / (1 + have[label])) / by_items
        if sum(best) >= 1 and times > 1:
            expected[name] = (round(sum(best), 2), round(times, 2))
    found = worth_sweeping(MarginalPosterior(p), data, data.observed, costs, LEARNT)
    assert {each.label: (each.found, each.times) for each in found} == expected
    assert [each.times for each in found] == sorted((each.times for each in found), reverse=True)
    assert bool(found) == (costs.cell < 60)  # where a look is dear, whole items are better
    assert worth_sweeping(MarginalPosterior(p), data, data.observed, costs, ~LEARNT) == ()


def test_no_sweep_where_labels_have_prices():
    p, data = pool(np.random.default_rng(0))
    assert worth_sweeping(MarginalPosterior(p), data, data.observed, Costs.laboratory((1.0, 2.0, 3.0)), LEARNT) == ()


def test_a_campaign_names_a_rare_label_with_likely_items():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2))
    Y = np.column_stack([X[:, 0] > -0.5, X[:, 1] > 1.2])
    data = LabelData.from_arrays(X, label_names=["common", "rare"], item_ids=[str(i) for i in range(300)])
    campaign = Campaign(data, model="binary_relevance", strategy="random", costs=Costs.picture(), start=0)
    assert campaign.status().sweeps == ()
    campaign.tell([Answer(str(i), {"common": bool(Y[i, 0]), "rare": bool(Y[i, 1])}, "control") for i in range(40)])
    named = campaign.status().sweeps
    assert named[0].label == "rare" and named[0].times > 2
    swept = np.argsort(-np.where(np.arange(300) < 40, -1, campaign.believe().probabilities()[:, 1]))[:SWEEP_PAGE]
    assert Y[swept, 1].sum() >= named[0].found - 4  # about as many as it said, or more
    campaign.tell([Answer(str(i), {"rare": bool(Y[i, 1])}, "sweep") for i in swept])
    after = {each.label: each.times for each in campaign.status().sweeps}
    assert after.get("rare", 0.0) < named[0].times  # the likely ones were looked at


def test_the_page_has_the_least_certain_open_items():
    p, data = pool(np.random.default_rng(2))
    page = sweep_page(MarginalPosterior(p), data, data.observed, "b")
    open_ = [row for row in range(200) if not data.observed.toarray()[row, 1]]
    first = sorted(open_, key=lambda row: -p[row, 1] * (1 - p[row, 1]))[:SWEEP_PAGE]
    assert [question.item for question in page] == [data.item_ids[row] for row in first]
    assert {(question.labels, question.reason) for question in page} == {(("b",), "sweep")}


def campaign_of_two_labels(**options):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2))
    Y = np.column_stack([X[:, 0] > -0.5, X[:, 1] > 1.2])
    data = LabelData.from_arrays(X, Y, label_names=["common", "rare"])
    campaign = Campaign(data.hide(), model="binary_relevance", costs=Costs.picture(), **options)
    answerer = Answerer(data)
    campaign.tell(answerer.answers(campaign.ask(40)))
    return campaign, answerer


def test_a_campaign_with_sweeps_asks_for_one_where_it_brings_twice_as_much():
    campaign, answerer = campaign_of_two_labels(strategy="random", sweeps=True)
    asked = campaign.ask(30)
    assert campaign.status().sweeps[0].times >= 2
    assert {(question.labels, question.reason) for question in asked} == {(("rare",), "sweep")}
    assert len(asked) == SWEEP_PAGE and campaign.ask(30) == asked
    assert campaign.ask(30, exclude=[asked[0].item])[0].item == asked[1].item
    before = campaign.spent()
    campaign.tell(answerer.answers(asked))
    spent = campaign.spent()
    assert spent.answers - before.answers == SWEEP_PAGE and spent.readings == before.readings
    assert spent.cost - before.cost < 1.1 * campaign.costs.sweep(SWEEP_PAGE)
    plain, _ = campaign_of_two_labels(strategy="random")
    assert {question.reason for question in plain.ask(30)} == {"strategy"}


def test_random_items_are_asked_beside_sweeps():
    campaign, _ = campaign_of_two_labels(strategy="random", sweeps=True, control=0.5)
    reasons = [question.reason for question in campaign.ask(20)]
    assert "control" in reasons and "sweep" in reasons and len(reasons) == 20
    assert reasons == sorted(reasons)  # whole items first, then the page
