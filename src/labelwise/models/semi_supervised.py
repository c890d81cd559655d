"""A model that also learns from the items without labels: their features say which words go together."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from labelwise.models.base import LabelModel
from labelwise.models.label_gp.model import LabelGP
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.pool_features import PoolFeatures, learn_pool_features, most_evident
from labelwise.posterior import LabelPosterior


def _inner_extends(model: SemiSupervised) -> bool:
    return model.model is None or hasattr(model.model, "partial_fit")


class SemiSupervised(LabelModel):
    """Another model on features that know the pool: beside an item's words, the main directions of all items.

    With few answers this matters more than the choice of the model; `docs/study.md` has what was measured. A campaign
    shows the pool once (`learn_pool`). Without it, `fit` learns the directions from the rows it is given. `fit` decides
    by evidence whether rare words weigh more. Dense features, and small pools, are handed on as they are.

    Parameters
    ----------
    model : model, optional
        By default `LabelGP`. It is cloned; a `random_state` that is None is set to this one's.
    pool : tuple of PoolFeatures, optional
        What was learnt of a pool: `learn_pool` gives a model that has it.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    model_ : the fitted model
    features_ : PoolFeatures or None
        The features it sees; None where it sees those that were given.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> model = SemiSupervised(random_state=0).learn_pool(X).fit(X[::2], np.hstack([X > 0.5, X <= 0.5])[::2])
    >>> model.predict([[0.1], [0.9]])
    array([[0, 1],
           [1, 0]])
    """

    def __init__(
        self, model: Any = None, *, pool: tuple[PoolFeatures, ...] | None = None, random_state: Any = None
    ) -> None:
        self.model = model
        self.pool = pool
        self.random_state = random_state

    def learn_pool(self, X: Any) -> SemiSupervised:
        """An unfitted copy that has seen the features (n, d) of all items, with labels and without."""
        return clone(self).set_params(pool=learn_pool_features(X))

    def settled(self) -> SemiSupervised:
        """An unfitted copy with the features of this fitted model, and its kernel where the model has one."""
        inner = self.model_.settled() if hasattr(self.model_, "settled") else self.model
        return clone(self).set_params(model=inner, pool=() if self.features_ is None else (self.features_,))

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0, 1 and, where unknown, NaN or not `observed`."""
        X, Y, observed = self._check_training(X, Y, observed)
        known = learn_pool_features(X) if self.pool is None else self.pool
        self.features_ = most_evident(known, X, Y, observed)
        inner = LabelGP() if self.model is None else clone(self.model)
        if "random_state" in inner.get_params(deep=False) and inner.random_state is None:
            inner.set_params(random_state=self.random_state)
        self.model_ = inner.fit(self._prepared(X), Y, observed=observed)
        return self

    @available_if(_inner_extends)
    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Add answers, where the model can; the features stay. `classes` is taken for scikit-learn's sake."""
        if not hasattr(self, "model_"):
            return self.fit(X, Y, observed)
        X, Y, observed = self._check_training(X, Y, observed, reset=False)
        self.model_.partial_fit(self._prepared(X), Y, observed=observed)
        return self

    @available_if(lambda self: hasattr(self.model_, "leave_one_out_log_odds"))
    def leave_one_out_log_odds(self) -> FloatArray:
        """(n, q) of the model, where it has them; the features are those chosen by all answers."""
        found: FloatArray = self.model_.leave_one_out_log_odds()
        return found

    def posterior(self, X: Any) -> LabelPosterior:
        """Beliefs of the model about the items X."""
        X = self._check_items(X)
        return self.model_.posterior(self._prepared(X))

    def _prepared(self, X: Any) -> Any:
        return X if self.features_ is None else self.features_(X)
