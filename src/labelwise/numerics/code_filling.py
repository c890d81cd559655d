"""Codes of training rows of which only some labels are known, so that answers teach and silence does not.

`complete_rows` gives unknown labels their means under the label prior, which draws rows that are hardly known towards
the average: hundreds of them would teach the regression to predict the average. Such rows get what the regression
predicts for them instead, which changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelwise.numerics.gaussian_recovery import LabelPrior
from labelwise.numerics.label_codes import FloatArray, KnownLabels, encode
from labelwise.numerics.linear_algebra import CholeskyFactor, solve_masked
from labelwise.numerics.row_completion import complete_rows

LEAST_SHARE = 0.2  # of the labels of a row: with fewer known, they say less of its code than the regression does


@dataclass(frozen=True, eq=False)
class FilledCodes:
    """Codes of all rows, and the labels they stand for: known ones, and means of the others within 0 and 1."""

    codes: FloatArray  # (n, c), of labels that are not centred
    labels: FloatArray  # (n, q)


def fill_codes(
    known: KnownLabels, projection: FloatArray, covariance: FloatArray, noise: float, prior: LabelPrior
) -> FilledCodes:
    """Complete rows are encoded, rows known in part completed, and rows hardly known predicted.

    With Φ = I every label is its own code: it is regressed on the rows where it is known, and predicted on the others.

    Parameters
    ----------
    known : KnownLabels
    projection : (c, q) array
    covariance : (n, n) array
        Of a code over the rows, noise included.
    noise : float
        The noise in it.
    prior : LabelPrior
        Its mean is what codes are centred at.

    Examples
    --------
    >>> known = KnownLabels(np.array([[1, 0], [1, 0]]), np.array([[True, True], [True, False]]))
    >>> prior = LabelPrior(np.array([0.5, 0.5]), np.eye(2) / 4)
    >>> C = np.array([[1.1, 1.0], [1.0, 1.1]])  # two items that are nearly the same
    >>> fill_codes(known, np.eye(2), C, 0.1, prior).labels.round(2)  # the unknown one: 0.5 − 0.5 / 1.1
    array([[1.  , 0.  ], [1.  , 0.05]])
    """
    if known.observed.all():
        return FilledCodes(encode(known.values(), projection), known.values())
    kernel = covariance - noise * np.eye(len(covariance))
    c, q = projection.shape
    if c == q and np.array_equal(projection, np.eye(q)):
        targets = np.where(known.observed, known.values() - prior.mean, 0.0)
        weights = solve_masked(lambda V: covariance @ V, targets, known.observed)  # (n, q)
        labels = np.where(known.observed, known.values(), kernel @ weights + prior.mean)
        return FilledCodes(labels, np.clip(labels, 0.0, 1.0))
    return _completed(known, projection, (covariance, kernel), prior)


def _completed(
    known: KnownLabels, projection: FloatArray, matrices: tuple[FloatArray, FloatArray], prior: LabelPrior
) -> FilledCodes:
    covariance, kernel = matrices
    share = known.observed.mean(axis=1)
    used = np.flatnonzero(share >= min(LEAST_SHARE, float(share.max())))
    rest = np.setdiff1d(np.arange(len(share)), used)
    factor = CholeskyFactor.of(covariance[np.ix_(used, used)])
    part = KnownLabels(known.labels[used], known.observed[used])
    precision = factor.solve(np.eye(used.size))
    found = complete_rows(part, projection, precision, prior, label_mean=prior.mean)
    codes, labels = np.empty((len(share), projection.shape[0])), np.empty(known.labels.shape)
    codes[used], labels[used] = found.codes, np.clip(found.labels, 0.0, 1.0)
    codes[rest] = kernel[np.ix_(rest, used)] @ factor.solve(found.codes)
    labels[rest] = np.where(known.observed[rest], known.values()[rest], prior.mean)
    return FilledCodes(codes + projection @ prior.mean, labels)
