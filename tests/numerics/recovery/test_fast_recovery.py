"""Sequential sparse recovery against closed forms, brute-force likelihoods and a naive version of itself."""

import numba
import numpy as np
import pytest
from numpy.testing import assert_allclose

from labelwise.numerics.recovery.fast_recovery import MINIMUM_GAIN, recover_fast, smoothed_score
from labelwise.numerics.recovery.gaussian_recovery import ridge_prior
from labelwise.numerics.recovery.label_codes import CompressedLabels, KnownLabels, gaussian_projection
from labelwise.numerics.recovery.sparse_recovery import recover_vb


def problem(n=8, k=12, q=20, seed=0, known_share=0.0, noise=(0.02, 0.3)):
    rng = np.random.default_rng(seed)
    labels = (rng.random((n, q)) < 0.15).astype(float)
    projection = gaussian_projection(k, q, rng)
    variance = rng.uniform(*noise, n)
    mean = labels @ projection.T + np.sqrt(variance)[:, None] * rng.standard_normal((n, k))
    return CompressedLabels(mean, variance), projection, KnownLabels(labels, rng.random((n, q)) < known_share)


def log_evidence(m, v, Phi, alpha):
    """log N(m; 0, v I + Φ A⁻¹ Φᵀ)."""
    covariance = v * np.eye(m.size) + (Phi / alpha) @ Phi.T
    return -0.5 * (m @ np.linalg.solve(covariance, m) + np.linalg.slogdet(2 * np.pi * covariance)[1])


def naive_recovery(m, v, Phi, tolerance=1e-2):
    """The same greedy ascent, with all factors from scratch and every gain as a difference of log-likelihoods."""
    q = Phi.shape[1]
    alpha = np.full(q, np.inf)
    while True:
        inverse = np.linalg.inv(v * np.eye(m.size) + (Phi / alpha) @ Phi.T)
        S, Q = np.einsum("kq,kl,lq->q", Phi, inverse, Phi), Phi.T @ inverse @ m
        inside = np.isfinite(alpha)
        shrink = np.where(inside, np.where(inside, alpha, 1.0) / (np.where(inside, alpha, 2 * S) - S), 1.0)
        s, h = shrink * S, shrink * Q
        proposed = np.full(q, np.inf)
        proposed[h**2 > s] = (s**2 / np.where(h**2 > s, h**2 - s, 1.0))[h**2 > s]
        now = log_evidence(m, v, Phi, alpha)
        gains = np.zeros(q)
        for j in np.flatnonzero(inside | np.isfinite(proposed)):
            trial = alpha.copy()
            trial[j] = proposed[j]
            gains[j] = 2 * (log_evidence(m, v, Phi, trial) - now)
        both = inside & np.isfinite(proposed)
        moves = (inside != np.isfinite(proposed)) & (inside | (gains > MINIMUM_GAIN))
        settled = not moves.any() and (np.abs(np.log(proposed[both] / alpha[both])) < tolerance).all()
        if settled or gains.max() <= MINIMUM_GAIN:
            return alpha
        best = gains.argmax()
        alpha[best] = proposed[best]


@pytest.mark.slow
def test_equals_the_naive_ascent():
    compressed, Phi, _ = problem(12)
    result = recover_fast(compressed, Phi)
    for i in range(12):
        alpha = naive_recovery(compressed.mean[i], compressed.variance[i], Phi)
        assert_allclose(result.precision[i], alpha, rtol=1e-6)
    assert (np.isfinite(result.precision).sum(1) < 12).all()
    assert (result.n_steps > np.isfinite(result.precision).sum(1)).any()  # re-estimated or deleted, not only added


@pytest.mark.parametrize("extra_rows", [0, 3])
def test_orthonormal_columns_have_a_closed_form(extra_rows):
    """Each label alone: μ = m − v/m where m² > v, else 0."""
    rng = np.random.default_rng(0)
    n, q = 40, 6
    Phi = np.linalg.qr(rng.standard_normal((q + extra_rows, q))).Q
    variance = rng.uniform(0.1, 2.0, n)
    mean = rng.standard_normal((n, q + extra_rows))
    m = mean @ Phi
    expected = np.where(m**2 > variance[:, None], m - variance[:, None] / m, 0.0)
    result = recover_fast(CompressedLabels(mean, variance), Phi)
    assert_allclose(result.mean, expected, atol=3e-4)  # labels whose gain is below the smallest may stay out
    clear = np.abs(m**2 / variance[:, None] - 1) > 1e-2
    assert_allclose(result.mean[clear], expected[clear], atol=1e-12)


def test_is_a_fixed_point_of_the_variational_updates_on_its_support():
    compressed, Phi, _ = problem(10)
    result = recover_fast(compressed, Phi, tolerance=1e-7, max_steps=20_000)
    for i in range(10):
        active = np.isfinite(result.precision[i])
        alpha, v = result.precision[i, active], compressed.variance[i]
        Sigma = np.linalg.inv(np.diag(alpha) + Phi[:, active].T @ Phi[:, active] / v)
        mu = Sigma @ Phi[:, active].T @ compressed.mean[i] / v
        assert_allclose(result.mean[i, active], mu, atol=1e-9)
        assert_allclose(result.variance[i, active], np.diag(Sigma), atol=1e-9)
        assert_allclose(alpha, 1 / (mu**2 + np.diag(Sigma)), rtol=2e-3)  # (4) with a₀ = b₀ = 0
        assert not result.mean[i, ~active].any()


def test_no_single_change_raises_the_likelihood():
    compressed, Phi, _ = problem(5)
    result = recover_fast(compressed, Phi, tolerance=1e-7, max_steps=20_000)
    for i in range(5):
        m, v, alpha = compressed.mean[i], compressed.variance[i], result.precision[i]
        best = log_evidence(m, v, Phi, alpha)
        for j in range(Phi.shape[1]):
            for value in (np.inf, *np.geomspace(1e-2, 1e4, 25), 0.9 * alpha[j], 1.1 * alpha[j]):
                trial = alpha.copy()
                trial[j] = value
                assert log_evidence(m, v, Phi, trial) <= best + 1e-6


def test_score_adds_what_the_residual_says():
    compressed, Phi, known = problem(known_share=0.2)
    result = recover_fast(compressed, Phi, known=known, residual_weight=0.01)
    residual = (compressed.mean - result.mean @ Phi.T) @ Phi
    free = ~known.observed
    assert_allclose(result.score[free], (result.mean + 0.01 * residual)[free], atol=1e-10)
    assert_allclose(result.score[~free], known.labels[~free], atol=0)


def test_smoothed_score_adds_the_first_variational_iteration():
    compressed, Phi, known = problem(known_share=0.2)
    for given in (None, known):
        recovery = recover_fast(compressed, Phi, known=given)
        ridge = recover_vb(compressed, Phi, known=given, n_iterations=1).mean
        score = smoothed_score(recovery, compressed, ridge_prior(Phi), known=given, weight=0.5)
        free = np.ones_like(known.observed) if given is None else ~known.observed
        assert_allclose(score[free], (recovery.score + 0.5 * ridge)[free], atol=1e-7)
        assert_allclose(score[~free], known.labels[~free], atol=0)


def test_finds_planted_labels():
    """Sixty items with 3 of 80 labels in 40 dimensions, little noise: the top three are the planted ones."""
    rng = np.random.default_rng(0)
    Phi = gaussian_projection(40, 80, rng)
    planted = np.argsort(rng.random((60, 80)), axis=1)[:, :3]
    labels = np.zeros((60, 80))
    np.put_along_axis(labels, planted, 1.0, axis=1)
    codes = labels @ Phi.T + 0.05 * rng.standard_normal((60, 40))
    result = recover_fast(CompressedLabels(codes, np.full(60, 0.05**2)), Phi)
    top = np.sort(np.argsort(-result.score, axis=1)[:, :3], axis=1)
    assert (top == np.sort(planted, axis=1)).all()
    assert_allclose(result.mean, labels, atol=0.2)


def test_likelihood_is_on_a_level_with_many_variational_steps():
    """Often another optimum, but on average no worse one."""
    compressed, Phi, _ = problem(40, seed=3)
    fast = recover_fast(compressed, Phi, tolerance=1e-4, max_steps=5000).precision
    slow = recover_vb(compressed, Phi, n_iterations=1000).precision
    differences = [
        log_evidence(m, v, Phi, fast[i]) - log_evidence(m, v, Phi, slow[i])
        for i, (m, v) in enumerate(zip(compressed.mean, compressed.variance, strict=True))
    ]
    assert np.mean(differences) > -0.2


def test_known_labels_leave_a_smaller_problem():
    compressed, Phi, known = problem(known_share=0.3)
    result = recover_fast(compressed, Phi, known=known)
    for i in range(8):
        U = ~known.observed[i]
        left = compressed.mean[i] - Phi[:, ~U] @ known.labels[i, ~U]
        alone = recover_fast(CompressedLabels(left[None], compressed.variance[i : i + 1]), Phi[:, U])
        assert_allclose(result.mean[i, U], alone.mean[0], atol=1e-9)
        assert_allclose(result.variance[i, U], alone.variance[0], atol=1e-9)
        assert_allclose(result.mean[i, ~U], known.labels[i, ~U], atol=0)
    other = KnownLabels(np.where(known.observed, known.labels, 5.0), known.observed)
    assert_allclose(recover_fast(compressed, Phi, known=other).score, result.score, atol=0)


def test_permuting_the_labels_permutes_the_result():
    compressed, Phi, _ = problem()
    order = np.random.default_rng(5).permutation(Phi.shape[1])
    plain, permuted = recover_fast(compressed, Phi), recover_fast(compressed, Phi[:, order])
    assert_allclose(permuted.score, plain.score[:, order], atol=1e-8)
    assert (permuted.n_steps == plain.n_steps).all()


def test_neither_threads_nor_a_given_gram_matrix_change_anything():
    compressed, Phi, _ = problem(9)
    before = numba.get_num_threads()
    several = recover_fast(compressed, Phi)
    try:
        numba.set_num_threads(1)
        one = recover_fast(compressed, Phi, gram=Phi.T @ Phi)
    finally:
        numba.set_num_threads(before)
    assert (one.score == several.score).all()
    single = recover_fast(CompressedLabels(compressed.mean[4:5], compressed.variance[4:5]), Phi)
    assert_allclose(single.score[0], several.score[4], atol=1e-12)


def test_steps_are_bounded():
    compressed, Phi, _ = problem()
    full, cut = recover_fast(compressed, Phi), recover_fast(compressed, Phi, max_steps=2)
    assert full.n_steps.max() > 2
    assert cut.n_steps.max() == 2
    assert (np.isfinite(cut.precision).sum(1) <= 2).all()


def test_edges():
    compressed, Phi, known = problem()
    nothing = recover_fast(CompressedLabels(np.zeros_like(compressed.mean), compressed.variance), Phi)
    assert not nothing.mean.any()
    assert not nothing.n_steps.any()
    known.observed[:] = True
    assert_allclose(recover_fast(compressed, Phi, known=known).mean, known.labels, atol=0)
    empty = recover_fast(CompressedLabels(np.zeros((0, Phi.shape[0])), np.zeros(0)), Phi)
    assert empty.mean.shape == (0, Phi.shape[1])
    single = recover_fast(CompressedLabels(np.array([[1.0]]), np.array([0.25])), np.ones((1, 1)))
    assert_allclose(single.mean, 0.75)
    with_ignored = np.concatenate([np.zeros((Phi.shape[0], 1)), Phi], axis=1)  # a label that Φ does not see
    result = recover_fast(compressed, with_ignored)
    assert not result.mean[:, 0].any()
    assert_allclose(result.mean[:, 1:], recover_fast(compressed, Phi).mean, atol=1e-9)
    with pytest.raises(ValueError, match="got 0 and"):
        recover_fast(compressed, Phi, max_steps=0)
