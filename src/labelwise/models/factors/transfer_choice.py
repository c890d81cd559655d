"""Settings of a sketched regression, chosen on labels and items that are hidden from it for the purpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from labelwise.models.factors.cooccurrence_factors import FEWEST_ITEMS, FEWEST_LABELS, mean_precision
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.calibration import POOLED_MEAN, Entries, LogisticLink, bend, fit_pooled
from labelwise.numerics.gp.feature_regression import FeatureRegression
from labelwise.numerics.recovery.label_sketches import (
    SketchSettings,
    SketchSums,
    answer_variances,
    regress_answers,
    solve_sketches,
)

LABEL_WEIGHTS = (0.0, 0.03, 0.3, 3.0)
NOISES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
MOST_FEATURES = 4000  # above, weights of the labels beside the features' are not tried: each trial needs a ridge
HELD_OUT, MOST_HELD_OUT = 5, 1000  # one item in so many, and no more than these


@dataclass(frozen=True, eq=False)
class UnseenLink:
    """log-odds of an unseen label from its score and its share of the items, as pseudo-unseen labels showed."""

    weights: FloatArray  # (3,) constant, log-odds of the share, evidence
    unit: float = 1.0

    @classmethod
    def default(cls) -> UnseenLink:
        """Before anything was tried."""
        return cls(POOLED_MEAN)

    def for_rates(self, rates: FloatArray) -> LogisticLink:
        constant, on_rate, slope = self.weights
        spread = np.sqrt(rates * (1 - rates))
        return LogisticLink(rates, spread * self.unit, constant + on_rate * logit(rates), np.full(rates.size, slope))


@dataclass(frozen=True, eq=False)
class TransferChoice:
    settings: SketchSettings
    link: UnseenLink
    scores: dict[tuple[float, float], float]  # (label weight, noise variance): precision at 1, 3 and 5, their mean


@dataclass(frozen=True, eq=False)
class TransferSource:
    """Training items and where counts come from: the items themselves, or shares of each label's items elsewhere."""

    X: Any  # (n, d) prepared
    Y: FloatArray  # (n, s) with unknown entries filled
    observed: BoolArray  # (n, s)
    shares: FloatArray | None  # (s, s) of the items with l (row) that have j (column) elsewhere; None: count the items
    ridge: float = 1.0  # penalty by which the seen labels are learnt

    def counts(self, Y: FloatArray, known: Any, hidden: Any) -> FloatArray:
        """(known, hidden) counts on the scale of the items of Y."""
        if self.shares is None:
            return Y[:, known].T @ Y[:, hidden]
        return self.shares[np.ix_(known, hidden)] * np.einsum("ns,ns->s", Y[:, known], Y[:, known])[:, None]


@dataclass(frozen=True, eq=False)
class Answers:
    """The few answers there may be about labels that are predicted from counts."""

    X: Any  # (n, d) prepared
    Y: BoolArray  # (n, u)
    observed: BoolArray  # (n, u)

    @cached_property
    def labels(self) -> npt.NDArray[np.intp]:
        """(k,) those of the u labels that have any."""
        return np.flatnonzero(self.observed.any(axis=0))

    def regress(self, sums: SketchSums, counts: FloatArray, settings: SketchSettings) -> FloatArray:
        """(d, k) weights of those labels from counts (s, u) and answers together."""
        weights = np.zeros((self.X.shape[1], self.labels.size))
        for place, label in enumerate(self.labels):
            rows = np.flatnonzero(self.observed[:, label])
            y = self.Y[rows, label].astype(np.float64)
            weights[:, place] = regress_answers(sums, counts[:, label], self.X[rows], y, answer_settings(settings))
        return weights

    def variances(self, sums: SketchSums, counts: FloatArray, settings: SketchSettings, X: Any) -> FloatArray:
        """(n, k) of those labels' functions at the items X."""
        variances = np.zeros((X.shape[0], self.labels.size))
        for place, label in enumerate(self.labels):
            asked = self.X[np.flatnonzero(self.observed[:, label])]
            variances[:, place] = answer_variances(sums, counts[:, label], asked, answer_settings(settings), X)
        return variances


@dataclass(frozen=True, eq=False)
class Trial:
    """Half of the labels and a fifth of the items hidden: what the rest says of them."""

    sums: SketchSums
    counts: FloatArray  # (known, hidden)
    X: Any  # held-out items
    labels: FloatArray  # (held out, known) believed by ridge
    truth: BoolArray  # (held out, hidden)
    observed: BoolArray
    rates: FloatArray  # (hidden,)

    @classmethod
    def draw(cls, source: TransferSource, rng: np.random.Generator, *, with_ridge: bool) -> Trial:
        n, s = source.Y.shape
        items, labels = rng.permutation(n), rng.permutation(s)
        n_held = min(n // HELD_OUT, MOST_HELD_OUT)
        held, fit = np.sort(items[:n_held]), np.sort(items[n_held:])
        hidden, known = np.sort(labels[: s // 2]), np.sort(labels[s // 2 :])
        X, Y = source.X[fit], source.Y[fit]
        believed: FloatArray = np.zeros((held.size, known.size))
        if with_ridge:
            believed = ridge_scores(X, Y[:, known], source.X[held], source.ridge)
        counts = source.counts(Y, known, hidden)
        return cls(
            SketchSums.of(X, Y[:, known]),
            counts,
            source.X[held],
            believed,
            source.Y[np.ix_(held, hidden)] > 0.5,
            source.observed[np.ix_(held, hidden)] & ~np.isnan(counts).all(axis=0),
            (Y[:, hidden].sum(axis=0) + 0.5) / (fit.size + 1),
        )

    def scores(self, settings: SketchSettings) -> FloatArray:
        coefficients = solve_sketches(self.sums, self.counts, settings)
        return self.sums.scores(self.X, self.labels, coefficients, settings)  # (held out, hidden)

    def precision(self, settings: SketchSettings) -> float:
        """The mean of precision at 1, 3 and 5 among the hidden labels that were answered."""
        return mean_precision(self.scores(settings), self.truth, self.observed)


def choose_settings(
    source: TransferSource, given: SketchSettings, free: Sequence[str], trials: list[Trial]
) -> TransferChoice:
    """The best found of what is `free` ("label_weight", "noise_variance"), and the link at that choice.

    First the noise, then the weight of labels at the best noise, then the noise beside it: the optimum is flat.
    """
    label_weights = candidate_weights(source, given, free)
    noises = NOISES if "noise_variance" in free else (given.noise_variance,)
    scores: dict[tuple[float, float], float] = {}

    def best_of(candidates: Iterable[tuple[float, float]]) -> tuple[float, float]:
        for weight, noise in candidates:
            if (weight, noise) not in scores:
                settings = replace(given, label_weight=weight, noise_variance=noise)
                scores[weight, noise] = float(np.mean([t.precision(settings) for t in trials]))
        return max(scores, key=lambda key: scores[key])

    _, noise = best_of((label_weights[0], noise) for noise in noises)
    weight, noise = best_of((weight, noise) for weight in label_weights)
    at = noises.index(noise)
    weight, noise = best_of((weight, near) for near in noises[max(at - 1, 0) : at + 2])
    settings = replace(given, label_weight=weight, noise_variance=noise)
    return TransferChoice(settings, learn_link(trials, settings), scores)


def candidate_weights(source: TransferSource, given: SketchSettings, free: Sequence[str]) -> tuple[float, ...]:
    """Weights of labels to try: the one given, or, where it is free, those that the number of features allows."""
    if "label_weight" not in free:
        return (given.label_weight,)
    return LABEL_WEIGHTS if source.X.shape[1] <= MOST_FEATURES else (0.0,)


def answer_settings(settings: SketchSettings) -> SketchSettings:
    """Beside answers labels have no weight of their own, and there is more noise than in counts alone."""
    return replace(settings, label_weight=0.0, noise_variance=max(settings.noise_variance, 1.0))


def draw_trials(source: TransferSource, n_trials: int, rng: np.random.Generator, *, with_ridge: bool) -> list[Trial]:
    """None where there are too few labels or items to hide some."""
    n, s = source.Y.shape
    if s < FEWEST_LABELS or n < FEWEST_ITEMS:
        return []
    return [Trial.draw(source, rng, with_ridge=with_ridge) for _ in range(n_trials)]


def learn_link(trials: Sequence[Trial], settings: SketchSettings) -> UnseenLink:
    """One link for all unseen labels, from held-out scores of the hidden ones."""
    if not trials:
        return UnseenLink.default()
    departures, truth, observed, rates = [], [], [], []
    rows = max(t.truth.shape[0] for t in trials)
    for t in trials:
        spread = np.sqrt(t.rates * (1 - t.rates))
        departures.append(_padded((t.scores(settings) - t.rates) / spread, rows, 0.0))
        truth.append(_padded(t.truth, rows, False))
        observed.append(_padded(t.observed, rows, False))
        rates.append(t.rates)
    x, y, known = np.hstack(departures), np.hstack(truth), np.hstack(observed)
    entries, x = Entries.of(y, known), x.T[known.T]
    unit = float(np.sqrt(np.mean(x**2))) if x.size and x.any() else 1.0
    return UnseenLink(fit_pooled(bend(x / unit), entries, logit(np.concatenate(rates))), unit)


def ridge_scores(X: Any, Y: FloatArray, X_new: Any, penalty: float) -> FloatArray:
    """(n, s) of new items by ridge regression of the labels around their means: as the model's own base has them."""
    mean = Y.mean(axis=0)
    return mean + np.asarray(X_new @ FeatureRegression(X, penalty).solve(Y - mean))


def _padded(values: Any, rows: int, fill: Any) -> Any:
    return np.vstack([values, np.full((rows - values.shape[0], values.shape[1]), fill, dtype=values.dtype)])
