"""Links and thresholds against general optimisers and exhaustive search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit

from labelwise.numerics import calibration
from labelwise.numerics.calibration import (
    Entries,
    LogisticLink,
    base_rates,
    bend,
    f1_thresholds,
    fit_link,
    fit_per_label,
    fit_pooled,
)


def problem(seed=0, n=60, q=5, slope=1.5):
    """Answered entries of labels from frequent to rare, one of them without a positive, one never answered."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, q))
    Y = rng.random((n, q)) < expit(slope * x + np.linspace(1, -3, q))
    Y[:, q - 2] = False
    observed = rng.random((n, q)) < 0.7
    observed[:, q - 1] = False
    return x.T[observed.T], Entries.of(Y, observed), base_rates(Y, observed)


def test_entries_come_label_after_label():
    Y = np.array([[1, 0, 1], [0, 0, 1]], dtype=bool)
    observed = np.array([[1, 0, 0], [1, 0, 1]], dtype=bool)
    entries = Entries.of(Y, observed)
    np.testing.assert_array_equal(entries.labels, [0, 0, 2])
    np.testing.assert_array_equal(entries.y, [1, 0, 1])
    np.testing.assert_array_equal(entries.sums(np.array([1.0, 2.0, 4.0])), [3, 0, 4])
    np.testing.assert_array_equal(entries.spread(np.array([5, 6, 7])), [5, 5, 7])
    np.testing.assert_array_equal(entries.of_labels(np.array([False, True, True])).y, [1])


def test_base_rates():
    Y = np.array([[1, 0, 0], [1, 0, 0], [0, 0, 0]], dtype=bool)
    observed = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 0]], dtype=bool)
    np.testing.assert_allclose(base_rates(Y, observed), [2.5 / 4, 0.5 / 3, (2.5 / 4 + 0.5 / 3) / 2])


def pooled_loss(w, x, entries, rates):
    eta = w[0] + w[1] * logit(rates)[entries.labels] + w[2] * x
    prior = calibration.POOLED_PRECISION @ (w - calibration.POOLED_MEAN) ** 2 / 2
    return np.logaddexp(0, eta).sum() - eta @ entries.y + prior


@pytest.mark.parametrize("slope", [1.5, -4.0])
def test_pooled_fit_against_a_general_optimiser(slope):
    x, entries, rates = problem(slope=slope)
    w = fit_pooled(x, entries, logit(rates))
    bounds = [(None, None), (None, None), (calibration.LEAST_SLOPE, None)]
    best = minimize(pooled_loss, [0, 1, 1], (x, entries, rates), bounds=bounds, method="L-BFGS-B", tol=1e-14)
    assert pooled_loss(w, x, entries, rates) <= best.fun + 1e-9
    np.testing.assert_allclose(w, best.x, atol=1e-4)
    assert (w[2] == calibration.LEAST_SLOPE) == (slope < 0)


def test_per_label_fit_against_a_general_optimiser():
    x, entries, rates = problem(seed=1)
    x[entries.labels == 1] *= -3  # one label that would fall
    offset, pooled = 0.3 + 1.1 * logit(rates), 1.2
    intercepts, slopes = fit_per_label(x, entries, offset, pooled)

    def loss(w, j):
        mine = entries.labels == j
        eta = w[0] + w[1] * x[mine]
        prior = ((w[0] - offset[j]) / calibration.INTERCEPT_SD) ** 2
        prior += ((w[1] - pooled) / (calibration.SLOPE_SD * pooled)) ** 2
        return np.logaddexp(0, eta).sum() - eta @ entries.y[mine] + prior / 2

    for j in range(rates.size):
        bounds = [(None, None), (calibration.LEAST_SLOPE * pooled, None)]
        best = minimize(loss, [offset[j], pooled], (j,), bounds=bounds, method="L-BFGS-B", tol=1e-14)
        assert loss([intercepts[j], slopes[j]], j) <= best.fun + 1e-9
        np.testing.assert_allclose([intercepts[j], slopes[j]], best.x, atol=1e-4)
    assert slopes[1] == calibration.LEAST_SLOPE * pooled
    assert (intercepts[-1], slopes[-1]) == (offset[-1], pooled)  # never answered: the pooled fit


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.floats(1e-6, 1e6), st.floats(0.0, 60.0))
def test_the_optimum_is_found_from_any_data(seed, scale, slope):
    """However far or near the entries are and however well they part: gradients vanish or slopes are at the bound."""
    x, entries, rates = problem(seed % 20, n=25, slope=slope)
    w = fit_pooled(bend(x * scale), entries, logit(rates))
    F = np.stack([np.ones_like(x), logit(rates)[entries.labels], bend(x * scale)])
    gradient = F @ (expit(w @ F) - entries.y) + calibration.POOLED_PRECISION * (w - calibration.POOLED_MEAN)
    size = np.abs(F).sum(axis=1) + 1
    assert np.all(np.abs(gradient / size)[: 3 if w[2] > calibration.LEAST_SLOPE else 2] < 1e-8)


def test_link_of_a_label_with_one_kind_of_answer_is_its_base_rate():
    departures, entries, rates = problem()
    link = fit_link(departures, entries, rates, np.full(5, 0.1))
    np.testing.assert_allclose(link.probabilities(np.full((1, 5), 0.1))[0, 3:], rates[3:])
    assert np.all(link.slope > 0)


def test_the_link_does_not_care_about_the_size_of_departures():
    """Twice the noise makes means depart half as far; probabilities of the same left-out means stay."""
    departures, entries, rates = problem()
    centre, means = np.zeros(5), np.linspace(-1, 1, 7)[:, None] * np.ones(5)
    straight = fit_link(departures, entries, rates, centre).probabilities(means)
    shrunk = fit_link(departures * 1e-3, entries, rates, centre).probabilities(means * 1e-3)
    np.testing.assert_allclose(shrunk, straight)


def test_a_link_learns_planted_probabilities():
    rng = np.random.default_rng(0)
    mean = rng.uniform(-0.3, 0.5, size=(4000, 2))
    truth = LogisticLink(np.array([0.1, 0.2]), np.array([0.1, 0.1]), np.array([-2.0, 0.5]), np.array([0.9, 1.2]))
    Y = rng.random(mean.shape) < truth.probabilities(mean)
    observed = np.ones(Y.shape, dtype=bool)
    link = fit_link((mean - truth.centre).T.ravel(), Entries.of(Y, observed), base_rates(Y, observed), truth.centre)
    assert np.abs(link.probabilities(mean) - truth.probabilities(mean)).mean() < 0.02


def test_nothing_to_learn_from():
    Y, observed = np.zeros((3, 2), dtype=bool), np.ones((3, 2), dtype=bool)
    rates = base_rates(Y, observed)
    link = fit_link(np.zeros(6), Entries.of(Y, observed), rates, np.zeros(2))
    np.testing.assert_allclose(link.probabilities(np.zeros((1, 2))), [rates])
    np.testing.assert_array_equal(f1_thresholds(np.full(6, 0.1), Entries.of(Y, observed)), 0.5)


def test_bend_is_odd_increasing_and_flat_far_out():
    x = np.linspace(-50, 50, 1001)
    assert np.all(np.diff(bend(x)) > 0)
    np.testing.assert_allclose(bend(x), -bend(-x))
    np.testing.assert_allclose(bend(np.array([1e-4])), 1e-4, rtol=1e-6)
    assert bend(np.array([1e6]))[0] < 60


def test_thresholds_against_exhaustive_search():
    rng = np.random.default_rng(0)
    Y, observed = rng.random((80, 4)) < [0.5, 0.2, 0.05, 0.0], rng.random((80, 4)) < 0.8
    p = np.clip(0.3 * Y + rng.random((80, 4)) * 0.6, 0, 1)
    thresholds = f1_thresholds(p.T[observed.T], Entries.of(Y, observed))
    strength = calibration.THRESHOLD_POSITIVES
    share = strength / (Y & observed).sum()
    for j in range(4):

        def smoothed_f1(t, j=j):
            chosen = (p > t) & observed
            hits, picked, there = (chosen & Y).sum(0), chosen.sum(0), (Y & observed).sum(0)
            return 2 * (hits[j] + share * hits.sum()) / (picked[j] + share * picked.sum() + there[j] + strength)

        curve = [smoothed_f1(t) for t in calibration.THRESHOLDS]
        assert smoothed_f1(thresholds[j]) == pytest.approx(max(curve))


def test_rare_labels_take_the_common_threshold_and_frequent_ones_their_own():
    rng = np.random.default_rng(1)
    n = 4000
    truth = np.column_stack([rng.beta(1, 1, n), rng.beta(1, 8, n), rng.beta(1, 8, n)])
    Y = rng.random((n, 3)) < truth
    observed = np.ones((n, 3), dtype=bool)
    observed[5:, 2] = False  # hardly answered
    first, second, rare = f1_thresholds(truth.T[observed.T], Entries.of(Y, observed))
    alone = f1_thresholds(truth[:, 0], Entries.of(Y[:, :1], observed[:, :1]))[0]
    assert first == pytest.approx(alone, abs=0.03)
    assert second < first - 0.1
    both = f1_thresholds(truth[:, :2].T.ravel(), Entries(np.array([2 * n]), Y[:, :2].T.ravel().astype(float)))[0]
    assert rare == pytest.approx(both, abs=0.05)
