"""The words of a label and of an item, compared by what goes together in the pool."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from labelwise.hints.base import IntArray, PoolWords, prepared
from labelwise.hints.words import label_weights
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.feature_scaling import unit_rows
from labelwise.records.asking import BY_NAME
from labelwise.records.labels import Label


@dataclass(frozen=True)
class Semantics:
    """The cosine between an item and the words of a label, on the main axes of the pool's own texts.

    An item that never uses the word "football" is close to it where it has the words that football goes with. The axes
    are those of a latent semantic analysis of the pool. A label's place is Σ w idf v over its words, with v the word's
    row of V Σ. It is found without any answer and without any text from elsewhere.

    Examples
    --------
    >>> import labelwise as lw
    >>> words = ["football", "goal", "vote"]
    >>> X = [[1, 1, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [0, 0, 2], [0, 0, 1]]
    >>> data = lw.LabelData.from_arrays(X, label_names=["football"], feature_names=words)
    >>> scores = lw.hints.learn_hints(data, [Semantics()])(data.X)[0, :, 0]
    >>> bool(scores[2] > scores[3])  # "goal" goes with "football", "vote" does not
    True
    """

    def fit(self, pool: PoolWords, labels: Sequence[Label]) -> FittedSemantics:
        W = label_weights(pool.vocabulary, labels, pool.X.shape[1])
        axes, sizes = pool.axes
        places = np.asarray((W.T * pool.term_weights) @ (axes * sizes))  # (q, k)
        return FittedSemantics(axes, unit_rows(places).T, pool.term_weights if pool.is_counts else None)


@dataclass(frozen=True, eq=False)
class FittedSemantics:
    source: ClassVar[str] = BY_NAME
    axes: FloatArray  # (d, k)
    places: FloatArray  # (k, q), of unit length
    term_weights: FloatArray | None  # (d,), of counts

    def scores(self, X: Any) -> FloatArray:
        return unit_rows(np.asarray(prepared(X, self.term_weights) @ self.axes)) @ self.places

    def parts(self, X: Any, labels: IntArray) -> sp.csr_array:
        rows = prepared(X, self.term_weights)
        lengths = np.linalg.norm(np.asarray(rows @ self.axes), axis=1)  # (m,)
        row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        along = np.einsum("ek,ke->e", self.axes[rows.indices], self.places[:, labels[row_of]])
        scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        return sp.csr_array((rows.data * along * scale[row_of], rows.indices, rows.indptr), shape=rows.shape)
