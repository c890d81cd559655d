"""Clusters, DropoutDisagreement and TypicalFirst from outside, on toys with known answers; what all four share."""

import numpy as np
import pytest
import scipy.sparse as sp

import labelwise as lw
from labelwise.numerics.clustering import nearest_to_centres
from labelwise.posterior import MarginalPosterior
from labelwise.queries import BY_NAME
from moving_beliefs import Draws, chosen, nearest_of_best_clusters, pool

SEEDS = range(6)
NAMES = ("beta_score", "correlated_beta", "dropout_disagreement", "typical_first")


# ---- clusters


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_rows_nearest_to_the_centres_of_all_clusterings(seed, sparse):
    """Section 1, batch: k-means with B clusters; the item nearest each centre, against every partition of 8 rows."""
    rng = np.random.default_rng(seed)
    Z = np.repeat(10 * np.eye(3), [3, 1, 4], axis=0) + rng.normal(size=(8, 3))
    got = nearest_to_centres(sp.csr_array(Z) if sparse else Z, 3, np.random.default_rng(seed))
    assert sorted(got.tolist()) == nearest_of_best_clusters(Z, 3)


def test_duplicates_are_resolved_by_the_next_nearest():
    """Section 1, batch, and section 4, tests: duplicates never twice; copies of few rows still fill the batch."""
    Z = np.array([[0.0, 1.0]] * 4 + [[1.0, 0.0]])
    for n in range(1, 6):
        got = nearest_to_centres(Z, n, np.random.default_rng(n)).tolist()
        assert len(got) == len(set(got)) == n
        assert n == 1 or 4 in got
    assert len(set(nearest_to_centres(np.ones((6, 3)), 4, np.random.default_rng(0)).tolist())) == 4


def test_more_rows_than_there_are_and_none():
    """Section 2, pitfalls: fewer candidates than B must not fail: all of them."""
    Z = np.random.default_rng(0).normal(size=(4, 2))
    assert sorted(nearest_to_centres(Z, 9, np.random.default_rng(0)).tolist()) == [0, 1, 2, 3]
    assert nearest_to_centres(Z, 0, np.random.default_rng(0)).size == 0


# ---- all four


@pytest.mark.parametrize("name", NAMES)
def test_batches_are_full_different_open_and_repeatable(name):
    """Section 1 and 4: no duplicates, nothing closed, the same with the same chance; fewer where fewer are open."""
    rng = np.random.default_rng(0)
    beliefs = Draws(rng.random((4, 30, 3)))
    known = pool(30, 3, X=rng.normal(size=(30, 4)), Y=rng.random((30, 3)) < 0.5, known=range(12))
    for n in (0, 1, 5, 18, 40):
        rows = chosen(BY_NAME[name](), beliefs, n, known=known)
        assert len(set(rows)) == len(rows) == min(n, 18)
        assert not set(rows) & set(range(12))
        assert rows == chosen(BY_NAME[name](), beliefs, n, known=known)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_beliefs_that_say_nothing(name, p):
    """Section 1, tests: identical samples have no gain anywhere; a batch is still full and different."""
    same = MarginalPosterior(np.full((20, 2), p))
    assert len(set(chosen(BY_NAME[name](), same, 6))) == 6
    one_answered = pool(20, 2, Y=np.ones((20, 2), dtype=bool), known=[3])
    assert len(set(chosen(BY_NAME[name](), same, 6, known=one_answered)) - {3}) == 6


@pytest.mark.parametrize("name", NAMES)
def test_copies_are_asked_once_each(name):
    """Section 4, tests: items that are copies in features and beliefs are different rows, chosen once each."""
    known = pool(12, 2, X=np.ones((12, 3)), known=[0])
    rows = chosen(BY_NAME[name](), Draws(np.tile([[[0.2, 0.7]], [[0.4, 0.6]]], (2, 12, 1))), 5, known=known)
    assert len(set(rows)) == 5


# ---- DropoutDisagreement


def cancelling(per_blob=10, confident=80, seed=0):
    """Features, beliefs and answers: items whose features agree, and two blobs of items whose features cancel.

    The label is the sum of 40 features. Of the first 80 items all features agree, half of them up and half down; of the
    others, one half of the features up as much as another is down, in one of two patterns.
    """
    rng = np.random.default_rng(seed)
    up = np.where(np.arange(confident) % 2, 1.0, -1.0)[:, None] * np.ones((1, 40))
    one = np.repeat([1.0, -1.0], 20)
    other = np.tile([1.0, -1.0], 20)
    X = np.concatenate([up, np.tile(one, (per_blob, 1)), np.tile(other, (per_blob, 1))])
    X += 0.05 * rng.normal(size=X.shape)
    p = 1 / (1 + np.exp(-X.sum(1)))[:, None]
    return X, np.clip(p, 1e-9, 1 - 1e-9), (X.sum(1) > 0)[:, None]


@pytest.mark.parametrize("seed", SEEDS)
def test_items_that_flip_are_asked_one_of_each_cluster(seed):
    """Section 3, formulas: candidates flip under dropout; of them k-means and the nearest: one of each blob.

    Where all features agree δ = Φ(−√(40 / 3)) < 0.001; where they cancel it is about ½.
    """
    X, p, Y = cancelling()
    known = pool(*p.shape, X=X, Y=Y, known=range(40))
    rows = chosen(lw.DropoutDisagreement(), MarginalPosterior(p), 2, known=known, seed=seed)
    assert sorted((row - 80) // 10 for row in rows) == [0, 1]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_larger_than_what_flips_is_filled(seed):
    """Section 3, formulas: fewer than B that flip: the rest at random, and those that flip are all in it."""
    X, p, Y = cancelling(per_blob=2)
    known = pool(*p.shape, X=X, Y=Y, known=range(40))
    rows = chosen(lw.DropoutDisagreement(), MarginalPosterior(p), 10, known=known, seed=seed)
    assert {80, 81, 82, 83} <= set(rows) and len(set(rows)) == 10


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.0, 1.0)])
def test_flips_of_labels_count_by_their_weights(weights):
    """Section 3, multi-label: Σ_j a_j δ_ij: where one label alone counts, so do its flips, whatever the other does."""
    X, _, _ = cancelling()
    signs = np.stack([np.ones(40), np.where(np.arange(40) < 20, 1.0, -1.0)])  # the second label flips where the
    f = X @ signs.T  # features agree, and not where they cancel in the first pattern
    known = pool(100, 2, X=X, Y=f > 0, known=range(40))
    p = np.clip(1 / (1 + np.exp(-f)), 1e-9, 1 - 1e-9)
    strategy = lw.DropoutDisagreement(label_weights=weights, candidates=5)
    certain = set(range(80)) if weights[0] else set(range(80, 90))
    for seed in SEEDS:
        assert not certain & set(chosen(strategy, MarginalPosterior(p), 2, known=known, seed=seed))


# ---- TypicalFirst


def blobs(sizes, seed=0, d=12):
    """Unit rows around orthogonal directions: of each blob the first 60 % close together, the others farther out."""
    rng = np.random.default_rng(seed)
    rows, member, core = [], [], []
    for k, size in enumerate(sizes):
        tight = int(0.6 * size)
        spread = np.where(np.arange(size) < tight, 0.01, 0.15)[:, None]
        Z = np.eye(d)[k] + spread * rng.normal(size=(size, d))
        rows.append(Z / np.linalg.norm(Z, axis=1, keepdims=True))
        member += [k] * size
        core += [True] * tight + [False] * (size - tight)
    return np.concatenate(rows), np.array(member), np.array(core)


@pytest.mark.parametrize("seed", SEEDS)
def test_typical_items_one_of_each_blob(seed):
    """Section 4, tests: separated blobs with B = blobs → one each; TypiClust: the densest point of each cluster."""
    X, member, core = blobs([30, 24, 40, 20], seed)
    known = pool(len(X), 2, X=X)
    rows = chosen(lw.TypicalFirst(), MarginalPosterior(np.full((len(X), 2), 0.5)), 4, known=known, seed=seed)
    assert sorted(member[rows].tolist()) == [0, 1, 2, 3]
    assert core[rows].all()


@pytest.mark.parametrize("seed", SEEDS)
def test_clusters_without_answers_come_first(seed):
    """Section 4, TypiClust: order by fewest labelled: with two of four blobs answered, the others are next."""
    X, member, core = blobs([30, 24, 40, 20], seed)
    answered = [int(np.flatnonzero(member == k)[0]) for k in (0, 2)]
    known = pool(len(X), 2, X=X, known=answered)
    rows = chosen(lw.TypicalFirst(), MarginalPosterior(np.full((len(X), 2), 0.5)), 2, known=known, seed=seed)
    assert sorted(member[rows].tolist()) == [1, 3]
    assert core[rows].all()


@pytest.mark.parametrize("seed", SEEDS)
def test_typical_first_needs_no_beliefs(seed):
    """Section 4: needs no posterior: other beliefs, the same questions."""
    X, _, _ = blobs([30, 24, 40, 20], seed)
    known, p = pool(len(X), 2, X=X), np.random.default_rng(seed).random((len(X), 2))
    first = chosen(lw.TypicalFirst(), MarginalPosterior(p), 6, known=known, seed=seed)
    assert first == chosen(lw.TypicalFirst(), MarginalPosterior(1 - p), 6, known=known, seed=seed)


def test_typical_first_until_nothing_is_left():
    """Section 4, pitfalls: an exhausted cluster breaks the released code; tests: no duplicates; here all are asked."""
    X, _, _ = blobs([12, 7, 3], 1)
    posterior, answered = MarginalPosterior(np.full((22, 2), 0.5)), []
    for turn in range(8):
        rows = chosen(lw.TypicalFirst(), posterior, 3, known=pool(22, 2, X=X, known=answered), seed=turn)
        assert len(rows) == min(3, 22 - len(answered)) and not set(rows) & set(answered)
        answered += rows
    assert sorted(answered) == list(range(22))


@pytest.mark.parametrize("sparse", [False, True])
def test_small_clusters_are_left_out(sparse):
    """Section 4, TypiClust: clusters with ≤ 5 members are dropped: a stray item far from all does not come first."""
    X, member, _ = blobs([30, 30, 1], 2)
    known = pool(61, 2, X=sp.csr_array(X) if sparse else X)
    for seed in SEEDS:
        rows = chosen(lw.TypicalFirst(), MarginalPosterior(np.full((61, 2), 0.5)), 3, known=known, seed=seed)
        assert 2 not in member[rows]
