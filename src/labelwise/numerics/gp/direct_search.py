"""Minima of a smooth function of a few numbers: with gradients, or by values alone.

`lbfgs` and `gradient_descent` need gradients; `simplex` (Nelder–Mead, the paper's S-OPT) and `bayesian` (expected
improvement on a grid, its B-OPT) need values only. All of them minimise and return the best point they have seen.
Equation numbers are those of docs/mathematics/orthogonal_target_gp.md.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.linear_algebra import solve_lower

Value = Callable[[FloatArray], float]
ValueAndGradient = Callable[[FloatArray], tuple[float, FloatArray]]
Acquisition = Literal["ei", "truncated_ei", "clipped_ucb"]

FIRST_EDGE = 0.7  # of the first simplex, in logs
REACH = 2.3  # half the width of the grid: a factor of ten either way
WIDTHS = (1.0, 0.5, 0.25)  # of the grids that follow one another, relative to the first
SAME_POINT = 1e-6  # distance below which two points are one
CUT = 1.96  # standard deviations in the truncated forms: 95 %
LENGTH, JITTER = 0.8, 1e-4  # of the surrogate on the unit cube
CANDIDATES = 4096  # grid points whose acquisition is computed; all of them in up to five dimensions
FAILURE = 1e10  # stands for a value that is not finite


class Minimum(NamedTuple):
    """Where, how low, and after how many evaluations."""

    point: FloatArray
    value: float
    n_evaluations: int


class _Counted:
    """Remembers the best point, and turns what is not finite into a large number."""

    def __init__(self, function: Callable[[FloatArray], Any]) -> None:
        self.function, self.n, self.best, self.value = function, 0, np.empty(0), np.inf

    def _keep(self, point: FloatArray, value: float) -> float:
        self.n += 1
        if value < self.value or self.n == 1:
            self.best, self.value = np.array(point, dtype=float), value
        return value if np.isfinite(value) else FAILURE

    def alone(self, point: FloatArray) -> float:
        return self._keep(point, float(self.function(point)))

    def with_gradient(self, point: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.function(point)
        return self._keep(point, float(value)), gradient

    def minimum(self) -> Minimum:
        return Minimum(self.best, self.value, self.n)


def lbfgs(function: ValueAndGradient, start: FloatArray, *, reach: float = 12.0, max_steps: int = 60) -> Minimum:
    """Limited-memory BFGS inside start ± `reach`.

    >>> lbfgs(lambda x: (float(x @ x), 2 * x), np.array([1.0, -2.0])).point.round(6) + 0.0
    array([0., 0.])
    """
    counted = _Counted(function)
    bounds = [(x - reach, x + reach) for x in start]
    options = {"maxiter": max_steps, "ftol": 1e-9, "gtol": 1e-4}
    minimize(counted.with_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return counted.minimum()


def simplex(function: Value, start: FloatArray, *, max_evaluations: int = 120, tolerance: float = 1e-3) -> Minimum:
    """Nelder–Mead with reflection, expansion, contraction and shrinking (factors 1, 2, ½, ½).

    It stops when the values at the corners differ by less than `tolerance`, absolutely: a relative one stops at once
    on a likelihood that is summed over many targets.
    """
    counted = _Counted(function)
    corners = np.vstack([start, start + FIRST_EDGE * np.eye(start.size)])
    options = {
        "initial_simplex": corners,
        "maxfev": max_evaluations,
        "fatol": tolerance,
        "xatol": np.inf,
        "adaptive": False,
    }
    minimize(counted.alone, start, method="Nelder-Mead", options=options)
    return counted.minimum()


def gradient_descent(
    function: ValueAndGradient,
    start: FloatArray,
    rng: np.random.Generator,
    *,
    restarts: int = 0,
    max_steps: int = 100,
    tolerance: float = 1e-4,
) -> Minimum:
    """Steps of adaptive length along the normalised gradient, ×1.2 after a success and ×½ after a failure.

    `restarts` more runs begin at random points around the start, as a function with several minima asks for.
    """
    counted = _Counted(function)
    starts = [start, *(start + rng.standard_normal(start.size) for _ in range(restarts))]
    for point in starts:
        _descend(counted, point, max_steps, tolerance)
    return counted.minimum()


def _descend(counted: _Counted, point: FloatArray, max_steps: int, tolerance: float) -> None:
    step = 0.1
    value, gradient = counted.with_gradient(point)
    for _ in range(max_steps):
        trial = point - step * gradient / max(1.0, float(np.linalg.norm(gradient)))
        trial_value, trial_gradient = counted.with_gradient(trial)
        if trial_value < value:
            point, value, gradient, step = trial, trial_value, trial_gradient, 1.2 * step
        else:
            step *= 0.5
        if step < tolerance:
            return


def bayesian(
    function: Value,
    start: FloatArray,
    rng: np.random.Generator,
    *,
    acquisition: Acquisition = "ei",
    n_steps: int = 24,
    n_starts: int = 6,
    per_axis: int = 5,
) -> Minimum:
    """Expected improvement on the grid start ± REACH, `per_axis` values on each axis, by a Gaussian process surrogate.

    A third of the steps is for this grid, a third each for grids half and a quarter as wide around the best point so
    far: the lowest point of the first alone is far from the minimum. No point is evaluated twice: where a grid has
    nothing left, the next one follows.
    """
    levels = np.linspace(-REACH, REACH, per_axis)
    grid = np.array(list(product(levels, repeat=start.size)))  # (g, d)
    if len(grid) > CANDIDATES:
        grid = grid[np.sort(rng.permutation(len(grid))[:CANDIDATES])]
    others = grid[np.any(grid != 0, axis=1)]  # the start itself is tried in any case
    offsets = np.vstack([np.zeros(start.size), others[rng.permutation(len(others))[: n_starts - 1]]])
    counted = _Counted(function)
    values = [counted.alone(start + offset) for offset in offsets]
    for width, n_here in zip(WIDTHS, _in_parts(n_steps, len(WIDTHS)), strict=True):
        centre = offsets[int(np.argmin(values))] if width < 1 else np.zeros(start.size)
        left = centre + width * grid
        left = left[cdist(left, offsets).min(axis=1) > SAME_POINT]
        for _ in range(min(n_here, len(left))):
            gain = improvement(*_surrogate(_on_cube(offsets), np.array(values), _on_cube(left)), acquisition)
            pick = int(np.argmax(gain))
            values.append(counted.alone(start + left[pick]))
            offsets, left = np.vstack([offsets, left[pick]]), np.delete(left, pick, axis=0)
    return counted.minimum()


def _in_parts(n: int, parts: int) -> list[int]:
    """n as a sum of so many numbers, the first ones larger where they differ."""
    return [n // parts + (part < n % parts) for part in range(parts)]


def _on_cube(offsets: FloatArray) -> FloatArray:
    return (offsets + REACH) / (2 * REACH)


def _surrogate(seen: FloatArray, values: FloatArray, cube: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Mean and sd (g,) of −values on the cube in standard units, and the best so far.

    A few hopeless points would flatten everything else: what lies below the median by more than three spreads is cut.
    """
    higher = -values
    median = np.median(higher)
    spread = max(float(np.median(np.abs(higher - median))) * 1.4826, 1e-9)
    y = np.maximum((higher - median) / spread, -3.0)
    L = np.linalg.cholesky(_surrogate_kernel(seen, seen) + JITTER * np.eye(len(seen)))
    Linv_K = solve_lower(L, _surrogate_kernel(seen, cube))  # (m, g)
    mean = solve_lower(L, y - y.mean()) @ Linv_K + y.mean()
    variance = 1 - np.square(Linv_K).sum(axis=0)
    return mean, np.sqrt(np.maximum(variance, 1e-12)), float(y.max())


def improvement(mean: FloatArray, sd: FloatArray, best: float, acquisition: Acquisition = "ei") -> FloatArray:
    """How much a value N(`mean`, `sd`²) is expected to exceed `best`, equation (21), or the paper's variants of it.

    "truncated_ei" counts only values within 1.96 sd; "clipped_ucb" is the optimistic end of that interval, the form
    printed in the paper, which is no expectation and ties at 0 on most of a grid.

    >>> improvement(np.array([0.0, 1.0]), np.array([1.0, 1e-9]), 0.0).round(4)
    array([0.3989, 1.    ])
    """
    if acquisition == "clipped_ucb":
        return np.maximum(mean + CUT * sd - best, 0.0)
    gap = mean - best
    if acquisition == "ei":
        z = gap / sd
        return gap * ndtr(z) + sd * _normal(z)
    if acquisition == "truncated_ei":
        low = np.clip(-gap / sd, -CUT, CUT)
        return gap * (ndtr(CUT) - ndtr(low)) + sd * (_normal(low) - _normal(CUT))
    raise ValueError(f'acquisition must be "ei", "truncated_ei" or "clipped_ucb", got {acquisition!r}')


def _normal(z: Any) -> Any:
    return np.exp(-0.5 * np.square(z)) / np.sqrt(2 * np.pi)


def _surrogate_kernel(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.exp(-0.5 * cdist(A, B, "sqeuclidean") / LENGTH**2)
