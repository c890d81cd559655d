"""Any model, with hints in its beliefs: the answers decide how far each is believed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from labelwise.models.base import LabelModel
from labelwise.models.training_rows import TrainingRows
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.calibration import base_rates
from labelwise.numerics.hint_weights import HintWeights, learn_weights
from labelwise.numerics.moved_beliefs import log_odds, with_mean
from labelwise.posterior import IgnorantPosterior, Rows
from labelwise.posterior.tilted import TiltedPosterior

FOLDS = 3
FEWEST_ROWS, MOST_ROWS = 6, 600  # that a model without leave-one-out is judged by
ROUNDING = 1e-12  # probabilities that differ by less are the same


class HintedModel(LabelModel):
    """A model and hints, in one belief: log-odds that are linear in those of the model and in the hints' scores.

    The weights are shared by all labels, with a deviation for each label that its answers move. They are learnt from
    log-odds that the model gives to answers it has not learnt from. These are its own `leave_one_out_log_odds` where it
    has them; otherwise each third of the rows is predicted from the other two. `docs/mathematics/hints.md` has the
    formulas.

    Parameters
    ----------
    model : estimator with `fit(X, Y, observed=)` and `posterior(X)`
        Cloned; the one given is never fitted.
    hints : function of items X (n, d) to standard scores (h, n, q), see `labelwise.hints.learn_hints`

    Attributes
    ----------
    model_ : the fitted model
    weights_ : HintWeights

    Examples
    --------
    >>> import labelwise as lw
    >>> words = ["ball", "vote", "goal", "law", "team", "tax"]
    >>> data = lw.LabelData.from_arrays(np.eye(6), label_names=["ball games", "voting"], feature_names=words)
    >>> model = HintedModel(lw.BinaryRelevance(), lw.hints.learn_hints(data, ["lexical"]))
    >>> model.before_answers(data.X[:2]).probabilities().round(2)  # by names alone
    array([[0.68, 0.46], [0.46, 0.68]])
    >>> model.fit(data.X[2:4], [[1, 0], [0, 1]]).posterior(data.X[:2]).probabilities().round(2)
    array([[0.71, 0.49], [0.49, 0.71]])
    """

    def __init__(self, model: Any, hints: Callable[[Any], FloatArray]) -> None:
        self.model = model
        self.hints = hints

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        X, Y, observed = self._check_training(X, Y, observed)
        self.model_ = clone(self.model).fit(X, Y, observed=observed)
        rows, is_new = TrainingRows.none(self.n_labels_).add(X, Y, observed)
        X = X[is_new]
        held_out = self.model_.leave_one_out_log_odds() if hasattr(self.model_, "leave_one_out_log_odds") else None
        if held_out is None or len(held_out) != len(rows):  # by its own features the model may put rows together
            some = np.sort(np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS])
            X, rows = X[some], rows.take(some)
            held_out = self._cross_fitted(X, rows)
        self.weights_ = learn_weights(held_out, self.hints(X), rows.Y, rows.observed)
        return self

    @available_if(lambda self: hasattr(self.model, "partial_fit"))
    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Add answers to the model; the weights stay. `classes` is taken for scikit-learn's sake."""
        if not hasattr(self, "model_"):
            return self.fit(X, Y, observed)
        X, Y, observed = self._check_training(X, Y, observed, reset=False)
        self.model_.partial_fit(X, Y, observed=observed)
        return self

    def posterior(self, X: Any) -> HintedPosterior:
        X = self._check_items(X)
        return HintedPosterior(self.model_.posterior(X), HintedItems(X, self.hints, self.weights_))

    @available_if(lambda self: hasattr(self.model, "settled"))
    def settled(self) -> HintedModel:
        """An unfitted copy whose model keeps what this fitted one has searched for."""
        return HintedModel(self.model_.settled(), self.hints)

    def before_answers(self, X: Any) -> HintedPosterior:
        """Beliefs about items where nobody has answered anything: by hints alone."""
        n_hints, _, q = self.hints(X[:1]).shape
        prior = HintWeights.before_answers(n_hints, q)
        return HintedPosterior(IgnorantPosterior(X.shape[0], q), HintedItems(X, self.hints, prior))

    def _cross_fitted(self, X: Any, rows: TrainingRows) -> FloatArray:
        """(n, q) log-odds of each third of the rows, by a model that learnt from the others."""
        if len(rows) < FEWEST_ROWS:
            return np.broadcast_to(log_odds(base_rates(rows.Y, rows.observed)), rows.Y.shape)
        held_out = np.empty(rows.Y.shape)
        unfitted = self.model_.settled() if hasattr(self.model_, "settled") else self.model
        fold = np.random.default_rng(1).permutation(len(rows)) % FOLDS  # rows may come in a regular order
        for held in (fold == part for part in range(FOLDS)):
            fitted = clone(unfitted).fit(X[~held], rows.Y[~held], observed=rows.observed[~held])
            held_out[held] = log_odds(fitted.posterior(X[held]).probabilities())
        return held_out


@dataclass(frozen=True, eq=False)
class HintedItems:
    """Some items, what hints say of them, and how far that is believed."""

    X: Any  # (n, d) as the user gave them
    hints: Callable[[Any], FloatArray]  # from rows to standard scores (h, n, q)
    weights: HintWeights
    shifts: FloatArray | None = None  # (n, q) log-odds to add to the model's; None: not computed yet
    told: BoolArray | None = None  # (n, q) labels that were answered, where hints have no say

    def of(self, rows: Rows) -> HintedItems:
        shifts = None if self.shifts is None else self.shifts[rows]
        told = None if self.told is None else self.told[rows]
        return replace(self, X=self.X[rows], shifts=shifts, told=told)


class HintedPosterior(TiltedPosterior):
    """A model's beliefs whose log-odds are combined with hints, see `labelwise.numerics.hint_weights`."""

    _items: HintedItems

    @cached_property
    def _log_odds(self) -> FloatArray:
        model = log_odds(self._inner.probabilities())
        if self._items.shifts is not None:
            return model + self._items.shifts
        return self._items.weights.log_odds(model, self._items.hints(self._items.X))

    def _shifts(self) -> FloatArray:
        return self._log_odds - log_odds(self._inner.probabilities())

    def summands(self) -> tuple[FloatArray, Any, HintWeights]:
        """What the log-odds are made of: (n, q) the model's part, and the hints with their weights."""
        return self._items.weights.slope * log_odds(self._inner.probabilities()), self._items.hints, self._items.weights

    def log_odds_variances(self) -> FloatArray:
        """(n, q) of the log-odds, by what is unknown of the weights of model and hints; 0 of labels that are known."""
        model, z = log_odds(self._inner.probabilities()), self._items.hints(self._items.X)
        found = self._items.weights.variances(model, z)
        return found if self._items.told is None else np.where(self._items.told, 0.0, found)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """The model's draws, each with another draw of the weights, with their mean at p."""
        model, z = log_odds(self._inner.probabilities()), self._items.hints(self._items.X)
        departures = self._items.weights.draw_departures(model, z, n_samples, rng)
        drawn = super().sample_probabilities(n_samples, rng)
        if departures is None:
            return drawn
        p = self.probabilities()
        is_open = (p > 0) & (p < 1)
        is_open = is_open if self._items.told is None else is_open & ~self._items.told
        return np.where(is_open, with_mean(log_odds(drawn) + departures, p), drawn)

    def probabilities(self) -> FloatArray:
        model, p = self._inner.probabilities(), np.asarray(expit(self._log_odds))
        stays = np.abs(p - model) <= ROUNDING
        return np.where(stays if self._items.told is None else stays | self._items.told, model, p)
