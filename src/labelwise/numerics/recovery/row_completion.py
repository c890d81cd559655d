"""Filling in training rows of which only some labels are known, so that their codes can be computed.

The regression ties the codes of all rows together through P = C⁻¹ (n, n), its inverse kernel matrix with noise. Given
all other rows, the code of row i is N(zᵢ − (P Z)ᵢ / Pᵢᵢ, 1/Pᵢᵢ), the leave-one-out belief. So each incomplete row is a
recovery problem of its own, and the rows are visited in turn. Equation numbers are those of
docs/mathematics/recovery.md.

`complete_rows` gives unknown labels their means under the label prior, which draws rows that are hardly known towards
the average: hundreds of them would teach the regression to predict the average. `fill_codes` gives such rows no code
at all: whatever they got would count as an answer.
"""

# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False
# The functions that numba compiles learn their types from the arguments, tuples of arrays.
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numba
import numpy as np

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.linear_algebra import CholeskyFactor, solve_masked
from labelwise.numerics.recovery.gaussian_recovery import LabelPrior
from labelwise.numerics.recovery.label_codes import KnownLabels, encode
from labelwise.numerics.recovery.sparse_recovery import PUBLISHED_PRIOR, SparsePrior

LEAST_SHARE = 0.2  # of the labels known of the best known row: fewer say less of a row's code than the regression does


@dataclass(frozen=True, eq=False)
class CompletedRows:
    """Labels with the unknown ones replaced by their means, and the codes of all rows.

    `variance` is conditional on the means of the other rows: a little below the exact one (.93 of it on average in
    our reference computations), and 0 for known labels. `change` is the largest move of a mean in the last sweep.
    """

    labels: FloatArray  # (n, q)
    variance: FloatArray  # (n, q)
    precision: FloatArray | None  # (n, q), α under a sparse prior, infinite for known labels
    codes: FloatArray  # (n, k)
    n_sweeps: int
    change: float


def complete_rows(
    known: KnownLabels,
    projection: FloatArray,
    item_precision: FloatArray,
    prior: SparsePrior | LabelPrior = PUBLISHED_PRIOR,
    *,
    label_mean: FloatArray | None = None,
    n_sweeps: int = 30,
    tolerance: float = 1e-8,
) -> CompletedRows:
    """Block ascent over the incomplete rows, equation (16); a visit costs O(min(u, k)³ + n k) with u unknown labels.

    With a fixed prior (a `LabelPrior`) the means converge to those of the exact joint Gaussian over all rows; with
    the sparse one each visit also updates the row's α. Nothing that is not observed is read.

    Parameters
    ----------
    known : KnownLabels
        All training rows; complete ones are left as they are.
    projection : (k, q) array
    item_precision : (n, n) array
        P, symmetric.
    label_mean : (q,) array, optional
        ȳ where the regression is on centred codes.

    Examples
    --------
    >>> known = KnownLabels(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([[True, True], [True, False]]))
    >>> P = np.linalg.inv([[1.1, 1.0], [1.0, 1.1]])  # two items that are nearly the same
    >>> prior = LabelPrior(np.zeros(2), np.array([[1.0, -0.5], [-0.5, 1.0]]))
    >>> complete_rows(known, np.eye(2), P, prior).labels.round(2)
    array([[ 1. ,  0. ], [ 1. , -0.1]])
    """
    if item_precision.shape != (known.labels.shape[0],) * 2:
        raise ValueError(f"item_precision must be square over {known.labels.shape[0]} rows, got {item_precision.shape}")
    Phi = np.ascontiguousarray(projection, dtype=np.float64)
    P = np.ascontiguousarray(item_precision, dtype=np.float64)
    observed = np.ascontiguousarray(known.observed)
    labels = np.where(observed, known.values(), 0.0 if isinstance(prior, SparsePrior) else prior.mean)
    codes = encode(labels, Phi, label_mean)
    offset = np.zeros(Phi.shape[0]) if label_mean is None else Phi @ label_mean
    alpha = np.where(observed, np.inf, 1.0)
    rows = _Rows(labels, np.zeros_like(labels), alpha, observed, codes, P @ codes, P)
    sweep = _sweeper(prior, rows, _Code(Phi, Phi.T @ Phi, offset))
    sweeps, change = 0, 0.0 if observed.all() else np.inf
    while sweeps < n_sweeps and change >= tolerance:
        change = sweep(sweeps > 0)
        sweeps += 1
    precision = alpha if isinstance(prior, SparsePrior) else None
    return CompletedRows(labels, rows.variance, precision, codes, sweeps, float(change))


class _Rows(NamedTuple):
    labels: FloatArray  # (n, q)
    variance: FloatArray  # (n, q)
    alpha: FloatArray  # (n, q)
    observed: Any  # (n, q) of bool
    Z: FloatArray  # (n, k)
    PZ: FloatArray  # (n, k)
    P: FloatArray  # (n, n)


class _Code(NamedTuple):
    projection: FloatArray  # (k, q)
    gram: FloatArray  # (q, q)
    offset: FloatArray  # (k,), Φ ȳ


def _sweeper(prior: SparsePrior | LabelPrior, rows: _Rows, code: _Code) -> Callable[[bool], float]:
    """One visit to every incomplete row; its argument says whether α follows the last beliefs, which the first has not.

    It returns the largest move of a mean.
    """
    incomplete = np.flatnonzero(~rows.observed.all(1))
    if isinstance(prior, SparsePrior):
        shape_and_rate = float(prior.shape), float(prior.rate)
        return lambda update_alpha: _sweep_sparse(incomplete, rows, code, shape_and_rate, update_alpha)
    inverse, mean = np.linalg.inv(prior.covariance), prior.mean
    return lambda _: _sweep_gaussian(incomplete, rows, code, inverse, mean)


@numba.njit(cache=True, error_model="numpy")
def _sweep_sparse(incomplete, rows, code, shape_and_rate, update_alpha):
    """Visit every incomplete row under the sparse prior; the largest move of a mean."""
    a0, b0 = shape_and_rate
    change = 0.0
    for i in incomplete:
        unknown = np.flatnonzero(~rows.observed[i])
        spread = np.empty(unknown.size)
        for a in range(unknown.size):
            j = unknown[a]
            if update_alpha:
                rows.alpha[i, j] = (a0 + 0.5) / (b0 + 0.5 * (rows.labels[i, j] ** 2 + rows.variance[i, j]))
            spread[a] = 1.0 / np.sqrt(rows.alpha[i, j])
        fixed, target, v = _leave_one_out(rows, code, i, unknown)
        if unknown.size <= code.projection.shape[0]:
            mean, variance = _label_form(code, unknown, spread, target, v)
        else:
            mean, variance = _compressed_form(code, unknown, spread, target, v)
        change = max(change, _replace_row(rows, code, i, unknown, fixed, mean, variance))
    return change


@numba.njit(cache=True, error_model="numpy")
def _sweep_gaussian(incomplete, rows, code, prior_precision, prior_mean):
    """Visit every incomplete row under a Gaussian label prior; the largest move of a mean."""
    change = 0.0
    for i in incomplete:
        unknown = np.flatnonzero(~rows.observed[i])
        u = unknown.size
        fixed, target, v = _leave_one_out(rows, code, i, unknown)
        pull_all = np.dot(target, code.projection) / v - np.dot(prior_precision, fixed - prior_mean)  # (q,)
        pull, variance, precision = np.empty(u), np.empty(u), np.empty((u, u))
        for a in range(u):
            pull[a] = pull_all[unknown[a]]
            for b in range(u):
                j, l = unknown[a], unknown[b]
                precision[a, b] = prior_precision[j, l] + code.gram[j, l] / v
        covariance = np.linalg.inv(precision)
        for a in range(u):
            variance[a] = covariance[a, a]
        change = max(change, _replace_row(rows, code, i, unknown, fixed, np.dot(covariance, pull), variance))
    return change


@numba.njit(cache=True, error_model="numpy")
def _leave_one_out(rows, code, i, unknown):
    """The row's known labels (0 elsewhere), what they leave of its code to be explained, and the variance of that."""
    v = 1.0 / rows.P[i, i]
    fixed = rows.labels[i].copy()
    for j in unknown:
        fixed[j] = 0.0
    target = rows.Z[i] - v * rows.PZ[i] + code.offset - np.dot(code.projection, fixed)
    return fixed, target, v


@numba.njit(cache=True, error_model="numpy")
def _label_form(code, unknown, spread, target, v):
    """(3a) for one row."""
    u = unknown.size
    correlation = np.dot(target, code.projection)  # (q,)
    pull, variance, B = np.empty(u), np.empty(u), np.empty((u, u))
    for a in range(u):
        pull[a] = spread[a] * correlation[unknown[a]] / v
        for b in range(u):
            B[a, b] = spread[a] * spread[b] * code.gram[unknown[a], unknown[b]] / v
        B[a, a] += 1.0
    inverse = np.linalg.inv(B)
    for a in range(u):
        variance[a] = spread[a] ** 2 * inverse[a, a]
    return spread * np.dot(inverse, pull), variance


@numba.njit(cache=True, error_model="numpy")
def _compressed_form(code, unknown, spread, target, v):
    """(3b) for one row."""
    k, u = code.projection.shape[0], unknown.size
    W, variance = np.empty((k, u)), np.ones(u)
    for c in range(k):
        for a in range(u):
            W[c, a] = code.projection[c, unknown[a]] * spread[a]
    G = np.dot(W, W.T)
    for c in range(k):
        G[c, c] += v
    X = np.dot(np.linalg.inv(G), W)  # (k, u)
    for c in range(k):
        for a in range(u):
            variance[a] -= W[c, a] * X[c, a]
    for a in range(u):
        variance[a] = spread[a] ** 2 * max(variance[a], 0.0)
    return spread * np.dot(target, X), variance


@numba.njit(cache=True, error_model="numpy")
def _replace_row(rows, code, i, unknown, fixed, mean, variance):
    """Write a row's new belief, its code and P Z; the largest move of a mean."""
    change = 0.0
    for a in range(unknown.size):
        j = unknown[a]
        change = max(change, abs(mean[a] - rows.labels[i, j]))
        rows.labels[i, j] = mean[a]
        rows.variance[i, j] = variance[a]
        fixed[j] = mean[a]
    step = np.dot(code.projection, fixed) - code.offset - rows.Z[i]  # (k,)
    for c in range(step.size):
        rows.Z[i, c] += step[c]
    for other in range(rows.P.shape[0]):
        for c in range(step.size):
            rows.PZ[other, c] += rows.P[i, other] * step[c]
    return change


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
    completed = complete_rows(part, projection, precision, prior, label_mean=prior.mean)
    return FilledCodes(rows, completed.codes + projection @ prior.mean, np.clip(completed.labels, 0.0, 1.0))


def is_identity(matrix: FloatArray) -> bool:
    return matrix.shape[0] == matrix.shape[1] and np.array_equal(matrix, np.eye(len(matrix)))
