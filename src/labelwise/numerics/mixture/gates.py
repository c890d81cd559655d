"""The Gaussian processes behind the gates of a mixture: beliefs about one of them, at its training rows and elsewhere.

A gate f ~ GP(μ, κ) is seen through pseudo-observations exp(r f̃ − ½ D f̃²) of f̃ = f − μ at every row. `KernelGates` is
exact; `InducingGates` rests on functions of m inducing rows. The moments of π_k = σ(f_k) / Σ_j σ(f_j) for independent
normal f follow by three rules: the integrals factorise once 1/Σσ is written as ∫ exp(−λ Σσ) dλ. Equation numbers are
those of docs/mathematics/label_mixture_gp.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.linalg import blas, lapack
from scipy.special import expit, log_expit

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.gp.feature_solver import NystromMap
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.linear_algebra import cholesky, inverse_diagonal, solve_lower

LEAST_VARIANCE = 1e-12
TINY_PRECISION = 1e-6  # below, (1 − diag B⁻¹) / D would lose its digits
FEW_NODES, MANY_NODES = 16, 32  # of Gauss-Hermite in every f; many where a variance is WIDE
WIDE = 4.0
STEP = 0.5 * np.log(2.0)  # of the trapezium rule in log λ: two steps double λ, so that exp(−λσ) is squared
REFRESH = 8  # squarings before exp is taken anew: each doubles the relative error
BELOW, ABOVE = 13.0, 3.5  # how far log λ goes beyond −log k and −log of the least Σσ
HIGHEST = 700.0  # and at most, so that λ is a number
NEGLIGIBLE = 40.0  # an integrand below exp(−40) from here on
MIN_TOTAL = 1e-150  # of Σσ: its square is still a number
SAMPLE_BLOCK = 2**22  # numbers drawn gates may take at once


class GateBeliefs(NamedTuple):
    """One gate at the training rows."""

    mean: FloatArray  # (n,) departures from the prior mean
    variance: FloatArray  # (n,)
    weights: FloatArray  # (n,) or (m,) what the basis of another item is multiplied with
    divergence: float  # KL from the prior


@dataclass(frozen=True, eq=False)
class KernelGates:
    """Gates with the kernel matrix K of the training rows."""

    kernel: Kernel
    X: Any  # (n, d) dense or csr
    K: FloatArray  # (n, n)

    @classmethod
    def on(cls, kernel: Kernel, X: Any) -> KernelGates:
        return cls(kernel, X, kernel(X))

    @property
    def n_weights(self) -> int:
        return self.K.shape[0]

    @property
    def prior_variance(self) -> FloatArray:
        return self.K.diagonal()  # (n,)

    def workspace(self) -> FloatArray:
        """Memory for `infer`: new pages for every gate would cost half as much as the arithmetic."""
        return np.empty_like(self.K)

    def infer(self, precision: FloatArray, shift: FloatArray, workspace: FloatArray | None = None) -> GateBeliefs:
        """Equation (6), with the variances from diag B⁻¹, which takes half the work of solving for all columns."""
        root, L = self._factorise(precision, workspace)
        K_r = self.K @ shift
        L_K_r = solve_lower(L, root * K_r)
        mean = K_r - self.K @ (root * solve_lower(L, L_K_r, transposed=True))
        faint = np.flatnonzero(precision < TINY_PRECISION)
        V = solve_lower(L, root[:, None] * self.K[:, faint])  # (n, few)
        log_det = 2 * np.log(L.diagonal()).sum()
        variance = (1 - inverse_diagonal(L, overwrite=True)) / precision
        variance[faint] = self.K.diagonal()[faint] - np.einsum("nf,nf->f", V, V)
        variance = np.maximum(variance, LEAST_VARIANCE)
        weights = shift - precision * mean
        return GateBeliefs(mean, variance, weights, 0.5 * float(log_det - precision @ variance + mean @ weights))

    def factor(self, precision: FloatArray) -> FloatArray:
        """S (n, n), lower: the variance at x is κ(x, x) − |S κ(X, x)|²."""
        root, L = self._factorise(precision)
        return lapack.dtrtri(L, lower=1, overwrite_c=1)[0] * root

    def basis(self, X: Any) -> FloatArray:
        """(n, m) what items X have in common with the training rows."""
        return self.kernel(X, self.X).T  # in LAPACK's order

    def variances(self, factor: FloatArray, basis: FloatArray, prior: FloatArray) -> FloatArray:
        """(m,) at items with this basis and prior variance, in the precision of `factor`."""
        return np.maximum(prior - _squared_columns(factor, basis), LEAST_VARIANCE)

    def _factorise(self, precision: FloatArray, workspace: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """D^½ and the factor of B = I + D^½ K D^½, whose eigenvalues are at least one whatever K is."""
        root = np.sqrt(precision)
        B = np.multiply(self.K, root, out=workspace)
        B *= root[:, None]
        B.ravel()[:: B.shape[0] + 1] += 1
        return root, cholesky(B, overwrite=True)


@dataclass(frozen=True, eq=False)
class InducingGates:
    """Gates that are functions of m inducing rows; what those cannot express stays at its prior variance."""

    map: NystromMap
    features: FloatArray  # (n, m) Φ
    lost: FloatArray  # (n,) κ(x, x) − |φ(x)|²

    @classmethod
    def on(cls, kernel: Kernel, Z: Any, X: Any) -> InducingGates:
        map = NystromMap.on(kernel, Z)
        features = map(X)
        return cls(map, features, np.maximum(kernel.diagonal(X) - np.einsum("nm,nm->n", features, features), 0.0))

    @property
    def kernel(self) -> Kernel:
        return self.map.kernel

    @property
    def n_weights(self) -> int:
        return self.features.shape[1]

    @property
    def prior_variance(self) -> FloatArray:
        return self.lost + np.einsum("nm,nm->n", self.features, self.features)

    def workspace(self) -> FloatArray:
        return np.empty_like(self.features)

    def infer(self, precision: FloatArray, shift: FloatArray, workspace: FloatArray | None = None) -> GateBeliefs:
        """Equation (7)."""
        scratch = self.workspace() if workspace is None else workspace
        L = self._factorise(precision, scratch)
        Linv_r = solve_lower(L, self.features.T @ shift)  # (m,)
        weights = solve_lower(L, Linv_r, transposed=True)  # (m,)
        np.copyto(scratch, self.features)
        V = blas.dtrsm(1.0, L, scratch.T, lower=1, overwrite_b=1)  # (m, n), in the workspace
        variance = np.maximum(self.lost + np.einsum("mn,mn->n", V, V), LEAST_VARIANCE)
        log_det = 2 * np.log(L.diagonal()).sum()
        trace = inverse_diagonal(L, overwrite=True).sum() - weights.size
        divergence = 0.5 * float(log_det + weights @ weights + trace)
        return GateBeliefs(self.features @ weights, variance, weights, divergence)

    def factor(self, precision: FloatArray) -> FloatArray:
        """S (m, m), lower: the variance at x is κ(x, x) − |φ(x)|² + |S φ(x)|²."""
        return lapack.dtrtri(self._factorise(precision), lower=1, overwrite_c=1)[0]

    def basis(self, X: Any) -> FloatArray:
        return self.map(X).T  # (m, n)

    def variances(self, factor: FloatArray, basis: FloatArray, prior: FloatArray) -> FloatArray:
        lost = np.maximum(prior - np.einsum("mn,mn->n", basis, basis), 0.0)
        return np.maximum(lost + _squared_columns(factor, basis), LEAST_VARIANCE)

    def _factorise(self, precision: FloatArray, workspace: FloatArray | None = None) -> FloatArray:
        """The factor of Λ = I + Φᵀ D Φ."""
        weighted = np.multiply(np.sqrt(precision)[:, None], self.features, out=workspace)
        gram = weighted.T @ weighted  # half the work of a product of two different matrices
        gram.ravel()[:: gram.shape[0] + 1] += 1
        return cholesky(gram, overwrite=True)


Gates = KernelGates | InducingGates


def _squared_columns(factor: FloatArray, basis: FloatArray) -> FloatArray:
    """(n,) squared lengths of the columns of factor @ basis; a triangle takes half the work."""
    multiply = blas.strmm if factor.dtype == np.float32 else blas.dtrmm
    V = multiply(1.0, factor, basis, lower=1)
    return np.einsum("mn,mn->n", V, V)


class GateMoments(NamedTuple):
    """E[π] and Var[π] of every item and gate."""

    mean: FloatArray  # (n, k), rows sum to one
    variance: FloatArray  # (n, k)


def integrated_moments(mean: FloatArray, variance: FloatArray) -> GateMoments:
    """By quadrature, equation (9): right to 1e-5 for variances below 4, to 1e-3 up to 20, to 1e-2 up to 100.

    >>> moments = integrated_moments(np.zeros((1, 4)), np.ones((1, 4)))
    >>> moments.mean.round(6)
    array([[0.25, 0.25, 0.25, 0.25]])
    """
    first, second = np.empty(mean.shape), np.empty(mean.shape)
    f = np.ascontiguousarray(mean, dtype=np.float64), np.ascontiguousarray(np.sqrt(variance), dtype=np.float64)
    _integrate(*f, _hermite(FEW_NODES), _hermite(MANY_NODES), first, second)
    return GateMoments(first, np.maximum(second - first**2, 0.0))


def probit_moments(mean: FloatArray, variance: FloatArray) -> GateMoments:
    """By the probit shortcut, equation (10): some hundred times as fast, right to a few per cent."""
    shrink = 1 / np.sqrt(1 + np.pi * variance / 8)  # (n, k)
    e, p = expit(shrink * mean), logistic_softmax(shrink * mean)
    v = e * (1 - e) * (1 - shrink)
    total = np.maximum(e.sum(axis=1, keepdims=True), MIN_TOTAL)  # (n, 1)
    spread = ((1 - 2 * p) * v + p**2 * v.sum(axis=1, keepdims=True)) / total**2
    return GateMoments(p, np.clip(spread, 0.0, p * (1 - p)))  # no share of one varies more


def sampled_moments(mean: FloatArray, variance: FloatArray, normals: FloatArray) -> GateMoments:
    """By the draws f = mean + sd · normals, the same standard normals (s, k) for every item."""
    first, second = np.empty(mean.shape), np.empty(mean.shape)
    size = max(1, SAMPLE_BLOCK // normals.size)
    for start in range(0, mean.shape[0], size):
        part = slice(start, start + size)
        gates = logistic_softmax(mean[part] + np.sqrt(variance[part]) * normals[:, None, :])  # (s, n, k)
        first[part], second[part] = gates.mean(axis=0), gates.var(axis=0)
    return GateMoments(first, second)


def logistic_softmax(f: FloatArray) -> FloatArray:
    """σ(f_k) / Σ_j σ(f_j) over the last axis, however small the σ are."""
    log_sigma = log_expit(f)
    log_sigma -= log_sigma.max(axis=-1, keepdims=True)
    sigma = np.exp(log_sigma, out=log_sigma)
    sigma /= sigma.sum(axis=-1, keepdims=True)
    return sigma


@lru_cache
def _hermite(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes, rising, and weights of the standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, weights / weights.sum()


@njit(cache=True, nogil=True, error_model="numpy")
def _log_sigma(f: float) -> float:
    return -np.log1p(np.exp(-f)) if f > 0 else f - np.log1p(np.exp(f))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _integrate(mean: Any, deviation: Any, few: Any, many: Any, first: Any, second: Any) -> None:
    n, k = mean.shape
    sigma, decay = np.empty((k, MANY_NODES)), np.empty((k, MANY_NODES))
    ratios = np.empty((2, k))
    for i in range(n):
        wide = False
        for j in range(k):
            wide = wide or deviation[i, j] ** 2 > WIDE
        nodes, weights = many if wide else few
        largest = -np.inf  # log σ of all: only ratios of the σ matter, so that they are made to reach one
        for j in range(k):
            largest = max(largest, _log_sigma(mean[i, j] + deviation[i, j] * nodes[nodes.size - 1]))
        least = 0.0  # Σ_k of the least σ_k
        for j in range(k):
            for t in range(nodes.size):
                sigma[j, t] = np.exp(_log_sigma(mean[i, j] + deviation[i, j] * nodes[t]) - largest)
            least += sigma[j, 0]
            first[i, j] = second[i, j] = 0.0
        low, high = -np.log(k) - BELOW, min(max(0.0, -np.log(least)) + ABOVE, HIGHEST)
        for phase in range(2):  # log λ = low, low + 2 STEP, ... and the points between
            _integrate_chain(low + phase * STEP, high, (sigma, decay, weights), ratios, first[i], second[i])
        total = 0.0
        for j in range(k):
            total += first[i, j]
        for j in range(k):
            first[i, j] /= total
            second[i, j] /= total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _integrate_chain(log_rate: Any, high: Any, tables: Any, ratios: Any, first: Any, second: Any) -> None:
    """Adds λ A1_k Π_{j≠k} A0_j and λ² A2_k Π_{j≠k} A0_j at λ, 2λ, 4λ, ... up to exp(high); λ goes with σ, as λσ."""
    sigma, decay, weights = tables
    k, q, doublings = sigma.shape[0], weights.size, 0
    while log_rate <= high:
        rate, log_product = np.exp(log_rate), 0.0
        fresh = doublings % REFRESH == 0
        for j in range(k):
            if fresh:
                for t in range(q):
                    decay[j, t] = np.exp(-rate * sigma[j, t])
            else:
                for t in range(q):
                    decay[j, t] *= decay[j, t]
            a0, a1, a2 = 0.0, 0.0, 0.0
            for t in range(q):
                e, x = decay[j, t] * weights[t], rate * sigma[j, t]
                a0 += e
                a1 += e * x
                a2 += e * x * x
            log_product += np.log(a0)
            ratios[0, j], ratios[1, j] = a1 / a0, a2 / a0
        if log_product + high < -NEGLIGIBLE:  # the product only falls, and λ is at most exp(high)
            break
        product = np.exp(log_product)
        for j in range(k):
            first[j] += product * ratios[0, j]
            second[j] += product * ratios[1, j]
        log_rate += 2 * STEP
        doublings += 1
