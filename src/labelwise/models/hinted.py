"""Any model, with hints in its beliefs: the answers decide how far each is believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from labelwise.models.base import LabelModel
from labelwise.models.training_rows import TrainingRows
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.calibration import base_rates
from labelwise.numerics.hint_weights import HintWeights, learn_weights
from labelwise.numerics.moved_beliefs import log_odds
from labelwise.posterior import IgnorantPosterior
from labelwise.posterior.hinted import HintedItems, HintedPosterior

FOLDS = 3
FEWEST_ROWS = 6  # below, no model is judged by rows that it has not seen


class HintedModel(LabelModel):
    """A model and hints, in one belief: log-odds that are linear in those of the model and in the hints' scores.

    The weights are shared by all labels, with a deviation for each label that its answers move. They are learnt from
    log-odds that the model gives to answers it has not learnt from: its own `leave_one_out_log_odds` where it has them,
    otherwise each third of the rows is predicted from the other two. `docs/mathematics/hints.md` has the formulas.

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
    array([[0.74, 0.43], [0.43, 0.74]])
    >>> model.fit(data.X[2:4], [[1, 0], [0, 1]]).posterior(data.X[:2]).probabilities().round(2)
    array([[0.76, 0.42], [0.42, 0.76]])
    """

    def __init__(self, model: Any, hints: Callable[[Any], FloatArray]) -> None:
        self.model = model
        self.hints = hints

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        X, Y, observed = self._check_training(X, Y, observed)
        self.model_ = clone(self.model).fit(X, Y, observed=observed)
        rows, is_new = TrainingRows.none(self.n_labels_).add(X, Y, observed)
        X = X[is_new]
        self.weights_ = learn_weights(self._held_out_log_odds(X, rows), self.hints(X), rows.Y, rows.observed)
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

    def before_answers(self, X: Any) -> HintedPosterior:
        """Beliefs about items where nobody has answered anything: by hints alone."""
        n_hints, _, q = self.hints(X[:1]).shape
        prior = HintWeights.before_answers(n_hints, q)
        return HintedPosterior(IgnorantPosterior(X.shape[0], q), HintedItems(X, self.hints, prior))

    def _held_out_log_odds(self, X: Any, rows: TrainingRows) -> FloatArray:
        """(n, q) of distinct training rows, by models that have not learnt from the answer."""
        if hasattr(self.model_, "leave_one_out_log_odds"):
            return self.model_.leave_one_out_log_odds()
        if len(rows) < FEWEST_ROWS:
            return np.broadcast_to(log_odds(base_rates(rows.Y, rows.observed)), rows.Y.shape)
        found = np.empty(rows.Y.shape)
        fold = np.arange(len(rows)) % FOLDS
        for held in (fold == part for part in range(FOLDS)):
            fitted = clone(self.model).fit(X[~held], rows.Y[~held], observed=rows.observed[~held])
            found[held] = log_odds(fitted.posterior(X[held]).probabilities())
        return found
