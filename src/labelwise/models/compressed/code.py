"""The code of label vectors that a `CompressedLabelGP` learns, and the label priors that go with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from labelwise.models.compressed.label_decoders import CovarianceDecoder, Decoder, FlatDecoder, SparseDecoder
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.calibration import base_rates
from labelwise.numerics.label_correlation import LabelCorrelation, low_rank
from labelwise.numerics.recovery.gaussian_recovery import (
    LabelPrior,
    posterior_covariance,
    project_prior,
    shrunk_label_prior,
)
from labelwise.numerics.recovery.label_codes import (
    KnownLabels,
    centre_labels,
    gaussian_projection,
    identity_projection,
    orthogonal_projection,
    pca_projection,
)
from labelwise.numerics.recovery.sparse_recovery import SparsePrior

LINEAR = ("identity", "pca")
RANDOM = {"gaussian": gaussian_projection, "orthogonal": orthogonal_projection}
FEW_LABELS = 64  # so many labels are never worth compressing, nor are fewer than a third of the rows
MOST_COMPRESSED = 512  # codes that PCA makes unless told otherwise
VARIANCE_SHARE = 0.95  # of the labels, that PCA keeps unless told otherwise
LEAST_LEFT_OVER = 1e-4  # variance of a label that its code cannot express, though no row has shown any
VB_LABELS = 100  # with more, sparse recovery is sequential


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
        Phi: FloatArray = np.asarray(given, dtype=np.float64)
        if Phi.ndim != 2 or Phi.shape[1] != n_labels or Phi.shape[0] == 0 or not np.isfinite(Phi).all():
            raise ValueError(
                f"projection must be a finite (k, {n_labels}) array, one column per label, got {Phi.shape}"
            )
        return Phi
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
