"""From rows and labels to a fitted label mixture: hyper-parameters, starts, sweeps, pruning, warm starts."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed, effective_n_jobs
from scipy.special import betaln, softmax
from sklearn.cluster import KMeans, kmeans_plusplus
from threadpoolctl import threadpool_limits

from labelwise.models.label_gp.posterior import Limits, make_solver
from labelwise.models.mixture.state import FittedMixture, FittedRestart, RegressionGate
from labelwise.models.training_rows import TrainingRows, row_keys, shaping_rows
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.calibration import base_rates
from labelwise.numerics.feature_scaling import FeatureScaling, learn_scaling
from labelwise.numerics.gp.kernels import Kernel, median_distance, squared_distances, squared_norms
from labelwise.numerics.gp.search import choose_parts
from labelwise.numerics.linear_algebra import dense, stack_rows
from labelwise.numerics.mixture.bernoulli_mixture import (
    MixtureLabels,
    MixtureSchedule,
    MixtureState,
    run_sweeps,
    update_counts,
    update_responsibilities,
    update_tilt,
)
from labelwise.numerics.mixture.gates import Gates, InducingGates, KernelGates
from labelwise.numerics.mixture.kernel import RegressionKernel, kernel_step, search_length_scale

OnStep = Callable[[int, float], None]
WORTH_THREADS = 1000  # rows from which one gate is worth several threads of LAPACK
KERNEL_ROUNDS, SWEEPS_BETWEEN = 10, 5  # of the kernel by the bound

REGRESSION_LIMITS = Limits(max_exact=6000, n_inducing=1000)  # of the one factor of the regression gate, as of `LabelGP`

LABEL_FLOOR = 1e-2  # added to a label's variance: a rare label must not rule the clusters
TIE_BREAKER = 1e-6
TRIES = 4
WARM_SWEEPS = 6  # of `partial_fit`
CLUSTER_ROWS = 2000  # centres are found on at most so many rows, drawn at random
DENSE_NUMBERS = 2**24  # clusters are found three times as fast in a dense array, where it takes no more than 128 MB
ROUNDING = 1e-7  # a spread that is less of the mean is what rounding left
CONFIDENCE = 0.8  # responsibility of an item's own cluster at the start


@dataclass(eq=False, repr=False)
class MixtureOptions:
    """How a mixture is fitted: parameters of `LabelMixtureGP`, whose docstring says what they are."""

    n_components: int = 20
    _: KW_ONLY
    restarts: int = 4
    gate: Literal["regression", "variational"] = "regression"
    gate_moments: Literal["quadrature", "probit", "sampling"] = "quadrature"
    kernel_fit: Literal["evidence", "elbo", "fixed"] = "evidence"
    length_scale: float | None = None
    signal_variance: float = 4.0
    label_prior: float | tuple[float, float] = 4.0
    prior_mean: Literal["balanced", "size"] | float = "balanced"
    prune_ratio: float = 0.0
    equation9: Literal["full", "printed"] = "full"
    scale: Literal["auto", "none"] = "auto"
    max_sweeps: int = 60
    tolerance: float = 1e-5
    n_search: int = 600
    max_exact: int = 400
    n_inducing: int = 200
    n_jobs: int | None = None

    @classmethod
    def of(cls, model: Any) -> MixtureOptions:
        return cls(**{name: getattr(model, name) for name in cls.__dataclass_fields__})

    @property
    def _by_base_rate(self) -> bool:
        """Whether every label has a prior of its own."""
        return np.ndim(self.label_prior) == 0

    @property
    def _schedule(self) -> MixtureSchedule:
        threads = max(effective_n_jobs(self.n_jobs) // self.restarts, 1)  # left over by the restarts
        least, printed = min(6, self.max_sweeps), self.equation9 == "printed"
        return MixtureSchedule(least, self.max_sweeps, self.tolerance, printed, n_threads=threads)

    def _prior_means(self, responsibilities: FloatArray) -> FloatArray:
        """(k,) of the gates."""
        k = responsibilities.shape[1]
        if self.prior_mean == "size":
            return size_means(responsibilities)
        return np.full(k, balanced_mean(k) if self.prior_mean == "balanced" else float(self.prior_mean))


def fit_mixture(
    X: Any,
    Y: BoolArray,
    observed: BoolArray,
    options: MixtureOptions,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> FittedMixture:
    """From scratch."""
    scaling = learn_scaling(X, options.scale)
    rows, is_new = TrainingRows.none(Y.shape[1]).add(X, Y, observed)
    never = np.flatnonzero(~observed.any(axis=0))
    if never.size and options._by_base_rate:
        shown = ", ".join(map(str, never[:5])) + (", ..." if never.size > 5 else "")
        warnings.warn(f"no answer for label {shown}: it gets the mean base rate of the others", stacklevel=3)
    return _fit_rows(scaling, rows, scaling(X[is_new]), options, rng, on_step)


def warm_mixture(
    before: FittedMixture,
    answers: tuple[Any, BoolArray, BoolArray],
    options: MixtureOptions,
    rng: np.random.Generator,
    outgrown: float,
) -> FittedMixture:
    """With more answers (X, Y, observed), from the last fit from scratch; or afresh with `outgrown` times its rows."""
    X, Y, observed = answers
    origin = before if before.origin is None else before.origin
    rows, is_new = before.rows.add(X, Y, observed)
    X = stack_rows(before.X, before.scaling(X[is_new]))
    if origin.gates is None or len(rows) > outgrown * len(origin.rows):
        return _fit_rows(before.scaling, rows, X, options, rng)
    telling = shaping_rows(rows.observed)
    labels, X_telling = _labels(rows, options), X[telling]
    gates = _extend_gates(origin.gates, X_telling, options, rng)
    mean, variance = origin.latent(X_telling)
    jobs = [
        delayed(_carry_over)(restart, (mean[:, part], variance[:, part]), labels.take(telling), gates, options)
        for restart, part in zip(origin.restarts, origin.parts, strict=True)
    ]
    restarts = _side_by_side(jobs, telling.size, options.n_jobs)
    warm = replace(origin, rows=rows, X=X, gates=gates, restarts=restarts, origin=origin)
    return _finish(warm, labels, telling, options, rng)


def _fit_rows(
    scaling: FeatureScaling,
    rows: TrainingRows,
    X: Any,
    options: MixtureOptions,
    rng: np.random.Generator,
    on_step: OnStep | None = None,
) -> FittedMixture:
    labels, telling = _labels(rows, options), shaping_rows(rows.observed)
    keys = [key for _, key in row_keys(X, np.arange(len(rows)))]
    distinct = len({(keys[i], bytes(rows.Y[i]), bytes(rows.observed[i])) for i in telling})
    k = min(options.n_components, distinct)
    if k == 1:
        alone = (_single_component(labels),)
        return FittedMixture(scaling, rows, X, RegressionKernel(options.length_scale or 1.0), None, alone)
    hyper = _choose_kernel(X, rows, keys, options, rng)
    X_telling, answers = X[telling], (rows.Y[telling], rows.observed[telling])
    features = start_features(X_telling, *answers, base_rates(rows.Y, rows.observed), rng)
    starts = [start_responsibilities(features, k, rng) for _ in range(options.restarts)]
    kernel = Kernel(rbf=options.signal_variance, length_scale=hyper.length_scale)
    if options.kernel_fit == "elbo":
        kernel = _kernel_by_bound(kernel, X_telling, starts[0], labels.take(telling), options)
        hyper = RegressionKernel(kernel.length_scale)
    gates = _make_gates(kernel, X_telling, options, rng)
    jobs = [delayed(_fit_restart)(start, labels.take(telling), gates, options, on_step) for start in starts]
    restarts = _side_by_side(jobs, telling.size, options.n_jobs)
    fitted = FittedMixture(scaling, rows, X, hyper, gates, restarts, options.gate_moments)
    return _finish(fitted, labels, telling, options, rng)


def _finish(
    fitted: FittedMixture, labels: MixtureLabels, telling: IntArray, options: MixtureOptions, rng: np.random.Generator
) -> FittedMixture:
    """The regression gate, and the answers of the rows that were left out: features and answers say which components
    such a row comes from, then it counts for the labels and the gates of these."""
    n = len(fitted.rows)
    fitted = replace(fitted, regression=_regress(fitted, fitted.X[telling], options, rng))
    others = np.delete(np.arange(n), telling)
    if others.size == 0:
        return fitted
    own, theta = labels.take(others), fitted.label_probabilities
    log_weights = np.log(np.maximum(fitted.gate_means(fitted.X[others]), 1e-300))
    log_weights += own.present @ np.log(theta).T + own.absent @ np.log1p(-theta).T  # (others, c)
    restarts = []
    for restart, part in zip(fitted.restarts, fitted.parts, strict=True):
        phi = np.empty((n, restart.n_components))
        phi[telling], phi[others] = restart.responsibilities, softmax(log_weights[:, part], axis=1)
        present = restart.present + phi[others].T @ own.present
        absent = restart.absent + phi[others].T @ own.absent
        restarts.append(replace(restart, responsibilities=phi, present=present, absent=absent))
    fitted = replace(fitted, restarts=tuple(restarts))
    return replace(fitted, regression=_regress(fitted, fitted.X, options, rng))


def _side_by_side(jobs: list[Any], n_rows: int, n_jobs: int | None) -> tuple[FittedRestart, ...]:
    """Restarts in threads, LAPACK leaving them room; its own threads would cost small matrices more than they save."""
    alone = n_rows >= WORTH_THREADS and effective_n_jobs(n_jobs) == 1
    with threadpool_limits(None if alone else 1, user_api="blas"):
        return tuple(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))


def _labels(rows: TrainingRows, options: MixtureOptions) -> MixtureLabels:
    if options._by_base_rate:
        rates, strength = base_rates(rows.Y, rows.observed), float(np.asarray(options.label_prior))
        return MixtureLabels.of(rows.Y, rows.observed, (strength * rates, strength * (1 - rates)))
    a0, b0 = np.multiply.outer(np.asarray(options.label_prior, dtype=np.float64), np.ones(rows.Y.shape[1]))
    return MixtureLabels.of(rows.Y, rows.observed, (a0, b0))


def _single_component(labels: MixtureLabels) -> FittedRestart:
    """The Beta-Bernoulli model, whose evidence is exact."""
    a = labels.prior_present + labels.present.sum(axis=0)
    b = labels.prior_absent + labels.absent.sum(axis=0)
    evidence = float((betaln(a, b) - betaln(labels.prior_present, labels.prior_absent)).sum())
    n = labels.present.shape[0]
    none = np.zeros((n, 1))
    return FittedRestart(a[None], b[None], np.ones((n, 1)), np.zeros(1), none, none, (evidence,))


def _choose_kernel(
    X: Any, rows: TrainingRows, keys: list[Any], options: MixtureOptions, rng: np.random.Generator
) -> RegressionKernel:
    n = len(rows)
    priority = rng.random(n)
    sample = np.sort(np.argsort(priority)[: options.n_search])
    repeats = np.array(list(Counter(keys).values()))
    if (repeats * (repeats - 1)).sum() > n * (n - 1) / 2:
        warnings.warn("most items have the same features: the length-scale starts from 1", stacklevel=5)
    centre = options.length_scale or median_distance(X[sample]) / np.sqrt(2)
    if options.kernel_fit != "evidence":
        return RegressionKernel(centre)
    parts = choose_parts(X, rows.Y, rows.observed, options.n_search, priority)
    return search_length_scale(parts, centre) if parts else RegressionKernel(centre)


def _kernel_by_bound(
    kernel: Kernel, X: Any, start: FloatArray, labels: MixtureLabels, options: MixtureOptions
) -> Kernel:
    """Sweeps and steps of the kernel in turns, from one start."""
    if X.shape[0] > options.max_exact:
        raise ValueError(
            f'kernel_fit="elbo" needs at most max_exact={options.max_exact} rows, got {X.shape[0]}; use "evidence"'
        )
    distances, prior_mean = squared_distances(X), options._prior_means(start)
    state = MixtureState.start(start, labels, KernelGates.on(kernel, X), prior_mean)
    between = replace(options._schedule, least=SWEEPS_BETWEEN, most=SWEEPS_BETWEEN)
    for _ in range(KERNEL_ROUNDS):
        state, _ = run_sweeps(state, labels, KernelGates.on(kernel, X), prior_mean, between)
        shift = state.weights + state.precision * (state.mean - prior_mean)
        better = kernel_step(kernel, distances, state.precision, shift)
        moved = abs(np.log(better.length_scale / kernel.length_scale))
        kernel = better
        if moved < 1e-2:
            break
    return kernel


def _make_gates(kernel: Kernel, X: Any, options: MixtureOptions, rng: np.random.Generator) -> Gates:
    if X.shape[0] <= options.max_exact:
        return KernelGates.on(kernel, X)
    m = min(options.n_inducing, X.shape[0])
    _, chosen = kmeans_plusplus(X, m, random_state=int(rng.integers(2**31)))  # rows far from one another
    return InducingGates.on(kernel, X[np.sort(chosen)], X)


def _extend_gates(gates: Gates, X: Any, options: MixtureOptions, rng: np.random.Generator) -> Gates:
    if isinstance(gates, InducingGates):
        return InducingGates.on(gates.kernel, gates.map.Z, X)
    return _make_gates(gates.kernel, X, options, rng)


def _fit_restart(
    start: FloatArray, labels: MixtureLabels, gates: Gates, options: MixtureOptions, on_step: OnStep | None
) -> FittedRestart:
    prior_mean = options._prior_means(start)
    state = MixtureState.start(start, labels, gates, prior_mean)
    state, bounds = run_sweeps(state, labels, gates, prior_mean, options._schedule, on_step)
    effective = state.strengths >= options.prune_ratio * state.strengths.mean()
    if not effective.all():  # once, after convergence: inside the loop the mean rises and takes all components with it
        state = state.keep(effective)
        prior_mean = options._prior_means(state.responsibilities)
        state, more = run_sweeps(state, labels, gates, prior_mean, options._schedule, on_step)
        bounds += more
    return FittedRestart.of(state, prior_mean, bounds)


def _carry_over(
    old: FittedRestart,
    latent: tuple[FloatArray, FloatArray],
    labels: MixtureLabels,
    gates: Gates,
    options: MixtureOptions,
) -> FittedRestart:
    """A restart on more rows: label probabilities stay, its gates predict all rows, and a few sweeps follow."""
    flat = np.full(latent[0].shape, 1 / old.n_components)
    state = MixtureState.start(flat, labels, gates, old.prior_mean)
    state = replace(state, present=old.present, absent=old.absent, mean=latent[0], variance=latent[1])
    schedule = replace(options._schedule, least=WARM_SWEEPS, most=WARM_SWEEPS)
    state = update_responsibilities(update_counts(update_tilt(state)), labels, printed=schedule.printed)
    state, bounds = run_sweeps(state, labels, gates, old.prior_mean, schedule)
    return FittedRestart.of(state, old.prior_mean, bounds)


def _regress(fitted: FittedMixture, X: Any, options: MixtureOptions, rng: np.random.Generator) -> RegressionGate | None:
    """The regression of the responsibilities on the rows X that have them."""
    if options.gate != "regression":
        return None
    everything = np.ones((X.shape[0], 1), dtype=bool)
    hyper, priority, phi = fitted.hyper, rng.random(X.shape[0]), fitted.responsibilities  # (n, c)
    solver = make_solver(hyper.kernel, hyper.noise, X, everything, REGRESSION_LIMITS, priority)
    centre = phi.mean(axis=0)
    solution = solver.solve(phi - centre, np.zeros(phi.shape[1], dtype=np.intp))
    return RegressionGate(solver, centre, solver.weights(solution))


def start_features(X: Any, Y: BoolArray, observed: BoolArray, rates: FloatArray, rng: np.random.Generator) -> Any:
    """(n, q + d + 1): labels and features with the same spread, and a trace of noise against ties.

    Unknown labels stand at their rate. Clusters do not depend on where the origin is, so features, which may be
    sparse, are not centred; spreads are root mean square distances from the mean.
    """
    centred = np.where(observed, Y - rates, 0.0) / np.sqrt(rates * (1 - rates) + LABEL_FLOOR)  # (n, q)
    noise = TIE_BREAKER * rng.standard_normal((len(Y), 1))  # one column, so that the order of labels does not matter
    if sp.issparse(X):
        return sp.hstack([sp.csr_array(_unit_spread(centred)), _unit_spread(X), sp.csr_array(noise)], format="csr")
    return np.hstack([_unit_spread(centred), _unit_spread(X), noise])


def start_responsibilities(features: Any, n_components: int, rng: np.random.Generator) -> FloatArray:
    """(n, k) from k-means on `start_features`: 0.8 for an item's own cluster, the rest shared by all."""
    n = features.shape[0]
    sample = features[np.sort(rng.choice(n, CLUSTER_ROWS, replace=False))] if n > CLUSTER_ROWS else features
    if np.prod(sample.shape) <= DENSE_NUMBERS:
        sample = dense(sample)
    own = np.zeros((n, n_components))
    with threadpool_limits(1):  # threads that wait for one another cost more than so few rows
        means = KMeans(n_components, n_init=TRIES, random_state=int(rng.integers(2**31))).fit(sample)
        own[np.arange(n), means.predict(features)] = 1.0
    return CONFIDENCE * own + (1 - CONFIDENCE) / n_components


def balanced_mean(n_components: int) -> float:
    """The prior mean with which the σ of all gates add up to about one; the gate is not shift-invariant."""
    return -float(np.log(max(n_components - 1, 1)))


def size_means(responsibilities: FloatArray) -> FloatArray:
    """(k,) prior means whose σ are the components' shares of the items, smoothed by one item each."""
    n, k = responsibilities.shape
    share = (responsibilities.sum(axis=0) + 1) / (n + k)
    return np.log(share) - np.log1p(-share) if k > 1 else np.zeros(1)


def _unit_spread(A: Any) -> Any:
    mean = np.asarray(A.mean(axis=0)).ravel()
    squares = squared_norms(A) - mean @ mean if sp.issparse(A) else squared_norms(A - mean)
    spread = float(np.sqrt(max(squares.mean(), 0.0)))
    return A / spread if spread > ROUNDING * np.sqrt(mean @ mean) else A * 0.0
