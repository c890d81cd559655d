"""The label covariance of mixtures against its definition, dense determinants and simulation."""

import numpy as np
import pytest

from labelwise.numerics.mixture_covariance import mixture_factor, mixture_log_determinants, own_variances


def mixture(n, k, q, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), n), rng.beta(0.3, 2.0, (k, q)) * 0.98 + 0.01


def dense_covariance(weights, theta):
    """E[y yᵀ] − p pᵀ, with E[y_l y_l'] = Σ π θ_l θ_l' off the diagonal."""
    p = weights @ theta
    second = np.einsum("nk,kl,km->nlm", weights, theta, theta)
    second[:, np.arange(theta.shape[1]), np.arange(theta.shape[1])] = p
    return second - p[:, :, None] * p[:, None, :]


@pytest.mark.parametrize(("k", "q"), [(4, 9), (9, 4), (1, 3), (5, 1)])
def test_diagonal_and_factor_make_the_covariance(k, q):
    weights, theta = mixture(6, k, q)
    factor = mixture_factor(weights, theta)
    found = factor @ factor.swapaxes(1, 2)
    found[:, np.arange(q), np.arange(q)] += own_variances(weights, theta)
    np.testing.assert_allclose(found, dense_covariance(weights, theta), atol=1e-14)
    p = weights @ theta
    np.testing.assert_allclose(found.diagonal(axis1=1, axis2=2), p * (1 - p), rtol=1e-12)
    assert np.linalg.eigvalsh(found).min() > 0


@pytest.mark.parametrize(("k", "q"), [(12, 300), (30, 14), (6, 6), (1, 5), (7, 1)])
def test_log_determinants_are_those_of_dense_matrices(k, q):
    weights, theta = mixture(40, k, q)
    expected = np.linalg.slogdet(dense_covariance(weights, theta))[1]
    np.testing.assert_allclose(mixture_log_determinants(weights, theta), expected, rtol=1e-12, atol=1e-9)


def test_labels_that_are_nearly_certain_keep_their_digits():
    rng = np.random.default_rng(0)
    weights, theta = rng.dirichlet(np.ones(5), 8), 1 - 1e-6 * rng.random((5, 20))
    theta[:, :10] = 1e-6 * rng.random((5, 10))
    expected = np.linalg.slogdet(dense_covariance(weights, 1 - theta))[1]  # the same but for a change of sign
    np.testing.assert_allclose(mixture_log_determinants(weights, theta), expected, rtol=1e-9)


def test_one_label_is_uncertainty():
    weights, theta = mixture(9, 4, 1)
    p = (weights @ theta)[:, 0]
    np.testing.assert_allclose(mixture_log_determinants(weights, theta), np.log(p * (1 - p)), rtol=1e-12)


def test_block_size_does_not_matter(monkeypatch):
    weights, theta = mixture(23, 4, 9)
    whole = mixture_log_determinants(weights, theta)
    monkeypatch.setattr("labelwise.numerics.mixture_covariance.BLOCK_NUMBERS", 48)
    np.testing.assert_allclose(mixture_log_determinants(weights, theta), whole, rtol=1e-13)


def test_covariance_is_that_of_simulated_labels():
    """Label probabilities drawn from Betas, a component, then labels: their doubt adds nothing to the covariance."""
    rng = np.random.default_rng(0)
    a, b, weights = rng.uniform(0.5, 4, (3, 4)), rng.uniform(0.5, 4, (3, 4)), rng.dirichlet(np.ones(3), 1)
    component = rng.choice(3, size=400_000, p=weights[0])
    labels = rng.random((400_000, 4)) < rng.beta(a[component], b[component])
    factor = mixture_factor(weights, a / (a + b))[0]
    expected = factor @ factor.T + np.diag(own_variances(weights, a / (a + b))[0])
    np.testing.assert_allclose(np.cov(labels.T.astype(float)), expected, atol=4 * 0.25 / np.sqrt(400_000))
