"""Hints in campaigns: from the first question on, by default where names say something, the same in shards."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import labelwise as lw
from labelwise import BinaryRelevance, Campaign, Label, LabelData
from labelwise.data import ShardedFeatures
from labelwise.posterior import IgnorantPosterior
from labelwise.studies import Answerer

WORDS = ["football", "goal", "match", "vote", "party", "minister", "apple", "tree"]


def pool(n=80, **changes):
    rng = np.random.default_rng(0)
    topic = rng.integers(3, size=n)
    likely = np.array(
        [[0.4, 0.6, 0.6, 0, 0, 0, 0, 0.1], [0, 0, 0.1, 0.4, 0.6, 0.6, 0, 0], [0, 0, 0, 0, 0, 0, 0.6, 0.7]]
    )
    X = sp.csr_array((rng.random((n, len(WORDS))) < likely[topic]).astype(float))
    given = {"label_names": ["Football", "Voting", "Apples"], "feature_names": WORDS} | changes
    return LabelData.from_arrays(X, topic[:, None] == np.arange(3), **given)


def told(campaign, truth, n):
    campaign.tell(Answerer(truth).answers(campaign.ask(n)))
    return campaign


def test_names_are_believed_before_the_first_answer_and_after():
    truth = pool()
    campaign = Campaign(truth.hide(), model=BinaryRelevance(), strategy=lw.Random())
    first = campaign.believe()
    Y = truth.Y.toarray()
    assert first.probabilities()[Y].mean() > first.probabilities()[~Y].mean() + 0.1
    assert_array_equal(campaign.believe(truth.X).probabilities(), first.probabilities())
    assert campaign.ask(2)[0].reason == "cold start"
    assert isinstance(told(campaign, truth, 10).fitted(), lw.HintedModel)


@pytest.mark.parametrize("options", [{"hints": None}, {"hints": False}, {"hints": []}])
def test_hints_can_be_switched_off(options):
    truth = pool()
    campaign = Campaign(truth.hide(), model=BinaryRelevance(), strategy=lw.Random(), **options)
    assert isinstance(campaign.believe(), IgnorantPosterior)
    assert isinstance(told(campaign, truth, 10).fitted(), BinaryRelevance)


@pytest.mark.parametrize("changes", [{"label_names": ["Class1", "Class2", "786.2"]}, {"feature_names": None}])
def test_names_that_say_nothing_change_nothing(changes):
    truth = pool(**changes)
    campaign = told(Campaign(truth.hide(), model=BinaryRelevance(), strategy=lw.Random()), truth, 10)
    assert isinstance(campaign.fitted(), BinaryRelevance)


def test_hints_by_name_and_unknown_ones():
    truth = pool()
    one = Campaign(truth.hide(), hints=["lexical"]).believe().probabilities()
    both = Campaign(truth.hide(), hints=["lexical", "semantics"]).believe().probabilities()
    assert not np.allclose(one, both)
    assert_array_equal(both, Campaign(truth.hide()).believe().probabilities())
    with pytest.raises(ValueError, match="got 'magic'"):
        Campaign(truth.hide(), hints=["magic"])


def test_a_pool_in_shards_is_believed_alike():
    truth = pool()
    sharded = replace(truth, X=ShardedFeatures.of(truth.X[:30], truth.X[30:]))
    model = lw.LabelGP("rbf+linear")
    memory, shards = (Campaign(each.hide(), model=model, strategy=lw.Uncertainty()) for each in (truth, sharded))
    assert_allclose(shards.believe().probabilities(), memory.believe().probabilities(), atol=1e-8)
    for campaign in (memory, shards):
        campaign.tell(Answerer(truth).answers([lw.Question(item, truth.label_names) for item in truth.item_ids[:12]]))
    assert_allclose(shards.believe().probabilities(), memory.believe().probabilities(), atol=1e-6)
    assert shards.ask(3) == memory.ask(3)


def test_a_label_added_with_a_description_is_believed_at_once():
    truth = pool()
    campaign = told(Campaign(truth.hide(), model=BinaryRelevance(), strategy=lw.Random()), truth, 20)
    campaign.add_label(Label("gardens", "apples and trees"))
    p = campaign.believe().probabilities()[:, 3]
    garden = truth.Y.toarray()[:, 2]
    assert p[garden].mean() > p[~garden].mean() + 0.05


@pytest.mark.parametrize("strategy", ["items", "pairs"])
def test_a_campaign_rebuilt_from_its_answers_asks_the_same(strategy):
    truth = pool()
    campaign = Campaign(truth.hide(), model=lw.LabelGP("rbf+linear"), strategy=strategy, start=5)
    for _ in range(4):
        told(campaign, truth, 4)
    again = Campaign(truth.hide(), model=lw.LabelGP("rbf+linear"), strategy=strategy, start=5, answers=campaign.answers)
    assert again.ask(5) == campaign.ask(5)
    assert_allclose(again.believe().probabilities(), campaign.believe().probabilities(), atol=1e-10)
    assert campaign.status().spent == again.status().spent
