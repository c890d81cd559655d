"""Child implies parent: random trees against loops, in data, answers, probabilities, sets and draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise import Answer, BinaryRelevance, Campaign, Label, LabelData, Random
from labelwise.records.label_tree import LabelTree

RUNS = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def trees(draw, most=8):
    """Parents of q labels: each label's parent comes before it in a random order."""
    q = draw(st.integers(1, most))
    order = draw(st.permutations(range(q)))
    parents = np.full(q, -1)
    for place, label in enumerate(order):
        above = draw(st.integers(-1, place - 1))
        parents[label] = -1 if above < 0 else order[above]
    return parents


def ancestors(parents, label):
    found = []
    while parents[label] >= 0:
        label = int(parents[label])
        found.append(label)
    return found


def closed(parents, yes, no):
    """By loops: a yes goes up, a no goes down unless a yes is there."""
    yes = {*yes, *(above for label in yes for above in ancestors(parents, label))}
    no = {label for label in no if label not in yes}
    below = {label for label in range(len(parents)) if any(above in no for above in ancestors(parents, label))}
    return yes, (no | below) - yes


def labels_of(parents):
    return [Label(f"l{j}", parent=f"l{parents[j]}" if parents[j] >= 0 else "") for j in range(len(parents))]


def is_kept(parents, sets):
    return all(sets[:, parents[j]][sets[:, j]].all() for j in range(len(parents)) if parents[j] >= 0)


@RUNS
@given(trees(), st.data())
def test_what_follows_is_what_loops_find(parents, data):
    q, tree = len(parents), LabelTree.of(labels_of(parents))
    assert tree.parents.tolist() == list(parents)
    assert [len(ancestors(parents, j)) for j in range(q)] == tree.depth.tolist()
    said = data.draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=q, max_size=q))
    yes, no = np.array([each == 1 for each in said]), np.array([each == 0 for each in said])
    expected = closed(parents, set(np.flatnonzero(yes)), set(np.flatnonzero(no)))
    found = tree.close(yes, no)
    assert [set(np.flatnonzero(each).tolist()) for each in found] == [set(map(int, each)) for each in expected]
    kept = LabelData.from_arrays(
        np.zeros((1, 1)), yes[None], observed=(yes | no)[None], labels=labels_of(parents), implies_parent=True
    )
    assert set(kept.Y.indices.tolist()) == expected[0]
    assert set(kept.observed.indices.tolist()) == expected[0] | expected[1]
    p = np.array(data.draw(st.lists(st.floats(0, 1), min_size=q, max_size=q)))
    raised = tree.probabilities(p[None])[0]
    for j in range(q):
        below = [k for k in range(q) if j in ancestors(parents, k)]
        assert raised[j] == max([p[j], *p[below]])


@RUNS
@given(trees(6), st.integers(0, 1000))
def test_campaigns_keep_to_it(parents, seed):
    q, n = len(parents), 24
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    truth = LabelTree.of(labels_of(parents)).upwards(X @ rng.normal(size=(3, q)) > 0.8)
    data = LabelData.from_arrays(X, labels=labels_of(parents), implies_parent=True)
    campaign = Campaign(data, model=BinaryRelevance(), strategy=Random("pairs"), random_state=seed)
    for _ in range(12):
        for question in campaign.ask(1):
            (name,) = question.labels
            row = int(question.item)
            campaign.tell(Answer(question.item, {name: bool(truth[row, int(name[1:])])}))
    known = campaign.labelled()
    rows, columns = known.observed_mask().nonzero()
    assert (known.Y.toarray()[rows, columns] == truth[rows, columns]).all()
    for row in range(n):
        yes = set(known.Y[[row]].indices.tolist())
        no = set(known.observed[[row]].indices.tolist()) - yes
        assert closed(parents, yes, no) == (yes, no), "everything that follows is known, and is not asked again"
    p = campaign.believe().probabilities()
    assert all((p[:, parents[j]] >= p[:, j] - 1e-12).all() for j in range(q) if parents[j] >= 0)
    assert is_kept(parents, campaign.predict()) and is_kept(parents, campaign.predict(X + 0.1))
    assert is_kept(parents, campaign.predict(every_label=True))
    again = Campaign(
        data, model=BinaryRelevance(), strategy=Random("pairs"), random_state=seed, answers=campaign.answers
    )
    assert np.allclose(again.believe().probabilities(), p)


@pytest.fixture
def campaign():
    labels = ["science", "science/physics", {"name": "optics", "parent": "science/physics"}, "art"]
    data = LabelData.from_arrays(np.eye(4), labels=labels, implies_parent=True)
    return Campaign(data, model=BinaryRelevance(), strategy=Random())


def known(campaign, item):
    data = campaign.labelled()
    row = [*data.item_ids].index(item)
    Y, observed = data.Y.toarray()[row], data.observed.toarray()[row]
    return {name: bool(Y[j]) for j, name in enumerate(data.label_names) if observed[j]}


def test_a_yes_goes_up_and_a_no_goes_down(campaign):
    campaign.tell(Answer("0", {"optics": True}))
    assert known(campaign, "0") == {"science": True, "science/physics": True, "optics": True}
    campaign.tell(Answer("1", {"science": False}))
    assert known(campaign, "1") == {"science": False, "science/physics": False, "optics": False}
    campaign.tell(Answer("2", {"optics": False}))
    assert known(campaign, "2") == {"optics": False}


def test_of_picked_labels_a_yes_wins_and_said_contradictions_are_refused(campaign):
    names = ("science", "science/physics", "optics", "art")
    campaign.tell(Answer("0", {name: name == "optics" for name in names}))
    assert known(campaign, "0") == {"science": True, "science/physics": True, "optics": True, "art": False}
    with pytest.raises(ValueError, match="says no to 'science' and yes to a label below it"):
        campaign.tell(Answer("1", {"science": False, "optics": True}, reason="verify"))
    assert known(campaign, "1") == {}
    campaign.tell(Answer("1", {"science": False}))
    with pytest.raises(
        ValueError, match=r"'science' .* was answered False before and now True \(it follows from 'optics'"
    ):
        campaign.tell(Answer("1", {"optics": True}))
    campaign.tell(Answer("1", {"optics": True}, correction=True))
    assert known(campaign, "1") == {"science": True, "science/physics": True, "optics": True}


def test_it_must_be_said_and_parents_that_are_no_labels_imply_nothing():
    labels = [{"name": "physics", "parent": "science"}, "art/painting"]
    quiet = LabelData.from_arrays(np.eye(2), [[1, 0], [0, 1]], labels=["a", "a/b"])
    assert quiet.tree() is None and quiet.Y.toarray().tolist() == [[1, 0], [0, 1]]
    assert LabelData.from_arrays(np.eye(2), labels=labels, implies_parent=True).tree() is None
    told = LabelData.from_arrays(np.eye(2), [[1, 0], [0, 1]], labels=["a", "a/b"], implies_parent=True)
    assert told.Y.toarray().tolist() == [[1, 0], [1, 1]]
    assert told.with_label("a/b/c").tree().parents.tolist() == [-1, 0, 1]


def test_a_circle_is_refused():
    labels = [{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]
    with pytest.raises(ValueError, match="'a' stands above itself"):
        LabelData.from_arrays(np.eye(2), labels=labels, implies_parent=True)
    assert LabelData.from_arrays(np.eye(2), labels=labels).n_labels == 2


def test_draws_and_conditioning_of_raised_beliefs_follow_the_probabilities(campaign):
    campaign.tell([Answer("0", {"optics": True, "art": False}), Answer("1", {"science": False, "art": True})])
    beliefs = campaign.believe()
    p = beliefs.probabilities()
    draws = beliefs.sample_probabilities(4000, np.random.default_rng(0)).mean(axis=0)
    assert np.abs(draws - p).max() < 0.05
    values, mask = np.zeros((4, 4), dtype=bool), np.zeros((4, 4), dtype=bool)
    values[2, 3] = mask[2, 3] = True
    told = beliefs.given(values, mask).probabilities()
    assert told[2, 3] == 1 and (told[:, 0] >= told[:, 1] - 1e-12).all()
    assert np.allclose(beliefs.rows([1, 2]).probabilities(), p[[1, 2]])
