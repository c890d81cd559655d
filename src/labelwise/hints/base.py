"""Hints of a pool: what each has to say of any items, standardised over the pool, without a single answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from labelwise.hints.words import PoolVocabulary, is_telling, term_weights
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.feature_scaling import unit_rows
from labelwise.records import Block, LabelData, in_shards
from labelwise.records.labels import Label

SAMPLE = 20_000  # rows, evenly spread, that a pool is learnt from
BLOCK = 4096  # rows scored at a time
N_AXES = 150  # of the pool's semantics
SVD_PASSES = 3
CONSTANT = 1e-9  # a score with a smaller standard deviation says nothing
DEFAULT_HINTS = ("lexical", "semantics", "encoder", "opinions")

IntArray = npt.NDArray[np.intp]


class FittedHint(Protocol):
    """Scores any items; the larger, the more the hint speaks for the label. NaN: it says nothing of this item.

    A label with the same score throughout is one that it has nothing to say of.

    It may have a `source`, the name that people see, and `parts(X, labels)`: a csr_array (m, d) of what each feature
    of row i adds to its score for label i of `labels`.
    """

    def scores(self, X: Any) -> FloatArray: ...


class Hint(Protocol):
    """Learns what it needs of a pool and its labels, without any answer.

    A class attribute `kind` says which blocks of features it reads, "words" where there is none. It is fitted to each
    block of that kind: to a `PoolWords` of words, otherwise to a `PoolBlock`; its scores are then asked of the columns
    of that block. None: it has nothing to say of this block.
    """

    def fit(self, pool: Any, labels: Sequence[Label]) -> FittedHint | None: ...


@dataclass(frozen=True, eq=False)
class PoolBlock:
    """One block of the features of a pool: (n, d) of the pool, or a sample of it, and the names of the columns."""

    X: Any
    block: Block
    feature_names: tuple[str, ...] | None


@dataclass(frozen=True, eq=False)
class PoolWords:
    """A pool whose features are terms with readable names: counts, presence or tf-idf.

    Parameters
    ----------
    X : (n, d) csr_array, the pool or a sample of it
    vocabulary : PoolVocabulary
    is_counts : bool
        Whether values are whole numbers; then rare terms are weighted up, otherwise they are taken to be so already.
    """

    X: sp.csr_array
    vocabulary: PoolVocabulary
    is_counts: bool

    @classmethod
    def of(cls, X: Any, feature_names: Sequence[str] | None) -> PoolWords | None:
        """None where the features have no names, or may be negative: then they are no terms."""
        if feature_names is None or X.shape[0] == 0:
            return None
        X = sp.csr_array(X)
        if X.nnz == 0 or X.data.min() < 0:
            return None
        return cls(X, PoolVocabulary.of(feature_names), bool((X.data == np.rint(X.data)).all()))

    @cached_property
    def term_weights(self) -> FloatArray:
        return term_weights(self.X)

    def prepare(self, X: Any) -> sp.csr_array:
        """Rows of unit length, with rare terms weighted up."""
        return prepared(X, self.term_weights if self.is_counts else None)

    @cached_property
    def axes(self) -> tuple[FloatArray, FloatArray]:
        """(d, k) the axes of latent semantic analysis (Deerwester et al. 1990) and (k,) their singular values."""
        X = self.prepare(self.X)
        k = min(N_AXES, min(X.shape) - 1)
        if k < 1:
            return np.zeros((X.shape[1], 0)), np.zeros(0)
        _, sizes, axes = randomized_svd(X, k, n_iter=SVD_PASSES, random_state=0)
        return axes.T, sizes


@dataclass(frozen=True, eq=False)
class Pool:
    """A sample of the items, and each block of their features ready for the hints that read its kind."""

    X: Any  # (n, d)
    blocks: tuple[tuple[Block, PoolWords | PoolBlock], ...]

    @classmethod
    def of(cls, data: LabelData) -> Pool:
        """Features without blocks are taken for words, if they can be."""
        n = data.n_items
        if data.feature_names is None and not data.blocks:  # nothing that a hint could read: no row is loaded
            return cls(np.empty((0, data.n_features)), ())
        rows = np.unique(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp)) if n else np.empty(0, dtype=np.intp)
        X = data.X[rows] if in_shards(data.X) or rows.size < n else data.X
        found: list[tuple[Block, PoolWords | PoolBlock]] = []
        for block in data.blocks or (Block("words", "words", 0, data.n_features),):
            names = None if data.feature_names is None else data.feature_names[block.start : block.stop]
            part = block.of(X)
            pool = PoolWords.of(part, names) if block.kind == "words" else PoolBlock(part, block, names)
            if pool is not None:
                found.append((block, pool))
        return cls(X, tuple(found))

    def words(self, feature_names: Sequence[str] | None) -> dict[int, str]:
        """The columns that are words which tell a person something, and which."""
        if feature_names is None:
            return {}
        blocks = (block for block, pool in self.blocks if isinstance(pool, PoolWords))
        columns = (column for block in blocks for column in range(block.start, block.stop))
        return {column: feature_names[column] for column in columns if is_telling(feature_names[column])}

    def fit(self, hint: Hint, labels: Sequence[Label]) -> list[tuple[str, FittedHint]]:
        """The hint fitted to each block that it reads, with its name: with that of the block where there are several.

        A block that is alone is handed on as it is.
        """
        own = [(block, pool) for block, pool in self.blocks if block.kind == getattr(hint, "kind", "words")]
        found: list[tuple[str, FittedHint]] = []
        for block, pool in own:
            fitted = hint.fit(pool, labels)
            if fitted is not None:
                name = type(hint).__name__ + (f" of {block.name}" if len(own) > 1 else "")
                found.append((name, fitted if block.width == self.X.shape[1] else HintOfBlock(fitted, block)))
        return found


@dataclass(frozen=True, eq=False)
class HintOfBlock:
    """A fitted hint that is shown the columns of its block."""

    hint: FittedHint
    block: Block

    @property
    def source(self) -> str | None:
        return getattr(self.hint, "source", None)

    def scores(self, X: Any) -> FloatArray:
        return self.hint.scores(self.block.of(X))

    def parts(self, X: Any, labels: IntArray) -> sp.csr_array | None:
        if not hasattr(self.hint, "parts"):
            return None
        own = self.hint.parts(self.block.of(X), labels)
        return sp.csr_array((own.data, own.indices + self.block.start, own.indptr), shape=X.shape)


def prepared(X: Any, weights: FloatArray | None) -> sp.csr_array:
    X = sp.csr_array(X).astype(np.float64)
    if weights is not None:
        X = sp.csr_array((X.data * weights[X.indices], X.indices, X.indptr), shape=X.shape)
    return unit_rows(X)


@dataclass(frozen=True, eq=False)
class PoolHints:
    """Fitted hints, standardised over their pool. Calling them scores any items with the same features.

    Examples
    --------
    >>> data = LabelData.from_arrays(np.eye(3), label_names=["dogs", "2007"], feature_names=["cat", "dog", "tree"])
    >>> hints = learn_hints(data, ["lexical"])
    >>> hints(np.eye(3)).round(1)
    array([[[-0.7,  0. ],
            [ 1.4,  0. ],
            [-0.7,  0. ]]])
    """

    names: tuple[str, ...]
    fitted: tuple[FittedHint, ...]
    means: FloatArray  # (h, q)
    weights: FloatArray  # (h, q) 1 / standard deviation; 0 where a hint has nothing to say

    @classmethod
    def of(cls, names: Sequence[str], fitted: Sequence[FittedHint], X: Any) -> PoolHints:
        """Standardised over the rows X."""
        moments = [_moments(hint, X) for hint in fitted]
        means, spreads = (np.stack([each[which] for each in moments]) for which in (0, 1))
        weights = np.divide(1.0, spreads, out=np.zeros_like(spreads), where=spreads > CONSTANT)
        return cls(tuple(names), tuple(fitted), means, weights)

    def __len__(self) -> int:
        return len(self.fitted)

    def __call__(self, X: Any) -> FloatArray:
        """(h, m, q) standard scores of items X; 0 where a hint says nothing."""
        found = [hint.scores(X) for hint in self.fitted]
        return np.stack([_or_zero((s - m) * w) for s, m, w in zip(found, self.means, self.weights, strict=True)])

    def says(self) -> BoolArray:
        """(h, q) of which labels each hint has something to say."""
        return self.weights > 0

    def __sklearn_clone__(self) -> PoolHints:
        return self  # nothing in it ever changes


def learn_hints(data: LabelData, hints: Iterable[Any] = DEFAULT_HINTS, pool: Pool | None = None) -> PoolHints | None:
    """The hints of a pool, by name or as objects; None where none of them has anything to say of any label.

    `pool` is what was learnt of the same items before, to be used again when only the labels have changed.

    Examples
    --------
    >>> data = LabelData.from_arrays(np.eye(2), label_names=["dogs"], feature_names=["cat", "dog"])
    >>> learn_hints(data).names
    ('Lexical', 'Semantics')
    >>> learn_hints(LabelData.from_arrays(np.eye(2), label_names=["dogs"])) is None  # columns without names
    True
    """
    chosen = checked_hints(hints)
    if not chosen:
        return None
    pool = Pool.of(data) if pool is None else pool
    fitted = [each for hint in chosen for each in pool.fit(hint, data.labels)]
    if not fitted:
        return None
    found = PoolHints.of([name for name, _ in fitted], [hint for _, hint in fitted], pool.X)
    return found if found.says().any() else None


def checked_hints(hints: Iterable[Any]) -> tuple[Hint, ...]:
    """The hints themselves, of names and objects."""
    from labelwise.hints import BY_NAME  # which lists the hints that import this module

    found: list[Any] = []
    for hint in (hints,) if isinstance(hints, str) else hints:
        if (isinstance(hint, str) and hint not in BY_NAME) or (not isinstance(hint, str) and not hasattr(hint, "fit")):
            raise ValueError(f"a hint is one of {', '.join(BY_NAME)} or an object with `fit`, got {hint!r}")
        found.append(BY_NAME[hint]() if isinstance(hint, str) else hint)
    return tuple(found)


def _moments(hint: FittedHint, X: Any) -> tuple[FloatArray, FloatArray]:
    """(q,) mean and standard deviation of what is said of rows X, by blocks."""
    said, total, squares = 0.0, 0.0, 0.0
    for start in range(0, X.shape[0], BLOCK):
        scores = hint.scores(X[start : start + BLOCK])
        said = said + (~np.isnan(scores)).sum(axis=0)
        scores = _or_zero(scores)
        total, squares = total + scores.sum(axis=0), squares + (scores**2).sum(axis=0)
    n = np.maximum(said, 1)
    mean = np.asarray(total / n)
    return mean, np.sqrt(np.maximum(np.asarray(squares / n) - mean**2, 0.0))


def _or_zero(scores: FloatArray) -> FloatArray:
    return np.where(np.isnan(scores), 0.0, scores)
