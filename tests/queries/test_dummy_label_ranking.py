"""AUDI against a transcription of its rules by loops, and against its authors' package."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise import BinaryRelevance, Campaign, DummyLabelRanking, LabelData
from labelwise.posterior import IgnorantPosterior
from rival_problems import Problem, exact_logistic, problem, wave_pool


def mean_count(it: Problem):
    total = 0.0
    for j in range(it.p.shape[1]):
        said = [it.Y[i, j] for i in range(len(it.p)) if it.observed[i, j]]
        total += sum(said) / len(said)
    return total


def dummy_of(it: Problem, i, kind):
    if kind == "even":
        return 0.0
    f = sorted((log_odds(v) for v in it.believed[i]), reverse=True)
    k = round(it.p[i].sum())
    if k == 0:
        return f[0]
    return f[-1] if k == len(f) else (f[k - 1] + f[k]) / 2


def log_odds(p):
    p = min(max(p, 1e-12), 1 - 1e-12)
    return np.log(p / (1 - p))


def naive_scores(it: Problem, kind):
    found = {}
    for i in it.open_rows:
        count = sum(log_odds(v) > dummy_of(it, i, kind) for v in it.believed[i])
        found[i] = abs(count - mean_count(it)) / max(it.observed[i].sum(), 0.5)
    return found


def nearest_labels(it: Problem, i, kind):
    """The open labels next to the dummy; one midway between two labels has two."""
    away = {j: abs(log_odds(it.p[i, j]) - dummy_of(it, i, kind)) for j in range(it.p.shape[1]) if not it.observed[i, j]}
    return [j for j in away if away[j] < min(away.values()) + 1e-9]


@pytest.fixture(params=["even", "count"])
def kind(request):
    return request.param


@pytest.mark.parametrize("partial", [0, 15])
def test_items_against_the_formula(kind, partial):
    it = problem(partial=partial)
    assert it.scores(DummyLabelRanking(dummy=kind)) == pytest.approx(naive_scores(it, kind))


def test_pairs_against_the_formula(kind):
    it = problem(partial=15)
    scores = naive_scores(it, kind)
    choice = it.choose(DummyLabelRanking("pairs", dummy=kind), 12)
    assert len(set(choice.rows)) == 12
    np.testing.assert_allclose(choice.scores, sorted(scores.values(), reverse=True)[:12])
    for row, label, score in zip(choice.rows, choice.labels, choice.scores, strict=True):
        assert score == pytest.approx(scores[row])
        assert label in nearest_labels(it, row, kind)


def test_against_alipy():
    """Pairs of ALiPy 1.2.5 (`QueryMultiLabelAUDI`, scikit-learn 1.5.2), one of every six items of the same pool.

    It was given these logistic regressions in place of its own ranking, with the dummy at 0. Items with some answers
    are left out: there ALiPy divides by the labels still open. Its guard against zero is for those answered, as ours.
    """
    pairs = [(23, 2), (28, 2), (37, 2), (41, 3), (44, 0), (53, 0), (59, 3), (62, 0), (71, 0), (77, 3)]
    X, Y = wave_pool()
    p = exact_logistic().fit(X[:20], Y[:20]).predict_proba(X)
    observed = np.zeros(Y.shape, dtype=bool)
    observed[:20] = True
    it = Problem(p, Y, observed, X)
    for number, pair in enumerate(pairs):
        closed = np.ones(Y.shape, dtype=bool)
        closed[20 + 6 * number : 26 + 6 * number] = False
        choice = it.choose(DummyLabelRanking("pairs"), 6, closed=closed)
        best = choice.scores == choice.scores.max()  # of items that tie ALiPy takes the first
        assert pair in set(zip(choice.rows[best].tolist(), choice.labels[best].tolist(), strict=True))


def test_labels_are_asked_in_turns():
    it = problem(n=12, complete=10, partial=0)
    one = it.choose(DummyLabelRanking("pairs"), 10)
    assert one.rows[0] != one.rows[1] and one.rows[:2].tolist() == one.rows[2:4].tolist()
    two = it.choose(DummyLabelRanking("pairs", labels_per_item=2), 10)
    assert two.rows[0] == two.rows[1] != two.rows[2] == two.rows[3]
    for row in (10, 11):
        nearest_first = np.argsort(np.abs(it.p[row] - 0.5))
        np.testing.assert_array_equal(one.labels[one.rows == row], nearest_first)
        np.testing.assert_array_equal(two.labels[two.rows == row], nearest_first)


@pytest.mark.parametrize("target", ["items", "pairs"])
def test_blocks_do_not_matter(target, kind, monkeypatch):
    it = problem(n=100)
    whole = it.choose(DummyLabelRanking(target, kind), 60)
    monkeypatch.setattr("labelwise.queries.dummy_label_ranking.BLOCK", 7)
    parts = it.choose(DummyLabelRanking(target, kind), 60)
    np.testing.assert_array_equal(parts.rows, whole.rows)
    np.testing.assert_array_equal(parts.labels, whole.labels)


def test_order_of_labels_and_items_does_not_matter():
    it = problem(n=100)
    scores = it.scores(DummyLabelRanking())
    assert it.relabelled(np.array([3, 1, 4, 0, 2])).scores(DummyLabelRanking()) == pytest.approx(scores)
    order = np.random.default_rng(0).permutation(100)
    moved = it.reordered(order).scores(DummyLabelRanking())
    assert {int(order[i]): score for i, score in moved.items()} == pytest.approx(scores)
    turn = np.array([3, 1, 4, 0, 2])
    whole, turned = (pool.choose(DummyLabelRanking("pairs"), 75) for pool in (it, it.relabelled(turn)))
    pairs = set(zip(whole.rows.tolist(), whole.labels.tolist(), strict=True))
    assert set(zip(turned.rows.tolist(), turn[turned.labels].tolist(), strict=True)) == pairs


def test_items_without_answers_come_before_those_with_some():
    it = problem(partial=15)
    alike = Problem(np.full(it.p.shape, 0.9), np.ones_like(it.Y), it.observed, it.X)
    alike.Y[:20] = False
    asked = it.observed.any(1)
    chosen = alike.choose(DummyLabelRanking(), 40).rows  # predicted counts are the same, whatever was answered
    assert not asked[chosen[: (~asked).sum()]].any() and asked[chosen[(~asked).sum() :]].all()


def test_before_any_answer_one_label_few_open_and_all_closed():
    nothing = sp.csr_array((30, 3), dtype=bool)
    known = LabelData.from_arrays(np.eye(30), label_names=["a", "b", "c"])
    for strategy in (DummyLabelRanking(), DummyLabelRanking("pairs")):
        picks = {
            int(strategy.choose(IgnorantPosterior(30, 3), nothing, 1, np.random.default_rng(s), known=known).rows[0])
            for s in range(30)
        }
        assert len(picks) > 10
        it = problem(q=1, n=12, complete=10, partial=0)
        assert sorted(it.choose(strategy, 5).rows.tolist()) == [10, 11]
        assert it.choose(strategy, 5, closed=np.ones((12, 1), dtype=bool)).rows.size == 0


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_certainty_is_finite(p, kind):
    it = problem(n=20, complete=5, partial=0)
    certain = Problem(np.full(it.p.shape, p), it.Y, it.observed, it.X)
    choice = certain.choose(DummyLabelRanking("pairs", kind), 1000)
    assert choice.rows.size == 15 * 5 and np.isfinite(choice.scores).all()


def test_in_a_campaign_of_pairs():
    it = problem(n=80)
    campaign = Campaign(it.known, model=BinaryRelevance(), strategy=DummyLabelRanking("pairs"), random_state=0)
    questions = campaign.ask(5)
    assert len({q.item for q in questions}) == 5 and all(len(q.labels) == 1 for q in questions)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"dummy": "learnt"}, "got 'learnt'"), ({"labels_per_item": 0}, "got 0"), ({"target": "sets"}, "got 'sets'")],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        problem().choose(DummyLabelRanking(**options), 1)


def test_a_dummy_by_count_finds_rare_labels():
    p = np.array([[0.3, 0.3, 0.3, 0.1], [0.1, 0.1, 0.1, 0.1], [0.2, 0.2, 0.2, 0.2]])
    it = Problem(p, np.zeros(p.shape, dtype=bool), np.array([[False] * 4, [False] * 4, [True] * 4]), np.eye(3))
    assert it.scores(DummyLabelRanking()) == {0: 0, 1: 0}  # nothing is more likely than not
    assert it.scores(DummyLabelRanking(dummy="count")) == {0: 2, 1: 0}  # one label of item 0 is expected: 1 / ½
