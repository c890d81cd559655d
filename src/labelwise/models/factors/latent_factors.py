"""Latent factors of the labels, regressed on the features: the rival without co-occurrence counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np

from labelwise.models.base import LabelModel
from labelwise.models.factors.choice import choose
from labelwise.models.factors.posterior import FactorPosterior, FittedFactors
from labelwise.models.factors.training import (
    FactorProblem,
    FactorSettings,
    SweepSchedule,
    check_settings,
    learn_factors,
    learn_preparation,
    precision_of,
    to_precision,
    with_feature_penalty,
)
from labelwise.numerics.calibration import base_rates
from labelwise.numerics.factors.model import Penalties
from labelwise.numerics.weighted_ridge import RowSolver

CHOICES = {"solver": ("cg", "exact"), "scale": ("auto", "none"), "precision": ("auto", "float32", "float64")}
POSITIVE = ("item_penalty", "label_penalty", "bias_penalty")


class LatentFactors(LabelModel):
    """Logistic factors of the labels with u ≈ Wᵀx, and nothing else: `CooccurrenceFactors` without the counts.

    The LFM-SL of the experiments of Gaure, Gupta, Verma & Rai, UAI 2017. A label without any answer has no score: it
    ranks last in `posterior(X).scores()`, and its probability is the mean share of yes.

    Parameters
    ----------
    n_factors, feature_penalty, n_iterations, item_penalty, label_penalty, bias_penalty, bias, solver, \
tolerance, scale, precision, n_trials, random_state
        As in `CooccurrenceFactors`.

    Attributes
    ----------
    factors_, seen_, feature_penalty_, n_iterations_, trial_scores_, objective_
        As in `CooccurrenceFactors`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> Y = X @ rng.normal(size=(4, 6)) > 0
    >>> model = LatentFactors(feature_penalty=0.1).fit(X, Y)
    >>> bool((model.predict(X) == Y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        n_factors: int | None = None,
        *,
        feature_penalty: float | Literal["auto"] = "auto",
        n_iterations: int | Literal["auto"] = "auto",
        item_penalty: float = 1.0,
        label_penalty: float = 10.0,
        bias_penalty: float = 0.01,
        bias: bool = True,
        solver: Literal["cg", "exact"] = "cg",
        tolerance: float | None = None,
        scale: Literal["auto", "none"] = "auto",
        precision: Literal["auto", "float32", "float64"] = "auto",
        n_trials: int = 3,
        random_state: Any = None,
    ) -> None:
        self.n_factors = n_factors
        self.feature_penalty = feature_penalty
        self.n_iterations = n_iterations
        self.item_penalty = item_penalty
        self.label_penalty = label_penalty
        self.bias_penalty = bias_penalty
        self.bias = bias
        self.solver = solver
        self.tolerance = tolerance
        self.scale = scale
        self.precision = precision
        self.n_trials = n_trials
        self.random_state = random_state

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """All precisions 1, no biases, features as they are; `parameters` add to these settings or replace them."""
        stated: dict[str, Any] = dict.fromkeys(("feature_penalty", "item_penalty", "label_penalty"), 1.0)
        return cls(**(stated | {"bias": False, "scale": "none", "n_iterations": 40} | parameters))

    def fit(self, X: Any, Y: Any, observed: Any = None, *, on_step: Callable[[int, float], None] | None = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0 and 1; unknown entries are NaN or not `observed`.

        `on_step(sweep, objective)` is called after every sweep.
        """
        check_settings(self, CHOICES, POSITIVE)
        X, Y, observed = self._check_training(X, Y, observed)
        scaling = learn_preparation(X, self.scale)
        answered = observed.any(axis=0)
        self.seen_ = np.flatnonzero(answered)
        Y, observed = Y[:, answered], observed[:, answered]
        problem = FactorProblem(to_precision(scaling(X), precision_of(self.precision, Y.size)), Y, observed, None)
        penalties = Penalties(items=self.item_penalty, labels=self.label_penalty, biases=self.bias_penalty)
        settings = FactorSettings(self.n_factors, penalties, bias=self.bias, solver=RowSolver(self.solver))
        choice = choose(self, problem, settings)
        settings = with_feature_penalty(settings, choice.penalty)
        schedule = SweepSchedule(choice.n_iterations, self.tolerance, on_step)
        learnt, self.objective_ = learn_factors(problem, settings, schedule)
        self.feature_penalty_, self.n_iterations_ = choice.penalty, choice.n_iterations
        self.trial_scores_, self.factors_ = tuple(choice.scores.items()), learnt.factors
        rate = float(base_rates(Y, observed).mean())
        labels = (self.seen_, self.seen_[:0], self.n_labels_)
        self._fitted = FittedFactors.of(learnt, settings, labels, rate, scaling)
        return self

    def posterior(self, X: Any) -> FactorPosterior:
        """Beliefs about the items X."""
        X = self._check_items(X)
        return FactorPosterior(self._fitted, X)
