"""The default decision: the best of all sets, each item by itself, the same in library, command and page."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import labelwise as lw
from labelwise import LabelData, decisions
from labelwise.campaign.defaults import default_decision
from labelwise.labelling import Project
from labelwise.labelling.items.browse import Browser, ItemSearch
from labelwise.posterior import MarginalPosterior
from labelwise.studies import Answerer

Q = 7
SETS = np.array(list(itertools.product([False, True], repeat=Q)))  # (2^q, q)


def expected_f1(p):
    """(2^q,) of every label set there is: F1 with every truth, by its probability; a right empty set counts half."""
    hits = SETS.astype(float) @ SETS.T  # (sets, truths)
    total = SETS.sum(1)[:, None] + SETS.sum(1)
    f1 = np.where(total > 0, 2 * hits / np.maximum(total, 1), 0.5)
    return f1 @ np.where(SETS, p, 1 - p).prod(1)


@pytest.mark.parametrize("power", [1, 3, 8])  # probabilities from middling to small
def test_no_set_that_can_be_believed_has_a_higher_expected_f1(power):
    p = np.random.default_rng(power).random((60, Q)) ** power
    sets = default_decision().decide(MarginalPosterior(p))
    sizes = SETS.sum(1)
    for row, chosen in zip(p, sets, strict=True):
        most = max(1, np.floor(row.sum() + 2 * np.sqrt((row * (1 - row)).sum())))
        score = np.where(sizes <= most, expected_f1(row), -1.0)
        assert score[(chosen == SETS).all(1)] == pytest.approx(score.max(), rel=1e-9)
    assert 0 < sets.sum() < sets.size


def test_small_probabilities_are_predicted_and_hopeless_ones_are_not():
    beliefs = MarginalPosterior(np.array([[0.4, 0.35, 0.01], [0.02, 0.01, 0.01]]))
    assert default_decision().decide(beliefs).tolist() == [[True, True, False], [False, False, False]]
    assert not lw.Threshold().decide(beliefs).any()


def pool(n_labels=5, n_items=80):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_items, 4))
    Y = X @ rng.normal(size=(4, n_labels)) + rng.normal(size=(n_items, n_labels)) > 1.5
    return LabelData.from_arrays(X, Y, item_ids=[f"item {row}" for row in range(n_items)])


@pytest.mark.parametrize("model", [lw.BinaryRelevance(), lw.LabelGP(random_state=0)])
def test_models_predict_by_it_and_an_item_alone_as_in_the_batch(model):
    data = pool()
    model.fit(data.X[:40], data.Y[:40])
    sets = model.predict(data.X[40:])
    assert_array_equal(sets, decisions.BY_NAME[decisions.DEFAULT]().decide(model.posterior(data.X[40:])))
    assert np.any(sets != (model.predict_proba(data.X[40:]) > 0.5))
    assert_array_equal(np.vstack([model.predict(row[None]) for row in data.X[40:]]), sets)


def test_library_command_and_page_give_the_same_sets(tmp_path):
    data = pool()
    settings = {"model": "binary_relevance", "strategy": "random", "control": 0.0}
    campaign, answerer = lw.Campaign(data.hide(), **settings), Answerer(data)
    with Project.create(tmp_path / "project.db", data.hide(), **settings) as project:
        answers = answerer.answers(campaign.ask(30))
        campaign.tell(answers)
        project.tell(answers)
        predicted = project.predict()
        sets = campaign.predict()
        assert np.any(sets != (campaign.believe().probabilities() > 0.5))
        assert_array_equal(predicted.sets, sets)
        shown = {item.name: item for page in (1, 2, 3, 4) for item in Browser(project).find(ItemSearch(), page).items}
        assert len(shown) == data.n_items
        for row, name in enumerate(data.item_ids):
            on_page = {*shown[name].present, *(label for label, _ in shown[name].expected)}
            assert on_page == {data.label_names[column] for column in np.flatnonzero(sets[row])}
        standing = Browser(project).standing_of(data.item_ids)
        for row, name in enumerate(data.item_ids):
            labels, _ = standing[name]
            assert [each.predicted if each.known is None else each.known for each in labels] == sets[row].tolist()


@pytest.mark.parametrize("n_answered", [1, 2, 3, 5, 10])
def test_a_young_model_of_many_labels_predicts_few(n_answered):
    data = pool(n_labels=300)
    Y = data.Y.toarray() & (np.random.default_rng(1).random(data.Y.shape) < 0.05)
    model = lw.BinaryRelevance().fit(data.X[:n_answered], Y[:n_answered])
    assert model.predict(data.X).sum(axis=1).max() <= 25  # an item has 1.7 on average
    campaign = lw.Campaign(LabelData.from_arrays(data.X, Y, item_ids=data.item_ids).hide(), strategy=lw.Random())
    campaign.tell(
        [
            lw.Answer(data.item_ids[i], dict(zip(data.label_names, Y[i].tolist(), strict=True)))
            for i in range(n_answered)
        ]
    )
    assert not campaign.predict()[:, ~Y[:n_answered].any(axis=0)].any()
