"""Expectation propagation on the factor graphs of one example, in plain float64: what the compiled kernels must equal.

Scores f_c ~ N(m_c, u_c) are compared with one another or with a bias, and every comparison is a hard factor
I(difference > margin) (Zhang, Graepel & Herbrich, AISTATS 2010, figures 1-3, with the signs of its section 2 put right:
the true class has to win). Each function returns what the label factors say about the scores: the gain g and shrink h
with which every weight below moves, mean += variance x g and variance -= (variance x)² h.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.gaussians import Gaussian
from labelwise.numerics.truncated import noisy_moments, v_and_w

FloatArray = npt.NDArray[np.floating[Any]]
SMALLEST_PRECISION = 1e-12  # a noise factor may take precision away; nothing is divided by less than this


@dataclass(frozen=True)
class Stop:
    """When to stop exchanging messages: mean (in standard deviations) and variance move by less than the tolerance."""

    tolerance: float = 1e-3
    max_sweeps: int = 30

    def reached(self, before: Gaussian, after: Gaussian) -> bool:
        moved = np.abs(after.mean - before.mean) * np.sqrt(after.precision)
        scaled = np.abs(before.precision / after.precision - 1)
        return bool(np.max(moved, initial=0) < self.tolerance and np.max(scaled, initial=0) < self.tolerance)


@dataclass(frozen=True, eq=False)
class Absorbed:
    """What one example says about its scores, and the hub (the bias) after it where there is one."""

    gain: FloatArray  # (q,) d log Z / d m
    shrink: FloatArray  # (q,) -d² log Z / d m²
    hub: Gaussian | None
    sweeps: int


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Factors sign (f - b) > margin, one per label, seen from b. Sign 0 is a label without an answer: no factor.

    With `flip` > 0 an answer is turned round with that probability.
    """

    mean: FloatArray  # (q,) of the scores
    variance: FloatArray
    sign: FloatArray
    margin: FloatArray
    flip: float = 0.0

    def __getitem__(self, group: Any) -> Comparisons:
        return Comparisons(self.mean[group], self.variance[group], self.sign[group], self.margin[group], self.flip)

    def derivatives(self, cavity: Gaussian) -> tuple[FloatArray, FloatArray]:
        """Gain and shrink of every score, given what the others say of b."""
        v = self.variance + cavity.variance
        difference = self.sign * (self.mean - cavity.mean)
        if self.flip > 0:
            G, H = noisy_moments(difference, v, self.margin, self.flip)
        else:
            V, W, _ = v_and_w((difference - self.margin) / np.sqrt(v))
            G, H = V / np.sqrt(v), W / v
        usable = (self.sign != 0) & (cavity.precision > SMALLEST_PRECISION)
        return np.where(usable, self.sign * G, 0.0), np.where(usable, H, 0.0)

    def messages(self, cavity: Gaussian) -> Gaussian:
        """What every factor tells b: λ = h/(1 - S h), which without noise is W/(u + S (1 - W)) and does not cancel."""
        gain, shrink = self.derivatives(cavity)
        S, M = cavity.variance, cavity.mean
        if self.flip > 0:
            left = 1 - S * shrink
            gain = np.where(left > SMALLEST_PRECISION, gain, 0.0)
            precision = np.where(left > SMALLEST_PRECISION, shrink, 0.0) / np.maximum(left, SMALLEST_PRECISION)
        else:
            t = (self.sign * (self.mean - M) - self.margin) / np.sqrt(self.variance + S)
            _, W, rest = v_and_w(t)
            precision = np.where(self.sign != 0, W, 0.0) / (self.variance + S * rest)
        return Gaussian(precision, M * precision - gain * (1 + precision * S))


def star(hub: Gaussian, labels: Comparisons, stop: Stop | None = None, schedule: str = "parallel") -> Absorbed:
    """Every score against one shared bias (figure 3).

    The schedule is "parallel" (all labels hear the same bias, then it is refreshed) or "sequential" (refreshed after
    each label); the fixed point is the same, and parallel is what vectorises.
    """
    stop = stop or Stop()
    everyone = np.arange(labels.mean.size)
    groups = [everyone] if schedule == "parallel" else list(everyone[:, None])
    sites = Gaussian.flat(labels.mean.size)
    marginal, sweeps = hub, 0
    while sweeps < stop.max_sweeps:
        before = marginal
        for group in groups:
            cavity = marginal / sites[group]
            sites = _replace(sites, group, labels[group].messages(cavity))
            marginal = hub * sites.product()
        sweeps += 1
        if sweeps > 1 and stop.reached(before, marginal):
            break
    gain, shrink = labels.derivatives(marginal / sites)
    return Absorbed(gain, shrink, marginal, sweeps)


def independent(labels: Comparisons) -> Absorbed:
    """Every score against zero: nothing to exchange, the moments are exact."""
    zero = Gaussian(np.full(labels.mean.size, np.inf), np.zeros(labels.mean.size))
    return Absorbed(*labels.derivatives(zero), None, 0)


def multi_class(
    mean: FloatArray, variance: FloatArray, sign: FloatArray, margin: float, stop: Stop | None = None
) -> Absorbed:
    """The score of the one label with sign +1 beats all with sign -1: a star whose hub is that score (figure 1)."""
    (label,) = np.flatnonzero(sign > 0)
    hub = Gaussian.from_moments(mean[label], variance[label])
    others = np.where(sign > 0, 0.0, sign)
    done = star(hub, Comparisons(mean, variance, others, np.full(mean.size, margin)), stop)
    assert done.hub is not None
    done.gain[label] = (done.hub.mean - mean[label]) / variance[label]
    done.shrink[label] = (variance[label] - done.hub.variance) / variance[label] ** 2
    return done


def pairwise(
    mean: FloatArray, variance: FloatArray, sign: FloatArray, margin: float, stop: Stop | None = None
) -> Absorbed:
    """Every relevant score beats every irrelevant one (figure 2). The graph has loops: a little less exact."""
    stop = stop or Stop()
    pairs = [(r, k) for r in np.flatnonzero(sign > 0) for k in np.flatnonzero(sign < 0)]
    marginal = Gaussian.from_moments(mean, variance)
    sites = Gaussian.flat(len(pairs), 2)
    sweeps = 0
    while sweeps < stop.max_sweeps:
        before = marginal
        for number, pair in enumerate(pairs):
            both = np.array(pair)
            cavity = marginal[both] / sites[number]
            site = _beats(cavity, margin)
            marginal = _replace(marginal, both, cavity * site)
            sites = _replace(sites, number, site)
        sweeps += 1
        if sweeps > 1 and stop.reached(before, marginal):
            break
    return Absorbed((marginal.mean - mean) / variance, (variance - marginal.variance) / variance**2, None, sweeps)


def _beats(cavity: Gaussian, margin: float) -> Gaussian:
    """Messages of I(f_0 - f_1 > margin) to both scores, from their two cavities."""
    S, M = cavity.variance, cavity.mean
    V, W, rest = v_and_w((M[0] - M[1] - margin) / np.sqrt(S.sum()))
    precision = W / (S[::-1] + S * rest)
    gain = np.array([1.0, -1.0]) * V / np.sqrt(S.sum())
    return Gaussian(precision, M * precision + gain * (1 + precision * S))


def _replace(messages: Gaussian, index: Any, new: Gaussian) -> Gaussian:
    precision, shift = messages.precision.copy(), messages.shift.copy()
    precision[index], shift[index] = new.precision, new.shift
    return Gaussian(precision, shift)
