"""What a `LabelGP` has learnt, and what it believes about a batch of items; computed when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from labelwise.models.training_rows import TrainingRows
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray, distinct_columns
from labelwise.numerics.calibration import Entries, LogisticLink, base_rates, bend, f1_thresholds, fit_link
from labelwise.numerics.feature_scaling import FeatureScaling
from labelwise.numerics.gp.feature_solver import FeatureSolver, LinearMap, NystromMap, gram
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part, array_parts
from labelwise.numerics.gp.kernel_solver import IterativeSolver, KernelSolver, group_labels
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.label_correlation import LabelCorrelation, label_covariance, low_rank, shrunk_correlation
from labelwise.numerics.linear_algebra import add_diagonal, cholesky, stack_rows
from labelwise.posterior import LabelCovariances, LabelPosterior
from labelwise.posterior.gaussian import FeatureCovariance, KernelCovariance, calibrated_covariances, draw_probabilities

Solver = KernelSolver | IterativeSolver | FeatureSolver
MAX_NUMBERS = 2.5e8  # held in factors of single labels: 2 GB
CG_STEPS = 30  # what conjugate gradients usually take to 1e-8
EXACT_BONUS = 4  # exact factors give variances and cheap extensions too: worth this many times the work
VARIANCE_ROWS = 256  # inducing rows that the iterative solver's variances rest on


@dataclass(frozen=True)
class Limits:
    max_exact: int
    n_inducing: int


def make_solver(
    kernel: Kernel, noise: float, X: Any, observed: BoolArray, limits: Limits, priority: FloatArray
) -> Solver:
    """`priority` (n,): the rows with the least of it become inducing rows where some are needed."""
    n, d = X.shape
    sizes = distinct_columns(observed).columns.sum(axis=0)  # rows of each distinct mask
    width = d + bool(kernel.bias)
    fits = sizes.size * width**2 <= MAX_NUMBERS and width <= limits.max_exact
    if not kernel.rbf and fits and (n > limits.max_exact or width < sizes.mean()):
        return FeatureSolver.fit(LinearMap(kernel), noise, X, observed)
    by_priority = np.argsort(priority)
    if n > limits.max_exact:
        m = min(limits.n_inducing, int(np.sqrt(MAX_NUMBERS / sizes.size)))
        return FeatureSolver.fit(NystromMap.on(kernel, X[np.sort(by_priority[:m])]), noise, X, observed)
    if exact_is_affordable(observed):
        return KernelSolver.fit(kernel, noise, X, observed)
    inducing = NystromMap.on(kernel, X[np.sort(by_priority[:VARIANCE_ROWS])])
    return IterativeSolver.fit(kernel, noise, X, observed, FeatureSolver.fit(inducing, noise, X, observed))


def outgrown(solver: Solver, observed: BoolArray, limits: Limits) -> bool:
    """Whether the solver should be made anew, by another method, for this many rows and answers."""
    if isinstance(solver, FeatureSolver):
        return False
    too_many = observed.shape[0] > limits.max_exact
    return too_many or (isinstance(solver, KernelSolver) and not exact_is_affordable(observed))


def exact_is_affordable(observed: BoolArray) -> bool:
    """Whether a factor for each label's own rows fits, and is not far dearer than conjugate gradients."""
    n, q = observed.shape
    sizes = []
    for position, labels in enumerate(group_labels(observed)):
        own = observed[:, labels]
        if position == 0:  # grouped labels share the rows that all of them have
            own = own[~own.all(axis=1)]
        sizes.append(distinct_columns(own).columns.sum(axis=0) if own.size else np.zeros(0))
    e = np.concatenate(sizes).astype(float)
    return bool((e**2).sum() <= MAX_NUMBERS and (e**3).sum() * 2 / 3 <= EXACT_BONUS * 2 * CG_STEPS * n**2 * q)


@dataclass(frozen=True, eq=False)
class FittedLabelGP:
    """Rows, factors, weights and link. Nothing in it is changed after it was made."""

    scaling: FeatureScaling
    rows: TrainingRows
    solver: Solver
    rank: int
    centre: FloatArray  # (q,)
    rates: FloatArray  # (q,)
    solution: FloatArray  # (n, q) C⁻¹ (y − centre) on each label's rows
    loo_means: FloatArray  # (n, q) on each label's rows
    weights: FloatArray  # what the solver's `mean` multiplies
    link: LogisticLink
    thresholds: FloatArray  # (q,)

    @classmethod
    def learn(
        cls, scaling: FeatureScaling, rows: TrainingRows, solver: Solver, rank: int, before: FittedLabelGP | None = None
    ) -> FittedLabelGP:
        """From factors to beliefs; with `before`, only labels whose answers grew are solved again."""
        n, q = rows.Y.shape
        solution, loo_means, changed = np.zeros((n, q)), np.zeros((n, q)), np.arange(q)
        if before is not None:
            old = len(before.rows)
            solution[:old], loo_means[:old] = before.solution, before.loo_means
            changed = np.flatnonzero(rows.observed.sum(axis=0) > before.rows.observed.sum(axis=0))
        rates, answers = base_rates(rows.Y, rows.observed), rows.observed.sum(axis=0)
        centre = np.where(answers > 0, rows.Y.sum(axis=0) / np.maximum(answers, 1), rates)
        if changed.size:
            fresh, left_out = _solve(rows, solver, centre, changed, solution[:, changed])
            solution[:, changed], loo_means[:, changed] = fresh, left_out
        link, thresholds = _calibrate(rows, loo_means, rates, centre)
        weights = solver.weights(solution)
        return cls(scaling, rows, solver, rank, centre, rates, solution, loo_means, weights, link, thresholds)

    def extend(
        self, X: Any, Y: BoolArray, observed: BoolArray, limits: Limits, rng: np.random.Generator
    ) -> FittedLabelGP:
        """With more answers. The kernel, the noise and the scaling of the features stay as they are."""
        rows, is_new = self.rows.add(X, Y, observed)
        added = self.scaling(X[is_new])
        if not isinstance(self.solver, FeatureSolver) and outgrown(self.solver, rows.observed, limits):
            everything = stack_rows(self.solver.X, added)
            solver = make_solver(self.kernel, self.noise, everything, rows.observed, limits, rng.random(len(rows)))
            return FittedLabelGP.learn(self.scaling, rows, solver, self.rank)
        return FittedLabelGP.learn(self.scaling, rows, self.solver.extend(added, rows.observed), self.rank, self)

    @property
    def n_labels(self) -> int:
        return self.rates.size

    @property
    def kernel(self) -> Kernel:
        return self.solver.feature_map.kernel if isinstance(self.solver, FeatureSolver) else self.solver.kernel

    @property
    def noise(self) -> float:
        return self.solver.noise

    @property
    def targets(self) -> FloatArray:
        return np.where(self.rows.observed, self.rows.Y - self.centre, 0.0)  # (n, q)

    def loo_log_odds(self) -> FloatArray:
        """(n, q) what the link makes of leave-one-out means, 0 where a label was not answered."""
        observed = self.rows.observed
        departures = self.loo_means - centre_without(self.rows.Y, self.centre, observed.sum(axis=0))
        odds = self.link.intercept + self.link.slope * bend(departures / self.link.size)
        return np.where(observed, odds, 0.0)

    @cached_property
    def label_scales(self) -> FloatArray:
        """(q,) the amplitude b of each label's kernel, yᵀ C⁻¹ y / n with one more answer of average surprise."""
        answers = self.rows.observed.sum(axis=0)
        surprise = np.einsum("nq,nq->q", self.targets, self.solution)
        return (surprise + self.rates * (1 - self.rates)) / (answers + 1)

    @cached_property
    def correlation(self) -> LabelCorrelation:
        return low_rank(
            shrunk_correlation(*label_covariance(self.targets, self.solution, self.rows.observed)), self.rank
        )

    @cached_property
    def full_rows(self) -> IntArray:
        """Rows answered for every label that has any answer."""
        answered = self.rows.observed.any(axis=0)
        return np.flatnonzero(self.rows.observed[:, answered].all(axis=1))

    @cached_property
    def full_rows_factor(self) -> tuple[Any, FloatArray]:
        """Features of the rows answered in full and the Cholesky factor of their C; in kernel space."""
        assert not isinstance(self.solver, FeatureSolver)
        X = self.solver.X[self.full_rows]
        if isinstance(self.solver, KernelSolver):
            for group in self.solver.groups:
                if np.array_equal(group.core, self.full_rows):
                    return X, group.core_factor.L
        return X, cholesky(add_diagonal(self.kernel(X), self.noise), overwrite=True)

    @cached_property
    def full_rows_gram(self) -> FloatArray:
        """Φᵀ Φ over the rows answered in full; in feature space."""
        assert isinstance(self.solver, FeatureSolver)
        return gram(self.solver.features[self.full_rows])


def _solve(
    rows: TrainingRows, solver: Solver, centre: FloatArray, labels: IntArray, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n, k) of C⁻¹ (y − centre) and of leave-one-out means for the given labels, on each label's rows.

    Leaving row i out also moves the centre: m_i = y_i − (α_i − (c_i − c) β_i) / (C⁻¹)_ii with α = C⁻¹ (y − c), β = C⁻¹
    1 and c_i the mean of the others. Fitting without the row would give the same.
    """
    masks, y, c = rows.observed[:, labels], rows.Y[:, labels], centre[labels]
    _, first, member = distinct_columns(masks)
    right_side = np.hstack([np.where(masks, y - c, 0.0), masks[:, first]])
    begin = np.hstack([start, np.zeros((len(rows), first.size))])
    Cinv_y1 = solver.solve(right_side, np.concatenate([labels, labels[first]]), begin)
    alpha, beta = Cinv_y1[:, : labels.size], Cinv_y1[:, labels.size :][:, member]
    c_without = centre_without(y, c, masks.sum(axis=0))
    return alpha, y - (alpha - (c_without - c) * beta) / solver.precision_diagonal[:, labels]


def centre_without(y: BoolArray, centre: FloatArray, answers: IntArray) -> FloatArray:
    """(n, k) the mean of each label's other answers; for a single answer there is no other and it stays."""
    return np.where(answers > 1, (answers * centre - y) / np.maximum(answers - 1, 1), centre)


def _calibrate(
    rows: TrainingRows, loo_means: FloatArray, rates: FloatArray, centre: FloatArray
) -> tuple[LogisticLink, FloatArray]:
    entries = Entries.of(rows.Y, rows.observed)
    departures = (loo_means - centre_without(rows.Y, centre, rows.observed.sum(axis=0))).T[rows.observed.T]  # (N,)
    link = fit_link(departures, entries, rates, centre)
    intercept, slope, size = (entries.spread(each) for each in (link.intercept, link.slope, link.size))
    left_out = expit(intercept + slope * bend(departures / size))
    return link, f1_thresholds(left_out, entries)


class LabelGPPosterior(LabelPosterior):
    """Beliefs of a `LabelGP` about some items.

    `probabilities` are calibrated. `means` and `variances` are those of the regression, on the scale of the 0/1
    labels and without noise. Items are rows as the user gave them; they are prepared block by block.
    """

    def __init__(self, fitted: FittedLabelGP, X: Any) -> None:
        super().__init__(X.shape[0], fitted.n_labels)
        self._fitted = fitted
        self._X = X

    @cached_property
    def _prepared(self) -> Any:
        return self._fitted.scaling(self._X)

    @cached_property
    def _means(self) -> FloatArray:
        departures = self._fitted.solver.mean(self._prepared, self._fitted.weights)
        return np.add(departures, self._fitted.centre)

    def means(self) -> FloatArray:
        """(n, q) posterior mean of each label's regression function."""
        return self._means

    def variances(self) -> FloatArray:
        """(n, q) posterior variance of each label's regression function: what more answers would take away."""
        return self._shares_of_kernel() * self._fitted.label_scales

    @cached_property
    def _probabilities(self) -> FloatArray:
        return self._fitted.link.probabilities(self._means)

    def probabilities(self) -> FloatArray:
        return self._probabilities

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> LabelGPPosterior:
        return LabelGPPosterior(self._fitted, self._X[rows])

    def label_covariances(self) -> LabelCovariances:
        """Variances p (1 − p), with the correlation that labels have left once the features have had their say.

        The regression itself has the covariance v_i B for item i; its correlation is that of B for every item, and it
        is given the variances of calibrated 0/1 labels.
        """
        return calibrated_covariances(self.probabilities(), self._fitted.correlation)

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        return self.item_covariance().feature_space(self._fitted.scaling, basis)

    def parts(self) -> list[Part]:
        return list(array_parts(self._X))

    def item_covariance(self) -> FeatureCovariance | KernelCovariance:
        """Covariance between the items given the items answered in full, in units of the kernel."""
        if isinstance(self._fitted.solver, FeatureSolver):
            return FeatureCovariance(self._fitted.solver, self._fitted.full_rows_gram, self._prepared)
        X_full, L = self._fitted.full_rows_factor
        return KernelCovariance(self._fitted.kernel, self._fitted.noise, X_full, L, self._prepared)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """(s, n, q) probabilities as they would be if the regression functions were known, drawn anew for each item.

        Of the variance of an answer the share v / (v + noise) is the function's. Labels share a draw through their
        correlation.
        """
        v = self._shares_of_kernel()
        share = v / (v + self._fitted.noise)  # (n, q)
        f = self._fitted.correlation.sample((n_samples, self.n_items), rng)  # (s, n, q)
        return draw_probabilities(self.probabilities(), share, f)

    def _shares_of_kernel(self) -> FloatArray:
        return self._fitted.solver.variances(self._prepared)  # (n, q)
