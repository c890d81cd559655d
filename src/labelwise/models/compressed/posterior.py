"""What a fitted `CompressedLabelGP` believes about a batch of items, computed when asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.models.compressed.label_decoders import CodeDecoder, Codes, Decoded, Decoder
from labelwise.models.compressed.regression import CodeRegression
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.calibration import LogisticLink
from labelwise.numerics.feature_scaling import FeatureScaling
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part, array_parts
from labelwise.numerics.label_correlation import LabelCorrelation
from labelwise.numerics.linear_algebra import dense
from labelwise.numerics.recovery.label_codes import KnownLabels
from labelwise.posterior import ItemCovariance, LabelCovariances, LabelPosterior
from labelwise.posterior.gaussian import calibrated_covariances, draw_probabilities

BLOCK_NUMBERS = 2**23  # numbers in the label covariances of a block of items: 64 MiB
MIN_PROBABILITY = 1e-4  # the least probability of a label, or of its absence, that known labels may lead to


@dataclass(frozen=True, eq=False)
class FittedCodes:
    """Everything a posterior needs of the fitted model."""

    scaling: FeatureScaling
    regression: CodeRegression
    decoder: Decoder
    family: CodeDecoder  # other ways from codes to scores, by name
    offset: FloatArray  # (k,) Φ ȳ, what a centred regression takes off its codes
    link: LogisticLink
    correlation: LabelCorrelation | None  # of an item's labels; None: as the decoder has it
    n_labels: int


class CompressedPosterior(LabelPosterior):
    """Beliefs of a `CompressedLabelGP` about some items, some of whose labels may be known.

    `probabilities` are calibrated; `means` and `variances` are those of the recovered label vectors, which need not
    lie between 0 and 1, and `scores` orders labels as the model does.
    """

    def __init__(self, fitted: FittedCodes, X: Any, answers: tuple[tuple[Any, Any], ...] = ()) -> None:
        super().__init__(X.shape[0], fitted.n_labels)
        self._fitted, self._X, self._answers = fitted, X, answers

    @cached_property
    def _prepared(self) -> Any:
        return self._fitted.scaling(self._X)

    @cached_property
    def _codes(self) -> Codes:
        return self._fitted.regression.predict(self._prepared)

    @cached_property
    def _known(self) -> KnownLabels | None:
        """All answers together; the later one counts where two are about the same label."""
        if not self._answers:
            return None
        values = np.zeros((self.n_items, self.n_labels), dtype=bool)
        observed = np.zeros_like(values)
        for some_values, some_observed in self._answers:
            mask = dense(some_observed).astype(bool)
            values, observed = np.where(mask, dense(some_values).astype(bool), values), observed | mask
        return KnownLabels(values, observed)

    @cached_property
    def _before(self) -> Decoded:
        """Without any answers."""
        return self._fitted.decoder.decode(self._codes)

    @cached_property
    def _decoded(self) -> Decoded:
        return self._before if self._known is None else self._fitted.decoder.decode(self._codes, self._known)

    def means(self) -> FloatArray:
        """(n, q) mean of the recovered labels."""
        return self._decoded.mean

    def variances(self) -> FloatArray:
        """(n, q) variance of the recovered labels, noise included; 0 where the label is known."""
        return self._decoded.variance

    def scores(self, decoder: str | None = None) -> FloatArray:
        """(n, q) what the model ranks labels by: the means, and where those tie at 0, what is left of the codes.

        A named `decoder` ("lasso", "omp", "scaled_linear", ...: those of `OrthogonalTargetGP`) serves instead; it heeds
        no answers.
        """
        if decoder is not None:
            return self._fitted.family.scores(self._codes.mean + self._fitted.offset, decoder)
        return self._decoded.score

    def probabilities(self) -> FloatArray:
        """(n, q) calibrated probabilities; known labels move those of the others as far as they move their means."""
        p = self._fitted.link.probabilities(self._before.score)
        if self._known is None:
            return p
        some = self._known.observed.any(axis=1, keepdims=True)  # (n, 1)
        moved = np.clip(p + self._decoded.mean - self._before.mean, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
        return np.where(self._known.observed, self._known.labels, np.where(some, moved, p))

    def ranking(self) -> FloatArray:
        return self.scores()

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> CompressedPosterior:
        answers = tuple((values[rows], observed[rows]) for values, observed in self._answers)
        return CompressedPosterior(self._fitted, self._X[rows], answers)

    def given(self, values: Any, observed: Any) -> LabelPosterior:
        """Beliefs once some of the items' own labels are known.

        Under a label prior that was asked for, by that prior: the sparse recovery with known labels held at their
        values, or the Gaussian prior conditioned on them. Otherwise by `label_covariances`.
        """
        if self._fitted.correlation is not None or not self._fitted.decoder.heeds_known:
            return super().given(values, observed)
        for name, matrix in (("values", values), ("observed", observed)):
            if matrix.shape != (self.n_items, self.n_labels):
                raise ValueError(f"{name} has shape {matrix.shape}, expected {(self.n_items, self.n_labels)}")
        return CompressedPosterior(self._fitted, self._X, (*self._answers, (values, observed)))

    def label_covariances(self) -> LabelCovariances:
        """The covariance of each item's labels given what is known of it.

        Under a label prior that was asked for, that of the recovered labels, exactly; it is q × q per item, except for
        the flat prior: walk large batches with `blocks`. Otherwise variances p (1 − p) with the correlation of the
        Gaussian label prior given a typical code.
        """
        correlation = self._fitted.correlation
        if correlation is None:
            return self._fitted.decoder.covariances(self._codes, self._known)
        return calibrated_covariances(self.probabilities(), correlation)

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        drawn = np.empty((n_samples, self.n_items, self.n_labels), dtype=bool)
        for part, beliefs in self._covariance_blocks():
            drawn[:, part] = LabelPosterior.sample_labels(beliefs, n_samples, rng)
        return drawn

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """(s, n, q) probabilities as they would be if the regression functions were known, drawn anew for each item.

        Of the variance of a code the share 1 − noise / v is the functions'. Labels share a draw as `label_covariances`
        says.
        """
        drawn = np.empty((n_samples, self.n_items, self.n_labels))
        for part, beliefs in self._covariance_blocks():
            covariances, variance = beliefs.label_covariances(), beliefs._codes.variance
            own = rng.standard_normal((n_samples, *covariances.diagonal.shape)) * np.sqrt(covariances.diagonal)
            shared = rng.standard_normal((n_samples, *covariances.factor.shape[::2]))  # (s, n, r)
            f = (own + np.einsum("snr,nqr->snq", shared, covariances.factor)) / np.sqrt(covariances.variances())
            share = 1 - self._fitted.regression.solver.noise / variance  # (n, 1) or (n, q)
            drawn[:, part] = draw_probabilities(beliefs.probabilities(), share, f)
        return drawn

    def _covariance_blocks(self) -> Iterator[tuple[slice, CompressedPosterior]]:
        """Blocks of items whose label covariances fit into BLOCK_NUMBERS numbers."""
        size = max(1, BLOCK_NUMBERS // self.n_labels**2)
        for start in range(0, self.n_items, size):
            part = slice(start, min(start + size, self.n_items))
            yield part, self.rows(part)

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        covariance = self._fitted.regression.item_covariance(self._prepared)
        return covariance.feature_space(self._fitted.scaling, basis)

    def parts(self) -> list[Part]:
        return list(array_parts(self._X))

    def item_covariance(self) -> ItemCovariance:
        """Covariance between the items given the rows known in full: the same for every code, before the noise."""
        return self._fitted.regression.item_covariance(self._prepared)
