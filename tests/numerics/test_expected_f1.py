"""Expected F-measures against sums over every outcome, a dynamic programme, and plain loops over samples."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise.numerics.expected_f1 import (
    best_prefixes,
    best_sampled_prefixes,
    cut_scores,
    expected_scores,
    highest,
    quadrature,
)

BETAS = (0.001, 0.1, 0.5, 0.7, 1.0, 1.3, 2.0, 10.0, 1000.0)  # β² and 1/β² whole and fractional, both limits


def every(n):
    return np.array(list(product([0, 1], repeat=n)))


def f_measure(hits, size, positives, beta, empty):
    with np.errstate(invalid="ignore"):
        f = (1 + beta**2) * hits / (size + beta**2 * positives)
    return np.where(size + positives == 0, empty, f)


def sum_over_outcomes(p, beta, empty):
    """(2ⁿ,) expected F of every subset of n independent entries, by its definition, and the subsets."""
    outcomes = every(len(p))
    chance = np.prod(np.where(outcomes == 1, p, 1 - p), axis=1)
    f = f_measure(outcomes @ outcomes.T, outcomes.sum(1)[:, None], outcomes.sum(1)[None, :], beta, empty)
    return f @ chance, outcomes


def count_distribution(p):
    """(n + 1,) probabilities of Σ y, one entry after the other."""
    chance = np.ones(1)
    for value in p:
        chance = np.append(chance * (1 - value), 0) + np.append(0, chance * value)
    return chance


def by_counts(p, k, beta):
    """Expected F of the first k entries from the distributions of the hits and of the positives missed."""
    hits, missed = count_distribution(p[:k]), count_distribution(p[k:])
    a, b = np.arange(hits.size)[:, None], np.arange(missed.size)
    return float(hits @ f_measure(a, k, a + b, beta, 0.0) @ missed)


def falling(seed, n, kind):
    rng = np.random.default_rng(seed)
    p = {"even": rng.random(n), "rare": rng.random(n) ** 8, "sure": 1 - rng.random(n) ** 8}[kind]
    return np.sort(p)[::-1].copy()


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("kind", ["even", "rare", "sure"])
@pytest.mark.parametrize("empty", [0.0, 0.3, 1.0])
def test_best_prefix_is_the_best_of_all_subsets(kind, beta, empty):
    p = falling(0, 9, kind)
    truth, subsets = sum_over_outcomes(p, beta, empty)
    rows = np.broadcast_to(p, subsets.shape).copy()
    values = expected_scores(rows, np.ones(rows.shape), subsets.astype(float), beta, empty)
    np.testing.assert_allclose(values, truth, atol=1e-13)
    taken, expected = best_prefixes(p[None], np.ones((1, 9)), beta, empty)
    np.testing.assert_allclose(expected, truth.max(), rtol=1e-11)
    prefix = np.arange(9) < taken[0]
    np.testing.assert_allclose(truth[(subsets == prefix).all(1)], truth.max(), rtol=1e-11)


def test_each_row_is_a_problem_of_its_own():
    rows = np.stack([falling(seed, 6, kind) for seed, kind in enumerate(["rare", "even", "sure", "rare"])])
    taken, expected = best_prefixes(rows, np.ones(rows.shape), 1.0, 0.0)
    for p, k, value in zip(rows, taken, expected, strict=True):
        alone = best_prefixes(p[None], np.ones((1, 6)), 1.0, 0.0)
        assert (k, value) == (alone[0][0], alone[1][0])
    assert len(set(taken)) > 1


@pytest.mark.parametrize(("n", "kind", "beta"), [(60, "even", 1.0), (300, "rare", 1.0), (300, "rare", 2.5)])
def test_large_rows_against_the_distribution_of_counts(n, kind, beta):
    p = falling(1, n, kind)
    by_size = [by_counts(p, k, beta) for k in range(1, n + 1)]
    taken, expected = best_prefixes(p[None], np.ones((1, n)), beta, 0.0)
    np.testing.assert_allclose(expected, max(by_size), rtol=1e-11)  # and so the search did not end too early
    assert taken[0] == np.argmax(by_size) + 1


def test_many_entries_against_simulation():
    rng = np.random.default_rng(2)
    p = np.sort(rng.beta(0.05, 3, 20_000))[::-1].copy()
    taken, expected = best_prefixes(p[None], np.ones((1, p.size)), 1.0, 0.0)
    drawn = rng.random((400, p.size)) < p
    f = 2 * drawn[:, : taken[0]].sum(1) / (taken[0] + drawn.sum(1))
    assert abs(f.mean() - expected[0]) < 5 * f.std() / np.sqrt(400)
    for other in (0.8, 1.25):
        k = int(other * taken[0])
        assert (2 * drawn[:, :k].sum(1) / (k + drawn.sum(1))).mean() < f.mean()


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("scale", [0.005, 0.5])  # below and above where the series for small p ends
def test_groups_equal_their_entries(beta, scale):
    p = np.array([1.9, 1.5, 0.7, 0.1, 0.0]) * scale
    count = np.array([3.0, 1.0, 0.0, 40.0, 7.0])
    spread = np.repeat(p, count.astype(int))
    chosen = np.array([2.0, 0.0, 0.0, 5.0, 1.0])
    taken_one_by_one = np.zeros(spread.size)
    taken_one_by_one[[0, 1, 4, 5, 6, 7, 8, 44]] = 1
    np.testing.assert_allclose(
        expected_scores(p[None], count[None], chosen[None], beta, 0.0),
        expected_scores(spread[None], np.ones((1, spread.size)), taken_one_by_one[None], beta, 0.0),
        rtol=1e-12,
    )
    taken, expected = best_prefixes(p[None], count[None], beta, 0.4)
    ends = np.cumsum(count).astype(int)
    by_group = [0.4 * np.prod(1 - spread)] + [by_counts(spread, k, beta) for k in ends]
    np.testing.assert_allclose(expected, max(by_group), rtol=1e-11)
    assert taken[0] == np.argmax(by_group)


@pytest.mark.parametrize("beta", BETAS)
def test_certain_entries_give_the_plain_measure(beta):
    p = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    for k in range(1, 6):
        chosen = (np.arange(5) < k).astype(float)
        value = expected_scores(p[None], np.ones((1, 5)), chosen[None], beta, 0.0)
        np.testing.assert_allclose(value, f_measure(min(k, 3), k, 3, beta, 0.0), rtol=1e-12)
    taken, expected = best_prefixes(p[None], np.ones((1, 5)), beta, 0.0)
    assert taken[0] == 3
    np.testing.assert_allclose(expected, 1.0, rtol=1e-12)


def test_beta_goes_from_precision_to_recall():
    p = np.array([[0.6, 0.5, 0.3, 0.1, 0.02]])
    sizes, values = zip(*(best_prefixes(p, np.ones((1, 5)), beta, 0.0) for beta in BETAS), strict=True)
    assert list(np.ravel(sizes)) == sorted(np.ravel(sizes))
    assert sizes[0] == 1 and abs(values[0][0] - 0.6) < 1e-5  # precision: the surest entry alone
    some = 1 - np.prod(1 - p)
    assert sizes[-1] == 5 and abs(values[-1][0] - some) < 1e-4  # recall, 0 where there is nothing to recall: all


def test_nothing_is_chosen_where_nothing_is_possible():
    p = np.zeros((2, 4))
    for empty in (0.0, 1.0):
        taken, expected = best_prefixes(p, np.ones((2, 4)), 1.0, empty)
        np.testing.assert_array_equal(taken, 0)
        np.testing.assert_array_equal(expected, empty)
    taken, expected = best_prefixes(np.zeros((3, 0)), np.zeros((3, 0)), 1.0, 1.0)
    np.testing.assert_array_equal(expected, np.ones(3))
    assert taken.tolist() == [0, 0, 0]


def test_underflow_leaves_no_nan():
    p = np.concatenate([np.full(5000, 1.0), np.full(5000, 0.7)])[None]
    taken, expected = best_prefixes(p, np.ones(p.shape), 1.0, 1.0)
    assert taken[0] == 10_000
    np.testing.assert_allclose(expected, 2 * 8500 / (10_000 + 8500), rtol=1e-3)


def test_quadrature_integrates_reciprocals():
    for beta in BETAS:
        nodes = quadrature(beta, 50)
        for k, positives in ((1, 1), (3, 50), (50, 2)):  # (1 + B)/(k + B N), each of the N true entries giving a factor
            value = nodes.weight @ (np.exp(k * nodes.log_x) * (1 - nodes.absent) ** (positives - 1))
            np.testing.assert_allclose(value, (1 + beta**2) / (k + beta**2 * positives), rtol=1e-11)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8),
    st.floats(0.05, 20),
    st.floats(0, 1),
    st.integers(0, 255),
)
def test_no_subset_beats_the_best_prefix(values, beta, empty, pattern):
    p = np.sort(values)[::-1][None].copy()
    chosen = ((pattern >> np.arange(p.size)) & 1).astype(float)[None]
    taken, expected = best_prefixes(p, np.ones(p.shape), beta, empty)
    assert expected_scores(p, np.ones(p.shape), chosen, beta, empty)[0] <= expected[0] * (1 + 1e-10) + 1e-12
    prefix = (np.arange(p.size) < taken[0]).astype(float)[None]
    np.testing.assert_allclose(expected_scores(p, np.ones(p.shape), prefix, beta, empty), expected, rtol=1e-9)


# -- from samples ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("beta", "empty"), [(1.0, 0.0), (0.5, 1.0), (2.0, 0.2)])
def test_cuts_equal_the_naive_formula(beta, empty):
    rng = np.random.default_rng(3)
    s, n, q, groups = 7, 40, 3, 6
    code = rng.integers(0, groups, (n, q))
    code[code == 2] = 3  # a group without items
    drawn = rng.random((s, n, q)) < 0.4 / (1 + code)
    drawn[:3, :, 1] = False
    drawn[:, :, 2] = False
    hits = np.array([[np.bincount(code[drawn[t, :, j], j], minlength=groups) for j in range(q)] for t in range(s)])
    count = np.array([np.bincount(code[:, j], minlength=groups) for j in range(q)])
    taken, expected = highest(cut_scores(hits, count, beta, empty))
    for j in range(q):
        naive = []
        for cut in range(groups + 1):
            chosen = code[:, j] < cut
            found = [
                f_measure((drawn[t, :, j] & chosen).sum(), chosen.sum(), drawn[t, :, j].sum(), beta, empty)
                for t in range(s)
            ]
            naive.append(np.mean(found))
        np.testing.assert_allclose(expected[j], max(naive), rtol=1e-12)
        assert taken[j] == np.argmax(naive)


@pytest.mark.parametrize(("beta", "empty"), [(1.0, 0.0), (1.0, 1.0), (0.5, 0.3), (3.0, 1.0)])
def test_sampled_prefixes_equal_loops(beta, empty):
    rng = np.random.default_rng(4)
    s, n, q = 9, 12, 5
    p = rng.random((n, q)) * rng.random((n, 1))
    drawn = rng.random((s, n, q)) < p
    rank = np.argsort(np.argsort(-p, axis=1), axis=1)
    taken, expected = best_sampled_prefixes(rank, drawn, beta, empty)
    for i in range(n):
        naive = []
        for k in range(q + 1):
            hits = (drawn[:, i] & (rank[i] < k)).sum(1)
            naive.append(f_measure(hits, k, drawn[:, i].sum(1), beta, empty).mean())
        np.testing.assert_allclose(expected[i], max(naive), rtol=1e-12)
        np.testing.assert_allclose(naive[taken[i]], max(naive), rtol=1e-12)
    assert len(set(taken)) > 1
