"""Why labels are suggested: words against loops over items and words, parts against the scores they add up to."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from labelwise import Answer, BinaryRelevance, Campaign, LabelData
from labelwise.hints import learn_hints
from labelwise.hints.reasons import (
    MIN_LOG_ODDS,
    MOST_LABELS,
    MOST_REASONS,
    MOST_WORDS,
    SHRINKAGE,
    telling_words,
    word_weights,
)


def problem(n=30, d=25, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.7)
    return X, rng.random((n, q)), [f"word{j}" for j in range(d)]


def test_a_word_says_what_the_items_with_it_are_believed_to_have():
    X, p, _ = problem()
    odds = np.log(p / (1 - p))
    for word in range(X.shape[1]):
        rows = [i for i in range(len(X)) if X[i, word] > 0]
        by_hand = sum(odds[i] - odds.mean(0) for i in rows) / (len(rows) + SHRINKAGE)
        assert_allclose(word_weights(sp.csr_array(X), p)[word], by_hand, atol=1e-9)


def test_the_strongest_words_of_an_item_are_kept():
    X, p, vocabulary = problem()
    weights = word_weights(sp.csr_array(X), p)
    for row, told in zip(X, telling_words(sp.csr_array(X), weights, vocabulary), strict=True):
        said = {(w, l): row[w] * weights[w, l] for w in np.flatnonzero(row) for l in range(p.shape[1])}
        strength = {w: max(abs(said[w, l]) for l in range(p.shape[1])) for w in np.flatnonzero(row)}
        words = sorted(strength, key=strength.get, reverse=True)[:MOST_WORDS]
        expected = {}
        for w in words:
            labels = sorted(range(p.shape[1]), key=lambda l, w=w: -abs(said[w, l]))[:MOST_LABELS]
            expected |= {(vocabulary[w], l): said[w, l] for l in labels if abs(round(said[w, l], 3)) > MIN_LOG_ODDS}
        found = {(word, label): value for word, label, value in told}
        assert found.keys() == expected.keys()
        assert_allclose([found[key] for key in expected], list(expected.values()), atol=5.1e-4)


def test_certain_beliefs_and_empty_texts_are_no_trouble():
    X = sp.csr_array(np.array([[1.0, 0.0], [0.0, 0.0]]))
    weights = word_weights(X, np.array([[1.0], [0.0]]))
    assert np.isfinite(weights).all()
    assert telling_words(X, weights, ["a", "b"])[1] == []


def documents(n=80, seed=0, values=None):
    """Items about sports or politics, in words; labels "Football" and "Voting", and one that is a code."""
    words = ["football", "goal", "match", "vote", "party", "minister", "tree"]
    rng = np.random.default_rng(seed)
    is_sport = rng.random(n) < 0.5
    likely = np.where(is_sport[:, None], [0.4, 0.6, 0.6, 0, 0, 0, 0.3], [0, 0, 0, 0.4, 0.6, 0.6, 0.3])
    X = (rng.random((n, len(words))) < likely).astype(float)
    X[X.sum(axis=1) == 0, 6] = 1
    if values is not None:
        X = X * values
    data = LabelData.from_arrays(sp.csr_array(X), label_names=["Football", "Voting", "b47"], feature_names=words)
    return data, is_sport


@pytest.mark.parametrize("values", [None, 0.37])  # counts, or weights that are there already
@pytest.mark.parametrize("name", ["lexical", "semantics"])
def test_the_parts_of_words_add_up_to_the_score(name, values):
    data, _ = documents(values=values)
    (hint,) = learn_hints(data, [name]).fitted
    rows, labels = np.repeat(np.arange(data.n_items), 3), np.tile(np.arange(3), data.n_items)
    parts = hint.parts(data.X[rows], labels)
    assert parts.shape == (rows.size, data.n_features)
    assert_allclose(parts.sum(axis=1), hint.scores(data.X)[rows, labels], atol=1e-9)
    assert not (parts.toarray() != 0)[data.X[rows].toarray() == 0].any()  # only words of the item


def test_before_the_first_answer_names_suggest_with_the_words_that_match():
    data, _ = documents()
    campaign = Campaign(data)
    has_word = data.X.toarray()[:, 0] > 0
    for row in np.flatnonzero(has_word)[:10].tolist():
        (suggested,) = campaign.suggest([data.item_ids[row]])
        first = suggested[0]
        assert (first.label, first.source, first.words[0]) == ("Football", "name", "football")
        assert first.probability == pytest.approx(campaign.believe().probabilities()[row, 0])
        assert set(first.words) <= {"football", "goal", "match", "tree"}
        assert len(first.words) <= MOST_REASONS


def test_answers_take_over_as_the_source():
    """A code says nothing: what is believed of it comes from the answers, by the words that go with it."""
    data, is_sport = documents(200)
    campaign = Campaign(data, model=BinaryRelevance())
    campaign.tell([Answer(str(i), {"b47": bool(is_sport[i]), "Football": False, "Voting": False}) for i in range(60)])
    row = next(i for i in range(60, 200) if is_sport[i] and data.X.toarray()[i, 1:3].all())
    suggested = {each.label: each for each in campaign.suggest([str(row)], least=0.0)[0]}
    assert suggested["b47"].source == "model"
    assert set(suggested["b47"].words[:2]) <= {"goal", "match", "football"}
    assert "by the answers: " in str(suggested["b47"])


def test_without_hints_or_words_there_is_still_a_source():
    rng = np.random.default_rng(0)
    data = LabelData.from_arrays(rng.normal(size=(40, 3)), label_names=["a", "b"])
    campaign = Campaign(data, model=BinaryRelevance())
    assert {each.source for each in campaign.suggest(["0"])[0]} == {"base rate"}
    campaign.tell([Answer(str(i), {"a": bool(data.X[i, 0] > 0), "b": False}) for i in range(30)])
    likely = str(30 + int(np.argmax(data.X[30:, 0])))
    first = campaign.suggest([likely])[0][0]
    assert (first.label, first.source, first.words) == ("a", "model", ())


def test_few_likely_labels_are_suggested_the_likeliest_first():
    data, _ = documents()
    campaign = Campaign(data)
    p = campaign.believe().probabilities()
    for row, suggested in enumerate(campaign.suggest(data.item_ids, least=0.2, most=2)):
        expected = [j for j in np.argsort(-p[row], kind="stable")[:2] if p[row, j] >= 0.2]
        assert [each.label for each in suggested] == [data.label_names[j] for j in expected]
    assert campaign.suggest([]) == []
    with pytest.raises(ValueError, match="no item 'nobody'"):
        campaign.suggest(["nobody"])


def test_stop_words_and_very_short_words_are_no_reasons():
    """They go with a label as well as the others do, by the model and by its name, and tell a person nothing."""
    words = ["not", "is", "ox", "gita", "verse", "tree", "of the"]
    rng = np.random.default_rng(0)
    has = rng.random(120) < 0.5
    X = (rng.random((120, 7)) < np.where(has[:, None], [0.9, 0.9, 0.9, 0.9, 0.8, 0.3, 0.9], 0.1)).astype(float)
    data = LabelData.from_arrays(sp.csr_array(X), label_names=["gita", "b47"], feature_names=words)
    campaign = Campaign(data, model=BinaryRelevance())
    rows = [str(i) for i in np.flatnonzero(has & (X[:, 3:5].sum(1) == 2))[:5]]
    before = [each for item in campaign.suggest(rows) for each in item]
    campaign.tell([Answer(str(i), {"gita": bool(has[i]), "b47": bool(has[i])}) for i in range(60)])
    told = [each for item in campaign.suggest(rows) for each in item]
    named = [each for each in before if each.source == "name"]
    assert named and {each.source for each in told} == {"model"}
    assert all(set(each.words) <= {"gita", "verse", "tree"} and each.words for each in [*named, *told])
    believed = campaign.believed(np.array([int(row) for row in rows]))
    assert {word for marks in believed.marks(5) for word, *_ in marks} <= {"gita", "verse", "tree"}
