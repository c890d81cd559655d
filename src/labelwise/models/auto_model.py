"""A model that needs no choice: several models, weighted by how well they predict held-out answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from labelwise.models.base import LabelModel, with_random_state
from labelwise.models.binary_relevance import BinaryRelevance
from labelwise.models.label_gp.model import LabelGP
from labelwise.models.mixture.model import LabelMixtureGP
from labelwise.models.training_rows import TrainingRows
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.linear_algebra import stack_rows
from labelwise.posterior.wrapped import AveragePosterior


def _all_extend(average: ModelAverage) -> bool:
    return all(hasattr(model, "partial_fit") for model in average.models or ())


def _clones(models: Sequence[LabelModel], random_state: Any) -> list[LabelModel]:
    """Unfitted copies; those with a `random_state` that is None get this one."""
    if not models:
        raise ValueError("models must name at least one model, or be None for the default two")
    return [with_random_state(clone(model), random_state) for model in models]


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

STACKING_STEPS, STACKING_TOLERANCE = 50, 1e-6


class AutoModel(ModelAverage):
    """A weighted mean of `LabelGP` and logistic regression, with weights from held-out answers.

    In `fit` every model predicts each third of the items from the other two thirds. The weights maximise the likelihood
    of these held-out answers. `LabelGP` keeps the kernel that it chose on all items and the thirds are solved
    together, so the weights cost no search and little more than one more solution. A mean of models is seldom worse
    than the best of them, and a model that fails gets weight 0.

    Parameters
    ----------
    models : sequence of models, optional
        Default: `LabelGP` and `BinaryRelevance`. They are cloned; a clone whose `random_state` is None gets this one's.
    scale : "auto" or "none"
        How the default models prepare features; models that you pass use their own.
    weights : sequence of float, optional
        Weights of the models, which sum to 1, instead of those that the answers speak for.
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

    def __init__(
        self,
        models: Sequence[LabelModel] | None = None,
        *,
        scale: Literal["auto", "none"] = "auto",
        weights: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(models, scale=scale, random_state=random_state)
        self.weights = weights

    def settled(self) -> AutoModel:
        """An unfitted copy with the kernel and the shares of this fitted model: its fits search for nothing."""
        return clone(self).set_params(models=[_settled(model) for model in self.models_], weights=self.weights_)

    def _default_models(self) -> Sequence[LabelModel]:
        return LabelGP(scale=self.scale), BinaryRelevance(scale=self.scale)

    def _weights(self) -> FloatArray:
        return self.weights_

    def _learn_weights(self, X: Any, Y: BoolArray, observed: BoolArray) -> None:
        self._rows, is_new = TrainingRows.none(self.n_labels_).add(X, Y, observed)
        self._X = X[is_new]
        self.weights_ = self._weigh() if self.weights is None else self._given_weights()

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

    def _given_weights(self) -> FloatArray:
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (len(self.models_),) or not (weights >= 0).all() or not np.isclose(weights.sum(), 1.0):
            raise ValueError(f"weights must be {len(self.models_)} numbers that sum to 1, got {self.weights!r}")
        return weights

    def _weigh(self) -> FloatArray:
        """(m,) shares of the models."""
        chosen = self._generator().permutation(len(self._rows))[:MAX_ROWS]
        if chosen.size < 2 * FOLDS or len(self.models_) == 1:
            return np.full(len(self.models_), 1 / len(self.models_))
        X, Y, observed = self._X[chosen], self._rows.Y[chosen], self._rows.observed[chosen]
        fold = np.arange(chosen.size) % FOLDS
        foretold = [foretell(_settled(model), X, Y, observed, fold) for model in self.models_]
        return stacking_weights(np.stack([_likelihoods(p, Y, observed) for p in foretold]), PRIOR)


def foretell(model: LabelModel, X: Any, Y: BoolArray, observed: BoolArray, fold: IntArray) -> FloatArray:
    """(n, q) probabilities of each row's labels by the model fitted on the rows of the other folds.

    For a model that learns every label by itself, a label without the answers of a fold is one more label on the same
    rows. One fit with as many labels as there are pairs of label and fold costs little more than a fit.
    """
    n_folds = int(fold.max()) + 1
    if isinstance(model, LabelGP | BinaryRelevance):
        learnt = np.hstack([observed & (fold != part)[:, None] for part in range(n_folds)])  # (n, folds · q)
        together = clone(model).fit(X, np.tile(Y, n_folds), observed=learnt).posterior(X).probabilities()
        return together.reshape(len(fold), n_folds, -1)[np.arange(len(fold)), fold]
    p = np.empty(Y.shape)
    for part in range(n_folds):
        held = fold == part
        fitted = clone(model).fit(X[~held], Y[~held], observed=observed[~held])
        p[held] = fitted.posterior(X[held]).probabilities()
    return p


def _settled(model: LabelModel) -> LabelModel:
    """An unfitted copy that keeps what the fitted model has searched for, where it searches."""
    return model.settled() if hasattr(model, "settled") else clone(model)


def _likelihoods(p: FloatArray, Y: BoolArray, observed: BoolArray) -> FloatArray:
    """(e,) of the answers that were given."""
    return np.where(Y, p, 1 - p)[observed]


def stacking_weights(likelihoods: FloatArray, prior: float = 1.0) -> FloatArray:
    """Weights (m,) that maximise Σ_i log Σ_m w_m l_mi + prior · Σ_m log w_m over the simplex, by Newton's method.

    `likelihoods` (m, n) are what each of m beliefs gave to each of n answers. The objective is concave, and the prior
    keeps all weights above 0: an even share where there is nothing to go by.

    >>> stacking_weights(np.array([[0.9, 0.8, 0.9], [0.5, 0.5, 0.5]]), prior=0.1).round(2)
    array([0.93, 0.07])
    >>> stacking_weights(np.zeros((2, 0)))
    array([0.5, 0.5])
    """
    m = likelihoods.shape[0]
    weights = np.full(m, 1 / m)
    safe = np.maximum(likelihoods, np.finfo(float).tiny)

    def value(w: FloatArray) -> float:
        return float(np.log(w @ safe).sum() + prior * np.log(w).sum()) if (w > 0).all() else -np.inf

    at = value(weights)
    for _ in range(STACKING_STEPS):
        ratio = safe / (weights @ safe)  # (m, n)
        gradient, curvature = ratio.sum(axis=1) + prior / weights, ratio @ ratio.T + np.diag(prior / weights**2)
        Hinv_g1 = np.linalg.solve(curvature, np.stack([gradient, np.ones(m)], axis=1))
        step = Hinv_g1[:, 0] - Hinv_g1[:, 1] * (
            Hinv_g1[:, 0].sum() / Hinv_g1[:, 1].sum()
        )  # the sum of the weights stays
        length = 1.0
        while (higher := value(weights + length * step)) < at and length > STACKING_TOLERANCE:
            length /= 2
        if np.abs(length * step).max() < STACKING_TOLERANCE:
            break
        weights, at = weights + length * step, higher
    return weights
