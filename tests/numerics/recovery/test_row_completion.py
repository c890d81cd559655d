"""Completion of partial rows against the exact joint solve over all rows and labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.numerics.recovery.gaussian_recovery import LabelPrior
from labelwise.numerics.recovery.label_codes import CompressedLabels, KnownLabels, encode, gaussian_projection
from labelwise.numerics.recovery.row_completion import complete_rows
from labelwise.numerics.recovery.sparse_recovery import SparsePrior, recover_vb


def problem(n=9, k=4, q=6, seed=0, share=0.6):
    """Rows tied together by a kernel; some complete, one without any answer, the rest in between."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    P = np.linalg.inv(X @ X.T + 1 + 0.5 * np.eye(n))
    labels = (rng.random((n, q)) < 0.4).astype(float)
    observed = rng.random((n, q)) < share
    observed[:3], observed[3] = True, False
    return KnownLabels(labels, observed), gaussian_projection(k, q, rng), P


def exact_means(known, Phi, P, prior_precisions, prior_mean, label_mean):
    """Solve Λ_UU y_U = b_U − Λ_UO y_O over all rows at once, Λ = blockdiag(prior precisions) + P ⊗ ΦᵀΦ."""
    n, q = known.labels.shape
    Gram = Phi.T @ Phi
    Lambda = np.kron(P, Gram)
    pull = np.kron(P.sum(1), Gram @ label_mean)  # the codes are Φ (y − ȳ)
    for i in range(n):
        rows = slice(i * q, (i + 1) * q)
        Lambda[rows, rows] += prior_precisions[i]
        pull[rows] += prior_precisions[i] @ prior_mean
    O = known.observed.ravel()
    y = np.where(known.observed, known.labels, 0.0).ravel()
    y[~O] = np.linalg.solve(Lambda[np.ix_(~O, ~O)], pull[~O] - Lambda[np.ix_(~O, O)] @ y[O])
    return y.reshape(n, q)


@pytest.mark.slow
@pytest.mark.parametrize("centred", [False, True])
def test_gaussian_prior_converges_to_the_exact_joint_solve(centred):
    known, Phi, P = problem()
    rng = np.random.default_rng(7)
    A = rng.standard_normal((6, 6))
    prior = LabelPrior(rng.random(6), A @ A.T / 6 + 0.1 * np.eye(6))
    label_mean = rng.random(6) if centred else None
    result = complete_rows(known, Phi, P, prior, label_mean=label_mean, n_sweeps=2000, tolerance=1e-13)
    precisions = np.broadcast_to(np.linalg.inv(prior.covariance), (9, 6, 6))
    offset = label_mean if centred else np.zeros(6)
    assert_allclose(result.labels, exact_means(known, Phi, P, precisions, prior.mean, offset), atol=1e-9)
    assert_allclose(result.codes, encode(result.labels, Phi, label_mean), atol=1e-10)
    assert result.change < 1e-13
    assert result.precision is None


@pytest.mark.parametrize(("k", "q"), [(4, 6), (6, 4), (2, 6)])
def test_sparse_prior_ends_at_the_exact_joint_solve_for_its_precisions(k, q):
    """At convergence the means are those of the joint Gaussian at the α found, in both forms of the update."""
    known, Phi, P = problem(k=k, q=q)
    prior = SparsePrior(0.5, 0.5)
    result = complete_rows(known, Phi, P, prior, n_sweeps=5000, tolerance=1e-13)
    alpha = np.where(known.observed, 1.0, result.precision)  # the prior of a known label has no say
    precisions = [np.diag(row) for row in alpha]
    assert_allclose(result.labels, exact_means(known, Phi, P, precisions, np.zeros(q), np.zeros(q)), atol=1e-9)
    moment = result.labels**2 + result.variance
    free = ~known.observed
    assert_allclose(result.precision[free], prior.precision(moment)[free], rtol=1e-6)
    assert np.isinf(result.precision[~free]).all()


@pytest.mark.parametrize(("k", "q"), [(4, 6), (6, 4)])
@pytest.mark.parametrize("sweeps", [1, 7])
def test_one_incomplete_row_is_leave_one_out_recovery(k, q, sweeps):
    known, Phi, P = problem(k=k, q=q)
    known.observed[:] = True
    known.observed[4, ::2] = False
    rest = np.arange(9) != 4
    C = np.linalg.inv(P)
    weights = np.linalg.solve(C[np.ix_(rest, rest)], C[rest, 4])
    codes = CompressedLabels(
        (weights @ encode(known.labels[rest], Phi))[None], np.array([C[4, 4] - C[4, rest] @ weights])
    )
    alone = recover_vb(codes, Phi, known=KnownLabels(known.labels[4:5], known.observed[4:5]), n_iterations=sweeps)
    result = complete_rows(known, Phi, P, n_sweeps=sweeps)
    assert_allclose(result.labels[4], alone.mean[0], atol=1e-9)
    assert_allclose(result.variance[4], alone.variance[0], atol=1e-9)
    assert_allclose(result.precision[4], alone.precision[0], rtol=1e-6)
    assert_allclose(result.labels[rest], known.labels[rest], atol=0)


def test_variances_are_conditional_and_so_below_the_exact_ones():
    known, Phi, P = problem(n=14, share=0.3)
    prior = LabelPrior(np.zeros(6), np.eye(6))
    result = complete_rows(known, Phi, P, prior, n_sweeps=500)
    O = known.observed.ravel()
    Lambda = np.kron(P, Phi.T @ Phi) + np.eye(O.size)
    exact = np.diag(np.linalg.inv(Lambda[np.ix_(~O, ~O)]))
    ratio = result.variance.ravel()[~O] / exact
    assert ratio.max() <= 1 + 1e-9
    assert 0.5 < ratio.mean() < 1
    assert not result.variance.ravel()[O].any()


def test_entries_that_are_not_observed_do_not_matter():
    known, Phi, P = problem()
    other = KnownLabels(np.where(known.observed, known.labels, 3.0), known.observed)
    assert_allclose(complete_rows(known, Phi, P).labels, complete_rows(other, Phi, P).labels, atol=0)


@pytest.mark.parametrize("prior", [SparsePrior(0.5, 0.5), LabelPrior(np.full(6, 0.3), 0.2 * np.eye(6))])
def test_the_order_of_rows_and_labels_does_not_matter_at_convergence(prior):
    known, Phi, P = problem()
    rng = np.random.default_rng(3)
    rows, labels = rng.permutation(9), rng.permutation(6)
    settings = {"prior": prior, "n_sweeps": 5000, "tolerance": 1e-12}
    plain = complete_rows(known, Phi, P, **settings)
    shuffled = KnownLabels(known.labels[np.ix_(rows, labels)], known.observed[np.ix_(rows, labels)])
    permuted = complete_rows(shuffled, Phi[:, labels], P[np.ix_(rows, rows)], **settings)
    assert_allclose(permuted.labels, plain.labels[np.ix_(rows, labels)], atol=1e-7)


def test_complete_rows_need_no_sweep():
    known, Phi, P = problem()
    known.observed[:] = True
    result = complete_rows(known, Phi, P)
    assert result.n_sweeps == 0
    assert result.change == 0.0
    assert_allclose(result.labels, known.labels, atol=0)
    assert_allclose(result.codes, encode(known.labels, Phi), atol=1e-12)


def test_a_precision_of_another_size_is_refused():
    known, Phi, P = problem()
    with pytest.raises(ValueError, match=r"over 9 rows, got \(8, 8\)"):
        complete_rows(known, Phi, P[:8, :8])
