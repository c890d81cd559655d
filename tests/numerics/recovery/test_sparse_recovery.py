"""Variational sparse recovery against dense joint inference, quadrature and literal loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import digamma, gammaln
from scipy.stats import gamma, norm
from scipy.stats import t as student_t

from labelwise.numerics.recovery import sparse_recovery
from labelwise.numerics.recovery.label_codes import CompressedLabels, KnownLabels, encode, gaussian_projection
from labelwise.numerics.recovery.sparse_recovery import (
    SparsePrior,
    label_covariance,
    recover_mean_field,
    recover_vb,
)


def problem(n=6, k=5, q=9, seed=0, known_share=0.0):
    """Noisy codes of sparse labels, a different noise for every item, and some of the labels given away."""
    rng = np.random.default_rng(seed)
    labels = (rng.random((n, q)) < 0.3).astype(float)
    projection = gaussian_projection(k, q, rng)
    variance = rng.uniform(0.01, 0.5, n)
    mean = labels @ projection.T + np.sqrt(variance)[:, None] * rng.standard_normal((n, k))
    known = KnownLabels(labels, rng.random((n, q)) < known_share)
    return CompressedLabels(mean, variance), projection, known


def dense_vb(m, v, Phi, y, observed, prior, n_iterations):
    """Equations (3a) and (4) for one item, as they stand; also Σ over the unknown labels."""
    U = ~observed
    alpha = np.ones(U.sum())
    for _ in range(n_iterations):
        Sigma = np.linalg.inv(np.diag(alpha) + Phi[:, U].T @ Phi[:, U] / v)
        mu = Sigma @ Phi[:, U].T @ (m - Phi[:, observed] @ y[observed]) / v
        used, alpha = alpha, (prior.shape + 0.5) / (prior.rate + 0.5 * (mu**2 + np.diag(Sigma)))
    return mu, Sigma, used, alpha


@pytest.mark.parametrize("form", ["compressed", "labels", "auto"])
@pytest.mark.parametrize("shape", [(5, 9), (9, 5), (120, 60), (60, 120)])
def test_every_form_equals_the_literal_updates(form, shape):
    compressed, Phi, known = problem(4, *shape, known_share=0.3)
    known.observed[0] = False  # nothing known of one item, so that widths differ
    prior = SparsePrior(1e-3, 1e-2)
    result = recover_vb(compressed, Phi, known=known, prior=prior, n_iterations=5, form=form)
    for i in range(4):
        U = ~known.observed[i]
        mu, Sigma, alpha, _ = dense_vb(
            compressed.mean[i], compressed.variance[i], Phi, known.labels[i], known.observed[i], prior, 5
        )
        assert_allclose(result.mean[i, U], mu, atol=1e-10)
        assert_allclose(result.variance[i, U], np.diag(Sigma), atol=1e-10)
        assert_allclose(result.precision[i, U], alpha, rtol=1e-8)
        assert_allclose(result.mean[i, ~U], known.labels[i, ~U], atol=0)
        assert (result.variance[i, ~U] == 0).all()
        assert np.isinf(result.precision[i, ~U]).all()


def test_one_item_of_the_dense_joint_model_equals_regression_then_recovery():
    """The joint precision of the stacked labels is C⁻¹ ⊗ ΦᵀΦ: nothing is lost by going through (m, v)."""
    rng = np.random.default_rng(1)
    n, k, q = 7, 4, 6
    X = rng.standard_normal((n, 3))
    C = X @ X.T + 1 + 0.3 * np.eye(n)  # the noise included
    labels = (rng.random((n, q)) < 0.4).astype(float)
    Phi = gaussian_projection(k, q, rng)
    joint = np.kron(np.linalg.inv(C), Phi.T @ Phi)
    last, rest = slice((n - 1) * q, n * q), slice(0, (n - 1) * q)
    alpha = np.ones(q)
    for _ in range(8):
        Sigma = np.linalg.inv(np.diag(alpha) + joint[last, last])
        mu = -Sigma @ joint[last, rest] @ labels[:-1].ravel()
        alpha = (1e-6 + 0.5) / (1e-6 + 0.5 * (mu**2 + np.diag(Sigma)))
    weights = np.linalg.solve(C[:-1, :-1], C[:-1, -1])
    codes = CompressedLabels((weights @ encode(labels[:-1], Phi))[None], np.array([C[-1, -1] - C[-1, :-1] @ weights]))
    result = recover_vb(codes, Phi, n_iterations=8)
    assert_allclose(result.mean[0], mu, atol=1e-10)
    assert_allclose(label_covariance(Phi, codes.variance[0], result.precision[0]), Sigma, atol=1e-10)


def literal_bound(m, v, Phi, mu, Sigma, prior):
    """Equation (6) with the trace and the determinant taken of Σ itself."""
    a0, b0, a, b = prior.shape, prior.rate, prior.shape + 0.5, prior.rate + 0.5 * (mu**2 + np.diag(Sigma))
    Ea, El = a / b, digamma(a) - np.log(b)
    fit = -0.5 * m.size * np.log(2 * np.pi * v)
    fit -= (((m - Phi @ mu) ** 2).sum() + np.trace(Phi.T @ Phi @ Sigma)) / (2 * v)
    labels = (El / 2 - np.log(2 * np.pi) / 2 - Ea * (mu**2 + np.diag(Sigma)) / 2).sum()
    precisions = (a0 * np.log(b0) - gammaln(a0) + (a0 - 1) * El - b0 * Ea).sum()
    entropy_y = 0.5 * np.linalg.slogdet(2 * np.pi * np.e * Sigma)[1]
    entropy_alpha = gamma.entropy(a, scale=1 / b).sum()
    return fit + labels + precisions + entropy_y + entropy_alpha


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), rate=st.sampled_from([1e-6, 1e-3, 0.5]), share=st.sampled_from([0.0, 0.4]))
def test_bound_never_falls(seed, rate, share):
    compressed, Phi, known = problem(1, 4, 7, seed, share)
    prior, U, v = SparsePrior(rate, rate), ~known.observed[0], compressed.variance[0]
    left = compressed.mean[0] - Phi[:, ~U] @ known.labels[0, ~U]
    bound = []
    for t in range(1, 16):
        found = recover_vb(compressed, Phi, known=known, prior=prior, n_iterations=t)
        Sigma = label_covariance(Phi, v, found.precision[0])[np.ix_(U, U)]
        bound.append(literal_bound(left, v, Phi[:, U], found.mean[0, U], Sigma, prior))
    assert (np.diff(bound) >= -1e-9 * np.abs(bound[:-1])).all()


def test_bound_stays_below_the_evidence():
    """One label: the evidence is a one-dimensional integral."""
    prior, student = SparsePrior(0.5, 0.3), student_t(df=2 * 0.5, scale=np.sqrt(0.3 / 0.5))  # α integrated out
    Phi, m, v = np.array([[0.8], [-0.5]]), np.array([0.9, -0.2]), 0.1
    found = recover_vb(CompressedLabels(m[None], np.array([v])), Phi, prior=prior, n_iterations=200)
    bound = literal_bound(m, v, Phi, found.mean[0], np.diag(found.variance[0]), prior)

    def joint(y):
        return np.exp(norm.logpdf(m, Phi[:, 0] * y, np.sqrt(v)).sum() + student.logpdf(y))

    evidence = np.log(quad(joint, -5, 5, epsabs=1e-12)[0])
    assert evidence - 0.5 < bound < evidence


def test_orthonormal_columns_approach_the_fixed_point_slowly():
    m, v = np.array([1.0, 0.5, 0.33, 0.3, 0.0]), 0.1  # μ → m − v/m where m² > v, else 0
    limit = np.array([1 - 0.1, 0.5 - 0.2, 0.33 - 0.1 / 0.33, 0.0, 0.0])
    codes, prior = CompressedLabels(m[None], np.array([v])), SparsePrior(1e-9, 1e-9)
    means = [recover_vb(codes, np.eye(5), prior=prior, n_iterations=t).mean[0] for t in (10, 100, 1000)]
    errors = [np.abs(mean - limit).max() for mean in means]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[2] < 0.01


def test_entries_that_are_not_observed_do_not_matter():
    compressed, Phi, known = problem(known_share=0.4)
    other = KnownLabels(np.where(known.observed, known.labels, 7.0), known.observed)
    first, second = (recover_vb(compressed, Phi, known=given) for given in (known, other))
    assert_allclose(first.mean, second.mean, atol=0)
    assert_allclose(first.variance, second.variance, atol=0)


def test_permuting_the_labels_permutes_the_result():
    compressed, Phi, known = problem(known_share=0.3)
    order = np.random.default_rng(5).permutation(Phi.shape[1])
    shuffled = KnownLabels(known.labels[:, order], known.observed[:, order])
    plain = recover_vb(compressed, Phi, known=known)
    permuted = recover_vb(compressed, Phi[:, order], known=shuffled)
    assert_allclose(permuted.mean, plain.mean[:, order], atol=1e-9)
    assert_allclose(permuted.variance, plain.variance[:, order], atol=1e-9)


def test_items_do_not_depend_on_their_block(monkeypatch):
    compressed, Phi, known = problem(7, known_share=0.3)
    whole = recover_vb(compressed, Phi, known=known)
    monkeypatch.setattr(sparse_recovery, "BLOCK_NUMBERS", 2 * Phi.size)
    parts = recover_vb(compressed, Phi, known=known)
    assert_allclose(parts.mean, whole.mean, atol=1e-10)
    assert_allclose(parts.variance, whole.variance, atol=1e-10)


@pytest.mark.parametrize("known_share", [0.0, 0.4])
def test_label_covariance_is_the_inverse_of_the_precision(known_share):
    compressed, Phi, known = problem(2, known_share=known_share)
    result = recover_vb(compressed, Phi, known=known)
    for i in range(2):
        U, alpha, v = ~known.observed[i], result.precision[i], compressed.variance[i]
        Sigma = label_covariance(Phi, v, alpha)
        dense = np.linalg.inv(np.diag(alpha[U]) + Phi[:, U].T @ Phi[:, U] / v)
        assert_allclose(Sigma[np.ix_(U, U)], dense, atol=1e-10)
        assert not Sigma[~U].any()
        assert not Sigma[:, ~U].any()
        assert_allclose(np.diag(Sigma), result.variance[i], atol=1e-10)


def test_mean_field_equals_its_literal_loop():
    compressed, Phi, known = problem(1, known_share=0.3)
    wx, U, y = compressed.mean[0], ~known.observed[0], known.labels[0]
    s2, c2 = 0.2, 0.05
    mu_z, alpha = wx, np.ones(U.sum())
    for _ in range(6):
        Sigma = np.linalg.inv(np.diag(alpha) + Phi[:, U].T @ Phi[:, U] / c2)
        mu = Sigma @ Phi[:, U].T @ (mu_z - Phi[:, ~U] @ y[~U]) / c2
        mu_z = (wx / s2 + (Phi[:, U] @ mu + Phi[:, ~U] @ y[~U]) / c2) / (1 / s2 + 1 / c2)
        alpha = (1e-6 + 0.5) / (1e-6 + 0.5 * (mu**2 + np.diag(Sigma)))
    result = recover_mean_field(wx[None], Phi, regression_noise=s2, compression_noise=c2, known=known, n_iterations=6)
    assert_allclose(result.mean[0, U], mu, atol=1e-10)
    assert_allclose(result.variance[0, U], np.diag(Sigma), atol=1e-10)


def test_mean_field_fixed_point_has_the_marginal_means_and_smaller_variances():
    compressed, Phi, _ = problem(4, seed=3)
    s2, c2 = 0.1, 0.1
    settings = {"regression_noise": s2, "compression_noise": c2, "prior": SparsePrior(1.0, 1.0)}
    result = recover_mean_field(compressed.mean, Phi, n_iterations=3000, **settings)
    for i in range(4):
        precision = np.diag(result.precision[i]) + Phi.T @ Phi / (s2 + c2)
        assert_allclose(precision @ result.mean[i], Phi.T @ compressed.mean[i] / (s2 + c2), atol=1e-8)
        assert (result.variance[i] < np.diag(np.linalg.inv(precision))).all()


def test_everything_known_and_nothing_to_do():
    compressed, Phi, known = problem()
    known.observed[:] = True
    result = recover_vb(compressed, Phi, known=known)
    assert_allclose(result.mean, known.labels, atol=0)
    assert not result.variance.any()
    empty = recover_vb(CompressedLabels(np.zeros((0, Phi.shape[0])), np.zeros(0)), Phi)
    assert empty.mean.shape == (0, Phi.shape[1])


def test_one_label_and_rows_of_zeros():
    single = recover_vb(CompressedLabels(np.array([[0.9], [0.0]]), np.array([0.1, 0.1])), np.ones((1, 1)))
    assert single.mean[0, 0] > 0.7
    assert single.mean[1, 0] == 0.0
    compressed, Phi, _ = problem()
    nothing = recover_vb(CompressedLabels(np.zeros_like(compressed.mean), compressed.variance), Phi)
    assert not nothing.mean.any()


def test_wrong_arguments_are_refused():
    compressed, Phi, _ = problem()
    with pytest.raises(ValueError, match="got 0"):
        recover_vb(compressed, Phi, n_iterations=0)
    with pytest.raises(ValueError, match="got 'dense'"):
        recover_vb(compressed, Phi, form="dense")
    with pytest.raises(ValueError, match="got 0"):
        SparsePrior(shape=0)
    with pytest.raises(ValueError, match=r"got 0\.1 and -1"):
        recover_mean_field(compressed.mean, Phi, regression_noise=0.1, compression_noise=-1)
