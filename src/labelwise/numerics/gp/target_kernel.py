"""The evidence of Gaussian processes with a kernel of rbf, linear, constant and noise parts, with its gradients.

κ(x, x') = θ₀ exp(−θ₁ |x − x'|² / 2) + θ₂ x·x' + θ₃, noise 1/β: positive numbers, so logs are searched. Either every
target has its own five, or all targets share the shape (θ₁, θ₂/θ₀, θ₃/θ₀). Then each has its own scale and noise, which
one eigendecomposition gives for all of them. Equation numbers are those of docs/mathematics/orthogonal_target_gp.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.gp.kernels import Kernel

PRIOR_SD = 1.5  # of every log hyper-parameter around its start: without it the search drifts to a linear kernel
START_VALUES = (0.4, 1.0, 0.2, 0.02, 0.5)  # θ₀, θ₁ · median D², θ₂ · mean B, θ₃, noise: start and prior
RATIO_CENTRE = START_VALUES[4] / START_VALUES[0]  # of the prior of a noise ratio under a shared shape
FLOOR = 1e-9
RATIOS = np.logspace(-3, 4, 57)  # noise over scale, relative to the mean eigenvalue of the shape
REFINEMENTS, CLOSE = 40, 1e-10  # steps between two neighbours on that grid, and the last one's size in ln ρ
LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Products:
    """What of the rows every kernel is made from: inner products and squared distances, computed once."""

    inner: FloatArray  # (n, n) B
    distances: FloatArray  # (n, n) D², zero diagonal

    @classmethod
    def of(cls, inner: FloatArray) -> Products:
        norms = inner.diagonal()
        distances = np.maximum(norms[:, None] + norms - 2 * inner, 0.0)
        np.fill_diagonal(distances, 0.0)
        return cls(inner, distances)

    def grown(self, across: FloatArray, within: FloatArray) -> Products:
        """With m more rows, whose inner products with the old are `across` (m, n) and among themselves `within`."""
        n, m = self.inner.shape[0], within.shape[0]
        inner, distances = np.empty((n + m, n + m)), np.zeros((n + m, n + m))
        inner[:n, :n], inner[n:, :n], inner[:n, n:], inner[n:, n:] = self.inner, across, across.T, within
        norms = inner.diagonal()
        fresh = np.maximum(norms[n:, None] + norms - 2 * inner[n:], 0.0)
        fresh[np.arange(m), n + np.arange(m)] = 0.0
        distances[:n, :n], distances[n:], distances[:n, n:] = self.distances, fresh, fresh[:, :n].T
        return Products(inner, distances)

    def take(self, rows: IntArray) -> Products:
        """Of some of the rows."""
        return Products(self.inner[np.ix_(rows, rows)], self.distances[np.ix_(rows, rows)])

    def start(self) -> FloatArray:
        """(5,) φ₀ = ln(θ₀, θ₁, θ₂, θ₃, 1/β) for targets of unit variance."""
        apart = self.distances[np.triu_indices_from(self.distances, 1)]
        median = float(np.median(apart)) if apart.size else 1.0
        size = float(self.inner.diagonal().mean())
        units = np.array([1.0, median if median > 0 else 1.0, size if size > 0 else 1.0, 1.0, 1.0])
        return np.log(np.maximum(START_VALUES / units, FLOOR))


def as_kernel(phi: FloatArray) -> Kernel:
    """The kernel of φ = ln(θ₀, θ₁, θ₂, θ₃, ...), without the noise."""
    theta = np.exp(phi)
    return Kernel(float(theta[0]), float(theta[2]), float(theta[3]), float(theta[1] ** -0.5))


def shape_start(phi: FloatArray) -> FloatArray:
    """(3,) ψ = ln(θ₁, θ₂/θ₀, θ₃/θ₀) of φ."""
    return np.array([phi[1], phi[2] - phi[0], phi[3] - phi[0]])


def shape_kernel(psi: FloatArray) -> Kernel:
    """The kernel of a shape ψ, with θ₀ = 1."""
    return as_kernel(np.concatenate([[0.0], psi]))


class Evaluation(NamedTuple):
    """A negative log posterior in nats and its gradient, which is empty where nobody asked for it."""

    value: float
    gradient: FloatArray


def log_prior(phi: FloatArray, centre: FloatArray, sd: float = PRIOR_SD) -> Evaluation:
    """−log of the prior up to a constant."""
    z = (phi - centre) / sd
    return Evaluation(0.5 * float(z @ z), z / sd)


NO_GRADIENT = np.empty(0)


def separate_evidence(
    products: Products, target: FloatArray, phi: FloatArray, centre: FloatArray, *, with_gradient: bool = True
) -> Evaluation:
    """−log p(u | φ) − log p(φ) of one target (n,) with its gradient (5,), equations (14) and (15).

    One factorisation and element-wise sums: O(n³ + 5 n²); the gradient is most of it. A covariance that is not positive
    definite to working precision is infinitely unlikely.
    """
    theta0, theta1, theta2, theta3, noise = np.exp(phi)
    rbf = np.exp(-0.5 * theta1 * products.distances)
    C = theta0 * rbf + theta2 * products.inner + theta3
    C[np.diag_indices_from(C)] += noise
    L, info = lapack.dpotrf(C, lower=1)
    prior = log_prior(phi, centre)
    if info:
        return Evaluation(np.inf, np.zeros(5))
    Linv_y = lapack.dtrtrs(L, target, lower=1)[0]  # (n,)
    value = float(np.log(L.diagonal()).sum() + 0.5 * Linv_y @ Linv_y + 0.5 * target.size * LOG_2PI)
    if not with_gradient:
        return Evaluation(value + prior.value, NO_GRADIENT)
    G = lapack.dpotri(L, lower=1)[0]
    G = np.tril(G) + np.tril(G, -1).T
    alpha = G @ target
    G -= np.outer(alpha, alpha)
    on_rbf = G * rbf
    gradient = np.array(
        [
            0.5 * theta0 * on_rbf.sum(),
            -0.25 * theta0 * theta1 * np.vdot(on_rbf, products.distances),
            0.5 * theta2 * np.vdot(G, products.inner),
            0.5 * theta3 * G.sum(),
            0.5 * noise * np.trace(G),
        ]
    )
    return Evaluation(value + prior.value, gradient + prior.gradient)


def with_noise(phi: FloatArray, noise_ratio: float) -> FloatArray:
    """(5,) φ from its first four and a noise that is this share of θ₀."""
    return np.append(phi, phi[0] + np.log(noise_ratio))


def tied_evidence(
    products: Products,
    target: FloatArray,
    phi: FloatArray,
    centre: FloatArray,
    noise_ratio: float,
    *,
    with_gradient: bool = True,
) -> Evaluation:
    """`separate_evidence` as a function of the first four hyper-parameters, where noise / θ₀ is given.

    The noise then has no prior of its own.
    """
    full = with_noise(phi, noise_ratio)
    own_centre = np.append(centre[:4], full[4])
    value, gradient = separate_evidence(products, target, full, own_centre, with_gradient=with_gradient)
    if not with_gradient:
        return Evaluation(value, gradient)
    return Evaluation(value, gradient[:4] + np.array([gradient[4], 0.0, 0.0, 0.0]))


@dataclass(frozen=True, eq=False)
class Scales:
    """The best scale and noise ratio of every target for one shape, and −log p(u) − log p(ρ) there."""

    scales: FloatArray  # (k,) s
    ratios: FloatArray  # (k,) ρ = noise / scale
    losses: FloatArray  # (k,) nats


@dataclass(frozen=True, eq=False)
class ShapeSpectrum:
    """K = Q diag(e) Qᵀ of a shape and V = Qᵀ U: all that evidence, means and variances of every target need."""

    eigenvalues: FloatArray  # (n,) e ≥ 0
    vectors: FloatArray  # (n, n) Q
    rotated: FloatArray  # (n, k) V

    @classmethod
    def of(cls, K: FloatArray, targets: FloatArray) -> ShapeSpectrum:
        e, Q = np.linalg.eigh(K)
        return cls(np.maximum(e, 0.0), Q, Q.T @ targets)

    def best_scales(self, noise_ratio: float | None = None) -> Scales:
        """Scale and noise ratio of highest evidence for all targets at once, on a grid and then refined, (17).

        The ratio has the weak prior of every hyper-parameter: without it, few rows leave many targets with nothing but
        noise, and codes that lack some of their dimensions decode badly.
        """
        energies = self.rotated**2  # (n, k)
        if noise_ratio is not None:
            ratios = np.full(energies.shape[1], noise_ratio)
            return self._at(ratios, energies)
        size = float(self.eigenvalues.mean())
        grid = np.log(RATIOS * (size if size > 0 else 1.0))
        n = self.eigenvalues.size
        inverse = 1 / (self.eigenvalues + np.exp(grid)[:, None])  # (g, n)
        scales = np.maximum(inverse @ energies / n, FLOOR)  # (g, k)
        losses = 0.5 * (n * np.log(scales) - np.log(inverse).sum(axis=1)[:, None]) + _ratio_prior(grid)[:, None]
        at = losses.argmin(axis=0)  # (k,)
        low, high = grid[np.maximum(at - 1, 0)], grid[np.minimum(at + 1, grid.size - 1)]
        return self._at(np.exp(self._refine(low, high, energies)), energies)

    def _refine(self, low: FloatArray, high: FloatArray, energies: FloatArray) -> FloatArray:
        """Newton steps in x = ln ρ for all targets side by side, inside brackets that the slope's sign narrows."""
        n, x = self.eigenvalues.size, 0.5 * (low + high)
        for _ in range(REFINEMENTS):
            rho = np.exp(x)
            inverse = 1 / (self.eigenvalues[:, None] + rho)  # (n, k)
            on_energy = energies * inverse
            s1, s2 = np.maximum(on_energy.sum(axis=0), FLOOR), np.einsum("nk,nk->k", on_energy, inverse)
            s3 = np.einsum("nk,nk,nk->k", on_energy, inverse, inverse)
            first = 0.5 * (inverse.sum(axis=0) - n * s2 / s1)
            second = 0.5 * (n * (2 * s3 / s1 - (s2 / s1) ** 2) - np.einsum("nk,nk->k", inverse, inverse))
            slope, bend = rho * first, rho**2 * second + rho * first
            slope, bend = slope + (x - np.log(RATIO_CENTRE)) / PRIOR_SD**2, bend + 1 / PRIOR_SD**2
            low, high = np.where(slope < 0, x, low), np.where(slope > 0, x, high)
            newton = x - np.divide(slope, bend, out=np.zeros_like(x), where=bend > 0)
            inside = (bend > 0) & (newton > low) & (newton < high)
            following = np.where(slope == 0, x, np.where(inside, newton, 0.5 * (low + high)))
            moved, x = np.abs(following - x).max(initial=0.0), following
            if moved < CLOSE:
                break
        return x

    def _at(self, ratios: FloatArray, energies: FloatArray) -> Scales:
        n = self.eigenvalues.size
        spread = self.eigenvalues[:, None] + ratios  # (n, k)
        scales = np.maximum((energies / spread).mean(axis=0), FLOOR)
        losses = 0.5 * (n * np.log(scales) + np.log(spread).sum(axis=0) + n * (1 + LOG_2PI))
        losses += _ratio_prior(np.log(ratios))
        return Scales(scales, ratios, losses)

    def weights(self, ratios: FloatArray) -> FloatArray:
        """(n, k) (K + ρ I)⁻¹ U: what a kernel row multiplies to give means."""
        return self.vectors @ (self.rotated / (self.eigenvalues[:, None] + ratios))

    def precision_diagonals(self, ratios: FloatArray) -> FloatArray:
        """(n, k) the diagonal of (K + ρ I)⁻¹ of every target."""
        return (self.vectors**2) @ (1 / (self.eigenvalues[:, None] + ratios))


def _ratio_prior(log_ratios: FloatArray) -> FloatArray:
    return 0.5 * ((log_ratios - np.log(RATIO_CENTRE)) / PRIOR_SD) ** 2


def shared_evidence(
    products: Products,
    targets: FloatArray,
    psi: FloatArray,
    centre: FloatArray,
    noise_ratio: float | None = None,
    *,
    with_gradient: bool = True,
) -> tuple[Evaluation, Scales]:
    """−Σ [log p(u_g | ψ) + log p(ψ)] at the best scales, with its gradient (3,), equations (17) and (18).

    It is the sum of what separate targets would have, their shapes tied, so the prior counts once per target. Counted
    once in all, it would vanish beside the evidence of a hundred codes of a few rows, and the rbf part would end as
    noise. By the envelope theorem the scales count as constants, being optimal; a given noise ratio is one.
    """
    theta1, rho2, rho3 = np.exp(psi)
    rbf = np.exp(-0.5 * theta1 * products.distances)
    spectrum = ShapeSpectrum.of(rbf + rho2 * products.inner + rho3, targets)
    best = spectrum.best_scales(noise_ratio)
    prior, k = log_prior(psi, centre), targets.shape[1]
    value = float(best.losses.sum()) + k * prior.value
    if not with_gradient:
        return Evaluation(value, NO_GRADIENT), best
    inverse = 1 / (spectrum.eigenvalues[:, None] + best.ratios)  # (n, k)
    B = spectrum.vectors @ (inverse * spectrum.rotated) / np.sqrt(best.scales)  # (n, k)
    G = (spectrum.vectors * inverse.sum(axis=1)) @ spectrum.vectors.T - B @ B.T
    gradient = np.array(
        [
            -0.25 * theta1 * np.vdot(G * rbf, products.distances),
            0.5 * rho2 * np.vdot(G, products.inner),
            0.5 * rho3 * G.sum(),
        ]
    )
    return Evaluation(value, gradient + k * prior.gradient), best
