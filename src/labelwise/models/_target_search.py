"""Kernels for the targets of an `OrthogonalTargetGP`: one shape for all of them, or one kernel each, by evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from labelwise.numerics.direct_search import Acquisition, Minimum, bayesian, gradient_descent, lbfgs, simplex
from labelwise.numerics.kernels import Kernel
from labelwise.numerics.target_kernel import (
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
from labelwise.posterior import FloatArray

IntArray = npt.NDArray[np.intp]
Optimizer = Literal["lbfgs", "simplex", "bayes", "gradient"]
SAME_DIRECTION = 0.5  # |cosine| above which a new direction takes over the hyper-parameters of an old one
BIAS_SHARE = 0.1  # of the linear kernel alone, relative to the mean square of the rows


class SearchOptions(NamedTuple):
    """What the user has decided about the regression."""

    gp: Literal["shared", "separate"]
    kernel: Literal["sum", "linear"]
    optimizer: Optimizer
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
        found = minimise(
            lambda psi: shared_evidence(products, varies, psi, prior, options.noise_ratio)[0],
            _first(starts, prior),
            options,
            rng,
        )
        return (_with_scales(shape_kernel(found.point), products, targets, options, found.point, found.value),)
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
        found = minimise(partial(separate_evidence, products, target, centre=centre), start, options, rng)
        return found.point, found.value
    evidence = partial(tied_evidence, products, target, centre=centre, noise_ratio=options.noise_ratio)
    found = minimise(evidence, start[:4], options, rng)
    return with_noise(found.point, options.noise_ratio), found.value


def minimise(
    objective: Callable[[FloatArray], Evaluation],
    start: FloatArray,
    options: SearchOptions,
    rng: np.random.Generator,
) -> Minimum:
    """By the chosen optimiser; those without gradients only look at values."""
    if options.optimizer == "lbfgs":
        return lbfgs(objective, start)
    if options.optimizer == "gradient":
        return gradient_descent(objective, start, rng, restarts=options.restarts)
    if options.optimizer == "simplex":
        return simplex(lambda x: objective(x).value, start)
    return bayesian(lambda x: objective(x).value, start, rng, acquisition=options.acquisition)


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
    found = ShapeSpectrum.of(kernel_matrix(kernel, products), targets).best_scales(options.noise_ratio)
    varies = np.any(targets != 0, axis=0)
    typical = np.median(found.ratios[varies]) if varies.any() else found.ratios  # the others have no noise to speak of
    ratios = np.where(varies, found.ratios, typical)
    return KernelGroup(kernel, np.arange(targets.shape[1]), found.scales, ratios, point, loss)


def kernel_matrix(kernel: Kernel, products: Products) -> Any:
    """(n, n) from cached products instead of from the rows."""
    K = kernel.linear * products.inner + kernel.bias
    if kernel.rbf:
        K += kernel.rbf * np.exp(products.distances / (-2 * kernel.length_scale**2))
    return K
