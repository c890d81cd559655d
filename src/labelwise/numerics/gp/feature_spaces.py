"""The covariance between items as that of a linear model, so that it can be looked at row by row and block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.gp.feature_solver import LinearMap, NystromMap
from labelwise.numerics.gp.kernels import Kernel, squared_norms
from labelwise.numerics.information.blocks import RowBlock
from labelwise.numerics.linear_algebra import dense

PART = 8192  # rows mapped into features at a time
LARGEST_RANK = 5000  # of a feature space: a matrix of its order has 200 MB


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Span a kernel by these rows (Nyström); what they cannot express counts as noise of an item."""

    rows: Any  # (m, d) features as the user gave them


@dataclass(frozen=True)
class Fourier:
    """Approximate the rbf part of a kernel by random waves."""

    n_features: int
    seed: int = 0


class FeatureMap(Protocol):
    """φ with φ(x)·φ(x') equal, or close, to a kernel."""

    @property
    def kernel(self) -> Any: ...

    def __call__(self, X: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class FourierMap:
    """x ↦ φ(x) whose inner products have the kernel for their mean; |φ(x)|² is κ(x, x) exactly.

    With ω ~ N(0, I/ℓ²) the mean of cos ω·(x − x') is exp(−|x − x'|²/(2ℓ²)). Rahimi & Recht, NIPS 2007; pairs of sine
    and cosine instead of random phases.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> phi = FourierMap.of(Kernel(rbf=2.0, length_scale=5.0), 2, 20000, seed=0)(X)
    >>> (phi @ phi.T).round(1)
    array([[2. , 1.2], [1.2, 2. ]])
    """

    kernel: Kernel
    frequencies: FloatArray  # (d, m)

    @classmethod
    def of(cls, kernel: Kernel, n_columns: int, n_features: int, seed: int) -> FourierMap:
        draws = np.random.default_rng(seed).standard_normal((n_columns, max(1, n_features // 2)))
        return cls(kernel, draws / kernel.length_scale)

    def __call__(self, X: Any) -> FloatArray:
        angles = np.asarray(X @ self.frequencies)  # (n, m)
        waves = np.hstack([np.cos(angles), np.sin(angles)]) * np.sqrt(self.kernel.rbf / angles.shape[1])
        parts = [waves, np.full((X.shape[0], 1), np.sqrt(self.kernel.bias))]
        if self.kernel.linear:
            parts.append(np.sqrt(self.kernel.linear) * dense(X))
        return np.hstack(parts)


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """y = φ(x)·w + noise, with w ~ N(0, I) before anything was known, given items whose features sum to `known_gram`.

    The covariance between items is φ(x)ᵀ (I + known_gram)⁻¹ φ(x').

    Parameters
    ----------
    prepare : from rows as the user gave them to what the map takes
    feature_map : φ
    noise : variance of an answer
    known_gram : (r, r) Σ φ φᵀ/noise over the known items
    counts_lost : whether what the map loses of an item's variance is noise of that item
    """

    prepare: Any
    feature_map: FeatureMap
    noise: float
    known_gram: FloatArray
    counts_lost: bool

    def __call__(self, X: Any) -> tuple[Any, FloatArray]:
        """φ (n, r) and the noise (n,) of rows as the user gave them."""
        prepared = self.prepare(X)
        phi = self.feature_map(prepared)
        return phi, _noise(self.feature_map, prepared, phi, self.noise, self.counts_lost)


class Part(Protocol):
    """Consecutive rows of a pool that are loaded when asked for."""

    @property
    def start(self) -> int: ...

    @property
    def n_rows(self) -> int: ...

    def load(self, rows: IntArray | None = None) -> Any: ...


@dataclass(frozen=True, eq=False)
class ArrayPart:
    """Rows of features that are in memory."""

    X: Any
    start: int

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def load(self, rows: IntArray | None = None) -> Any:
        return self.X if rows is None else self.X[rows]


def array_parts(X: Any, size: int = PART) -> list[ArrayPart]:
    """Features in memory in parts of at most `size` rows."""
    return [ArrayPart(X[start : start + size], start) for start in range(0, X.shape[0], size)]


@dataclass(frozen=True, eq=False)
class FeatureBlock:
    """A part of a pool as a block of the streamed engine: rows are loaded, then mapped."""

    part: Part
    space: FeatureSpace

    @property
    def start(self) -> int:
        return self.part.start

    @property
    def n_rows(self) -> int:
        return self.part.n_rows

    def load(self, rows: IntArray | None = None) -> tuple[Any, FloatArray]:
        return self.space(self.part.load(rows))


def feature_blocks(parts: Sequence[Part], space: FeatureSpace) -> list[RowBlock]:
    """A pool as blocks of the streamed engine."""
    return [FeatureBlock(part, space) for part in parts]


def span_kernel(kernel: Any, basis: Landmarks | Fourier | None, prepare: Any, n_columns: int) -> FeatureMap | None:
    """The map of the basis, or without one the kernel's own; None where it has none, or one too wide to be of use."""
    if isinstance(basis, Landmarks):
        return NystromMap.on(kernel, prepare(basis.rows))
    if not isinstance(kernel, Kernel):
        return None
    if isinstance(basis, Fourier):
        return FourierMap.of(kernel, n_columns, basis.n_features, basis.seed)
    return None if kernel.rbf or n_columns >= LARGEST_RANK else LinearMap(kernel)


def space_given(feature_map: FeatureMap, prepare: Any, noise: float, X_known: Any) -> FeatureSpace:
    """The space given known rows, which are prepared already."""
    counts_lost = isinstance(feature_map, NystromMap)  # the others lose nothing
    phi = feature_map(X_known)  # (f, r)
    weights = 1.0 / _noise(feature_map, X_known, phi, noise, counts_lost)
    weighted = phi.multiply(weights[:, None]).tocsr() if sp.issparse(phi) else phi * weights[:, None]
    return FeatureSpace(prepare, feature_map, noise, dense(phi.T @ weighted).astype(np.float64), counts_lost)


def _noise(feature_map: FeatureMap, prepared: Any, phi: Any, noise: float, counts_lost: bool) -> FloatArray:
    """(n,) the noise, and where it counts what φ loses of an item's own variance."""
    if not counts_lost:
        return np.full(phi.shape[0], noise)
    return np.asarray(noise + np.maximum(feature_map.kernel.diagonal(prepared) - squared_norms(phi), 0.0))
