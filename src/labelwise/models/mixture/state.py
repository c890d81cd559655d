"""What a `LabelMixtureGP` has learnt, as one value, and the posterior that keeps it; learning more makes a new one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from labelwise.models.label_gp.posterior import Solver
from labelwise.models.training_rows import TrainingRows
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.feature_scaling import FeatureScaling
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part, array_parts
from labelwise.numerics.linear_algebra import add_diagonal, cholesky, dense
from labelwise.numerics.mixture.bernoulli_mixture import (
    MixtureState,
    mixture_factor,
    mixture_log_determinants,
    own_variances,
)
from labelwise.numerics.mixture.gates import (
    GateMoments,
    Gates,
    integrated_moments,
    logistic_softmax,
    probit_moments,
    sampled_moments,
)
from labelwise.numerics.mixture.kernel import RegressionKernel
from labelwise.posterior import ItemCovariance, LabelCovariances, LabelPosterior
from labelwise.posterior.gaussian import KernelCovariance

MAX_NUMBERS = 2.5e7  # held in factors of gates: 200 MB; beyond, they are made again for every block
MOST_ROWS = 4000  # of the training rows that tell how well other items are known
BLOCK = 1024  # items whose kernel to the training rows is held at once
SAMPLED = 200  # draws of the sampling rule
LEAST_WEIGHT = 1e-4  # of a component, by the regression gate


@dataclass(frozen=True, eq=False)
class FittedRestart:
    """One mixture: what prediction needs, and how it came about."""

    present: FloatArray  # (k, q) a
    absent: FloatArray  # (k, q) b
    responsibilities: FloatArray  # (n, k)
    prior_mean: FloatArray  # (k,)
    precision: FloatArray  # (t, k) of the rows that the gates are learnt from
    weights: FloatArray  # (t, k) or (m, k)
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
        return X, cholesky(add_diagonal(self.hyper.kernel(X), self.hyper.noise), overwrite=True)

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
        by_restart = [self._rule(mean[:, part], variance[:, part], rough) for part in self.parts]
        return GateMoments(*(np.hstack(each) for each in zip(*by_restart, strict=True)))

    def gate_means(self, X: Any) -> FloatArray:
        """(n, c) E[π] of prepared items, those of one restart summing to one."""
        if self.regression is None:
            return self.moments(X).mean
        mean = np.maximum(self.regression.mean(X), LEAST_WEIGHT)
        for part in self.parts:
            mean[:, part] /= mean[:, part].sum(axis=1, keepdims=True)
        return mean

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


# -- beliefs ----------------------------------------------------------------------------------------------------------


class MixtureCovariances(LabelCovariances):
    """diag(u) + Θ̃ᵀ diag(π) Θ̃ per item, whose determinants need no factor of every item."""

    def __init__(self, weights: FloatArray, theta: FloatArray) -> None:
        object.__setattr__(self, "diagonal", own_variances(weights, theta))
        object.__setattr__(self, "weights", weights)  # (n, c)
        object.__setattr__(self, "theta", theta)  # (c, q)

    weights: FloatArray
    theta: FloatArray

    @cached_property
    def factor(self) -> FloatArray:  # (n, q, c), made when asked for
        return mixture_factor(self.weights, self.theta)

    def variances(self) -> FloatArray:
        p = self.weights @ self.theta
        return p * (1 - p)

    def log_determinants(self) -> FloatArray:
        return mixture_log_determinants(self.weights, self.theta)


class MixturePosterior(LabelPosterior):
    """Beliefs of a `LabelMixtureGP` about some items: a mixture of independent labels, weighted by the features.

    Means, covariances and draws of labels are exact for the fitted mixture, and so is `given`: known labels change
    the weights by Bayes' rule.
    """

    def __init__(
        self, fitted: FittedMixture, X: Any, *, rough: bool = False, known: tuple[Any, Any] | None = None
    ) -> None:
        super().__init__(X.shape[0], fitted.n_labels)
        self._fitted, self._X, self._rough, self._known = fitted, X, rough, known

    @cached_property
    def _prepared(self) -> Any:
        return self._fitted.scaling(self._X)

    @cached_property
    def _moments(self) -> GateMoments:
        return self._fitted.moments(self._prepared, rough=self._rough)

    @cached_property
    def _theta(self) -> FloatArray:
        return self._fitted.label_probabilities  # (c, q)

    @cached_property
    def _gates(self) -> FloatArray:
        """(n, c) E[π] of the items' features alone, divided by the number of restarts."""
        regression, n_restarts = self._fitted.regression, len(self._fitted.restarts)
        if regression is None:
            return self._moments.mean / n_restarts
        return self._fitted.gate_means(self._prepared) / n_restarts

    @cached_property
    def _weights(self) -> FloatArray:
        if self._known is None:
            return self._gates
        return softmax(np.log(np.maximum(self._gates, 1e-300)) + self._fit_of_known, axis=1)

    @cached_property
    def _fit_of_known(self) -> FloatArray:
        """(n, c) log-probability of each item's known labels under each component, the best at 0."""
        values, observed = self._known_arrays()
        present, absent = (values & observed).astype(np.float64), (~values & observed).astype(np.float64)
        fit = present @ np.log(self._theta).T + absent @ np.log1p(-self._theta).T
        return fit - fit.max(axis=1, keepdims=True)

    def component_weights(self) -> FloatArray:
        """(n, c) probability that each item comes from each component, of all restarts together."""
        return self._weights

    def probabilities(self) -> FloatArray:
        return self._with_known(self._weights @ self._theta)

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> MixturePosterior:
        known = None if self._known is None else (self._known[0][rows], self._known[1][rows])
        return MixturePosterior(self._fitted, self._X[rows], rough=self._rough, known=known)

    def rough(self) -> MixturePosterior:
        """The gates by the probit shortcut, their variances in single precision; the regression gate is fast itself."""
        if self._rough or self._fitted.regression is not None or self._fitted.gates is None:
            return self
        return MixturePosterior(self._fitted, self._X, rough=True, known=self._known)

    def given(self, values: Any, observed: Any) -> MixturePosterior:
        """The same beliefs once some of the items' own labels are known, exactly."""
        self._check_known(values, observed)
        if self._known is not None:
            before, known = self._known_arrays()
            values, observed = dense(values).astype(bool), dense(observed).astype(bool)
            values, observed = np.where(observed, values, before), observed | known
        return MixturePosterior(self._fitted, self._X, rough=self._rough, known=(values, observed))

    def label_covariances(self) -> LabelCovariances:
        if self._known is None:
            return MixtureCovariances(self._weights, self._theta)
        _, observed = self._known_arrays()
        diagonal = np.where(observed, 1e-12, own_variances(self._weights, self._theta))
        factor = np.where(observed[:, :, None], 0.0, mixture_factor(self._weights, self._theta))
        return LabelCovariances(diagonal, factor)

    def feature_variances(self) -> FloatArray:
        """(n,) mean over components of Var π; by the regression gate the variance of its one process."""
        if self._fitted.regression is not None:
            return self._fitted.regression.variances(self._prepared)
        return self._moments.variance.mean(axis=1)

    def item_covariance(self) -> ItemCovariance:
        """Between the items given the training items, by one regression of all labels with the gates' length-scale."""
        return self._fitted.item_covariance(self._prepared)

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        return self._fitted.item_covariance(self._prepared).feature_space(self._fitted.scaling, basis)

    def parts(self) -> list[Part]:
        return list(array_parts(self._X))

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        """(s, n, q): a component drawn for each item, then its labels, so that dependence is the mixture's own."""
        edges = np.cumsum(self._weights, axis=1)[:, :-1]  # (n, c - 1)
        component = (rng.random((n_samples, self.n_items, 1)) > edges).sum(axis=2)  # (s, n)
        return self._with_known(rng.random((n_samples, self.n_items, self.n_labels)) < self._theta[component])

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """(s, n, q) probabilities under draws of a restart, its gates and its label probabilities.

        The restarts are guesses at the same mixture: every draw believes one of them. Known labels of the items
        change the drawn gates by Bayes' rule.
        """
        drawn = np.empty((n_samples, self.n_items, self.n_labels))
        which = rng.integers(len(self._fitted.restarts), size=n_samples)
        for number, (restart, part) in enumerate(zip(self._fitted.restarts, self._fitted.parts, strict=True)):
            samples = np.flatnonzero(which == number)
            theta = rng.beta(restart.present, restart.absent, (samples.size, *restart.present.shape))  # (s, k, q)
            gates = self._sample_gates(part, samples.size, rng)  # (s, n, k)
            if self._known is not None:
                gates = _normalised(gates * np.exp(self._fit_of_known[:, part]))
            drawn[samples] = gates @ theta
        return self._with_known(drawn)

    def _sample_gates(self, part: slice, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """(s, n, k). The regression gate has one variance v per item: its draws are Dirichlet, with v / (v + noise)
        of the variance that a choice of one component would have."""
        regression, k = self._fitted.regression, part.stop - part.start
        if regression is not None:
            mean = self._gates[:, part] * len(self._fitted.restarts)
            v = np.maximum(regression.variances(self._prepared), 1e-9)
            return _normalised(
                rng.standard_gamma(mean * (regression.solver.noise / v)[:, None], (n_samples, *mean.shape))
            )
        if self._fitted.gates is None:
            return np.ones((n_samples, self.n_items, 1))
        mean, variance = (each[:, part] for each in self._latent)
        return logistic_softmax(mean + np.sqrt(variance) * rng.standard_normal((n_samples, self.n_items, k)))

    @cached_property
    def _latent(self) -> tuple[FloatArray, FloatArray]:
        return self._fitted.latent(self._prepared)

    def _known_arrays(self) -> tuple[BoolArray, BoolArray]:
        assert self._known is not None
        return dense(self._known[0]).astype(bool), dense(self._known[1]).astype(bool)

    def _with_known(self, believed: Any) -> Any:
        """Beliefs or draws (..., n, q), with the known labels in their places."""
        if self._known is None:
            return believed
        values, observed = self._known_arrays()
        return np.where(observed, values, believed)


def _normalised(gates: FloatArray) -> FloatArray:
    """Rows that sum to one; where rounding has left nothing, all alike."""
    total = gates.sum(axis=-1, keepdims=True)
    return np.where(total > 0, gates / np.where(total > 0, total, 1.0), 1 / gates.shape[-1])
