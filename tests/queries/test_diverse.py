"""Batches without near-duplicates: against loops, with sparse and dense features, items and pairs, any strategy."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise import (
    BalancedPairs,
    BinaryRelevance,
    Campaign,
    Diverse,
    ExpectedLossReduction,
    LabelData,
    Random,
    Uncertainty,
)
from labelwise.posterior import MarginalPosterior
from rival_problems import problem


def pool(kinds=12, copies=4, d=30, q=3, *, sparse=True, jitter=0.0, seed=0):
    """Items that come in copies, and beliefs that are nearly the same for copies."""
    rng = np.random.default_rng(seed)
    X = np.repeat(np.where(rng.random((kinds, d)) < 0.3, rng.random((kinds, d)), 0.0), copies, axis=0)
    X = X + jitter * rng.normal(size=X.shape) * (X > 0)
    p = np.clip(np.repeat(rng.random((kinds, q)), copies, axis=0) + 1e-4 * rng.normal(size=(len(X), q)), 0, 1)
    names = [f"label{j}" for j in range(q)]
    return p, LabelData.from_arrays(sp.csr_array(X) if sparse else X, label_names=names)


def choose(strategy, p, known, n, closed=None, seed=0):
    closed = sp.csr_array(p.shape, dtype=bool) if closed is None else sp.csr_array(closed)
    return strategy.choose(MarginalPosterior(p), closed, n, np.random.default_rng(seed), known=known)


def inner(strategy, p, n, seed=0):
    return strategy.choose(MarginalPosterior(p), sp.csr_array(p.shape, dtype=bool), n, np.random.default_rng(seed))


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("jitter", [0.0, 0.02])
def test_copies_are_not_asked_twice(sparse, jitter):
    p, known = pool(sparse=sparse, jitter=jitter)
    plain = inner(Uncertainty(), p, 12)
    assert len(set(plain.rows // 4)) < 5
    apart = choose(Diverse(Uncertainty()), p, known, 12)
    assert len(set(apart.rows // 4)) == 12
    order = inner(Uncertainty(), p, 48).rows.tolist()
    assert set(apart.rows) == {next(row for row in order if row // 4 == kind) for kind in range(12)}


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("n", [2, 5, 9])
def test_against_loops(sparse, n):
    rng = np.random.default_rng(n)
    X = np.where(rng.random((40, 6)) < 0.6, rng.normal(size=(40, 6)), 0.0)
    p = rng.random((40, 2))
    known = LabelData.from_arrays(sp.csr_array(X) if sparse else X, label_names=["a", "b"])
    order = inner(Uncertainty(), p, 40).rows[: 4 * n]
    Z = X[order]
    Z = np.array([row / (np.linalg.norm(row) or 1.0) for row in Z]) if sparse else Z / Z.std(axis=0)
    usual = np.median([np.linalg.norm(Z[i] - Z[j]) for i in range(len(Z)) for j in range(i)])
    taken, reach = [], 0.8 * usual
    while len(taken) < n:
        for i in range(len(Z)):
            if len(taken) < n and i not in taken and all(np.linalg.norm(Z[i] - Z[j]) >= reach for j in taken):
                taken.append(i)
        reach /= 2
    got = choose(Diverse(Uncertainty(), radius=0.8, shortlist=4), p, known, n)
    assert got.rows.tolist() == [int(order[i]) for i in sorted(taken)]


def test_pairs_of_other_labels_are_other_questions():
    p = np.array([[0.5, 0.49, 0.2]] * 3 + [[0.4, 0.1, 0.1]] * 2)
    X = np.array([[1.0, 0.0]] * 3 + [[0.0, 1.0]] * 2)
    known = LabelData.from_arrays(X, label_names=["a", "b", "c"])
    choice = choose(Diverse(Uncertainty("pairs")), p, known, 4)
    kinds = {(row // 3, label) for row, label in zip(choice.rows.tolist(), choice.labels.tolist(), strict=True)}
    assert kinds == {(0, 0), (0, 1), (1, 0), (0, 2)}  # the most uncertain pairs that differ in label or item


def test_scores_and_order_are_those_of_the_strategy():
    p, known = pool()
    whole = inner(Uncertainty(), p, 48)
    score = dict(zip(whole.rows.tolist(), whole.scores.tolist(), strict=True))
    choice = choose(Diverse(Uncertainty()), p, known, 7)
    assert choice.scores.tolist() == [score[row] for row in choice.rows.tolist()]
    assert np.all(np.diff(choice.scores) <= 0)
    assert choose(Diverse(Uncertainty(), radius=0.0), p, known, 7).rows.tolist() == whole.rows[:7].tolist()


def test_a_batch_is_full_even_of_copies_alone():
    p, known = pool(kinds=2, copies=10)
    assert set(choose(Diverse(Uncertainty()), p, known, 2).rows // 10) == {0, 1}
    choice = choose(Diverse(Uncertainty()), p, known, 6)
    assert len(set(choice.rows)) == 6
    same = LabelData.from_arrays(np.zeros((20, 3)), label_names=known.label_names)
    assert choose(Diverse(Uncertainty()), p, same, 6).rows.size == 6


def test_one_question_none_and_fewer_open_than_asked():
    p, known = pool()
    assert choose(Diverse(Uncertainty()), p, known, 1).rows == inner(Uncertainty(), p, 1).rows
    assert choose(Diverse(Uncertainty()), p, known, 0).rows.size == 0
    closed = np.ones(p.shape, dtype=bool)
    closed[[3, 9], 1] = False
    assert set(choose(Diverse(Uncertainty()), p, known, 5, closed).rows) == {3, 9}
    assert choose(Diverse(Uncertainty()), p, known, 5, np.ones(p.shape, dtype=bool)).rows.size == 0


def test_large_batches_have_a_bounded_shortlist(monkeypatch):
    asked = []

    class Counting(Random):
        def choose(self, posterior, closed, n, rng):
            asked.append(n)
            return super().choose(posterior, closed, n, rng)

    monkeypatch.setattr("labelwise.queries.diverse.LARGEST_SURPLUS", 15)
    p, known = pool()
    choose(Diverse(Counting()), p, known, 10)
    choose(Diverse(Counting(), shortlist=2), p, known, 10)
    assert asked == [25, 20]


@pytest.mark.parametrize(
    "strategy", [Random(), Random("pairs"), BalancedPairs(), ExpectedLossReduction(), Uncertainty("pairs")]
)
def test_around_any_strategy_in_a_campaign(strategy):
    it = problem(n=80)
    campaign = Campaign(it.known, model=BinaryRelevance(), strategy=Diverse(strategy), random_state=0)
    questions = campaign.ask(6)
    assert len(set(questions)) == 6
    assert Diverse(strategy).target == strategy.target


@pytest.mark.parametrize(("options", "words"), [({"radius": -1.0}, "got -1.0"), ({"shortlist": 0}, "got 0")])
def test_wrong_options_are_named(options, words):
    p, known = pool()
    with pytest.raises(ValueError, match=words):
        choose(Diverse(Uncertainty(), **options), p, known, 2)
