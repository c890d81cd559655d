"""The evidence of Gaussian process regression for many labels and all noise levels from one eigendecomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """K = U diag(λ) Uᵀ seen from the targets: all that the evidence of K + noise I depends on.

    Examples
    --------
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [-0.5]])
    >>> Spectrum.of(K, y).log_evidence(np.array([0.5])).round(4)
    array([[-2.7327]])
    """

    eigenvalues: FloatArray  # (n,)
    energies: FloatArray  # (n, q) (Uᵀ y)²

    @classmethod
    def of(cls, K: FloatArray, targets: FloatArray) -> Spectrum:
        eigenvalues, U = np.linalg.eigh(K)
        return cls(np.maximum(eigenvalues, 0.0), (U.T @ targets) ** 2)

    def log_evidence(self, noise: FloatArray) -> FloatArray:
        """(g, q) of max over b of log N(y_j; 0, b (K + noise I)), for g noise levels.

        The best amplitude is b = yᵀ (K + noise I)⁻¹ y / n, whatever the scale of y, so a rare label counts as much as
        a frequent one.
        """
        n = self.eigenvalues.size
        spread = self.eigenvalues + np.asarray(noise)[:, None]  # (g, n)
        amplitude = (1 / spread) @ self.energies / n  # (g, q)
        return -0.5 * (n * (1 + np.log(2 * np.pi * amplitude)) + np.log(spread).sum(axis=1)[:, None])
