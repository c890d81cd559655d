"""TypicalFirst against its rule, question by question; on groups that are known; and until nothing is left."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise import Answer, BinaryRelevance, Campaign, LabelData, TypicalFirst
from labelwise.posterior import IgnorantPosterior
from labelwise.queries import typical_first
from labelwise.queries.typical_first import FEW_MEMBERS


def blobs(sizes, rng, d=None):
    member = np.repeat(np.arange(len(sizes)), sizes)
    return np.eye(len(sizes), d)[member] * 20 + rng.normal(size=(member.size, d or len(sizes))), member


def choose(X, n, *, answered=(), closed=None, seed=0, **settings):
    observed = np.zeros((X.shape[0], 2), dtype=bool)
    observed[list(answered)] = True
    known = LabelData.from_arrays(X, np.zeros(observed.shape), observed=observed)
    closed = observed if closed is None else closed
    strategy, beliefs = TypicalFirst(**settings), IgnorantPosterior(*observed.shape)
    return strategy.choose(beliefs, sp.csr_array(closed), n, np.random.default_rng(seed), known=known)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("method", ["clusters", "coverage"])
@pytest.mark.parametrize("seed", range(4))
def test_one_of_each_blob(method, as_given, seed):
    X, member = blobs([20, 9, 40, 14], np.random.default_rng(seed))
    rows = choose(as_given(X), 4, method=method, seed=seed).rows
    assert sorted(member[rows]) == [0, 1, 2, 3]


@pytest.mark.parametrize("method", ["clusters", "coverage"])
@pytest.mark.parametrize("seed", range(4))
def test_blobs_with_answers_wait(method, seed):
    X, member = blobs([20, 9, 40, 14], np.random.default_rng(seed))
    answered = [0, 30]  # of the first and the third
    assert sorted(member[choose(X, 2, answered=answered, method=method, seed=seed).rows]) == [1, 3]


def test_items_that_are_closed_count_as_answered():
    """Somebody holds an item of each of two blobs: they are not asked, and nor are others of their blobs."""
    X, member = blobs([20, 15, 30], np.random.default_rng(0))
    closed = np.zeros((65, 2), dtype=bool)
    closed[[3, 50]] = True
    assert member[choose(X, 1, closed=closed).rows].tolist() == [1]


@pytest.mark.parametrize("seed", range(6))
def test_the_rule_question_by_question(seed):
    """Fewest answered or asked, then largest, small clusters last; in a cluster the densest open item."""
    rng = np.random.default_rng(seed)
    sizes = [12, 3, 25, 8, 1, 17]
    X, member = blobs(sizes, rng, d=8)
    order = rng.permutation(66)
    Z, member = X[order], member[order]
    answered = rng.random(66) < 0.25
    free = ~answered & (rng.random(66) < 0.8)
    with pytest.MonkeyPatch.context() as patch:
        means = np.array([Z[member == k].mean(0) for k in range(6)])
        patch.setattr(typical_first, "cluster_centres", lambda Z, k, rng: means)
        patch.setattr(typical_first, "MAX_CLUSTERS", 6)
        for n in (1, 5, 20, 66):
            got, scores = typical_first._by_clusters(Z, free, answered, n, np.random.default_rng(0))
            left, counts, expected = set(np.flatnonzero(free)), np.bincount(member[answered], minlength=6), []
            while left and len(expected) < n:
                having = {member[row] for row in left}
                k = min(having, key=lambda k: (sizes[k] <= FEW_MEMBERS, counts[k], -sizes[k]))
                row = max((row for row in left if member[row] == k), key=lambda row: density(Z, member, row))
                expected.append(row)
                left.remove(row)
                counts[k] += 1
            assert [member[row] for row in got] == [member[row] for row in expected]
            np.testing.assert_allclose(scores, [density(Z, member, row) for row in expected], rtol=1e-6)


def density(Z, member, row):
    own = [j for j in np.flatnonzero(member == member[row]) if j != row]
    k = min(20, (len(own) + 1) // 2)
    return 1 / (np.sort([np.linalg.norm(Z[row] - Z[j]) for j in own])[:k].mean() + 1e-5) if k and own else 0.0


@pytest.mark.parametrize("method", ["clusters", "coverage"])
def test_copies_are_asked_once_each(method):
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 6, axis=0)
    for n in (3, 11, 24, 90):
        rows = choose(X, n, method=method).rows
        assert rows.size == np.unique(rows).size == min(n, 24)


@pytest.mark.parametrize("method", ["clusters", "coverage"])
def test_campaigns_ask_every_item_once(method):
    """A cluster of which everything was asked stops nothing."""
    X, member = blobs([3, 9, 20], np.random.default_rng(0))
    strategy = TypicalFirst(method=method)
    campaign = Campaign(LabelData.from_arrays(X, label_names=["a"]), model=BinaryRelevance(), strategy=strategy)
    asked = []
    while questions := campaign.ask(5):
        asked += [question.item for question in questions]
        campaign.tell(Answer.to(q, present={"a"} if member[int(q.item)] == 1 else ()) for q in questions)
    assert len(asked) == len(set(asked)) == 32


def test_only_a_sample_of_a_large_pool_is_looked_at():
    X, member = blobs([4000, 6000, 2000], np.random.default_rng(0))
    X = X.astype(np.float64)
    tracemalloc.start()
    rows = choose(X, 3, sample=600).rows
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sorted(member[rows]) == [0, 1, 2]
    assert peak < 30e6  # 12 000² booleans are 144 MB


def test_the_sample_leaves_nothing_out_for_ever():
    X, _ = blobs([30, 30], np.random.default_rng(0))
    assert len({row for seed in range(60) for row in choose(X, 2, sample=8, seed=seed).rows}) > 30
    assert choose(X, 20, sample=8).rows.size == 20  # a batch larger than the sample is full


@pytest.mark.parametrize(
    ("settings", "words"), [({"method": "best"}, "method"), ({"sample": 0}, "sample"), ({"target": "pairs"}, '"items"')]
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        choose(np.eye(6), 2, **settings)
