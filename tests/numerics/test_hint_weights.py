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
