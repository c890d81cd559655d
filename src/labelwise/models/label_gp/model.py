"""One Gaussian process regression with a shared kernel on all labels at once: simple, fast and hard to beat."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone

from labelwise.models.base import LabelModel
from labelwise.models.label_gp.posterior import FittedLabelGP, LabelGPPosterior, Limits, make_solver
from labelwise.models.training_rows import TrainingRows
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.feature_scaling import learn_scaling
from labelwise.numerics.gp.search import ChosenKernel, Fixed, KernelSearch, choose_parts
from labelwise.numerics.user_input import check_at_least, check_choices

KERNELS = ("auto", "linear", "rbf", "rbf+linear")


@dataclass(eq=False, repr=False)
class LabelGP(LabelModel):
    """One Gaussian process regression on all labels, with probabilities calibrated by leaving one out.

    The 0/1 labels, centred, are regressed on the features with one kernel and one noise level for all of them; one
    Cholesky factor serves every label answered on the same rows. Kernel and noise are chosen by the evidence of all
    labels together. A logistic link, fitted to closed-form leave-one-out means, turns means into probabilities.
    `docs/mathematics/label_gp.md` has the formulas.

    Labels may be answered on different rows; each is then regressed on its own rows. A row with the same features as an
    earlier one adds answers to that item.

    Parameters
    ----------
    kernel : "auto", "linear", "rbf" or "rbf+linear"
        A constant is always added, see `bias`. "auto" takes the one with the best evidence.
    scale : "auto" or "none"
        How features are prepared. "auto": columns of dense features standardised, unless they look like principal
        axes, then rows scaled to unit length; rows of at most ten dense features keep their lengths.
    noise_ratio, length_scale, linear_share : float, optional
        The noise variance relative to the kernel, the length-scale of the rbf part in units of the prepared features,
        and the weight of the linear part of "rbf+linear". What is not given is chosen by evidence.
    bias : float
        The constant in the kernel: how far the level of a label may differ from its mean.
    n_search : int
        Rows, drawn at random, on which kernel and noise are chosen.
    max_exact : int
        Largest number of rows for which kernel matrices are made. Above, and for a linear kernel on fewer features than
        rows, the model works in a feature space, with memory in proportion to the rows.
    n_inducing : int
        Rows that span the feature space of a kernel with an rbf part.
    rank : int
        Of the label correlation kept beside its diagonal.
    random_state : int, RandomState, Generator or None
        Draws the rows of the search and the inducing rows.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel in use.
    noise_ratio_ : float
        The noise variance in use.
    log_evidence_ : float
        Log evidence plus log prior that chose them, labels together counting as two; NaN where all was given.
    base_rates_ : (q,) array
        Share of yes among each label's answers, smoothed; the mean of the others for a label never answered.
    thresholds_ : (q,) array
        Thresholds for F1 by leave-one-out probabilities, for `labelwise.Threshold(model.thresholds_)`.
    n_items_ : int
        Distinct rows learnt from.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> Y = np.array([[0, 1], [0, 1], [0, 1], [1, 0], [1, 0], [1, np.nan]])
    >>> model = LabelGP(random_state=0).fit(X, Y)
    >>> model.predict(X)
    array([[0, 1],
           [0, 1],
           [1, 1],
           [1, 0],
           [1, 0],
           [1, 0]])
    >>> model.partial_fit([[5.0]], [[np.nan, 0]]).n_items_
    6
    """

    kernel: Literal["auto", "linear", "rbf", "rbf+linear"] = "auto"
    _: KW_ONLY
    scale: Literal["auto", "none"] = "auto"
    noise_ratio: float | None = None
    length_scale: float | None = None
    linear_share: float | None = None
    bias: float = 1.0
    n_search: int = 600
    max_exact: int = 6000
    n_inducing: int = 1000
    rank: int = 32
    random_state: Any = None

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0 and 1; unknown entries are NaN or not `observed`."""
        self._check_parameters()
        X, Y, observed = self._check_training(X, Y, observed)
        rng = self._generator()
        scaling = learn_scaling(X, self.scale)
        rows, is_new = TrainingRows.none(self.n_labels_).add(X, Y, observed)
        prepared, priority = scaling(X[is_new]), rng.random(len(rows))
        chosen = self._choose_kernel(prepared, rows, priority)
        solver = make_solver(chosen.kernel, chosen.noise, prepared, rows.observed, self._limits(), priority)
        self.log_evidence_ = chosen.score
        return self._keep(FittedLabelGP.learn(scaling, rows, solver, self.rank))

    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Add answers; kernel, noise and feature scaling stay. The result is that of `fit` on everything with them.

        `classes` is there for scikit-learn only: the classes of a label are always 0 and 1.
        """
        if not hasattr(self, "_fitted"):
            return self.fit(X, Y, observed)
        X, Y, observed = self._check_training(X, Y, observed, reset=False)
        return self._keep(self._fitted.extend(X, Y, observed, self._limits(), self._generator()))

    def posterior(self, X: Any) -> LabelGPPosterior:
        """Beliefs about the items X; unaffected by what the model learns later."""
        X = self._check_items(X)
        return LabelGPPosterior(self._fitted, X)

    def settled(self) -> LabelGP:
        """An unfitted copy with the kernel and the noise of this fitted model: its fits search for nothing."""
        kernel, is_sum = self.kernel_, bool(self.kernel_.rbf and self.kernel_.linear)
        return clone(self).set_params(
            kernel="rbf+linear" if is_sum else "rbf" if kernel.rbf else "linear",
            noise_ratio=self.noise_ratio_,
            length_scale=kernel.length_scale,
            linear_share=kernel.linear if is_sum else None,
        )

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Means and variances (n_items_, q) of each known label given all other answers, NaN where unknown.

        They are on the scale of the 0/1 labels, the variances with noise, for the distinct items in order of arrival.
        """
        fitted = self._fitted
        known = fitted.rows.observed
        variances = fitted.label_scales / fitted.solver.precision_diagonal
        return np.where(known, fitted.loo_means, np.nan), np.where(known, variances, np.nan)

    def leave_one_out_log_odds(self) -> FloatArray:
        """(n_items_, q) calibrated log-odds of each known label given all other answers, 0 where unknown.

        The link that calibrates them is the one learnt from everything; rows are in order of arrival.
        """
        return self._fitted.loo_log_odds()

    def _choose_kernel(self, X: Any, rows: TrainingRows, priority: FloatArray) -> ChosenKernel:
        fixed = Fixed(self.noise_ratio, self.length_scale, self.linear_share, self.bias)
        decided = fixed.decide(self.kernel)
        if decided is not None:
            return decided
        return KernelSearch(choose_parts(X, rows.Y, rows.observed, self.n_search, priority), fixed).best(self.kernel)

    def _keep(self, fitted: FittedLabelGP) -> Self:
        self._fitted = fitted
        self.kernel_, self.noise_ratio_ = fitted.kernel, fitted.noise
        self.base_rates_, self.thresholds_ = fitted.rates, fitted.thresholds
        self.n_items_ = len(fitted.rows)
        return self

    def _limits(self) -> Limits:
        return Limits(self.max_exact, self.n_inducing)

    def _check_parameters(self) -> None:
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {self.kernel!r}")
        check_choices(self, scale=("auto", "none"))
        for name in ("noise_ratio", "length_scale"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive, or None to be chosen by evidence, got {value!r}")
        if self.linear_share is not None and not 0 < self.linear_share < 1:
            raise ValueError(f"linear_share must lie between 0 and 1, or be None, got {self.linear_share!r}")
        check_at_least(self, 0, "bias", "rank")
        check_at_least(self, 2, "n_search", "max_exact", "n_inducing")
