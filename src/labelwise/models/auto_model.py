"""The model for those who do not want to choose one: several, believed by how well they foretell answers held back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone

from labelwise.models._training_rows import TrainingRows
from labelwise.models.base import BoolArray, LabelModel
from labelwise.models.binary_relevance import BinaryRelevance
from labelwise.models.label_gp import LabelGP
from labelwise.models.model_average import AveragePosterior, clones
from labelwise.numerics.linear_algebra import stack_rows
from labelwise.numerics.stacking import stacking_weights
from labelwise.posterior import FloatArray

FOLDS = 3
MAX_ROWS = 600  # that the weights are found on
PRIOR = 5.0  # answers' worth of belief in even weights, per model


class AutoModel(LabelModel):
    """`LabelGP` and logistic regression in one: shares by the likelihood of answers each had not learnt from.

    In `fit` every third of the items is foretold from the other two, by every model; the shares of the models are those
    under which the answers held back are most likely. The kernel that `LabelGP` chose on everything is kept for it, so
    the choice costs a few solutions and no search. A mean of models is seldom worse than the best of them, and where
    one of them fails its share vanishes.

    Parameters
    ----------
    models : sequence of models, optional
        By default `LabelGP` and `BinaryRelevance`. They are cloned; those with a `random_state` that is None get this
        one's.
    scale : "auto" or "none"
        How the default models prepare features; models that are given have their own way.
    random_state : int, RandomState, Generator or None
        Draws the thirds.

    Attributes
    ----------
    models_ : list of fitted models
    weights_ : (m,) array
        Their shares, which sum to 1.

    Examples
    --------
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> Y = np.hstack([X > 0.5, abs(X - 0.5) > 0.25])  # no line can tell the second label
    >>> model = AutoModel(random_state=0).fit(X, Y)
    >>> model.predict([[0.1], [0.4], [0.9]])
    array([[0, 1],
           [0, 0],
           [1, 1]])
    >>> bool(model.weights_[0] > 0.6)
    True
    """

    def __init__(
        self,
        models: Sequence[LabelModel] | None = None,
        *,
        scale: Literal["auto", "none"] = "auto",
        random_state: Any = None,
    ) -> None:
        self.models = models
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0, 1 and, where unknown, NaN or not `observed`."""
        default = LabelGP(scale=self.scale), BinaryRelevance(scale=self.scale)
        made = clones(default if self.models is None else self.models, self.random_state)
        X, Y, observed = self._check_training(X, Y, observed)
        self.models_ = [model.fit(X, Y, observed=observed) for model in made]
        self._rows, is_new = TrainingRows.none(self.n_labels_).add(X, Y, observed)
        self._X = X[is_new]
        self.weights_ = self._weigh()
        return self

    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Add answers; the shares stay. A model without `partial_fit` is fitted on everything.

        `classes` is taken for scikit-learn's sake; the classes of a label are always 0 and 1.
        """
        if not hasattr(self, "models_"):
            return self.fit(X, Y, observed)
        X, Y, observed = self._check_training(X, Y, observed, reset=False)
        self._rows, is_new = self._rows.add(X, Y, observed)
        self._X = stack_rows(self._X, X[is_new])
        for model in self.models_:
            if hasattr(model, "partial_fit"):
                model.partial_fit(X, Y, observed=observed)
            else:
                model.fit(self._X, self._rows.Y, observed=self._rows.observed)
        return self

    def posterior(self, X: Any) -> AveragePosterior:
        """Beliefs about the items X; unaffected by what the models learn later."""
        X = self._check_items(X)
        return AveragePosterior([model.posterior(X) for model in self.models_], self.weights_)

    def _weigh(self) -> FloatArray:
        """(m,) shares of the models."""
        chosen = self._generator().permutation(len(self._rows))[:MAX_ROWS]
        fold = np.arange(chosen.size) % FOLDS
        found = [
            self._foretell(chosen[fold != part], chosen[fold == part])
            for part in range(FOLDS)
            if chosen.size >= 2 * FOLDS and len(self.models_) > 1
        ]
        return stacking_weights(np.hstack([np.zeros((len(self.models_), 0)), *found]), PRIOR)

    def _foretell(self, learnt: Any, held: Any) -> FloatArray:
        """(m, e) likelihoods that models which learnt from some rows give to the answers on others."""
        Y, observed, X = self._rows.Y, self._rows.observed, self._X
        said, truth = observed[held], Y[held]
        found = []
        for model in self.models_:
            fitted = _settled(model).fit(X[learnt], Y[learnt], observed=observed[learnt])
            found.append(_likelihoods(fitted.posterior(X[held]).probabilities(), truth, said))
        return np.stack(found)


def _settled(model: LabelModel) -> LabelModel:
    """A clone that keeps the kernel and noise which the fitted model has found."""
    again = clone(model)
    if isinstance(model, LabelGP):
        kernel, mixed = model.kernel_, bool(model.kernel_.rbf and model.kernel_.linear)
        again.set_params(
            kernel="rbf+linear" if mixed else "rbf" if kernel.rbf else "linear",
            noise_ratio=model.noise_ratio_,
            length_scale=kernel.length_scale,
            linear_share=kernel.linear if mixed else None,
        )
    return again


def _likelihoods(p: FloatArray, Y: BoolArray, observed: BoolArray) -> FloatArray:
    """(e,) of the answers that were given."""
    return np.where(Y, p, 1 - p)[observed]
