"""What the posteriors of Gaussian models share: covariances of labels and of items, and draws.

Covariances between the items of a batch, given the items answered in full, are operators: see `ItemCovariance`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.gp.feature_solver import FeatureSolver, gram, quadratic_forms
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, space_given, span_kernel
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.label_correlation import LabelCorrelation
from labelwise.numerics.linear_algebra import cholesky, dense, solve_cholesky, solve_lower
from labelwise.posterior.base import CorrelatedLabels

BLOCK = 2048
MAX_HELD_NUMBERS = 2**23  # numbers of a batch's kernel to the training rows that are held: 64 MB


def calibrated_covariances(p: FloatArray, correlation: LabelCorrelation) -> CorrelatedLabels:
    """The covariance of 0/1 labels with probabilities p (n, q): variances p (1 − p), one correlation for every item.

    >>> half = LabelCorrelation(np.array([0.5, 0.5]), np.full((2, 1), 0.5**0.5))
    >>> calibrated_covariances(np.array([[0.5, 0.2]]), half).dense().round(2)
    array([[[0.25, 0.1 ],
            [0.1 , 0.16]]])
    """
    deviation = np.sqrt(np.maximum(p * (1 - p), 1e-12))  # (n, q)
    return CorrelatedLabels(deviation**2 * correlation.diagonal, deviation, correlation.factor)


def draw_probabilities(p: FloatArray, share: FloatArray, f: FloatArray) -> FloatArray:
    """(s, n, q) probabilities as they would be if the regression functions were known, with p (n, q) as their mean.

    Of the variance of an answer the share ρ is the function's and the rest is noise. y = 1 where √ρ f + √(1 − ρ) e <
    Φ⁻¹(p), with f (s, n, q) and e standard normal. Knowing f leaves the probability Φ((Φ⁻¹(p) − √ρ f) / √(1 − ρ)),
    whose mean over f is p.
    """
    return ndtr((ndtri(p) - np.sqrt(share) * f) / np.sqrt(1 - share))


class AnyKernel(Protocol):
    """What a covariance needs of a kernel; only `Kernel` may also have features."""

    def __call__(self, A: Any, B: Any = None) -> FloatArray: ...

    def diagonal(self, A: Any) -> FloatArray: ...


class KernelCovariance:
    """κ(x, x') − κ(x, X_f) C_ff⁻¹ κ(X_f, x'), f the items answered in full; never an n × n matrix."""

    def __init__(self, kernel: AnyKernel, noise: float, X_full: Any, L: FloatArray, X: Any) -> None:
        self._kernel, self._noise, self._X = kernel, noise, X
        self._X_full, self._L = X_full, L  # (f, d), and (f, f) the lower factor of C_ff = κ(X_f, X_f) + noise I

    @property
    def noise(self) -> float:
        return self._noise

    def rows(self, rows: IntArray) -> KernelCovariance:
        """Among some of the items only."""
        return KernelCovariance(self._kernel, self._noise, self._X_full, self._L, self._X[rows])

    def diagonal(self) -> FloatArray:
        result = self._kernel.diagonal(self._X)
        for part in self._blocks():
            Linv_K_fx = self._towards_full(part)
            result[part] -= np.einsum("fn,fn->n", Linv_K_fx, Linv_K_fx)
        return np.maximum(result, 0.0)

    def columns(self, rows: IntArray) -> FloatArray:
        X_rows, Linv_K_fr = self._X[rows], self._towards_full(rows)  # (f, m)
        if self._held is not None:
            result = self._kernel(self._X, X_rows)
            result -= self._held.T @ Linv_K_fr
            return result
        result = np.empty((self._X.shape[0], Linv_K_fr.shape[1]))
        for part in self._blocks():
            result[part] = self._kernel(self._X[part], X_rows) - self._towards_full(part).T @ Linv_K_fr
        return result

    def _blocks(self) -> list[slice]:
        return [slice(start, start + BLOCK) for start in range(0, self._X.shape[0], BLOCK)]

    @cached_property
    def _held(self) -> FloatArray | None:
        """(f, n) L⁻¹ κ(X_f, X) of all items, where that is not too much to hold."""
        if self._X.shape[0] * self._L.shape[0] > MAX_HELD_NUMBERS:
            return None
        return solve_lower(self._L, self._kernel(self._X, self._X_full).T)

    def _towards_full(self, rows: IntArray | slice) -> FloatArray:
        """(f, m) L⁻¹ κ(X_f, x) of some of the items."""
        if self._held is not None:
            return self._held[:, rows]
        return solve_lower(self._L, self._kernel(self._X_full, self._X[rows]))

    def factor(self) -> FloatArray | None:
        """F (n, D) in the features of a kernel without rbf part, where they are fewer than the items."""
        if not isinstance(self._kernel, Kernel) or self._kernel.rbf or self._X.shape[1] + 1 >= self._X.shape[0]:
            return None
        on_full = gram(self._kernel.features(self._X_full))
        return posterior_factor(on_full, self._kernel.features(self._X), self.noise)

    def feature_space(self, prepare: Any, basis: Landmarks | Fourier | None) -> FeatureSpace | None:
        """The same, or where the kernel has no features nearly the same, as a linear model in features."""
        feature_map = span_kernel(self._kernel, basis, prepare, self._X.shape[1])
        return None if feature_map is None else space_given(feature_map, prepare, self.noise, self._X_full)


class FeatureCovariance:
    """noise · φ(x)ᵀ A⁻¹ φ(x') with A = Φ_fᵀ Φ_f + noise I, f the items answered in full."""

    def __init__(self, solver: FeatureSolver, on_full: FloatArray, X: Any) -> None:
        self._features = solver.feature_map(X)  # (n, D)
        self._gram = on_full  # (D, D)
        self._noise = solver.noise
        self._map = solver.feature_map

    @property
    def noise(self) -> float:
        return self._noise

    def diagonal(self) -> FloatArray:
        ridge = self.noise * np.eye(self._gram.shape[0])
        return self.noise * quadratic_forms(self._gram + ridge, self._features)

    def columns(self, rows: IntArray) -> FloatArray:
        L = cholesky(self._gram + self.noise * np.eye(self._gram.shape[0]))
        chosen = dense(self._features[rows]).T  # (D, m)
        return np.asarray(self._features @ (self.noise * solve_cholesky(L, chosen)))

    def factor(self) -> FloatArray | None:
        if self._features.shape[1] >= self._features.shape[0]:
            return None
        return posterior_factor(self._gram, self._features, self.noise)

    def feature_space(self, prepare: Any, basis: Landmarks | Fourier | None) -> FeatureSpace:
        """The same as a linear model in features, which need no other basis."""
        return FeatureSpace(
            prepare, self._map, self.noise, np.asarray(self._gram / self.noise, dtype=np.float64), False
        )


def posterior_factor(on_full: FloatArray, features: Any, noise: float) -> FloatArray:
    """F (n, D) with F Fᵀ = noise · Φ (Φ_fᵀ Φ_f + noise I)⁻¹ Φᵀ."""
    A = on_full + noise * np.eye(on_full.shape[0])
    L_inv = solve_lower(cholesky(A), np.eye(A.shape[0]))  # (D, D)
    return np.sqrt(noise) * np.asarray(features @ L_inv.T)
