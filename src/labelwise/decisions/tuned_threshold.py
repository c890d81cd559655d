"""Thresholds tuned on held-out labels: the usual way, and the rival of every other rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from labelwise.decisions.base import Average, ScoredSets, check_measure, checked, score_sets
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.user_input import dense_labels
from labelwise.posterior import LabelPosterior


@dataclass(frozen=True, eq=False)
class TunedThreshold:
    """Keep the labels whose probability exceeds a threshold that was best on held-out rows. Made by `fit`.

    Parameters
    ----------
    values : (q,) array
        Threshold of each label; −inf keeps everything, inf nothing.
    held_out_score : float
        Macro-F (of labels with a held-out positive) or sample-wise F on the rows the thresholds were tuned on. It is
        too high, more so for labels with few positives.
    average, beta
        What they were tuned for.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> rule = TunedThreshold.fit([[0.3, 0.9], [0.2, 0.8], [0.1, 0.7]], [[1, 1], [1, 0], [0, 0]])
    >>> rule.values
    array([0.15, 0.85])
    >>> rule.decide(MarginalPosterior(np.array([[0.18, 0.6]])))
    array([[ True, False]])
    """

    values: FloatArray
    held_out_score: float
    average: Average = "macro"
    beta: float = 1.0

    @classmethod
    def fit(
        cls,
        probabilities: Any,
        Y: Any,
        observed: Any = None,
        *,
        average: Average = "macro",
        beta: float = 1.0,
        min_positives: int = 1,
    ) -> Self:
        """Find the thresholds that maximise F_β on rows that the model was not fitted on.

        Parameters
        ----------
        probabilities : (n, q) array or LabelPosterior
            Predictions for held-out rows, such as those of cross-validation (docs/decisions.md has the loop).
        Y, observed : (n, q) arrays
            Their labels, NaN for unknown if dense, and the mask of known entries. Unknown entries are ignored.
        average : "macro" or "samples"
            One threshold per label, or one for all labels that is best per item on average (an item without known
            labels that gets none counts 1).
        beta : float
        min_positives : int
            A label with fewer held-out positives gets the threshold that is best for all entries together, because its
            own threshold would be mostly noise.
        """
        check_measure(average, beta)
        given = probabilities.probabilities() if isinstance(probabilities, LabelPosterior) else probabilities
        p, (present, known) = checked(np.asarray(given, dtype=float)), dense_labels(Y, observed)
        if p.shape != present.shape:
            raise ValueError(f"probabilities have shape {p.shape}, but Y has {present.shape}")
        if not known.any():
            raise ValueError("no entry of Y is known: thresholds need held-out labels to be tuned on")
        if average == "samples":
            threshold, score = _common_threshold(p, present, known, beta)
            return cls(np.full(p.shape[1], threshold), score, average, beta)
        values, scores = _label_thresholds(p, present, known, beta)
        pooled, _ = _label_thresholds(p.reshape(-1, 1), present.reshape(-1, 1), known.reshape(-1, 1), beta)
        positives = present.sum(0)
        judged = scores[positives > 0]
        score = float(judged.mean()) if judged.size else float("nan")
        return cls(np.where(positives < max(min_positives, 1), pooled, values), score, average, beta)

    def decide(self, posterior: LabelPosterior) -> BoolArray:
        if self.values.shape != (posterior.n_labels,):
            raise ValueError(f"thresholds were tuned for {self.values.size} labels, not for {posterior.n_labels}")
        return posterior.probabilities() > self.values

    def decide_scored(self, posterior: LabelPosterior) -> ScoredSets:
        """The sets, and the F that the beliefs, not the held-out rows, expect of each label or item."""
        return score_sets(posterior, self.decide(posterior), average=self.average, beta=self.beta)


def _label_thresholds(
    p: FloatArray, present: BoolArray, known: BoolArray, beta: float
) -> tuple[FloatArray, FloatArray]:
    """(q,) best threshold of each column by its own F, and that F; inf where no threshold scores anything."""
    B = beta**2
    p, present, known = _falling(p, present, known, axis=0)
    hits, size = np.cumsum(present, axis=0), np.cumsum(known, axis=0)  # (n, q)
    f = (1 + B) * hits / np.maximum(size + B * hits[-1:], 1)
    f = np.where(_ends_tie(p, axis=0) & known, f, 0.0)  # equal probabilities stand or fall together
    best = f.argmax(0)  # the highest threshold among the best
    columns = np.arange(p.shape[1])
    below = np.concatenate([p[1:], np.full((1, p.shape[1]), -1.0)])[best, columns]
    score = f[best, columns]
    return np.where(score > 0, _between(p[best, columns], below), np.inf), score


def _common_threshold(p: FloatArray, present: BoolArray, known: BoolArray, beta: float) -> tuple[float, float]:
    """The threshold for all labels that maximises the mean F of items, and that mean.

    Lowering the threshold past one entry changes the F of its item alone: sort the changes of all items by
    probability and add them up.
    """
    B = beta**2
    p, present, known = _falling(p, present, known, axis=1)
    hits, size = np.cumsum(present, axis=1), np.cumsum(known, axis=1)  # (n, q)
    f = (1 + B) * hits / np.maximum(size + B * hits[:, -1:], 1)
    without = (hits[:, -1:] == 0).astype(float)  # (n, 1), F of the empty set
    change = np.diff(f, axis=1, prepend=without)[known]
    values = p[known]
    falling = np.argsort(-values, kind="stable")
    values = values[falling]
    total = without.sum() + np.cumsum(change[falling])
    total = np.where(_ends_tie(values, axis=0), total, -np.inf)
    best = int(total.argmax())
    if total[best] <= without.sum():
        return np.inf, float(without.mean())
    below = np.append(values, -1.0)[best + 1 : best + 2]
    return float(_between(values[best : best + 1], below)[0]), float(total[best] / p.shape[0])


def _falling(p: FloatArray, present: BoolArray, known: BoolArray, axis: int) -> tuple[FloatArray, BoolArray, BoolArray]:
    """All three in falling order of p along an axis; unknown entries come last, with probability −1."""
    p = np.where(known, p, -1.0)
    order = np.argsort(-p, axis=axis, kind="stable")
    return (
        np.take_along_axis(p, order, axis),
        np.take_along_axis(present, order, axis),
        np.take_along_axis(known, order, axis),
    )


def _ends_tie(p: FloatArray, axis: int) -> BoolArray:
    """Where the next value along the axis differs, and at the end."""
    return np.diff(p, axis=axis, append=-2.0) != 0


def _between(kept: FloatArray, dropped: FloatArray) -> FloatArray:
    """A threshold half-way between the last probability kept and the first dropped; −inf where none was dropped."""
    middle = (kept + dropped) / 2
    middle = np.where(middle < kept, middle, dropped)  # of two neighbouring floats, the lower
    return np.where(dropped < 0, -np.inf, middle)
