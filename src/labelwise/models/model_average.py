"""Several models on the same answers, believed in equal shares: errors of different kinds cancel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from labelwise.models.base import LabelModel
from labelwise.models.label_gp import LabelGP
from labelwise.models.label_mixture_gp import LabelMixtureGP
from labelwise.numerics.feature_spaces import FeatureSpace, Fourier, Landmarks, Part
from labelwise.posterior import BoolArray, FloatArray, ItemCovariance, LabelCovariances, LabelPosterior


def _all_extend(average: ModelAverage) -> bool:
    return all(hasattr(model, "partial_fit") for model in average.models or ())


def clones(models: Sequence[LabelModel], random_state: Any) -> list[LabelModel]:
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
        They are cloned; those with a `random_state` that is None get this one's.
    scale : "auto" or "none"
        How the default two prepare features; models that are given have their own way.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    models_ : list of fitted models

    Examples
    --------
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
        """Learn from items X (n, d) and labels Y (n, q) of 0, 1 and, where unknown, NaN or not `observed`."""
        default = LabelGP(scale=self.scale), LabelMixtureGP(scale=self.scale)
        made = clones(default if self.models is None else self.models, self.random_state)
        X, Y, observed = self._check_training(X, Y, observed)
        self.models_ = [model.fit(X, Y, observed=observed) for model in made]
        return self

    @available_if(_all_extend)
    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Add answers to every model, where all of them can; `classes` is taken for scikit-learn's sake."""
        if not hasattr(self, "models_"):
            return self.fit(X, Y, observed)
        X, Y, observed = self._check_training(X, Y, observed, reset=False)
        for model in self.models_:
            model.partial_fit(X, Y, observed=observed)
        return self

    def posterior(self, X: Any) -> AveragePosterior:
        """Beliefs about the items X; unaffected by what the models learn later."""
        X = self._check_items(X)
        return AveragePosterior([model.posterior(X) for model in self.models_])


class AveragePosterior(LabelPosterior):
    """One of several beliefs is right, each with the same probability or with that of its weight."""

    def __init__(self, members: Sequence[LabelPosterior], weights: FloatArray | None = None) -> None:
        super().__init__(members[0].n_items, members[0].n_labels)
        self._members = list(members)
        self._weights: FloatArray = np.full(len(self._members), 1 / len(self._members)) if weights is None else weights

    def probabilities(self) -> FloatArray:
        return sum(w * member.probabilities() for w, member in zip(self._weights, self._members, strict=True))

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> AveragePosterior:
        return AveragePosterior([member.rows(rows) for member in self._members], self._weights)

    def rough(self) -> AveragePosterior:
        rough = [member.rough() for member in self._members]
        same = all(a is b for a, b in zip(rough, self._members, strict=True))
        return self if same else AveragePosterior(rough, self._weights)

    def label_covariances(self) -> LabelCovariances:
        """The mean covariance, plus that of the members' means: the law of total covariance."""
        inside = [member.label_covariances() for member in self._members]
        means = np.stack([member.probabilities() for member in self._members], axis=2)  # (n, q, members)
        apart = (means - (means @ self._weights)[:, :, None]) * np.sqrt(self._weights)
        factors = [np.sqrt(w) * each.factor for w, each in zip(self._weights, inside, strict=True)]
        diagonal = sum(w * each.diagonal for w, each in zip(self._weights, inside, strict=True))
        return LabelCovariances(diagonal, np.concatenate([*factors, apart], axis=2))

    def item_covariance(self) -> ItemCovariance | None:
        """That of the first member which has one."""
        member = self._with_covariance()
        return None if member is None else member.item_covariance()

    def feature_space(self, basis: Landmarks | Fourier | None = None) -> FeatureSpace | None:
        """That of the member whose covariance between items is taken."""
        member = self._with_covariance()
        return None if member is None else member.feature_space(basis)

    def parts(self) -> Sequence[Part] | None:
        member = self._with_covariance()
        return None if member is None else member.parts()

    def _with_covariance(self) -> LabelPosterior | None:
        return next((member for member in self._members if member.item_covariance() is not None), None)

    def given(self, values: Any, observed: Any) -> AveragePosterior:
        """Every member is told; which of them is right stays as open as it was."""
        return AveragePosterior([member.given(values, observed) for member in self._members], self._weights)

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        return self._sample(n_samples, rng, "sample_labels", bool)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        return self._sample(n_samples, rng, "sample_probabilities", np.float64)

    def _sample(self, n_samples: int, rng: np.random.Generator, method: str, dtype: Any) -> npt.NDArray[Any]:
        """(s, n, q), every draw that of a member drawn first."""
        which = rng.choice(len(self._members), p=self._weights, size=n_samples)
        drawn = np.empty((n_samples, self.n_items, self.n_labels), dtype=dtype)
        for number, member in enumerate(self._members):
            samples = np.flatnonzero(which == number)
            drawn[samples] = getattr(member, method)(samples.size, rng)
        return drawn
