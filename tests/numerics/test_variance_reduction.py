"""Variance reductions against conditioning a Gaussian by dense algebra."""

import numpy as np
import pytest

from labelwise.numerics.variance_reduction import greedy_reduction, variance_reductions


def covariance(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 1))
    return np.exp(-0.5 * (X - X.T) ** 2)


def total_variance(C, reference, noise, given):
    """Σ_j var(j | noisy answers about the given items), from the definition."""
    given = list(given)
    if not given:
        return C.diagonal()[reference].sum()
    K = C[np.ix_(given, given)] + noise * np.eye(len(given))
    cross = C[np.ix_(reference, given)]
    return (C.diagonal()[reference] - np.einsum("rg,rg->r", cross, np.linalg.solve(K, cross.T).T)).sum()


def test_the_reduction_is_what_conditioning_takes_away():
    C, reference = covariance(), np.array([0, 3, 4, 9])
    found = variance_reductions(C[:, reference], C.diagonal(), 0.3)
    before = total_variance(C, reference, 0.3, [])
    np.testing.assert_allclose(found, [before - total_variance(C, reference, 0.3, [i]) for i in range(12)])


@pytest.mark.parametrize(("slope", "seed"), [(1.0, 0), (0.2, 1), (0.0, 2)])
def test_greedy_choices_are_those_of_the_definition(slope, seed):
    rng = np.random.default_rng(seed)
    C, reference, base = covariance(seed=seed), np.arange(2, 12), rng.normal(size=12)
    base[5] = -np.inf
    found, scores = greedy_reduction(C, reference, 0.2, base, slope, 5, np.zeros(12))
    chosen = []
    for score in scores:
        before = total_variance(C, reference, 0.2, chosen)
        values = {
            i: base[i] + slope * (before - total_variance(C, reference, 0.2, [*chosen, i]))
            for i in range(12)
            if i not in chosen
        }
        pick = max(values, key=values.get)
        assert score == pytest.approx(values[pick])
        chosen.append(pick)
    assert found.tolist() == chosen


def test_it_stops_when_nothing_is_left_and_leaves_its_input_alone():
    C = covariance(4)
    before = C.copy()
    found, scores = greedy_reduction(C, np.arange(4), 0.1, np.array([0, -np.inf, 0, 0.0]), 1.0, 9, np.arange(4.0))
    assert sorted(found) == [0, 2, 3] and scores.size == 3
    np.testing.assert_array_equal(C, before)
