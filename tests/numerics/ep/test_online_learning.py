"""The kernel against a plain loop over rows, features and labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from comparison_ep import absorb
from labelwise.numerics.ep.message_passing import Likelihood
from labelwise.numerics.ep.online_learning import (
    INDEPENDENT,
    MULTI_CLASS,
    PAIRWISE,
    STAR,
    Beliefs,
    Counting,
    Items,
    Prior,
    admit,
    learn,
    project,
    stamp,
)
from labelwise.numerics.ep.truncated import table

N, D, Q = 60, 15, 12
PRIOR = Prior(weight_precision=1.0, local_precision=0.5, hub_precision=1e-4, half_life=0.0, local_bias=True)
LIKELIHOOD = Likelihood(table(), 0.7, 1.0, True, 0.0, 1e-12, 3000)
RIVALS = {STAR: "star", INDEPENDENT: "independent", MULTI_CLASS: "pairwise", PAIRWISE: "pairwise"}


def stream(seed=0):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((N, D)) < 0.4, rng.normal(size=(N, D)), 0.0)
    signs = np.where(X @ rng.normal(size=(D, Q)) > 0.8, 1, -1).astype(np.int8)
    signs[rng.random((N, Q)) < 0.2] = 0
    return X, signs


def fade(beliefs, gamma, precision):
    mean, variance = beliefs
    faded = 1 / (precision + gamma * (1 / variance - precision))
    return gamma * (mean / variance) * faded, faded


def plain_learn(X, signs, graph, *, half_life=0.0, flip=0.0, margin=1.0):
    """Every row, eagerly and in the open: what the kernel has to equal."""
    mean, variance = np.zeros((D + 1, Q)), np.full((D + 1, Q), 1.0)  # row 0: the constant feature
    variance[0] = 1 / PRIOR.local_precision
    hub = np.array([0.0, 1e4])
    negative, positive = np.zeros(Q), np.zeros(Q)
    precisions = np.full((D + 1, 1), 1.0)
    precisions[0] = PRIOR.local_precision
    for x, z in zip(np.hstack([np.ones((len(X), 1)), X]), signs.astype(float), strict=True):
        if half_life:
            gamma = 2 ** (-1 / half_life)
            mean, variance = fade((mean, variance), gamma, precisions)
            hub = np.array(fade(hub, gamma, 1e-4))
            negative, positive = gamma * negative, gamma * positive
        negative += z < 0
        positive += z > 0
        m, u = x @ mean, x**2 @ variance + LIKELIHOOD.noise
        e = np.where(z > 0, margin * np.log(np.e + negative / np.maximum(positive, 0.5)), margin)
        if graph in (MULTI_CLASS, PAIRWISE):
            e = np.full(Q, margin)
        gain, shrink, after = absorb(RIVALS[graph], m, u, z, e, hub, flip)
        hub = np.ravel(after) if graph == STAR else hub
        mean, variance = mean + variance * x[:, None] * gain, variance - (variance * x[:, None]) ** 2 * shrink
    return mean, variance, hub


def fresh(dtype=np.float64, columns=16):
    weights = np.zeros((D + 1, 2, columns), dtype=dtype)
    weights[:, 1] = 1
    weights[0, 1] = 1 / PRIOR.local_precision
    return Beliefs(weights, np.array([0.0, 1e4]), np.zeros((2, columns)))


def run(X, signs, graph, beliefs, *, prior=PRIOR, likelihood=LIKELIHOOD):
    csr = sp.csr_array(X)
    indptr, rows = csr.indptr.astype(np.int64), (csr.indices + 1).astype(np.int32)
    last = np.zeros(D + 1, dtype=np.int64)
    elapsed = stamp(indptr, rows, last, 0) if prior.half_life else np.empty(0, np.float32)
    items = Items(indptr, rows, csr.data.astype(beliefs.weights.dtype), elapsed)
    padded = np.zeros((len(X), beliefs.weights.shape[2]), dtype=np.int8)
    padded[:, :Q] = signs
    learn(items, padded, beliefs, likelihood, prior, Counting(True, 0.0, 0.0), graph)
    return last


@pytest.mark.parametrize("graph", [STAR, INDEPENDENT])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-8), (np.float32, 5e-5)])
def test_kernel_equals_the_plain_loop(graph, dtype, tolerance):
    X, signs = stream()
    beliefs = fresh(dtype)
    run(X, signs, graph, beliefs)
    mean, variance, hub = plain_learn(X, signs, graph)
    np.testing.assert_allclose(beliefs.weights[:, 0, :Q], mean, atol=tolerance)
    np.testing.assert_allclose(beliefs.weights[:, 1, :Q], variance, atol=tolerance)
    if graph == STAR:
        np.testing.assert_allclose(beliefs.hub, hub, rtol=100 * tolerance)
    np.testing.assert_array_equal(beliefs.weights[1:, 1, Q:], 1)  # padding stays at the prior
    np.testing.assert_array_equal(beliefs.counts[:, :Q], [(signs < 0).sum(0), (signs > 0).sum(0)])


@pytest.mark.parametrize("graph", [MULTI_CLASS, PAIRWISE])
def test_graphs_between_scores_equal_the_plain_loop(graph):
    X, signs = stream(1)
    if graph == MULTI_CLASS:
        signs = np.where(np.arange(Q) == signs.argmax(1)[:, None], 1, -1).astype(np.int8)
    beliefs = fresh()
    run(X[:20], signs[:20], graph, beliefs)
    mean, variance, _ = plain_learn(X[:20], signs[:20], graph)
    np.testing.assert_allclose(beliefs.weights[:, 0, :Q], mean, atol=1e-8)
    np.testing.assert_allclose(beliefs.weights[:, 1, :Q], variance, atol=1e-8)


def test_flipped_answers_equal_the_plain_loop():
    X, signs = stream(2)
    beliefs = fresh()
    likelihood = LIKELIHOOD._replace(margin=0.0, flip=0.05)
    run(X, signs, INDEPENDENT, beliefs, likelihood=likelihood)
    mean, variance, _ = plain_learn(X, signs, INDEPENDENT, flip=0.05, margin=0.0)
    np.testing.assert_allclose(beliefs.weights[:, 0, :Q], mean, atol=1e-7)
    np.testing.assert_allclose(beliefs.weights[:, 1, :Q], variance, atol=1e-7)


@pytest.mark.parametrize("graph", [STAR, INDEPENDENT])
def test_lazy_forgetting_equals_eager(graph):
    X, signs = stream(3)
    prior = PRIOR._replace(half_life=13.0)
    beliefs = fresh()
    last = run(X, signs, graph, beliefs, prior=prior)
    mean, variance, hub = plain_learn(X, signs, graph, half_life=13.0)
    gamma = 2.0 ** (-(N - 1 - last[1:]) / 13.0)[:, None]
    now = fade((beliefs.weights[1:, 0, :Q], beliefs.weights[1:, 1, :Q]), gamma, 1.0)
    np.testing.assert_allclose(now[0], mean[1:], atol=1e-7)
    np.testing.assert_allclose(now[1], variance[1:], atol=1e-7)
    np.testing.assert_allclose(beliefs.weights[0, :, :Q], [mean[0], variance[0]], atol=1e-7)
    if graph == STAR:
        np.testing.assert_allclose(beliefs.hub, hub, rtol=1e-6)


def test_variances_never_grow():
    X, signs = stream(4)
    before = fresh()
    for row in range(N):
        beliefs = Beliefs(before.weights.copy(), before.hub.copy(), before.counts.copy())
        run(X[row : row + 1], signs[row : row + 1], STAR, beliefs)
        assert np.all(beliefs.weights[:, 1] <= before.weights[:, 1]) and beliefs.hub[1] <= before.hub[1]
        assert np.all(beliefs.weights[:, 1] > 0)
        before = beliefs


def test_project_with_unknown_and_faded_features():
    rng = np.random.default_rng(0)
    weights = np.stack([rng.normal(size=(4, 5)), rng.uniform(0.1, 1, (4, 5))], axis=1)  # (rows, 2, q)
    items = Items(
        np.array([0, 3]), np.array([1, -1, 3], np.int32), np.array([0.5, 2.0, -1.0]), np.array([0, 9, 7], np.float32)
    )
    prior = PRIOR._replace(half_life=10.0, weight_precision=0.25)
    mean, variance = np.empty((1, 5)), np.empty((1, 5))
    project(items, weights[:, :, :3].copy(), prior, mean, variance, 0, 3)
    project(items, weights[:, :, 3:].copy(), prior, mean, variance, 3, 5)
    faded = fade((weights[3, 0], weights[3, 1]), 2.0**-0.7, 0.25)
    np.testing.assert_allclose(mean[0], weights[0, 0] + 0.5 * weights[1, 0] - faded[0])
    np.testing.assert_allclose(variance[0], weights[0, 1] + 0.25 * weights[1, 1] + faded[1] + 4 * 4)


def test_admit_in_order_of_first_sight():
    row_of = np.full(6, -1, dtype=np.int32)
    rows = np.empty(4, dtype=np.int32)
    assert admit(np.array([4, 1, 4, 0], np.int32), row_of, 1, rows) == 4
    np.testing.assert_array_equal(row_of, [3, 2, -1, -1, 1, -1])
    np.testing.assert_array_equal(rows, [1, 2, 1, 3])
    assert admit(np.array([5, 1], np.int32), row_of, 4, rows) == 5
    np.testing.assert_array_equal(rows[:2], [4, 2])
    assert row_of[5] == 4
