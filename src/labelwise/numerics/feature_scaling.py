"""Features made comparable before a kernel sees them: columns standardised, rows of unit length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.kernels import squared_norms

FloatArray = npt.NDArray[np.floating[Any]]
FEW = 10  # dense features up to which the length of a row counts
CONSTANT = 1e-9  # a column whose sd is below this share of its largest value is rounding, not information


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

    Dense rows with few features keep their lengths, which carry information there (a plane would become a circle),
    and are divided by √d, so that they are of unit length on average.
    """
    if scale == "none":
        return FeatureScaling()
    if sp.issparse(X):
        return FeatureScaling(unit_rows=True)
    X = np.asarray(X, dtype=np.float64)
    spread = X.std(axis=0)
    varies = spread > CONSTANT * np.abs(X).max(axis=0)
    weight = np.divide(1.0, spread, out=np.zeros_like(spread), where=varies)
    if X.shape[1] <= FEW:
        return FeatureScaling(X.mean(axis=0), weight / np.sqrt(X.shape[1]))
    return FeatureScaling(X.mean(axis=0), weight, unit_rows=True)


def unit_rows(X: Any) -> Any:
    """Rows divided by their length; zero rows stay zero."""
    lengths = np.sqrt(squared_norms(X))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if not sp.issparse(X):
        return X * scale[:, None]
    data = X.data * np.repeat(scale, np.diff(X.indptr))
    return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
