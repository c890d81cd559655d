"""What more answers are expected to bring: the learning curve on the random share, carried on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import t as student

RATES = (0.25, 0.5, 0.75, 1.0, 1.5)  # how fast a curve may flatten out: its distance from the end falls as n**-rate
POINTS = 24  # of the course, evenly spread in log n: neighbouring trainings tell nearly the same
FEWEST = 5  # points that a forecast needs
LEVEL = 0.9  # of intervals

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Forecast:
    """The gain in F1 that so many more answers are expected to bring, with its interval."""

    answers: int
    gain: float
    low: float
    high: float


def forecast_gain(course: Sequence[Mapping[str, Any]], ahead: int = 100) -> Forecast | None:
    """Fit F1 = a − b·n**−rate for several rates, weigh them by their evidence, and read off the gain.

    With a flat prior on a, b and log σ, b has a Student posterior for each rate; the forecast is their mixture. The
    scatter of the curve about the fit is what the interval comes from: an error of the level, which all points share,
    does not move a difference. Points count by the items asked at random behind them. None where there are too few.

    Parameters
    ----------
    course : points with "answers", "f1" and "items" (asked at random), oldest first
    ahead : answers to look ahead

    Examples
    --------
    >>> course = [{"answers": n, "f1": 0.8 - 0.5 * n**-0.5, "items": 50} for n in range(4, 200, 7)]
    >>> forecast = forecast_gain(course, 100)
    >>> round(forecast.gain, 3) == round(0.5 * (193**-0.5 - 293**-0.5), 3)
    True
    """
    n, f1, weight = _thinned(course)
    if n.size < FEWEST:
        return None
    parts = [_fit(n, f1, weight, rate, ahead) for rate in RATES]
    evidence = np.array([part[0] for part in parts])
    share = np.exp(evidence - evidence.max())
    share /= share.sum()
    mean, scale = np.array([part[1] for part in parts]), np.array([part[2] for part in parts])
    low, high = (_quantile(level, share, mean, scale, n.size - 2) for level in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    most = 1 - f1[-1]
    gain, low, high = (float(np.clip(value, -f1[-1], most)) for value in (share @ mean, low, high))
    return Forecast(ahead, gain, low, high)


def _thinned(course: Sequence[Mapping[str, Any]]) -> tuple[Floats, Floats, Floats]:
    """Answers, F1 and weight of at most POINTS points, the last among them; the later of two with as many answers."""
    latest = {point["answers"]: point for point in course if point.get("f1") is not None and point["answers"] > 0}
    n = np.array(sorted(latest), dtype=np.float64)
    if n.size > POINTS:
        wanted = np.geomspace(n[0], n[-1], POINTS)
        n = np.unique(n[np.abs(np.log(n)[:, None] - np.log(wanted)).argmin(0)])
    points = [latest[int(number)] for number in n]
    f1 = np.array([point["f1"] for point in points], dtype=np.float64)
    return n, f1, np.array([max(point.get("items", 1), 1) for point in points], dtype=np.float64)


def _fit(n: Floats, f1: Floats, weight: Floats, rate: float, ahead: int) -> tuple[float, float, float]:
    """Log evidence of a rate, and centre and scale of the Student posterior of the gain."""
    span = n[0] ** -rate - n[-1] ** -rate
    basis = np.column_stack([np.ones(n.size), -(n**-rate - n[-1] ** -rate) / span])  # b is then the rise so far
    root = np.sqrt(weight / weight.mean())[:, None]
    Q, R = np.linalg.qr(basis * root)
    projected = Q.T @ (f1 * root[:, 0])
    b = np.linalg.solve(R, projected)[1]
    spread = float(((f1 * root[:, 0]) @ (f1 * root[:, 0])) - projected @ projected)
    freedom = n.size - 2
    spread = max(spread, 1e-10 * n.size)  # a curve without any scatter is still rounded
    variance = spread / freedom / R[1, 1] ** 2
    evidence = -np.log(np.abs(np.diag(R))).sum() - freedom / 2 * np.log(spread)
    step = (n[-1] ** -rate - (n[-1] + ahead) ** -rate) / span
    return float(evidence), float(b * step), float(np.sqrt(variance) * step)


def _quantile(level: float, share: Floats, mean: Floats, scale: Floats, freedom: int) -> float:
    """Of a mixture of Student distributions."""
    ends = student.ppf([0.001, 0.999], freedom)
    low, high = float((mean + ends[0] * scale).min()), float((mean + ends[1] * scale).max())
    return float(brentq(lambda x: share @ student.cdf((x - mean) / scale, freedom) - level, low, high))
