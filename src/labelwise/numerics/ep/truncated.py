"""Moments of a normal variable that is known to lie on one side of a limit, safe in both tails.

Let d ~ N(·, v) be cut at a limit that lies t standard deviations below its mean. With V = φ/Φ and W = V (V + t), the
mean moves up by √v V(t) and the variance shrinks to v (1 - W(t)); V' = -W and 0 < W < 1 (Herbrich, Minka & Graepel,
TrueSkill, NIPS 2006). 1 - W is computed on its own: far on the left it is 1/t², and 1 - V (V + t) has no digit of it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from scipy.special import erfcx

from labelwise.numerics.arrays import FloatArray

LEFT = -30.0  # below: asymptotic series
RIGHT = 25.0  # above: V and W are below 1e-135 and taken as zero
TABLE_RIGHT = 12.0  # the table ends where V is 2e-32
TABLE_STEPS = 96  # per unit of t: error below 2e-11


def v_and_w(t: npt.ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """V, W and 1 - W, each of the shape of t.

    >>> V, W, rest = v_and_w(np.array([-1e6, 0.0, 30.0]))
    >>> V.round(6).tolist(), W.round(6).tolist(), bool(rest[0] > 0)
    ([1000000.000001, 0.797885, 0.0], [1.0, 0.63662, 0.0], True)
    """
    t = np.asarray(t, dtype=np.float64)
    near = np.clip(t, LEFT, RIGHT)
    V = math.sqrt(2 / math.pi) / erfcx(-near / math.sqrt(2))
    W = V * (V + near)
    V_far, rest_far = _series(np.minimum(t, LEFT))
    V = np.where(t < LEFT, V_far, np.where(t > RIGHT, 0.0, V))
    rest = np.where(t < LEFT, rest_far, np.where(t > RIGHT, 1.0, 1 - W))
    return V, np.where(t < LEFT, 1 - rest_far, np.where(t > RIGHT, 0.0, W)), rest


@cache
def table() -> FloatArray:
    """(intervals, 8) cubic Hermite pieces of V and of 1 - W on [LEFT, TABLE_RIGHT], for `v_and_rest`; read only."""
    steps = round((TABLE_RIGHT - LEFT) * TABLE_STEPS)
    t = np.linspace(LEFT, TABLE_RIGHT, steps + 1)
    V, W, rest = v_and_w(t)
    slope = V * rest - W * (V + t)  # W'
    pieces = np.hstack([_hermite(V, -W / TABLE_STEPS), _hermite(rest, -slope / TABLE_STEPS)])
    pieces.setflags(write=False)
    return pieces


@numba.njit(nogil=True, error_model="numpy")
def v_and_rest(t: float, pieces: FloatArray) -> tuple[float, float]:
    """V and 1 - W of one number, from the table or, left of it, from the series. For use in compiled loops."""
    if t < LEFT:
        return _compiled_series(t)
    place = (min(t, TABLE_RIGHT - 1e-9) - LEFT) * TABLE_STEPS
    k = int(place)
    r = place - k
    V = pieces[k, 0] + r * (pieces[k, 1] + r * (pieces[k, 2] + r * pieces[k, 3]))
    rest = pieces[k, 4] + r * (pieces[k, 5] + r * (pieces[k, 6] + r * pieces[k, 7]))
    return V, rest


@numba.njit(nogil=True, error_model="numpy")
def noisy_moment(mean: float, variance: float, margin: float, flip: float, pieces: FloatArray) -> tuple[float, float]:
    """First derivative and minus the second of log[(1 - flip) P(d > margin) + flip P(d < -margin)] in the mean of d.

    The label-noise factor of section 6 of Zhang, Graepel & Herbrich (AISTATS 2010) with flip and 1 - flip put right:
    flip is the share of answers turned round. The second value may be negative. For use in compiled loops.
    """
    scale = math.sqrt(variance)
    right, wrong = (mean - margin) / scale, (-mean - margin) / scale
    V_right, V_wrong = v_and_rest(right, pieces)[0], v_and_rest(wrong, pieces)[0]
    odds = math.exp(math.log(flip / (1 - flip)) + log_ndtr(wrong, V_wrong) - log_ndtr(right, V_right))
    p = 1 / (1 + odds)
    G = (p * V_right - (1 - p) * V_wrong) / scale
    return G, G * G + (p * right * V_right + (1 - p) * wrong * V_wrong) / variance


@numba.njit(nogil=True, error_model="numpy")
def log_ndtr(t: float, V: float) -> float:
    """ln Φ(t), given V(t)."""
    if t > 0:
        return math.log1p(-0.5 * math.erfc(t / math.sqrt(2.0)))
    return -0.5 * t * t - 0.5 * math.log(2 * math.pi) - math.log(V)  # Φ = φ/V


def _series(t: Any) -> tuple[Any, Any]:
    """V and 1 - W far on the left: the continued fraction of φ/Φ expanded in w = 1/t², and its derivative."""
    w = 1 / (t * t)
    V = -t - (1 - w * (2 - w * (10 - w * (74 - w * 706)))) / t
    return V, w * (1 - w * (6 - w * (50 - w * (518 - w * 6354))))


_compiled_series = numba.njit(nogil=True, error_model="numpy")(_series)


def _hermite(value: FloatArray, step: FloatArray) -> FloatArray:
    """(intervals, 4) coefficients of the cubics through the values with the slopes (per interval) at both ends."""
    rise = np.diff(value)
    left, right = step[:-1], step[1:]
    return np.column_stack([value[:-1], left, 3 * rise - 2 * left - right, left + right - 2 * rise])
