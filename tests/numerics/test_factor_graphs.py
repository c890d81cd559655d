"""Expectation propagation against exact integrals, against importance sampling of the weights, and its invariants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from labelwise.numerics.factor_graphs import Comparisons, Stop, independent, multi_class, pairwise, star
from labelwise.numerics.gaussians import Gaussian
from labelwise.numerics.truncated import v_and_w

TIGHT = Stop(1e-12, 500)


def example(q, seed, *, unanswered=0):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(q) < 0.4, 1.0, -1.0)
    sign[0], sign[-1] = 1, -1  # the bias is held from both sides: a half-normal one is no Gaussian
    sign[:unanswered] = 0
    return Comparisons(rng.normal(0, 1.5, q), rng.uniform(0.3, 3, q), sign, np.where(sign > 0, 2.3, 1.0))


def moments(labels, done):
    """Mean and variance of the scores after the example."""
    return labels.mean + labels.variance * done.gain, labels.variance - labels.variance**2 * done.shrink


def exact_star(hub_mean, hub_variance, labels):
    """Moments of b and of every score by one integral over b, given which the scores are independent."""
    m, u, z, e = labels.mean, labels.variance, labels.sign, labels.margin
    wide = np.sqrt(hub_variance)
    low, high = hub_mean - 12 * wide, hub_mean + 12 * wide
    for points in (10_001, 10_001):  # the second grid is laid over what the first found
        b = np.linspace(low, high, points)
        t = (z[:, None] * (m[:, None] - b) - e[:, None]) / np.sqrt(u)[:, None]  # (q, points)
        log_density = -0.5 * (b - hub_mean) ** 2 / hub_variance + log_ndtr(t).sum(0)
        p = np.exp(log_density - log_density.max())
        p /= p.sum()
        inside = b[p > 1e-18 * p.max()]
        low, high = inside[0] - (b[1] - b[0]), inside[-1] + (b[1] - b[0])
    V, W, _ = v_and_w(t)
    given_mean = m[:, None] + z[:, None] * np.sqrt(u)[:, None] * V
    given_variance = u[:, None] * (1 - W)
    f_mean = given_mean @ p
    f_variance = given_variance @ p + (given_mean - f_mean[:, None]) ** 2 @ p
    b_mean = b @ p
    return f_mean, f_variance, b_mean, (b - b_mean) ** 2 @ p


@pytest.mark.parametrize("hub_variance", [0.1, 1.0, 1e4])
@pytest.mark.parametrize("q", [2, 3, 8, 20, 50])
def test_star_against_the_exact_integral(q, hub_variance):
    for seed in range(3):
        labels = example(q, seed)
        done = star(Gaussian.from_moments(0.3, hub_variance), labels, Stop(1e-6, 30))
        f_mean, f_variance = moments(labels, done)
        true_mean, true_variance, b_mean, b_variance = exact_star(0.3, hub_variance, labels)
        assert np.abs((f_mean - true_mean) / np.sqrt(true_variance)).max() < 1e-2
        np.testing.assert_allclose(f_variance, true_variance, rtol=0.02)
        np.testing.assert_allclose(done.hub.variance, b_variance, rtol=0.05)
        assert abs(done.hub.mean - b_mean) < 0.03 * np.sqrt(b_variance)


def test_one_label_is_exact():
    labels = example(1, 0)
    done = star(Gaussian.from_moments(0.3, 2.0), labels, TIGHT)
    f_mean, f_variance = moments(labels, done)
    v = labels.variance + 2.0
    V, W, _ = v_and_w((labels.sign * (labels.mean - 0.3) - labels.margin) / np.sqrt(v))
    np.testing.assert_allclose(f_mean, labels.mean + labels.sign * labels.variance * V / np.sqrt(v), rtol=1e-13)
    np.testing.assert_allclose(f_variance, labels.variance - labels.variance**2 * W / v, rtol=1e-12)
    np.testing.assert_allclose(done.hub.mean, (0.3 - labels.sign * 2.0 * V / np.sqrt(v))[0], rtol=1e-12)
    np.testing.assert_allclose(done.hub.variance, (2.0 - 4.0 * W / v)[0], rtol=1e-12)


@pytest.mark.parametrize("flip", [0.0, 0.05])
def test_schedules_meet(flip):
    plain = example(12, 3)
    labels = Comparisons(plain.mean, plain.variance, plain.sign, plain.margin * (flip == 0), flip)
    hub = Gaussian.from_moments(0.0, 1.0 if flip else 1e4)
    one, other = star(hub, labels, TIGHT), star(hub, labels, TIGHT, schedule="sequential")
    np.testing.assert_allclose(one.gain, other.gain, rtol=1e-6)
    np.testing.assert_allclose(one.shrink, other.shrink, rtol=1e-6)
    np.testing.assert_allclose(one.hub.mean, other.hub.mean, rtol=1e-6)


def test_order_of_labels_does_not_matter():
    labels, order = example(9, 5), np.random.default_rng(0).permutation(9)
    hub = Gaussian.from_moments(0.0, 100.0)
    np.testing.assert_allclose(star(hub, labels[order]).gain, star(hub, labels).gain[order], rtol=1e-10)


def test_turning_everything_round_turns_the_gains():
    labels = example(7, 1)
    equal = np.ones(7)
    plain = star(Gaussian.from_moments(0.4, 2.0), Comparisons(labels.mean, labels.variance, labels.sign, equal))
    turned = star(Gaussian.from_moments(-0.4, 2.0), Comparisons(-labels.mean, labels.variance, -labels.sign, equal))
    np.testing.assert_allclose(turned.gain, -plain.gain, rtol=1e-12)
    np.testing.assert_allclose(turned.shrink, plain.shrink, rtol=1e-12)


def test_a_label_without_answer_is_as_good_as_absent():
    labels = example(8, 2, unanswered=3)
    hub = Gaussian.from_moments(0.0, 50.0)
    masked, deleted = star(hub, labels), star(hub, labels[3:])
    np.testing.assert_array_equal(masked.gain[:3], 0)
    np.testing.assert_array_equal(masked.shrink[:3], 0)
    np.testing.assert_allclose(masked.gain[3:], deleted.gain, rtol=1e-12)
    np.testing.assert_allclose(masked.hub.mean, deleted.hub.mean, rtol=1e-12)


def test_three_sweeps_are_not_enough_for_a_vague_bias():
    """Why messages are exchanged until they settle: the first example of a stream is far off after three sweeps."""
    labels = example(40, 0)
    hub = Gaussian.from_moments(0.0, 1e4)
    hasty, settled = star(hub, labels, Stop(1e-3, 3)), star(hub, labels)
    assert settled.sweeps > 3
    assert abs(hasty.hub.mean - settled.hub.mean) > 0.5 * np.sqrt(settled.hub.variance)


positive = st.floats(1e-10, 1e10)


@settings(max_examples=300, deadline=None)
@given(positive, positive, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from([-1.0, 1.0]), st.floats(0, 10))
def test_messages_are_finite_and_never_take_precision_away(u, S, m, M, z, e):
    labels = Comparisons(*(np.array([value]) for value in (m, u, z, e)))
    message = labels.messages(Gaussian.from_moments(np.array([M]), np.array([S])))
    assert np.isfinite(message.precision[0]) and np.isfinite(message.shift[0])
    assert message.precision[0] >= 0
    gain, shrink = labels.derivatives(Gaussian.from_moments(np.array([M]), np.array([S])))
    assert np.isfinite(gain[0]) and 0 <= shrink[0] * u <= 1 + 1e-12


# -- in weight space, by importance sampling --------------------------------------------------------------------------


def drawn_posterior(weight, log_likelihood):
    """Mean and standard deviation of the columns of `weight` (s, k) under a log-likelihood, and the effective size."""
    p = np.exp(log_likelihood - log_likelihood.max())
    p /= p.sum()
    mean = p @ weight
    return mean, np.sqrt(p @ (weight - mean) ** 2), 1 / (p**2).sum()


def weights_after(x, prior_mean, prior_variance, done):
    """Equation (10) of the spec of this model: each weight by its own marginal."""
    mean = prior_mean + prior_variance * x[:, None] * done.gain
    return mean, prior_variance - (prior_variance * x[:, None]) ** 2 * done.shrink


def weight_problem(q, seed):
    rng = np.random.default_rng(seed)
    x = np.array([0.8, -0.6])
    mean, variance = rng.normal(0, 0.7, (2, q)), rng.uniform(0.5, 2, (2, q))
    draws = rng.normal(mean, np.sqrt(variance), (1_000_000, 2, q))
    sign = np.array([1.0, -1.0, -1.0, 1.0])[:q]
    return rng, x, mean, variance, draws, sign


def check_weights(draws, log_likelihood, mean, variance, sd, relative):
    flat = draws.reshape(len(draws), -1)
    true_mean, true_sd, size = drawn_posterior(flat, log_likelihood)
    assert size > 2e4, "too few effective draws to compare with: choose another case"
    assert np.abs((mean.ravel() - true_mean) / true_sd).max() < sd
    np.testing.assert_allclose(variance.ravel(), true_sd**2, rtol=relative)


@pytest.mark.parametrize("q", [2, 4])
@pytest.mark.parametrize("flip", [0.0, 0.1])
def test_star_against_importance_sampling(q, flip):
    rng, x, mean, variance, draws, sign = weight_problem(q, q)
    margin = np.full(q, 0.0 if flip else 0.5)
    noise, hub_variance = 0.5, 1.0
    b = rng.normal(0.1, np.sqrt(hub_variance), len(draws))
    won = ndtr((sign * (np.einsum("j,sjq->sq", x, draws) - b[:, None]) - margin) / np.sqrt(noise))
    log_likelihood = np.log((1 - flip) * won + flip * (1 - won)).sum(1)  # without a margin the other side is the rest
    scores = Comparisons(x @ mean, x**2 @ variance + noise, sign, margin, flip)
    done = star(Gaussian.from_moments(0.1, hub_variance), scores, TIGHT)
    after = weights_after(x, mean, variance, done)
    check_weights(draws, log_likelihood, *after, sd=0.05 if flip else 0.02, relative=0.05 if flip else 0.03)


def test_independent_against_importance_sampling():
    _, x, mean, variance, draws, sign = weight_problem(3, 0)
    won = log_ndtr((sign * np.einsum("j,sjq->sq", x, draws) - 0.5) / np.sqrt(0.5))
    done = independent(Comparisons(x @ mean, x**2 @ variance + 0.5, sign, np.full(3, 0.5)))
    check_weights(draws, won.sum(1), *weights_after(x, mean, variance, done), sd=0.02, relative=0.03)


@pytest.mark.parametrize("q", [2, 4])
def test_multi_class_against_importance_sampling(q):
    rng, x, mean, variance, draws, _ = weight_problem(q, 10 + q)
    f = np.einsum("j,sjq->sq", x, draws) + np.sqrt(0.5) * rng.standard_normal((len(draws), q))
    won = (f[:, :1] - f[:, 1:] > 0.3).all(1)
    sign = np.where(np.arange(q) == 0, 1.0, -1.0)
    done = multi_class(x @ mean, x**2 @ variance + 0.5, sign, 0.3, TIGHT)
    after = weights_after(x, mean, variance, done)
    check_weights(draws, np.where(won, 0.0, -np.inf), *after, sd=0.03, relative=0.03)


def test_multi_class_of_two_is_one_exact_truncation():
    mean, variance = np.array([0.2, 0.9]), np.array([1.1, 0.4])
    done = multi_class(mean, variance, np.array([1.0, -1.0]), 1.0, TIGHT)
    v = variance.sum()
    V, W, _ = v_and_w((mean[0] - mean[1] - 1.0) / np.sqrt(v))
    np.testing.assert_allclose(done.gain, [V / np.sqrt(v), -V / np.sqrt(v)], rtol=1e-10)
    np.testing.assert_allclose(done.shrink, W / v, rtol=1e-10)
    both = pairwise(mean, variance, np.array([1.0, -1.0]), 1.0, TIGHT)
    np.testing.assert_allclose(both.gain, done.gain, rtol=1e-10)
    np.testing.assert_allclose(both.shrink, done.shrink, rtol=1e-10)


def test_pairwise_against_importance_sampling():
    """Two relevant and two irrelevant labels: the graph has a loop, so the bar is lower."""
    rng, x, mean, variance, draws, sign = weight_problem(4, 21)
    f = np.einsum("j,sjq->sq", x, draws) + np.sqrt(0.5) * rng.standard_normal((len(draws), 4))
    won = f[:, sign > 0].min(1) - f[:, sign < 0].max(1) > 0.2
    done = pairwise(x @ mean, x**2 @ variance + 0.5, sign, 0.2, TIGHT)
    after = weights_after(x, mean, variance, done)
    check_weights(draws, np.where(won, 0.0, -np.inf), *after, sd=0.05, relative=0.05)
