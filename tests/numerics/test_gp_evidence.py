"""The evidence for all noise levels against the density of a multivariate normal."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from labelwise.numerics.gp_evidence import Spectrum
from labelwise.numerics.kernels import Kernel

rng = np.random.default_rng(0)
K = Kernel(rbf=1.0, bias=0.5)(rng.normal(size=(12, 2)))
Y = rng.normal(size=(12, 3)) * [1.0, 10.0, 0.01]
NOISE = np.array([0.01, 0.3, 5.0])


def test_evidence_is_the_density_at_its_best_amplitude():
    found = Spectrum.of(K, Y).log_evidence(NOISE)
    for g, noise in enumerate(NOISE):
        C = K + noise * np.eye(12)
        for j in range(3):
            best = minimize_scalar(
                lambda log_b, C=C, j=j: -multivariate_normal(cov=np.exp(log_b) * C).logpdf(Y[:, j]),
                bounds=(-25, 25),
                method="bounded",
                options={"xatol": 1e-10},
            )
            np.testing.assert_allclose(found[g, j], -best.fun, rtol=1e-9)


def test_the_scale_of_a_label_shifts_its_evidence_by_a_constant():
    """A rare label, whose centred values are small, weighs as much in the choice of noise as any other."""
    straight, scaled = Spectrum.of(K, Y).log_evidence(NOISE), Spectrum.of(K, Y * 0.1).log_evidence(NOISE)
    np.testing.assert_allclose(scaled - straight, 12 * np.log(10))


def test_a_singular_kernel_is_fine():
    twice = np.kron(K, np.ones((2, 2)))
    assert np.isfinite(Spectrum.of(twice, np.repeat(Y, 2, axis=0)).log_evidence(NOISE)).all()
