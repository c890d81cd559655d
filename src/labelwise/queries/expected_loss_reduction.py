"""Ask where the most likely label set disagrees most with the classifiers (MMC)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.choosing import open_entries
from labelwise.numerics.logistic_regression import SoftmaxRegression
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Known, PoolAnswers, Values, signed_values
from labelwise.queries.base import BLOCK, Choice, Target, best_over_blocks
from labelwise.queries.random import Random


@dataclass(frozen=True)
class ExpectedLossReduction:
    """Expected loss reduction with maximum confidence: Σ_j (1 − ŷ_j f_j) / 2 over an item's open labels.

    f are the outputs of the classifiers and ŷ, of +1 and −1, is the most likely label set. It has the most probable
    labels; a logistic regression predicts their number from the item's sorted probabilities, scaled to sum to one. Each
    term is the reduction of the loss if ŷ_j were the answer.

    The regression learns from the items that are answered in full: from their beliefs and their numbers of labels. In a
    campaign of pairs these are the first few items. If there are none, the number is that of the model
    (`LabelPosterior.label_counts`). Answered labels keep their answers in ŷ and are left out of the sum. Before the
    first answer the strategy asks at random.

    Parameters
    ----------
    values : "probability" or "decision"
        f as 2 p − 1, or as the log-odds of p, which for one linear classifier per label are its decision values. The
        paper has the latter, from support vector machines; log-odds have no bound, and sums of them prefer odd items.
    C : float
        Inverse penalty of the logistic regression for the number of labels. It learns from probabilities of the model's
        own training items, which are sharper than those of other items, so a strong penalty is better.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> from labelwise.records import LabelData
    >>> p = np.array([[0.9, 0.1], [0.9, 0.8], [0.9, 0.6], [0.8, 0.1]])
    >>> known = LabelData.from_arrays(np.eye(4), [[1, 0], [1, 1], [np.nan, np.nan], [np.nan, np.nan]])
    >>> rng = np.random.default_rng(0)
    >>> ExpectedLossReduction().choose(MarginalPosterior(p), known.observed, 1, rng, known=known).rows
    array([2])

    References
    ----------
    Yang, Sun, Wang & Chen, Effective multi-label active learning for text classification, KDD 2009.
    """

    values: Values = "probability"
    C: float = 1.0
    target: Target = "items"
    looks_at_answers: ClassVar[bool] = True

    def choose(
        self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator, *, known: Known
    ) -> Choice:
        """Up to n open items with the highest scores, reading the pool in blocks."""
        self._check()
        answers = PoolAnswers.of(known, closed.shape)
        if answers.rows().size == 0:
            return Random().choose(posterior, closed, n, rng)
        counter = _learn_counts(posterior, answers, self.C)
        rows, scores = best_over_blocks(self._blocks(posterior, closed, answers, counter), n, rng)
        return Choice(rows, None, scores)

    def _blocks(
        self, posterior: LabelPosterior, closed: sp.csr_array, answers: PoolAnswers, counter: SoftmaxRegression | None
    ) -> Iterator[tuple[int, FloatArray]]:
        for part, beliefs in posterior.blocks(BLOCK):
            p, answered = answers.believed(beliefs, part)
            counts = np.rint(beliefs.label_counts()) if counter is None else counter.predict(_sorted_shares(p))
            present = _most_probable(p, counts)
            f = signed_values(p, self.values)
            loss = np.where(answered, 0.0, (1 - np.where(present, f, -f)) / 2).sum(1)
            yield part.start, np.where(open_entries(closed[part]).any(1), loss, -np.inf)

    def _check(self) -> None:
        if self.target != "items":
            raise ValueError(f'ExpectedLossReduction asks for "items", got target={self.target!r}')
        if not self.C > 0:
            raise ValueError(f"C is the inverse of a penalty and must be positive, got {self.C!r}")
        signed_values(np.zeros(0), self.values)


def _learn_counts(posterior: LabelPosterior, answers: PoolAnswers, C: float) -> SoftmaxRegression | None:
    """A classifier of the number of labels given sorted shares, or None where no item was answered in full."""
    rows = answers.complete_rows()
    if rows.size == 0:
        return None
    p = np.clip(posterior.rows(rows).probabilities(), 0.0, 1.0)
    return SoftmaxRegression.fit(_sorted_shares(p), np.diff(answers.Y[rows].indptr), C=C)


def _sorted_shares(p: FloatArray) -> FloatArray:
    """(n, q) each item's probabilities, highest first, scaled to sum to one."""
    ordered = -np.sort(-p, axis=1)
    return ordered / np.maximum(ordered.sum(1, keepdims=True), np.finfo(float).tiny)


def _most_probable(p: FloatArray, counts: FloatArray) -> BoolArray:
    """(n, q) as many labels of each item as `counts` says, the most probable ones."""
    order = np.argsort(-p, axis=1, kind="stable")
    present = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(present, order, np.arange(p.shape[1]) < counts[:, None], axis=1)
    return present
