"""Labels that a person forgot to pick: how often that happens, and which ones are worth asking about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from labelwise.numerics.arrays import FloatArray

USUAL_MISS_RATE = 0.2  # of the labels that are there, those that picking misses; see docs/costs.md
PRIOR_WEIGHT = 5.0  # labels that a rate counts for where nothing was checked
MOST_VERIFIED = 5  # labels of one item that are asked about
MIN_CHANCE = 0.003  # that a label which is asked about is there
LEVEL = 0.9  # of intervals


@dataclass(frozen=True, eq=False)
class PickCounts:
    """Labels that are there, of items that were checked after picking: those picked, and those missed, by label.

    A label was missed where it was not picked, and the person said yes to it when asked or corrected the answer, or
    others say that it is there. What nobody looked for is not counted, so the true rate may be higher.

    Parameters
    ----------
    missed, found : (q,) or (people, q)

    Examples
    --------
    >>> counts = PickCounts(np.array([0, 8]), np.array([20, 12]))
    >>> [f"{value:.2f}" for value in counts.overall()]
    ['0.20', '0.11', '0.30']
    >>> counts.by_label().round(2)
    array([0.04, 0.36])
    """

    missed: npt.NDArray[np.intp]
    found: npt.NDArray[np.intp]

    def overall(self) -> tuple[float, float, float]:
        """Miss rate over all labels and people, with its interval: a Beta posterior."""
        return _beta_summary(self.missed.sum(), self.found.sum(), USUAL_MISS_RATE)

    def by_person(self) -> list[tuple[float, float, float]]:
        """The same of each person, close to that of all while little of theirs was checked."""
        counts = zip(self.missed.sum(axis=1), self.found.sum(axis=1), strict=True)
        return [_beta_summary(missed, found, self.overall()[0]) for missed, found in counts]

    def by_label(self) -> FloatArray:
        """(q,) or (people, q) miss rate of each label, close to that of all labels while little of it was checked."""
        prior = self.overall()[0] if self.missed.ndim == 1 else np.array(self.by_person()).reshape(-1, 3)[:, :1]
        return (PRIOR_WEIGHT * prior + self.missed) / (PRIOR_WEIGHT + self.missed + self.found)


def _beta_summary(missed: int, found: int, prior: float) -> tuple[float, float, float]:
    a, b = PRIOR_WEIGHT * prior + missed, PRIOR_WEIGHT * (1 - prior) + found
    low, high = betaincinv(a, b, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(a / (a + b)), float(low), float(high)


def worth_verifying(
    p: FloatArray, miss_rate: float | FloatArray = USUAL_MISS_RATE, base_rate: float | FloatArray = 1.0
) -> npt.NDArray[np.intp]:
    """Labels of one item to ask about if they are not picked, those that bring most first.

    A label that was believed with probability p and was not picked is there with the chance
    p · miss / (p · miss + 1 − p). The chance is divided by √(base rate), because one more example helps a rare label
    more. A label with a chance below 3 in 1000 is not asked about, and never every label. NaN is not believed.

    Parameters
    ----------
    p : (q,) probability of each label before the item was answered
    miss_rate : probability that a label which is there is not picked, one or (q,)
    base_rate : share of the items that have the label, one or (q,)

    Examples
    --------
    >>> p = np.array([0.1, 0.9, 0.5, np.nan])
    >>> worth_verifying(p)
    array([1, 2, 0])
    >>> worth_verifying(p, base_rate=np.array([0.0001, 0.5, 0.5, 0.5]))  # a rare label comes first
    array([0, 1, 2])
    >>> worth_verifying(p, miss_rate=0.0001)  # nobody forgets anything
    array([], dtype=int64)
    """
    p = np.nan_to_num(np.asarray(p, dtype=np.float64), nan=0.0)
    hidden = p * miss_rate
    chance = np.divide(hidden, hidden + 1 - p, out=np.zeros_like(hidden), where=hidden + 1 > p)
    order = np.argsort(-chance / np.sqrt(base_rate), kind="stable")
    return order[chance[order] >= MIN_CHANCE][: max(p.size - 1, 0)]
