"""From a checked training set to fitted factors: which labels are seen, what is counted, how long it is swept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.factors.model import (
    Counts,
    FactorData,
    FactorFit,
    Factors,
    Penalties,
    Transferred,
    fold_in_labels,
    regress_by_kernel,
    regress_labels,
    start_factors,
    transfer_residuals,
)
from labelwise.numerics.factors.variational import FactorBeliefs, VariationalFit
from labelwise.numerics.feature_scaling import FeatureScaling, PreparedFeatures, learn_features, learn_scaling
from labelwise.numerics.gp.feature_regression import FeatureRegression
from labelwise.numerics.gp.kernels import squared_norms
from labelwise.numerics.weighted_ridge import RowSolver

MOST_FACTORS = {"map": 100, "variational": 32}  # unless asked for: variational beliefs hold k² numbers per item
SINGLE_PRECISION_FROM = 200_000  # entries of Y from which single precision is used


@dataclass(frozen=True)
class FactorSettings:
    """How factors are learnt, given the feature penalty and the number of sweeps."""

    n_factors: int | None = None
    penalties: Penalties = field(default_factory=Penalties)
    transfer_penalty: float = 0.5
    overdispersion: float = 5.0
    learn_overdispersion: bool = False
    bias: bool = True
    unseen: Literal["regression", "kernel", "fold_in"] = "regression"
    solver: RowSolver = field(default_factory=RowSolver)
    inference: Literal["map", "variational"] = "map"


@dataclass(frozen=True, eq=False)
class FactorProblem:
    """A training set in the model's own order: the labels with answers, and counts of those with all labels."""

    X: Any  # (n, d) prepared, in the precision of the fit
    Y: BoolArray  # (n, s)
    observed: BoolArray  # (n, s)
    counts: Counts | None  # (s, s + u)

    @property
    def n_unseen(self) -> int:
        return 0 if self.counts is None else self.counts.values.shape[1] - self.Y.shape[1]

    def scale(self) -> float:
        """The mean squared length of a row: the unit of feature penalties."""
        return max(float(np.mean(squared_norms(self.X))), 1e-30)

    def hide(self, items: IntArray, labels: IntArray) -> FactorProblem:
        """Without these items; these labels, of the seen ones, are unseen, and those that are unseen are left out."""
        kept = np.delete(np.arange(self.Y.shape[1]), labels)
        rows = np.delete(np.arange(self.Y.shape[0]), items)
        order = np.concatenate([kept, labels])
        counts = self.counts
        if counts is not None:
            counts = Counts(counts.values[np.ix_(kept, order)], counts.known[np.ix_(kept, order)])
        return FactorProblem(self.X[rows], self.Y[np.ix_(rows, kept)], self.observed[np.ix_(rows, kept)], counts)


def count_labels(Y: BoolArray, observed: BoolArray) -> FloatArray:
    """(q, q) items that carry both labels, NaN where no item was asked about both."""
    positive, asked = (Y & observed).astype(np.float32), observed.astype(np.float32)
    together = (asked.T @ asked) > 0
    return np.where(together, (positive.T @ positive).astype(np.float64), np.nan)


def seen_counts(cooccurrence: FloatArray, seen: IntArray, unseen: IntArray, *, diagonal: bool) -> Counts:
    """Counts of the seen labels with the seen and then the unseen ones; the diagonal is unknown unless asked for."""
    values = cooccurrence[np.ix_(seen, np.concatenate([seen, unseen]))]
    known = ~np.isnan(values)
    if not diagonal:
        known[np.arange(seen.size), np.arange(seen.size)] = False
    return Counts(values, known)


def precision_of(name: str, n_entries: int) -> Any:
    """The type to compute in: "auto" is single precision where there is enough to compute."""
    if name == "auto":
        return np.float32 if n_entries > SINGLE_PRECISION_FROM else np.float64
    return np.dtype(name).type


def learn_preparation(X: Any, scale: str) -> FeatureScaling | PreparedFeatures:
    """How features are prepared: as they are, or rare terms weighted up, rows of unit length, a constant appended."""
    return learn_features(X, scale) if scale == "auto" else learn_scaling(X, scale)


def to_precision(X: Any, dtype: Any) -> Any:
    X = sp.csr_array(X) if sp.issparse(X) else X
    return X.astype(dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Learnt:
    """Factors of the seen labels, and of all labels in the model's own order, after this number of sweeps."""

    fit: FactorFit
    factors: Factors
    unseen: Transferred
    beliefs: FactorBeliefs | None = None  # with covariances, where they are variational

    def loadings(self) -> FloatArray:
        return np.vstack([self.factors.labels, self.unseen.factors]).astype(np.float64)  # (s + u, k)

    def biases(self) -> FloatArray:
        return np.concatenate([self.factors.label_bias, self.unseen.bias]).astype(np.float64)

    def label_covariances(self, settings: FactorSettings) -> FloatArray | None:
        """(s + u, k, k): of an unseen label, what its regression leaves open, and the mean doubt about seen ones."""
        if self.beliefs is None:
            return None
        u, seen = len(self.unseen.bias), self.beliefs.labels
        if u == 0:
            return seen
        residuals = transfer_residuals(self.factors, settings.transfer_penalty, bias=settings.bias)
        doubt = seen.mean(axis=0) + np.diag(np.square(residuals).mean(axis=0))
        return np.concatenate([seen, np.tile(doubt, (u, 1, 1))])

    def scores(self, X: Any) -> FloatArray:
        """(n, s + u) log-odds."""
        return np.asarray(X @ self.factors.weights) @ self.loadings().T + self.biases()


def prepare_fit(problem: FactorProblem, settings: FactorSettings, *, factored: bool = True) -> FactorFit:
    """Everything a sweep needs; the feature matrix is factored here, once, unless somebody else does that."""
    p = settings.penalties
    data = FactorData.of(problem.Y, problem.observed, problem.counts)
    regression = FeatureRegression(problem.X, p.features / p.items, method="auto" if factored else "cg")
    return FactorFit(data, p, regression, settings.solver, settings.bias, settings.learn_overdispersion)


def first_factors(problem: FactorProblem, settings: FactorSettings, fit: FactorFit) -> Factors:
    k = settings.n_factors or min(problem.Y.shape[1], MOST_FACTORS[settings.inference])
    r, d, dtype = settings.overdispersion, problem.X.shape[1], problem.X.dtype
    return start_factors(fit.data, k, d, overdispersion=r, bias=settings.bias, dtype=dtype)


def sweeps(settings: FactorSettings, fit: FactorFit, factors: Factors, n: int) -> Iterator[Factors]:
    """The factors, or their means, after each of n sweeps."""
    if settings.inference == "map":
        for _ in range(n):
            factors = fit.sweep(factors)
            yield factors
        return
    variational, beliefs = VariationalFit(fit), FactorBeliefs.start(factors, settings.penalties.items)
    for _ in range(n):
        beliefs = variational.sweep(beliefs)
        yield beliefs.means


def transfer(settings: FactorSettings, fit: FactorFit, factors: Factors) -> Transferred:
    """Factors and biases of the labels without answers."""
    if fit.data.counts is None:
        return Transferred(np.zeros((0, factors.labels.shape[1])), np.zeros(0))
    if settings.unseen == "fold_in":
        return fold_in_labels(fit, factors)
    if settings.unseen == "kernel":
        return regress_by_kernel(factors, settings.transfer_penalty)
    return regress_labels(factors, settings.transfer_penalty, bias=settings.bias)


@dataclass(frozen=True)
class SweepSchedule:
    """How long to sweep, and what is called after each sweep."""

    n_iterations: int
    tolerance: float | None = None
    on_step: Callable[[int, float], None] | None = None

    def run(
        self, sweep: Callable[[Any], Any], objective: Callable[[Any], float], state: Any
    ) -> tuple[Any, list[float]]:
        """The last state, and the objective after each sweep where somebody wants it, else at the end."""
        path: list[float] = []
        for step in range(self.n_iterations):
            state = sweep(state)
            if self.tolerance is None and self.on_step is None:
                continue
            path.append(objective(state))
            if self.on_step is not None:
                self.on_step(step, path[-1])
            if self.tolerance is not None and len(path) > 1 and path[-1] - path[-2] < self.tolerance * abs(path[-1]):
                break
        return state, path or [objective(state)]


def learn_factors(
    problem: FactorProblem, settings: FactorSettings, schedule: SweepSchedule
) -> tuple[Learnt, list[float]]:
    """Maximum a posteriori factors, or means with covariances, and the objective or bound."""
    fit = prepare_fit(problem, settings)
    start = first_factors(problem, settings, fit)
    if settings.inference == "map":
        factors, path = schedule.run(fit.sweep, fit.objective, start)
        return Learnt(fit, factors, transfer(settings, fit, factors)), path
    variational = VariationalFit(fit)
    beliefs = FactorBeliefs.start(start, settings.penalties.items)
    beliefs, path = schedule.run(variational.sweep, variational.bound, beliefs)
    return Learnt(fit, beliefs.means, transfer(settings, fit, beliefs.means), beliefs), path


def check_settings(model: Any, choices: dict[str, tuple[Any, ...]], positive: tuple[str, ...]) -> None:
    """Raise on the first parameter of a factor model that makes no sense."""
    for name, allowed in choices.items():
        if getattr(model, name, allowed[0]) not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {getattr(model, name)!r}")
    for name in positive:
        value = getattr(model, name, None)
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}")
    for name, word in (("feature_penalty", "auto"), ("overdispersion", "learn")):
        given = getattr(model, name, 1.0)
        if given != word and (isinstance(given, str) or not given > 0):
            raise ValueError(f"{name} must be positive or {word!r}, got {given!r}")
    for name in ("n_factors", "n_trials", "n_iterations", "batch_size"):
        value = getattr(model, name, None)
        if value is not None and value != "auto" and (isinstance(value, str) or not value >= 1):
            raise ValueError(f"{name} must be at least 1, got {value!r}")


def with_feature_penalty(settings: FactorSettings, penalty: float) -> FactorSettings:
    return replace(settings, penalties=replace(settings.penalties, features=penalty))
