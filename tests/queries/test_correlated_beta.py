"""CorrelatedBeta: what labels have to do with one another by loops and by hand, its candidates, and its two forms."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from joint_beliefs import JointBeliefs
from labelwise import BetaScore, CorrelatedBeta, LabelData, LabelGP
from labelwise.data import make_shapes
from labelwise.posterior import MarginalPosterior
from labelwise.queries._answers import PoolAnswers
from labelwise.queries.correlated_beta import LabelRules, Strata

NAN = np.nan


def known(Y, n_items=None):
    """A pool whose first items have these answers, NaN for unknown; the others have none."""
    Y = np.asarray(Y, dtype=float)
    more = np.full(((n_items or len(Y)) - len(Y), Y.shape[1]), NAN)
    Y = np.vstack([Y, more])
    return LabelData.from_arrays(np.arange(len(Y), dtype=float)[:, None], Y)


def rules(Y, implied_at=0.7, exclusive_at=0.98, min_count=1):
    pool = known(Y)
    return LabelRules.of(PoolAnswers.of(pool, pool.Y.shape), implied_at, exclusive_at, min_count)


def strata(p, found, n_answered=0):
    """Of items with these probabilities, nothing answered of the open ones."""
    pool = known(np.full(np.shape(p), NAN))
    rows = np.arange(n_answered, len(p))
    return Strata.of(MarginalPosterior(np.asarray(p)), PoolAnswers.of(pool, pool.Y.shape), found, rows)


def rules_by_loops(Y, implied_at, exclusive_at, min_count):
    n, q = Y.shape
    both = [[sum(Y[i, j] == 1 and Y[i, k] == 1 for i in range(n)) for k in range(q)] for j in range(q)]
    of = [[sum(Y[i, j] == 1 and Y[i, k] == Y[i, k] for i in range(n)) for k in range(q)] for j in range(q)]
    share = [[both[j][k] / of[j][k] if of[j][k] else 0.0 for k in range(q)] for j in range(q)]
    most = max(sum(share[j][k] for k in range(q) if k != j) for j in range(q))
    weights = [1 + sum(share[j][k] / (2 * most) for j in range(q) if j != k) for k in range(q)]
    implies, excludes = np.zeros((q, q), bool), np.zeros((q, q), bool)
    for j in range(q):
        for k in range(q):
            if j == k:
                continue
            implies[j, k] = share[j][k] >= implied_at and share[j][k] > share[k][j]
            if min(of[j][k], of[k][j]) >= min_count and 1 - share[j][k] > exclusive_at:
                excludes[j, k] = excludes[k, j] = True
    return np.array(weights), implies, excludes


@pytest.mark.parametrize("unknown", [0.0, 0.3])
def test_rules_are_counted(unknown):
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 6)) < [0.5, 0.3, 0.2, 0.1, 0.6, 0.4]).astype(float)
    Y[:, 1] *= Y[:, 0]  # the second implies the first
    Y[:, 3] *= 1 - Y[:, 2]  # the third and fourth exclude one another
    Y[rng.random(Y.shape) < unknown] = NAN
    found, expected = rules(Y, 0.7, 0.9, 2), rules_by_loops(Y, 0.7, 0.9, 2)
    assert_allclose(found.weights, expected[0])
    assert_array_equal(found.implies, expected[1])
    assert_array_equal(found.excludes, expected[2])
    assert found.implies[1, 0] and found.excludes[2, 3]
    order = rng.permutation(6)
    turned = rules(Y[:, order], 0.7, 0.9, 2)
    assert_allclose(turned.weights, found.weights[order])
    assert_array_equal(turned.implies, found.implies[np.ix_(order, order)])
    assert_array_equal(turned.excludes, found.excludes[np.ix_(order, order)])


def test_few_items_exclude_nothing():
    Y = [[1, 0, 0]] * 9 + [[0, 1, 0]] * 12 + [[0, 0, 1]] * 12
    found = rules(Y, min_count=10)
    assert found.excludes.tolist() == [[False, False, False], [False, False, True], [False, True, False]]


def test_labels_that_always_come_together_both_stay():
    found = rules([[1, 1]] * 5 + [[0, 0]] * 5)
    assert not found.implies.any()
    assert_array_equal(strata([[0.9, 0.9]], found).labels.toarray(), [[True, True]])


def test_an_implied_label_has_no_stratum():
    Y = [[1, 1, 0]] * 4 + [[1, 0, 0]] * 6 + [[1, 0, 1]] * 2
    found = rules(Y)
    assert found.implies[1, 0] and not found.implies[0, 1]
    p = [[0.9, 0.8, 0.1], [0.9, 0.1, 0.1], [0.1, 0.1, 0.2], [0.2, 0.9, 0.1]]
    expected = [[False, True, False], [True, False, False], [False, False, False], [False, True, False]]
    assert_array_equal(strata(p, found).labels.toarray(), expected)


def test_items_in_conflict_by_hand():
    found = rules([[1, 0, 1]] * 5 + [[0, 1, 1]] * 5)
    assert found.excludes[0, 1] and not found.excludes[0, 2]
    p = [[0.9, 0.8, 0.9], [0.9, 0.1, 0.9], [0.1, 0.6, 0.1], [0.6, 0.6, 0.1]]
    assert strata(p, found).conflict.tolist() == [True, False, False, True]


def test_as_many_of_each_stratum():
    rng = np.random.default_rng(0)
    nothing_learnt = rules([[0, 0, 0]])
    label = np.arange(100) % 4  # the last quarter has none
    p = np.where(label[:, None] == np.arange(3), 0.9, 0.1)
    pool = strata(p, nothing_learnt)
    drawn = pool.draw(5, 7, rng)
    assert np.bincount(label[drawn]).tolist() == [5, 5, 5, 7]
    assert np.all(np.diff(drawn) > 0)
    counts = sum(np.bincount(pool.draw(5, 7, rng), minlength=100) for _ in range(400))
    assert np.all(np.abs(counts[label < 3] / 400 - 5 / 25) < 5 * np.sqrt(0.2 * 0.8 / 400))  # nobody is preferred
    conflict = pool._replace(conflict=label == 3)
    assert np.bincount(label[conflict.draw(5, 0, rng)]).tolist() == [5, 5, 5, 5]


def pool_of_line(n=60, q=4, seed=0, n_answered=12):
    rng = np.random.default_rng(seed)
    beliefs = JointBeliefs(rng.uniform(0.02, 0.8, (n, q)), rng.uniform(0, 9, n))
    return beliefs, known(rng.random((n_answered, q)) < 0.4, n)


def choose(strategy, beliefs, pool, n, seed=0):
    return strategy.choose(beliefs, pool.observed, n, np.random.default_rng(seed), known=pool)


def test_without_cooccurrence_it_has_the_gains_of_beta_score():
    beliefs, _ = pool_of_line()
    pool = known(np.eye(4)[np.arange(12) % 4], 60)  # one label each
    mine = choose(CorrelatedBeta(reference_share=1.0), beliefs, pool, 48)
    theirs = BetaScore(0.1, 3.0, top_share=1).choose(beliefs, pool.observed, 48, np.random.default_rng(0))
    assert_array_equal(mine.rows, theirs.rows)
    assert_allclose(mine.scores, theirs.scores)


def test_gains_count_by_the_weights_of_their_labels():
    beliefs, pool = pool_of_line()
    found = LabelRules.of(PoolAnswers.of(pool, (60, 4)), 0.7, 0.98, 10)
    assert np.ptp(found.weights) > 0.02
    each = np.zeros(60)
    for j in range(4):
        one = JointBeliefs(beliefs.probabilities()[:, [j]], beliefs.places)
        closed = pool.observed[:, [j]]
        choice = BetaScore(0.1, 3.0, top_share=1).choose(one, closed, 48, np.random.default_rng(0))
        each[choice.rows] += found.weights[j] * choice.scores
    mine = choose(CorrelatedBeta(reference_share=1.0), beliefs, pool, 48)
    assert_allclose(mine.scores, each[mine.rows])


def test_without_a_covariance_weighted_losses_count():
    p = np.array([[0.5, 0.1], [0.1, 0.5], [0.05, 0.05], [0.5, 0.5]])
    pool = known([[1, 1], [0, 1], [0, 1], [NAN, NAN]], 8)
    beliefs = MarginalPosterior(np.vstack([np.full((4, 2), 0.5), p]))
    weights = LabelRules.of(PoolAnswers.of(pool, (8, 2)), 0.7, 0.98, 10).weights
    assert weights[0] < weights[1]  # the first label never comes without the second
    choice = choose(CorrelatedBeta(1, 1), beliefs, pool, 5)
    assert_allclose(choice.scores[0], (weights / 8).sum())
    assert choice.rows.tolist()[-2:] == [4, 6]


def test_the_order_of_labels_does_not_matter():
    data = make_shapes(140, random_state=0)
    q, order = data.n_labels, np.random.default_rng(1).permutation(data.n_labels)
    answered = np.repeat(np.arange(140) < 40, q).reshape(140, q)
    beliefs = LabelGP(random_state=0).fit(data.X[:40], data.Y[:40].toarray()).posterior(data.X)
    Y = data.Y.toarray()

    class Turned(MarginalPosterior):
        def __init__(self, inner):
            super().__init__(inner.probabilities()[:, order])
            self.inner = inner

        def rows(self, rows):
            return Turned(self.inner.rows(rows))

        def item_covariance(self):
            return self.inner.item_covariance()

    first, second = (
        choose(CorrelatedBeta(), b, LabelData.from_arrays(data.X, labels, observed=answered), 6)
        for b, labels in ((beliefs, Y), (Turned(beliefs), Y[:, order]))
    )
    assert_array_equal(first.rows, second.rows)
    assert_allclose(first.scores, second.scores)


def test_the_released_form_is_the_same_for_every_item():
    data = make_shapes(90, random_state=0)
    answered = np.repeat(np.arange(90) < 30, data.n_labels).reshape(90, -1)
    pool = LabelData.from_arrays(data.X, data.Y.toarray(), observed=answered)
    beliefs = LabelGP(random_state=0).fit(data.X[:30], data.Y[:30].toarray()).posterior(data.X)
    right, released = (choose(CorrelatedBeta(form=form), beliefs, pool, 60) for form in ("regret", "released"))
    assert np.ptp(released.scores) < 1e-12 * released.scores[0]
    assert np.ptp(right.scores) > 0.5 * right.scores.mean()
    batches = [set(choose(CorrelatedBeta(form="released"), beliefs, pool, 4, seed).rows) for seed in range(5)]
    assert len(set.union(*batches)) > 10  # chance alone chooses


def test_items_without_a_label_become_fewer():
    p = np.full((700, 1), 0.2)
    beliefs = JointBeliefs(p, np.arange(700.0))

    def candidates(n_answered):
        pool = known(np.zeros((n_answered, 1)), 700)
        rows, strategy = np.arange(n_answered, 700), CorrelatedBeta(empties=3, until=400)
        answers = PoolAnswers.of(pool, (700, 1))
        return strategy._candidates(beliefs, answers, rules([[0]]), rows, 10, np.random.default_rng(0)).size

    assert [candidates(n) for n in (1, 300)] == [29, 15]
    assert candidates(500) == 10  # none, and then random ones fill the batch


@pytest.mark.parametrize("n", [1, 5, 48, 100])
def test_batches_are_full(n):
    beliefs, pool = pool_of_line()
    choice = choose(CorrelatedBeta(empties=0), beliefs, pool, n)
    assert choice.rows.size == np.unique(choice.rows).size == min(n, 48)
    assert np.all(choice.rows >= 12)
    few = choose(CorrelatedBeta(candidates=1), beliefs, pool, n)
    assert few.rows.size == min(n, 48)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "pairs"}, "asks for"),
        ({"min_count": 0}, "min_count"),
        ({"until": 0}, "until"),
        ({"exclusive_at": 1.5}, "exclusive_at"),
        ({"form": "published"}, "form"),
        ({"beta": -1.0}, "both 0"),
    ],
)
def test_what_is_wrong_is_named(options, words):
    beliefs, pool = pool_of_line()
    with pytest.raises(ValueError, match=words):
        choose(CorrelatedBeta(**options), beliefs, pool, 1)


def test_other_pools_are_refused():
    beliefs, pool = pool_of_line()
    with pytest.raises(ValueError, match="hand over the pool"):
        CorrelatedBeta().choose(beliefs, sp.csr_array((60, 3), dtype=bool), 1, np.random.default_rng(0), known=pool)
