"""Logistic factors of labels and negative binomial factors of co-occurrence counts that share the labels' factors.

ψ = U Vᵀ + b for labels, γ = V Bᵀ + a + c for counts, U ≈ X W. Labels are 0/1 with a mask, counts are any numbers ≥ 0
with a mask; see `polya_gamma` for why both are "successes out of trials". `Transferred` holds the label factors and
biases of labels that no item was ever asked about, from their counts. After Gaure, Gupta, Verma & Rai, UAI 2017,
corrected: docs/mathematics/cooccurrence_factors.md.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from scipy.special import digamma, expit, gammaln, polygamma
from sklearn.exceptions import ConvergenceWarning

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.feature_regression import FeatureRegression
from labelwise.numerics.polya_gamma import log_likelihood
from labelwise.numerics.weighted_ridge import GRAM_CHUNK, RowSolver, View, row_chunks

NEARLY_FREE_PENALTY = 1e-6  # penalty of the column bias and the constant in the regression: next to none
FOLD_TOLERANCE = 1e-8  # Newton ends where no factor moves by more than this, relative to the largest
MAX_FOLD_STEPS = 200  # of Newton; 5 to 15 are usual
MAX_HALVINGS = 40  # of one step


@dataclass(frozen=True)
class Penalties:
    """Precisions of the Gaussian priors, and how much an entry of the counts says against one of the labels."""

    items: float = 1.0  # λ_u: of an item's factors around what its features say
    labels: float = 10.0  # λ_v
    columns: float = 10.0  # λ_b: of the factors a label has as a column of the counts
    features: float = 1.0  # λ_w
    biases: float = 0.01  # λ_0
    counts_weight: float = 0.3  # α


@dataclass(frozen=True, eq=False)
class Counts:
    """Co-occurrence counts of the labels of Y (rows) with these and further labels (columns); 0 where unknown."""

    values: FloatArray  # (q, c)
    known: BoolArray  # (q, c)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.where(self.known, self.values, 0.0))  # whatever lay under the mask

    def successes(self, weight: float) -> FloatArray:
        return weight * self.values

    def trials(self, weight: float, overdispersion: float) -> FloatArray:
        return weight * np.where(self.known, self.values + overdispersion, 0.0)

    def constant(self, overdispersion: float) -> float:
        """Σ log Γ(m+r) − log Γ(r) − log m!: what the likelihood has besides successes out of trials."""
        m, r = self.values[self.known], overdispersion
        return float((gammaln(m + r) - gammaln(m + 1)).sum() - m.size * gammaln(r))


@dataclass(frozen=True, eq=False)
class FactorData:
    """What a fit sees: labels and mask of n items as 0/1 bytes, in both orders, and counts or None."""

    labels: npt.NDArray[np.uint8]  # (n, q)
    observed: npt.NDArray[np.uint8]  # (n, q)
    counts: Counts | None = None

    @classmethod
    def of(cls, Y: BoolArray, observed: BoolArray, counts: Counts | None = None) -> FactorData:
        return cls((Y & observed).astype(np.uint8), observed.astype(np.uint8), counts)

    @cached_property
    def labels_by_label(self) -> npt.NDArray[np.uint8]:
        return np.ascontiguousarray(self.labels.T)  # (q, n)

    @cached_property
    def observed_by_label(self) -> npt.NDArray[np.uint8]:
        return np.ascontiguousarray(self.observed.T)


@dataclass(frozen=True, eq=False)
class Factors:
    """Everything that is learnt. `columns` and the biases of counts are empty where there are no counts."""

    items: FloatArray  # U (n, k)
    labels: FloatArray  # V (q, k)
    columns: FloatArray  # B (c, k)
    weights: FloatArray  # W (d, k)
    label_bias: FloatArray  # b (q,)
    row_bias: FloatArray  # a (q,)
    column_bias: FloatArray  # c (c,)
    overdispersion: float = 5.0
    expected: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # X W (n, k)


def start_factors(
    data: FactorData, n_factors: int, n_features: int, *, overdispersion: float = 5.0, bias: bool = True, dtype: Any
) -> Factors:
    """Where a fit begins: label factors along the principal directions of the labels, all of the same length.

    The paper draws them at random. The span of a random draw is as good where k reaches the number of labels; below
    that the principal directions are the better span. A start that depends on the data alone makes a fit that does not
    depend on the order of the labels. Item factors, weights and column factors begin at zero.
    """
    (n, q), k, c = data.labels.shape, n_factors, 0 if data.counts is None else data.counts.values.shape[1]
    rate = (data.labels.sum(axis=0) + 0.5) / (data.observed.sum(axis=0) + 1.0)  # (q,)
    centred = data.labels - rate.astype(np.float32) * data.observed  # (n, q), 0 where unknown
    directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))[1][:, ::-1][:, :k]
    V = np.zeros((q, k))  # factors beyond the number of labels stay at zero: they have nothing to tell apart
    V[:, : directions.shape[1]] = 0.1 * np.sqrt(q) * directions
    return Factors(
        items=np.zeros((n, k), dtype),
        labels=V.astype(dtype),
        columns=np.zeros((c, k), dtype),
        weights=np.zeros((n_features, k), dtype),
        label_bias=(np.log(rate / (1 - rate)) if bias else np.zeros(q)).astype(dtype),
        row_bias=np.zeros(q, dtype),
        column_bias=(_start_columns(data.counts, overdispersion) if bias else np.zeros(c)).astype(dtype),
        overdispersion=float(overdispersion),
        expected=np.zeros((n, k), dtype),
    )


def _start_columns(counts: Counts | None, overdispersion: float) -> FloatArray:
    """(c,) log of the mean count over r; 0 for a column of which nothing is known."""
    if counts is None:
        return np.zeros(0)
    known = counts.known.sum(axis=0)
    mean = (counts.values.sum(axis=0) + 0.5) / (np.maximum(known, 1) * overdispersion)
    return np.where(known > 0, np.log(mean), 0.0)


@dataclass(frozen=True, eq=False)
class FactorFit:
    """One problem and how it is solved: data, priors, the regression on features, the solver, what is learnt."""

    data: FactorData
    penalties: Penalties
    regression: FeatureRegression
    solver: RowSolver = field(default_factory=RowSolver)
    bias: bool = True
    learn_overdispersion: bool = False

    def sweep(self, factors: Factors) -> Factors:
        """One round of expectation conditional maximisation: every line raises the objective."""
        factors = self.update_items(factors)
        factors = self.update_labels(factors)
        factors = self.update_columns(factors)
        factors = self.update_weights(factors)
        factors = self.update_biases(factors)
        return self.update_overdispersion(factors)

    # -- views: who sees whom through which entries -------------------------------------------------------------------

    def item_view(self, f: Factors) -> View:
        """(n, q) entries seen from the items."""
        return View(
            f.labels, self.data.labels, self.data.observed, np.zeros(len(f.items), f.labels.dtype), f.label_bias
        )

    def label_views(self, f: Factors) -> list[View]:
        """(q, n) entries of the labels and (q, c) counts, seen from the labels."""
        data, none = self.data, np.zeros(len(f.items), f.labels.dtype)
        views = [View(f.items, data.labels_by_label, data.observed_by_label, f.label_bias, none)]
        if data.counts is not None:
            views.append(View(f.columns, *self._count_entries(f), f.row_bias, f.column_bias))
        return views

    def column_view(self, f: Factors) -> View:
        """(c, q) counts seen from the columns."""
        successes, trials = self._count_entries(f)
        return View(f.labels, successes.T, trials.T, f.column_bias, f.row_bias)

    def _count_entries(self, f: Factors) -> tuple[FloatArray, FloatArray]:
        assert self.data.counts is not None
        weight = self.penalties.counts_weight
        trials = self.data.counts.trials(weight, f.overdispersion)
        return self.data.counts.successes(weight).astype(f.labels.dtype), trials.astype(f.labels.dtype)

    # -- updates ------------------------------------------------------------------------------------------------------

    def update_items(self, f: Factors) -> Factors:
        improved = self.solver.improve(f.items, [self.item_view(f)], self.penalties.items, f.expected)
        return replace(f, items=improved)

    def update_labels(self, f: Factors) -> Factors:
        return replace(f, labels=self.solver.improve(f.labels, self.label_views(f), self.penalties.labels))

    def update_columns(self, f: Factors) -> Factors:
        if self.data.counts is None:
            return f
        return replace(f, columns=self.solver.improve(f.columns, [self.column_view(f)], self.penalties.columns))

    def update_weights(self, f: Factors) -> Factors:
        """The paper has the penalty λ_w; with λ_u ≠ 1 the maximum is at λ_w / λ_u, which `regression` was made with."""
        weights = self.regression.solve(f.items, f.weights)
        return replace(f, weights=weights, expected=self.regression.fitted(weights))

    def update_biases(self, f: Factors) -> Factors:
        if not self.bias:
            return f
        f = replace(f, label_bias=self.step_biases(f.label_bias, self.label_views(f)[0], f.labels))
        return f if self.data.counts is None else self.update_count_biases(f)

    def update_count_biases(self, f: Factors) -> Factors:
        f = replace(f, row_bias=self.step_biases(f.row_bias, self.label_views(f)[1], f.labels))
        return replace(f, column_bias=self.step_biases(f.column_bias, self.column_view(f), f.columns))

    def step_biases(self, bias: FloatArray, view: View, A: FloatArray) -> FloatArray:
        """The bound's maximum over the row offsets of a view: b + (Σ slope − λ₀ b) / (Σ weight + λ₀)."""
        better = np.empty_like(bias)
        for part in row_chunks(*view.trials.shape):
            slope, weights = view.rows(part).slopes(A[part])
            gain = slope.sum(axis=1) - self.penalties.biases * bias[part]
            better[part] = bias[part] + gain / (weights.sum(axis=1) + self.penalties.biases)
        return better

    def update_overdispersion(self, f: Factors) -> Factors:
        """One Newton step in log r on the counts' likelihood, with everything else as it is."""
        counts = self.data.counts
        if not self.learn_overdispersion or counts is None:
            return f
        gamma = f.labels.astype(np.float64) @ f.columns.T + f.column_bias + f.row_bias[:, None]
        spent = np.logaddexp(0, gamma)[counts.known].sum()
        return replace(
            f, overdispersion=better_overdispersion(counts.values[counts.known], float(spent), f.overdispersion)
        )

    # -- objective ----------------------------------------------------------------------------------------------------

    def objective(self, f: Factors) -> float:
        """Log-likelihoods and log-priors, up to the priors' constants, summed in float64."""
        p = self.penalties
        total = view_likelihood(self.item_view(f), f.items)
        if self.data.counts is not None:
            total += view_likelihood(self.label_views(f)[1], f.labels)
            total += p.counts_weight * self.data.counts.constant(f.overdispersion)
        squares = (
            (p.items, f.items - f.expected),
            (p.labels, f.labels),
            (p.columns, f.columns),
            (p.features, f.weights),
            *((p.biases, bias) for bias in (f.label_bias, f.row_bias, f.column_bias)),
        )
        return total - 0.5 * sum(penalty * float(np.square(x, dtype=np.float64).sum()) for penalty, x in squares)


def better_overdispersion(m: FloatArray, spent: float, r: float) -> float:
    """r that raises Σ log Γ(m+r) − log Γ(r) − r · spent: Newton in log r, at most ½, halved until it rises.

    Where no count is above 0 all that is left is −r · spent, and r stays as it is rather than run to 0.
    """
    if not m.any():
        return r

    def value(r: float) -> float:
        return float(gammaln(m + r).sum() - m.size * gammaln(r) - r * spent)

    slope = r * (digamma(m + r).sum() - m.size * digamma(r) - spent)
    curve = slope + r * r * (polygamma(1, m + r).sum() - m.size * polygamma(1, r))
    step = float(np.clip(slope / -curve if curve < 0 else np.sign(slope), -0.5, 0.5))
    now = value(r)
    while abs(step) > 1e-9:
        if value(r * np.exp(step)) > now:
            return float(r * np.exp(step))
        step /= 2
    return r


def view_likelihood(view: View, A: FloatArray) -> float:
    total = 0.0
    for part in row_chunks(*view.trials.shape):
        some = view.rows(part)
        psi = some.psi(A[part]).astype(np.float64, copy=False)
        total += float(log_likelihood(some.successes, some.trials, psi).sum())
    return total


class Transferred(NamedTuple):
    """Of the labels that were not seen."""

    factors: FloatArray  # (u, k)
    bias: FloatArray  # (u,)


def regress_labels(f: Factors, penalty: float, *, bias: bool = True) -> Transferred:
    """Ridge regression of [v, b] on [β, c, 1] over the seen labels, applied to the unseen ones.

    Equations 8 and 20 of the paper have [v] on [β] alone, which is `bias=False`.
    """
    regressed = _regression(f, penalty, bias=bias)[len(f.labels) :]
    return Transferred(regressed[:, :-1], regressed[:, -1])


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
    ridge = np.diag(np.r_[np.full(B.shape[1], penalty), NEARLY_FREE_PENALTY, NEARLY_FREE_PENALTY])
    return Z @ np.linalg.solve(Z[:s].T @ Z[:s] + ridge, Z[:s].T @ targets)


def regress_by_kernel(f: Factors, penalty: float) -> Transferred:
    """The same regression by an rbf kernel on [β, c], around what a straight line in c says.

    Length-scale: the median distance between seen labels. Far from all of them nothing but the line is left.
    """
    s = len(f.labels)
    Z = np.column_stack([f.columns, f.column_bias]).astype(np.float64)  # (c, k + 1)
    lines = np.column_stack([Z[:, -1], np.ones(len(Z))])
    targets = np.column_stack([f.labels, f.label_bias]).astype(np.float64)
    line = np.linalg.solve(lines[:s].T @ lines[:s] + NEARLY_FREE_PENALTY * np.eye(2), lines[:s].T @ targets)
    distance = cdist(Z, Z[:s])  # (c, s)
    apart = distance[:s][distance[:s] > 0]
    K = np.exp(-0.5 * (distance / (np.median(apart) if apart.size else 1.0)) ** 2)
    alpha = np.linalg.solve(K[:s] + penalty * np.eye(s), targets - lines[:s] @ line)
    predicted = lines[s:] @ line + K[s:] @ alpha  # (u, k + 1)
    return Transferred(predicted[:, :-1], predicted[:, -1])


def fold_in_labels(fit: FactorFit, f: Factors) -> Transferred:
    """By symmetry the counts of an unseen label with the seen ones are a row of counts: its own factors fit that row.

    The objective of a row is concave and solved to its maximum by Newton's method. The bound that the other updates
    raise is too loose here: for a large over-dispersion r the log-odds of counts are far below 0. There the bound
    curves a hundred times as much as the objective, and hundreds of its rounds are not enough.

    The row gives a bias of counts, not of labels; the latter is regressed on the former over the seen labels.
    """
    counts = fit.data.counts
    assert counts is not None
    s, weight, k = len(f.labels), fit.penalties.counts_weight, f.labels.shape[1]
    trials = counts.trials(weight, f.overdispersion)[:, s:].T  # (u, s)
    successes = counts.successes(weight)[:, s:].T
    F, penalty = f.columns[:s].astype(np.float64), np.full(k, fit.penalties.labels, dtype=np.float64)
    if fit.bias:  # of the row: the factor of a column that is 1 everywhere
        F, penalty = np.column_stack([F, np.ones(s)]), np.append(penalty, fit.penalties.biases)
    rows = fit_rows(F, successes, trials, f.column_bias[:s].astype(np.float64), penalty)  # (u, k) or (u, k + 1)
    factors = rows[:, :k].astype(f.labels.dtype)
    if not fit.bias:
        return Transferred(factors, np.zeros(len(rows)))
    lines = np.column_stack([f.row_bias, np.ones(s)]).astype(np.float64)
    line = np.linalg.solve(lines.T @ lines + NEARLY_FREE_PENALTY * np.eye(2), lines.T @ f.label_bias)
    return Transferred(factors, rows[:, k] * line[0] + line[1])


def fit_rows(
    F: FloatArray, successes: FloatArray, trials: FloatArray, offset: FloatArray, penalty: FloatArray
) -> FloatArray:
    """(rows, k) the maximum of Σ aψ − b log(1 + e^ψ) − ½ Σ λ x², ψ = F x + offset, of every row on its own.

    Damped Newton steps until nothing moves; a warning says how many rows did not get there.

    >>> found = fit_rows(np.ones((1, 1)), np.array([[3.0]]), np.array([[4.0]]), np.zeros(1), np.full(1, 1e-9))
    >>> found.round(4)  # the log-odds of 3 in 4
    array([[1.0986]])
    """
    rows = np.zeros((len(trials), F.shape[1]))
    moving = 0
    size = max(1, GRAM_CHUNK // (F.shape[1] * sum(F.shape)))
    for start in range(0, len(trials), size):
        part = slice(start, start + size)
        rows[part], open_rows = _newton(F, successes[part], trials[part], offset, penalty)
        moving += open_rows
    if moving:
        warnings.warn(
            f"the factors of {moving} of {len(trials)} folded-in labels still move after {MAX_FOLD_STEPS} Newton "
            "steps: counts of very different sizes can cause that; scale them, raise label_penalty, or use "
            'unseen="regression"',
            ConvergenceWarning,
            stacklevel=2,
        )
    return rows


def _newton(
    F: FloatArray, successes: FloatArray, trials: FloatArray, offset: FloatArray, penalty: FloatArray
) -> tuple[FloatArray, int]:
    """The rows of `fit_rows`, and how many of them have not come to rest."""

    def objective(rows: npt.NDArray[np.intp], x: FloatArray) -> FloatArray:
        entries = log_likelihood(successes[rows], trials[rows], x @ F.T + offset)
        return np.asarray(entries.sum(axis=1) - 0.5 * (x**2) @ penalty)

    x = np.zeros((len(trials), F.shape[1]))
    rows = np.arange(len(x))  # that still move
    for _ in range(MAX_FOLD_STEPS):
        if not rows.size:
            break
        p = expit(x[rows] @ F.T + offset)  # (rows, f)
        slope = (successes[rows] - trials[rows] * p) @ F - penalty * x[rows]
        curve = (F.T * (trials[rows] * p * (1 - p))[:, None, :]) @ F  # (rows, k, k)
        curve[:, np.arange(penalty.size), np.arange(penalty.size)] += penalty
        step = np.linalg.solve(curve, slope[:, :, None])[:, :, 0]
        now, length = objective(rows, x[rows]), np.ones((rows.size, 1))
        for _ in range(MAX_HALVINGS):
            falls = objective(rows, x[rows] + length * step) < now - 1e-12 * np.abs(now)
            if not falls.any():
                break
            length[falls] /= 2
        x[rows] += length * step
        moved = np.abs(step).max(axis=1)
        rows = rows[moved > FOLD_TOLERANCE * np.maximum(1.0, np.abs(x[rows]).max(axis=1))]
    return x, int(rows.size)
