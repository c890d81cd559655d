"""Bayesian PCA against probabilistic PCA, conditioning of the joint Gaussian, planted ranks and invariances."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln, psi
from scipy.stats import gamma, multivariate_normal, norm

from labelwise.numerics.recovery.label_codes import (
    MEAN_PRECISION,
    RATE,
    SHAPE,
    Directions,
    _Variational,
    detection_threshold,
    empirical_pca,
    plain_pca,
    variational_pca,
)


def planted(n, c=40, rank=7, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, c)) + noise * rng.standard_normal((n, c))


@pytest.mark.parametrize("find", [empirical_pca, lambda R: variational_pca(R).directions])
@pytest.mark.parametrize("n", [300, 25])
def test_planted_rank_and_noise_are_found(find, n):
    found = find(planted(n))
    assert found.variances.size == 7
    assert 0.075 < found.noise < 0.12  # planted: 0.09


@pytest.mark.parametrize("find", [empirical_pca, lambda R: variational_pca(R).directions, lambda R: plain_pca(R, 5)])
def test_targets_are_orthogonal_with_unit_variance(find):
    R = planted(60)
    found = find(R)
    k = found.variances.size
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(k), atol=1e-12)
    U = found.targets(R)
    covariance = np.cov(U.T, bias=True).reshape(k, k)
    np.testing.assert_allclose(covariance.diagonal(), 1.0, atol=1e-8)
    if find is not None and find.__name__ == "empirical_pca":  # eigenvectors of these very rows: exactly uncorrelated
        np.testing.assert_allclose(covariance, np.eye(k), atol=1e-12)


def test_directions_go_back_and_forth():
    R = planted(50, noise=0.0)
    found = plain_pca(R, 7)
    np.testing.assert_allclose(found.codes(found.targets(R)), R, atol=1e-10)


def test_noise_of_plain_pca_is_the_mean_of_the_eigenvalues_left_out():
    R = planted(200, c=8, rank=3)
    eigenvalues = np.sort(np.linalg.eigvalsh(np.cov(R.T, bias=True)))[::-1]
    assert plain_pca(R, 3).noise == pytest.approx(eigenvalues[3:].mean())
    np.testing.assert_allclose(plain_pca(R).variances, eigenvalues)


def test_threshold_at_ratio_one_is_the_known_constant():
    t, x = detection_threshold(1.0)
    assert t == pytest.approx(2.51286, abs=1e-5)
    assert x == pytest.approx(4.91081, abs=1e-5)


def test_closed_form_heeds_neither_rotation_nor_shift_and_scales():
    rng = np.random.default_rng(1)
    R = planted(80, c=20)
    rotation = np.linalg.qr(rng.standard_normal((20, 20))).Q
    plain, moved, scaled = empirical_pca(R), empirical_pca(R @ rotation + 5.0), empirical_pca(3 * R)
    assert plain.variances.size == moved.variances.size == scaled.variances.size
    assert moved.noise == pytest.approx(plain.noise, rel=1e-6)
    assert scaled.noise == pytest.approx(9 * plain.noise, rel=1e-6)


def test_closed_form_keeps_nothing_of_pure_noise_but_the_forced_one():
    for seed in range(10):
        R = np.random.default_rng(seed).standard_normal((200, 60))
        assert empirical_pca(R).variances.size == 1


def test_variational_bound_never_falls_without_pruning():
    found = variational_pca(planted(120, c=15, rank=3), prune=0.0, max_rounds=80)
    assert np.all(np.diff(found.bounds) > -1e-8 * np.abs(found.bounds[1:]))
    assert set(found.n_directions) == {14}


def test_bound_is_below_the_evidence_of_the_true_model():
    """With the planted factors the marginal likelihood is Gaussian; a bound on the evidence cannot be far above it."""
    R = planted(100, c=6, rank=2)
    C = np.cov(R.T, bias=True)
    best = -0.5 * 100 * (np.linalg.slogdet(C)[1] + 6 + 6 * np.log(2 * np.pi))  # the most any Gaussian reaches
    assert variational_pca(R, prune=0.0).bounds[-1] < best


def test_few_and_equal_rows():
    assert empirical_pca(np.ones((5, 4))).variances.size == 1
    assert plain_pca(planted(3, c=10)).variances.size == 2  # rank of three centred rows
    with pytest.raises(ValueError, match="at least 1"):
        plain_pca(planted(5), 0)
    assert isinstance(empirical_pca(planted(4)), Directions)


def component_energy(size, noise, L, M):
    """The lowest free energy of one component with empirical Bayes scales, by search; 0 is that of no component."""

    def energy(x):
        a, b, s_a, s_b = np.exp(x)  # posterior means along its singular vectors, and variances
        A, B = a * a + M * s_a, b * b + L * s_b
        return M * np.log(A / (M * s_a)) + L * np.log(B / (L * s_b)) + (A * B - 2 * a * b * size) / noise

    options = {"maxiter": 4000, "maxfev": 4000, "xatol": 1e-9, "fatol": 1e-11}
    starts = [np.array([m, m, -3.0, -3.0]) for m in 0.5 * np.log(size * np.array([0.5, 0.9]))]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return min(0.0, *(minimize(energy, x, method="Nelder-Mead", options=options).fun for x in starts))


@pytest.mark.parametrize(("L", "M"), [(5, 5), (4, 12), (6, 40)])
def test_the_threshold_is_where_a_component_begins_to_pay(L, M):
    x_star = detection_threshold(L / M)[1]
    assert component_energy(np.sqrt(0.7 * M * x_star * 0.99), 0.7, L, M) == pytest.approx(0, abs=1e-6)
    assert component_energy(np.sqrt(0.7 * M * x_star * 1.02), 0.7, L, M) < -1e-4


@pytest.mark.parametrize(("n", "c", "rank"), [(12, 5, 2), (6, 9, 2)])
def test_noise_of_the_closed_form_is_where_a_searched_free_energy_is_lowest(n, c, rank):
    R = planted(n, c, rank, noise=0.2, seed=1)
    found, L, M = empirical_pca(R), min(n, c), max(n, c)
    singular = np.linalg.svd(R - R.mean(0), compute_uv=False)[: L - 1]

    def total(noise):
        components = sum(component_energy(each, noise, L, M) for each in singular)
        return (singular**2).sum() / noise + singular.size * M * np.log(noise) + components

    best = total(found.noise)
    assert all(total(found.noise * factor) > best - 1e-4 for factor in (0.8, 0.95, 1.05, 1.25))
    kept = sum(component_energy(each, found.noise, L, M) < 0 for each in singular)
    assert found.variances.size == max(1, kept)


def naive_bound(state):
    """E[log p] − E[log q] of the iterated form, term by term and entry by entry."""
    (n, c), k, log_2pi = state.R.shape, state.W.shape[1], np.log(2 * np.pi)
    second_U = [np.outer(u, u) + state.S_U for u in state.U]  # E[u uᵀ]
    second_W = [np.outer(w, w) + state.S_W for w in state.W]
    error = sum(
        r**2 + m**2 + state.s_mu - 2 * r * m - 2 * (r - m) * (w @ u) + np.trace(ww @ uu)
        for row, u, uu in zip(state.R, state.U, second_U, strict=True)
        for r, m, w, ww in zip(row, state.mu, state.W, second_W, strict=True)
    )
    q_tau = gamma(SHAPE + n * c / 2, scale=1 / (RATE + error / 2))
    lengths = [sum(ww[g, g] for ww in second_W) for g in range(k)]
    q_alpha = [gamma(SHAPE + c / 2, scale=1 / (RATE + length / 2)) for length in lengths]

    def expected_log(q):
        return psi(q.args[0]) + np.log(q.kwds["scale"])

    def from_prior(q):  # E[log p(x)] + the entropy of q
        prior = SHAPE * np.log(RATE) - gammaln(SHAPE) + (SHAPE - 1) * expected_log(q) - RATE * q.mean()
        return prior + q.entropy()

    total = n * c / 2 * (expected_log(q_tau) - log_2pi) - q_tau.mean() * error / 2
    total += sum(-k / 2 * log_2pi - np.trace(uu) / 2 for uu in second_U)
    for q, length in zip(q_alpha, lengths, strict=True):
        total += c / 2 * (expected_log(q) - log_2pi) - q.mean() * length / 2
    total += sum((np.log(MEAN_PRECISION) - log_2pi - MEAN_PRECISION * (m**2 + state.s_mu)) / 2 for m in state.mu)
    entropies = [n * multivariate_normal(cov=state.S_U).entropy(), c * multivariate_normal(cov=state.S_W).entropy()]
    return total + sum(entropies) + c * norm(scale=state.s_mu**0.5).entropy() + sum(map(from_prior, [q_tau, *q_alpha]))


@pytest.mark.parametrize(("n", "c"), [(14, 5), (5, 8)])
def test_the_bound_is_the_sum_of_its_terms(n, c):
    state = _Variational.start(planted(n, c, 2))
    for _ in range(3):
        state.update()
        assert state.bound() == pytest.approx(naive_bound(state), rel=1e-8)
