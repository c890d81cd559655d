"""How good are beliefs and label sets? All labels at once, ties treated fairly, labels that cannot be judged counted.

Everywhere `scores` is (n, q), higher meaning more likely present, and `truth` is (n, q) of bool. The ranking measures
sort once and read everything off the sorted columns; no loop over labels or items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import BoolArray, FloatArray

PRECISION_AT = (1, 2, 3)  # precision@k is reported for these k, and as their mean
BINS = 15  # of equal width, for the calibration error
LOWER_IS_BETTER = frozenset({"ranking_loss", "log_loss", "calibration_error"})
METRICS = (
    *(f"precision_at_{k}" for k in PRECISION_AT),
    "precision_at_1_3",
    "macro_f1",
    "micro_f1",
    "sample_f1",
    "macro_roc_auc",
    "micro_roc_auc",
    "macro_average_precision",
    "micro_average_precision",
    "ranking_loss",
    "log_loss",
    "calibration_error",
)


class Ranked(NamedTuple):
    """A measure averaged over labels, and how many labels had to be left out of the average."""

    value: float
    left_out: int


@dataclass(frozen=True, eq=False)
class _Sorted:
    """The truth along axis 0 in falling order of score, with the last place of each place's group of ties."""

    truth: BoolArray  # (n, q)
    last: npt.NDArray[np.intp]  # (n, q)

    @classmethod
    def of(cls, scores: FloatArray, truth: BoolArray) -> _Sorted:
        falling = np.argsort(-scores, axis=0, kind="stable")  # (n, q)
        ordered = np.take_along_axis(scores, falling, 0)
        n = scores.shape[0]
        places = np.broadcast_to(np.arange(n)[:, None], scores.shape)
        ends = np.ones(scores.shape, dtype=bool)
        ends[:-1] = ordered[1:] != ordered[:-1]
        last = np.minimum.accumulate(np.where(ends, places, n)[::-1], axis=0)[::-1]
        return cls(np.take_along_axis(truth, falling, 0), last)

    def wrong_pairs(self) -> tuple[FloatArray, FloatArray]:
        """Per column, pairs (positive, negative) where the negative scores higher, and pairs that tie."""
        negatives = np.cumsum(~self.truth, axis=0)  # (n, q), down to and with this place
        at_least = np.take_along_axis(negatives, self.last, 0)  # negatives that score as high or higher
        new_group = np.ones(self.truth.shape, dtype=bool)
        new_group[1:] = self.last[1:] != self.last[:-1]
        before = np.where(new_group, negatives - ~self.truth, 0)  # grows from group to group: spread it by maximum
        higher = np.maximum.accumulate(before, axis=0)
        wrong = np.where(self.truth, higher, 0).sum(0, dtype=float)
        return wrong, np.where(self.truth, at_least, 0).sum(0, dtype=float) - wrong

    def average_precisions(self) -> FloatArray:
        """Per column, the mean over positives of the precision among all that score as high or higher."""
        hits = np.cumsum(self.truth, axis=0)  # (n, q)
        precision = np.take_along_axis(hits, self.last, 0) / (self.last + 1)
        with np.errstate(invalid="ignore"):
            return np.where(self.truth, precision, 0.0).sum(0) / self.truth.sum(0)  # (q,), NaN without positives


def precision_at(scores: FloatArray, truth: BoolArray, k: int) -> float:
    """Share of present labels among each item's k highest, averaged over items; ties count as drawn at random.

    >>> precision_at(np.array([[0.9, 0.5, 0.5]]), np.array([[True, True, False]]), 2)
    0.75
    """
    q = scores.shape[1]
    if not 1 <= k <= q:
        raise ValueError(f"k must be between 1 and the number of labels, {q}; got {k!r}")
    cut = np.partition(scores, q - k, axis=1)[:, q - k, None]  # (n, 1), the k-th highest
    above, level = scores > cut, scores == cut
    share = (truth & level).sum(1) / level.sum(1)
    hits = (truth & above).sum(1) + (k - above.sum(1)) * share
    return float(hits.mean() / k)


def macro_roc_auc(scores: FloatArray, truth: BoolArray) -> Ranked:
    """Area under the ROC curve, ties counted half, mean over labels with at least one positive and one negative."""
    return _mean_known(_roc_auc(_Sorted.of(scores, truth)))


def micro_roc_auc(scores: FloatArray, truth: BoolArray) -> float:
    """Area under the ROC curve of all n × q entries together; NaN when they are all alike."""
    return float(_roc_auc(_Sorted.of(scores.reshape(-1, 1), truth.reshape(-1, 1)))[0])


def macro_average_precision(scores: FloatArray, truth: BoolArray) -> Ranked:
    """Average precision (a step function, no interpolation), mean over labels with at least one positive."""
    return _mean_known(_Sorted.of(scores, truth).average_precisions())


def micro_average_precision(scores: FloatArray, truth: BoolArray) -> float:
    """Average precision of all n × q entries together; NaN without positives."""
    return float(_Sorted.of(scores.reshape(-1, 1), truth.reshape(-1, 1)).average_precisions()[0])


def ranking_loss(scores: FloatArray, truth: BoolArray) -> float:
    """Share of an item's (present, absent) label pairs in the wrong order or tied, averaged over all items.

    An item with all labels or none has no such pair and counts 0, as in scikit-learn.
    """
    wrong, tied = _Sorted.of(scores.T, truth.T).wrong_pairs()  # (n,)
    present = truth.sum(1)
    pairs = present * (truth.shape[1] - present)
    return float(((wrong + tied) / np.maximum(pairs, 1)).mean())


def macro_f1(predicted: BoolArray, truth: BoolArray) -> Ranked:
    """F1 per label, mean over labels with at least one positive: the others say nothing of what was found."""
    f1 = _f1(predicted, truth, axis=0)
    return _mean_known(np.where(truth.any(0), f1, np.nan))


def micro_f1(predicted: BoolArray, truth: BoolArray) -> float:
    """F1 of all n × q entries together."""
    return float(_f1(predicted, truth, axis=None))


def sample_f1(predicted: BoolArray, truth: BoolArray) -> float:
    """F1 per item, averaged; an empty set predicted for an item without labels is right and counts 1."""
    return float(_f1(predicted, truth, axis=1).mean())


def log_loss(probabilities: FloatArray, truth: BoolArray) -> float:
    """Mean of −log p(truth) in nats over all entries; p is kept one machine epsilon away from 0 and 1."""
    given = np.where(truth, probabilities, 1 - probabilities)
    tiny = np.finfo(given.dtype).eps
    return float(-np.log(np.clip(given, tiny, 1 - tiny)).mean())


def calibration_error(probabilities: FloatArray, truth: BoolArray, bins: int = BINS) -> float:
    """Expected calibration error: |mean p − share present| in `bins` equal bins of p, weighted by entries in them.

    >>> calibration_error(np.array([[0.8, 0.8, 0.8, 0.8]]), np.array([[True, True, True, False]])).__round__(3)
    0.05
    """
    p = probabilities.ravel()
    place = np.minimum((p * bins).astype(np.intp), bins - 1)
    believed = np.bincount(place, weights=p, minlength=bins)
    present = np.bincount(place, weights=truth.ravel(), minlength=bins)
    return float(np.abs(believed - present).sum() / p.size)


def evaluate(
    probabilities: npt.ArrayLike, truth: npt.ArrayLike, predicted_sets: npt.ArrayLike | None = None
) -> dict[str, float]:
    """Every measure of this module by name; label sets are those with probability above ½ unless given.

    `precision_at_1_3` is the mean of precision@1, @2 and @3; with fewer labels than k, precision@k is NaN and left out.
    `labels_without_positives` and `labels_without_negatives` count the labels that were left out: the first of
    macro-F1 and macro average precision, both of macro-AUC.

    Examples
    --------
    >>> scores = evaluate([[0.9, 0.2], [0.4, 0.7]], [[1, 0], [1, 1]])
    >>> scores["micro_f1"], scores["labels_without_negatives"], scores["macro_roc_auc"]
    (0.8, 1.0, 1.0)
    """
    p, known = _checked(probabilities, truth)
    predicted = p > 0.5 if predicted_sets is None else np.asarray(predicted_sets, dtype=bool)
    if predicted.shape != p.shape:
        raise ValueError(f"predicted_sets has shape {predicted.shape}, but probabilities have {p.shape}")
    at_k = [precision_at(p, known, k) if k <= p.shape[1] else float("nan") for k in PRECISION_AT]
    columns = _Sorted.of(p, known)
    entries = _Sorted.of(p.reshape(-1, 1), known.reshape(-1, 1))
    return {
        **{f"precision_at_{k}": value for k, value in zip(PRECISION_AT, at_k, strict=True)},
        "precision_at_1_3": float(np.nanmean(at_k)),
        "macro_f1": macro_f1(predicted, known).value,
        "micro_f1": micro_f1(predicted, known),
        "sample_f1": sample_f1(predicted, known),
        "macro_roc_auc": _mean_known(_roc_auc(columns)).value,
        "micro_roc_auc": float(_roc_auc(entries)[0]),
        "macro_average_precision": _mean_known(columns.average_precisions()).value,
        "micro_average_precision": float(entries.average_precisions()[0]),
        "ranking_loss": ranking_loss(p, known),
        "log_loss": log_loss(p, known),
        "calibration_error": calibration_error(p, known),
        "labels_without_positives": float((~known.any(0)).sum()),
        "labels_without_negatives": float(known.all(0).sum()),
    }


def _roc_auc(columns: _Sorted) -> FloatArray:
    wrong, tied = columns.wrong_pairs()
    positives = columns.truth.sum(0)
    pairs = positives * (columns.truth.shape[0] - positives)
    with np.errstate(invalid="ignore"):
        return 1 - np.where(pairs > 0, wrong + tied / 2, np.nan) / pairs  # (q,)


def _f1(predicted: BoolArray, truth: BoolArray, axis: int | None) -> Any:
    """2 TP / (predicted + present) along an axis; nothing predicted where nothing is present counts 1."""
    hits = (predicted & truth).sum(axis)
    total = predicted.sum(axis) + truth.sum(axis)
    return np.where(total > 0, 2 * hits / np.maximum(total, 1), 1.0)


def _mean_known(values: FloatArray) -> Ranked:
    unknown = np.isnan(values)
    return Ranked(float("nan") if unknown.all() else float(values[~unknown].mean()), int(unknown.sum()))


def _checked(probabilities: npt.ArrayLike, truth: npt.ArrayLike) -> tuple[FloatArray, BoolArray]:
    p, known = np.asarray(probabilities, dtype=float), np.asarray(truth).astype(bool)
    if p.ndim != 2 or p.shape != known.shape or p.size == 0:
        raise ValueError(f"probabilities {p.shape} and truth {known.shape} must have one shape (items, labels)")
    outside = ~((p >= 0) & (p <= 1))  # true for NaN as well
    if outside.any():
        raise ValueError(f"probabilities must lie between 0 and 1, got {p[outside][0]!r}")
    return p, known
