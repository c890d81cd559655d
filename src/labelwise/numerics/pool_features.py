"""Features that know the pool: what goes together in it, and how rare each feature is in it.

A few tagged items say little about single words. The many items without a tag say which words are used together, so
that what was learnt of one word holds for its neighbours, too: latent semantic analysis (Deerwester et al., 1990).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.feature_scaling import unit_rows
from labelwise.numerics.gp.search import Fixed, KernelSearch, choose_parts

RANK = 100  # main directions of the pool
MIN_SIZE = 200  # items and features below which there is nothing to find that the features do not say themselves
MAX_ROWS = 4000  # of the pool that the directions are found on
POWER_STEPS = 4  # of the randomised singular value decomposition (Halko et al., SIAM Review 2011)
SEARCH_ROWS = 300  # answered items that decide between the weightings


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
    def of(cls, X: sp.csr_array, weights: FloatArray, rank: int = RANK) -> PoolFeatures:
        """From all items of a pool (n, d), whose rows are then computed only once."""
        n = X.shape[0]
        some = X[np.unique(np.linspace(0, n - 1, min(n, MAX_ROWS)).round().astype(np.intp))]
        made = cls(weights, main_directions(_weighted_rows(some, weights), min(rank, min(some.shape) // 2)))
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

    def __deepcopy__(self, memo: Any) -> PoolFeatures:
        """Itself: what it computes never changes, and copies of a model may share it."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Without the pool: a saved model is none the larger for it."""
        return {"weights": self.weights, "directions": self.directions}


def learn_pool_features(X: Any) -> tuple[PoolFeatures, ...]:
    """Two weightings of the columns, none and rarity (inverse document frequency), with the directions of each.

    Nothing where features are dense, or where there are too few of them or of items. Rarity helps where features are
    counts, or words of short texts, and harms where long texts were weighted already: answers decide, see
    `most_evident`.

    >>> len(learn_pool_features(np.eye(300))), len(learn_pool_features(sp.csr_array(np.eye(300))))
    (0, 2)
    """
    if not sp.issparse(X) or min(X.shape) < MIN_SIZE:
        return ()
    X = sp.csr_array(X, dtype=np.float64)
    n, d = X.shape
    containing = np.bincount(X.indices[X.data != 0], minlength=d)
    rarity = 1.0 + np.log((1.0 + n) / (1.0 + containing))
    return PoolFeatures.of(X, np.ones(d)), PoolFeatures.of(X, rarity)


def most_evident(
    candidates: tuple[PoolFeatures, ...], X: Any, Y: BoolArray, observed: BoolArray
) -> PoolFeatures | None:
    """The features under which the answers have the highest evidence, by a linear kernel; None of none."""
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    order = np.arange(len(Y), dtype=float)  # the first rows decide, where there are many
    scores = [
        KernelSearch(choose_parts(features(X), Y, observed, SEARCH_ROWS, order), Fixed()).best("linear").score
        for features in candidates
    ]
    return candidates[int(np.argmax(scores))]


def main_directions(X: sp.csr_array, k: int) -> FloatArray:
    """(d, k) the right singular vectors of the k largest singular values, nearly; signs made definite.

    >>> np.abs(main_directions(sp.csr_array(np.diag([1.0, 3.0, 2.0])), 1)).round(6).ravel()
    array([0., 1., 0.])
    """
    _, _, V = randomized_svd(X, k, n_iter=POWER_STEPS, random_state=0)  # V (k, d)
    largest = V[np.arange(len(V)), np.abs(V).argmax(axis=1)]
    return np.ascontiguousarray((V * np.where(largest < 0, -1.0, 1.0)[:, None]).T)


def _same_memory(X: sp.csr_array, other: sp.csr_array) -> bool:
    """Whether two arrays are made of the same numbers in memory, not only of equal ones.

    >>> X = sp.csr_array(np.eye(2))
    >>> _same_memory(sp.csr_array(X), X), _same_memory(X.copy(), X)
    (True, False)
    """
    places = [[part.ctypes.data for part in (each.data, each.indices, each.indptr)] for each in (X, other)]
    return X.shape == other.shape and X.nnz == other.nnz and places[0] == places[1]


def _weighted_rows(X: sp.csr_array, weights: FloatArray) -> sp.csr_array:
    """Columns times their weights, then rows of unit length."""
    return unit_rows(sp.csr_array((X.data * weights[X.indices], X.indices, X.indptr), shape=X.shape))
