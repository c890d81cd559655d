"""The code of label vectors that a `CompressedLabelGP` learns, its label priors, and the regression of the codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from labelwise.models.compressed.label_decoders import Codes, CovarianceDecoder, Decoder, FlatDecoder, SparseDecoder
from labelwise.models.label_gp.posterior import Limits, Solver, make_solver
from labelwise.models.training_rows import COMPLETE_ROWS, COMPLETION_ROUNDS
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.calibration import base_rates
from labelwise.numerics.gp.feature_solver import FeatureSolver, gram
from labelwise.numerics.gp.kernel_solver import KernelSolver
from labelwise.numerics.gp.kernels import Kernel, inner_products, median_distance, squared_distances
from labelwise.numerics.gp.search import SearchPart, SharedOptimum, SharedSpectrum, choose_parts, maximise_evidence
from labelwise.numerics.label_correlation import LabelCorrelation, low_rank
from labelwise.numerics.linear_algebra import add_diagonal, cholesky, dense, solve_cholesky
from labelwise.numerics.recovery.gaussian_recovery import (
    LabelPrior,
    posterior_covariance,
    project_prior,
    shrunk_label_prior,
)
from labelwise.numerics.recovery.label_codes import (
    KnownLabels,
    centre_labels,
    encode,
    gaussian_projection,
    given_projection,
    identity_projection,
    orthogonal_projection,
    pca_projection,
)
from labelwise.numerics.recovery.row_completion import complete_rows
from labelwise.numerics.recovery.sparse_recovery import SparsePrior
from labelwise.posterior.gaussian import FeatureCovariance, KernelCovariance

LINEAR = ("identity", "pca")
RANDOM = {"gaussian": gaussian_projection, "orthogonal": orthogonal_projection}
FEW_LABELS = 64  # so many labels are never worth compressing, nor are fewer than a third of the rows
MOST_COMPRESSED = 512  # codes that PCA makes unless told otherwise
VARIANCE_SHARE = 0.95  # of the labels, that PCA keeps unless told otherwise
LEAST_LEFT_OVER = 1e-4  # variance of a label that its code cannot express, though no row has shown any
VB_LABELS = 100  # with more, sparse recovery is sequential
SEARCH_ROWS = 1000  # kernel and noise are chosen on at most so many rows, drawn at random
MEDIAN_ROWS = 500  # the length-scales tried are multiples of the median distance between so many rows
LENGTH_GRID = 2.0 ** np.arange(-4.0, 2.1, 0.5)
LIMITS = Limits(max_exact=6000, n_inducing=1000)


class CodePlan(NamedTuple):
    """What "auto" stands for on these data."""

    projection: str  # one of the names, or "given"
    label_prior: str
    center: bool
    fast: bool


class SparseOptions(NamedTuple):
    """How sparse labels are recovered."""

    prior: SparsePrior
    n_iterations: int
    compression_share: float | None  # None: marginal inference


def make_plan(model: Any, n_items: int, n_labels: int) -> CodePlan:
    """The choices of a `CompressedLabelGP` with "auto" replaced, checked against one another."""
    projection = model.projection if isinstance(model.projection, str) else "given"
    if projection == "auto":
        few = n_labels <= max(FEW_LABELS, n_items / 3) and model.n_compressed is None
        projection = "identity" if few else "pca"
    if projection == "identity" and model.n_compressed is not None:
        raise ValueError(f'projection="identity" keeps every label; it cannot have n_compressed={model.n_compressed!r}')
    label_prior = model.label_prior
    if label_prior == "auto":
        label_prior = "flat" if projection in LINEAR and model.inference == "marginal" else "sparse"
    center = model.center
    if center == "auto":
        center = projection in LINEAR or label_prior != "sparse"
    if model.inference == "mean_field" and label_prior != "sparse":
        raise ValueError(f'inference="mean_field" recovers sparse labels; it cannot have label_prior={label_prior!r}')
    if label_prior == "covariance" and not center:
        raise ValueError('label_prior="covariance" decodes a centred regression; it cannot have center=False')
    fast = model.recovery == "fast" or (model.recovery == "auto" and n_labels > VB_LABELS)
    return CodePlan(projection, label_prior, bool(center), fast)


@dataclass(frozen=True, eq=False)
class LabelCode:
    """z = Φ (y − ȳ), and what is known of label vectors before any item is seen."""

    projection: FloatArray  # (k, q)
    label_mean: FloatArray  # (q,) ȳ, 0 where the regression is not centred
    left_over: FloatArray  # (q,) variance of the labels outside the rows of Φ
    gaussian_prior: LabelPrior
    plan: CodePlan
    sparse: SparseOptions

    @property
    def is_identity(self) -> bool:
        return self.plan.projection == "identity"

    @property
    def filling_prior(self) -> SparsePrior | LabelPrior:
        """By which labels that are not known are filled in: a flat one says nothing, so the Gaussian serves."""
        return self.sparse.prior if self.plan.label_prior == "sparse" else self.gaussian_prior

    def decoder(self, noise: float) -> Decoder:
        """From codes to labels under the planned prior; `noise` is that of the regression."""
        if self.plan.label_prior == "flat":
            return FlatDecoder(self.projection, self.label_mean, self.left_over, self.is_identity)
        if self.plan.label_prior == "covariance":
            return CovarianceDecoder(project_prior(self.gaussian_prior, self.projection))
        offset = self.projection @ self.label_mean
        prior, n_iterations, share = self.sparse
        return SparseDecoder(self.projection, offset, prior, n_iterations, self.plan.fast, noise, share)

    def correlation(self, variance: float, rank: int = 32) -> LabelCorrelation:
        """Of the labels of an item whose code is known with this variance, under the Gaussian prior: equation (11)."""
        covariance = posterior_covariance(project_prior(self.gaussian_prior, self.projection), variance)
        scale = np.sqrt(covariance.diagonal())
        return low_rank(covariance / np.outer(scale, scale), rank)


def learn_code(
    plan: CodePlan,
    labels: KnownLabels,
    projection: Any,
    n_compressed: float | None,
    sparse: SparseOptions,
    rng: np.random.Generator,
) -> LabelCode:
    """Φ, ȳ and the label priors from the known labels; a label that was never answered is taken for an average one."""
    Y, observed = labels.labels, labels.observed
    answers = observed.sum(axis=0)
    frequency = np.where(answers > 0, Y.sum(axis=0) / np.maximum(answers, 1), base_rates(Y, observed))  # (q,)
    centred = centre_labels(Y, frequency, observed)  # (n, q)
    Phi = _project(plan.projection, projection, n_compressed, centred, rng)
    prior = replace(shrunk_label_prior(Y, observed), mean=frequency)
    if plan.projection == "identity":
        left_over = np.zeros(Y.shape[1])
    else:
        left_over = ((centred - centred @ Phi.T @ Phi) ** 2).sum(axis=0) / np.maximum(answers, 1) + LEAST_LEFT_OVER
    label_mean = frequency if plan.center else np.zeros(Y.shape[1])
    return LabelCode(Phi, label_mean, left_over, prior, plan, sparse)


def _project(
    name: str, given: Any, n_compressed: float | None, centred: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Φ (k, q) by its name, or the user's own."""
    n_labels = centred.shape[1]
    if name == "given":
        return given_projection(given, n_labels)
    if name == "identity":
        return identity_projection(n_labels)
    if name == "pca":
        if isinstance(n_compressed, (int, np.integer)):
            return pca_projection(centred, n_compressed=int(n_compressed))
        Phi = pca_projection(centred, variance_share=VARIANCE_SHARE if n_compressed is None else float(n_compressed))
        return Phi if n_compressed is not None else Phi[:MOST_COMPRESSED]
    if n_compressed is None:
        n_compressed = n_labels // 2
    k = int(n_compressed) if isinstance(n_compressed, (int, np.integer)) else round(n_compressed * n_labels)
    return RANDOM[name](max(1, k), n_labels, rng)


# -- Gaussian process regression of the codes -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScaledKernel:
    """A scikit-learn kernel times an amplitude; sparse rows are made dense, as those kernels need them."""

    kernel: Any
    amplitude: float = 1.0

    def __call__(self, A: Any, B: Any = None) -> FloatArray:
        return self.amplitude * np.asarray(self.kernel(dense(A), None if B is None else dense(B)))

    def diagonal(self, A: Any) -> FloatArray:
        return self.amplitude * self.kernel.diag(dense(A))


@dataclass(frozen=True, eq=False)
class KernelOptions:
    """What the user has decided about the kernel."""

    kernel: Any  # "linear", "rbf", "auto" or a scikit-learn kernel
    length_scale: float | None
    noise: float | None

    def scaled(self, shape: Kernel, amplitude: float) -> Kernel | ScaledKernel:
        """The shape that was searched, times an amplitude; a user's kernel has one shape, its own."""
        if not isinstance(self.kernel, str):
            return ScaledKernel(self.kernel, amplitude)
        return replace(shape, rbf=amplitude * shape.rbf, linear=amplitude * shape.linear, bias=amplitude * shape.bias)

    def shapes(self, X: Any) -> list[Kernel]:
        """The kernels to try on the rows of `search_features`, amplitude 1."""
        if not isinstance(self.kernel, str):
            return [Kernel(linear=1.0)]  # the features are a square root of its matrix
        linear = [] if self.kernel == "rbf" else [Kernel(linear=1.0, bias=1.0)]
        if self.kernel == "linear":
            return linear
        lengths = [self.length_scale] if self.length_scale else median_distance(X[:MEDIAN_ROWS]) * LENGTH_GRID
        return linear + [Kernel(rbf=1.0, bias=1.0, length_scale=float(length)) for length in lengths]

    def search_features(self, X: Any) -> Any:
        """Rows whose inner products and distances are all a search needs to know."""
        if isinstance(self.kernel, str):
            return X
        eigenvalues, U = np.linalg.eigh(ScaledKernel(self.kernel)(X))
        return U * np.sqrt(np.maximum(eigenvalues, 0.0))


@dataclass(frozen=True, eq=False)
class FittedKernel:
    """The kernel with its amplitude, the noise variance, and the log evidence that chose them."""

    shape: Kernel
    kernel: Kernel | ScaledKernel
    optimum: SharedOptimum

    @property
    def noise(self) -> float:
        return self.optimum.noise


class TrainingCodes(NamedTuple):
    """Codes of all training rows and who knows them: one column of the mask for all, or one for each code."""

    Z: FloatArray  # (n, k)
    observed: BoolArray  # (n, 1) or (n, k)
    fitted: FittedKernel


def learn_codes(
    options: KernelOptions, code: LabelCode, X: Any, labels: KnownLabels, priority: FloatArray
) -> TrainingCodes:
    """Codes of the training rows, kernel and noise. `priority` (n,): rows with the least of it serve the search.

    Complete rows are encoded. With the identity as code an unknown label is an unknown code, and nothing else is lost.
    Any other code mixes the labels of a row, so incomplete rows are completed. That needs a kernel, which needs codes.
    The kernel is chosen on complete rows alone where there are enough of them, and otherwise in turns with the
    completion, whose variances count as part of the codes' squares.
    """
    Y, observed = labels.values(), labels.observed
    complete: BoolArray = np.all(observed, axis=1)  # (n,)
    Z = encode(np.where(observed, Y, code.label_mean), code.projection, code.label_mean)  # (n, k)
    if complete.all():
        return TrainingCodes(Z, complete[:, None], _search_rows(options, X, Z, priority))
    if code.is_identity:
        rows = np.sort(np.argsort(priority)[:SEARCH_ROWS])
        features = options.search_features(X[rows])
        parts = choose_parts(features, Y[rows] > 0, observed[rows], SEARCH_ROWS, priority[rows])
        return TrainingCodes(Z, observed, _search(options, options.shapes(X[rows]), parts))
    enough = complete.sum() >= COMPLETE_ROWS
    fitted = (
        _search_rows(options, X[complete], Z[complete], priority[complete])
        if enough
        else _search_rows(options, X, Z, priority)
    )
    for turn in range(1 if enough else COMPLETION_ROUNDS):
        C = add_diagonal(fitted.kernel(X), fitted.noise)
        P = solve_cholesky(cholesky(C, overwrite=True), np.eye(len(Z)))
        completed = complete_rows(labels, code.projection, P, code.filling_prior, label_mean=code.label_mean)
        if not enough and turn + 1 < COMPLETION_ROUNDS:
            spread = completed.variance @ (code.projection**2).sum(axis=0)  # (n,)
            fitted = _search_rows(options, X, completed.codes, priority, spread, [fitted.shape])
    return TrainingCodes(completed.codes, np.ones((len(Z), 1), dtype=bool), fitted)


def _search_rows(
    options: KernelOptions,
    X: Any,
    Z: FloatArray,
    priority: FloatArray,
    spread: FloatArray | None = None,
    shapes: list[Kernel] | None = None,
) -> FittedKernel:
    """Kernel and noise for codes that are all there; `spread` (n,) is the variance of those that were filled in."""
    rows = np.sort(np.argsort(priority)[:SEARCH_ROWS])
    features = options.search_features(X[rows])
    part = SearchPart(inner_products(features), squared_distances(features), Z[rows])
    return _search(options, shapes or options.shapes(X[rows]), [part], None if spread is None else spread[rows])


def _search(
    options: KernelOptions, shapes: list[Kernel], parts: list[SearchPart], spread: FloatArray | None = None
) -> FittedKernel:
    """The shape of highest evidence with its amplitude and noise, equation (4)."""

    def optimum(shape: Kernel) -> SharedOptimum:
        spectra = [SharedSpectrum.of(part.kernel_matrix(shape), part.targets, spread) for part in parts]
        return maximise_evidence(spectra, options.noise)

    optima = [optimum(shape) for shape in shapes]
    best = max(range(len(shapes)), key=lambda i: optima[i].log_evidence)
    return FittedKernel(shapes[best], options.scaled(shapes[best], optima[best].amplitude), optima[best])


@dataclass(frozen=True, eq=False)
class CodeRegression:
    """The regression of all codes at once, given everything that was learnt from."""

    solver: Solver
    codes: FloatArray  # (n, k) Z
    solution: FloatArray  # (n, k) C⁻¹ Z on the rows where each code is known
    weights: FloatArray  # what the solver's `mean` multiplies
    owners: IntArray  # (k,) which column of the solver's mask belongs to each code

    @classmethod
    def fit(cls, training: TrainingCodes, X: Any, priority: FloatArray) -> CodeRegression:
        Z, observed, fitted = training
        kernel = fitted.kernel
        solver: Solver = (
            make_solver(kernel, fitted.noise, X, observed, LIMITS, priority)
            if isinstance(kernel, Kernel)
            else KernelSolver.fit(kernel, fitted.noise, X, observed)  # type: ignore[arg-type]  # asks for κ and its diagonal
        )
        owners = np.arange(Z.shape[1]) if observed.shape[1] > 1 else np.zeros(Z.shape[1], dtype=np.intp)
        solution = solver.solve(Z, owners)
        return cls(solver, Z, solution, solver.weights(solution), owners)

    def predict(self, X: Any) -> Codes:
        """Beliefs about the codes of other items, noise included, equation (5)."""
        return Codes(self.solver.mean(X, self.weights), self.solver.variances(X) + self.solver.noise)

    def left_out(self, *, centred: bool) -> Codes:
        """Beliefs about the code of every training row given all the others, in closed form, equation (9).

        A centred regression without row i has another mean too: its codes are departures from that one.
        """
        precision = self.solver.precision_diagonal  # (n, 1) or (n, k)
        mean = self.codes - self.solution / precision[:, self.owners]
        if centred:
            observed = self.solver.observed
            ones = self.solver.solve(observed.astype(float), np.arange(observed.shape[1]))
            others = np.maximum(observed.sum(axis=0) - 1, 1)
            share = np.where(observed, (1 - ones / precision) / others, 0.0)  # of the code, by which the mean moves
            mean += share[:, self.owners] * self.codes
        return Codes(mean, 1 / precision)

    def item_covariance(self, X: Any) -> FeatureCovariance | KernelCovariance:
        """Between the items X, given the training rows that are known in full."""
        solver, full = self.solver, self._full_rows
        if isinstance(solver, FeatureSolver):
            return FeatureCovariance(solver, gram(solver.features[full]), X)
        if isinstance(solver, KernelSolver) and len(solver.groups) == 1 and full.size == solver.X.shape[0]:
            return KernelCovariance(solver.kernel, solver.noise, solver.X, solver.groups[0].core_factor.L, X)
        L = cholesky(add_diagonal(solver.kernel(solver.X[full]), solver.noise), overwrite=True)
        return KernelCovariance(solver.kernel, solver.noise, solver.X[full], L, X)

    @property
    def _full_rows(self) -> IntArray:
        """Rows where every code that is known anywhere is known."""
        observed = self.solver.observed
        return np.flatnonzero(observed[:, observed.any(axis=0)].all(axis=1))
