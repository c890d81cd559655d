"""The regression of targets on prepared rows: kernels by evidence, then means, variances and leaving one out.

There is one shape of kernel for all targets, or one kernel each. A target is regressed on the rows where it is known
and on no others. Targets of one kernel that are known on the same rows share one eigendecomposition, as all do where
rows are complete. Otherwise there are as many factors as different sets of rows, each of the size of its set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray, distinct_columns
from labelwise.numerics.gp.direct_search import Acquisition, Minimum, bayesian, gradient_descent, lbfgs, simplex
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.gp.target_kernel import (
    Evaluation,
    Products,
    ShapeSpectrum,
    as_kernel,
    separate_evidence,
    shape_kernel,
    shape_start,
    shared_evidence,
    tied_evidence,
    with_noise,
)
from labelwise.numerics.linear_algebra import add_diagonal, cholesky, inverse_diagonal, solve_cholesky, solve_lower

BLOCK = 2048  # items whose kernel to the training rows is held at once
Optimizer = Literal["lbfgs", "simplex", "bayes", "gradient"]
SAME_DIRECTION = 0.5  # |cosine| above which a new direction takes over the hyper-parameters of an old one
BIAS_SHARE = 0.1  # of the linear kernel alone, relative to the mean square of the rows


class SearchOptions(NamedTuple):
    """What the user has decided about the regression."""

    gp: Literal["shared", "separate"]
    kernel: Literal["sum", "linear"]
    optimizer: Optimizer | Literal["none"]  # "none" keeps what a search would start from
    acquisition: Acquisition
    restarts: int
    noise_ratio: float | None


@dataclass(frozen=True, eq=False)
class KernelGroup:
    """Targets with the covariance scaleᵍ (K + ratioᵍ I), K = `kernel`."""

    kernel: Kernel
    targets: IntArray  # (k,) which they are
    scales: FloatArray  # (k,)
    ratios: FloatArray  # (k,)
    point: FloatArray  # where the search ended, to start the next one from
    loss: float  # −log evidence − log prior there, in nats

    @property
    def noises(self) -> FloatArray:
        return self.scales * self.ratios


def search_groups(
    options: SearchOptions,
    products: Products,
    targets: FloatArray,
    starts: list[FloatArray] | None,
    rng: np.random.Generator,
) -> tuple[KernelGroup, ...]:
    """The kernels of highest evidence for targets (n, k) of unit variance; `starts` are the ends of earlier searches.

    Targets that do not vary take no part in the search of a shared shape. A `noise_ratio` that is given holds during
    the search, relative to the rbf part where every target has its own kernel.
    """
    k = targets.shape[1]
    centre = products.start()
    if options.kernel == "linear" or targets.shape[0] < 3 or not np.any(targets):
        kernel = _linear_kernel(products) if options.kernel == "linear" else shape_kernel(shape_start(centre))
        return (_with_scales(kernel, products, targets, options, shape_start(centre), np.nan),)
    if options.gp == "shared":
        varies = targets[:, np.any(targets != 0, axis=0)]
        prior = shape_start(centre)
        minimum = minimise(
            lambda psi, **asked: shared_evidence(products, varies, psi, prior, options.noise_ratio, **asked)[0],
            _first(starts, prior),
            options,
            rng,
        )
        return (_with_scales(shape_kernel(minimum.point), products, targets, options, minimum.point, minimum.value),)
    groups = []
    for g in range(k):
        start = centre if starts is None or starts[0].size != centre.size else starts[g]
        phi, loss = _search_alone(products, targets[:, g], start, centre, options, rng)
        one = np.ones(1)
        groups.append(KernelGroup(as_kernel(phi), np.array([g]), one, np.exp(phi[4]) * one, phi, loss))
    return tuple(groups)


def _search_alone(
    products: Products,
    target: FloatArray,
    start: FloatArray,
    centre: FloatArray,
    options: SearchOptions,
    rng: np.random.Generator,
) -> tuple[FloatArray, float]:
    """The five hyper-parameters of one target and their loss."""
    if options.noise_ratio is None:
        minimum = minimise(partial(separate_evidence, products, target, centre=centre), start, options, rng)
        return minimum.point, minimum.value
    evidence = partial(tied_evidence, products, target, centre=centre, noise_ratio=options.noise_ratio)
    minimum = minimise(evidence, start[:4], options, rng)
    return with_noise(minimum.point, options.noise_ratio), minimum.value


def minimise(
    objective: Callable[..., Evaluation],
    start: FloatArray,
    options: SearchOptions,
    rng: np.random.Generator,
) -> Minimum:
    """By the chosen optimiser; those that look at values only do not pay for gradients."""

    def value(point: FloatArray) -> float:
        return objective(point, with_gradient=False).value

    if options.optimizer == "none":
        return Minimum(start, value(start), 1)
    if options.optimizer == "lbfgs":
        return lbfgs(objective, start)
    if options.optimizer == "gradient":
        return gradient_descent(objective, start, rng, restarts=options.restarts)
    if options.optimizer == "simplex":
        return simplex(value, start)
    return bayesian(value, start, rng, acquisition=options.acquisition)


def warm_starts(groups: tuple[KernelGroup, ...], overlap: FloatArray, centre: FloatArray) -> list[FloatArray] | None:
    """Where each target's search starts: at its predecessor's end, found by |Eᵀ E_old| = `overlap`, else at `centre`.

    None where the earlier search was of another kind, as with too few rows to search.
    """
    points = [group.point for group in groups]
    if len(points) == 1 and points[0].size < centre.size:
        return points
    if len(points) != overlap.shape[1]:
        return None
    match = overlap.argmax(axis=1)  # (k,)
    close = overlap[np.arange(match.size), match] > SAME_DIRECTION
    return [points[g] if near else centre for g, near in zip(match, close, strict=True)]


def _first(starts: list[FloatArray] | None, otherwise: FloatArray) -> FloatArray:
    return starts[0] if starts and starts[0].size == otherwise.size else otherwise


def _linear_kernel(products: Products) -> Kernel:
    size = float(products.inner.diagonal().mean())
    return Kernel(linear=1.0, bias=BIAS_SHARE * (size if size > 0 else 1.0))


def _with_scales(
    kernel: Kernel, products: Products, targets: FloatArray, options: SearchOptions, point: FloatArray, loss: float
) -> KernelGroup:
    best = ShapeSpectrum.of(kernel_matrix(kernel, products), targets).best_scales(options.noise_ratio)
    varies = np.any(targets != 0, axis=0)
    typical = np.median(best.ratios[varies]) if varies.any() else best.ratios  # the others have no noise to speak of
    ratios = np.where(varies, best.ratios, typical)
    return KernelGroup(kernel, np.arange(targets.shape[1]), best.scales, ratios, point, loss)


def kernel_matrix(kernel: Kernel, products: Products) -> Any:
    """(n, n) from cached products instead of from the rows."""
    return kernel.of_products(products.inner, products.distances)


@dataclass(frozen=True, eq=False)
class _SameRows:
    """Targets of one kernel that are known on the same m rows: eigenvectors for several, one factor for a single one,
    which is made again when it is needed, for there may be many."""

    kernel: Kernel
    products: Products  # of all n rows
    rows: IntArray  # (m,)
    columns: IntArray  # (j,) which targets of the group they are
    ratios: FloatArray  # (j,)
    targets: FloatArray  # (m, j)

    @property
    def matrix(self) -> FloatArray:
        whole = self.rows.size == self.products.inner.shape[0]
        return kernel_matrix(self.kernel, self.products if whole else self.products.take(self.rows))

    @cached_property
    def spectrum(self) -> ShapeSpectrum:
        return ShapeSpectrum.of(self.matrix, self.targets)

    def factor(self) -> FloatArray:
        """(m, m) lower, of a single target."""
        return cholesky(add_diagonal(self.matrix, self.ratios[0]), overwrite=True)

    def weights(self) -> FloatArray:
        """(m, j) what a kernel row multiplies to give means."""
        if self.ratios.size > 1:
            return self.spectrum.weights(self.ratios)
        return solve_cholesky(self.factor(), self.targets)

    def explained(self, K: FloatArray) -> FloatArray:
        """(b, j) what the rows take from the variances of items, whose kernels with all rows are K (n, b)."""
        K = K if self.rows.size == K.shape[0] else K[self.rows]
        if self.ratios.size > 1:
            shrink = 1 / (self.spectrum.eigenvalues[:, None] + self.ratios)  # (m, j)
            return np.square(self.spectrum.vectors.T @ K).T @ shrink
        return (solve_lower(self.factor(), K) ** 2).sum(axis=0)[:, None]

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """(m, j) means given the other rows, and the precision of each target given them, over the scale."""
        if self.ratios.size > 1:
            Q, spread = self.spectrum.vectors, self.spectrum.eigenvalues[:, None] + self.ratios
            precision, weights = self.spectrum.precision_diagonals(self.ratios), self.spectrum.weights(self.ratios)
            ones = Q @ (Q.sum(axis=0)[:, None] / spread)
        else:
            L = self.factor()
            Cinv_y1 = solve_cholesky(L, np.hstack([self.targets, np.ones((self.rows.size, 1))]))
            precision, weights, ones = inverse_diagonal(L)[:, None], Cinv_y1[:, :1], Cinv_y1[:, 1:]
        mean = self.targets - weights / precision
        mean += (1 - ones / precision) / max(self.rows.size - 1, 1) * self.targets
        return mean, precision


@dataclass(frozen=True, eq=False)
class GroupRegression:
    """Targets of one kernel, each given the rows where it is known. Everything is computed when first asked for."""

    group: KernelGroup
    X: Any  # (n, d) prepared
    products: Products
    targets: FloatArray  # (n, k) of this group
    known: BoolArray  # (n, k) what of them is known; nothing else is read

    @cached_property
    def parts(self) -> list[_SameRows]:
        kinds, found = distinct_columns(self.known), []
        for kind, columns in enumerate(kinds.groups()):
            rows = np.flatnonzero(kinds.columns[:, kind])
            targets = self.targets[np.ix_(rows, columns)]
            found.append(
                _SameRows(self.group.kernel, self.products, rows, columns, self.group.ratios[columns], targets)
            )
        return found

    @cached_property
    def weights(self) -> FloatArray:
        """(n, k), 0 where a target is not known."""
        result = np.zeros(self.targets.shape)
        for part in self.parts:
            result[np.ix_(part.rows, part.columns)] = part.weights()
        return result

    def means(self, X: Any) -> FloatArray:
        """(m, k) equation (16), or (19)."""
        return self._walk(X, lambda K: K.T @ self.weights)

    def variances(self, X: Any) -> FloatArray:
        """(m, k) of a noisy target at each item, (16) or (19)."""
        prior = self.group.kernel.diagonal(X)
        explained = self._walk(X, self._explained)
        return self.group.scales * (np.maximum(prior[:, None] - explained, 0.0) + self.group.ratios)

    def _explained(self, K: FloatArray) -> FloatArray:
        result = np.empty((K.shape[1], self.group.ratios.size))
        for part in self.parts:
            result[:, part.columns] = part.explained(K)
        return result

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """(n, k) means and variances of each row's targets given the other rows; targets are centred, and without the
        row they would be centred otherwise. Where a target is not known, the mean is that of all its rows, and the
        variance, which would be dear, is 0."""
        variance = np.zeros(self.targets.shape)
        mean = variance.copy() if self.known.all() else self.means(self.X)
        for part in self.parts:
            place = np.ix_(part.rows, part.columns)
            mean[place], precision = part.left_out()
            variance[place] = self.group.scales[part.columns] / precision
        return mean, variance

    def _walk(self, X: Any, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """`function` of K(known, block) for blocks of rows of X, stacked."""
        parts = [function(self.group.kernel(self.X, X[start : start + BLOCK])) for start in range(0, X.shape[0], BLOCK)]
        return np.vstack(parts) if parts else np.zeros((0, self.group.ratios.size))


@dataclass(frozen=True, eq=False)
class TargetRegression:
    """All targets of a model together."""

    groups: tuple[GroupRegression, ...]
    n_targets: int

    @classmethod
    def of(
        cls, groups: tuple[KernelGroup, ...], X: Any, products: Products, targets: FloatArray, known: BoolArray
    ) -> TargetRegression:
        made = tuple(
            GroupRegression(group, X, products, targets[:, group.targets], known[:, group.targets]) for group in groups
        )
        return cls(made, targets.shape[1])

    def means(self, X: Any) -> FloatArray:
        return self._put([group.means(X) for group in self.groups])  # (m, k)

    def variances(self, X: Any) -> FloatArray:
        return self._put([group.variances(X) for group in self.groups])  # (m, k)

    def left_out(self) -> tuple[FloatArray, FloatArray]:
        found = [group.left_out() for group in self.groups]
        return self._put([mean for mean, _ in found]), self._put([variance for _, variance in found])

    @property
    def kernel(self) -> Kernel:
        """That of the group with most targets."""
        return max((group.group for group in self.groups), key=lambda group: group.targets.size).kernel

    def _put(self, parts: list[FloatArray]) -> FloatArray:
        result = np.empty((parts[0].shape[0], self.n_targets))
        for group, part in zip(self.groups, parts, strict=True):
            result[:, group.group.targets] = part
        return result
