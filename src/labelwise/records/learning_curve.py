"""The record of what people's time buys: F1 over seconds, the time to a goal, and what the next hour brings.

A campaign makes it (`labelwise.campaign.standing`); page, command and report read it, and need no model for that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelwise.records.asking import RISK, check_goals

Floats = npt.NDArray[np.float64]

HOUR = 3600.0
LEVEL = 0.9  # of intervals
FARTHEST = 10.0  # times the time so far: no curve is carried on beyond that


@dataclass(frozen=True)
class IntervalEstimate:
    """A figure and the interval that holds it nine times in ten."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


def with_interval(value: float, draws: npt.NDArray[np.float64]) -> IntervalEstimate:
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return IntervalEstimate(float(value), float(low), float(high))


@dataclass(frozen=True)
class CurvePoint:
    """F1 after so many seconds of people's time, with its interval."""

    seconds: float
    f1: float
    low: float
    high: float


@dataclass(frozen=True)
class Outlook:
    """What more time is expected to bring.

    Attributes
    ----------
    seconds : float
        Spent so far.
    next_hour : IntervalEstimate or None
        Gain in F1 of one more hour; None where an hour is too far ahead of what was seen.
    target_f1, worth_an_hour : float or None
        What the user asked for: an F1 to reach, and the gain in F1 that makes an hour worth its time.
    to_target : IntervalEstimate or None
        Seconds more until F1 is `target_f1`: 0 where it is there, infinite where that takes more than ten times the
        time so far, or never comes. None without a target.
    pays : float or None
        Probability that more time brings at least what it costs, by `LearningCurve.pays`. None without `worth_an_hour`.
    risk : float
        The advice is to stop where `pays` is smaller.

    Examples
    --------
    >>> curve = LearningCurve(3600.0, curves=((0.7, 0.2, 0.5), (0.7, 0.2, 1.0), (0.7, 0.3, 1.0)))
    >>> print(curve.outlook(worth_an_hour=0.25, risk=0.5).advice)  # doctest: +ELLIPSIS
    stop: more time is worth it with a probability of 33 %, less than the risk of 50 %; the next hour is expected ...
    """

    seconds: float
    next_hour: IntervalEstimate | None
    target_f1: float | None = None
    to_target: IntervalEstimate | None = None
    worth_an_hour: float | None = None
    pays: float | None = None
    risk: float = RISK

    @property
    def stop(self) -> bool:
        """Whether to stop: more time is worth it with a probability below the risk. False while that is not known."""
        return self.pays is not None and self.pays < self.risk

    @property
    def advice(self) -> str | None:
        """Whether to go on, and why; None where nobody said what an hour is worth, or nothing is known."""
        if self.pays is None:
            return None
        said = f"more time is worth it with a probability of {100 * self.pays:.0f} %"
        said = f"stop: {said}, less than the risk of {100 * self.risk:g} %" if self.stop else f"go on: {said}"
        if self.next_hour is None:
            return said
        gain = self.next_hour
        said += f"; the next hour is expected to bring {_points(gain.value)} points of F1"
        return said + f" ({_points(gain.low)} to {_points(gain.high)})"


@dataclass(frozen=True)
class LearningCurve:
    """F1 over seconds of people's time, and curves that may go on from there.

    Every point is judged on the same random items, by models that learnt from a first part of the other answers. The
    curves are F1 = now + rise · (1 − (t / seconds)**−rate), t being the time spent then.

    Attributes
    ----------
    seconds : float
        Spent so far. The last point is a little earlier: the items that judge a model are not learnt from.
    points : tuple of CurvePoint
    curves : tuple of (now, rise, rate)
        Drawn from those that are probable given the points; empty where the points are too few.

    Examples
    --------
    >>> curve = LearningCurve(3600.0, curves=((0.7, 0.2, 0.5), (0.7, 0.2, 1.0), (0.7, 0.3, 1.0)))
    >>> print(curve.gain(3600.0))  # of another hour
    0.100 (0.063 to 0.145)
    >>> round(curve.time_to(0.8).value / 60)  # minutes
    60
    """

    seconds: float
    points: tuple[CurvePoint, ...] = ()
    curves: tuple[tuple[float, float, float], ...] = ()

    def at(self, seconds: npt.ArrayLike) -> Floats:
        """(s, ...) F1 by each of the curves after so much time in all."""
        now, rise, rate = np.array(self.curves, dtype=np.float64).reshape(-1, 3).T  # (s,) each
        t = np.asarray(seconds, dtype=np.float64)[None] / self.seconds
        shape = (-1, *(1,) * (t.ndim - 1))
        with np.errstate(divide="ignore"):
            f1 = now.reshape(shape) + rise.reshape(shape) * (1 - t ** -rate.reshape(shape))
        return np.clip(f1, 0.0, 1.0)

    def gain(self, seconds: float = HOUR) -> IntervalEstimate | None:
        """What so much more time adds to F1; None where that is too far ahead of the points, or they are too few."""
        if not self.curves or self.seconds + seconds > FARTHEST * self.seconds:
            return None
        gains = self.at(self.seconds + seconds) - self.at(self.seconds)
        return with_interval(float(np.median(gains)), gains)

    def time_to(self, f1: float) -> IntervalEstimate | None:
        """Seconds more until F1 is this high: 0 where it is there, infinite beyond ten times the time so far."""
        if not self.curves:
            return None
        now, rise, rate = np.array(self.curves).T
        left = 1 - (f1 - now) / np.where(rise > 0, rise, np.nan)  # t**-rate when it is reached; 0 or less: never
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = np.where(left > 0, left ** (-1 / rate), np.inf)
        t = np.where(now >= f1, 1.0, np.where(t > 1, t, np.inf))
        more = self.seconds * (np.where(t <= FARTHEST, t, np.inf) - 1)
        value, low, high = np.quantile(more, [0.5, (1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
        return IntervalEstimate(float(value), float(low), float(high))

    def pays(self, worth_an_hour: float) -> float | None:
        """Probability that more time brings at least what it costs: the stopping rule. None where points are too few.

        Of the curves that do not fall, it is the share that now rises by `worth_an_hour` (F1) an hour or more. All of
        them flatten out: one that is flatter is not worth a longer time either, and a steeper one is worth some. Curves
        fall by noise alone, since more answers do not make a model worse.

        >>> curve = LearningCurve(3600.0, curves=((0.7, 0.2, 0.5), (0.7, 0.2, 1.0), (0.7, 0.3, 1.0)))
        >>> [curve.pays(worth) for worth in (0.05, 0.1, 0.3, 0.31)]
        [1.0, 1.0, 0.3333333333333333, 0.0]
        """
        if not self.curves:
            return None
        _, rise, rate = np.array(self.curves).T
        slopes = (rise * rate)[rise >= 0] * (HOUR / self.seconds)  # of F1 an hour
        return float(np.mean(slopes >= worth_an_hour)) if slopes.size else 0.0

    def outlook(
        self, target_f1: float | None = None, worth_an_hour: float | None = None, risk: float = RISK
    ) -> Outlook:
        """What more time brings, for these goals, and whether it is worth it at this risk of stopping too soon."""
        check_goals(target_f1, worth_an_hour, risk)
        to_target = None if target_f1 is None else self.time_to(target_f1)
        pays = None if worth_an_hour is None else self.pays(worth_an_hour)
        return Outlook(self.seconds, self.gain(), target_f1, to_target, worth_an_hour, pays, risk)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        points = [[point.seconds, point.f1, point.low, point.high] for point in self.points]
        return {"seconds": self.seconds, "points": points, "curves": [list(curve) for curve in self.curves]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The curve that `as_dict` was of."""
        points = tuple(CurvePoint(*point) for point in values["points"])
        return cls(values["seconds"], points, tuple((now, rise, rate) for now, rise, rate in values["curves"]))


def _points(gain: float) -> str:
    return f"{100 * gain:+.1f}"
