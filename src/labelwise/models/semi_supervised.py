"""A model that also learns from the items without labels: their features say which words go together.

A few tagged items say little about single words. The many items without a tag say which words are used together, so
that what was learnt of one word holds for its neighbours, too: latent semantic analysis (Deerwester et al., 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.metaestimators import available_if

from labelwise.models.base import LabelModel, with_random_state
from labelwise.models.label_gp.model import LabelGP
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.blocks import Block, feature_blocks, in_shards, join_columns, model_columns
from labelwise.numerics.feature_scaling import FeatureScaling, learn_scaling, unit_rows
from labelwise.numerics.gp.search import Fixed, KernelSearch, SearchPart, choose_parts, climb, weighted_parts
from labelwise.numerics.recovery.label_codes import with_fixed_signs
from labelwise.posterior import LabelPosterior

RANK = 100  # main directions of the pool
MIN_SIZE = 200  # items and features below which there is nothing to find that the features do not say themselves
MAX_ROWS = 4000  # of the pool that the directions are found on
POWER_STEPS = 4  # of the randomised singular value decomposition (Halko et al., SIAM Review 2011)
SEARCH_ROWS = 300  # answered items that decide between the weightings
Rows = dict[tuple[str, int], Any]  # by the name of a block and the number of its scaling: that, and the rows
DENSE_KINDS = ("vectors", "numbers")  # of blocks with hardly a zero
SHARE_STEP, MAX_SHARE_STEPS, SHARE_SD = np.log(2.0), 5, 1.5  # in the logarithm of a block's share


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

    reads_shards = True  # `learn_pool` takes features in shards

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
        """An unfitted copy that has seen the features (n, d) of all items, with labels and without.

        Features in shards are read block by block, and the copy keeps none of them.
        """
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
        inner = with_random_state(LabelGP() if self.model is None else clone(self.model), self.random_state)
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
    """Any model on blocks of features: each scaled in its own way, with a weight that is found by evidence.

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


# -- features that know the pool: what goes together in it, and how rare each feature is in it ------------------------


@dataclass(frozen=True, eq=False)
class PoolFeatures:
    """Rows of sparse features and, beside them, their place along the main directions of the pool.

    Columns are weighted first. Both halves of a row have unit length, then √½: an inner product is the mean of that of
    the rows themselves and of that along the main directions.

    Examples
    --------
    >>> X = sp.random_array((300, 250), density=0.1, format="csr", rng=np.random.default_rng(0))
    >>> features = PoolFeatures.of(X, np.ones(250), rank=20)
    >>> features(X[:2]).shape
    (2, 270)
    """

    weights: FloatArray  # (d,) of the columns
    directions: FloatArray  # (d, r)
    _of_pool: ClassVar[tuple[sp.csr_array, sp.csr_array | None] | None] = None  # the pool and, once asked for, its rows

    @classmethod
    def of(
        cls, X: sp.csr_array, weights: FloatArray, rank: int = RANK, sample: sp.csr_array | None = None
    ) -> PoolFeatures:
        """From all items of a pool (n, d), whose rows are then computed only once, where they are in memory.

        `sample` is `spread_sample(X)`, where somebody has it.
        """
        some = spread_sample(X) if sample is None else sample
        made = cls(weights, main_directions(_weighted_rows(some, weights), min(rank, min(some.shape) // 2)))
        if not in_shards(X):
            made._keep(X, None)
        return made

    def __call__(self, X: Any) -> sp.csr_array:
        """(n, d + r) the features of these rows."""
        X = sp.csr_array(X, dtype=np.float64)
        if self._of_pool is None or not _same_memory(X, self._of_pool[0]):
            return self._computed(X)
        pool, rows = self._of_pool
        if rows is None:
            rows = self._computed(pool)
            self._keep(pool, rows)
        return rows

    def _computed(self, X: sp.csr_array) -> sp.csr_array:
        rows = _weighted_rows(X, self.weights)
        along = unit_rows(np.asarray(rows @ self.directions))  # (n, r)
        return sp.csr_array(sp.hstack([rows, sp.csr_array(along)], format="csr") * np.sqrt(0.5))

    def _keep(self, pool: sp.csr_array, rows: sp.csr_array | None) -> None:
        object.__setattr__(self, "_of_pool", (pool, rows))

    def forgetful(self) -> PoolFeatures:
        """The same without the pool."""
        return PoolFeatures(self.weights, self.directions)

    def __deepcopy__(self, memo: Any) -> PoolFeatures:
        """Itself: what it computes never changes, and copies of a model may share it."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Without the pool: a saved model is none the larger for it."""
        return {"weights": self.weights, "directions": self.directions}


@dataclass(frozen=True, eq=False)
class BlockFeatures:
    """Blocks of features side by side, each scaled in its own way and multiplied by the square root of its share.

    An inner product is then the sum of those within the blocks, weighted by shares that sum to one.

    Examples
    --------
    >>> blocks = Block("a", "vectors", 0, 2), Block("b", "vectors", 2, 3)
    >>> features = BlockFeatures(blocks, (FeatureScaling(unit_rows=True),) * 2, (0.75, 0.25))
    >>> (features(np.array([[3.0, 4.0, 2.0]])) ** 2).round(2)
    array([[0.27, 0.48, 0.25]])
    """

    blocks: tuple[Block, ...]
    scalings: tuple[FeatureScaling | PoolFeatures, ...]  # of each block
    shares: tuple[float, ...] | None = None  # None: to be found by evidence, see `most_evident`; until then all equal
    _of_pool: ClassVar[tuple[Any, Rows] | None] = None  # the pool, and its rows by the scaling, once asked for

    def __call__(self, X: Any) -> Any:
        """(n, d') the features of these rows, csr where a block is."""
        shares = self.shares or (1.0 / len(self.blocks),) * len(self.blocks)
        return join_columns([rows * np.sqrt(share) for rows, share in zip(self.rows(X), shares, strict=True)])

    def rows(self, X: Any) -> list[Any]:
        """The scaled rows of each block; those of the pool are computed once."""
        is_pool = self._of_pool is not None and _same_memory(X, self._of_pool[0])
        kept: Rows = self._of_pool[1] if self._of_pool is not None and is_pool else {}
        found = []
        for block, scale in zip(self.blocks, self.scalings, strict=True):
            key = (block.name, id(scale))
            if key not in kept:
                kept[key] = (scale, scale(_densified(block, block.of(X))))
            found.append(kept[key][1])
        return found

    def with_shares(self, shares: tuple[float, ...]) -> BlockFeatures:
        return replace(self, shares=shares)._keeping(self._of_pool)

    def with_words(self, of_words: dict[str, PoolFeatures]) -> BlockFeatures:
        """The same with these features of words, by the name of their block; all else is shared."""
        found = zip(self.blocks, self.scalings, strict=True)
        scalings = tuple(of_words.get(block.name, scale) for block, scale in found)
        return replace(self, scalings=scalings)._keeping(self._of_pool)

    def _keeping(self, of_pool: tuple[Any, Rows] | None) -> BlockFeatures:
        object.__setattr__(self, "_of_pool", of_pool)
        return self

    def __deepcopy__(self, memo: Any) -> BlockFeatures:
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {"blocks": self.blocks, "scalings": self.scalings, "shares": self.shares}


def _densified(block: Block, X: Any) -> Any:
    return X.toarray() if sp.issparse(X) and block.kind in DENSE_KINDS else X


def learn_block_features(X: Any, blocks: tuple[Block, ...]) -> tuple[BlockFeatures, ...]:
    """Words, vectors and categories in rows of unit length, numbers standardised, all with the same share.

    Nothing where there is one block only: models scale that themselves.
    """
    return () if len(blocks) < 2 else (_block_features(X, blocks),)


def _block_features(X: Any, blocks: tuple[Block, ...]) -> BlockFeatures:
    def scaling(block: Block) -> FeatureScaling:
        if block.kind == "numbers":
            return learn_scaling(_densified(block, block.of(X)), "auto")
        return FeatureScaling(unit_rows=True)

    return BlockFeatures(blocks, tuple(map(scaling, blocks)))._keeping(None if in_shards(X) else (X, {}))


def learn_pool_features(X: Any, blocks: tuple[Block, ...] = ()) -> tuple[PoolFeatures | BlockFeatures, ...]:
    """Two weightings of the columns, none and rarity (inverse document frequency), with the directions of each.

    Nothing where features are dense, or where there are too few of them or of items. Rarity helps where features are
    counts, or words of short texts, and harms where long texts were weighted already: answers decide, see
    `most_evident`. Of several blocks only words are weighted, and have directions.

    >>> len(learn_pool_features(np.eye(300))), len(learn_pool_features(sp.csr_array(np.eye(300))))
    (0, 2)
    """
    if len(blocks) < 2:
        return _learn_words(X)
    words = {block.name: _learn_words(block.of(X)) for block in blocks if block.kind == "words"}
    features = _block_features(X, blocks)
    n_weightings = max(map(len, words.values()), default=0) or 1
    return tuple(
        features.with_words({name: found[kind].forgetful() for name, found in words.items() if found})
        for kind in range(n_weightings)
    )


def _learn_words(X: Any) -> tuple[PoolFeatures, ...]:
    if not getattr(X, "is_sparse", sp.issparse(X)) or min(X.shape) < MIN_SIZE:
        return ()
    X = X if in_shards(X) else sp.csr_array(X, dtype=np.float64)
    n, d = X.shape
    rarity, sample = 1.0 + np.log((1.0 + n) / (1.0 + items_containing(X))), spread_sample(X)
    return PoolFeatures.of(X, np.ones(d), sample=sample), PoolFeatures.of(X, rarity, sample=sample)


def items_containing(X: Any) -> IntArray:
    """(d,) in how many rows of a csr_array, or of sparse features in shards, each feature is.

    >>> items_containing(sp.csr_array([[2.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    array([2, 0, 1])
    """
    blocks = (rows for _, rows in X.blocks()) if in_shards(X) else (X,)
    return sum(
        (np.bincount(rows.indices[rows.data != 0], minlength=X.shape[1]) for rows in blocks),
        start=np.zeros(X.shape[1], dtype=np.intp),
    )


def spread_sample(X: Any) -> sp.csr_array:
    """At most MAX_ROWS of the rows, evenly spread, in double precision."""
    n = X.shape[0]
    return sp.csr_array(X[np.unique(np.linspace(0, n - 1, min(n, MAX_ROWS)).round().astype(np.intp))], dtype=np.float64)


def most_evident(
    candidates: tuple[PoolFeatures | BlockFeatures, ...], X: Any, Y: BoolArray, observed: BoolArray
) -> PoolFeatures | BlockFeatures | None:
    """The features under which the answers have the highest evidence, by a linear kernel; None of none.

    The shares of blocks are chosen in the same way.
    """
    if not candidates:
        return None
    if len(candidates) == 1 and (isinstance(candidates[0], PoolFeatures) or candidates[0].shares is not None):
        return candidates[0]
    judged = [_judged(features, X, Y, observed) for features in candidates]
    return max(judged, key=lambda each: each[0])[1]


def _judged(
    features: PoolFeatures | BlockFeatures, X: Any, Y: BoolArray, observed: BoolArray
) -> tuple[float, PoolFeatures | BlockFeatures]:
    order = np.arange(len(Y), dtype=float)  # the first rows decide, where there are many
    if isinstance(features, PoolFeatures):
        parts = choose_parts(features(X), Y, observed, SEARCH_ROWS, order)
        return KernelSearch(parts, Fixed()).best("linear").score, features
    by_block = [choose_parts(rows, Y, observed, SEARCH_ROWS, order) for rows in features.rows(X)]
    score, shares = best_shares(by_block)
    return score, features.with_shares(shares)


def best_shares(by_block: list[list[SearchPart]]) -> tuple[float, tuple[float, ...]]:
    """The log evidence, with a weak prior, of the best shares of blocks, and these: uphill, one block after another.

    Shares are proportional to exp θ, with θ normal around 0.
    """
    seen: dict[tuple[float, ...], float] = {}

    def score(theta: FloatArray) -> float:
        key = tuple(np.round(theta - theta[0], 9).tolist())  # only differences count
        if key not in seen:
            evidence = KernelSearch(weighted_parts(by_block, _shares(theta)), Fixed()).best("linear").score
            seen[key] = float(evidence - 0.5 * np.sum((theta - theta.mean()) ** 2) / SHARE_SD**2)
        return seen[key]

    theta = np.zeros(len(by_block))
    for axis in np.eye(len(by_block))[1 if len(by_block) == 2 else 0 :]:
        theta = theta + axis * climb(partial(_along, score, theta, axis), 0.0, SHARE_STEP, MAX_SHARE_STEPS)
    return score(theta), tuple(_shares(theta).tolist())


def _along(score: Callable[[FloatArray], float], theta: FloatArray, axis: FloatArray, step: float) -> float:
    return score(theta + step * axis)


def _shares(theta: FloatArray) -> FloatArray:
    return np.asarray(np.exp(theta) / np.exp(theta).sum())


def main_directions(X: sp.csr_array, k: int) -> FloatArray:
    """(d, k) the right singular vectors of the k largest singular values, nearly; signs made definite.

    >>> np.abs(main_directions(sp.csr_array(np.diag([1.0, 3.0, 2.0])), 1)).round(6).ravel()
    array([0., 1., 0.])
    """
    _, _, V = randomized_svd(X, k, n_iter=POWER_STEPS, random_state=0)  # V (k, d)
    return np.ascontiguousarray(with_fixed_signs(V).T)


def _same_memory(X: Any, other: Any) -> bool:
    """Whether two arrays are made of the same numbers in memory, not only of equal ones.

    >>> X = sp.csr_array(np.eye(2))
    >>> _same_memory(sp.csr_array(X), X), _same_memory(X.copy(), X)
    (True, False)
    """
    if X is other or not (sp.issparse(X) and sp.issparse(other)):
        return X is other
    places = [[part.ctypes.data for part in (each.data, each.indices, each.indptr)] for each in (X, other)]
    return X.shape == other.shape and X.nnz == other.nnz and places[0] == places[1]


def _weighted_rows(X: sp.csr_array, weights: FloatArray) -> sp.csr_array:
    """Columns times their weights, then rows of unit length."""
    return unit_rows(sp.csr_array((X.data * weights[X.indices], X.indices, X.indptr), shape=X.shape))
