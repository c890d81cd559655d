"""What a fitted `LabelMixtureGP` believes about a batch of items, computed when asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import softmax

from labelwise.models.mixture.state import FittedMixture
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part, array_parts
from labelwise.numerics.mixture.bernoulli_mixture import mixture_factor, mixture_log_determinants, own_variances
from labelwise.numerics.mixture.gates import GateMoments, logistic_softmax
from labelwise.posterior import ItemCovariance, LabelCovariances, LabelPosterior

LEAST_WEIGHT = 1e-4  # of a component, by the regression gate


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
        mean = np.maximum(regression.mean(self._prepared), LEAST_WEIGHT)
        for part in self._fitted.parts:
            mean[:, part] /= mean[:, part].sum(axis=1, keepdims=True)
        return mean / n_restarts

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
        p = self._weights @ self._theta
        if self._known is None:
            return p
        values, observed = self._known_arrays()
        return np.where(observed, values, p)

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
        for name, matrix in (("values", values), ("observed", observed)):
            if matrix.shape != (self.n_items, self.n_labels):
                raise ValueError(f"{name} has shape {matrix.shape}, expected {(self.n_items, self.n_labels)}")
        if self._known is not None:
            before, known = self._known_arrays()
            values, observed = _booleans(values), _booleans(observed)
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
        drawn = rng.random((n_samples, self.n_items, self.n_labels)) < self._theta[component]
        if self._known is None:
            return drawn
        values, observed = self._known_arrays()
        return np.where(observed, values, drawn)

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
        if self._known is None:
            return drawn
        values, observed = self._known_arrays()
        return np.where(observed, values, drawn)

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
        return _booleans(self._known[0]), _booleans(self._known[1])


def _booleans(matrix: Any) -> BoolArray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=bool)


def _normalised(gates: FloatArray) -> FloatArray:
    """Rows that sum to one; where rounding has left nothing, all alike."""
    total = gates.sum(axis=-1, keepdims=True)
    return np.where(total > 0, gates / np.where(total > 0, total, 1.0), 1 / gates.shape[-1])
