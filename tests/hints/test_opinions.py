"""Opinions of others: what they are kept as, that they only help, that they are judged blind, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.stats import beta

from labelwise import Answer, BinaryRelevance, Campaign, LabelData, LabelGP, Opinions, Random
from labelwise.campaign.estimates import share_of_items
from labelwise.data import FormatError, read_opinions
from labelwise.hints import learn_hints

NAMES = ["joy", "fear", "anger"]


def pool(n=200, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    Y = X @ rng.normal(size=(8, 3)) + rng.normal(size=(n, 3)) > 1.5
    X = sp.csr_array(np.abs(X)) if sparse else X
    return LabelData.from_arrays(X, label_names=NAMES, item_ids=[f"d{i}" for i in range(n)]), Y


def flipped(Y, rng, precision=0.6, recall=0.7):
    """A source that says yes to so many of the labels that are there, and so often rightly."""
    rate = Y.mean(axis=0)
    wrong = recall * rate * (1 - precision) / precision / (1 - rate)
    return np.where(Y, rng.random(Y.shape) < recall, rng.random(Y.shape) < wrong)


def answered(campaign, Y, n):
    for _ in range(n):
        (question,) = campaign.ask(1)
        row = campaign.data.item_ids.index(question.item)
        campaign.tell(Answer.to(question, {NAMES[j] for j in np.flatnonzero(Y[row])}))
    return campaign


@pytest.mark.parametrize("sparse", [False, True])
def test_an_array_a_mapping_and_label_sets_are_kept_as_they_were_said(sparse):
    data, _ = pool(4, sparse=sparse)
    scores = np.array([[1, 0, np.nan], [0.5, 0.25, 1], [np.nan] * 3, [0, 0, 0]])
    by_name = {"d0": {"joy": True, "fear": 0}, "d1": {"joy": 0.5, "fear": 0.25, "anger": 1}, "d3": []}
    for said in (scores, sp.csr_array(np.nan_to_num(scores, nan=0.5)), by_name, Opinions("gpt", by_name)):
        kept = data.with_opinions("gpt", said)
        expected = np.array([[1, -1, 0], [0, -0.5, 1], [0, 0, 0], [-1, -1, -1]])
        assert_allclose(kept.opinions("gpt").toarray(), expected)
        assert kept.opinion_names == ("gpt",) and sp.issparse(kept.X) == sparse
        without = kept.without_opinions()
        assert without.opinion_names == () and (abs(without.X - data.X)).sum() == 0


def test_opinions_of_the_same_name_are_replaced_and_labels_added_later_are_open():
    data, Y = pool(30)
    first = data.with_opinions("gpt", Y.astype(float)).with_opinions("rules", 1.0 - Y)
    again = first.with_opinions("gpt", 1.0 - Y).with_label("hope")
    assert again.opinion_names == ("rules", "gpt")
    assert_allclose(again.opinions("gpt").toarray(), np.hstack([1 - 2.0 * Y, np.zeros((30, 1))]))
    assert_allclose(again.opinions("rules").toarray()[:, :3], 1 - 2.0 * Y)
    hints = learn_hints(again, ["opinions"])
    assert hints.says().tolist() == [[True, True, True, False]] * 2


def test_scores_are_standard_over_what_was_said_and_zero_elsewhere():
    data, _ = pool(50)
    rng = np.random.default_rng(1)
    scores = np.where(rng.random((50, 3)) < 0.5, rng.random((50, 3)), np.nan)
    kept = data.with_opinions("gpt", scores)
    z = learn_hints(kept, ["opinions"])(kept.X)[0]
    expected = (scores - np.nanmean(scores, axis=0)) / np.nanstd(scores, axis=0)
    assert_allclose(z, np.nan_to_num(expected), atol=1e-9)


@pytest.mark.parametrize("model", [LabelGP(), BinaryRelevance()])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_source_that_says_nothing_changes_nothing(model, sparse):
    data, Y = pool(80, sparse=sparse)
    silent = Opinions("silent", {"d3": {"joy": 0.5}, "d4": {}})
    beliefs = [
        answered(Campaign(data, model=model, strategy=Random(), opinions=given), Y, 20).believe().probabilities()
        for given in ([], [silent])
    ]
    assert_allclose(beliefs[1], beliefs[0], atol=1e-9)


def test_a_good_source_helps_before_and_after_answers_and_a_reversed_one_is_turned_round():
    data, Y = pool(400)
    rng = np.random.default_rng(2)
    said = flipped(Y, rng, precision=0.9, recall=0.9).astype(float)

    def right(n, **given):
        campaign = answered(Campaign(data, model=LabelGP(), strategy=Random(), random_state=1, **given), Y, n)
        p = campaign.believe().probabilities()
        return float(np.mean((p > np.median(p, axis=0)) == Y)), float(np.mean(np.log(np.where(Y, p, 1 - p))))

    good, bad = [Opinions.of("gpt", S, data.item_ids, data.label_names) for S in (said, 1 - said)]
    assert right(0, opinions=[good])[1] > right(0)[1]
    assert right(30, opinions=[good])[1] > right(30)[1] + 0.05
    assert right(60, opinions=[bad])[1] > right(60)[1] + 0.05, "the answers turn it round"


def test_suggestions_name_their_source_and_opinions_are_never_answers():
    data, Y = pool(60)
    campaign = Campaign(
        data, model=LabelGP(), strategy=Random(), opinions=[Opinions("old model", {"d0": ["fear"], "d1": []})]
    )
    first = {each.label: each for each in campaign.suggest(["d0"])[0]}["fear"]
    assert first.source == "old model" and str(first).endswith("by old model")
    assert campaign.labelled().n_observed == 0 and campaign.spent().answers == 0
    answered(campaign, Y, 12)
    assert campaign.fitted().hints(campaign.data.X).shape == (1, 60, 3)
    assert campaign.add_label("hope").believe().probabilities().shape == (60, 4)


def test_a_source_is_judged_by_the_random_share_alone():
    data, Y = pool(100)
    said = flipped(Y, np.random.default_rng(3))
    campaign = Campaign(
        data,
        model=BinaryRelevance(),
        strategy=Random(),
        opinions=[
            Opinions("gpt", {f"d{i}": {name: float(said[i, j]) for j, name in enumerate(NAMES)} for i in range(80)})
        ],
    )
    assert campaign.opinion_quality()[0].precision is None
    by_chance = list(range(60, 100))
    reason = {True: "control", False: "start"}
    campaign.tell(
        [Answer(f"d{i}", dict(zip(NAMES, Y[i].tolist(), strict=True)), reason[i in by_chance]) for i in range(100)]
    )
    (found,) = campaign.opinion_quality()
    judged = slice(60, 80)
    hits = (said & Y)[judged].sum()
    assert (found.items, found.said_yes, found.present) == (20, said[judged].sum(), Y[judged].sum())
    assert found.coverage == 0.8
    assert found.precision.value == pytest.approx(hits / said[judged].sum(), abs=1e-4)
    assert found.recall.value == pytest.approx(hits / Y[judged].sum(), abs=1e-4)
    assert found.precision.low < found.precision.value < found.precision.high


def test_the_interval_is_that_of_independent_labels_and_wider_where_labels_of_an_item_go_together():
    rng = np.random.default_rng(0)
    one_each = rng.random(50) < 0.7
    found = share_of_items(one_each.astype(int), np.ones(50, dtype=int))
    low, high = beta.ppf([0.05, 0.95], one_each.sum() + 0.5, 50.5 - one_each.sum())
    assert found.low == pytest.approx(low, abs=0.01) and found.high == pytest.approx(high, abs=0.01)
    together = share_of_items(4 * one_each, np.full(50, 4))
    assert together.low == pytest.approx(low, abs=0.01) and together.high == pytest.approx(high, abs=0.01)
    assert share_of_items(np.zeros(3), np.zeros(3)) is None
    assert share_of_items(np.array([2]), np.array([2])).high == 1.0


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"d0": {"joy": 1.2}}, "lies in \\[0, 1\\], got 1.2"),
        ({"d0": {"joy": -0.1}}, "lies in \\[0, 1\\], got -0.1"),
        ({"d0": {"joy": float("inf")}}, "lies in \\[0, 1\\], got inf"),
        ({"d0": {"joy": "yes"}}, "a score is a number, got 'yes'"),
        ({"d0": {"joi": 1}}, "the label 'joi', which is not there; did you mean 'joy'"),
        ({"dO": ["joy"], "zz": ["joy"]}, "the item 'dO' and 1 more, which is not there"),
        ({"d0": "joy"}, "must be a list of labels or a mapping, got 'joy'"),
        ({"d0": [3]}, "must list names of labels, got 3"),
        (np.zeros((3, 3)), "shape \\(3, 3\\), expected \\(items, labels\\) = \\(10, 3\\)"),
    ],
)
def test_what_cannot_be_an_opinion_is_refused(wrong, error):
    data, _ = pool(10)
    with pytest.raises((ValueError, TypeError), match=error):
        data.with_opinions("gpt", wrong)


@pytest.mark.parametrize("name", ["", " gpt", "model", "name", "base rate", "words", 3, "a\nb"])
def test_names_that_would_mislead_are_refused(name):
    with pytest.raises(ValueError, match=r"name of opinions|need a name"):
        Opinions(name, {})


def test_none_and_nan_say_nothing_and_other_things_are_refused():
    data, _ = pool(10)
    kept = data.with_opinions("gpt", {"d0": {"joy": None, "fear": float("nan"), "anger": np.float32(1)}})
    assert kept.opinions("gpt").nnz == 1
    with pytest.raises(TypeError, match="must be a list of Opinions, got 'gpt'"):
        Campaign(data, opinions=["gpt"])
    with pytest.raises(TypeError, match="must map item ids"):
        Opinions("gpt", ["joy"])


FILES = {
    "a.jsonl": '{"item": "d0", "labels": ["joy", "fear"]}\n{"item": "d1", "scores": {"joy": 0.25, "anger": null}}\n',
    "a.json": '[{"item": "d0", "labels": ["joy", "fear"]}, {"item": "d1", "scores": {"joy": 0.25}}]',
    "b.json": '{"d0": ["joy", "fear"], "d1": {"joy": 0.25}}',
    "a.csv": "item,joy,fear,anger\nd0,1,1,0\nd1,.25,,\n",
    "b.csv": "item,label,score\nd0,joy,1\nd0,fear,1\nd0,anger,0\nd1,joy,0.25\n",
}


@pytest.mark.parametrize("file", FILES)
def test_files_say_the_same_in_every_format(tmp_path, file):
    path = tmp_path / file
    path.write_text(FILES[file], encoding="utf-8")
    data, _ = pool(3)
    kept = data.with_opinions("gpt", read_opinions(path, "gpt"))
    assert_allclose(kept.opinions("gpt").toarray(), [[1, 1, -1], [-0.5, 0, 0], [0, 0, 0]])


def test_a_csv_may_list_labels(tmp_path):
    path = tmp_path / "sets.csv"
    path.write_text("item,labels\nd0,joy; fear\nd1,\n", encoding="utf-8")
    assert read_opinions(path, "rules").scores == {"d0": ("joy", "fear"), "d1": ()}


@pytest.mark.parametrize(
    ("file", "text", "error"),
    [
        ("a.txt", "d0 joy", "from a .jsonl, .json or .csv file"),
        ("a.json", "3", "expected a list or an object"),
        ("a.json", "{", "no opinions can be read"),
        ("a.json", '[{"item": "d0"}]', "needs either 'labels' or 'scores'"),
        ("a.json", '[{"labels": []}]', "expected an object with 'item'"),
        ("a.jsonl", '{"item": "d0", "labels": []}\n{"item": "d0", "labels": []}', "'d0' is there twice, at 1 and 2"),
        ("a.jsonl", '{"item": "d0", "scores": {"joy": 7}}', "lies in \\[0, 1\\], got 7.0"),
        ("a.csv", "item,joy\nd0,high\n", "line 2: found 'high' for the label 'joy'"),
        ("a.csv", "item,label,score\nd0,joy,1\nd0,joy,0\n", "line 3: label 'joy' of item 'd0' has two scores"),
        ("a.csv", "id,joy\nd0,1\n", "no 'item'"),
    ],
)
def test_files_that_say_nothing_clear_are_refused_with_their_place(tmp_path, file, text, error):
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=error):
        read_opinions(path, "gpt")


def test_a_json_number_that_is_nan_says_nothing(tmp_path):
    path = tmp_path / "nan.json"
    path.write_text(json.dumps({"d0": {"joy": float("nan")}}), encoding="utf-8")
    assert read_opinions(path, "gpt").scores == {"d0": {}}
