"""What a fitted `CooccurrenceTransfer` believes about a batch of items, computed when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, logit

from labelwise.models.factors.transfer_choice import Answers
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.calibration import LogisticLink
from labelwise.numerics.factors.count_scaling import OwnCounts
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part, array_parts
from labelwise.numerics.label_correlation import LabelCorrelation, low_rank, shrunk_correlation
from labelwise.numerics.recovery.label_sketches import SketchSettings, SketchSums, same_known
from labelwise.posterior import LabelCovariances, LabelPosterior, Rows, WrappedPosterior
from labelwise.posterior.gaussian import calibrated_covariances

RANK = 32  # of the label correlation kept beside its diagonal
MIN_PROBABILITY = 1e-6  # a probability is never nearer to 0 or 1
ROUNDED_ZERO = 1e-15  # what a base model's probability is taken for where it rounds to 0


@dataclass(frozen=True, eq=False)
class SketchRule:
    """Unseen labels by regression on their sketch."""

    sums: SketchSums
    coefficients: FloatArray  # (s, u)
    settings: SketchSettings
    link: LogisticLink
    counts: FloatArray  # (s, u), NaN where unknown
    few: Answers  # about some of the u labels
    weights: FloatArray  # (d, labels with answers) of the features, from counts and answers together

    def scores(self, X: Any, labels: FloatArray) -> FloatArray:
        scores = self.sums.scores(X, labels, self.coefficients, self.settings)
        if self.few.labels.size:
            scores[:, self.few.labels] = np.asarray(X @ self.weights)
        return scores

    def probabilities(self, scores: FloatArray) -> FloatArray:
        return self.link.probabilities(scores)

    def variances(self, X: Any, labels: FloatArray) -> FloatArray:
        """(n, u): the fewer counts of a label are known, the larger."""
        variances = np.empty((X.shape[0], self.counts.shape[1]))
        for rows, members in same_known(~np.isnan(self.counts)):
            variances[:, members] = self.sums.variances(X, labels, self.settings, rows)[:, None]
        if self.few.labels.size:
            variances[:, self.few.labels] = self.few.variances(self.sums, self.counts, self.settings, X)
        return variances


@dataclass(frozen=True, eq=False)
class MixtureRule:
    """Unseen labels as fixed combinations of the seen labels' scores or probabilities, or of their log-odds."""

    weights: FloatArray  # (s, u)
    on_log_odds: bool = False
    on_probabilities: bool = False

    def scores(self, X: Any, labels: FloatArray) -> FloatArray:
        if not self.on_log_odds:
            return labels @ self.weights
        log_odds = logit(np.clip(labels, ROUNDED_ZERO, 1 - ROUNDED_ZERO))
        alone = self.weights.sum(axis=0) == 0  # a label that occurs with none comes last
        return expit(np.where(alone, log_odds.min(axis=1, keepdims=True) - 1, log_odds @ self.weights))

    def probabilities(self, scores: FloatArray) -> FloatArray:
        return np.clip(scores, MIN_PROBABILITY, 1 - MIN_PROBABILITY)


@dataclass(frozen=True, eq=False)
class Trained:
    """The training items, for what is computed only when asked for."""

    X: Any  # (n, d) prepared
    Y: FloatArray  # (n, s)
    counts: OwnCounts

    def residual_covariance(self, seen: FloatArray, told: FloatArray) -> FloatArray:
        """(s + u, s + u) what the scores (n, s) and (n, u) leave of the labels, divided by n.

        For an unseen label y_u ≈ f_u + noise, so that Σ (y_l − f_l)(y_u − f_u) ≈ m_lu − y_lᵀ f_u; where a count is
        unknown nothing is left.
        """
        n, u = self.Y.shape[0], told.shape[1]
        left = self.Y - seen
        cross = np.nan_to_num(self.counts.with_seen - self.Y.T @ told)  # (s, u)
        among = self.counts.among_unseen - told.T @ told
        spread = np.maximum(np.nan_to_num(among.diagonal(), nan=np.inf), 0.0)
        own = np.minimum(spread, np.maximum(told.sum(axis=0), 1e-9))  # no more than that of a 0/1 label
        among = np.nan_to_num(among)
        among[np.diag_indices(u)] = np.maximum(own, 1e-9)
        return np.block([[left.T @ left, cross], [cross.T, among]]) / n


@dataclass(frozen=True, eq=False)
class FittedTransfer:
    """The base model of the seen labels, the rule for the unseen ones, and the share of yes for the rest."""

    base: Any
    base_features: Callable[[Any], Any]  # what the base was fitted on
    prepare: Callable[[Any], Any]  # what the rule was fitted on
    labels: tuple[IntArray, IntArray, IntArray]  # seen, unseen with counts, unseen without
    rule: SketchRule | MixtureRule
    untold_rate: float
    trained: Trained

    @property
    def has_own_base(self) -> bool:
        """Whether the base is the ridge on the prepared features, with scores on the scale of 0/1 labels."""
        return self.base_features is self.prepare

    @property
    def n_labels(self) -> int:
        return sum(part.size for part in self.labels)

    def spread(self, seen: FloatArray, told: FloatArray, untold: float) -> FloatArray:
        """(n, q) from the parts."""
        whole = np.full((seen.shape[0], self.n_labels), untold)
        whole[:, self.labels[0]], whole[:, self.labels[1]] = seen, told
        return whole

    def seen_scores(self, base: Any) -> FloatArray:
        """(n, s) on the scale of the rule's: of the own ridge, that of 0/1 labels; else probabilities.

        Of other models it is not known whether they have scores on the scale of 0/1 labels.
        """
        by_rule = isinstance(self.rule, MixtureRule) and self.rule.on_probabilities
        return np.asarray(base.means() if self.has_own_base and not by_rule else base.probabilities())

    @cached_property
    def correlation(self) -> LabelCorrelation:
        """Of all labels, once the features have had their say."""
        trained, (seen, told, untold) = self.trained, self.labels
        base = self.base.posterior(trained.X) if self.has_own_base else None
        scores = trained.Y.mean(axis=0) + np.zeros(trained.Y.shape) if base is None else self.seen_scores(base)
        covariance = trained.residual_covariance(scores, self.rule.scores(trained.X, scores))
        n = np.full(covariance.shape, float(trained.Y.shape[0]))
        found = low_rank(shrunk_correlation(covariance, n), RANK)
        order = np.argsort(np.concatenate([seen, told, untold]))
        diagonal = np.concatenate([found.diagonal, np.ones(untold.size)])
        factor = np.vstack([found.factor, np.zeros((untold.size, found.factor.shape[1]))])
        return LabelCorrelation(diagonal[order], factor[order])


@dataclass(frozen=True, eq=False)
class PreparedTwice:
    """First what the base was fitted on, then what its feature space takes."""

    first: Callable[[Any], Any]
    second: Callable[[Any], Any]

    def __call__(self, X: Any) -> Any:
        return self.second(self.first(X))


class TransferPosterior(WrappedPosterior):
    """Beliefs of a `CooccurrenceTransfer` about some items.

    They wrap those of the base model, which knows the seen labels alone. What it knows of items is forwarded, and what
    it says of labels is put beside what the rule says of the others. Names of the base alone stay with it.

    `means` are scores on the scale of 0/1 labels, for all labels alike (under "conditional" and "costa" probabilities
    and their combinations); labels are ranked by them. `probabilities` are calibrated: by the base model for seen
    labels, on pseudo-unseen labels for the others.
    """

    def __init__(self, fitted: FittedTransfer, X: Any, *, rough: bool = False) -> None:
        LabelPosterior.__init__(self, X.shape[0], fitted.n_labels)
        self._fitted, self._X, self._rough = fitted, X, rough

    @cached_property
    def _base(self) -> LabelPosterior:
        base: LabelPosterior = self._fitted.base.posterior(self._fitted.base_features(self._X))
        return base.rough() if self._rough else base

    @property
    def _inner(self) -> LabelPosterior:
        return self._base

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @cached_property
    def _seen_scores(self) -> FloatArray:
        return self._fitted.seen_scores(self._base)  # (n, s)

    @cached_property
    def _told_scores(self) -> FloatArray:
        return self._fitted.rule.scores(self._fitted.prepare(self._X), self._seen_scores)  # (n, u)

    def means(self) -> FloatArray:
        """(n, q) scores on the scale of 0/1 labels: what labels, seen and unseen, are to be ranked by."""
        return self._fitted.spread(self._seen_scores, self._told_scores, self._fitted.untold_rate)

    def ranking(self) -> FloatArray:
        """The `means`; a label of which nothing is known comes last."""
        return self._fitted.spread(self._seen_scores, self._told_scores, -np.inf)

    def variances(self) -> FloatArray:
        """(n, q) variance of the unseen labels' function under a sketch, and of the seen ones where the base has it.

        An unseen label without counts has the variance of its prior; where nothing is known it is NaN.
        """
        rule, n = self._fitted.rule, self.n_items
        base = getattr(self._base, "variances", None)
        seen = np.full((n, self._fitted.labels[0].size), np.nan) if base is None else base()
        told = np.full((n, self._fitted.labels[1].size), np.nan)
        if isinstance(rule, SketchRule) and told.size:
            told[:] = rule.variances(self._fitted.prepare(self._X), self._seen_scores)
        rate = self._fitted.untold_rate
        return self._fitted.spread(seen, told, rate * (1 - rate))

    def probabilities(self) -> FloatArray:
        told = self._fitted.rule.probabilities(self._told_scores)
        return self._fitted.spread(self._base.probabilities(), told, self._fitted.untold_rate)

    def label_covariances(self) -> LabelCovariances:
        """Variances p (1 − p), with the correlation that is left between labels once the features have had their say.

        For unseen labels it follows from their counts.
        """
        return calibrated_covariances(self.probabilities(), self._fitted.correlation)

    def label_counts(self) -> FloatArray:
        told = self._fitted.rule.probabilities(self._told_scores).sum(axis=1)
        return self._base.label_counts() + told + self._fitted.untold_rate * self._fitted.labels[2].size

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """The base's draws of the seen labels; of the others there is no doubt but their probability."""
        drawn = np.array(np.broadcast_to(self.probabilities(), (n_samples, self.n_items, self.n_labels)))
        drawn[:, :, self._fitted.labels[0]] = self._base.sample_probabilities(n_samples, rng)
        return drawn

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        """By `label_covariances`, which are those of seen and unseen labels together."""
        return LabelPosterior.sample_labels(self, n_samples, rng)

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        """The base's, for items as the user gave them."""
        prepare = self._fitted.base_features
        space = self._base.feature_space(Landmarks(prepare(basis.rows)) if isinstance(basis, Landmarks) else basis)
        return None if space is None else replace(space, prepare=PreparedTwice(prepare, space.prepare))

    def parts(self) -> Sequence[Part] | None:
        return None if self._base.parts() is None else list(array_parts(self._X))

    def rows(self, rows: Rows) -> TransferPosterior:
        return TransferPosterior(self._fitted, self._X[rows], rough=self._rough)

    def rough(self) -> TransferPosterior:
        same = self._rough or self._base.rough() is self._base
        return self if same else TransferPosterior(self._fitted, self._X, rough=True)
