"""When to stop: published rules, as functions of what a campaign predicts.

None of them knows what an hour costs or what F1 is worth. Our own rule does: `LearningCurve.pays` and a risk, followed
by the advice of `Campaign.status`; docs/stopping.md compares them. `p` is (n, q) probabilities of labels, predictions
are (n, q) of bool, entropies are divided by log 2, so that 1 is "no idea".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.special import entr

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def kappa_by_label(before: Bools, after: Bools) -> Floats:
    """(q,) Cohen's κ of two predictions (n, q) of the same items: agreement beyond chance; NaN for undetermined labels.

    A label is undetermined if neither predicts it for any item. Identical predictions of a label have κ = 1.

    >>> before = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 0]], dtype=bool)
    >>> after = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
    >>> kappa_by_label(before, after)
    array([ 1.,  0., nan])
    """
    before, after = _same_shape(before, after)
    agreement, first, second = (before == after).mean(axis=0), before.mean(axis=0), after.mean(axis=0)
    left = first * (1 - second) + (1 - first) * second  # disagreement by chance
    kappa = 1 - np.divide(1 - agreement, left, out=np.zeros(left.size), where=left > 0)
    return np.where((before | after).any(axis=0), kappa, np.nan)


def stabilising_predictions(history: Sequence[Bools], threshold: float = 0.99, over: int = 3) -> bool:
    """Whether to stop: successive predictions agree, for every label (Bloodgood and Vijay-Shanker 2009).

    `history` has predictions (n, q) of one fixed set without labels, newest last. κ of successive ones is averaged over
    the last `over` of them. The mean and the worst label must reach the threshold, hence the worst. A label that is
    undetermined at any of these steps is not stable. The published rule is of one label; to apply it to all labels as
    if they were one, give predictions as columns (n·q, 1).

    >>> stable, other = np.array([[True], [False]]), np.array([[False], [True]])
    >>> stabilising_predictions([stable] * 4), stabilising_predictions([other, *[stable] * 3])
    (True, False)
    """
    if over < 1:
        raise ValueError(f"over is a number of steps of 1 or more, got {over!r}")
    if len(history) <= over:
        return False
    kappa = np.mean([kappa_by_label(before, after) for before, after in pairwise(history[-over - 1 :])], axis=0)
    return bool(np.all(kappa >= threshold - 1e-12))  # NaN is not


def classification_change(history: Sequence[Bools]) -> bool:
    """Whether to stop: the last step altered no prediction (Zhu, Wang and Hovy 2008).

    >>> one, other = np.array([[True]]), np.array([[False]])
    >>> classification_change([one, other]), classification_change([other, one, one]), classification_change([one])
    (False, True, False)
    """
    return len(history) > 1 and bool(np.array_equal(*_same_shape(history[-2], history[-1])))


def overall_uncertainty(p: Floats) -> float:
    """Mean entropy over the pool: stop below 0.01 (Zhu, Wang and Hovy 2008), or 0.05 in other work.

    >>> overall_uncertainty(np.array([[0.5, 1.0]]))
    0.5
    """
    return float(_entropy(p).mean())


def max_confidence(p: Floats) -> float:
    """Entropy of the least certain of the selected items, the mean over labels: stop below 0.001 (Zhu and Hovy 2007).

    >>> max_confidence(np.array([[0.5, 1.0], [0.0, 1.0]]))
    0.5
    """
    return float(_entropy(p).mean(axis=1).max())


def selected_accuracy(predicted: Bools, truth: Bools) -> float:
    """Share of the answers to the newest questions that the model before had right: stop from 0.9 on (Zhu et al. 2008).

    >>> selected_accuracy(np.array([[True, False]]), np.array([[True, True]]))
    0.5
    """
    predicted, truth = _same_shape(predicted, truth)
    return float((predicted == truth).mean())


def expected_error(p: Floats) -> float:
    """Mean probability that the more probable of yes and no is wrong: stop at 0.01 or less (Zhu et al. 2008).

    >>> expected_error(np.array([[0.5, 0.9]])).__round__(3)
    0.3
    """
    p = _checked(p)
    return float(np.minimum(p, 1 - p).mean())


def predicted_f_change(before: Bools, after: Bools) -> float:
    """1 - F1 of new predictions, as if the ones before were true: stop if below 0.05 three times.

    By Altschuler and Bloodgood (2019). NaN if neither predicts any label, which is below no threshold.

    >>> predicted_f_change(np.array([[True, True]]), np.array([[True, False]])).__round__(3)
    0.333
    """
    before, after = _same_shape(before, after)
    both, one = int((before & after).sum()), int((before ^ after).sum())
    return float("nan") if both + one == 0 else 1 - 2 * both / (2 * both + one)


def _entropy(p: Floats) -> Floats:
    p = _checked(p)
    return np.asarray((entr(p) + entr(1 - p)) / np.log(2))


def _checked(p: Floats) -> Floats:
    p = np.asarray(p, dtype=np.float64)
    if p.ndim != 2 or p.size == 0:
        raise ValueError(f"p must be probabilities (items, labels) of at least one item, got the shape {p.shape}")
    if not np.all((p >= 0) & (p <= 1)):
        raise ValueError(f"p must be probabilities from 0 to 1, got {p.min():g} to {p.max():g}")
    return p


def _same_shape(first: Bools, second: Bools) -> tuple[Bools, Bools]:
    first, second = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if first.shape != second.shape or first.ndim != 2 or first.shape[0] == 0:
        raise ValueError(f"both must be (items, labels) of the same size, got the shapes {first.shape}, {second.shape}")
    return first, second
