"""What a fitted `OrthogonalTargetGP` believes about a batch of items, and the variances it keeps of a pool."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.models.targets.regression import KernelGroup
from labelwise.models.targets.state import TargetState
from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part, array_parts
from labelwise.numerics.gp.kernels import Kernel, inner_products, squared_distances
from labelwise.numerics.gp.pool_variances import PoolVariances
from labelwise.numerics.linear_algebra import add_diagonal, cholesky
from labelwise.posterior import ItemCovariance, LabelCovariances, LabelPosterior, TargetGroup
from labelwise.posterior.gaussian import KernelCovariance, calibrated_covariances, draw_probabilities

STORED_NUMBERS = 2**26  # kept for the variances of one pool, 512 MiB; larger pools keep upper bounds only
POOLS = 2  # the most recent ones are remembered


class OrthogonalTargetPosterior(LabelPosterior):
    """Beliefs of an `OrthogonalTargetGP` about some items.

    `scores` ranks labels by the model's decoder; `probabilities` are calibrated means of the linear one;
    `target_means` and `target_variances` are those of the regression, noise included.
    """

    def __init__(self, state: TargetState, X: Any, pools: PoolMemory) -> None:
        super().__init__(X.shape[0], state.projection.shape[1])
        self._state, self._X, self._pools = state, X, pools

    @cached_property
    def _prepared(self) -> Any:
        return self._state.scaling(self._X)

    @cached_property
    def _codes(self) -> FloatArray:
        return self._state.directions.codes(self._state.regression.means(self._prepared))

    def codes(self) -> FloatArray:
        """(n, c) predicted codes of the items' labels."""
        return self._codes

    def target_means(self) -> FloatArray:
        """(n, k) mean of every target, in units of its spread."""
        return self._state.regression.means(self._prepared)

    def target_variances(self) -> FloatArray:
        """(n, k) variance of every target as an answer would show it."""
        return self._state.regression.variances(self._prepared)

    def target_weights(self) -> FloatArray:
        """(k,) share of the labels' variance that each target has."""
        return self._state.target_weights

    def scores(self, decoder: str | None = None) -> FloatArray:
        """(n, q) by what labels are ranked: the model's decoder, or the named one."""
        return self._state.decoder.scores(self._codes, decoder or self._state.settings.decoder)

    def ranking(self) -> FloatArray:
        return self.scores()

    def label_counts(self) -> FloatArray:
        """(n,) number of labels, regressed on the features like a target."""
        regression, centre, spread = self._state.counts
        return np.clip(centre + spread * regression.means(self._prepared)[:, 0], 0.0, self.n_labels)

    def probabilities(self) -> FloatArray:
        decoder = self._state.decoder
        means = decoder.linear.decode(decoder.linear_codes(self._codes)).mean
        return self._state.calibration[0].probabilities(means)

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> OrthogonalTargetPosterior:
        return OrthogonalTargetPosterior(self._state, self._X[rows], self._pools)

    def label_covariances(self) -> LabelCovariances:
        """Variances p (1 − p), with the correlation that the Gaussian label prior has once a code is predicted."""
        return calibrated_covariances(self.probabilities(), self._state.correlation)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """(s, n, q) probabilities as they would be if the regression were known, drawn anew for each item.

        As in `LabelGPPosterior`, with the share of a target's variance that is not noise averaged over targets.
        """
        weights = self._state.target_weights
        noises = np.empty(weights.size)
        for group in self._state.groups:
            noises[group.targets] = group.noises
        total = self.target_variances() @ weights  # (n,)
        share = np.clip(1 - (noises @ weights) / np.maximum(total, 1e-12), 0.0, 0.999)[:, None]
        f = self._state.correlation.sample((n_samples, self.n_items), rng)  # (s, n, q)
        return draw_probabilities(self.probabilities(), share, f)

    def item_covariance(self) -> ItemCovariance:
        """Between the items given the rows known nearly in full, in units of the kernel that serves most targets."""
        return self._main_covariance()

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        return self._main_covariance().feature_space(self._state.scaling, basis)

    def parts(self) -> list[Part]:
        return list(array_parts(self._X))

    def _main_covariance(self) -> KernelCovariance:
        group = max(self._state.groups, key=lambda group: group.targets.size)
        return _kernel_covariance(self._state, group, self._prepared)

    def target_groups(self) -> tuple[TargetGroup, ...]:
        """The targets with the covariance of the items; variances of a pool seen before are brought up to date."""
        return self._pools.groups(self._state, self._X)


def _kernel_covariance(state: TargetState, group: KernelGroup, X: Any) -> KernelCovariance:
    known, noise = state.X[state.full], float(np.median(group.ratios))
    L = cholesky(add_diagonal(group.kernel(known), noise), overwrite=True)
    return KernelCovariance(group.kernel, noise, known, L, X)


@dataclass(frozen=True, eq=False)
class StoredCovariance:
    """The covariance of a pool whose T = L⁻¹ K(known, pool) is kept."""

    kernel: Kernel
    pool: PoolVariances
    X: Any  # (N, d) prepared

    @property
    def noise(self) -> float:
        return self.pool.noise

    def diagonal(self) -> FloatArray:
        return self.pool.variances

    def columns(self, rows: IntArray) -> FloatArray:
        return self.kernel(self.X, self.X[rows]) - self.pool.T.T @ self.pool.T[:, rows]

    def factor(self) -> FloatArray | None:
        return None


@dataclass(eq=False)
class _Pool:
    """What is kept of one pool: its prepared rows, and per group of targets the variances after `n_rows` rows, or
    bounds that need not hold for fewer."""

    search: object
    X: Any
    n_rows: int
    stored: list[PoolVariances]
    bounds: list[FloatArray]


@dataclass(eq=False)
class PoolMemory:
    """The variances of pools seen lately, by their content: asked again after one more answer, one row is added.

    Only the model's owner writes to it; what it has handed out does not change.
    """

    pools: dict[bytes, _Pool] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {"pools": {}}  # a copy or a file of the model need not carry what can be computed again

    def groups(self, state: TargetState, X: Any) -> tuple[TargetGroup, ...]:
        key = fingerprint(X)
        pool = self.pools.pop(key, None)
        if pool is None or pool.search is not state.search or pool.n_rows > state.full.size:
            pool = _start(state, state.scaling(X) if pool is None else pool.X)
        _catch_up(state, pool)
        self.pools[key] = pool
        while len(self.pools) > POOLS:
            self.pools.pop(next(iter(self.pools)))
        return tuple(self._group(state, pool, g) for g in range(len(state.groups)))

    def _group(self, state: TargetState, pool: _Pool, g: int) -> TargetGroup:
        group = state.groups[g]
        weights = state.target_weights[group.targets]
        if pool.stored:
            covariance: ItemCovariance = StoredCovariance(group.kernel, pool.stored[g], pool.X)
            return TargetGroup(covariance, group.scales, group.noises, weights)
        covariance = _kernel_covariance(state, group, pool.X)
        return TargetGroup(covariance, group.scales, group.noises, weights, pool.bounds[g])


def _start(state: TargetState, X: Any) -> _Pool:
    """Prior variances; what is known is added by `_catch_up`, or by whoever lowers the bounds, where the pool is too
    large to keep T."""
    priors = [group.kernel.diagonal(X) for group in state.groups]
    if len(state.groups) * max(state.full.size, 1) * X.shape[0] > STORED_NUMBERS:
        return _Pool(state.search, X, 0, [], priors)
    noises = [float(np.median(group.ratios)) for group in state.groups]
    return _Pool(state.search, X, 0, [PoolVariances.start(p, s) for p, s in zip(priors, noises, strict=True)], [])


def _catch_up(state: TargetState, pool: _Pool) -> None:
    if pool.n_rows == state.full.size:
        return
    if not pool.stored:  # whoever got bounds after fewer rows keeps those: they are lowered in place
        pool.bounds = [bounds.copy() for bounds in pool.bounds]
        pool.n_rows = state.full.size
        return
    known = state.X if np.array_equal(state.full, np.arange(state.X.shape[0])) else state.X[state.full]
    X_old, X_new = known[: pool.n_rows], known[pool.n_rows :]
    blocks = (_kernels(state.groups, *rows) for rows in ((X_old, X_new), (X_new,), (X_new, pool.X)))
    pool.stored = [variances.append(*kernels) for variances, *kernels in zip(pool.stored, *blocks, strict=True)]
    pool.n_rows = state.full.size


def _kernels(groups: Sequence[KernelGroup], A: Any, B: Any = None) -> Iterator[FloatArray]:
    """(n, m) of one group after another; where there are several, the products of the rows are computed once."""
    if len(groups) == 1:
        yield groups[0].kernel(A, B)
        return
    inner, distances = inner_products(A, B), squared_distances(A, B)
    for group in groups:
        yield group.kernel.of_products(inner, distances)


def fingerprint(X: Any) -> bytes:
    """A digest of the content of X, dense or csr: rows that were changed in place are other rows."""
    digest = hashlib.blake2b(repr((X.shape, str(X.dtype))).encode(), digest_size=16)
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (np.ascontiguousarray(X),)
    for part in parts:
        digest.update(memoryview(np.ascontiguousarray(part)).cast("B") if part.size else b"")
    return digest.digest()
