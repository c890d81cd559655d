"""Beliefs of OnlineBayes: probabilities against formulas and sampling, draws that can be made again in blocks."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import ndtr

from labelwise.models.online.model import OnlineBayes
from rest_slow import rest_slow


def fitted(coupling="global", *, n=120, d=8, q=5, seed=0, **settings):
    rng = np.random.default_rng(seed)
    X = sp.csr_array(np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0.0))
    Y = X @ rng.normal(size=(d, q)) + 0.4 * rng.normal(size=(n, q)) > 0.5
    if coupling == "multiclass":
        Y = np.arange(q) == Y.argmax(1)[:, None]
    return OnlineBayes(coupling, random_state=0, **settings).fit(X, Y), X


def test_probabilities_follow_from_weights_and_bias():
    model, X = fitted(normalize=None, score_noise=0.8)
    mean, variance = model.state_.weights_of(np.arange(8))
    local_mean, local_variance = model.state_.local_bias()
    (b, s2) = model.state_.bias[0]
    a = X @ mean + local_mean - b
    w = X.multiply(X) @ variance + local_variance + s2
    np.testing.assert_allclose(model.predict_proba(X), ndtr(a / np.sqrt(w + 0.64)), rtol=1e-4)
    scores = model.posterior(X).scores()
    np.testing.assert_allclose(scores[0], a, atol=1e-5)
    np.testing.assert_allclose(scores[1], w, rtol=1e-5)


def test_noise_belongs_to_the_probabilities():
    model, X = fitted(score_noise=2.0)
    a, w = model.posterior(X).scores()
    with_noise, without = ndtr(a / np.sqrt(w + 4)), ndtr(a / np.sqrt(w))
    assert np.abs(with_noise - without).max() > 0.05
    np.testing.assert_allclose(model.predict_proba(X), with_noise, rtol=1e-6)


@pytest.mark.parametrize("coupling", ["global", "independent", "multiclass", "pairwise"])
@pytest.mark.parametrize("half_life", rest_slow([30.0, None]))
def test_draws_have_the_right_mean(coupling, half_life):
    model, X = fitted(coupling, half_life=half_life)
    posterior = model.posterior(X[:7])
    p = posterior.probabilities()
    drawn = posterior.sample_probabilities(4000, np.random.default_rng(1))
    np.testing.assert_allclose(drawn.mean(0), p, atol=0.012)
    assert drawn.std(0).mean() > 0.02
    labels = posterior.sample_labels(4000, np.random.default_rng(2))
    np.testing.assert_allclose(labels.mean(0), p, atol=0.04)
    if coupling == "multiclass":
        np.testing.assert_allclose(p.sum(1), 1)
        assert np.all(labels.sum(2) == 1)


def test_draws_are_joint_over_items():
    """The covariance of drawn scores between items is that of the weights: Σ x x' σ² plus the biases."""
    model, X = fitted("independent", normalize=None, score_noise=1.0)
    posterior = model.posterior(X[:4])
    drawn = np.array(list(posterior._draw_scores(20_000, 5)))[:, :, 0]  # (s, n) of the first label
    _, variance = model.state_.weights_of(np.arange(8))
    rows = X[:4].toarray()
    expected = rows * variance[:, 0] @ rows.T + model.state_.local_bias()[1][0]
    np.testing.assert_allclose(np.cov(drawn, rowvar=False), expected, atol=0.04 * expected.max())


@pytest.mark.parametrize("sizes", [(120,), (50, 70), (1, 7, 112)])
def test_blocks_see_the_same_draws(sizes):
    model, X = fitted()
    posterior = model.posterior(X)
    whole = posterior.sample_labels(6, np.random.default_rng(3))
    sharp = posterior.sample_probabilities(6, np.random.default_rng(3))
    edges = np.concatenate([[0], np.cumsum(sizes)])
    for start, stop in pairwise(edges):
        block = posterior.rows(slice(start, stop))
        np.testing.assert_array_equal(block.sample_labels(6, np.random.default_rng(3)), whole[:, start:stop])
        np.testing.assert_allclose(
            block.sample_probabilities(6, np.random.default_rng(3)), sharp[:, start:stop], atol=1e-5
        )
    chosen = np.array([100, 3])
    np.testing.assert_array_equal(posterior.rows(chosen).sample_labels(6, np.random.default_rng(3)), whole[:, chosen])


def test_draws_differ_with_the_generator():
    model, X = fitted()
    posterior, rng = model.posterior(X), np.random.default_rng(0)
    assert np.any(posterior.sample_labels(3, rng) != posterior.sample_labels(3, rng))


def test_labels_of_an_item_move_together_with_their_bias():
    """First-order covariance against the drawn one, where the bias is unsure and the weights are not."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, 4))
    model = OnlineBayes(bias_variance=0.3, weight_variance=0.01).partial_fit(X[:1], np.array([[1, 0, 1]]))
    posterior = model.posterior(X)
    drawn = posterior.sample_labels(60_000, np.random.default_rng(1)).astype(float)
    believed = posterior.label_covariances().dense()
    for item in range(3):
        np.testing.assert_allclose(np.cov(drawn[:, item], rowvar=False), believed[item], atol=0.012)
    assert believed[0, 0, 1] > 0.02


def test_blocks_of_labels_move_apart():
    model, X = fitted(q=20, block_size=16)
    full = model.posterior(X[:2]).label_covariances().dense()
    assert np.all(full[:, :16, 16:] == 0) and np.all(full[:, 0, 1:16] > 0)


def test_item_covariance():
    model, X = fitted(normalize=None)
    posterior = model.posterior(X[:20])
    cov = posterior.item_covariance()
    _, variance = model.state_.weights_of(np.arange(8))
    rows = X[:20].toarray()
    constant = model.state_.local_bias()[1].mean() + model.state_.bias[0, 1]
    expected = rows * variance.mean(1) @ rows.T + constant
    np.testing.assert_allclose(cov.columns(np.arange(20)), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(cov.diagonal(), np.diag(expected), rtol=1e-4)
    np.testing.assert_allclose(cov.factor() @ cov.factor().T, expected, rtol=1e-4, atol=1e-5)
    assert cov.noise == 1.0
    assert (
        posterior.rows(slice(0, 3)).item_covariance().factor() is None
    )  # nothing gained with more features than items


def test_a_stale_posterior_says_so():
    model, X = fitted()
    posterior = model.posterior(X)
    model.partial_fit(X[:3], np.zeros((3, 5)))
    for ask in (posterior.probabilities, posterior.scores, posterior.item_covariance):
        with pytest.raises(RuntimeError, match="learnt 3 rows since"):
            ask()


def test_noiseless_scores_give_certain_draws():
    model, X = fitted(score_noise=0.0)
    drawn = model.posterior(X[:5]).sample_probabilities(50, np.random.default_rng(0))
    assert set(np.unique(drawn)) <= {0.0, 1.0}
