"""CVIRS against a transcription of its formulas by loops, and against another package where that one is right."""

from math import log2

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise import BinaryRelevance, Campaign, LabelData, RankedInconsistency
from labelwise.posterior import IgnorantPosterior
from labelwise.queries._answers import PoolAnswers
from labelwise.queries.ranked_inconsistency import _Examples
from rival_problems import Problem, exact_logistic, problem, wave_pool


def entropy(*counts):
    total = sum(counts)
    return -sum(k / total * log2(k / total) for k in counts if k)


def set_distance(predicted, present, answered, kind):
    """Of two label sets, in the labels that were answered of the second."""
    cells = {(x, y): 0 for x in (0, 1) for y in (0, 1)}
    for x, y, seen in zip(predicted, present, answered, strict=True):
        if seen:
            cells[int(x), int(y)] += 1
    size = sum(cells.values())
    differ = (cells[0, 1] + cells[1, 0]) / size
    if kind == "hamming" or differ == 1:
        return differ
    joint = entropy(*cells.values())
    if joint == 0:
        return 0.0
    first = entropy(cells[1, 0] + cells[1, 1], cells[0, 0] + cells[0, 1])
    second = entropy(cells[0, 1] + cells[1, 1], cells[0, 0] + cells[1, 0])
    return (2 * joint - first - second) / joint


def inconsistencies(it: Problem, kind):
    examples = [i for i in range(len(it.p)) if it.observed[i].any()]
    weights = [it.observed[i].sum() for i in examples]
    found = {}
    for i in it.open_rows:
        each = [set_distance(it.believed[i] > 0.5, it.Y[e], it.observed[e], kind) for e in examples]
        found[i] = sum(w * d for w, d in zip(weights, each, strict=True)) / sum(weights)
    return found


def rank_scores(it: Problem):
    """(n − position) / (n − 1) of each label's ranking by margin, smallest first; the mean over labels."""
    found = {i: [] for i in it.open_rows}
    for j in range(it.p.shape[1]):
        ranked = [i for i in it.open_rows if not it.observed[i, j]]
        for position, i in enumerate(sorted(ranked, key=lambda i, j=j: abs(2 * it.p[i, j] - 1)), start=1):
            found[i].append((len(ranked) - position) / (len(ranked) - 1) if len(ranked) > 1 else 1.0)
    return {i: sum(shares) / len(shares) for i, shares in found.items()}


@pytest.mark.parametrize("kind", ["entropy", "hamming"])
@pytest.mark.parametrize("partial", [0, 15])
def test_against_the_formula(kind, partial):
    it = problem(partial=partial, q=6)
    unlike, ranks = inconsistencies(it, kind), rank_scores(it)
    expected = {i: unlike[i] * ranks[i] for i in it.open_rows}
    assert it.scores(RankedInconsistency(kind)) == pytest.approx(expected)


def test_distances_against_small_text():
    """Mean distances of small-text 1.4.1 (`CategoryVectorInconsistencyAndRanking`), 20 items known at first.

    They are Hamming distances, divided by the number of items asked about, 60, instead of those answered, 20. The rest
    is no measure: it computes the entropy distance and leaves it aside, ranks by |p − Σ p|, and takes the order of the
    items for their ranks.
    """
    theirs = {
        20: 0.1208,
        21: 0.1208,
        22: 0.1708,
        23: 0.1458,
        24: 0.1625,
        25: 0.1458,
        48: 0.1458,
        49: 0.1708,
        79: 0.1208,
    }
    X, Y = wave_pool()
    sets = exact_logistic().fit(X[:20], Y[:20]).predict_proba(X) > 0.5
    known = LabelData.from_arrays(X[:20], Y[:20])
    ours = _Examples.of(PoolAnswers.of(known, (20, 4)), "hamming").distances(sets) * 20 / 60
    np.testing.assert_allclose(ours[list(theirs)], list(theirs.values()), atol=6e-5)


def test_sets_that_differ_everywhere_are_farthest_and_equal_ones_nearest():
    Y = np.array([[1, 1, 0, 0]])
    known = LabelData.from_arrays(np.ones((1, 1)), Y)
    sets = np.array([[0, 0, 1, 1], [1, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]).astype(bool)
    distances = _Examples.of(PoolAnswers.of(known, (1, 4)), "entropy").distances(sets)
    np.testing.assert_allclose(distances, [1, 0, 1, 1], atol=1e-12)  # independent columns share nothing either


def test_equal_margins_share_their_ranks():
    p = np.array([[0.3], [0.7], [0.5], [0.9], [0.5]])
    observed = np.array([[False], [False], [False], [False], [True]])
    it = Problem(p, np.array([[0], [0], [0], [0], [1]]).astype(bool), observed, np.eye(5))
    scores = it.scores(RankedInconsistency("hamming"))  # distances: 1, 0, 1, 0
    assert scores == pytest.approx({0: 1.5 / 3, 1: 0.0, 2: 1.0, 3: 0.0})


@pytest.mark.parametrize("compared", [1, 50, 2**20])
def test_blocks_do_not_matter(compared, monkeypatch):
    it = problem(n=100, partial=15)
    whole = it.scores(RankedInconsistency())
    monkeypatch.setattr("labelwise.queries.ranked_inconsistency.BLOCK", 7)
    monkeypatch.setattr("labelwise.queries.ranked_inconsistency.COMPARED", compared)
    assert it.scores(RankedInconsistency()) == pytest.approx(whole)


def test_ranks_by_levels_are_close_to_exact_ones(monkeypatch):
    it = problem(n=600, partial=15)
    rare = Problem(it.p**6, it.Y, it.observed, it.X)  # most margins are close to 1 there
    for pool in (it, rare):
        exact = pool.scores(RankedInconsistency())
        monkeypatch.setattr("labelwise.queries.ranked_inconsistency.EXACT", 0)
        levels = pool.scores(RankedInconsistency())
        monkeypatch.undo()
        assert levels.keys() == exact.keys()
        assert max(abs(levels[i] - exact[i]) for i in exact) < 0.02


def test_order_of_labels_and_items_does_not_matter():
    it = problem(partial=15)
    scores = it.scores(RankedInconsistency())
    assert it.relabelled(np.array([3, 1, 4, 0, 2])).scores(RankedInconsistency()) == pytest.approx(scores)
    order = np.random.default_rng(0).permutation(len(it.p))
    moved = it.reordered(order).scores(RankedInconsistency())
    assert {int(order[i]): score for i, score in moved.items()} == pytest.approx(scores)


def test_a_sample_of_answered_items_tells_about_all():
    it = problem(n=400, complete=300)
    whole, some = it.scores(RankedInconsistency()), it.scores(RankedInconsistency(sample=100))
    assert whole != some
    assert np.corrcoef([whole[i] for i in whole], [some[i] for i in whole])[0, 1] > 0.95


def test_before_any_answer_one_label_few_open_and_all_closed():
    nothing = sp.csr_array((30, 3), dtype=bool)
    known = LabelData.from_arrays(np.eye(30), label_names=["a", "b", "c"])
    strategy = RankedInconsistency()
    picks = {
        int(strategy.choose(IgnorantPosterior(30, 3), nothing, 1, np.random.default_rng(s), known=known).rows[0])
        for s in range(30)
    }
    assert len(picks) > 10
    it = problem(q=1, n=11, complete=10, partial=0)
    assert it.choose(strategy, 5).rows.tolist() == [10]
    assert np.isfinite(it.choose(strategy, 5).scores).all()
    assert it.choose(strategy, 5, closed=np.ones((11, 1), dtype=bool)).rows.size == 0
    certain = Problem(np.zeros(it.p.shape), it.Y, it.observed, it.X)
    assert np.isfinite(certain.choose(strategy, 5).scores).all()


def test_in_a_campaign():
    it = problem(n=80)
    campaign = Campaign(it.known, model=BinaryRelevance(), strategy=RankedInconsistency(), random_state=0)
    assert len({q.item for q in campaign.ask(5)}) == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [({"distance": "jaccard"}, "got 'jaccard'"), ({"sample": 0}, "got 0"), ({"target": "pairs"}, "got target='pairs'")],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        problem().choose(RankedInconsistency(**options), 1)
