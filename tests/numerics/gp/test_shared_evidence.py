"""The shared evidence against densities of multivariate normals, and its optimum against a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import multivariate_normal

from labelwise.numerics.gp.search import (
    LEAST_NOISE,
    SharedSpectrum,
    best_amplitude,
    log_evidence,
    maximise_evidence,
)


def kernel_and_outputs(n=25, k=4, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, 6))
    K = A @ A.T + 1.0
    noise = 0.3 * rng.standard_normal((n, k))
    return K, 0.4 * np.linalg.cholesky(K + 1e-9 * np.eye(n)) @ rng.standard_normal((n, k)) + noise


def direct(K, Z, amplitude, noise):
    C = amplitude * K + noise * np.eye(len(K))
    return multivariate_normal(np.zeros(len(K)), C).logpdf(Z.T).sum()


def test_evidence_is_the_log_density_of_all_outputs():
    problems = [kernel_and_outputs(), kernel_and_outputs(n=11, k=1, seed=1)]
    spectra = [SharedSpectrum.of(K, Z) for K, Z in problems]
    amplitude, noise = np.array([0.1, 2.0, 0.5]), np.array([0.3, 0.01, 5.0])
    expected = [sum(direct(K, Z, a, s) for K, Z in problems) for a, s in zip(amplitude, noise, strict=True)]
    np.testing.assert_allclose(log_evidence(spectra, amplitude, noise), expected, rtol=1e-10)


def test_amplitude_is_best_for_its_ratio():
    K, Z = kernel_and_outputs()
    spectra = [SharedSpectrum.of(K, Z)]
    for ratio in (0.01, 1.0, 30.0):
        found = minimize_scalar(lambda log_a, r=ratio: -direct(K, Z, np.exp(log_a), r * np.exp(log_a)))
        np.testing.assert_allclose(best_amplitude(spectra, np.array([ratio])), np.exp(found.x), rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_optimum_is_that_of_a_general_optimiser(seed):
    K, Z = kernel_and_outputs(seed=seed)
    best = maximise_evidence([SharedSpectrum.of(K, Z)])
    rival = minimize(lambda x: -direct(K, Z, *np.exp(x)), [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8})
    np.testing.assert_allclose([best.amplitude, best.noise], np.exp(rival.x), rtol=1e-3)
    assert best.log_evidence >= -rival.fun - 1e-7
    np.testing.assert_allclose(best.log_evidence, direct(K, Z, best.amplitude, best.noise), rtol=1e-10)


def test_given_noise_is_kept_and_the_amplitude_is_best_for_it():
    K, Z = kernel_and_outputs()
    best = maximise_evidence([SharedSpectrum.of(K, Z)], noise=0.5)
    rival = minimize_scalar(lambda log_a: -direct(K, Z, np.exp(log_a), 0.5), bounds=(-8, 4), method="bounded")
    assert best.noise == 0.5
    np.testing.assert_allclose(best.amplitude, np.exp(rival.x), rtol=1e-3)


def test_variance_of_estimated_rows_gives_the_expected_log_density():
    K, mean = kernel_and_outputs(n=8, k=2)
    variance = np.random.default_rng(1).random((8, 2))
    spectrum = SharedSpectrum.of(K, mean, variance.sum(1))
    C_inv = np.linalg.inv(0.2 * K + 0.4 * np.eye(8))
    expected = direct(K, mean, 0.2, 0.4) - 0.5 * (C_inv.diagonal() @ variance).sum()
    np.testing.assert_allclose(log_evidence([spectrum], np.array([0.2]), np.array([0.4])), expected, rtol=1e-10)


def test_nothing_to_explain_gives_the_least_noise():
    for spectra in ([], [SharedSpectrum.of(np.eye(3), np.zeros((3, 2)))]):
        best = maximise_evidence(spectra)
        assert best.noise == pytest.approx(LEAST_NOISE, rel=0.1) or best.noise >= LEAST_NOISE
        assert np.isfinite([best.amplitude, best.noise, best.log_evidence]).all()
