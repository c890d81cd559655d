"""The kernel of a mixture's gates: by the evidence of one regression of all labels, or by the mixture's own bound.

Equation numbers are those of docs/mathematics/label_mixture_gp.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.gp.search import SearchPart, SharedSpectrum, climb, golden_section, log_evidence
from labelwise.numerics.linear_algebra import cholesky, solve_lower

PRIOR_AMPLITUDE, PRIOR_NOISE = 1.0, 0.5  # centres of the hyper-prior
LEAST_LABEL_VARIANCE = 1e-6
LENGTH_STEP, MAX_CLIMB, GOLDEN_STEPS = 0.35, 10, 4
CLIP = 6.0  # how far, in logarithms, amplitude and noise may leave their centres
KERNEL_STEPS = 8  # of L-BFGS in one step of the kernel by the bound


@dataclass(frozen=True)
class RegressionKernel:
    """amplitude · rbf(length_scale) and noise variance for standardised labels, and the penalised evidence there."""

    length_scale: float
    amplitude: float = PRIOR_AMPLITUDE
    noise: float = PRIOR_NOISE
    score: float = float("nan")

    @property
    def kernel(self) -> Kernel:
        return Kernel(rbf=self.amplitude, length_scale=self.length_scale)


def search_length_scale(parts: Sequence[SearchPart], centre: float) -> RegressionKernel:
    """Maximum of log evidence − 2 (q/5 + 1) |p − p₀|² over p = (log amplitude, log length, log noise), equation (11).

    The penalty grows with the q labels because labels that depend on one another are counted too often; without it
    the length-scale of few rows goes to zero.
    """
    targets = [_standardised(part.targets) for part in parts]
    strength = 2 * (sum(each.shape[1] for each in targets) / 5 + 1)
    seen: dict[float, RegressionKernel] = {}

    def at(log_length: float) -> RegressionKernel:
        if log_length not in seen:
            shape = Kernel(rbf=1.0, length_scale=float(np.exp(log_length)))
            pairs = zip(parts, targets, strict=True)
            spectra = [SharedSpectrum.of(part.kernel_matrix(shape), target) for part, target in pairs]
            amplitude, noise, score = _best_variances(spectra, strength)
            penalty = strength * (log_length - np.log(centre)) ** 2
            seen[log_length] = RegressionKernel(shape.length_scale, amplitude, noise, score - penalty)
        return seen[log_length]

    best = climb(lambda x: at(x).score, float(np.log(centre)), LENGTH_STEP, MAX_CLIMB)
    golden_section(lambda x: at(x).score, best - LENGTH_STEP, best + LENGTH_STEP, GOLDEN_STEPS)
    return max(seen.values(), key=lambda found: found.score)


def _standardised(targets: FloatArray) -> FloatArray:
    return targets / np.sqrt((targets**2).mean(axis=0) + LEAST_LABEL_VARIANCE)


def _best_variances(spectra: Sequence[SharedSpectrum], strength: float) -> tuple[float, float, float]:
    """Amplitude, noise and penalised log evidence for one length-scale."""
    centre = np.log([PRIOR_AMPLITUDE, PRIOR_NOISE])

    def loss(p: FloatArray) -> tuple[float, FloatArray]:
        amplitude, noise = np.exp(p)
        value = (
            -log_evidence(spectra, np.array([amplitude]), np.array([noise]))[0] + strength * ((p - centre) ** 2).sum()
        )
        gradient = 2 * strength * (p - centre)
        for each in spectra:
            variances = amplitude * each.eigenvalues + noise  # (n,)
            slope = 0.5 * (each.n_outputs - each.energies / variances) / variances
            gradient += [slope @ each.eigenvalues * amplitude, slope.sum() * noise]
        return float(value), gradient

    bounds = [(c - CLIP, c + CLIP) for c in centre]
    minimum = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=bounds)
    amplitude, noise = np.exp(minimum.x)
    return float(amplitude), float(noise), -float(minimum.fun)


def collapsed_bound(K: FloatArray, precision: FloatArray, shift: FloatArray) -> tuple[float, FloatArray]:
    """What of the bound depends on K once every q(f_k) is at its best for K, and its gradient (n, n) by K.

    Σ_k ½ [rᵀ S r − log|B|], S = (K⁻¹ + D)⁻¹, for pseudo-observations D, r (n, k), equation (12).
    """
    value, gradient = 0.0, np.zeros_like(K)
    for D, r in zip(precision.T, shift.T, strict=True):
        root = np.sqrt(D)
        B = root[:, None] * K * root
        B.ravel()[:: len(B) + 1] += 1
        L = cholesky(B, overwrite=True)
        Linv_root = solve_lower(L, np.diag(root))  # L⁻¹ D^½ (n, n)
        K_r = K @ r
        explained = Linv_root @ K_r
        value += 0.5 * float(r @ K_r - explained @ explained) - float(np.log(L.diagonal()).sum())
        w = r - Linv_root.T @ explained  # K⁻¹ S r
        gradient += 0.5 * (np.outer(w, w) - Linv_root.T @ Linv_root)
    return value, gradient


def kernel_step(kernel: Kernel, distances: FloatArray, precision: FloatArray, shift: FloatArray) -> Kernel:
    """The rbf kernel with a higher collapsed bound, from squared distances (n, n) of the rows."""

    def made(p: FloatArray) -> Kernel:
        return replace(kernel, rbf=float(np.exp(p[0])), length_scale=float(np.exp(p[1])))

    def loss(p: FloatArray) -> tuple[float, FloatArray]:
        at = made(p)
        K = at.rbf * np.exp(distances / (-2 * at.length_scale**2))
        value, gradient = collapsed_bound(K, precision, shift)
        by_K = gradient * K
        return -value, -np.array([by_K.sum(), (by_K * distances).sum() / at.length_scale**2])

    start = np.log([kernel.rbf, kernel.length_scale])
    bounds = [(x - 1.0, x + 1.0) for x in start]
    minimum = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": KERNEL_STEPS})
    return made(minimum.x) if minimum.fun < loss(start)[0] else kernel
