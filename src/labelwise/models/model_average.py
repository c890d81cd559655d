"""Several models on the same answers, believed in equal shares: errors of different kinds cancel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from labelwise.models.base import LabelModel
from labelwise.models.label_gp.model import LabelGP
from labelwise.models.mixture.model import LabelMixtureGP
from labelwise.numerics.arrays import BoolArray, FloatArray
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
