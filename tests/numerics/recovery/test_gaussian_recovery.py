"""Gaussian recovery and conditioning against dense inverses and the precision form."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.numerics.recovery import gaussian_recovery
from labelwise.numerics.recovery.gaussian_recovery import (
    LabelPrior,
    condition,
    posterior_covariance,
    project_prior,
    recover_covariance,
    shrunk_label_prior,
)
from labelwise.numerics.recovery.label_codes import (
    CompressedLabels,
    KnownLabels,
    encode,
    gaussian_projection,
)


def problem(n=5, k=4, q=7, seed=0, known_share=0.3):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((q, q))
    prior = LabelPrior(rng.random(q), A @ A.T / q + 0.1 * np.eye(q))
    compressed = CompressedLabels(rng.standard_normal((n, k)), rng.uniform(0.05, 1.0, n))
    labels = (rng.random((n, q)) < 0.4).astype(float)
    return compressed, prior, gaussian_projection(k, q, rng), KnownLabels(labels, rng.random((n, q)) < known_share)


def dense_posterior(m, v, Phi, prior):
    """(Sy⁻¹ + ΦᵀΦ/v)⁻¹ and its mean, from centred codes."""
    Sigma = np.linalg.inv(np.linalg.inv(prior.covariance) + Phi.T @ Phi / v)
    return prior.mean + Sigma @ Phi.T @ m / v, Sigma


@pytest.mark.parametrize(("k", "q"), [(4, 7), (7, 4), (1, 1)])
def test_batch_equals_the_dense_inverse(k, q):
    compressed, prior, Phi, _ = problem(k=k, q=q)
    projected = project_prior(prior, Phi)
    result = recover_covariance(compressed, projected)
    for i in range(5):
        mu, Sigma = dense_posterior(compressed.mean[i], compressed.variance[i], Phi, prior)
        assert_allclose(result.mean[i], mu, atol=1e-10)
        assert_allclose(result.variance[i], np.diag(Sigma), atol=1e-10)
        assert_allclose(posterior_covariance(projected, compressed.variance[i]), Sigma, atol=1e-10)


def test_conditioning_equals_the_precision_form():
    """Given y_O the rest has precision Λ_UU and mean μ_U − Λ_UU⁻¹ Λ_UO (y_O − μ_O)."""
    compressed, prior, Phi, _ = problem()
    mu, Sigma = dense_posterior(compressed.mean[0], compressed.variance[0], Phi, prior)
    O, U, y = np.array([5, 0, 2]), np.array([1, 3, 4, 6]), np.array([1.0, 0.0, 1.0])
    Lambda = np.linalg.inv(Sigma)
    conditional = np.linalg.inv(Lambda[np.ix_(U, U)])
    mean, covariance = condition(mu, Sigma, O, y)
    assert_allclose(mean[U], mu[U] - conditional @ Lambda[np.ix_(U, O)] @ (y - mu[O]), atol=1e-7)  # up to the jitter
    assert_allclose(covariance[np.ix_(U, U)], conditional, atol=1e-7)
    assert_allclose(mean[O], y, atol=0)
    assert not covariance[O].any()
    assert not covariance[:, O].any()


def reveal(means, covariances, labels, values):
    """Condition each of n items on one more answer, label `labels`[i] having `values`[i], by a downdate of rank one."""
    rows = np.arange(means.shape[0])
    columns = covariances[rows, :, labels]  # (n, q)
    gain = columns / (columns[rows, labels] + 1e-9)[:, None]  # (n, q)
    new_means = means + gain * (values - means[rows, labels])[:, None]
    new_covariances = covariances - gain[:, :, None] * columns[:, None, :]
    new_means[rows, labels] = values
    new_covariances[rows, labels] = 0.0
    new_covariances[rows, :, labels] = 0.0
    return new_means, new_covariances


def test_answers_one_by_one_equal_all_at_once():
    rng = np.random.default_rng(1)
    compressed, prior, Phi, _ = problem(3)
    projected = project_prior(prior, Phi)
    means = recover_covariance(compressed, projected).mean
    covariances = np.array([posterior_covariance(projected, v) for v in compressed.variance])
    start = means.copy(), covariances.copy()
    order = np.array([rng.permutation(7)[:4] for _ in range(3)])  # another order for every item
    values = (rng.random((3, 4)) < 0.5).astype(float)
    for step in range(4):
        means, covariances = reveal(means, covariances, order[:, step], values[:, step])
    for i in range(3):
        mean, covariance = condition(start[0][i], start[1][i], order[i], values[i])
        assert_allclose(means[i], mean, atol=1e-7)
        assert_allclose(covariances[i], covariance, atol=1e-7)


@pytest.mark.parametrize("block_numbers", [None, 1])
def test_known_labels_in_a_batch_equal_conditioning_each_item(block_numbers, monkeypatch):
    if block_numbers:
        monkeypatch.setattr(gaussian_recovery, "BLOCK_NUMBERS", block_numbers)
    compressed, prior, Phi, known = problem(8)
    known.observed[0], known.observed[1] = False, True
    projected = project_prior(prior, Phi)
    result = recover_covariance(compressed, projected, known=known)
    for i in range(8):
        mu, Sigma = dense_posterior(compressed.mean[i], compressed.variance[i], Phi, prior)
        O = np.flatnonzero(known.observed[i])
        mean, covariance = condition(mu, Sigma, O, known.labels[i, O])
        assert_allclose(result.mean[i], mean, atol=1e-8)
        assert_allclose(result.variance[i], np.diag(covariance), atol=1e-8)
    other = KnownLabels(np.where(known.observed, known.labels, 9.0), known.observed)
    assert_allclose(recover_covariance(compressed, projected, known=other).mean, result.mean, atol=0)
    nothing = KnownLabels(known.labels, np.zeros_like(known.observed))
    assert_allclose(
        recover_covariance(compressed, projected, known=nothing).mean, recover_covariance(compressed, projected).mean
    )


def test_several_items_decouple_as_the_prior_becomes_flat():
    """In the exact joint model open items inform one another through their priors; not so without priors."""
    rng = np.random.default_rng(2)
    n, labelled, k, q = 6, 3, 3, 4
    X = rng.standard_normal((n, 2))
    C = X @ X.T + 1 + 0.5 * np.eye(n)
    Phi = gaussian_projection(k, q, rng)
    labels = (rng.random((labelled, q)) < 0.5).astype(float)
    weights = np.linalg.solve(C[:labelled, :labelled], C[:labelled, labelled:])  # (labelled, open)
    v = np.diag(C)[labelled:] - (C[:labelled, labelled:] * weights).sum(0)
    compressed = CompressedLabels(weights.T @ encode(labels, Phi), v)
    gaps = []
    for alpha in (1e-1, 1e-4, 1e-7):
        joint = np.kron(np.linalg.inv(C), Phi.T @ Phi)
        cut = labelled * q
        precision = joint[cut:, cut:] + alpha * np.eye((n - labelled) * q)
        exact = -np.linalg.solve(precision, joint[cut:, :cut] @ labels.ravel()).reshape(n - labelled, q)
        prior = LabelPrior(np.zeros(q), np.eye(q) / alpha)
        gaps.append(np.abs(recover_covariance(compressed, project_prior(prior, Phi)).mean - exact).max())
    assert gaps[0] > 1e-3
    assert gaps[1] < 1e-2 * gaps[0]
    assert gaps[2] < 1e-6


def test_shrunk_prior_of_complete_labels():
    rng = np.random.default_rng(0)
    n, q = 25, 6
    labels = (rng.random((n, q)) < 0.3).astype(float)
    labels[:, 5] = 0.0
    prior = shrunk_label_prior(labels)
    w, p = q / (q + 2 * n), (labels.sum(0) + 0.5) / (n + 1)
    expected = (1 - w) * np.cov(labels.T, bias=True) + w * np.diag(p * (1 - p)) + 1e-4 * np.eye(q)
    assert_allclose(prior.covariance, expected, atol=1e-12)
    assert_allclose(prior.mean, labels.mean(0), atol=1e-12)
    assert prior.covariance[5, 5] > 1e-4  # no positive yet, but not impossible
    assert_allclose(shrunk_label_prior(labels, np.ones((n, q), dtype=bool)).covariance, expected, atol=1e-12)


@pytest.mark.parametrize("share", [0.7, 0.2])
def test_shrunk_prior_of_incomplete_labels_is_positive_and_reads_only_what_is_observed(share):
    rng = np.random.default_rng(0)
    labels = (rng.random((12, 8)) < 0.4).astype(float)
    observed = rng.random((12, 8)) < share
    observed[:, 7] = False
    prior = shrunk_label_prior(labels, observed)
    assert np.linalg.eigvalsh(prior.covariance).min() > 9e-5
    other = shrunk_label_prior(np.where(observed, labels, 1 - labels), observed)
    assert_allclose(other.covariance, prior.covariance, atol=0)
    counts = observed.sum(0)
    assert_allclose(np.diag(prior.covariance)[counts == 0], 8 / (8 + 2 * counts.mean()) * 0.25 + 1e-4)
    w = 8 / (8 + 2 * counts.mean())
    for j in np.flatnonzero(counts):
        seen = labels[observed[:, j], j]
        p = (seen.sum() + 0.5) / (counts[j] + 1)
        assert_allclose(prior.covariance[j, j], (1 - w) * seen.var() + w * p * (1 - p) + 1e-4, rtol=1e-10)


def test_permuting_the_labels_permutes_the_result():
    compressed, prior, Phi, known = problem()
    order = np.random.default_rng(5).permutation(7)
    shuffled = LabelPrior(prior.mean[order], prior.covariance[np.ix_(order, order)])
    plain = recover_covariance(compressed, project_prior(prior, Phi), known=known)
    permuted = recover_covariance(
        compressed,
        project_prior(shuffled, Phi[:, order]),
        known=KnownLabels(known.labels[:, order], known.observed[:, order]),
    )
    assert_allclose(permuted.mean, plain.mean[:, order], atol=1e-8)
    assert_allclose(permuted.variance, plain.variance[:, order], atol=1e-8)
