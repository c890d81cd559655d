"""TargetEntropy against brute-force greedy choice, with the right sign, lazily and densely."""

import numpy as np
import pytest
import scipy.sparse as sp

from joint_beliefs import JointBeliefs, conditional_variance
from labelwise.models import OrthogonalTargetGP
from labelwise.posterior import IgnorantPosterior, MarginalPosterior
from labelwise.queries import TargetEntropy


def nothing(n, q):
    return sp.csr_array((n, q), dtype=bool)


def choose(strategy, beliefs, n, closed=None, seed=0):
    closed = nothing(beliefs.n_items, beliefs.n_labels) if closed is None else closed
    return strategy.choose(beliefs, closed, n, np.random.default_rng(seed))


def fitted(n=120, q=10, gp="shared", seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 12))
    Y = X @ rng.standard_normal((12, q)) + rng.standard_normal((n, q)) > 1
    return OrthogonalTargetGP(gp=gp, random_state=0, **options).fit(X[:30], Y[:30]), X, Y


def brute_force(model, X, n, kind="entropy"):
    """Greedy by the definition: after each choice all variances anew, with that row among the known ones."""
    state, chosen = model._state, []
    Z = state.scaling(X)
    for _ in range(n):
        score = np.zeros(len(X))
        known = np.vstack([state.X, Z[chosen]])
        for group in state.groups:
            weights, ratio = state.target_weights[group.targets], float(np.median(group.ratios))
            C = group.kernel(known) + ratio * np.eye(len(known))
            cross = group.kernel(known, Z)
            v = group.kernel.diagonal(Z) - np.einsum("ij,ij->j", cross, np.linalg.solve(C, cross))
            total = group.scales * v[:, None] + group.noises
            score += (np.log(total) if kind == "entropy" else total) @ weights
        score[chosen] = -np.inf
        chosen.append(int(np.argmax(score)))
    return chosen


@pytest.mark.parametrize("gp", ["shared", "separate"])
@pytest.mark.parametrize("measure", ["entropy", "variance"])
def test_choices_are_those_of_brute_force(gp, measure):
    model, X, _ = fitted(gp=gp, n_compressed=4)
    found = choose(TargetEntropy(measure=measure), model.posterior(X), 6)
    assert found.rows.tolist() == brute_force(model, X, 6, measure)


@pytest.mark.parametrize("gp", ["shared", "separate"])
def test_lazy_choices_equal_full_scoring(gp, monkeypatch):
    model, X, _ = fitted(300, gp=gp, n_compressed=4)
    dense = choose(TargetEntropy(), model.posterior(X), 25)
    monkeypatch.setattr("labelwise.models.targets.posterior.STORED_NUMBERS", 1)
    monkeypatch.setattr("labelwise.queries.target_entropy.BLOCK", 16)
    model._pools.pools.clear()
    lazy = choose(TargetEntropy(), model.posterior(X), 25)
    np.testing.assert_array_equal(lazy.rows, dense.rows)
    np.testing.assert_allclose(lazy.scores, dense.scores, atol=1e-9)


def test_bounds_of_an_earlier_question_serve_the_next(monkeypatch):
    """One more answer, same kernel: the choice is that of full scoring, and few variances are computed for it."""
    monkeypatch.setattr("labelwise.models.targets.posterior.STORED_NUMBERS", 1)
    monkeypatch.setattr("labelwise.queries.target_entropy.BLOCK", 8)
    model, X, Y = fitted(400, refit_every=1000)
    closed = np.zeros((400, 10), dtype=bool)
    closed[:30] = True
    for step in range(10):
        (group,) = model.posterior(X).target_groups()
        before = group.bounds.copy()
        row = choose(TargetEntropy(), model.posterior(X), 1, sp.csr_array(closed)).rows
        full = np.where(closed[:, 0], -np.inf, group.covariance.diagonal())
        assert row[0] == np.argmax(full)
        computed = (group.bounds != before).sum()
        assert step == 0 or computed < 370 / 2
        closed[row] = True
        model.partial_fit(X[row], Y[row])


def test_an_earlier_posterior_of_a_large_pool_chooses_as_it_did(monkeypatch):
    """Bounds that later answers have lowered hold for later posteriors only."""
    monkeypatch.setattr("labelwise.models.targets.posterior.STORED_NUMBERS", 0)
    monkeypatch.setattr("labelwise.queries.target_entropy.BLOCK", 2)
    model, X, Y = fitted(90, refit_every=1000)
    earlier = model.posterior(X)
    groups = earlier.target_groups()
    rows = brute_force(model, X, 3)
    model.partial_fit(X[rows], Y[rows])
    choose(TargetEntropy(), model.posterior(X), 90)  # lowers every bound
    assert np.all(groups[0].bounds >= groups[0].covariance.diagonal() - 1e-12)
    assert choose(TargetEntropy(), earlier, 3).rows.tolist() == rows


@pytest.mark.parametrize("gp", ["shared", "separate"])
@pytest.mark.parametrize("weights", ["eigenvalue", "equal"])
def test_labels_without_positives_have_no_say(gp, weights):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    Y = X[:15] @ rng.standard_normal((12, 3)) > 0.4
    strategy = TargetEntropy(weights=weights)
    without, beside = (
        OrthogonalTargetGP(gp=gp, random_state=0).fit(X[:15], labels).posterior(X)
        for labels in (Y, np.hstack([Y, np.zeros((15, 4), dtype=bool)]))
    )
    alone, found = choose(strategy, without, 8), choose(strategy, beside, 8)
    np.testing.assert_array_equal(found.rows, alone.rows)
    np.testing.assert_allclose(found.scores, alone.scores, atol=1e-6)


def test_more_uncertain_items_come_first():
    """The sign: an item far from everything known is asked before one beside a known item."""
    model, X, _ = fitted()
    beside, elsewhere = X[0], -X[:30].mean(0)  # rows keep unit length: another direction than all known ones
    found = choose(TargetEntropy(), model.posterior(np.vstack([beside, elsewhere])), 1)
    assert found.rows.tolist() == [1]


def test_greedy_on_any_gaussian_beliefs():
    rng = np.random.default_rng(2)
    beliefs = JointBeliefs(rng.random((12, 3)), rng.random(12) * 6, with_factor=True)  # no two variances alike
    C, chosen = beliefs.dense(), []
    for _ in range(5):
        left = [i for i in range(12) if i not in chosen]
        chosen.append(max(left, key=lambda i: conditional_variance(C, i, chosen)))
    assert choose(TargetEntropy(), beliefs, 5).rows.tolist() == chosen


def test_batch_avoids_twins():
    model, X, _ = fitted()
    pool = np.vstack([X[50:60], X[50:60]])
    rows = choose(TargetEntropy(), model.posterior(pool), 10).rows
    assert len({int(row) % 10 for row in rows}) == 10


def test_closed_items_are_left_and_pairs_go_to_open_labels():
    model, X, _ = fitted()
    closed = np.zeros((120, 10), dtype=bool)
    closed[:100] = True
    closed[100:, :4] = True
    assert choose(TargetEntropy(), model.posterior(X), 5, sp.csr_array(closed)).rows.min() >= 100
    pairs = choose(TargetEntropy(target="pairs"), model.posterior(X), 12, sp.csr_array(closed))
    assert pairs.rows.size == 12 and not closed[pairs.rows, pairs.labels].any()


def test_equal_weights_and_variances_may_differ_from_the_default():
    model, X, _ = fitted(gp="separate", n_compressed=4)
    (a, *_), (b, *_) = (choose(TargetEntropy(weights=w), model.posterior(X), 1).scores for w in ("eigenvalue", "equal"))
    assert a != b


def test_before_anything_is_known_and_without_a_covariance():
    assert choose(TargetEntropy(), IgnorantPosterior(9, 2), 4).rows.size == 4
    assert choose(TargetEntropy(target="pairs"), IgnorantPosterior(9, 2), 4).labels.size == 4
    with pytest.raises(ValueError, match="use OrthogonalTargetGP"):
        choose(TargetEntropy(), MarginalPosterior(np.full((3, 2), 0.5)), 1)
    with pytest.raises(ValueError, match="measure must be"):
        choose(TargetEntropy(measure="trace"), IgnorantPosterior(3, 2), 1)
