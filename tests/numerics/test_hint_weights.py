"""Weights of hints: against a general optimiser, and where the answer is known beforehand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, logit

from labelwise.numerics import hint_weights
from labelwise.numerics.calibration import base_rates, bend
from labelwise.numerics.hint_weights import (
    HINT_PRECISION,
    HINT_WEIGHT,
    LABEL_HINT_SD,
    LABEL_SD,
    MODEL_MEAN,
    MODEL_PRECISION,
    HintWeights,
    learn_weights,
)


def problem(n=40, q=4, h=2, seed=0, hint_strength=1.0):
    rng = np.random.default_rng(seed)
    z, model = rng.standard_normal((h, n, q)), rng.standard_normal((n, q)) - 1.0
    Y = rng.random((n, q)) < expit(model + hint_strength * z.sum(axis=0))
    return model, z, Y, rng.random((n, q)) < 0.8


def loss(w, columns, y, offset, mean, precision):
    eta = offset + w @ columns
    return np.sum(np.logaddexp(0, eta) - y * eta) + 0.5 * precision @ (w - mean) ** 2


@pytest.mark.parametrize("h", [0, 1, 3])
def test_weights_are_those_of_a_general_optimiser(h):
    model, z, Y, observed = problem(h=h)
    counts, yes = observed.sum(0), (Y & observed).sum(0)
    b = logit((yes - Y + 0.5) / counts)
    columns = np.stack([np.ones_like(model), b, model - b, *bend(z)])  # (3 + h, n, q)
    mean = np.concatenate([MODEL_MEAN, np.full(h, HINT_WEIGHT)])
    precision = np.concatenate([MODEL_PRECISION, np.full(h, HINT_PRECISION)])
    shared = minimize(loss, mean, (columns[:, observed], Y[observed], 0.0, mean, precision), tol=1e-10).x
    found = learn_weights(model, z, Y, observed)
    own_precision = np.concatenate([LABEL_SD, np.full(h, LABEL_HINT_SD)]) ** -2.0
    own_mean = np.delete(shared, 1)
    for label, rate in enumerate(base_rates(Y, observed)):
        said = observed[:, label]
        used = np.delete(columns, 1, axis=0)[:, said, label]
        offset = shared[1] * b[said, label]
        w = minimize(loss, own_mean, (used, Y[said, label], offset, own_mean, own_precision), tol=1e-10).x
        assert_allclose(found.slope[label], w[1], atol=1e-4)
        assert_allclose(found.weights[:, label], w[2:], atol=1e-4)
        assert_allclose(found.intercept[label], w[0] + (shared[1] - w[1]) * logit(rate), atol=1e-4)


def test_a_label_without_answers_has_the_shared_weights(monkeypatch):
    model, z, Y, observed = problem()
    observed[:, 2] = False
    found = learn_weights(model, z, Y, observed)
    alone = learn_weights(model[:, [0, 1, 3]], z[:, :, [0, 1, 3]], Y[:, [0, 1, 3]], observed[:, [0, 1, 3]])
    monkeypatch.setattr(hint_weights, "LABEL_HINT_SD", 1e-6)  # then all labels have the shared weights
    shared = learn_weights(model, z, Y, observed)
    assert_allclose(found.weights[:, 2], shared.weights[:, 0], atol=1e-2)
    assert_allclose(shared.weights, shared.weights[:, :1].repeat(4, axis=1), atol=1e-6)
    assert_allclose(np.delete(found.weights, 2, axis=1), alone.weights, atol=1e-8)


def test_a_hint_against_the_truth_gets_a_negative_weight_and_one_that_says_nothing_none():
    model, z, Y, observed = problem(n=400, h=1)
    noise = np.random.default_rng(1).standard_normal(z.shape)
    found = learn_weights(model, np.concatenate([-z, noise]), Y, observed)
    assert (found.weights[0] < -0.5).all()
    assert np.abs(found.weights[1]).mean() < 0.2


def test_one_misleading_label_loses_its_weight_and_the_others_keep_theirs():
    rng = np.random.default_rng(3)
    z, model = rng.standard_normal((1, 400, 8)), np.full((400, 8), -1.0)
    z_true = z.copy()
    z_true[:, :, 0] *= -1
    Y = rng.random((400, 8)) < expit(-1.0 + 1.2 * z_true[0])
    found = learn_weights(model, z, Y, np.ones_like(Y))
    assert found.weights[0, 0] < 0 < 0.7 < found.weights[0, 1:].min()


def test_many_answers_are_learnt_from_by_a_sample_of_items(monkeypatch):
    model, z, Y, observed = problem(n=600)
    everything = learn_weights(model, z, Y, observed)
    monkeypatch.setattr(hint_weights, "MOST_ENTRIES", 4 * 300)
    some = learn_weights(model, z, Y, observed)
    assert not np.array_equal(some.weights, everything.weights)
    assert_allclose(some.weights, everything.weights, atol=0.4)


def test_before_answers_a_higher_score_is_a_higher_probability_and_no_score_is_the_base_rate():
    weights = HintWeights.before_answers(2, 30)
    z = np.zeros((2, 3, 30))
    z[0, 1], z[1, 2] = 2.0, -2.0
    p = expit(weights.log_odds(np.zeros((3, 30)), z))
    assert_allclose(p[0], 0.1)
    assert (p[2] < p[0]).all() and (p[0] < p[1]).all()


def differences(function, at, step=1e-5):
    """The Jacobian of a function by central differences."""
    return np.stack([(function(at + d) - function(at - d)) / (2 * step) for d in step * np.eye(at.size)], axis=-1)


@pytest.mark.parametrize("h", [0, 2])
def test_covariances_are_those_of_numerical_derivatives_of_the_two_fits(h):
    """Brute force: Hessians by differences, and a label fitted anew for each shared weight that is moved a little."""
    model, z, Y, observed = problem(h=h, n=30, q=3)
    counts, yes = observed.sum(0), (Y & observed).sum(0)
    b = logit((yes - Y + 0.5) / counts)
    columns = np.stack([np.ones_like(model), b, model - b, *bend(z)])
    mean = np.concatenate([MODEL_MEAN, np.full(h, HINT_WEIGHT)])
    precision = np.concatenate([MODEL_PRECISION, np.full(h, HINT_PRECISION)])
    own_precision = np.concatenate([LABEL_SD, np.full(h, LABEL_HINT_SD)]) ** -2.0

    def gradient(w, columns, y, offset, mean, precision):
        return columns @ (expit(offset + w @ columns) - y) + precision * (w - mean)

    def optimum(*problem):
        return minimize(loss, problem[3], problem, jac=gradient, tol=1e-12, options={"gtol": 1e-9}).x

    everything = (columns[:, observed], Y[observed], 0.0, mean, precision)
    shared = optimum(*everything)
    of_shared = np.linalg.inv(differences(lambda w: gradient(w, *everything), shared))
    found, rows = learn_weights(model, z, Y, observed), np.arange(5)
    for label, rate in enumerate(logit(base_rates(Y, observed))):
        said = observed[:, label]
        used = np.delete(columns, 1, axis=0)[:, said, label]

        def fitted(s, used=used, said=said, label=label, rate=rate):
            own = (used, Y[said, label], s[1] * b[said, label], np.delete(s, 1), own_precision)
            w = optimum(*own)
            return np.array([w[0] + (s[1] - w[1]) * rate, *w[1:]]), w, own

        _, w, own = fitted(shared)
        turn = np.eye(2 + h)
        turn[0, 1] = -rate
        of_own = turn @ np.linalg.inv(differences(lambda w, own=own: gradient(w, *own), w)) @ turn.T
        by_shared = differences(lambda s, fitted=fitted: fitted(s)[0], shared, 1e-3)
        K = of_own + by_shared @ of_shared @ by_shared.T
        psi = np.stack([np.ones(5), model[rows, label], *bend(z[:, rows, label])])
        found_ = found.variances(model[rows], z[:, rows])[:, label]
        assert_allclose(found_, np.einsum("kn,kl,ln->n", psi, K, psi), rtol=1e-3)


def test_the_covariance_of_a_labels_own_weights_is_near_that_of_the_posterior_integrated_on_a_grid(monkeypatch):
    model, z, Y, observed = problem(n=80, q=2, h=1, hint_strength=0.5)
    monkeypatch.setattr(hint_weights, "LABEL_SD", np.array([1e-4, 1e-4]))  # two numbers fewer to integrate over
    found = learn_weights(model, z, Y, observed)
    about, grid = shared_weight(model, z, Y, observed), np.linspace(-3, 3, 4001)
    for label in range(2):
        said = observed[:, label]
        rest = found.log_odds(model, z)[said, label] - found.weights[0, label] * bend(z[0, said, label])
        eta = rest[:, None] + bend(z[0, said, label])[:, None] * grid
        log_p = (Y[said, label][:, None] * eta - np.logaddexp(0, eta)).sum(0)
        log_p -= ((grid - about) / LABEL_HINT_SD) ** 2 / 2
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        variance = p @ grid**2 - (p @ grid) ** 2
        assert_allclose(found.own[label, 2] @ found.own[label, 2], variance, rtol=0.1)


def shared_weight(model, z, Y, observed):
    """What all labels share: the weight of a label that was never answered."""
    more = np.zeros((len(Y), 1), dtype=bool)
    joined = (np.hstack([model, more]), np.concatenate([z, more[None]], axis=2), np.hstack([Y, more]))
    return learn_weights(*joined, np.hstack([observed, more])).weights[0, -1]


def test_the_variance_falls_with_answers_and_draws_have_it():
    few, many = (learn_weights(*problem(n=n, seed=1)) for n in (10, 400))
    model, z, _, _ = problem(n=6, seed=2)
    before = HintWeights.before_answers(2, 4)
    assert (before.variances(0 * model, z) > few.variances(model, z)).all()
    assert (few.variances(model, z) > many.variances(model, z)).all()
    drawn = few.draw_departures(model, z, 20_000, np.random.default_rng(0))
    assert_allclose(drawn.var(axis=0), few.variances(model, z), rtol=0.1)
    assert_allclose(drawn.mean(axis=0), 0.0, atol=0.05)
    alone = few.draw_departures(model[3:], z[:, 3:], 20_000, np.random.default_rng(0))
    assert_allclose(alone, drawn[:, 3:])  # one draw has the same weights for all items
    by_labels = np.corrcoef(drawn[:, 0].T)
    assert by_labels[0, 1] > 0.05  # what the labels share is unknown for all of them together


def test_weights_without_a_covariance_are_certain():
    weights = HintWeights(np.zeros(2), np.ones(2), np.ones((1, 2)))
    assert not weights.variances(np.ones((3, 2)), np.ones((1, 3, 2))).any()
    assert weights.draw_departures(np.ones((3, 2)), np.ones((1, 3, 2)), 5, np.random.default_rng(0)) is None
