"""Rank whole items by how sure a model is of their labels: the classical rules for one classifier per label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Values, signed_values
from labelwise.queries.base import ScoringStrategy, Target


@dataclass(frozen=True)
class ItemConfidence(ScoringStrategy):
    """Ask for the items with the lowest confidence, or with the highest scores, over their open labels.

    The confidence in a label is |2 p − 1|, its score is p. The lowest confidence of any label is binary minimisation:
    one label near its boundary is enough to ask about an item. The mean confidence ranks like
    `Uncertainty(measure="margin")` if all labels are open, and does not prefer items with more open labels. Scores look
    for positives instead: items that are likely to have many labels, or any.

    Parameters
    ----------
    evidence : "confidence" or "score"
    over_labels : "min", "mean" or "max"
        How the values of an item's open labels are combined.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.5, 0.0], [0.7, 0.3], [1.0, 0.9]]))
    >>> import scipy.sparse as sp
    >>> nothing, rng = sp.csr_array((3, 2), dtype=bool), np.random.default_rng(0)
    >>> ItemConfidence().choose(beliefs, nothing, 1, rng).rows  # a label on the boundary
    array([0])
    >>> ItemConfidence(over_labels="mean").choose(beliefs, nothing, 1, rng).rows
    array([1])
    >>> ItemConfidence("score", "mean").choose(beliefs, nothing, 1, rng).rows
    array([2])

    References
    ----------
    Brinker, On active learning in multi-label classification, 2006 (binary minimisation). Esuli & Sebastiani, Active
    learning strategies for multi-label text classification, ECIR 2009 (the others).
    """

    evidence: Literal["confidence", "score"] = "confidence"
    over_labels: Literal["min", "mean", "max"] = "min"
    target: Target = "items"

    def score(self, posterior: LabelPosterior, rng: np.random.Generator) -> FloatArray:
        _check_items(self, self.target)
        p = np.clip(posterior.probabilities(), 0.0, 1.0)
        if self.evidence == "confidence":
            return 1 - np.abs(2 * p - 1)
        if self.evidence == "score":
            return p
        raise ValueError(f'evidence must be "confidence" or "score", got {self.evidence!r}')

    def combine(self, scores: FloatArray, free: BoolArray) -> FloatArray:
        if self.over_labels not in ("min", "mean", "max"):
            raise ValueError(f'over_labels must be "min", "mean" or "max", got {self.over_labels!r}')
        if self.over_labels == "mean":
            return np.where(free, scores, 0.0).sum(1) / np.maximum(free.sum(1), 1)
        lowest_first = self.evidence == "confidence"  # scores are doubts then: the lowest confidence is the highest
        if (self.over_labels == "max") != lowest_first:
            return np.where(free, scores, 0.0).max(1)
        return np.where(free, scores, 1.0).min(1)


@dataclass(frozen=True)
class SingleLabelLoss(ScoringStrategy):
    """Ask about the items with the largest hinge loss, supposing that an item has only one of its predicted labels.

    With f the outputs of the classifiers, the loss for label j is max(0, 1 − f_j) + Σ_i≠j max(0, 1 + f_i). It grows
    with every further label that looks present. `labels="top"` takes the most likely label (max loss). `"predicted"`
    takes the mean over all labels with a probability above ½ (mean max loss), or the most likely label if there is
    none. Answered labels are left out.

    Parameters
    ----------
    labels : "top" or "predicted"
    values : "probability" or "decision"
        f as 2 p − 1, or as the log-odds of p, which for one linear classifier per label are its decision values. The
        paper has the latter, from support vector machines.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.1], [0.9, 0.8], [0.6, 0.1]]))
    >>> import scipy.sparse as sp
    >>> nothing = sp.csr_array((3, 2), dtype=bool)
    >>> choice = SingleLabelLoss().choose(beliefs, nothing, 3, np.random.default_rng(0))
    >>> choice.rows, choice.scores.round(2)
    (array([1, 2, 0]), array([1.8, 1. , 0.4]))

    References
    ----------
    Li, Wang & Sung, Multilabel SVM active learning for image classification, ICIP 2004.
    """

    labels: Literal["top", "predicted"] = "top"
    values: Values = "probability"
    target: Target = "items"

    def score(self, posterior: LabelPosterior, rng: np.random.Generator) -> FloatArray:
        """(n, q) outputs f; `combine` turns them into losses."""
        _check_items(self, self.target)
        return signed_values(np.clip(posterior.probabilities(), 0.0, 1.0), self.values)

    def combine(self, scores: FloatArray, free: BoolArray) -> FloatArray:
        if self.labels not in ("top", "predicted"):
            raise ValueError(f'labels must be "top" or "predicted", got {self.labels!r}')
        f = np.where(free, scores, -np.inf)
        present = np.zeros_like(free)
        np.put_along_axis(present, f.argmax(1)[:, None], True, axis=1)
        if self.labels == "predicted":
            likely = f > 0
            present = np.where(likely.any(1, keepdims=True), likely, present)
        absent_loss = np.maximum(0.0, 1 + f)  # none for what is not open
        f = np.where(present, f, 0.0)
        changes = np.where(present & free, np.maximum(0.0, 1 - f) - np.maximum(0.0, 1 + f), 0.0)
        return absent_loss.sum(1) + changes.sum(1) / present.sum(1)


def _check_items(strategy: object, target: Target) -> None:
    if target != "items":
        raise ValueError(
            f"{type(strategy).__name__} ranks whole items, got target={target!r}; for pairs use "
            'Uncertainty(target="pairs") or BalancedPairs'
        )
