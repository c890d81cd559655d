"""What a `LabelMixtureGP` has learnt, as one value: a posterior keeps it, and learning more makes a new one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from labelwise.models.label_gp.solving import Solver
from labelwise.models.training_rows import TrainingRows
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.feature_scaling import FeatureScaling
from labelwise.numerics.linear_algebra import cholesky
from labelwise.numerics.mixture.bernoulli_mixture import MixtureState
from labelwise.numerics.mixture.gates import GateMoments, Gates, integrated_moments, probit_moments, sampled_moments
from labelwise.numerics.mixture.kernel import RegressionKernel
from labelwise.posterior.gaussian import KernelCovariance

MAX_NUMBERS = 2.5e7  # held in factors of gates: 200 MB; beyond, they are made again for every block
MOST_ROWS = 4000  # of the training rows that tell how well other items are known
BLOCK = 1024  # items whose kernel to the training rows is held at once
SAMPLED = 200  # draws of the sampling rule


@dataclass(frozen=True, eq=False)
class FittedRestart:
    """One mixture: what prediction needs, and how it came about."""

    present: FloatArray  # (k, q) a
    absent: FloatArray  # (k, q) b
    responsibilities: FloatArray  # (n, k)
    prior_mean: FloatArray  # (k,)
    precision: FloatArray  # (n, k)
    weights: FloatArray  # (n, k) or (m, k)
    bounds: tuple[float, ...]

    @classmethod
    def of(cls, state: MixtureState, prior_mean: FloatArray, bounds: list[float]) -> FittedRestart:
        parts = state.present, state.absent, state.responsibilities, prior_mean, state.precision, state.weights
        return cls(*parts, tuple(bounds))

    @property
    def n_components(self) -> int:
        return self.prior_mean.size


@dataclass(frozen=True, eq=False)
class RegressionGate:
    """Responsibilities of all components regressed on the features, instead of the variational gates."""

    solver: Solver
    centre: FloatArray  # (c,)
    weights: FloatArray

    def mean(self, X: Any) -> FloatArray:
        return self.centre + self.solver.mean(X, self.weights)  # (n, c), not yet made probabilities

    def variances(self, X: Any) -> FloatArray:
        """(n,) in units of the kernel."""
        return self.solver.variances(X)[:, 0]


@dataclass(frozen=True, eq=False)
class FittedMixture:
    """The restarts side by side: one mixture whose c components are those of all of them, with equal shares."""

    scaling: FeatureScaling
    rows: TrainingRows
    X: Any  # (n, d) prepared
    hyper: RegressionKernel
    gates: Gates | None  # None: a single component needs no gate
    restarts: tuple[FittedRestart, ...]
    rule: str = "quadrature"  # or "probit", "sampling"
    regression: RegressionGate | None = None
    origin: FittedMixture | None = None  # the last fit from scratch
    _factors: dict[tuple[int, str], FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        known = self.__dict__ | {"_factors": {}}  # they follow from the rest and are large
        known.pop("_trained", None)
        return known

    @property
    def length_scale(self) -> float:
        return self.hyper.length_scale if self.gates is None else self.gates.kernel.length_scale

    @property
    def n_labels(self) -> int:
        return self.rows.Y.shape[1]

    @property
    def label_probabilities(self) -> FloatArray:
        """(c, q) expected probability of every label in every component."""
        return np.vstack([each.present / (each.present + each.absent) for each in self.restarts])

    @property
    def responsibilities(self) -> FloatArray:
        """(n, c); those of one restart sum to one."""
        return np.hstack([each.responsibilities for each in self.restarts])

    @property
    def parts(self) -> list[slice]:
        """Which components belong to which restart."""
        ends = np.cumsum([each.n_components for each in self.restarts]).tolist()
        return [slice(end - each.n_components, end) for end, each in zip(ends, self.restarts, strict=True)]

    def item_covariance(self, X: Any) -> KernelCovariance:
        """Between prepared items given the training items, by the one regression of all labels with this kernel."""
        return KernelCovariance(self.hyper.kernel, self.hyper.noise, *self._trained, X)

    @cached_property
    def _trained(self) -> tuple[Any, FloatArray]:
        """Training rows, at most MOST_ROWS in equal steps, and the factor of their covariance with noise."""
        X = self.X[:: -(-self.X.shape[0] // MOST_ROWS)]
        K = self.hyper.kernel(X)
        K.ravel()[:: K.shape[0] + 1] += self.hyper.noise
        return X, cholesky(K, overwrite=True)

    def latent(self, X: Any, dtype: Any = np.float64) -> tuple[FloatArray, FloatArray]:
        """Means and variances (n, c) of the gates' Gaussian processes at prepared items; variances in `dtype`."""
        assert self.gates is not None
        weights = np.hstack([each.weights for each in self.restarts])
        prior_mean = np.concatenate([each.prior_mean for each in self.restarts])
        mean, variance = np.empty((2, X.shape[0], prior_mean.size))
        for start in range(0, X.shape[0], BLOCK):
            block = slice(start, start + BLOCK)
            basis = self.gates.basis(X[block])
            mean[block] = basis.T @ weights + prior_mean
            prior, columns = self.gates.kernel.diagonal(X[block]), basis.astype(dtype, copy=False)
            for c in range(prior_mean.size):
                variance[block, c] = self.gates.variances(self._factor(c, dtype), columns, prior)
        return mean, variance

    def moments(self, X: Any, *, rough: bool = False) -> GateMoments:
        """E[π] and Var[π] (n, c) of prepared items, restart by restart."""
        if self.gates is None:
            return GateMoments(np.ones((X.shape[0], 1)), np.zeros((X.shape[0], 1)))
        mean, variance = self.latent(X, np.float32 if rough else np.float64)
        found = [self._rule(mean[:, part], variance[:, part], rough) for part in self.parts]
        return GateMoments(*(np.hstack(each) for each in zip(*found, strict=True)))

    def _rule(self, mean: FloatArray, variance: FloatArray, rough: bool) -> GateMoments:
        if rough or self.rule == "probit":
            return probit_moments(mean, variance)
        if self.rule == "sampling":
            normals = np.random.default_rng(0).standard_normal((SAMPLED, mean.shape[1]))
            return sampled_moments(mean, variance, normals)
        return integrated_moments(mean, variance)

    def _factor(self, component: int, dtype: Any) -> FloatArray:
        key = component, np.dtype(dtype).char
        if key in self._factors:
            return self._factors[key]
        assert self.gates is not None
        restart = next(i for i, part in enumerate(self.parts) if component < part.stop)
        precision = self.restarts[restart].precision[:, component - self.parts[restart].start]
        factor = self.gates.factor(np.ascontiguousarray(precision)).astype(dtype, copy=False)
        if factor.size * self.parts[-1].stop <= MAX_NUMBERS:
            self._factors[key] = factor
        return factor
