"""Features for linear models of text: rare terms count more, rows have unit length, and a constant is appended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.feature_scaling import FeatureScaling, learn_scaling, unit_rows

CONSTANT = 0.3  # beside rows of unit length: a level of its own costs little, but something


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

    def __call__(self, X: Any) -> Any:
        if self.term_weight is not None:
            X = sp.csr_array(X).astype(np.float64)
            X = unit_rows(sp.csr_array((X.data * self.term_weight[X.indices], X.indices, X.indptr), shape=X.shape))
        else:
            X = self.scaling(X)
        constant = np.full((X.shape[0], 1), CONSTANT)
        return sp.hstack([X, sp.csr_array(constant)], format="csr") if sp.issparse(X) else np.hstack([X, constant])


def learn_features(X: Any, scale: str) -> PreparedFeatures:
    """Sparse features without negative values are taken for terms and weighted by log((n + 1) / (rows with it + ½)),
    which is positive for a term in every row, too; everything else goes by `learn_scaling`."""
    is_terms = scale == "auto" and sp.issparse(X) and (X.data.size == 0 or X.data.min() >= 0)
    if not is_terms:
        return PreparedFeatures(learn_scaling(X, scale))
    n, d = X.shape
    rows_with = np.bincount(X.indices[X.data != 0], minlength=d)
    return PreparedFeatures(FeatureScaling(unit_rows=True), np.log((n + 1) / (rows_with + 0.5)))
