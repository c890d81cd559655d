"""What LabelGP believes, against dense covariances, sampling, and blocks against the whole."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.models.label_gp.model import LabelGP
from labelwise.numerics.gp.kernels import Kernel

NOISE = 0.5
CASES = {
    "kernel": (LabelGP("rbf+linear", scale="none", noise_ratio=NOISE, length_scale=1.2, linear_share=0.3), 4),
    "features": (LabelGP("linear", scale="none", noise_ratio=NOISE), 4),
    "linear, more features than rows": (LabelGP("linear", scale="none", noise_ratio=NOISE), 45),
}


def problem(d, n=40, q=5):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, d)) < 0.7, rng.normal(size=(n, d)), 0.0)
    Y = X @ rng.normal(size=(d, q)) + 0.5 * rng.normal(size=(n, q)) > 0.3
    observed = rng.random(Y.shape) < 0.5
    observed[:15] = True
    return X, Y, observed, rng.normal(size=(60, d))


@pytest.fixture(params=CASES)
def fitted(request):
    model, d = CASES[request.param]
    X, Y, observed, X_new = problem(d)
    return model.fit(X, Y, observed=observed), X[observed.all(axis=1)], X_new


@pytest.mark.parametrize("held", [2**23, 0])
def test_item_covariance_given_the_items_answered_in_full(fitted, held, monkeypatch):
    monkeypatch.setattr("labelwise.posterior.gaussian.MAX_HELD_NUMBERS", held)
    monkeypatch.setattr("labelwise.posterior.gaussian.BLOCK", 7)
    model, X_full, X_new = fitted
    kernel = model.kernel_
    k = kernel(X_new, X_full)
    dense = kernel(X_new) - k @ np.linalg.solve(kernel(X_full) + NOISE * np.eye(len(X_full)), k.T)
    covariance = model.posterior(X_new).item_covariance()
    assert covariance.noise == NOISE
    np.testing.assert_allclose(covariance.diagonal(), dense.diagonal(), atol=1e-9)
    rows = np.array([3, 0, 59])
    np.testing.assert_allclose(covariance.columns(rows), dense[:, rows], atol=1e-9)
    factor = covariance.factor()
    if kernel.rbf:
        assert factor is None
    else:
        assert factor.shape[1] < len(X_new)
        np.testing.assert_allclose(factor @ factor.T, dense, atol=1e-9)
        assert model.posterior(X_new[:3]).item_covariance().factor() is None  # fewer items than features


def test_without_a_full_row_items_have_their_prior_covariance():
    X, Y, observed, X_new = problem(4)
    observed[np.arange(40), np.arange(40) % 5] = False
    for model in (CASES["kernel"][0], CASES["features"][0]):
        covariance = model.fit(X, Y, observed=observed).posterior(X_new).item_covariance()
        np.testing.assert_allclose(covariance.columns(np.arange(60)), model.kernel_(X_new), atol=1e-9)
        np.testing.assert_allclose(covariance.diagonal(), model.kernel_.diagonal(X_new), atol=1e-9)


def test_blocks_and_rows_are_the_whole(fitted):
    model, _, X_new = fitted
    for X in (X_new, sp.csr_array(X_new)):
        posterior = model.posterior(X)
        parts = [(part, piece) for part, piece in posterior.blocks(17)]
        for name in ("means", "variances", "probabilities"):
            together = np.vstack([getattr(piece, name)() for _, piece in parts])
            np.testing.assert_allclose(together, getattr(posterior, name)(), atol=1e-12)
        picked = posterior.rows(np.array([5, 2]))
        np.testing.assert_allclose(picked.probabilities(), posterior.probabilities()[[5, 2]])
        assert picked.n_items == 2
        assert posterior.rows(slice(0, 0)).means().shape == (0, 5)


def test_label_covariances_have_the_variance_of_their_probabilities(fitted):
    model, _, X_new = fitted
    posterior = model.posterior(X_new)
    p, covariances = posterior.probabilities(), posterior.label_covariances()
    np.testing.assert_allclose(covariances.variances(), p * (1 - p))
    deviation = np.sqrt(p * (1 - p))
    correlation = covariances.dense() / deviation[:, :, None] / deviation[:, None, :]
    np.testing.assert_allclose(correlation, np.broadcast_to(model._fitted.correlation.dense(), correlation.shape))
    np.testing.assert_allclose(covariances.log_determinants(), np.linalg.slogdet(covariances.dense())[1])


def test_label_correlation_is_that_of_the_residuals():
    """Labels driven by a hidden cause that the features do not show."""
    rng = np.random.default_rng(1)
    X, hidden = rng.normal(size=(400, 3)), rng.normal(size=400)
    Y = np.column_stack([X[:, 0] + 2 * hidden > 0, X[:, 1] + 2 * hidden > 0, X[:, 2] - 2 * hidden > 0, X[:, 0] > 0])
    dense = LabelGP(random_state=0).fit(X, Y)._fitted.correlation.dense()
    assert dense[0, 1] > 0.4
    assert dense[0, 2] < -0.4
    assert abs(dense[1, 3]) < 0.15


def test_sampled_probabilities_have_the_mean_they_should(fitted):
    model, _, X_new = fitted
    posterior = model.posterior(X_new[:6])
    draws = posterior.sample_probabilities(20_000, np.random.default_rng(0))
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - posterior.probabilities()) < 5 * error + 1e-12)


def test_sampled_probabilities_settle_where_the_model_is_sure():
    X, Y, _, _ = problem(2, n=400)
    model = LabelGP("rbf", scale="none", noise_ratio=NOISE, length_scale=1.0).fit(X, Y)
    near, far = X[:5], X[:5] + 50.0
    rng = np.random.default_rng(0)
    spread = [model.posterior(x).sample_probabilities(2000, rng).std(axis=0).mean() for x in (near, far)]
    assert spread[1] > 2 * spread[0]


def test_samples_of_labels_agree_with_samples_of_probabilities():
    """Knowing the functions and then drawing labels is drawing labels: the same marginals, the same pairs."""
    X, Y, observed, X_new = problem(4)
    posterior = CASES["kernel"][0].fit(X, Y, observed=observed).posterior(X_new[:2])
    labels = posterior.sample_labels(40_000, np.random.default_rng(0))
    np.testing.assert_allclose(labels.mean(axis=0), posterior.probabilities(), atol=0.01)


def test_means_and_variances_by_hand():
    X, Y, observed, X_new = problem(4)
    observed[:] = True
    model = CASES["kernel"][0].fit(X, Y)
    kernel = Kernel(rbf=0.7, linear=0.3, bias=1.0, length_scale=1.2)
    C, k, centre = kernel(X) + NOISE * np.eye(40), kernel(X_new, X), Y.mean(axis=0)
    posterior = model.posterior(X_new)
    np.testing.assert_allclose(posterior.means(), centre + k @ np.linalg.solve(C, Y - centre), atol=1e-10)
    unit = kernel.diagonal(X_new) - np.einsum("mi,in->mn", k, np.linalg.inv(C) @ k.T).diagonal()
    rates = (Y.sum(axis=0) + 0.5) / 41
    scales = (np.einsum("nq,nq->q", Y - centre, np.linalg.solve(C, Y - centre)) + rates * (1 - rates)) / 41
    np.testing.assert_allclose(posterior.variances(), unit[:, None] * scales, atol=1e-10)
