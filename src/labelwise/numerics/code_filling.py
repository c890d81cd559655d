"""Codes of training rows of which only some labels are known, so that answers teach and silence does not.

`complete_rows` gives unknown labels their means under the label prior, which draws rows that are hardly known towards
the average: hundreds of them would teach the regression to predict the average. Such rows get no code at all: whatever
they got would count as an answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from labelwise.numerics.gaussian_recovery import LabelPrior
from labelwise.numerics.label_codes import FloatArray, KnownLabels, encode
from labelwise.numerics.linear_algebra import CholeskyFactor, solve_masked
from labelwise.numerics.masks import BoolArray, IntArray
from labelwise.numerics.row_completion import complete_rows

LEAST_SHARE = 0.2  # of the labels known of the best known row: fewer say less of a row's code than the regression does


@dataclass(frozen=True, eq=False)
class FilledCodes:
    """Codes of the rows that tell something of theirs, and the labels they stand for: known ones, and means of the
    others within 0 and 1."""

    rows: IntArray  # (m,)
    codes: FloatArray  # (m, c), of labels that are not centred
    labels: FloatArray  # (m, q)


def telling_rows(observed: BoolArray) -> IntArray:
    """Rows with at least LEAST_SHARE of the labels known that are known of the best known row.

    >>> telling_rows(np.array([[True] * 10, [True] * 2 + [False] * 8, [True] + [False] * 9]))
    array([0, 1])
    """
    n_known = observed.sum(axis=1)
    return np.flatnonzero(n_known >= LEAST_SHARE * n_known.max(initial=0))


def fill_codes(
    known: KnownLabels, projection: FloatArray, covariance: FloatArray, noise: float, prior: LabelPrior
) -> FilledCodes:
    """Complete rows are encoded and rows known in part completed; rows hardly known are left out.

    With Φ = I every label is its own code: it is regressed on all rows where it is known, and predicted on the others.

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
    rows = telling_rows(known.observed)
    if known.observed.all():
        return FilledCodes(rows, encode(known.values(), projection), known.values())
    if is_identity(projection):
        targets = np.where(known.observed, known.values() - prior.mean, 0.0)
        weights = solve_masked(lambda V: covariance @ V, targets, known.observed)  # (n, q)
        kernel = covariance[rows]
        kernel[np.arange(rows.size), rows] -= noise
        labels = np.where(known.observed[rows], known.values()[rows], kernel @ weights + prior.mean)
        return FilledCodes(rows, labels, np.clip(labels, 0.0, 1.0))
    precision = CholeskyFactor.of(covariance[np.ix_(rows, rows)]).solve(np.eye(rows.size))
    part = KnownLabels(known.labels[rows], known.observed[rows])
    found = complete_rows(part, projection, precision, prior, label_mean=prior.mean)
    return FilledCodes(rows, found.codes + projection @ prior.mean, np.clip(found.labels, 0.0, 1.0))


def is_identity(matrix: FloatArray) -> bool:
    return matrix.shape[0] == matrix.shape[1] and np.array_equal(matrix, np.eye(len(matrix)))
