"""What an `OrthogonalTargetGP` has learnt, as one value: a posterior keeps it, and learning more makes a new one.

Adding a row only writes it down. What follows from the rows is computed when it is asked for, so that a campaign that
asks for variances after every answer does not pay for predictions nobody wanted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labelwise.models.compressed.label_decoders import CodeDecoder, fit_decoder_link
from labelwise.models.targets.regression import (
    GroupRegression,
    KernelGroup,
    SearchOptions,
    TargetRegression,
    kernel_matrix,
    search_groups,
    warm_starts,
)
from labelwise.models.training_rows import COMPLETE_ROWS, COMPLETION_ROUNDS, TrainingRows
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.calibration import LogisticLink, base_rates
from labelwise.numerics.feature_scaling import FeatureScaling
from labelwise.numerics.gp.kernels import inner_products
from labelwise.numerics.gp.target_kernel import Products, ShapeSpectrum
from labelwise.numerics.label_correlation import LabelCorrelation, low_rank
from labelwise.numerics.recovery.gaussian_recovery import (
    LabelPrior,
    posterior_covariance,
    project_prior,
    shrunk_label_prior,
)
from labelwise.numerics.recovery.label_codes import (
    Directions,
    KnownLabels,
    empirical_pca,
    encode,
    plain_pca,
    variational_pca,
)
from labelwise.numerics.recovery.row_completion import FilledCodes, fill_codes, is_identity, telling_rows

SEARCH_ROWS = 600  # kernels, scales and noises are searched on at most so many rows, drawn at random
FULL_SHARE = 0.8  # of the labels anybody was asked about: a row known so well counts for the variances of others
LEAST_VARIANCE = 1e-9
RANK = 32


class TargetSettings(NamedTuple):
    """What the user has decided, apart from the regression."""

    bpca: str  # "none", "evb", "vb" or "pca"
    n_targets: int | None
    decoder: str
    n_picks: int | None
    options: SearchOptions


class LearntTargets(NamedTuple):
    """What a search finds."""

    directions: Directions
    groups: tuple[KernelGroup, ...]


@dataclass(frozen=True, eq=False)
class TargetSearch:
    """One search, and how much was known at it; two are compared by identity."""

    n_known: IntArray  # (n,) known labels of every row there was
    n_since_kernels: int = 0  # rows that came before it and after the last search of kernels


@dataclass(frozen=True, eq=False)
class TargetState:
    """Rows, code, directions and kernels. Nothing in it is changed after it was made."""

    settings: TargetSettings
    scaling: FeatureScaling
    rows: TrainingRows
    X: Any  # (n, d) prepared
    projection: FloatArray  # (c, q) Φ
    directions: Directions
    groups: tuple[KernelGroup, ...]
    products: Products  # of the rows at the last search
    full: IntArray  # rows known nearly in full, in the order in which they became so
    priority: FloatArray  # (n,) rows of least priority serve the link
    search: TargetSearch  # differs between searches: factors made under another one are of no use

    @property
    def n_waiting(self) -> int:
        """Rows that are new since the last search or have new answers."""
        now, before = self.rows.observed.sum(axis=1), self.search.n_known
        return now.size - before.size + int(np.count_nonzero(now[: before.size] != before))

    @cached_property
    def labels(self) -> KnownLabels:
        return KnownLabels(self.rows.Y, self.rows.observed)

    @cached_property
    def rates(self) -> FloatArray:
        return base_rates(self.rows.Y, self.rows.observed)  # (q,)

    @cached_property
    def label_prior(self) -> LabelPrior:
        return label_prior(self.labels, self.rates)

    @cached_property
    def all_products(self) -> Products:
        return grow_products(self.products, self.X)

    @cached_property
    def targets_are_labels(self) -> bool:
        """Whether every target is one label: then it is known exactly where that label is."""
        return is_identity(self.projection) and is_identity(self.directions.basis)

    @cached_property
    def filled(self) -> FilledCodes:
        """Codes and labels of the rows that tell something of theirs, unknown labels as everything known says."""
        if self.targets_are_labels and not self.rows.observed.all():
            rows = telling_rows(self.rows.observed)
            believed = self.directions.codes(self.regression.means(self.X[rows]))
            codes = np.where(self.rows.observed[rows], self.rows.Y[rows], believed)
            return FilledCodes(rows, codes, np.clip(codes, 0.0, 1.0))
        return fill(
            self.labels,
            self.label_prior,
            self.projection,
            LearntTargets(self.directions, self.groups),
            self.all_products,
        )

    @cached_property
    def known(self) -> BoolArray:
        """(n, k) which targets of which rows count as answered: labels where they are, mixtures of labels on the rows
        that tell something of theirs."""
        if self.targets_are_labels:
            return self.rows.observed
        known = np.zeros((len(self.rows), self.directions.variances.size), dtype=bool)
        known[self.filled.rows] = True
        return known

    @cached_property
    def targets(self) -> FloatArray:
        """(n, k), 0 where nothing counts as known."""
        if self.targets_are_labels:
            codes = np.where(self.rows.observed, self.rows.Y, self.directions.centre)
            return self.directions.targets(codes)
        targets = np.zeros(self.known.shape)
        targets[self.filled.rows] = self.directions.targets(self.filled.codes)
        return targets

    @cached_property
    def regression(self) -> TargetRegression:
        return TargetRegression.of(self.groups, self.X, self.all_products, self.targets, self.known)

    @cached_property
    def target_weights(self) -> FloatArray:
        """(k,) λ / Σ λ, 0 for targets that do not vary."""
        lam = np.where(self.directions.variances > LEAST_VARIANCE, self.directions.variances, 0.0)
        return lam / lam.sum() if lam.any() else np.full(lam.size, 1 / lam.size)

    @cached_property
    def decoder(self) -> CodeDecoder:
        return CodeDecoder(self.projection, self.rates, self.settings.n_picks or max(1, round(self.cardinality)))

    @property
    def cardinality(self) -> float:
        """Mean number of labels of the rows that tell something of theirs."""
        return float(self.filled.labels.sum(axis=1).mean())

    @cached_property
    def _left_out(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Rows, and beliefs about their targets given the other ones of them. These are nearly complete rows where
        there are enough, for what was filled in on the others has seen the labels that are left out."""
        rows, everything = self.full, np.arange(len(self.rows))
        if self.rows.observed.all() or rows.size < COMPLETE_ROWS:
            return everything, *self.regression.left_out()
        part = self.all_products.take(rows)
        some = TargetRegression.of(self.groups, self.X[rows], part, self.targets[rows], self.known[rows])
        return rows, *some.left_out()

    @cached_property
    def calibration(self) -> tuple[LogisticLink, FloatArray]:
        """The link from the linear decoder's means to probabilities, and thresholds for F1, by leaving rows out."""
        rows, means, _ = self._left_out
        linear = self.decoder.linear_codes(self.directions.codes(means))
        known = KnownLabels(self.rows.Y[rows], self.rows.observed[rows])
        return fit_decoder_link(self.decoder.linear, linear, known, self.priority[rows])

    @cached_property
    def correlation(self) -> LabelCorrelation:
        """Of the labels of an item whose code is predicted: the Gaussian label prior given a typical code."""
        rows, _, left_out = self._left_out
        variances = left_out.sum(axis=0) / np.maximum(self.known[rows].sum(axis=0), 1)  # (k,)
        noise = max(float((variances * self.directions.variances).sum() / self.projection.shape[0]), LEAST_VARIANCE)
        covariance = posterior_covariance(project_prior(self.label_prior, self.projection), noise)
        scale = np.sqrt(covariance.diagonal())
        return low_rank(covariance / np.outer(scale, scale), RANK)

    @cached_property
    def counts(self) -> tuple[GroupRegression, float, float]:
        """A regression of the number of labels with the kernel of the targets, its mean and its spread."""
        counts, rows = self.filled.labels.sum(axis=1), self.filled.rows
        centre, spread = float(counts.mean()), float(counts.std())
        y = ((counts - centre) / (spread if spread > 0 else 1.0))[:, None]
        kernel, products = self.regression.kernel, self.all_products.take(rows)
        best = ShapeSpectrum.of(kernel_matrix(kernel, products), y).best_scales()
        group = KernelGroup(kernel, np.zeros(1, dtype=np.intp), best.scales, best.ratios, np.empty(0), np.nan)
        return GroupRegression(group, self.X[rows], products, y, np.ones_like(y, dtype=bool)), centre, spread


def label_prior(labels: KnownLabels, rates: FloatArray) -> LabelPrior:
    """The Gaussian label prior by which unknown labels are filled in."""
    prior = shrunk_label_prior(labels.labels, labels.observed)
    return LabelPrior(np.where(labels.observed.any(axis=0), prior.mean, rates), prior.covariance)


def grow_products(products: Products, X: Any) -> Products:
    """Products of all rows of X from those of the first."""
    n = products.inner.shape[0]
    if n == X.shape[0]:
        return products
    return products.grown(inner_products(X[n:], X[:n]), inner_products(X[n:]))


def fill(
    labels: KnownLabels, prior: LabelPrior, projection: FloatArray, learnt: LearntTargets, products: Products
) -> FilledCodes:
    """Codes of the rows that tell something of theirs, one covariance over the rows serving all codes: the mean of
    those of the targets, each in units of the codes."""
    if labels.observed.all():
        return FilledCodes(np.arange(len(labels.labels)), encode(labels.values(), projection), labels.values())
    C, noise, variances = np.zeros_like(products.inner), LEAST_VARIANCE, learnt.directions.variances
    for group in learnt.groups:
        signals = group.scales * variances[group.targets] / variances.size  # (k,)
        C += signals.sum() * kernel_matrix(group.kernel, products)
        noise += float(signals @ group.ratios)
    C[np.diag_indices_from(C)] += noise
    return fill_codes(labels, projection, C, noise, prior)


def learn_directions(codes: FloatArray, settings: TargetSettings) -> Directions:
    """The targets: codes themselves in units of their spread, or the directions Bayesian PCA keeps."""
    if settings.bpca == "none" or len(codes) < 3 or not np.any(codes != codes[0]):
        variances = np.maximum(codes.var(axis=0), LEAST_VARIANCE)
        return Directions(codes.mean(axis=0), np.eye(codes.shape[1]), variances, 0.0)
    if settings.bpca == "evb":
        return empirical_pca(codes)
    if settings.bpca == "vb":
        return variational_pca(codes).directions
    return plain_pca(codes, settings.n_targets)


def learn_targets(
    settings: TargetSettings,
    labels: KnownLabels,
    products: Products,
    projection: FloatArray,
    before: LearntTargets | None,
    rng: np.random.Generator,
) -> LearntTargets:
    """Directions and kernels from the known labels; where complete rows are too few, from all rows that tell something
    of their codes, unknown labels filled in."""
    complete: BoolArray = np.all(labels.observed, axis=1)
    if complete.all() or complete.sum() >= COMPLETE_ROWS:
        rows = np.flatnonzero(complete)
        part = products if complete.all() else products.take(rows)
        return _learn(settings, encode(labels.values()[rows], projection), part, before, rng)
    rates = base_rates(labels.labels.astype(bool), labels.observed)
    prior = label_prior(labels, rates)
    rows = telling_rows(labels.observed)
    part = products.take(rows)
    learnt = _learn(
        settings, encode(np.where(labels.observed, labels.values(), rates)[rows], projection), part, before, rng
    )
    for _ in range(COMPLETION_ROUNDS - 1):
        codes = fill(labels, prior, projection, learnt, products).codes
        learnt = _learn(settings, codes, part, learnt, rng)
    return learnt


def _learn(
    settings: TargetSettings,
    codes: FloatArray,
    products: Products,
    before: LearntTargets | None,
    rng: np.random.Generator,
) -> LearntTargets:
    directions = learn_directions(codes, settings)
    starts = None
    if before is not None:
        overlap = np.abs(directions.basis.T @ before.directions.basis)
        starts = warm_starts(before.groups, overlap, products.start())
    targets = directions.targets(codes)
    targets[:, directions.variances <= LEAST_VARIANCE] = 0.0  # a code that does not vary has nothing to tell
    if len(targets) > SEARCH_ROWS:
        rows = np.sort(rng.permutation(len(targets))[:SEARCH_ROWS])
        products, targets = products.take(rows), targets[rows]
    return LearntTargets(directions, search_groups(settings.options, products, targets, starts, rng))


def full_rows(observed: BoolArray, before: IntArray) -> IntArray:
    """Rows known in at least FULL_SHARE of the labels ever asked about: those of `before`, then the others."""
    if observed.all() and np.array_equal(before, np.arange(before.size)):
        return np.arange(len(observed))
    asked = observed.any(axis=0)
    well_known = observed[:, asked].mean(axis=1) >= FULL_SHARE
    well_known[before] = False
    return np.concatenate([before, np.flatnonzero(well_known)])


Search = TargetSearch  # its name in model files of 0.1
