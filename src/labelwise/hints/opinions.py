"""What others say of the items, as a hint: believed as far as the answers bear it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from labelwise.hints.base import IntArray, PoolBlock
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.blocks import OPINIONS
from labelwise.records.labels import Label
from labelwise.records.opinions import column_name


@dataclass(frozen=True)
class OpinionHint:
    """The scores of one source: a language model, an older classifier, rules, a spreadsheet.

    The score is 2 s − 1 of what the source says, from −1 for no to 1 for yes. It says nothing of the items and labels
    that it left out.

    Examples
    --------
    >>> import labelwise as lw
    >>> data = lw.LabelData.from_arrays([[0.0], [1.0], [2.0]], item_ids=["a", "b", "c"], label_names=["cat"])
    >>> data = data.with_opinions("rules", {"a": {"cat": 0.9}, "b": {"cat": 0.2}})
    >>> lw.hints.learn_hints(data, [OpinionHint()])(data.X)[0, :, 0]  # standardised; nothing is said of "c"
    array([ 1., -1.,  0.])
    """

    kind: ClassVar[str] = OPINIONS

    def fit(self, pool: PoolBlock, labels: Sequence[Label]) -> FittedOpinion:
        place = {name: column for column, name in enumerate(pool.feature_names or ())}
        columns = [place.get(column_name(pool.block.name, label.name), -1) for label in labels]
        return FittedOpinion(pool.block.name, np.array(columns, dtype=np.intp))


@dataclass(frozen=True, eq=False)
class FittedOpinion:
    source: str
    columns: IntArray  # (q,) of the block; −1 for a label that was added later

    def scores(self, X: Any) -> FloatArray:
        """(n, q) NaN where nothing is said."""
        said = X.toarray() if sp.issparse(X) else np.asarray(X)
        found = np.full((X.shape[0], self.columns.size), np.nan)
        there = self.columns >= 0
        found[:, there] = said[:, self.columns[there]]
        found[found == 0] = np.nan
        return found
