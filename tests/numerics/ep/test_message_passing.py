"""Compiled expectation propagation against a slow rival, exact integrals, importance sampling, and its invariants."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from comparison_ep import absorb
from labelwise.numerics.ep import message_passing
from labelwise.numerics.ep.message_passing import Likelihood, make_work
from labelwise.numerics.ep.truncated import table, v_and_w
from rest_slow import rest_slow

Q = 11


class Scores(NamedTuple):
    """Mean and variance of the scores, signs of the answers (0: none), and margins."""

    mean: np.ndarray
    variance: np.ndarray
    sign: np.ndarray
    margin: np.ndarray

    def of(self, labels):
        return Scores(*(line[labels] for line in self))


class Done(NamedTuple):
    g: np.ndarray
    h: np.ndarray
    hub: np.ndarray
    sweeps: int


def fill(scores, *, dtype=np.float64, pairwise=False):
    work = make_work(len(scores.mean), np.empty(0, dtype), pairwise)
    work.m[:], work.u[:], work.e[:] = scores.mean, scores.variance, scores.margin
    return work, scores.sign.astype(np.int8)


def exchange(graph, scores, *, hub=(0.0, 1.0), flip=0.0, tolerance=1e-12, max_sweeps=3000, dtype=np.float64):
    """Messages exchanged by the compiled function of that name, until they settle unless told otherwise."""
    work, z = fill(scores, dtype=dtype, pairwise=graph == "pairwise")
    hub, how = np.array(hub), Likelihood(table(), 1.0, scores.margin[0], True, flip, tolerance, max_sweeps)
    arguments = (work, z, hub, how) if graph == "star" else (work, z, how)
    sweeps = getattr(message_passing, graph)(*arguments)
    np.testing.assert_array_equal(z, scores.sign)
    return Done(work.g, work.h, hub, sweeps)


def random_scores(seed, *, margin=None):
    rng = np.random.default_rng(seed)
    sign = rng.choice(np.array([-1.0, -1.0, 0.0, 1.0]), Q)
    sign[:2] = 1, -1
    return Scores(
        rng.normal(0, 2, Q), rng.uniform(0.2, 3, Q), sign, np.full(Q, margin) if margin else rng.uniform(0.5, 4, Q)
    )


def one_true(scores, label):
    sign = -np.abs(scores.sign)
    sign[label] = 1
    return scores._replace(sign=sign)


def assert_same(done, truth, rtol=1e-7, atol=1e-9):
    np.testing.assert_allclose(done.g, truth[0], rtol=rtol, atol=atol)
    np.testing.assert_allclose(done.h, truth[1], rtol=rtol, atol=atol)


# -- against the rival ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", rest_slow(range(8), 2))
@pytest.mark.parametrize("hub_variance", [1e-6, 1.0, 1e4])
def test_star(seed, hub_variance):
    scores, hub = random_scores(seed), (0.4, hub_variance)
    done, truth = exchange("star", scores, hub=hub), absorb("star", *scores, hub)
    assert_same(done, truth)
    np.testing.assert_allclose(done.hub, np.ravel(truth[2]), rtol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_star_with_flipped_answers(seed):
    scores, hub = random_scores(seed)._replace(margin=np.zeros(Q)), (0.4, 1.0)
    done, truth = exchange("star", scores, hub=hub, flip=0.07), absorb("star", *scores, hub, 0.07)
    assert_same(done, truth, rtol=1e-6)
    np.testing.assert_allclose(done.hub, np.ravel(truth[2]), rtol=1e-7)


@pytest.mark.parametrize("flip", [0.0, 0.07])
def test_independent(flip):
    scores = random_scores(0)
    assert_same(exchange("independent", scores, flip=flip), absorb("independent", *scores, flip=flip))


@pytest.mark.parametrize("seed", range(8))
def test_multi_class(seed):
    scores = one_true(random_scores(seed, margin=1.0), seed)
    assert_same(exchange("multi_class", scores), absorb("pairwise", *scores))


def test_multi_class_without_a_true_label_says_nothing():
    scores = random_scores(0)
    done = exchange("multi_class", scores._replace(sign=np.minimum(scores.sign, 0)))
    assert done.sweeps == 0 and not done.g.any() and not done.h.any()


@pytest.mark.parametrize("seed", range(5))
def test_pairwise(seed):
    scores = random_scores(seed, margin=1.0)
    work, z = fill(scores, pairwise=True)
    how = Likelihood(table(), 1.0, 1.0, True, 0.0, 1e-12, 3000)
    message_passing.pairwise(work, -z, how)  # leaves messages behind that the next example must not see
    sweeps = message_passing.pairwise(work, z, how)
    assert_same(Done(work.g, work.h, np.empty(0), sweeps), absorb("pairwise", *scores))


def test_sweeps_end_at_the_cap_or_where_little_moves():
    scores, hub = random_scores(0), (0.0, 1e4)
    assert exchange("star", scores, hub=hub, tolerance=1e-15, max_sweeps=4).sweeps == 4
    rough, settled = exchange("star", scores, hub=hub, tolerance=1e-3), exchange("star", scores, hub=hub)
    assert 1 < rough.sweeps < settled.sweeps
    np.testing.assert_allclose(rough.g, settled.g, atol=0.01)


def test_single_precision_scores():
    scores, hub = random_scores(2), (0.4, 1e4)
    done = exchange("star", scores, hub=hub, dtype=np.float32)
    assert done.g.dtype == np.float32
    assert_same(done, absorb("star", *scores, hub), rtol=1e-4, atol=1e-6)


# -- against exact integrals ------------------------------------------------------------------------------------------


def example(q, seed, *, unanswered=0):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(q) < 0.4, 1.0, -1.0)
    sign[0], sign[-1] = 1, -1  # the bias is held from both sides: a half-normal one is no Gaussian
    sign[:unanswered] = 0
    return Scores(rng.normal(0, 1.5, q), rng.uniform(0.3, 3, q), sign, np.where(sign > 0, 2.3, 1.0))


def moments(scores, done):
    """Mean and variance of the scores after the example."""
    return scores.mean + scores.variance * done.g, scores.variance - scores.variance**2 * done.h


def exact_star(hub_mean, hub_variance, scores):
    """Moments of b and of every score by one integral over b, given which the scores are independent."""
    m, u, z, e = scores.mean, scores.variance, scores.sign, scores.margin
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
        scores = example(q, seed)
        done = exchange("star", scores, hub=(0.3, hub_variance), tolerance=1e-6, max_sweeps=30)
        f_mean, f_variance = moments(scores, done)
        true_mean, true_variance, b_mean, b_variance = exact_star(0.3, hub_variance, scores)
        assert np.abs((f_mean - true_mean) / np.sqrt(true_variance)).max() < 1e-2
        np.testing.assert_allclose(f_variance, true_variance, rtol=0.02)
        np.testing.assert_allclose(done.hub[1], b_variance, rtol=0.05)
        assert abs(done.hub[0] - b_mean) < 0.03 * np.sqrt(b_variance)


@pytest.mark.parametrize(("q", "too_small"), [(2, 0.25), (3, 0.35)])
def test_a_vague_bias_that_is_held_from_one_side_comes_out_too_sure(q, too_small):
    """Half of a wide Gaussian is none: if all answers are no, the variance of the bias is far below the exact one."""
    scores = example(q, 0)._replace(sign=-np.ones(q), margin=np.ones(q))
    done = exchange("star", scores, hub=(0.0, 1e4))
    f_mean, _ = moments(scores, done)
    true_mean, true_variance, _, b_variance = exact_star(0.0, 1e4, scores)
    assert abs(1 - done.hub[1] / b_variance - too_small) < 0.02
    assert np.abs((f_mean - true_mean) / np.sqrt(true_variance)).max() < 0.02  # the scores hardly notice


def test_a_bias_of_variance_one_that_is_held_from_one_side_is_right():
    for q in (2, 12, 50):
        scores = example(q, 0)._replace(sign=-np.ones(q), margin=np.ones(q))
        done = exchange("star", scores, hub=(0.3, 1.0))
        np.testing.assert_allclose(done.hub[1], exact_star(0.3, 1.0, scores)[3], rtol=0.06)


def test_one_label_is_exact():
    scores = example(1, 0)
    done = exchange("star", scores, hub=(0.3, 2.0))
    f_mean, f_variance = moments(scores, done)
    v = scores.variance + 2.0
    V, W, _ = v_and_w((scores.sign * (scores.mean - 0.3) - scores.margin) / np.sqrt(v))
    np.testing.assert_allclose(f_mean, scores.mean + scores.sign * scores.variance * V / np.sqrt(v), rtol=1e-9)
    np.testing.assert_allclose(f_variance, scores.variance - scores.variance**2 * W / v, rtol=1e-9)
    np.testing.assert_allclose(done.hub[0], (0.3 - scores.sign * 2.0 * V / np.sqrt(v))[0], rtol=1e-9)
    np.testing.assert_allclose(done.hub[1], (2.0 - 4.0 * W / v)[0], rtol=1e-9)


# -- invariants -------------------------------------------------------------------------------------------------------


def test_order_of_labels_does_not_matter():
    scores, order = example(9, 5), np.random.default_rng(0).permutation(9)
    plain, mixed = (exchange("star", each, hub=(0.0, 100.0)) for each in (scores, scores.of(order)))
    np.testing.assert_allclose(mixed.g, plain.g[order], rtol=1e-9)


def test_turning_everything_round_turns_the_gains():
    scores = example(7, 1)._replace(margin=np.ones(7))
    plain = exchange("star", scores, hub=(0.4, 2.0))
    turned = exchange("star", scores._replace(mean=-scores.mean, sign=-scores.sign), hub=(-0.4, 2.0))
    np.testing.assert_allclose(turned.g, -plain.g, rtol=1e-12)
    np.testing.assert_allclose(turned.h, plain.h, rtol=1e-12)


def test_a_label_without_answer_is_as_good_as_absent():
    scores = example(8, 2, unanswered=3)
    masked, deleted = (exchange("star", each, hub=(0.0, 50.0)) for each in (scores, scores.of(slice(3, None))))
    np.testing.assert_array_equal(masked.g[:3], 0)
    np.testing.assert_array_equal(masked.h[:3], 0)
    np.testing.assert_allclose(masked.g[3:], deleted.g, rtol=1e-10)
    np.testing.assert_allclose(masked.hub, deleted.hub, rtol=1e-10)


def test_three_sweeps_are_not_enough_for_a_vague_bias():
    """Why messages are exchanged until they settle: the first example of a stream is far off after three sweeps."""
    scores, hub = example(40, 0), (0.0, 1e4)
    hasty = exchange("star", scores, hub=hub, tolerance=1e-3, max_sweeps=3)
    settled = exchange("star", scores, hub=hub, tolerance=1e-3, max_sweeps=30)
    assert settled.sweeps > 3
    assert abs(hasty.hub[0] - settled.hub[0]) > 0.5 * np.sqrt(settled.hub[1])


positive = st.floats(1e-10, 1e10)


@settings(max_examples=300, deadline=None)
@given(positive, positive, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.sampled_from([-1.0, 1.0]), st.floats(0, 10))
def test_messages_are_finite_and_never_take_precision_away(u, S, m, M, z, e):
    work, sign = fill(Scores(*(np.array([value]) for value in (m, u, z, e))))
    hub = np.array([M, S])
    message_passing.star(work, sign, hub, Likelihood(table(), 1.0, e, True, 0.0, 1e-3, 30))
    assert np.isfinite(work.lam[0]) and np.isfinite(work.eta[0]) and np.isfinite(hub).all()
    assert work.lam[0] >= 0
    assert np.isfinite(work.g[0]) and 0 <= work.h[0] * u <= 1 + 1e-12


# -- in weight space, by importance sampling --------------------------------------------------------------------------


def drawn_posterior(weight, log_likelihood):
    """Mean and standard deviation of the columns of `weight` (s, k) under a log-likelihood, and the effective size."""
    p = np.exp(log_likelihood - log_likelihood.max())
    p /= p.sum()
    mean = p @ weight
    return mean, np.sqrt(p @ (weight - mean) ** 2), 1 / (p**2).sum()


def weights_after(x, prior_mean, prior_variance, done):
    """Equation (10) of the spec of this model: each weight by its own marginal."""
    mean = prior_mean + prior_variance * x[:, None] * done.g
    return mean, prior_variance - (prior_variance * x[:, None]) ** 2 * done.h


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


@pytest.mark.parametrize("q", rest_slow([4, 2]))
@pytest.mark.parametrize("flip", [0.0, 0.1])
def test_star_against_importance_sampling(q, flip):
    rng, x, mean, variance, draws, sign = weight_problem(q, q)
    margin = np.full(q, 0.0 if flip else 0.5)
    noise, hub_variance = 0.5, 1.0
    b = rng.normal(0.1, np.sqrt(hub_variance), len(draws))
    won = ndtr((sign * (np.einsum("j,sjq->sq", x, draws) - b[:, None]) - margin) / np.sqrt(noise))
    log_likelihood = np.log((1 - flip) * won + flip * (1 - won)).sum(1)  # without a margin the other side is the rest
    scores = Scores(x @ mean, x**2 @ variance + noise, sign, margin)
    done = exchange("star", scores, hub=(0.1, hub_variance), flip=flip)
    after = weights_after(x, mean, variance, done)
    check_weights(draws, log_likelihood, *after, sd=0.05 if flip else 0.02, relative=0.05 if flip else 0.03)


def test_independent_against_importance_sampling():
    _, x, mean, variance, draws, sign = weight_problem(3, 0)
    won = log_ndtr((sign * np.einsum("j,sjq->sq", x, draws) - 0.5) / np.sqrt(0.5))
    done = exchange("independent", Scores(x @ mean, x**2 @ variance + 0.5, sign, np.full(3, 0.5)))
    check_weights(draws, won.sum(1), *weights_after(x, mean, variance, done), sd=0.02, relative=0.03)


@pytest.mark.parametrize("q", [2, 4])
def test_multi_class_against_importance_sampling(q):
    rng, x, mean, variance, draws, _ = weight_problem(q, 10 + q)
    f = np.einsum("j,sjq->sq", x, draws) + np.sqrt(0.5) * rng.standard_normal((len(draws), q))
    won = (f[:, :1] - f[:, 1:] > 0.3).all(1)
    sign = np.where(np.arange(q) == 0, 1.0, -1.0)
    done = exchange("multi_class", Scores(x @ mean, x**2 @ variance + 0.5, sign, np.full(q, 0.3)))
    after = weights_after(x, mean, variance, done)
    check_weights(draws, np.where(won, 0.0, -np.inf), *after, sd=0.03, relative=0.03)


def test_multi_class_of_two_is_one_exact_truncation():
    mean, variance = np.array([0.2, 0.9]), np.array([1.1, 0.4])
    scores = Scores(mean, variance, np.array([1.0, -1.0]), np.ones(2))
    done = exchange("multi_class", scores)
    v = variance.sum()
    V, W, _ = v_and_w((mean[0] - mean[1] - 1.0) / np.sqrt(v))
    np.testing.assert_allclose(done.g, [V / np.sqrt(v), -V / np.sqrt(v)], rtol=1e-9)
    np.testing.assert_allclose(done.h, W / v, rtol=1e-9)
    pairs = exchange("pairwise", scores)
    np.testing.assert_allclose(pairs.g, done.g, rtol=1e-9)
    np.testing.assert_allclose(pairs.h, done.h, rtol=1e-9)


def test_pairwise_against_importance_sampling():
    """Two relevant and two irrelevant labels: the graph has a loop, so the bar is lower."""
    rng, x, mean, variance, draws, sign = weight_problem(4, 21)
    f = np.einsum("j,sjq->sq", x, draws) + np.sqrt(0.5) * rng.standard_normal((len(draws), 4))
    won = f[:, sign > 0].min(1) - f[:, sign < 0].max(1) > 0.2
    done = exchange("pairwise", Scores(x @ mean, x**2 @ variance + 0.5, sign, np.full(4, 0.2)))
    after = weights_after(x, mean, variance, done)
    check_weights(draws, np.where(won, 0.0, -np.inf), *after, sd=0.05, relative=0.05)
