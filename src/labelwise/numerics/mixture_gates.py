"""The Gaussian processes behind the gates of a mixture: beliefs about one of them, at its training rows and elsewhere.

A gate f ~ GP(μ, κ) is seen through pseudo-observations exp(r f̃ − ½ D f̃²) of f̃ = f − μ at every row. `KernelGates` is
exact; `InducingGates` rests on functions of m inducing rows. Equation numbers are those of
docs/mathematics/label_mixture_gp.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack

from labelwise.numerics.feature_solver import NystromMap
from labelwise.numerics.kernels import Kernel
from labelwise.numerics.linear_algebra import cholesky, inverse_diagonal, solve_lower

FloatArray = npt.NDArray[np.floating[Any]]

LEAST_VARIANCE = 1e-12
TINY_PRECISION = 1e-6  # below, (1 − diag B⁻¹) / D would lose its digits


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
        half = solve_lower(L, self.features.T @ shift)
        weights = solve_lower(L, half, transposed=True)  # (m,)
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
