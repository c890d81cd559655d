"""From beliefs about the codes of label vectors to beliefs about the labels: one decoder per label prior.

All of them have the same two methods. `decode` gives means, variances and ranking scores of every label; `covariances`
gives the full covariance of each item's labels, which is q × q per item: hand it blocks of items. `CodeDecoder` is the
family of decoders by name: its scores order the labels of an item, only those of the linear one are beliefs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Protocol, get_args

import numpy as np

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.calibration import Entries, LogisticLink, base_rates, f1_thresholds, fit_link
from labelwise.numerics.recovery.fast_recovery import recover_fast, smoothed_score
from labelwise.numerics.recovery.gaussian_recovery import (
    LabelPrior,
    ProjectedPrior,
    condition,
    posterior_covariance,
    project_prior,
    recover_covariance,
    ridge_prior,
)
from labelwise.numerics.recovery.label_codes import CompressedLabels, KnownLabels, back_project
from labelwise.numerics.recovery.sparse_recovery import (
    SparsePrior,
    label_covariance,
    recover_basis_pursuit,
    recover_binary_pursuit,
    recover_box_lasso,
    recover_cosamp,
    recover_mean_field,
    recover_omp,
    recover_vb,
)
from labelwise.posterior import LabelCovariances

TINY = 1e-10  # variance that is added to a label's own, so that a label that is certain can still be divided by
DecoderName = Literal[
    "lasso", "lp", "omp", "binary_mp", "cosamp", "l2", "correlation", "linear", "scaled_linear", "sparse"
]
DECODERS = get_args(DecoderName)
RIDGE_SHARE = 0.1  # of the mean variance of a code: what the regression is taken to leave open
BLOCK = 4096  # items decoded at a time
LINK_ROWS = 2000  # left-out rows that the link is fitted to, drawn at random


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
        recovered = recover_covariance(codes.shared(), self.projected, known=known)
        return Decoded(recovered.mean, recovered.variance, recovered.mean)

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


@dataclass(frozen=True, eq=False)
class CodeDecoder:
    """Decoders for one code Φ, base rates π and number of labels κ that pursuits pick.

    Codes here are those of labels that are not centred, r = Φ y.
    """

    projection: FloatArray  # (c, q)
    rates: FloatArray  # (q,) π
    n_picks: int

    @cached_property
    def linear(self) -> CovarianceDecoder:
        """Independent labels of mean π and variance π (1 − π), given their code: equation (27)."""
        prior = LabelPrior(self.rates, np.diag(self.rates * (1 - self.rates)))
        return CovarianceDecoder(project_prior(prior, self.projection))

    @cached_property
    def noise(self) -> float:
        """The variance that the linear decoder grants a predicted code."""
        spread = (self.projection**2 @ (self.rates * (1 - self.rates))).mean()
        return max(RIDGE_SHARE * float(spread), 1e-12)

    def linear_codes(self, codes: FloatArray) -> Codes:
        """Centred codes with their variance, as the linear decoder takes them."""
        return Codes(codes - self.projection @ self.rates, np.full((codes.shape[0], 1), self.noise))

    def scores(self, codes: FloatArray, name: str) -> FloatArray:
        """(n, q) by the named decoder, in blocks of items."""
        parts = [self._scores(codes[start : start + BLOCK], name) for start in range(0, codes.shape[0], BLOCK)]
        return np.vstack(parts) if parts else np.zeros((0, self.rates.size))

    def _scores(self, codes: FloatArray, name: str) -> FloatArray:
        Phi = self.projection
        if name == "lasso":
            return recover_box_lasso(codes, Phi)
        if name == "lp":
            return recover_basis_pursuit(codes, Phi)
        if name == "l2":
            return codes @ np.linalg.pinv(Phi).T
        if name == "correlation":
            return codes @ Phi
        if name in PURSUITS:
            return PURSUITS[name](codes, Phi, self.n_picks)
        if name == "sparse":
            compressed = CompressedLabels(codes, np.full(codes.shape[0], self.noise))
            return smoothed_score(recover_fast(compressed, Phi), compressed, ridge_prior(Phi))
        mean = self.linear.decode(self.linear_codes(codes)).mean
        if name == "linear":
            return mean
        if name == "scaled_linear":
            return (mean - self.rates) / np.sqrt(self.rates * (1 - self.rates))
        raise ValueError(f"decoder must be one of {', '.join(map(repr, DECODERS))}, got {name!r}")


PURSUITS = {"omp": recover_omp, "binary_mp": recover_binary_pursuit, "cosamp": recover_cosamp}


def fit_decoder_link(
    decoder: Decoder, left_out: Codes, labels: KnownLabels, priority: FloatArray
) -> tuple[LogisticLink, FloatArray]:
    """The link from the decoder's scores to probabilities, and thresholds (q,) for F1, by rows that were left out.

    Scores without a centre of their own are taken to depart from their mean.
    """
    rates = base_rates(labels.labels, labels.observed)
    rows = np.sort(np.argsort(priority)[:LINK_ROWS])
    scores = decoder.decode(Codes(left_out.mean[rows], left_out.variance[rows])).score  # (n, q)
    Y, observed = labels.labels[rows], labels.observed[rows]
    centre = decoder.centre if decoder.centre is not None else scores.mean(axis=0)
    entries = Entries.of(Y, observed)
    link = fit_link((scores - centre).T[observed.T], entries, rates, centre)
    return link, f1_thresholds(link.probabilities(scores).T[observed.T], entries)
