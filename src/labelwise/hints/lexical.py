"""The words of a label, looked for in the item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import scipy.sparse as sp

from labelwise.hints.base import IntArray, PoolWords, prepared
from labelwise.hints.words import label_weights
from labelwise.numerics.arrays import FloatArray
from labelwise.records.asking import BY_NAME
from labelwise.records.labels import Label


@dataclass(frozen=True)
class Lexical:
    """How much of an item is words of the label: stems of its name, aliases, keywords and, for half, its description.

    The score is X W with X (n, d) the tf-idf of the items in rows of unit length and W (d, q) sparse. W is 1 where the
    stem of a feature is one of the label's, ½ where it only begins with it. A word that several labels have counts
    less.

    Examples
    --------
    >>> import labelwise as lw
    >>> data = lw.LabelData.from_arrays([[1.0, 0.0], [0.0, 1.0]], [[0, 0], [0, 0]], label_names=["goals", "votes"],
    ...                                 feature_names=["goal", "vote"])
    >>> learn = lw.hints.learn_hints(data, ["lexical"])
    >>> learn is not None
    True
    """

    def fit(self, pool: PoolWords, labels: Sequence[Label]) -> FittedLexical:
        W = label_weights(pool.vocabulary, labels, pool.X.shape[1])
        return FittedLexical(sp.csr_array(W), pool.term_weights if pool.is_counts else None)


@dataclass(frozen=True, eq=False)
class FittedLexical:
    source: ClassVar[str] = BY_NAME
    W: sp.csr_array  # (d, q)
    term_weights: FloatArray | None  # (d,), of counts

    def scores(self, X: Any) -> FloatArray:
        return (prepared(X, self.term_weights) @ self.W).toarray()

    def parts(self, X: Any, labels: IntArray) -> sp.csr_array:
        return sp.csr_array(prepared(X, self.term_weights).multiply(self.W.T.tocsr()[labels]))
