"""What a factor model believes about a batch of items, computed when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from labelwise.models.factors.training import FactorSettings, Learnt
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.feature_scaling import FeatureScaling, PreparedFeatures
from labelwise.numerics.gp.feature_regression import FeatureUncertainty
from labelwise.numerics.label_correlation import LabelCorrelation
from labelwise.numerics.linear_algebra import dense
from labelwise.numerics.weighted_ridge import RowSolver, View, row_chunks
from labelwise.posterior import GivenPosterior, ItemCovariance, LabelCovariances, LabelPosterior
from labelwise.posterior.gaussian import calibrated_covariances

LOGISTIC_VARIANCE = np.pi**2 / 3  # of the noise that makes a 0/1 label out of log-odds
FOLD_ROUNDS = 15  # of weights and factors, for items some of whose labels are known
MOST_RANK = 16  # directions in which the labels of an item are believed to move together


@dataclass(frozen=True, eq=False)
class FittedFactors:
    """Everything a posterior needs of the fitted model, labels in the user's order."""

    scaling: FeatureScaling | PreparedFeatures
    weights: FloatArray  # W (d, k)
    loadings: FloatArray  # V (q, k); zero where there is no score
    biases: FloatArray  # (q,)
    seen: IntArray  # labels with answers, in the order of the fit
    scored: npt.NDArray[np.bool_]  # (q,) False: neither answers nor counts, a base rate is all there is
    item_precision: float  # λ_u
    label_covariances: FloatArray | None  # S_v (q, k, k) of variational beliefs
    uncertainty: FeatureUncertainty

    @classmethod
    def of(
        cls,
        learnt: Learnt,
        settings: FactorSettings,
        labels: tuple[IntArray, IntArray, int],
        rate: float,
        scaling: FeatureScaling | PreparedFeatures,
    ) -> FittedFactors:
        """Learnt factors with `labels` (seen, unseen, how many in all) put in their places; the others get the rate."""
        seen, unseen, n_labels = labels
        told, k = np.concatenate([seen, unseen]), learnt.factors.labels.shape[1]
        loadings, biases = np.zeros((n_labels, k)), np.full(n_labels, logit(rate))
        loadings[told], biases[told] = learnt.loadings(), learnt.biases()
        scored = np.zeros(n_labels, dtype=bool)
        scored[told] = True
        precision = learnt.fit.penalties.items
        doubt, covariances = learnt.label_covariances(settings), None
        if doubt is not None:
            covariances = np.tile(np.eye(k) / learnt.fit.penalties.labels, (n_labels, 1, 1))
            covariances[told] = doubt
        return cls(
            scaling=scaling,
            weights=learnt.factors.weights.astype(np.float64),
            loadings=loadings,
            biases=biases,
            seen=seen,
            scored=scored,
            item_precision=precision,
            label_covariances=covariances,
            uncertainty=FeatureUncertainty(learnt.fit.regression.X, learnt.fit.regression.penalty, 1 / precision),
        )

    @cached_property
    def correlation(self) -> LabelCorrelation:
        """Of an item's labels given its features: they share u ~ N(Wᵀx, I/λ_u), each has a logistic noise of its own.

        Cov(ψ, ψ') = v·v'/λ_u, and on the diagonal what the doubt about v adds.
        """
        own = np.einsum("qk,qk->q", self.loadings, self.loadings)
        if self.label_covariances is not None:
            own = own + np.trace(self.label_covariances, axis1=1, axis2=2)
        spread = np.sqrt(own / self.item_precision + LOGISTIC_VARIANCE)  # (q,)
        shared = self.loadings / np.sqrt(self.item_precision) / spread[:, None]  # (q, k)
        directions, sizes, _ = np.linalg.svd(shared, full_matrices=False)
        factor = (directions * sizes)[:, :MOST_RANK]
        return LabelCorrelation(1 - np.einsum("qr,qr->q", factor, factor), factor)

    def variances(self, expected: FloatArray) -> FloatArray:
        """(n, q) of the log-odds: x'W'S_v W x + (|v|² + tr S_v)/λ_u."""
        own = np.einsum("qk,qk->q", self.loadings, self.loadings)
        if self.label_covariances is None:
            return np.broadcast_to(own / self.item_precision, (len(expected), own.size))
        own = own + np.trace(self.label_covariances, axis1=1, axis2=2)
        flat = self.label_covariances.reshape(own.size, -1)  # (q, k²)
        result = np.empty((len(expected), own.size))
        for part in row_chunks(len(expected), flat.shape[1]):
            outer = expected[part][:, :, None] * expected[part][:, None, :]  # (rows, k, k)
            result[part] = np.maximum(outer.reshape(len(outer), -1) @ flat.T, 0.0)
        return result + own / self.item_precision


class FactorPosterior(LabelPosterior):
    """Beliefs of a factor model about some items.

    `probabilities` are plug-in: the logistic function at the mean log-odds, which is better calibrated than averaging
    over the doubt. `scores` are the log-odds, −∞ for labels about which nothing is known, so that they rank last.
    """

    def __init__(self, fitted: FittedFactors, X: Any) -> None:
        super().__init__(X.shape[0], fitted.biases.size)
        self._fitted, self._X = fitted, X

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> FactorPosterior:
        return FactorPosterior(self._fitted, self._X[rows])

    @cached_property
    def _prepared(self) -> Any:
        return self._fitted.scaling(self._X)

    @cached_property
    def _expected(self) -> FloatArray:
        """(n, k) the items' factors as their features have it."""
        return np.asarray(self._prepared @ self._fitted.weights)

    def log_odds(self) -> FloatArray:
        """(n, q) mean log-odds."""
        return self._expected @ self._fitted.loadings.T + self._fitted.biases

    def scores(self) -> FloatArray:
        """(n, q) what labels are ranked by."""
        return np.where(self._fitted.scored, self.log_odds(), -np.inf)

    def ranking(self) -> FloatArray:
        return self.scores()

    def variances(self) -> FloatArray:
        """(n, q) variance of the log-odds; without variational beliefs only that of the item's own factors."""
        return self._fitted.variances(self._expected)

    def probabilities(self) -> FloatArray:
        return expit(self.log_odds())

    def label_covariances(self) -> LabelCovariances:
        return calibrated_covariances(self.probabilities(), self._fitted.correlation)

    def item_covariance(self) -> ItemCovariance:
        """Between the items' factors, from what the training items leave open about the feature weights."""
        return self._fitted.uncertainty.between(self._prepared)

    def given(self, values: Any, observed: Any) -> FoldedPosterior:
        """Beliefs once some of the items' own labels are known."""
        return FoldedPosterior(self, values, observed)

    def folded(self, values: BoolArray, observed: BoolArray) -> FloatArray:
        """(n, q) log-odds with the items' factors where the known labels (n, q) want them."""
        fitted, u = self._fitted, self._expected
        labels, asked = (values & observed).astype(np.uint8), observed.astype(np.uint8)
        view = View(fitted.loadings, labels, asked, np.zeros(self.n_items), fitted.biases)
        for _ in range(FOLD_ROUNDS):
            u = RowSolver(steps=8).improve(u, [view], fitted.item_precision, self._expected)
        return u @ fitted.loadings.T + fitted.biases

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """(s, n, q) probabilities under draws of the labels' factors (one per draw) and the items' own (one each).

        Averaging the logistic function over log-odds of variance s² pulls it towards one half; means are stretched
        by √(1 + πs²/8) first, so that the mean over draws stays at the calibrated probability.
        """
        fitted, k = self._fitted, self._fitted.weights.shape[1]
        drawn = np.empty((n_samples, self.n_items, self.n_labels))
        stretch = np.sqrt(1 + np.pi * self.variances() / 8)  # (n, q)
        mean = self.log_odds()
        roots = None if fitted.label_covariances is None else _roots(fitted.label_covariances)
        for t in range(n_samples):
            V = fitted.loadings
            if roots is not None:
                V = V + np.einsum("qij,qj->qi", roots, rng.standard_normal(V.shape))
            u = self._expected + rng.standard_normal((self.n_items, k)) / np.sqrt(fitted.item_precision)
            drawn[t] = expit(mean * stretch + u @ V.T + fitted.biases - mean)
        return drawn


class FoldedPosterior(GivenPosterior):
    """Beliefs about items some of whose labels are known: their own factors move from Wᵀx to where those labels say.

    Probabilities follow from the moved factors; how the other labels still vary together, from `label_covariances`
    conditioned on the known ones.
    """

    def __init__(self, before: FactorPosterior, values: Any, observed: Any) -> None:
        super().__init__(before, values, observed)
        self._factor_beliefs = before

    def log_odds(self) -> FloatArray:
        """(n, q) log-odds at the moved factors; for a known label, what they say of it all the same."""
        return self._factor_beliefs.folded(*self._known)

    def scores(self) -> FloatArray:
        return np.where(self._factor_beliefs.scores() > -np.inf, self.log_odds(), -np.inf)

    def probabilities(self) -> FloatArray:
        values, observed = self._known
        return np.where(observed, values, expit(self._factor_beliefs.folded(values, observed)))

    def given(self, values: Any, observed: Any) -> FoldedPosterior:
        """With more labels known; the later answer counts where two are about the same label."""
        (before, known), newly = self._known, dense(observed).astype(bool)
        merged = np.where(newly, dense(values).astype(bool), before)
        return FoldedPosterior(self._factor_beliefs, merged, known | newly)


def _roots(covariances: FloatArray) -> FloatArray:
    """(q, k, k) with R Rᵀ = S, for covariances that may be zero."""
    values, vectors = np.linalg.eigh(covariances)
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
