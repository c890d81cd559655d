"""Bayesian PCA against probabilistic PCA, conditioning of the joint Gaussian, planted ranks and invariances."""

import numpy as np
import pytest

from labelwise.numerics.bayesian_pca import Directions, detection_threshold, empirical_pca, plain_pca, variational_pca


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


def test_posterior_mean_is_conditioning_of_the_joint_gaussian():
    rng = np.random.default_rng(3)
    R = planted(80, c=6, rank=2)
    found = plain_pca(R, 2)
    W = found.basis * np.sqrt(found.variances - found.noise)  # (c, k) of probabilistic PCA, no rotation
    joint = np.block([[np.eye(2), W.T], [W, W @ W.T + found.noise * np.eye(6)]])
    r = R[rng.integers(80)]
    conditioned = joint[:2, 2:] @ np.linalg.solve(joint[2:, 2:], r - found.centre)
    np.testing.assert_allclose(found.posterior_mean(r[None])[0], conditioned, atol=1e-12)


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
