"""A scikit-learn scorer that passes over unknown labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.user_input import check_choices, dense_labels

METRICS = ("f1_micro", "f1_macro", "f1_samples", "average_precision", "neg_log_loss")


@dataclass(frozen=True)
class KnownLabelScorer:
    """A scorer for `cross_val_score`, `GridSearchCV` and the like: labels that are NaN in Y are passed over.

    Give a splitter as `cv`, such as `KFold(5)`: a number makes scikit-learn look at Y, and it refuses NaN there.

    Parameters
    ----------
    metric : "f1_micro", "f1_macro", "f1_samples", "average_precision" or "neg_log_loss"
        As scikit-learn names them; higher is better. Macro averages and average precision are over labels with a known
        yes. Average precision and log loss need `predict_proba`.

    Examples
    --------
    >>> import labelwise as lw
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> X = np.arange(12.0)[:, None]
    >>> Y = np.where(np.arange(12) % 5 == 0, np.nan, X[:, 0] % 2)[:, None]  # some labels are not known
    >>> scores = cross_val_score(lw.BinaryRelevance(), X, Y, scoring=KnownLabelScorer("f1_micro"), cv=KFold(2))
    >>> scores.shape
    (2,)
    """

    metric: str = "f1_micro"

    def __post_init__(self) -> None:
        check_choices(self, metric=METRICS)

    def __call__(self, estimator: Any, X: Any, Y: Any, observed: Any = None) -> float:
        truth, known = dense_labels(Y, observed)
        if not known.any():
            raise ValueError("no label of these items is known: there is nothing to judge by")
        if self.metric.startswith("f1"):
            predicted = np.asarray(estimator.predict(X)).astype(bool)
            return known_f1(predicted, truth, known, self.metric.removeprefix("f1_"))
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        if self.metric == "neg_log_loss":
            right = np.clip(np.where(truth, p, 1 - p)[known], 1e-15, 1)
            return float(np.log(right).mean())
        return _average_precision(p, truth, known)


def known_f1(predicted: BoolArray, truth: BoolArray, known: BoolArray, average: str) -> float:
    """F1 over the entries (n, q) that are known: of all ("micro"), by label ("macro") or by item ("samples").

    Labels without a known yes, and items without any known label, do not count in the mean.
    """
    axis = {"micro": None, "macro": 0, "samples": 1}[average]
    hits = np.asarray((predicted & truth & known).sum(axis=axis), dtype=np.float64)
    sizes = np.asarray(((predicted & known).sum(axis=axis) + (truth & known).sum(axis=axis)), dtype=np.float64)
    if axis is None:
        return float(2 * hits / sizes) if sizes else 0.0
    counts = (truth & known).any(axis=0) if axis == 0 else known.any(axis=1)
    scores = np.divide(2 * hits, sizes, out=np.zeros(sizes.shape), where=sizes > 0)
    return float(scores[counts].mean()) if counts.any() else 0.0


def _average_precision(p: FloatArray, truth: BoolArray, known: BoolArray) -> float:
    labels = np.flatnonzero((truth & known).any(axis=0))
    found = [average_precision_score(truth[known[:, j], j], p[known[:, j], j]) for j in labels]
    return float(np.mean(found)) if found else 0.0
