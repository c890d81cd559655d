"""Labels that were never seen, from how often they occur with labels that were: regression on a linear sketch.

The counts m_u = Y_sᵀ y_u of an unseen label u with the seen ones are linear in the column y_u that nobody answered.
With y_u = X w + Y_s c + ε, w ~ N(0, I), c ~ N(0, τ I), ε ~ N(0, δ I) they are Gaussian, and the regression of u
follows in closed form from sums over the items: XᵀY_s and G = Y_sᵀY_s. See docs/mathematics/label_sketches.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import FloatArray, IntArray, distinct_columns
from labelwise.numerics.gp.kernels import squared_norms
from labelwise.numerics.linear_algebra import cholesky, dense, solve_cholesky, solve_lower

FEWEST_ROWS = 10  # answered for most labels, to count on them alone
CEILING = 0.99  # no guess is surer of a yes


@dataclass(frozen=True)
class SketchSettings:
    """Variances relative to that of the features' weights: of the labels' weights, the noise, and a count."""

    label_weight: float = 0.0  # τ
    noise_variance: float = 0.3  # δ
    count_noise: float = 0.1  # a third of a count as sd


@dataclass(frozen=True, eq=False)
class SketchSums:
    """What the regression needs of the training items. Rows of Y may be filled with probabilities where unknown.

    Examples
    --------
    >>> X, Y = np.eye(3), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> sums = SketchSums.of(X, Y)
    >>> found = solve_sketches(sums, np.array([[2.0], [0.0]]), SketchSettings())  # two of the first label, none else
    >>> sums.scores(X, Y, found, SketchSettings()).round(2).ravel()
    array([0.74, 0.74, 0.  ])
    """

    XtY: FloatArray  # (d, s)
    gram: FloatArray  # (s, s) G

    @classmethod
    def of(cls, X: Any, Y: FloatArray) -> SketchSums:
        return cls(np.asarray(X.T @ Y), Y.T @ Y)

    @cached_property
    def _feature_part(self) -> FloatArray:
        return self.XtY.T @ self.XtY  # (s, s)

    def covariance(self, settings: SketchSettings) -> FloatArray:
        """(s, s) of the counts of one unseen label: Y_sᵀ X Xᵀ Y_s + τ G² + δ G + j I."""
        A = self._feature_part + settings.noise_variance * self.gram
        if settings.label_weight:
            A = A + settings.label_weight * (self.gram @ self.gram)
        A[np.diag_indices_from(A)] += settings.count_noise
        return A

    def cross_covariance(self, X: Any, labels: FloatArray, settings: SketchSettings) -> FloatArray:
        """(n, s) between the function at items with these features and these (believed) seen labels, and the counts."""
        Z = np.asarray(X @ self.XtY)
        return Z + settings.label_weight * (labels @ self.gram) if settings.label_weight else Z

    def scores(self, X: Any, labels: FloatArray, coefficients: FloatArray, settings: SketchSettings) -> FloatArray:
        """(n, u) mean of each unseen label's function, on the scale of 0/1 labels."""
        means = np.asarray(X @ (self.XtY @ coefficients))
        if settings.label_weight:
            means += settings.label_weight * (labels @ (self.gram @ coefficients))
        return means

    def variances(
        self, X: Any, labels: FloatArray, settings: SketchSettings, known: IntArray | slice = slice(None)
    ) -> FloatArray:
        """(n,) of the function of an unseen label whose counts with these seen labels are known: all, or `known`."""
        A = self.covariance(settings)[known][:, known]
        Z = self.cross_covariance(X, labels, settings)[:, known]
        Linv_Z = solve_lower(cholesky(A, overwrite=True), Z.T)  # (k, n)
        prior = squared_norms(X) + settings.label_weight * np.einsum("ns,ns->n", labels, labels)
        return np.maximum(prior - np.einsum("kn,kn->n", Linv_Z, Linv_Z), 0.0)


def sketch_rows(observed: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Rows answered for at least half of the labels; all rows where hardly any is. Beliefs are no basis to count on.

    >>> observed = np.ones((12, 2), dtype=bool)
    >>> observed[3] = False
    >>> sketch_rows(observed)
    array([ 0,  1,  2,  4,  5,  6,  7,  8,  9, 10, 11])
    """
    answered = np.flatnonzero(observed.mean(axis=1) >= 0.5)
    return answered if answered.size >= FEWEST_ROWS else np.arange(observed.shape[0])


def solve_sketches(sums: SketchSums, counts: FloatArray, settings: SketchSettings) -> FloatArray:
    """(s, u) coefficients A⁻¹ m_u; where a count is NaN its label is left out of that u's system."""
    return _solve_known(sums.covariance(settings), counts)


def moment_coefficients(gram: FloatArray, counts: FloatArray, ridge: float) -> FloatArray:
    """(s, u) weights of the seen labels' scores: least squares of y_u on Y_s by normal equations, (G + ridge I) c = m.

    What `solve_sketches` tends to when the items' features are left out and only labels speak. A label whose count is
    NaN is left out of that u's least squares.
    """
    return _solve_known(gram + ridge * np.eye(gram.shape[0]), counts)


def same_known(known: npt.NDArray[np.bool_]) -> Iterator[tuple[IntArray, IntArray]]:
    """From a mask (s, u), columns that are alike: the rows each knows, and which columns they are.

    >>> [(rows.tolist(), columns.tolist()) for rows, columns in same_known(np.array([[True, False, True]]))]
    [([], [1]), ([0], [0, 2])]
    """
    if not known.size:
        return
    distinct = distinct_columns(known)
    for kind, members in enumerate(distinct.groups()):
        yield np.flatnonzero(distinct.columns[:, kind]), members


def _solve_known(A: FloatArray, counts: FloatArray) -> FloatArray:
    """(s, u) A⁻¹ m_u over the counts that are known; labels with the same gaps share a Cholesky factor."""
    coefficients = np.zeros(counts.shape)
    for rows, members in same_known(~np.isnan(counts)):
        if rows.size:
            L = cholesky(A[np.ix_(rows, rows)])
            coefficients[np.ix_(rows, members)] = solve_cholesky(L, counts[np.ix_(rows, members)])
    return coefficients


def average_weights(counts: FloatArray) -> FloatArray:
    """(s, u) of m_lu / Σ_l m_lu, columns that sum to 1, or to 0 where a label occurs with none (COSTA, CVPR 2014)."""
    counts = np.nan_to_num(counts)
    total = counts.sum(axis=0)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)


def conditional_weights(counts: FloatArray, totals: FloatArray) -> FloatArray:
    """(s, u) shares m_lu / m_ll of the items with l that have u; 0 where l never occurs."""
    totals = totals[:, None]
    return np.divide(np.nan_to_num(counts), totals, out=np.zeros(counts.shape), where=totals > 0)


# -- a label that is new: its counts and its first answers in one regression ------------------------------------------


# Every answer measures one entry of the label's column. With both as data of one Gaussian system the guess from counts
# gives way to the answers as they come.


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
    alpha = solve_cholesky(L, np.concatenate([counts[known], answers]))
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
    half_score = scores / 2
    root = np.sqrt(half_score**2 + floor**2)
    positive = np.where(
        half_score > 0, half_score + root, floor**2 / (root - np.minimum(half_score, 0.0))
    )  # no cancellation below 0
    return np.minimum(positive, CEILING)


def log_likelihoods(p: FloatArray, answers: FloatArray) -> FloatArray:
    """Of 0/1 answers under probabilities; never of less than one in a million."""
    return np.log(np.maximum(np.where(answers > 0.5, p, 1 - p), 1e-6))
