"""A model that needs no choice: several models, weighted by how well they predict held-out answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from labelwise.models.base import LabelModel
from labelwise.models.binary_relevance import BinaryRelevance
from labelwise.models.label_gp.model import LabelGP
from labelwise.models.mixture.model import LabelMixtureGP
from labelwise.models.training_rows import TrainingRows
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.linear_algebra import stack_rows
from labelwise.posterior.wrapped import AveragePosterior


def _all_extend(average: ModelAverage) -> bool:
    return all(hasattr(model, "partial_fit") for model in average.models or ())


def _clones(models: Sequence[LabelModel], random_state: Any) -> list[LabelModel]:
    """Unfitted copies; those with a `random_state` that is None get this one."""
    made = [clone(model) for model in models]
    if not made:
        raise ValueError("models must name at least one model, or be None for the default two")
    for model in made:
        if "random_state" in model.get_params(deep=False) and model.random_state is None:
            model.set_params(random_state=random_state)
    return made


class ModelAverage(LabelModel):
    """The mean of the beliefs of several models, by default of `LabelGP` and `LabelMixtureGP`.

    A regression of single labels and a mixture of label patterns err differently: their mean ranks items better than
    either on most sets, see `docs/mathematics/label_mixture_gp.md`.

    Parameters
    ----------
    models : sequence of models, optional
        They are cloned; a clone whose `random_state` is None gets this one's.
    scale : "auto" or "none"
        How the two default models prepare features; models that you pass use their own.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    models_ : list of fitted models

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([X > 0.5, X <= 0.5])
    >>> model = ModelAverage(random_state=0).fit(X, Y)
    >>> model.predict([[0.1], [0.9]])
    array([[0, 1],
           [1, 0]])
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
        """Learn from items X (n, d) and labels Y (n, q) of 0 and 1; unknown entries are NaN or not `observed`."""
        made = _clones(self._default_models() if self.models is None else self.models, self.random_state)
        X, Y, observed = self._check_training(X, Y, observed)
        self.models_ = [model.fit(X, Y, observed=observed) for model in made]
        self._learn_weights(X, Y, observed)
        return self

    @available_if(_all_extend)
    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Add answers to every model, where all of them can; `classes` is there for scikit-learn only."""
        if not hasattr(self, "models_"):
            return self.fit(X, Y, observed)
        X, Y, observed = self._check_training(X, Y, observed, reset=False)
        for model in self.models_:
            model.partial_fit(X, Y, observed=observed)
        return self

    def posterior(self, X: Any) -> AveragePosterior:
        """Beliefs about the items X; unaffected by what the models learn later."""
        X = self._check_items(X)
        return AveragePosterior([model.posterior(X) for model in self.models_], self._weights())

    def _default_models(self) -> Sequence[LabelModel]:
        return LabelGP(scale=self.scale), LabelMixtureGP(scale=self.scale)

    def _learn_weights(self, X: Any, Y: BoolArray, observed: BoolArray) -> None:
        """Once the models are fitted; equal shares need nothing."""

    def _weights(self) -> FloatArray | None:
        """(m,) shares of the models; None: equal ones."""
        return None


FOLDS = 3
MAX_ROWS = 600  # that the weights are found on
PRIOR = 5.0  # answers' worth of belief in even weights, per model

STACKING_STEPS, STACKING_TOLERANCE = 200, 1e-6


class AutoModel(ModelAverage):
    """A weighted mean of `LabelGP` and logistic regression, with weights from held-out answers.

    In `fit` every model predicts each third of the items from the other two thirds. The weights maximise the likelihood
    of these held-out answers. `LabelGP` keeps the kernel that it chose on all items, so the weights cost a few
    solutions and no search. A mean of models is seldom worse than the best of them, and a model that fails gets weight
    0.

    Parameters
    ----------
    models : sequence of models, optional
        Default: `LabelGP` and `BinaryRelevance`. They are cloned; a clone whose `random_state` is None gets this one's.
    scale : "auto" or "none"
        How the default models prepare features; models that you pass use their own.
    random_state : int, RandomState, Generator or None
        Draws the thirds.

    Attributes
    ----------
    models_ : list of fitted models
    weights_ : (m,) array
        Their weights, which sum to 1.

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

    def _default_models(self) -> Sequence[LabelModel]:
        return LabelGP(scale=self.scale), BinaryRelevance(scale=self.scale)

    def _weights(self) -> FloatArray:
        return self.weights_

    def _learn_weights(self, X: Any, Y: BoolArray, observed: BoolArray) -> None:
        self._rows, is_new = TrainingRows.none(self.n_labels_).add(X, Y, observed)
        self._X = X[is_new]
        self.weights_ = self._weigh()

    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Add answers; the weights do not change. A model without `partial_fit` is fitted on everything.

        `classes` is there for scikit-learn only: the classes of a label are always 0 and 1.
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


def stacking_weights(likelihoods: FloatArray, prior: float = 1.0) -> FloatArray:
    """Weights (m,) that maximise Σ_i log Σ_m w_m l_mi + prior · Σ_m log w_m over the simplex, by EM.

    `likelihoods` (m, n) are what each of m beliefs gave to each of n answers. The objective is concave, every EM step
    raises it, and the prior keeps all weights above 0: an even share where there is nothing to go by.

    >>> stacking_weights(np.array([[0.9, 0.8, 0.9], [0.5, 0.5, 0.5]]), prior=0.1).round(2)
    array([0.93, 0.07])
    >>> stacking_weights(np.zeros((2, 0)))
    array([0.5, 0.5])
    """
    m, n = likelihoods.shape
    weights = np.full(m, 1 / m)
    safe = np.maximum(likelihoods, np.finfo(float).tiny)
    for _ in range(STACKING_STEPS):
        responsible = weights[:, None] * safe
        counts = (responsible / responsible.sum(axis=0)).sum(axis=1) + prior  # (m,)
        updated = counts / (n + m * prior)
        if np.abs(updated - weights).max() < STACKING_TOLERANCE:
            return updated
        weights = updated
    return weights
