"""From beliefs about the codes of label vectors to beliefs about the labels: one decoder per label prior.

All of them have the same two methods. `decode` gives means, variances and ranking scores of every label; `covariances`
gives the full covariance of each item's labels, which is q × q per item: hand it blocks of items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from labelwise.numerics.fast_recovery import recover_fast
from labelwise.numerics.gaussian_recovery import ProjectedPrior, condition, posterior_covariance, recover_covariance
from labelwise.numerics.label_codes import CompressedLabels, KnownLabels, back_project
from labelwise.numerics.sparse_recovery import SparsePrior, label_covariance, recover_mean_field, recover_vb
from labelwise.posterior import FloatArray, LabelCovariances

TINY = 1e-10  # variance that is added to a label's own, so that a label that is certain can still be divided by


class Codes(NamedTuple):
    """What the regression believes about the codes of n items, its noise included."""

    mean: FloatArray  # (n, k)
    variance: FloatArray  # (n, 1), or (n, k) where codes are labels that were answered on different rows

    def shared(self, shift: FloatArray | float = 0.0) -> CompressedLabels:
        """With one variance per item, the mean of all, and `shift` (k,) added to every code."""
        return CompressedLabels(self.mean + shift, self.variance.mean(axis=1))


class Decoded(NamedTuple):
    """Beliefs about every label of every item."""

    mean: FloatArray  # (n, q)
    variance: FloatArray  # (n, q)
    score: FloatArray  # (n, q), orders the labels of an item where means tie


class Decoder(Protocol):
    @property
    def heeds_known(self) -> bool:
        """Whether known labels tell about the others."""

    @property
    def centre(self) -> FloatArray | None:
        """(q,) what means are where nothing is learnt about an item; None where that is not known in advance."""

    def decode(self, codes: Codes, known: KnownLabels | None = None) -> Decoded: ...

    def covariances(self, codes: Codes, known: KnownLabels | None = None) -> LabelCovariances: ...


@dataclass(frozen=True, eq=False)
class FlatDecoder:
    """y = ȳ + Φᵀ z and what no code can express, equation (8)."""

    projection: FloatArray  # (k, q)
    label_mean: FloatArray  # (q,)
    left_over: FloatArray  # (q,) variance of the labels outside the rows of Φ
    is_identity: bool
    heeds_known: ClassVar[bool] = False

    @property
    def centre(self) -> FloatArray:
        return self.label_mean

    def decode(self, codes: Codes, known: KnownLabels | None = None) -> Decoded:
        mean = back_project(codes.mean, self.projection, self.label_mean)
        squares = self.projection**2  # (k, q)
        shared = codes.variance.shape[1] == 1
        variance = codes.variance @ (squares.sum(axis=0, keepdims=True) if shared else squares) + self.left_over
        return Decoded(mean, variance, mean)

    def covariances(self, codes: Codes, known: KnownLabels | None = None) -> LabelCovariances:
        n, q = codes.mean.shape[0], self.projection.shape[1]
        if self.is_identity:
            return LabelCovariances(np.broadcast_to(codes.variance, (n, q)) + TINY, np.zeros((n, q, 0)))
        factor = np.sqrt(codes.variance)[:, :, None] * self.projection.T  # (n, q, k)
        return LabelCovariances(np.broadcast_to(self.left_over + TINY, (n, q)), factor)


@dataclass(frozen=True, eq=False)
class CovarianceDecoder:
    """A Gaussian prior over label vectors: which labels are frequent, and which come together; equation (7)."""

    projected: ProjectedPrior
    heeds_known: ClassVar[bool] = True

    @property
    def centre(self) -> FloatArray:
        return self.projected.prior.mean

    def decode(self, codes: Codes, known: KnownLabels | None = None) -> Decoded:
        found = recover_covariance(codes.shared(), self.projected, known=known)
        return Decoded(found.mean, found.variance, found.mean)

    def covariances(self, codes: Codes, known: KnownLabels | None = None) -> LabelCovariances:
        shape = codes.mean.shape[0], self.projected.prior.mean.size
        return _full_covariances(self._each(codes.shared(), known), shape)

    def _each(self, compressed: CompressedLabels, known: KnownLabels | None) -> Iterator[FloatArray]:
        """(q, q) of one item after another."""
        nothing = np.zeros(self.projected.prior.mean.size)  # an answer's value moves the mean, never the covariance
        for i, noise in enumerate(compressed.variance):
            covariance = posterior_covariance(self.projected, float(noise))
            if known is not None and known.observed[i].any():
                labels = np.flatnonzero(known.observed[i])
                covariance = condition(nothing, covariance, labels, nothing[labels])[1]
            yield covariance


@dataclass(frozen=True, eq=False)
class SparseDecoder:
    """Few labels per item: a precision αⱼ for every label of every item, equation (6).

    `compression_share` is None for the marginal inference; a number is the share of `noise` that the mean-field
    inference puts between codes and labels.
    """

    projection: FloatArray  # (k, q)
    offset: FloatArray  # (k,), Φ ȳ of a centred regression: sparse is y, not y − ȳ
    prior: SparsePrior
    n_iterations: int
    fast: bool
    noise: float
    compression_share: float | None
    gram: FloatArray = field(init=False)  # (q, q)
    heeds_known: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gram", self.projection.T @ self.projection)

    @property
    def centre(self) -> None:
        return None

    def decode(self, codes: Codes, known: KnownLabels | None = None) -> Decoded:
        mean, variance, score, _ = self._recover(codes.shared(self.offset), known)
        return Decoded(mean, variance, score)

    def covariances(self, codes: Codes, known: KnownLabels | None = None) -> LabelCovariances:
        compressed = codes.shared(self.offset)
        precision = self._recover(compressed, known)[3]
        share = self.compression_share
        noises = compressed.variance if share is None else np.full(compressed.variance.shape, share * self.noise)
        each = (label_covariance(self.projection, float(v), alpha) for v, alpha in zip(noises, precision, strict=True))
        return _full_covariances(each, precision.shape)

    def _recover(
        self, compressed: CompressedLabels, known: KnownLabels | None
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Mean, variance, score and precision (n, q) by the chosen inference."""
        if self.compression_share is not None:
            mean_field = recover_mean_field(
                compressed.mean,
                self.projection,
                regression_noise=(1 - self.compression_share) * self.noise,
                compression_noise=self.compression_share * self.noise,
                known=known,
                prior=self.prior,
                n_iterations=self.n_iterations,
            )
            return mean_field.mean, mean_field.variance, mean_field.mean, mean_field.precision
        if self.fast:
            fast = recover_fast(compressed, self.projection, known=known, gram=self.gram)
            return fast.mean, fast.variance, fast.score, fast.precision
        vb = recover_vb(compressed, self.projection, known=known, prior=self.prior, n_iterations=self.n_iterations)
        return vb.mean, vb.variance, vb.mean, vb.precision


def _full_covariances(each: Iterator[FloatArray], shape: tuple[int, ...]) -> LabelCovariances:
    """Covariances without low-rank form as their Cholesky factors: exact up to twice TINY on the diagonal."""
    factor = np.empty((*shape, shape[1]))  # (n, q, q)
    for i, covariance in enumerate(each):
        covariance[np.diag_indices_from(covariance)] += TINY
        factor[i] = np.linalg.cholesky(covariance)
    return LabelCovariances(np.full(shape, TINY), factor)
