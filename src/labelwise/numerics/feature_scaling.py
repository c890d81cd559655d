"""Features made comparable before a model sees them: columns standardised, rows of unit length, columns hashed.

Columns of a table come in units of their own, and standardising makes them comparable. Not so principal components and
singular vectors: there the spread of a column says how much it matters, and once standardised the last ones are noise
that drowns the first. Hashing gives features without end a space of fixed size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.stats import rankdata

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.blocks import Block, in_shards, join_columns, model_columns
from labelwise.numerics.gp.kernels import squared_norms

MAX_SHORT_FEATURES = 10  # dense features up to which the length of a row counts
ORDERED = 0.55  # rank correlation of size and place, above which columns count as sorted by size; more where few
UNRELATED = 3.0  # times what the squared correlations of unrelated columns are on average
LOOKED_AT = 2000  # rows, for whether columns are related
CONSTANT_BELOW = 1e-12  # a column whose sd is below this share of its largest value is rounding, not information
CONSTANT_FEATURE = 0.3  # beside rows of unit length: a level of its own costs little, but something


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """What was learnt from the training rows; calling it prepares any rows, in float64, dense or csr.

    Examples
    --------
    >>> FeatureScaling(unit_rows=True)(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8], [0. , 0. ]])
    """

    centre: FloatArray | None = None  # (d,) or None: columns are left as they are
    weight: FloatArray | None = None  # (d,) 1 / sd; 0 for constant columns
    unit_rows: bool = False

    def __call__(self, X: Any) -> Any:
        if self.centre is not None and self.weight is not None:
            X = X.toarray() if sp.issparse(X) else X  # a model that centres columns was given dense rows to learn from
            X = (np.asarray(X, dtype=np.float64) - self.centre) * self.weight
        elif sp.issparse(X):
            X = sp.csr_array(X).astype(np.float64, copy=False)
        else:
            X = np.asarray(X, dtype=np.float64)
        return unit_rows(X) if self.unit_rows else X


def learn_scaling(X: Any, scale: str) -> FeatureScaling:
    """The scaling of `scale`: "none" leaves features alone; "auto" standardises the columns of dense features and
    makes rows of unit length. Constant columns are dropped: whatever they hold later was never learnt from.

    Columns that look like principal axes, unrelated and sorted by size, are left as they are, as sparse ones are.

    Dense rows with few features keep their lengths, which carry information there (a plane would become a circle). They
    are divided by √d, so that they are of unit length on average.

    Features in shards count as dense and are read twice, block by block.
    """
    if scale == "none":
        return FeatureScaling()
    if sp.issparse(X):
        return FeatureScaling(unit_rows=True)
    X = X if in_shards(X) else np.asarray(X, dtype=np.float64)
    columns = _ColumnSizes.of_shards(X) if in_shards(X) else _ColumnSizes.of(X)
    varies = columns.spread > CONSTANT_BELOW * columns.largest
    weight = np.divide(1.0, columns.spread, out=np.zeros_like(columns.spread), where=varies)
    if X.shape[1] <= MAX_SHORT_FEATURES:
        return FeatureScaling(columns.mean, weight / np.sqrt(X.shape[1]))
    if are_principal_axes(X, columns.squares):
        return FeatureScaling(unit_rows=True)
    return FeatureScaling(columns.mean, weight, unit_rows=True)


class _ColumnSizes(NamedTuple):
    """Of each column, (d,): mean, standard deviation, largest absolute value and sum of squares."""

    mean: FloatArray
    spread: FloatArray
    largest: FloatArray
    squares: FloatArray

    @classmethod
    def of(cls, X: FloatArray) -> _ColumnSizes:
        return cls(X.mean(axis=0), X.std(axis=0), np.abs(X).max(axis=0), np.einsum("nd,nd->d", X, X))

    @classmethod
    def of_shards(cls, X: Any) -> _ColumnSizes:
        """The same block by block, in two passes: a difference of large sums would lose a small deviation."""
        n, d = X.shape
        total, largest, squares, spread = np.zeros((4, d))
        for _, rows in X.blocks():
            block = _dense(rows)
            total += block.sum(axis=0)
            largest = np.maximum(largest, np.abs(block).max(axis=0))
            squares += np.einsum("nd,nd->d", block, block)
        for _, rows in X.blocks():
            spread += ((_dense(rows) - total / n) ** 2).sum(axis=0)
        return cls(total / n, np.sqrt(spread / n), largest, squares)


def _dense(X: Any) -> FloatArray:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def are_principal_axes(X: Any, squares: FloatArray | None = None) -> bool:
    """Whether columns look like principal components or singular vectors: sorted by size, and unrelated.

    X (n, d) is dense or in shards; `squares` (d,) are the sums of squares of its columns, where these are available.

    >>> rows = np.random.default_rng(0).standard_normal((60, 40))
    >>> are_principal_axes(rows * 0.9 ** np.arange(40)), are_principal_axes(rows)
    (True, False)
    """
    n, d = X.shape
    squares = np.einsum("nd,nd->d", X, X) if squares is None else squares
    sizes, place = rankdata(squares), np.arange(1, d + 1)
    if n < 3 or -_correlation(sizes, place) < max(ORDERED, 3.0 / np.sqrt(d - 1)):  # three sd of unsorted ones
        return False
    some = _dense(X[:: -(-n // LOOKED_AT)])
    n, centred = some.shape[0], some - some.mean(axis=0)
    spread = centred.std(axis=0)
    Z = centred[:, spread > 0] / spread[spread > 0]  # (n, k)
    k = Z.shape[1]
    products = Z.T @ Z if k <= n else Z @ Z.T  # the same sum of squares
    squared = (np.einsum("ij,ij->", products, products) / n**2 - k) / max(k * (k - 1), 1)
    return bool(squared * (n - 1) < UNRELATED)


def _correlation(a: FloatArray, b: npt.NDArray[Any]) -> float:
    a, b = a - a.mean(), b - b.mean()
    length = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / length) if length > 0 else 0.0


def unit_rows(X: Any) -> Any:
    """Rows divided by their length; zero rows stay zero."""
    lengths = np.sqrt(squared_norms(X))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if not sp.issparse(X):
        return X * scale[:, None]
    data = X.data * np.repeat(scale, np.diff(X.indptr))
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)


def hash_columns(X: Any, n_buckets: int) -> Any:
    """The rows of a CSR array over `n_buckets` columns; what falls into one bucket is added with a sign of its own.

    The sign keeps inner products unbiased (Weinberger et al., ICML 2009). The mix of bits is the finaliser of
    SplitMix64 (Steele, Lea & Flood, OOPSLA 2014), so that the same column always goes to the same bucket.

    >>> hash_columns(sp.csr_array([[0.0, 2.0, 0.0, 1.0]]), 3).toarray()
    array([[ 1.,  0., -2.]])
    """
    word = X.indices.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    word ^= word >> np.uint64(31)
    sign = np.where(word >> np.uint64(63), -1, 1).astype(X.dtype)
    bucket = (word % np.uint64(n_buckets)).astype(np.int64)
    hashed = sp.csr_array((X.data * sign, bucket, X.indptr.copy()), shape=(X.shape[0], n_buckets))
    hashed.sum_duplicates()
    return hashed


@dataclass(frozen=True, eq=False)
class PreparedFeatures:
    """What was learnt from the training rows; calling it prepares any rows, in float64, with the constant last.

    Examples
    --------
    >>> prepare = learn_features(sp.csr_array(np.array([[1.0, 1.0], [0.0, 1.0]])), "auto")
    >>> prepare(sp.csr_array(np.array([[1.0, 0.0]]))).toarray()
    array([[1. , 0. , 0.3]])
    """

    scaling: FeatureScaling
    term_weight: FloatArray | None = None  # (d,) or None: columns are left to `scaling`
    blocks: tuple[Block, ...] = ()  # of the rows that it is given, of which opinions are left out

    def __call__(self, X: Any) -> Any:
        X = model_columns(X, self.blocks)
        if self.term_weight is not None:
            X = sp.csr_array(X).astype(np.float64)
            X = unit_rows(sp.csr_array((X.data * self.term_weight[X.indices], X.indices, X.indptr), shape=X.shape))
        else:
            X = self.scaling(X)
        return join_columns([X, np.full((X.shape[0], 1), CONSTANT_FEATURE)])


def learn_features(X: Any, scale: str) -> PreparedFeatures:
    """Sparse features without negative values are taken for terms and weighted by log((n + 1) / (rows with it + ½)),
    which is positive for a term in every row, too. Everything else goes by `learn_scaling`."""
    is_terms = scale == "auto" and sp.issparse(X) and (X.data.size == 0 or X.data.min() >= 0)
    if not is_terms:
        return PreparedFeatures(learn_scaling(X, scale))
    n, d = X.shape
    rows_with = np.bincount(X.indices[X.data != 0], minlength=d)
    return PreparedFeatures(FeatureScaling(unit_rows=True), np.log((n + 1) / (rows_with + 0.5)))
