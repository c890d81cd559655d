"""A label that is new: its counts with known labels and its first answers in one regression.

The counts measure the label's column as in `label_sketches`; every answer measures one entry of it. With both as data
of one Gaussian system the guess from counts gives way to the answers as they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from labelwise.numerics.label_sketches import SketchSettings, SketchSums
from labelwise.numerics.linear_algebra import cholesky, dense, solve_lower

FloatArray = npt.NDArray[np.floating[Any]]
CEILING = 0.99  # no guess is surer of a yes


@dataclass(frozen=True, eq=False)
class SketchedAnswers:
    """Weights of the features, and every answer as it was expected from the counts and the answers before it."""

    weights: FloatArray  # (d,)
    expected: FloatArray  # (a,)


def regress_answers(
    sums: SketchSums, counts: FloatArray, X: Any, answers: FloatArray, settings: SketchSettings
) -> SketchedAnswers:
    """The regression of one label on its counts (s,), NaN where unknown, and its answers (a,) at items X (a, d).

    The counts come from elsewhere, so that their noise and that of the answers are independent; `settings` must give
    the seen labels no weight of their own. With the lower factor L of the covariance of all data t and z = L⁻¹ t, the
    datum i is expected to be t_i − L_ii z_i given those before it.

    Examples
    --------
    >>> sums = SketchSums.of(np.eye(2), np.eye(2))
    >>> nothing = np.full(2, np.nan)
    >>> found = regress_answers(sums, nothing, np.ones((3, 1)), np.array([1.0, 1.0, 0.0]), SketchSettings(0.0, 1.0))
    >>> found.expected.round(2)
    array([0.  , 0.5 , 0.67])
    """
    known = np.flatnonzero(~np.isnan(counts))
    if settings.label_weight:
        raise ValueError(f"label_weight must be 0 where answers are added, got {settings.label_weight!r}")
    F = sums.XtY[:, known] if known.size else np.zeros((X.shape[1], 0))  # (d, k)
    cross = np.asarray(X @ F)  # (a, k)
    among = dense(X @ X.T) + settings.noise_variance * np.eye(answers.size)
    sketch = sums.covariance(settings)[np.ix_(known, known)]
    L = cholesky(np.block([[sketch, cross.T], [cross, among]]), overwrite=True)
    t = np.concatenate([counts[known], answers])
    z = solve_lower(L, t)
    a = solve_lower(L, z, transposed=True)
    weights = F @ a[: known.size] + np.asarray(X.T @ a[known.size :])
    return SketchedAnswers(weights, (t - L.diagonal() * z)[known.size :])


def as_probabilities(scores: FloatArray, floor: float) -> FloatArray:
    """Scores on the scale of 0/1 labels as probabilities: rising, `floor` at 0, nearly the score where that is large.

    >>> as_probabilities(np.array([-1.0, 0.0, 0.5]), 0.01).round(3)
    array([0.  , 0.01, 0.5 ])
    """
    half = scores / 2
    root = np.sqrt(half**2 + floor**2)
    positive = np.where(half > 0, half + root, floor**2 / (root - np.minimum(half, 0.0)))  # no cancellation below 0
    return np.minimum(positive, CEILING)


def weigh_by_progress(expected: Sequence[FloatArray], answers: FloatArray, floor: float) -> FloatArray:
    """(c,) shares of rival regressions by the likelihood of each answer given those before it, from equal shares.

    >>> weigh_by_progress([np.array([0.9, 0.1]), np.array([0.5, 0.5])], np.array([1.0, 0.0]), 0.01).round(2)
    array([0.76, 0.24])
    """
    logs = [log_likelihoods(as_probabilities(e, floor), answers).sum() for e in expected]
    return softmax(np.array(logs))


def log_likelihoods(p: FloatArray, answers: FloatArray) -> FloatArray:
    """Of 0/1 answers under probabilities; never of less than one in a million."""
    return np.log(np.maximum(np.where(answers > 0.5, p, 1 - p), 1e-6))
