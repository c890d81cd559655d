"""The evidence of one Gaussian process that many outputs share, amplitude and noise included, in closed form.

`gp_evidence` gives every label an amplitude of its own; here all outputs have one covariance amp (K₀ + r I), as the
codes of label vectors do. Equation numbers are those of docs/mathematics/compressed_label_gp.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.gp.search import golden_section

RATIOS = np.logspace(-6, 4, 101)  # noise over amplitude, relative to the mean diagonal of K₀
LEAST_AMPLITUDE, LEAST_NOISE = 1e-9, 1e-6  # codes of 0/1 labels have variances of 0.01 and more


@dataclass(frozen=True)
class SharedOptimum:
    """The best amplitude and noise variance for one kernel shape, and log p(Z) there."""

    amplitude: float
    noise: float
    log_evidence: float


@dataclass(frozen=True, eq=False)
class SharedSpectrum:
    """Outputs known on the same rows: K₀ = U diag(λ) Uᵀ, and how much of all of them lies along each column of U."""

    eigenvalues: FloatArray  # (n,) λ
    energies: FloatArray  # (n,) Σ over outputs of (Uᵀ z)²
    n_outputs: int

    @classmethod
    def of(cls, K: FloatArray, Z: FloatArray, row_variance: FloatArray | None = None) -> SharedSpectrum:
        """From K₀ (n, n) and Z (n, k); `row_variance` (n,) is the summed variance of the outputs of rows that are
        themselves estimates, which the expected squares have to include."""
        eigenvalues, U = np.linalg.eigh(K)
        energies = ((U.T @ Z) ** 2).sum(axis=1)
        if row_variance is not None:
            energies = energies + (U**2).T @ row_variance
        return cls(np.maximum(eigenvalues, 0.0), energies, Z.shape[1])


def log_evidence(spectra: Sequence[SharedSpectrum], amplitude: FloatArray, noise: FloatArray) -> FloatArray:
    """(g,) log p(Z) under amp K₀ + noise I for g pairs of amplitude and noise, equation (3)."""
    total = np.zeros(np.shape(amplitude))
    for spectrum in spectra:
        variances = np.multiply.outer(amplitude, spectrum.eigenvalues) + noise[:, None]  # (g, n)
        total -= 0.5 * ((spectrum.energies / variances).sum(1) + spectrum.n_outputs * np.log(variances).sum(1))
        total -= 0.5 * spectrum.n_outputs * spectrum.eigenvalues.size * np.log(2 * np.pi)
    return total


def best_amplitude(spectra: Sequence[SharedSpectrum], ratio: FloatArray) -> FloatArray:
    """(g,) the amplitude of highest evidence for each ratio of noise to amplitude, equation (4)."""
    n_numbers = sum(spectrum.n_outputs * spectrum.eigenvalues.size for spectrum in spectra)
    energy = sum((s.energies / np.add.outer(ratio, s.eigenvalues)).sum(1) for s in spectra)
    return np.maximum(energy / max(n_numbers, 1), LEAST_AMPLITUDE) * np.ones_like(ratio)


def maximise_evidence(spectra: Sequence[SharedSpectrum], noise: float | None = None) -> SharedOptimum:
    """Amplitude and noise of highest evidence, or the amplitude alone where the noise is given.

    One dimension is searched, the ratio of both, on a grid and then by golden section.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> K = np.diag([9.0, 4.0, 1.0, 0.0] * 250)
    >>> Z = rng.standard_normal((1000, 5)) * np.sqrt(2.0 * K.diagonal() + 0.5)[:, None]
    >>> best = maximise_evidence([SharedSpectrum.of(K, Z)])
    >>> round(best.amplitude, 1), round(best.noise, 1)
    (2.0, 0.5)
    """

    def at(log_ratio: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        ratio = np.exp(log_ratio)
        amplitude = best_amplitude(spectra, ratio) if noise is None else noise / ratio
        level = np.maximum(amplitude * ratio, LEAST_NOISE) if noise is None else np.full_like(ratio, noise)
        return amplitude, level, log_evidence(spectra, amplitude, level)

    size = sum(float(s.eigenvalues.sum()) for s in spectra) / max(sum(s.eigenvalues.size for s in spectra), 1)
    grid = np.log(RATIOS * (size if size > 0 else 1.0))
    best = int(np.argmax(at(grid)[2]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    peak = golden_section(lambda x: float(at(np.array([x]))[2][0]), low, high, steps=40)
    amplitude, level, score = at(np.array([peak]))
    return SharedOptimum(float(amplitude[0]), float(level[0]), float(score[0]))
