"""A label that is new: its counts with known labels and its first answers in one regression.

The counts measure the label's column as in `label_sketches`; every answer measures one entry of it. With both as data
of one Gaussian system the guess from counts gives way to the answers as they come.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.gp.kernels import squared_norms
from labelwise.numerics.linear_algebra import cholesky, dense, solve_lower
from labelwise.numerics.recovery.label_sketches import SketchSettings, SketchSums

CEILING = 0.99  # no guess is surer of a yes


def regress_answers(
    sums: SketchSums, counts: FloatArray, X: Any, answers: FloatArray, settings: SketchSettings
) -> FloatArray:
    """(d,) weights of one label's regression on its counts (s,), NaN where unknown, and its answers (a,) at X (a, d).

    The counts come from elsewhere, so that their noise and that of the answers are independent; `settings` must give
    the seen labels no weight of their own.

    Examples
    --------
    >>> sums = SketchSums.of(np.ones((2, 1)), np.eye(2))
    >>> nothing = np.full(2, np.nan)
    >>> regress_answers(sums, nothing, np.ones((3, 1)), np.array([1.0, 1.0, 0.0]), SketchSettings(0.0, 1.0))
    array([0.5])
    """
    known = np.flatnonzero(~np.isnan(counts))
    L = _factor(sums, known, X, settings)
    alpha = solve_lower(L, solve_lower(L, np.concatenate([counts[known], answers])), transposed=True)
    return sums.XtY[:, known] @ alpha[: known.size] + np.asarray(X.T @ alpha[known.size :])


def answer_variances(sums: SketchSums, counts: FloatArray, X: Any, settings: SketchSettings, X_new: Any) -> FloatArray:
    """(n,) of that regression's function at X_new (n, d): what counts and answers at X leave open."""
    known = np.flatnonzero(~np.isnan(counts))
    cross = np.hstack([np.asarray(X_new @ sums.XtY[:, known]), dense(X_new @ X.T)])  # (n, k + a)
    Linv_k = solve_lower(_factor(sums, known, X, settings), cross.T)  # (k + a, n)
    return np.maximum(squared_norms(X_new) - np.einsum("kn,kn->n", Linv_k, Linv_k), 0.0)


def _factor(sums: SketchSums, known: npt.NDArray[np.intp], X: Any, settings: SketchSettings) -> FloatArray:
    """(k + a, k + a) Cholesky factor of the covariance of the known counts and the answers at X."""
    if settings.label_weight:
        raise ValueError(f"label_weight must be 0 where answers are added, got {settings.label_weight!r}")
    cross = np.asarray(X @ sums.XtY[:, known])  # (a, k)
    among = dense(X @ X.T) + settings.noise_variance * np.eye(X.shape[0])
    sketch = sums.covariance(settings)[np.ix_(known, known)]
    return cholesky(np.block([[sketch, cross.T], [cross, among]]), overwrite=True)


def as_probabilities(scores: FloatArray, floor: float) -> FloatArray:
    """Scores on the scale of 0/1 labels as probabilities: rising, `floor` at 0, nearly the score where that is large.

    >>> as_probabilities(np.array([-1.0, 0.0, 0.5]), 0.01).round(3)
    array([0.  , 0.01, 0.5 ])
    """
    half = scores / 2
    root = np.sqrt(half**2 + floor**2)
    positive = np.where(half > 0, half + root, floor**2 / (root - np.minimum(half, 0.0)))  # no cancellation below 0
    return np.minimum(positive, CEILING)


def log_likelihoods(p: FloatArray, answers: FloatArray) -> FloatArray:
    """Of 0/1 answers under probabilities; never of less than one in a million."""
    return np.log(np.maximum(np.where(answers > 0.5, p, 1 - p), 1e-6))
