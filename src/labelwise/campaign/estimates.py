"""Figures with intervals: F1 by a bootstrap of the items, base rates, calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.stats import beta

from labelwise.records.learning_curve import LEVEL, IntervalEstimate, with_interval

Bools = npt.NDArray[np.bool_]

DRAWS = 500  # bootstrap draws of the items
CALIBRATION_BINS = 10


@dataclass(frozen=True, eq=False)
class MicroF1:
    """Micro-F1 of predictions, None where there is nothing to count, and of each bootstrap draw of the items.

    >>> Y = np.array([[True, False], [True, True]])
    >>> MicroF1.of(Y, np.ones((2, 2), dtype=bool), Y, draw_items(2, np.random.default_rng(0))).estimate()
    IntervalEstimate(value=1.0, low=1.0, high=1.0)
    """

    value: float | None
    draws: npt.NDArray[np.float64]

    @classmethod
    def of(cls, Y: Bools, known: Bools, predicted: Bools, draws: npt.NDArray[np.int64]) -> MicroF1:
        """On what is `known` (n, q), with items as often as in each of the draws (b, n)."""
        hits = (Y & predicted & known).sum(1)  # (n,)
        sizes = ((Y & known).sum(1) + (predicted & known).sum(1)).astype(np.float64)  # 2 tp + fp + fn
        below = draws @ sizes
        scores = np.divide(2 * (draws @ hits), below, out=np.zeros(len(draws)), where=below > 0)
        return cls(float(2 * hits.sum() / sizes.sum()) if sizes.any() else None, scores)

    def estimate(self) -> IntervalEstimate:
        return with_interval(self.value or 0.0, self.draws)

    def above(self, other: MicroF1) -> IntervalEstimate:
        return with_interval((self.value or 0.0) - (other.value or 0.0), self.draws - other.draws)


def draw_items(n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """(draws, n) how often each item is drawn by a bootstrap."""
    return rng.multinomial(n, np.full(n, 1 / n), size=DRAWS)


def base_rate(yes: int, no: int) -> dict[str, float]:
    """Share of yes with its interval: the posterior of a Jeffreys prior.

    >>> base_rate(5, 5)["rate"]
    0.5
    """
    low, high = beta.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2], yes + 0.5, no + 0.5)
    return {"rate": (yes + 0.5) / (yes + no + 1), "low": float(low), "high": float(high)}


@dataclass(frozen=True)
class OpinionQuality:
    """What a source of opinions is worth, judged by the answers of the random share, which are given blind.

    Attributes
    ----------
    name : of the source
    coverage : share of the items of the pool that it says anything of
    items, said_yes, present : int
        The basis: items judged by, labels of theirs that it says yes to, and labels they have that it speaks of.
    precision, recall : IntervalEstimate or None
        Share of the labels it says yes to that are there; share of the labels that are there that it says yes to, of
        those it speaks of. With 90 % intervals; None where there is nothing to count.
    """

    name: str
    coverage: float
    items: int
    said_yes: int
    present: int
    precision: IntervalEstimate | None
    recall: IntervalEstimate | None

    @classmethod
    def of(cls, name: str, said: sp.csr_array, items: npt.NDArray[np.intp], Y: Bools, known: Bools) -> OpinionQuality:
        """From what is `said` (n, q) of the pool, above 0 yes and below no, and answers about some items (m, q)."""
        opinion = said[items].toarray()
        yes, there, spoken = (opinion > 0) & known, Y & known & (opinion != 0), (opinion != 0) & known
        hits = (yes & there).sum(axis=1)
        coverage = float((np.diff(said.indptr) > 0).mean()) if said.shape[0] else 0.0
        counts = (int(spoken.any(axis=1).sum()), int(yes.sum()), int(there.sum()))
        return cls(
            name, coverage, *counts, share_of_items(hits, yes.sum(axis=1)), share_of_items(hits, there.sum(axis=1))
        )


def share_of_items(hits: npt.NDArray[Any], of: npt.NDArray[Any]) -> IntervalEstimate | None:
    """Σ hits / Σ of over items (n,), with an interval that knows that labels of one item go together.

    The variance of the ratio is that of items drawn at random (Cochran 1977, section 6.3). So many independent labels
    would have the same. With them it is the posterior of a Jeffreys prior (Korn and Graubard 1998 use the same number
    with Clopper and Pearson's interval). None where there is nothing to count.

    >>> share_of_items(np.array([1, 0, 1, 1]), np.array([1, 1, 1, 1]))
    IntervalEstimate(value=0.75, low=0.2972, high=0.9639)
    """
    total = float(of.sum())
    if total == 0:
        return None
    share, n = float(hits.sum()) / total, int((of > 0).sum())
    binomial = share * (1 - share) / total
    variance = n / max(n - 1, 1) * float(((hits - share * of) ** 2).sum()) / total**2
    size = total if binomial == 0 else min(total, total * binomial / max(variance, 1e-12))
    low, high = beta.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2], share * size + 0.5, (1 - share) * size + 0.5)
    return IntervalEstimate(round(share, 4), round(float(min(low, share)), 4), round(float(max(high, share)), 4))


def calibration(Y: Bools, known: Bools, p: npt.NDArray[np.float64]) -> dict[str, Any]:
    """How often labels are there among those believed so likely: ten bins of the probability, on what is known.

    The error is the expected calibration error: the mean distance of belief and share, by the number in each bin.

    >>> calibration(np.array([[True, False]]), np.ones((1, 2), dtype=bool), np.array([[0.9, 0.2]]))["error"]
    0.15
    """
    believed, said = p[known], Y[known]
    place = np.minimum((believed * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    bins = []
    for number in np.unique(place).tolist():
        inside = place == number
        yes = int(said[inside].sum())
        rate = base_rate(yes, int(inside.sum()) - yes)
        share = yes / int(inside.sum())
        figures = {"believed": float(believed[inside].mean()), "share": share}
        figures |= {"low": min(rate["low"], share), "high": max(rate["high"], share)}
        bins.append({"entries": int(inside.sum()), **{key: round(value, 4) for key, value in figures.items()}})
    total = max(known.sum(), 1)
    error = sum(each["entries"] * abs(each["believed"] - each["share"]) for each in bins) / total
    return {"bins": bins, "error": round(float(error), 4)}
