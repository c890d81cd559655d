"""A model that also learns from the items without labels: their features say which words go together."""

from __future__ import annotations

from typing import Any, Self

import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from labelwise.models.base import LabelModel
from labelwise.models.label_gp.model import LabelGP
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.blocks import Block, feature_blocks, model_columns
from labelwise.numerics.pool_features import (
    BlockFeatures,
    PoolFeatures,
    learn_block_features,
    learn_pool_features,
    most_evident,
)
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
    blocks : tuple of Block
        Of the features, where they are of several kinds: see `BlockModel`. Main directions are those of words.
    pool : tuple of PoolFeatures or BlockFeatures, optional
        What was learnt of a pool: `learn_pool` gives a model that has it.
    random_state : int, RandomState, Generator or None

    Attributes
    ----------
    model_ : the fitted model
    features_ : PoolFeatures, BlockFeatures or None
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
        self,
        model: Any = None,
        *,
        blocks: tuple[Block, ...] = (),
        pool: tuple[PoolFeatures | BlockFeatures, ...] | None = None,
        random_state: Any = None,
    ) -> None:
        self.model = model
        self.blocks = blocks
        self.pool = pool
        self.random_state = random_state

    def _learn_features(self, X: Any) -> tuple[PoolFeatures | BlockFeatures, ...]:
        return learn_pool_features(X, feature_blocks(self.blocks))

    def learn_pool(self, X: Any) -> SemiSupervised:
        """An unfitted copy that has seen the features (n, d) of all items, with labels and without."""
        return clone(self).set_params(pool=self._learn_features(model_columns(X, self.blocks)))

    def settled(self) -> SemiSupervised:
        """An unfitted copy with the features of this fitted model, and its kernel where the model has one."""
        inner = self.model_.settled() if hasattr(self.model_, "settled") else self.model
        return clone(self).set_params(model=inner, pool=() if self.features_ is None else (self.features_,))

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0, 1 and, where unknown, NaN or not `observed`."""
        X, Y, observed = self._check_training(X, Y, observed)
        seen = model_columns(X, self.blocks)
        known = self._learn_features(seen) if self.pool is None else self.pool
        self.features_ = most_evident(known, seen, Y, observed)
        inner = LabelGP() if self.model is None else clone(self.model)
        if "random_state" in inner.get_params(deep=False) and inner.random_state is None:
            inner.set_params(random_state=self.random_state)
        prepared = self._prepared(X)
        if isinstance(self.features_, BlockFeatures) and not sp.issparse(prepared) and hasattr(inner, "scale"):
            inner.set_params(scale="none")  # standardised once more, the columns would lose their shares
        self.model_ = inner.fit(prepared, Y, observed=observed)
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
        X = model_columns(X, self.blocks)
        return X if self.features_ is None else self.features_(X)


class BlockModel(SemiSupervised):
    """Any model on blocks of features: each scaled in its own way, with a share of the say that is found by evidence.

    Words, vectors and categories become rows of unit length, numbers are standardised. Opinions are left out. The
    inner products of the model's features are the shares times those of the blocks: for a linear kernel, a sum of
    kernels. A campaign does this by itself where data have blocks.

    Parameters
    ----------
    model : estimator with `fit(X, Y, observed=)` and `posterior(X)`
    blocks : tuple of Block
    pool : tuple of BlockFeatures, optional
        What was learnt of a pool: `learn_pool` gives a model that has it.
    random_state : int, RandomState, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> blocks = Block("size", "numbers", 0, 1), Block("place", "vectors", 1, 3)
    >>> X = np.array([[1.0, 0, 1], [2, 1, 0], [9, 0, 1], [8, 1, 0], [9, 1, 0], [1, 0, 1]])
    >>> BlockModel(LabelGP(), blocks, random_state=0).fit(X, X[:, :1] > 5).predict(X).T
    array([[0, 0, 1, 1, 1, 0]])
    """

    def __init__(
        self,
        model: Any,
        blocks: tuple[Block, ...],
        *,
        pool: tuple[PoolFeatures | BlockFeatures, ...] | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(model, blocks=blocks, pool=pool, random_state=random_state)

    def _learn_features(self, X: Any) -> tuple[PoolFeatures | BlockFeatures, ...]:
        return learn_block_features(X, feature_blocks(self.blocks))


def for_blocks(model: Any, blocks: tuple[Block, ...]) -> Any:
    """The model, unfitted, for features in these blocks; itself where there is one block, which it sees."""
    if not blocks or (len(blocks) == 1 and blocks[0].is_seen_by_models):
        return model
    if isinstance(model, SemiSupervised):
        return clone(model).set_params(blocks=blocks)
    return BlockModel(model, blocks)
