"""The learning curve over people's time, fitted to F1 after parts of it, and the curves that may go on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelwise.campaign.estimates import MicroF1
from labelwise.records.learning_curve import CurvePoint, IntervalEstimate, LearningCurve

Floats = npt.NDArray[np.float64]

CURVE_SHARES = (1 / 6, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1.0)  # of the time so far, after which F1 is looked at
RATES = (0.1, 0.25, 0.5, 1.0, 1.5)  # how fast a curve may flatten out: its distance from the end falls as t**-rate
MIN_POINTS = 4  # that a forecast needs
KEPT_CURVES = 200  # of the probable ones


def fit_curve(
    seconds: float, at: Sequence[float], scores: Sequence[MicroF1], rng: np.random.Generator
) -> LearningCurve | None:
    """The curve through F1 at these times; None where no time was spent.

    Parameters
    ----------
    seconds : spent so far
    at : (p,) the seconds behind each score, rising
    scores : (p,) F1, each with the same bootstrap draws of the same items
    rng : draws the curves
    """
    if not (np.isfinite(seconds) and seconds > 0 and np.all(np.isfinite(at))):
        return None
    known = [(t, score) for t, score in zip(at, scores, strict=True) if t > 0 and score.value is not None]
    points = tuple(CurvePoint(float(t), *_rounded(score.estimate())) for t, score in known)
    t = np.array([t for t, _ in known])
    if np.unique(t).size < MIN_POINTS:
        return LearningCurve(seconds, points)
    f1 = np.array([score.value for _, score in known], dtype=np.float64)  # (p,)
    judged = np.stack([score.draws for _, score in known])  # (p, b)
    drawn = draw_curves(t / seconds, f1, judged - f1[:, None], KEPT_CURVES, rng)
    return LearningCurve(seconds, points, tuple((now, rise, rate) for now, rise, rate in drawn.round(5).tolist()))


def draw_curves(t: Floats, f1: Floats, deviations: Floats, n: int, rng: np.random.Generator) -> Floats:
    """(n, 3) now, rise and rate of curves that are probable, given F1 (p,) at times t (p,), now being t = 1.

    F1 = now + rise · (1 − t**−rate) is fitted for several rates, which are drawn by their evidence under a flat prior
    of the level, of the rise between first and last point, and of log σ. Two things make a curve uncertain. The points
    scatter about it: level and rise have a Student posterior. And the items that judge all points are a draw: a
    bootstrap draw of them moves all points together, by `deviations` (p, b).
    """
    fits = [_fit(t, f1, deviations, rate) for rate in RATES]
    evidence = np.array([fit.evidence for fit in fits])
    share = np.exp(evidence - evidence.max())
    freedom = t.size - 2
    rates = rng.choice(len(RATES), size=n, p=share / share.sum())
    items = rng.integers(deviations.shape[1], size=n)
    scale = np.sqrt(freedom / rng.chisquare(freedom, size=n))  # Student: a normal draw over a drawn scale
    noise = rng.standard_normal((n, 2)) * scale[:, None]
    solution, moved, factor = (np.stack([getattr(f, part) for f in fits]) for part in ("solution", "moved", "factor"))
    scattered = np.einsum("nij,nj->ni", factor[rates], noise)
    return np.column_stack([solution[rates] + moved[rates, :, items] + scattered, np.array(RATES)[rates]])


@dataclass(frozen=True, eq=False)
class _Fit:
    """Least squares for one rate: log evidence, (now, rise), its moves by each deviation (2, b), and L of L Lᵀ."""

    evidence: float
    solution: Floats  # (2,)
    moved: Floats  # (2, b)
    factor: Floats  # (2, 2) the covariance of a Student posterior is L Lᵀ


def _fit(t: Floats, f1: Floats, deviations: Floats, rate: float) -> _Fit:
    basis = np.column_stack([np.ones(t.size), 1 - t**-rate])  # (p, 2)
    span = t[-1] ** -rate - t[0] ** -rate  # negative: how far the second column goes from first to last point
    Q, R = np.linalg.qr(basis)
    projected = Q.T @ f1
    spread = max(float(f1 @ f1 - projected @ projected), 1e-10 * t.size)  # no scatter at all is still rounded
    freedom = t.size - 2
    R_inverse = np.linalg.inv(R)
    evidence = np.log(abs(span)) - np.log(np.abs(np.diag(R))).sum() - freedom / 2 * np.log(spread)
    factor = R_inverse * np.sqrt(spread / freedom)
    return _Fit(float(evidence), R_inverse @ projected, R_inverse @ (Q.T @ deviations), factor)


def _rounded(estimate: IntervalEstimate) -> tuple[float, float, float]:
    return round(estimate.value, 4), round(estimate.low, 4), round(estimate.high, 4)
