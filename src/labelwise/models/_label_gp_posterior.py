"""What a fitted `LabelGP` believes about a batch of items, computed when asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from labelwise.models._item_covariances import FeatureCovariance, KernelCovariance
from labelwise.models._label_gp_state import FittedLabelGP
from labelwise.numerics.feature_solver import FeatureSolver
from labelwise.numerics.feature_spaces import FeatureSpace, Fourier, Landmarks, Part, array_parts
from labelwise.posterior import FloatArray, LabelCovariances, LabelPosterior


class LabelGPPosterior(LabelPosterior):
    """Beliefs of a `LabelGP` about some items.

    `probabilities` are calibrated. `means` and `variances` are those of the regression, on the scale of the 0/1
    labels and without noise. Items are rows as the user gave them; they are prepared block by block.
    """

    def __init__(self, fitted: FittedLabelGP, X: Any) -> None:
        super().__init__(X.shape[0], fitted.n_labels)
        self._fitted = fitted
        self._X = X

    @cached_property
    def _prepared(self) -> Any:
        return self._fitted.scaling(self._X)

    @cached_property
    def _means(self) -> FloatArray:
        departures = self._fitted.solver.mean(self._prepared, self._fitted.weights)
        return np.add(departures, self._fitted.centre)

    def means(self) -> FloatArray:
        """(n, q) posterior mean of each label's regression function."""
        return self._means

    def variances(self) -> FloatArray:
        """(n, q) posterior variance of each label's regression function: what more answers would take away."""
        return self._shares_of_kernel() * self._fitted.label_scales

    def probabilities(self) -> FloatArray:
        return self._fitted.link.probabilities(self._means)

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> LabelGPPosterior:
        return LabelGPPosterior(self._fitted, self._X[rows])

    def label_covariances(self) -> LabelCovariances:
        """Variances p (1 − p), with the correlation that labels have left once the features have had their say.

        The regression itself has the covariance v_i B for item i; its correlation is that of B for every item, and it
        is given the variances of calibrated 0/1 labels.
        """
        correlation = self._fitted.correlation
        p = self.probabilities()
        deviation = np.sqrt(np.maximum(p * (1 - p), 1e-12))  # (n, q)
        diagonal = deviation**2 * correlation.diagonal
        return LabelCovariances(diagonal, deviation[:, :, None] * correlation.factor)  # (n, q), (n, q, r)

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        return self.item_covariance().feature_space(self._fitted.scaling, basis)

    def parts(self) -> list[Part]:
        return list(array_parts(self._X))

    def item_covariance(self) -> FeatureCovariance | KernelCovariance:
        """Covariance between the items given the items answered in full, in units of the kernel."""
        if isinstance(self._fitted.solver, FeatureSolver):
            return FeatureCovariance(self._fitted.solver, self._fitted.full_rows_gram, self._prepared)
        X_full, L = self._fitted.full_rows_factor
        return KernelCovariance(self._fitted.kernel, self._fitted.noise, X_full, L, self._prepared)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """(s, n, q) probabilities as they would be if the regression functions were known, drawn anew for each item.

        Of the variance of an answer the share ρ = v / (v + noise) is the function's and the rest is noise. With
        y = 1 where √ρ f + √(1 − ρ) e < Φ⁻¹(p), f and e standard normal, knowing f leaves the probability
        Φ((Φ⁻¹(p) − √ρ f) / √(1 − ρ)), whose mean over f is p. Labels share f through their correlation.
        """
        v = self._shares_of_kernel()
        share = v / (v + self._fitted.noise)  # (n, q)
        f = self._fitted.correlation.sample((n_samples, self.n_items), rng)  # (s, n, q)
        return ndtr((ndtri(self.probabilities()) - np.sqrt(share) * f) / np.sqrt(1 - share))

    def _shares_of_kernel(self) -> FloatArray:
        return self._fitted.solver.variances(self._prepared)  # (n, q)
