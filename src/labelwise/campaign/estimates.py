"""Figures with intervals: F1 by a bootstrap of the items, base rates, calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
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
