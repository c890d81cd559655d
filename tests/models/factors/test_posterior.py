import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit

import labelwise as lw
from factor_problems import FAST, topics
from labelwise.models import CooccurrenceFactors, LatentFactors


@pytest.fixture(params=["map", "variational"])
def beliefs(request):
    X, Y, observed, counts = topics()
    model = CooccurrenceFactors(8, cooccurrence=counts, inference=request.param, **FAST).fit(X, Y, observed)
    return model.posterior(X[:12])


def test_log_odds_are_those_of_the_factors(beliefs):
    fitted = beliefs._fitted
    expected = fitted.scaling(beliefs._X) @ fitted.weights
    truth = np.array([[u @ v + b for v, b in zip(fitted.loadings, fitted.biases, strict=True)] for u in expected])
    np.testing.assert_allclose(beliefs.log_odds(), truth, atol=1e-12)
    np.testing.assert_allclose(beliefs.probabilities(), expit(truth), atol=1e-12)


def test_variances_are_those_of_draws(beliefs):
    """Draw u ~ N(Wᵀx, I/λ_u) and v ~ N(mean, S): the log-odds vary as the formula says."""
    fitted, rng = beliefs._fitted, np.random.default_rng(0)
    k = fitted.weights.shape[1]
    expected = fitted.scaling(beliefs._X) @ fitted.weights
    s = 20_000
    u = expected[3] + rng.normal(size=(s, k)) / np.sqrt(fitted.item_precision)
    for label in (0, 20):
        v = np.tile(fitted.loadings[label], (s, 1))
        if fitted.label_covariances is not None:
            v = rng.multivariate_normal(fitted.loadings[label], fitted.label_covariances[label], size=s)
        drawn = np.einsum("sk,sk->s", u, v)
        np.testing.assert_allclose(beliefs.variances()[3, label], drawn.var(), rtol=0.06)


def test_draws_of_probabilities_keep_their_mean_and_vary(beliefs):
    drawn = beliefs.sample_probabilities(3000, np.random.default_rng(0))
    assert drawn.shape == (3000, 12, 24)
    np.testing.assert_allclose(drawn.mean(0), beliefs.probabilities(), atol=0.04)
    assert drawn.std(0).min() > 0


def test_labels_that_share_factors_move_together(beliefs):
    covariances = beliefs.label_covariances()
    p = beliefs.probabilities()
    np.testing.assert_allclose(covariances.variances(), p * (1 - p), rtol=1e-9)
    dense = covariances.dense()[0]
    assert np.linalg.eigvalsh(dense).min() > 0
    V, lam = beliefs._fitted.loadings, beliefs._fitted.item_precision
    doubt = 0.0
    if beliefs._fitted.label_covariances is not None:
        doubt = np.trace(beliefs._fitted.label_covariances, axis1=1, axis2=2) / lam
    total = np.sum(V**2, axis=1) / lam + doubt + np.pi**2 / 3
    truth = V @ V.T / lam / np.sqrt(np.outer(total, total))
    found = dense / np.sqrt(np.outer(dense.diagonal(), dense.diagonal()))
    away = ~np.eye(24, dtype=bool)
    np.testing.assert_allclose(found[away], truth[away], atol=1e-6)  # eight factors: nothing is cut off


def test_item_covariance_is_what_the_training_items_leave_open():
    X, Y, _, _ = topics(n=80)
    model = CooccurrenceFactors(item_penalty=2.0, scale="none", **FAST).fit(X, Y)
    covariance = model.posterior(X[:5]).item_covariance()
    precision = 2.0 * X.T @ X + model.feature_penalty_ * np.eye(X.shape[1])
    truth = X[:5] @ np.linalg.solve(precision, X[:5].T)
    np.testing.assert_allclose(covariance.columns(np.arange(5)), truth, rtol=1e-8)
    np.testing.assert_allclose(model.posterior(X[:5]).feature_variances(), truth.diagonal(), rtol=1e-8)


def known_half(Y, seed=0):
    return np.random.default_rng(seed).random(Y.shape) < 0.5


def test_known_labels_put_the_factors_at_their_maximum():
    X, Y, _, _ = topics()
    beliefs = CooccurrenceFactors(8, **FAST).fit(X[:300], Y[:300]).posterior(X[300:320])
    observed = known_half(Y[300:320])
    p = beliefs.given(Y[300:320], observed).probabilities()
    np.testing.assert_array_equal(p[observed], Y[300:320][observed])
    fitted = beliefs._fitted
    expected = beliefs._prepared @ fitted.weights

    def objective(u, i):
        psi = fitted.loadings @ u + fitted.biases
        entries = (Y[300 + i] * psi - np.logaddexp(0, psi))[observed[i]].sum()
        return -entries + fitted.item_precision / 2 * np.sum((u - expected[i]) ** 2)

    for i in range(3):
        u = minimize(objective, expected[i], args=(i,), tol=1e-10).x
        truth = expit(fitted.loadings @ u + fitted.biases)
        np.testing.assert_allclose(p[i][~observed[i]], truth[~observed[i]], atol=1e-3)


def test_known_labels_tell_of_the_others():
    X, Y, _, _ = topics(n=700, d=8)
    beliefs = CooccurrenceFactors(**FAST).fit(X[:400], Y[:400]).posterior(X[400:])
    observed = known_half(Y[400:])

    def loss(p):
        p = np.clip(p, 1e-9, 1 - 1e-9)
        return -np.mean(np.where(Y[400:], np.log(p), np.log1p(-p))[~observed])

    assert loss(beliefs.given(Y[400:], observed).probabilities()) < loss(beliefs.probabilities()) - 0.01


def test_known_labels_in_pieces_blocks_and_sparse():
    X, Y, _, _ = topics()
    beliefs = CooccurrenceFactors(8, **FAST).fit(X, Y).posterior(X[:30])
    observed = known_half(Y[:30])
    first = observed & known_half(Y[:30], 1)
    at_once = beliefs.given(Y[:30], observed).probabilities()
    in_turn = beliefs.given(Y[:30], first).given(sp.csr_array(Y[:30]), sp.csr_array(observed & ~first))
    np.testing.assert_array_equal(in_turn.probabilities(), at_once)
    parts = [part.probabilities() for _, part in in_turn.blocks(7)]
    np.testing.assert_allclose(np.vstack(parts), at_once, atol=1e-6)
    covariances = in_turn.label_covariances()
    assert covariances.variances()[observed].max() < 1e-9 < covariances.variances()[~observed].min()


def test_labels_without_a_score_are_ranked_last_until_they_are_told():
    X, Y, observed, _ = topics()
    beliefs = LatentFactors(**FAST).fit(X, Y, observed).posterior(X[:12])
    np.testing.assert_array_equal(beliefs.ranking(), beliefs.scores())
    np.testing.assert_array_equal(beliefs.ranking()[:, 16:], -np.inf)
    assert not lw.TopLabels(16, by="ranking").decide(beliefs)[:, 16:].any()
    told = np.zeros((12, 24), dtype=bool)
    told[:, 20] = True
    given = beliefs.given(told, told).ranking()
    assert (
        np.all(given[:, 20] > given[:, :16].max(axis=1))
        and np.all(given[:, 16:20] == -np.inf)
        and np.all(np.isfinite(given[:, :16]))
    )


@pytest.mark.parametrize("bias", [True, False])
def test_the_doubt_about_an_unseen_label_is_what_its_own_regression_leaves_open(bias):
    X, Y, observed, counts = topics(n=100, q=8, unseen=2)
    model = CooccurrenceFactors(3, cooccurrence=counts, inference="variational", bias=bias, **FAST)
    f, fitted = model.fit(X, Y, observed).factors_, model._fitted
    Z = np.column_stack([f.columns, f.column_bias, np.ones(8)]) if bias else f.columns
    penalty = np.diag([0.5, 0.5, 0.5, 1e-6, 1e-6][: Z.shape[1]])
    missed = f.labels - Z[:6] @ np.linalg.solve(Z[:6].T @ Z[:6] + penalty, Z[:6].T @ f.labels)
    expected = fitted.label_covariances[:6].mean(0) + np.diag((missed**2).mean(0))
    np.testing.assert_allclose(fitted.label_covariances[7], expected, rtol=1e-6)
