"""DropQuery against loops, against passes with dropout, and against the flips that a Gaussian process has itself."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm

from labelwise import Answer, BinaryRelevance, Campaign, DropoutDisagreement, LabelData, LabelGP
from labelwise.numerics.blocks import Block
from labelwise.posterior import IgnorantPosterior, MarginalPosterior
from labelwise.queries import dropout_disagreement
from labelwise.queries.dropout_disagreement import CHANCES
from rival_problems import problem


def linear_head(Z, F, penalty=1.0):
    """(d, q) weights of ridge regressions on columns of unit deviation, by normal equations."""
    Z, F = (Z - Z.mean(0)) / Z.std(0), F - F.mean(0)
    return np.linalg.solve(Z.T @ Z + penalty * np.eye(Z.shape[1]), Z.T @ F)


def flips_by_loops(it, rate=0.75):
    """(n, q) δ of the labels that are not answered; features as models standardise few dense columns."""
    X = (it.X - it.X.mean(0)) / it.X.std(0) / np.sqrt(it.X.shape[1])
    F = np.log(it.p / (1 - it.p))
    W, found = linear_head(X, F), np.zeros(F.shape)
    for i in range(F.shape[0]):
        for j in range(F.shape[1]):
            v = rate / (1 - rate) * sum((W[d, j] * X[i, d] / X[:, d].std()) ** 2 for d in range(X.shape[1]))
            found[i, j] = 0.0 if it.observed[i, j] else norm.cdf(-abs(F[i, j]) / np.sqrt(v))
    return found


@pytest.mark.parametrize("rate", [0.3, 0.75])
@pytest.mark.parametrize("weights", [None, (1.0, 0.0, 2.0, 0.5, 3.0)])
def test_scores_by_loops(rate, weights):
    it = problem()
    expected = flips_by_loops(it, rate) @ (np.ones(5) if weights is None else np.array(weights))
    got = it.scores(DropoutDisagreement(rate=rate, label_weights=weights))
    assert got == pytest.approx({i: expected[i] for i in it.open_rows})


def test_candidates_by_loops():
    """The chance of two flips in three is lowered until there are enough; of those, the most expected flips."""
    it = problem(n=200, seed=3)
    flips = flips_by_loops(it)
    open_rows = np.array(it.open_rows)
    for n, each in ((1, 1), (3, 5), (2, 25), (4, 40)):
        chance = []
        for row in open_rows:
            g = 1 - np.prod(1 - flips[row])
            chance.append(3 * g**2 * (1 - g) + g**3)
        for least in CHANCES:
            found = open_rows[np.array(chance) >= least]
            if found.size >= n * each:
                break
        candidates = sorted(found, key=lambda row: -flips[row].sum())[: n * each]
        choice = it.choose(DropoutDisagreement(candidates=each), n)
        assert set(choice.rows) <= set(candidates)
        if each == 1:
            assert set(choice.rows) == set(candidates)
        np.testing.assert_allclose(choice.scores, flips[choice.rows].sum(1))
        assert (np.diff(choice.scores) <= 0).all()


def test_closed_form_against_passes_as_released(monkeypatch):
    """Expected flips against the mean of many passes: a sum of many dropped features is nearly normal."""
    monkeypatch.setattr(dropout_disagreement, "PASSES", 4000)
    it = problem(n=40, d=60)
    weighty = it.X @ np.random.default_rng(1).normal(size=(60, 5)) / 8
    p = 1 / (1 + np.exp(-weighty))
    known = it.known
    drawn, closed = {}, {}
    for found, released in ((drawn, True), (closed, False)):
        choice = DropoutDisagreement(as_released=released).choose(
            MarginalPosterior(p), sp.csr_array(it.observed), 40, np.random.default_rng(0), known=known
        )
        found |= dict(zip(choice.rows.tolist(), choice.scores.tolist(), strict=True))
    assert len(closed) == len(it.open_rows) == len(drawn)
    gaps = np.array([closed[row] - drawn[row] for row in closed])
    assert np.abs(gaps).max() < 0.15 and np.abs(gaps).mean() < 0.05
    assert np.ptp(list(closed.values())) > 0.5  # so that a constant would be noticed


@pytest.mark.parametrize("released", [False, True])
def test_too_few_candidates_are_filled_at_random(released):
    """Two items at the border, forty that dropout cannot move: both are asked, the others differ by chance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(42, 6)) * 1e-3
    X[:2] = [[1, -1, 1, -1, 1, -1], [1, -2, 1, -1, 1, -2]]
    p = np.full((42, 1), 1e-6)
    p[:2, 0] = 0.5001, 0.5002
    known = LabelData.from_arrays(X, np.zeros((42, 1)), observed=np.arange(42)[:, None] == 41)
    others = set()
    for seed in range(12):
        choice = DropoutDisagreement(as_released=released).choose(
            MarginalPosterior(p), known.observed_mask(), 4, np.random.default_rng(seed), known=known
        )
        assert choice.rows.size == np.unique(choice.rows).size == 4 and 41 not in choice.rows
        assert released or {0, 1} <= set(choice.rows)  # three passes flip one at the border seven times out of eight
        others |= set(choice.rows) - {0, 1}
    assert len(others) > 8


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("noise", ["features", "beliefs"])
def test_certain_items_are_left_alone(noise, released):
    """A Gaussian process whose label is the sign of a sum of features asks near the border, in every form."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    Y = X.sum(1, keepdims=True) > 0
    observed = np.arange(300)[:, None] < 80
    known = LabelData.from_arrays(X, Y, observed=observed)
    beliefs = LabelGP(random_state=0).fit(X[:80], Y[:80]).posterior(X)
    strategy = DropoutDisagreement(noise=noise, rate=0.3, as_released=released, candidates=3)
    rows = strategy.choose(beliefs, known.observed_mask(), 10, np.random.default_rng(0), known=known).rows
    sure = np.abs(beliefs.probabilities()[:, 0] - 0.5)
    assert sure[rows].mean() < 0.7 * sure[80:].mean()


def test_flips_of_beliefs_against_a_gaussian_process(monkeypatch):
    """y = 1 where √ρ f + √(1 − ρ) e < Φ⁻¹(p): knowing f moves the decision with probability Φ(−|Φ⁻¹(p)| / √ρ)."""
    monkeypatch.setattr(dropout_disagreement, "DRAWS", 20_000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = X @ rng.normal(size=(3, 2)) > 0.3
    known = LabelData.from_arrays(X, Y, observed=(np.arange(60) < 40)[:, None] & np.ones(2, bool))
    model = LabelGP(random_state=0).fit(X[:40], Y[:40])
    beliefs = model.posterior(X)
    choice = DropoutDisagreement(noise="beliefs").choose(beliefs, known.observed_mask(), 20, rng, known=known)
    v = beliefs._shares_of_kernel()
    share = v / (v + beliefs._fitted.noise)
    expected = norm.cdf(-np.abs(norm.ppf(beliefs.probabilities())) / np.sqrt(share)).sum(1)
    np.testing.assert_allclose(choice.scores, expected[choice.rows], rtol=0.05, atol=5e-3)
    assert np.ptp(choice.scores) > 0.02


def blobs(sizes, rng, d=5):
    member = np.repeat(np.arange(len(sizes)), sizes)
    return np.eye(len(sizes), d)[member] * 10 + rng.normal(size=(member.size, d)), member


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("released", [False, True])
def test_the_first_batch_has_one_of_each_blob(as_given, released):
    rng = np.random.default_rng(0)
    X, member = blobs([20, 9, 33, 12], rng)
    known = LabelData.from_arrays(as_given(X), label_names=["a", "b"])
    strategy = DropoutDisagreement(as_released=released)
    choice = strategy.choose(IgnorantPosterior(74, 2), known.observed_mask(), 4, rng, known=known)
    assert sorted(member[choice.rows]) == [0, 1, 2, 3]
    closed = np.zeros((74, 2), dtype=bool)
    closed[choice.rows] = True
    again = strategy.choose(IgnorantPosterior(74, 2), sp.csr_array(closed), 4, rng, known=known)
    assert not set(again.rows) & set(choice.rows)


def test_vectors_decide_where_there_are_any():
    """Words vary wildly, vectors have two groups: one item of each."""
    rng = np.random.default_rng(0)
    V, member = blobs([15, 25], rng, d=2)
    X = sp.hstack([sp.csr_array(rng.random((40, 300)) * 100), sp.csr_array(V)], format="csr")
    blocks = Block("body", "words", 0, 300), Block("mine", "vectors", 300, 302)
    known = LabelData.from_arrays(X, label_names=["a"], blocks=blocks)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = DropoutDisagreement().choose(IgnorantPosterior(40, 1), known.observed_mask(), 2, rng, known=known).rows
        assert sorted(member[rows]) == [0, 1]


@pytest.mark.parametrize("model", [BinaryRelevance(), LabelGP()])
@pytest.mark.parametrize("released", [False, True])
def test_campaigns_ask_every_item_once(model, released):
    it = problem(n=40, complete=0, partial=0)
    data = LabelData.from_arrays(sp.csr_array(np.abs(it.X)), it.Y)
    campaign = Campaign(data.hide(), model=model, strategy=DropoutDisagreement(as_released=released), random_state=0)
    asked = []
    while questions := campaign.ask(7):
        asked += [question.item for question in questions]
        rows = [int(question.item) for question in questions]
        campaign.tell(
            Answer.to(question, present=np.array(question.labels)[it.Y[row]])
            for question, row in zip(questions, rows, strict=True)
        )
    assert len(asked) == len(set(asked)) == 40


def test_memory_grows_with_the_pool_not_its_square():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 12))
    known = LabelData.from_arrays(X, np.zeros((30_000, 1)), observed=np.arange(30_000)[:, None] < 50)
    beliefs, closed = MarginalPosterior(rng.random((30_000, 1))), known.observed_mask()
    tracemalloc.start()
    rows = DropoutDisagreement().choose(beliefs, closed, 5, rng, known=known).rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.size == 5
    assert peak < 60e6  # 30 000² booleans are 900 MB


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"rate": 1.0}, "between 0 and 1, got 1.0"),
        ({"noise": "labels"}, "noise"),
        ({"candidates": 0}, "candidates"),
        ({"label_weights": (1.0, 2.0)}, "label_weights has 2 numbers, expected one for each of the 5 labels"),
        ({"target": "pairs"}, '"items"'),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        problem().choose(DropoutDisagreement(**settings), 2)
