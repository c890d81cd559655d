"""Label vectors compressed to codes, one Gaussian process for all codes, and Bayesian recovery of the labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from labelwise.models.base import LabelModel
from labelwise.models.compressed.code import (
    CodeRegression,
    KernelOptions,
    LabelCode,
    SparseOptions,
    learn_code,
    learn_codes,
    make_plan,
)
from labelwise.models.compressed.label_decoders import CodeDecoder, Codes, Decoded, Decoder, fit_decoder_link
from labelwise.models.training_rows import shaping_rows
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.calibration import LogisticLink, base_rates
from labelwise.numerics.feature_scaling import FeatureScaling, learn_scaling
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, Part, array_parts
from labelwise.numerics.label_correlation import LabelCorrelation
from labelwise.numerics.linear_algebra import dense
from labelwise.numerics.recovery.label_codes import KnownLabels
from labelwise.numerics.recovery.row_completion import is_identity
from labelwise.numerics.recovery.sparse_recovery import SparsePrior
from labelwise.numerics.user_input import check_at_least, check_choices, check_positive
from labelwise.posterior import ItemCovariance, LabelCovariances, LabelPosterior
from labelwise.posterior.gaussian import calibrated_covariances, draw_probabilities

CHOICES = {
    "projection": ("auto", "identity", "pca", "gaussian", "orthogonal"),
    "center": ("auto", True, False),
    "label_prior": ("auto", "sparse", "covariance", "flat"),
    "recovery": ("auto", "vb", "fast"),
    "inference": ("marginal", "mean_field"),
    "kernel": ("auto", "linear", "rbf"),
    "scale": ("auto", "none"),
}
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
        self._check_known(values, observed)
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


@dataclass(eq=False, repr=False)
class CompressedLabelGP(LabelModel):
    """Compressed labels, one Gaussian process for all codes, Bayesian recovery of the labels with their covariance.

    A label vector y is compressed to z = Φ (y − ȳ). The k codes share one kernel, so that one Cholesky factor serves
    them all and the code of an item has one variance. A prior over label vectors turns beliefs about the code back into
    beliefs about the labels. Kernel, amplitude and noise maximise the evidence. Probabilities are calibrated on
    closed-form leave-one-out beliefs. `docs/mathematics/compressed_label_gp.md` has the formulas.

    The defaults gave the best results in our measurements, and compress little; `CompressedLabelGP.paper()` is the
    paper's model. Training rows may be partially known, and so may the labels of an item to predict:
    `posterior(X).given(...)`.

    Parameters
    ----------
    projection : "auto", "identity", "pca", "gaussian", "orthogonal" or (k, q) array
        Φ. "auto" is the identity for up to max(64, n/3) labels and PCA of the labels for more.
    n_compressed : int or float, optional
        k, or as a float the share: of the labels for a random Φ, of the label variance for PCA. By default half of
        the labels for a random Φ, and 95 % of the variance for PCA (at most 512 codes).
    center : "auto" or bool
        Whether label frequencies are subtracted first. "auto": yes, except with a sparse prior on a random Φ.
    label_prior : "auto", "flat", "covariance" or "sparse"
        How codes are turned into labels: linearly; by a Gaussian prior with the label covariance; by a prior that
        prefers few labels. "auto" is sparse for a random or given Φ and flat for PCA and the identity. The dependence
        between labels (`label_covariances`, `given`) then comes from the label covariance, with variances p (1 − p). A
        prior that you choose by name does both, exactly.
    recovery : "auto", "vb" or "fast"
        Under the sparse prior: variational updates of all labels at once, or one label at a time. "auto" is "fast" for
        more than 100 labels.
    inference : "marginal" or "mean_field"
        "mean_field" is the older BML-CS: sparse recovery whose variances ignore that of the regression.
    kernel : "auto", "linear", "rbf" or a scikit-learn kernel
        A constant is added to the first three, and "auto" is "linear" or "rbf" by evidence. A kernel object keeps its
        hyper-parameters; its amplitude is learnt.
    length_scale, noise_variance : float, optional
        Of the rbf kernel, in units of the prepared features, and of the codes. By default both by evidence.
    scale : "auto" or "none"
        How features are prepared. "auto": columns of dense features standardised, unless they look like principal
        axes, then rows scaled to unit length; rows of at most ten dense features keep their lengths.
    n_iterations : int
        Of the variational updates.
    prior_shape, prior_rate : float
        Of the sparse prior's Gamma distribution of label precisions.
    compression_share : float
        The share of the noise that "mean_field" puts between codes and labels. The evidence does not determine it.
    random_state : int, RandomState, Generator or None
        Draws Φ, and the rows for the search and the links where there are many.

    Attributes
    ----------
    projection_ : (k, q) array
    label_mean_ : (q,) array
        What is subtracted from the labels, 0 if `center` is off.
    kernel_ : kernel in use, amplitude included
    amplitude_, noise_variance_, log_evidence_ : float
    thresholds_ : (q,) array
        Thresholds for F1 by leave-one-out probabilities, for `labelwise.Threshold(model.thresholds_)`.

    References
    ----------
    Vasisht, Damianou, Varma & Kapoor, Active learning for sparse Bayesian multilabel classification, KDD 2014.
    Kapoor, Viswanathan & Jain, Multilabel classification using Bayesian compressed sensing, NIPS 2012.
    Tai & Lin, Multilabel classification with principal label space transformation, Neural Computation 2012.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> Y = np.array([[0, 1], [0, 1], [0, 1], [1, 0], [1, 0], [1, np.nan]])
    >>> model = CompressedLabelGP(random_state=0).fit(X, Y)
    >>> model.predict(X).tolist()
    [[0, 1], [0, 1], [1, 1], [1, 0], [1, 0], [1, 0]]
    >>> beliefs = model.posterior(np.array([[2.5]]))
    >>> told = beliefs.given(np.array([[1, 0]]), np.array([[True, False]]))  # its first label is present
    >>> bool(told.probabilities()[0, 1] < beliefs.probabilities()[0, 1])
    True
    """

    projection: Any = "auto"
    _: KW_ONLY
    n_compressed: int | float | None = None
    center: Literal["auto"] | bool = "auto"
    label_prior: Literal["auto", "sparse", "covariance", "flat"] = "auto"
    recovery: Literal["auto", "vb", "fast"] = "auto"
    inference: Literal["marginal", "mean_field"] = "marginal"
    kernel: Any = "auto"
    length_scale: float | None = None
    noise_variance: float | None = None
    scale: Literal["auto", "none"] = "auto"
    n_iterations: int = 12
    prior_shape: float = 1e-6
    prior_rate: float = 1e-6
    compression_share: float = 0.5
    random_state: Any = None

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """The paper's model: random Gaussian Φ with half as many codes as labels, nothing centred, sparse recovery by
        variational updates. `parameters` add to these settings or replace them."""
        stated: dict[str, Any] = {"projection": "gaussian", "center": False, "label_prior": "sparse", "recovery": "vb"}
        return cls(**(stated | parameters))

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0 and 1; unknown entries are NaN or not `observed`."""
        self._check_parameters()
        X, Y, observed = self._check_training(X, Y, observed)
        rng = self._generator()
        scaling = learn_scaling(X, self.scale)
        X, priority = scaling(X), rng.random(len(Y))
        labels = KnownLabels(Y, observed)
        code = self._learn_code(labels, rng)
        if not is_identity(code.projection):  # of a row hardly known the regression says more than its answers
            telling = shaping_rows(observed)
            X, labels, priority = X[telling], KnownLabels(Y[telling], observed[telling]), priority[telling]
        options = KernelOptions(self.kernel, self.length_scale, self.noise_variance)
        training = learn_codes(options, code, X, labels, priority)
        found = training.fitted.optimum
        regression = CodeRegression.fit(training, X, priority)
        left_out = regression.left_out(centred=code.plan.center)
        decoder = code.decoder(found.noise)
        link, self.thresholds_ = fit_decoder_link(decoder, left_out, labels, priority)
        by_default = self.label_prior == "auto" and self.inference == "marginal"
        correlation = code.correlation(float(np.median(left_out.variance))) if by_default else None
        family = CodeDecoder(code.projection, base_rates(Y, observed), max(1, round(float(Y.sum() / len(Y)))))
        offset = code.projection @ code.label_mean
        self._fitted = FittedCodes(scaling, regression, decoder, family, offset, link, correlation, self.n_labels_)
        self.projection_, self.label_mean_ = code.projection, code.label_mean
        self.kernel_, self.amplitude_ = training.fitted.kernel, found.amplitude
        self.noise_variance_, self.log_evidence_ = found.noise, found.log_evidence
        return self

    def posterior(self, X: Any) -> CompressedPosterior:
        """Beliefs about the items X; unaffected by what the model learns later."""
        X = self._check_items(X)
        return CompressedPosterior(self._fitted, X)

    def _learn_code(self, labels: KnownLabels, rng: np.random.Generator) -> LabelCode:
        plan = make_plan(self, *labels.labels.shape)
        prior = SparsePrior(self.prior_shape, self.prior_rate)
        share = self.compression_share if self.inference == "mean_field" else None
        sparse = SparseOptions(prior, self.n_iterations, share)
        return learn_code(plan, labels, self.projection, self.n_compressed, sparse, rng)

    def _check_parameters(self) -> None:
        if not isinstance(self.kernel, str) and not (callable(self.kernel) and hasattr(self.kernel, "diag")):
            raise ValueError(f"kernel must be a name or a scikit-learn kernel, got {self.kernel!r}")
        check_choices(self, **CHOICES)
        check_positive(self, "length_scale", "noise_variance", "n_compressed")
        check_at_least(self, 1, "n_iterations")
        if isinstance(self.n_compressed, float) and self.n_compressed > 1:
            raise ValueError(f"n_compressed as a float is a share of at most 1, got {self.n_compressed!r}")
        if not 0 < self.compression_share < 1:
            raise ValueError(f"compression_share must lie between 0 and 1, got {self.compression_share!r}")
