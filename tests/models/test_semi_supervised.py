"""A model on features that know the pool."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from labelwise import BinaryRelevance, Campaign, HintedModel, LabelData, LabelGP, Random, SemiSupervised
from labelwise.numerics.metrics import macro_average_precision
from labelwise.studies import Answerer
from topic_words import words


def test_items_without_labels_teach_it():
    X, topic = words(n=900, topics=12, rate=0.1)  # three words a text
    Y = topic[:, None] == np.arange(12)
    few, rest = slice(0, 40), slice(40, None)
    alone = LabelGP(random_state=0).fit(X[few], Y[few])
    helped = SemiSupervised(random_state=0).learn_pool(X).fit(X[few], Y[few])
    a, b = (macro_average_precision(model.predict_proba(X[rest]), Y[rest]).value for model in (alone, helped))
    assert b > a + 0.02, (a, b)


def test_without_a_pool_its_own_rows_are_the_pool():
    X, topic = words()
    Y = topic[:, None] == np.arange(8)
    own, shown = SemiSupervised(random_state=0).fit(X, Y), SemiSupervised(random_state=0).learn_pool(X).fit(X, Y)
    np.testing.assert_array_equal(own.predict_proba(X[:20]), shown.predict_proba(X[:20]))


def test_dense_features_are_handed_on():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    Y = X[:, :2] > 0
    model = SemiSupervised(LabelGP(random_state=0)).learn_pool(X).fit(X, Y)
    assert model.pool == () and model.features_ is None
    np.testing.assert_array_equal(model.predict_proba(X), LabelGP(random_state=0).fit(X, Y).predict_proba(X))


def test_a_model_that_cannot_be_extended_is_not():
    assert not hasattr(SemiSupervised(BinaryRelevance()), "partial_fit") and hasattr(SemiSupervised(), "partial_fit")


def test_settled_it_searches_for_nothing_and_believes_the_same():
    X, topic = words()
    Y = topic[:, None] == np.arange(8)
    model = SemiSupervised(random_state=0).learn_pool(X).fit(X[:60], Y[:60])
    again = model.settled().fit(X[:60], Y[:60])
    assert again.features_ is model.features_ and again.model.noise_ratio == model.model_.noise_ratio_
    np.testing.assert_allclose(again.predict_proba(X[60:90]), model.predict_proba(X[60:90]), atol=1e-10)
    assert SemiSupervised(BinaryRelevance()).fit(X[:60], Y[:60]).settled().model.classifier is None


def test_clones_keep_what_was_learnt_of_the_pool():
    X, _ = words()
    model = SemiSupervised().learn_pool(X)
    assert clone(model).pool[0] is model.pool[0]


@pytest.mark.parametrize("grow", [False, True])
def test_a_campaign_shows_the_pool_once(monkeypatch, grow):
    seen = []
    learn = SemiSupervised.learn_pool
    monkeypatch.setattr(SemiSupervised, "learn_pool", lambda self, X: seen.append(X.shape[0]) or learn(self, X))
    X, topic = words()
    pool = LabelData.from_arrays(X, topic[:, None] == np.arange(8))
    campaign, answerer = Campaign(pool.hide(), model=SemiSupervised(), strategy=Random()), Answerer(pool)
    for _ in range(3):
        campaign.tell(answerer.answers(campaign.ask(4)))
        campaign.believe()
    assert seen == [400]
    if grow:
        more, _ = words(n=30, seed=5)
        ids = [f"new{i}" for i in range(30)]
        campaign.add_items(LabelData.from_arrays(more, label_names=pool.label_names, item_ids=ids))
        campaign.believe()
        assert seen == [400, 430]


def test_leaving_one_out_is_that_of_its_model_and_goes_on_in_front_of_hints():
    X, topic = words(n=300)
    Y = topic[:, None] == np.arange(8)
    model = SemiSupervised(random_state=0).learn_pool(X).fit(X[:60], Y[:60])
    np.testing.assert_array_equal(model.leave_one_out_log_odds(), model.model_.leave_one_out_log_odds())
    assert model.leave_one_out_log_odds().shape == Y[:60].shape
    assert not hasattr(SemiSupervised(BinaryRelevance()).fit(X[:60], Y[:60]), "leave_one_out_log_odds")
    assert not hasattr(SemiSupervised(), "leave_one_out_log_odds")


def test_rows_that_its_features_cannot_tell_apart_do_not_confuse_hints():
    """A row and its double have the same features of unit length: half answers about both become one row there."""
    X, topic = words(n=300)
    Y = topic[:, None] == np.arange(8)
    rows = sp.csr_array(sp.vstack([X[:30], 2.0 * X[:30]]))
    observed = np.zeros((60, Y.shape[1]), dtype=bool)
    observed[:30, 0::2], observed[30:, 1::2] = True, True
    model = SemiSupervised(random_state=0).learn_pool(X)
    hinted = HintedModel(model, lambda items: np.zeros((1, items.shape[0], Y.shape[1])))
    p = hinted.fit(rows, np.vstack([Y[:30], Y[:30]]), observed=observed).posterior(X[60:70]).probabilities()
    assert len(hinted.model_.leave_one_out_log_odds()) == 30
    assert np.isfinite(p).all()
