"""From regression means to probabilities, and from probabilities to thresholds, by what leaving one out shows.

The mean of a regression on 0/1 labels ranks well but is no probability. A logistic link is fitted to leave-one-out
means: one slope and one intercept for all labels together, then each label's own, held to the common ones by a prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray

ROUNDING = 1e-8  # departures of a mean from its base rate, in standard deviations of the label, that mean nothing
BEND = 2.0  # evidence counts fully up to this many typical sizes, then logarithmically: means are not Gaussian
POOLED_MEAN, POOLED_PRECISION = np.array([0.0, 1.0, 1.0]), np.array([4.0, 4.0, 1.0])  # constant, base rate, evidence
INTERCEPT_SD, SLOPE_SD = 0.8, 0.3  # of one label around the pooled fit, the slope's relative to the pooled slope
LEAST_SLOPE = 0.1  # relative to the prior's mean: a link never falls
CLOSE, MAX_STEPS = 1e-10, 200  # a Newton step this small ends the fit
THRESHOLDS = expit(np.linspace(-4.0, 3.0, 141))  # candidates for F1
THRESHOLD_POSITIVES = 5.0  # a label's F1 curve is its own after about this many positives


@dataclass(frozen=True, eq=False)
class Entries:
    """Answered entries of a label matrix, label after label."""

    counts: IntArray  # (q,) entries of each label
    y: FloatArray  # (N,)

    @classmethod
    def of(cls, Y: BoolArray, observed: BoolArray) -> Entries:
        return cls(observed.sum(axis=0), Y.T[observed.T].astype(float))

    @cached_property
    def labels(self) -> IntArray:
        """(N,) the label of each entry."""
        return np.repeat(np.arange(self.counts.size), self.counts)

    def spread(self, per_label: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(N,) each label's number, at each of its entries."""
        return np.repeat(per_label, self.counts)

    def sums(self, values: FloatArray) -> FloatArray:
        """(q,) of the values (N,) of each label, added up."""
        total = np.zeros(self.counts.size)
        answered = self.counts > 0
        if answered.any():
            starts = (np.cumsum(self.counts) - self.counts)[answered]
            total[answered] = np.add.reduceat(values, starts)
        return total

    def of_labels(self, chosen: BoolArray) -> Entries:
        """The entries of the chosen labels (q,) only; the others have none."""
        return Entries(np.where(chosen, self.counts, 0), self.y[self.spread(chosen)])


@dataclass(frozen=True, eq=False)
class LogisticLink:
    """log-odds = intercept + slope · BEND · asinh((mean − centre) / (BEND · size)), one row of numbers per label.

    Examples
    --------
    >>> link = LogisticLink(np.array([0.2]), np.array([0.1]), np.array([-1.0]), np.array([2.0]))
    >>> link.probabilities(np.array([[0.2], [0.3]])).round(3)
    array([[0.269],
           [0.716]])
    """

    centre: FloatArray  # (q,)
    size: FloatArray  # (q,) what counts as a typical departure of the mean from the centre
    intercept: FloatArray  # (q,)
    slope: FloatArray  # (q,), positive

    def log_odds(self, means: FloatArray) -> FloatArray:
        odds = np.subtract(means, self.centre, dtype=np.float64)  # then in place: new pages cost more than arithmetic
        odds /= BEND * self.size
        np.arcsinh(odds, out=odds)
        odds *= BEND * self.slope
        odds += self.intercept
        return odds

    def probabilities(self, means: FloatArray) -> FloatArray:
        odds = self.log_odds(means)
        return expit(odds, out=odds)


def bend(x: FloatArray) -> FloatArray:
    """x where it is small, logarithmic in x where it is large."""
    return BEND * np.arcsinh(x / BEND)


def base_rates(Y: BoolArray, observed: BoolArray) -> FloatArray:
    """(q,) of (positives + ½) / (answers + 1); the mean of the others for a label that was never answered."""
    answers = observed.sum(axis=0)
    rates = ((Y & observed).sum(axis=0) + 0.5) / (answers + 1)
    return np.where(answers > 0, rates, rates[answers > 0].mean())


def fit_link(departures: FloatArray, entries: Entries, rates: FloatArray, centre: FloatArray) -> LogisticLink:
    """The link for entries whose left-out means depart from their left-out base rates by `departures` (N,).

    Departures are measured in standard deviations of a 0/1 label with the label's rate, and in units of their own root
    mean square. So the priors mean the same whatever the noise and the data. A label with answers of one kind only
    keeps its base rate, for it has nothing to say about slopes.
    """
    spread: FloatArray = np.sqrt(rates * (1 - rates))  # (q,)
    positives = entries.sums(entries.y)
    mixed = (positives > 0) & (positives < entries.counts)  # (q,)
    used = entries.spread(mixed)
    x = departures / entries.spread(spread)
    unit = float(np.sqrt(np.mean(x[used] ** 2))) if used.any() else 1.0
    unit = unit if unit > ROUNDING else 1.0  # where features say nothing, departures are none and not evidence
    x = np.asarray(bend(x / unit))
    use = entries.of_labels(mixed)
    constant, on_rate, slope = fit_pooled(x[used], use, logit(rates))
    offset = constant + on_rate * logit(rates)  # (q,)
    intercepts, slopes = fit_per_label(x[used], use, offset, slope)
    intercepts = np.where(mixed, intercepts, logit(rates))
    return LogisticLink(centre, spread * unit, intercepts, slopes)


def fit_pooled(x: FloatArray, entries: Entries, rate_log_odds: FloatArray) -> FloatArray:
    """(3,) MAP of log-odds = w₀ + w₁ · log-odds of the base rate + w₂ x over all entries, with w₂ ≥ LEAST_SLOPE."""
    r = rate_log_odds  # (q,): the first two features are the same for all entries of a label
    free = np.ones((3, 1), dtype=bool)

    def derivatives(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(entries.spread(w[0, 0] + w[1, 0] * r) + w[2, 0] * x)
        error, weight = p - entries.y, p * (1 - p)
        weight_x = weight * x
        e, h, h_x = entries.sums(error), entries.sums(weight), entries.sums(weight_x)  # (q,)
        gradient = np.array([e.sum(), e @ r, error @ x]) + POOLED_PRECISION * (w[:, 0] - POOLED_MEAN)
        on_r, on_x = h @ r, h_x @ r
        curvature = np.array([[h.sum(), on_r, h_x.sum()], [on_r, h @ r**2, on_x], [h_x.sum(), on_x, weight_x @ x]])
        return gradient[:, None], (curvature + np.diag(POOLED_PRECISION))[:, :, None]

    w = newton(derivatives, POOLED_MEAN[:, None], free)
    if w[2, 0] < LEAST_SLOPE:
        w[2, 0], free[2, 0] = LEAST_SLOPE, False
        w = newton(derivatives, w, free)
    return w[:, 0]


def fit_per_label(
    x: FloatArray, entries: Entries, offset: FloatArray, pooled_slope: float
) -> tuple[FloatArray, FloatArray]:
    """(q,) intercepts and slopes: for every label the MAP of y given x, with Gaussian priors around the pooled fit.

    Where a slope would be smaller than LEAST_SLOPE of the pooled one, it is put there and its intercept is fitted
    again. This is the optimum under that bound because the problem is convex.
    """
    mean = np.stack([offset, np.full_like(offset, pooled_slope)])  # (2, q)
    tau = np.array([1 / INTERCEPT_SD**2, 1 / (SLOPE_SD * pooled_slope) ** 2])
    free = np.ones(mean.shape, dtype=bool)

    def derivatives(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(entries.spread(w[0]) + entries.spread(w[1]) * x)
        error, weight = p - entries.y, p * (1 - p)
        gradient = np.stack([entries.sums(error), entries.sums(error * x)]) + tau[:, None] * (w - mean)
        weight_x = weight * x
        h_ab = entries.sums(weight_x)
        curvature = np.array([[entries.sums(weight) + tau[0], h_ab], [h_ab, entries.sums(weight_x * x) + tau[1]]])
        return gradient, curvature

    w = newton(derivatives, mean, free)
    low = w[1] < LEAST_SLOPE * pooled_slope
    if low.any():
        w[1, low], free[1, low] = LEAST_SLOPE * pooled_slope, False
        w = newton(derivatives, w, free)
    return w[0], w[1]


def newton(
    derivatives: Callable[[FloatArray], tuple[FloatArray, FloatArray]], start: FloatArray, free: BoolArray
) -> FloatArray:
    """Minima (k, q) of q strictly convex functions of k numbers at once; where not `free`, numbers stay.

    `derivatives` gives gradients (k, q) and curvatures (k, k, q). A step that does not make its gradient shorter is
    halved, for along the Newton direction of a convex function a short enough one does.
    """
    base, scale = start.copy(), np.ones(start.shape[1])
    step, shortest = np.zeros_like(start), np.full(start.shape[1], np.inf)
    for _ in range(MAX_STEPS):
        gradient, curvature = derivatives(base - scale * step)
        gradient = np.where(free, gradient, 0.0)
        length = np.linalg.norm(gradient, axis=0)  # (q,)
        better = length < shortest
        base = np.where(better, base - scale * step, base)
        shortest = np.where(better, length, shortest)
        both_free = free[:, None] & free
        bordered = (
            np.where(both_free, curvature, 0.0) + np.where(free, 0.0, 1.0)[:, None] * np.eye(len(free))[:, :, None]
        )
        fresh = np.linalg.solve(np.moveaxis(bordered, 2, 0), gradient.T[:, :, None])[:, :, 0].T  # (k, q)
        step, scale = np.where(better, fresh, step), np.where(better, 1.0, scale / 2)
        if np.abs(scale * step).max(initial=0.0) <= CLOSE:
            break
    return base - scale * step


def f1_thresholds(probabilities: FloatArray, entries: Entries) -> FloatArray:
    """(q,) thresholds for F1 on left-out probabilities (N,), each label's curve drawn toward that of all labels.

    To each label's counts are added those of THRESHOLD_POSITIVES positives of the average label, so a label without
    positives gets the common threshold and one with many its own.
    """
    q, g = entries.counts.size, THRESHOLDS.size
    step = np.searchsorted(THRESHOLDS, probabilities, side="left")  # chosen at the thresholds before this one
    cell = entries.labels * (g + 1) + step
    chosen = _from_above(np.bincount(cell, minlength=q * (g + 1)), q)  # (q, g) entries above each threshold
    hits = _from_above(np.bincount(cell, weights=entries.y, minlength=q * (g + 1)), q)
    positives = entries.sums(entries.y)  # (q,)
    if not positives.any():
        return np.full(q, 0.5)
    pooled = THRESHOLD_POSITIVES / positives.sum()
    f1 = (
        2
        * (hits + pooled * hits.sum(axis=0))
        / (chosen + pooled * chosen.sum(axis=0) + positives[:, None] + THRESHOLD_POSITIVES)
    )
    return THRESHOLDS[np.argmax(f1, axis=1)]


def _from_above(counts: npt.NDArray[Any], n_labels: int) -> FloatArray:
    cells = counts.reshape(n_labels, -1)
    return np.cumsum(cells[:, ::-1], axis=1)[:, ::-1][:, 1:]
