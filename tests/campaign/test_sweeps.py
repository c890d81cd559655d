"""Whether a sweep of one label over many items is worth a person's time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from labelwise import Answer, Campaign, Costs, LabelData
from labelwise.campaign.estimates import worth_sweeping
from labelwise.posterior import MarginalPosterior
from labelwise.records.asking import SWEEP_PAGE

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
    value = [1 / (1 + int(Y[:, label].sum())) for label in range(3)]
    untouched = [row for row in range(200) if not observed[row].any()]
    each = [sum(p[row, label] * value[label] for label in range(3)) for row in untouched]
    picked = np.mean([p[row].sum() for row in untouched])
    of_item = np.mean(each) / float(costs.whole_item(picked, words=None))
    expected = {}
    for label, name in enumerate(data.label_names):
        best = sorted((p[row, label] for row in range(200) if not observed[row, label]), reverse=True)[:SWEEP_PAGE]
        times = sum(best) * value[label] / float(costs.sweep(SWEEP_PAGE)) / of_item
        if sum(best) >= 1 and times > 1:
            expected[name] = (round(sum(best), 2), round(times, 2))
    found = worth_sweeping(MarginalPosterior(p), data, costs, LEARNT)
    assert {each.label: (each.found, each.times) for each in found} == expected
    assert [each.times for each in found] == sorted((each.times for each in found), reverse=True)
    assert bool(found) == (costs.cell < 60)  # where a look is dear, whole items are better
    assert worth_sweeping(MarginalPosterior(p), data, costs, ~LEARNT) == ()


def test_no_sweep_where_labels_have_prices():
    p, data = pool(np.random.default_rng(0))
    assert worth_sweeping(MarginalPosterior(p), data, Costs.laboratory((1.0, 2.0, 3.0)), LEARNT) == ()


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
