"""From counts to predictors: the label factors and biases of labels that no item was ever asked about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from labelwise.numerics.factor_model import FactorFit, Factors
from labelwise.numerics.weighted_ridge import View

FloatArray = npt.NDArray[np.floating[Any]]
FREE = 1e-6  # penalty of the column bias and the constant in the regression: next to none
FOLD_ROUNDS = 30  # rounds that give a folded-in label its factors; each is one small system per label


class Transferred(NamedTuple):
    """Of the labels that were not seen."""

    factors: FloatArray  # (u, k)
    bias: FloatArray  # (u,)


def regress_labels(f: Factors, penalty: float, *, bias: bool = True) -> Transferred:
    """Ridge regression of [v, b] on [β, c, 1] over the seen labels, applied to the unseen ones.

    Equations 8 and 20 of the paper have [v] on [β] alone, which is `bias=False`.
    """
    found = _regression(f, penalty, bias=bias)[len(f.labels) :]
    return Transferred(found[:, :-1], found[:, -1])


def transfer_residuals(f: Factors, penalty: float, *, bias: bool = True) -> FloatArray:
    """(s, k) what the regression misses of the seen labels' factors."""
    return f.labels - _regression(f, penalty, bias=bias)[: len(f.labels), :-1]


def _regression(f: Factors, penalty: float, *, bias: bool) -> FloatArray:
    """(c, k + 1) factors and bias of every label, as the regression over the seen ones has them."""
    s, B = len(f.labels), f.columns.astype(np.float64)
    if not bias:
        system = B[:s].T @ B[:s] + penalty * np.eye(B.shape[1])
        return np.column_stack([B @ np.linalg.solve(system, B[:s].T @ f.labels), np.zeros(len(B))])
    Z = np.column_stack([B, f.column_bias, np.ones(len(B))])  # (c, k + 2)
    targets = np.column_stack([f.labels, f.label_bias])  # (s, k + 1)
    ridge = np.diag(np.r_[np.full(B.shape[1], penalty), FREE, FREE])
    return Z @ np.linalg.solve(Z[:s].T @ Z[:s] + ridge, Z[:s].T @ targets)


def regress_by_kernel(f: Factors, penalty: float) -> Transferred:
    """The same regression by an rbf kernel on [β, c], around what a straight line in c says.

    Length-scale: the median distance between seen labels. Far from all of them nothing but the line is left.
    """
    s = len(f.labels)
    Z = np.column_stack([f.columns, f.column_bias]).astype(np.float64)  # (c, k + 1)
    lines = np.column_stack([Z[:, -1], np.ones(len(Z))])
    targets = np.column_stack([f.labels, f.label_bias]).astype(np.float64)
    line = np.linalg.solve(lines[:s].T @ lines[:s] + FREE * np.eye(2), lines[:s].T @ targets)
    distance = cdist(Z, Z[:s])  # (c, s)
    apart = distance[:s][distance[:s] > 0]
    K = np.exp(-0.5 * (distance / (np.median(apart) if apart.size else 1.0)) ** 2)
    solved = np.linalg.solve(K[:s] + penalty * np.eye(s), targets - lines[:s] @ line)
    found = lines[s:] @ line + K[s:] @ solved
    return Transferred(found[:, :-1], found[:, -1])


def fold_in_labels(fit: FactorFit, f: Factors) -> Transferred:
    """By symmetry the counts of an unseen label with the seen ones are a row of counts: its own factors fit that row.

    The row gives a bias of counts, not of labels; the latter is regressed on the former over the seen labels.
    """
    counts = fit.data.counts
    assert counts is not None
    s, weight = len(f.labels), fit.penalties.counts_weight
    trials = counts.trials(weight, f.overdispersion)[:, s:].T.astype(f.labels.dtype)  # (u, s)
    successes = counts.successes(weight)[:, s:].T.astype(f.labels.dtype)
    u = len(trials)
    rows = replace(f, labels=np.zeros((u, f.labels.shape[1]), f.labels.dtype), row_bias=np.zeros(u, f.labels.dtype))
    for _ in range(FOLD_ROUNDS):
        view = View(f.columns[:s], successes, trials, rows.row_bias, f.column_bias[:s])
        rows = replace(rows, labels=fit.solver.improve(rows.labels, [view], fit.penalties.labels))
        if fit.bias:
            rows = replace(rows, row_bias=fit.step_biases(rows.row_bias, view, rows.labels))
    if not fit.bias:
        return Transferred(rows.labels, np.zeros(u))
    lines = np.column_stack([f.row_bias, np.ones(s)]).astype(np.float64)
    line = np.linalg.solve(lines.T @ lines + FREE * np.eye(2), lines.T @ f.label_bias)
    return Transferred(rows.labels, rows.row_bias * line[0] + line[1])
