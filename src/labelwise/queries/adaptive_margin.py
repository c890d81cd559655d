"""Ask where the predicted labels are hardly separated from the others, or where their number is unusual (Adaptive)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.choosing import best, open_items
from labelwise.numerics.linear_algebra import stack_rows
from labelwise.numerics.logistic_regression import inner_products, newton_change
from labelwise.numerics.user_input import check_at_least, check_positive
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Believed, Known, PoolAnswers, signed_values
from labelwise.queries.base import BLOCK, Choice, Target
from labelwise.queries.random import Random

TRADE_OFFS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 11))
LEAST_MARGIN = 1e-6  # margins below it count as this
TRAINED_ON = 300  # answered items that stand for all of them in the curvature
TRIED = 20  # items of a batch that are taken as answered to tell how good its trade-off is


@dataclass(frozen=True)
class AdaptiveMargin:
    """Max-margin uncertainty u and inconsistency of the label count c, as u^β c^(1−β), with β chosen for each batch.

    With f the log-odds of the labels, u is one over the gap between the lowest f of a predicted label and the highest
    of the others. If there is none of one kind, the boundary f = 0 replaces it. c is the difference between the number
    of predicted labels and the mean number of labels of answered items. Answered labels count as answered and do not
    narrow the gap.

    Of several β the strategy takes the one whose batch, answered as predicted, leaves the lowest error on the other
    items. Without answers, the error is the mean of the largest hinge loss of a predicted label and the largest of
    another. The paper fits all classifiers again for each β. This strategy takes one Newton step of logistic
    regressions on the features instead, from the current model. Before the first answer it asks at random.

    Parameters
    ----------
    trade_offs : tuple of float
        The β to choose from, between 0 (the count alone) and 1 (the margin alone); with a single one nothing is tried.
    penalty : float
        Of the squared weights in the step: 1 / C of a logistic regression.
    sample : int
        Number of random items, not asked, on which the error is estimated.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> from labelwise.records import LabelData
    >>> p = np.array([[0.9, 0.1], [0.9, 0.6], [0.55, 0.45], [0.1, 0.1]])
    >>> known = LabelData.from_arrays(np.eye(4), [[1, 0]] + 3 * [[np.nan, np.nan]])
    >>> rng = np.random.default_rng(0)
    >>> AdaptiveMargin((1.0,)).choose(MarginalPosterior(p), known.observed, 1, rng, known=known).rows
    array([2])
    >>> AdaptiveMargin((0.5,)).choose(MarginalPosterior(p), known.observed, 2, rng, known=known).rows
    array([1, 3])

    References
    ----------
    Li & Guo, Active learning with multi-label SVM classification, IJCAI 2013.
    """

    trade_offs: tuple[float, ...] = TRADE_OFFS
    penalty: float = 0.1
    sample: int = 1000
    target: Target = "items"
    looks_at_answers: ClassVar[bool] = True

    def choose(
        self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator, *, known: Known
    ) -> Choice:
        """Up to n open items: the batch of the best trade-off, reading the pool in blocks."""
        self._check()
        answers = PoolAnswers.of(known, closed.shape)
        rows = open_items(closed)
        if answers.rows().size == 0 or rows.size == 0 or n == 0:
            return Random().choose(posterior, closed, n, rng)
        uncertainty, inconsistency = _measures(posterior, answers, rows)
        priority = rng.random(rows.size)
        batches = []
        for trade_off in self.trade_offs:
            scores = uncertainty**trade_off * inconsistency ** (1 - trade_off)
            picked = best(scores, n, priority)
            batches.append(Choice(rows[picked], None, scores[picked]))
        if n >= rows.size or len(batches) == 1:
            return batches[0]
        spared = rng.permutation(rows)[: self.sample]
        return batches[int(np.argmin(self._errors(posterior, answers, known.X, batches, spared)))]

    def _errors(
        self, posterior: LabelPosterior, answers: PoolAnswers, X: Any, batches: list[Choice], spared: IntArray
    ) -> FloatArray:
        """(batches,) the error left on spared items if each batch were answered as predicted."""
        answered_rows = answers.rows()
        old = _spread(answered_rows, TRAINED_ON)
        share = old.size / answered_rows.size
        tried = [np.sort(batch.rows[:TRIED]) for batch in batches]
        new = np.unique(np.concatenate(tried))
        p_old, candidates = posterior.rows(old).probabilities(), _look(posterior, answers, new)
        variances = np.where(answers.mask(old), p_old * (1 - p_old) / share, 0.0)  # (m, q)
        judged = _look(posterior, answers, spared)
        X_all = stack_rows(X[old], X[new])
        K, cross = inner_products(X_all, X_all), inner_products(X[spared], X_all)
        errors: dict[bytes, float] = {}  # neighbouring trade-offs often take the same items
        for batch in tried:
            if batch.tobytes() in errors:
                continue
            p = candidates.p[np.searchsorted(new, batch)]  # (b, q)
            used = np.append(np.arange(old.size), old.size + np.searchsorted(new, batch))
            residuals = np.vstack([np.zeros_like(variances), (p > 0.5) - p])
            all_variances = np.vstack([variances, p * (1 - p)])
            change = newton_change(K[np.ix_(used, used)], cross[:, used], all_variances, residuals, self.penalty)
            errors[batch.tobytes()] = float(_set_losses(judged.f + change, judged.answered).mean())
        return np.array([errors[batch.tobytes()] for batch in tried])

    def _check(self) -> None:
        if self.target != "items":
            raise ValueError(f'AdaptiveMargin asks for "items", got target={self.target!r}')
        if not self.trade_offs or not all(0 <= trade_off <= 1 for trade_off in self.trade_offs):
            raise ValueError(f"trade_offs must be one or more numbers from 0 to 1, got {self.trade_offs!r}")
        check_positive(self, "penalty")
        check_at_least(self, 1, "sample")


class _Looked(NamedTuple):
    p: FloatArray  # (b, q), 0 or 1 where answered
    answered: BoolArray  # (b, q)
    f: FloatArray  # (b, q)


def _look(posterior: LabelPosterior, answers: PoolAnswers, rows: IntArray) -> _Looked:
    believed = answers.believed(posterior.rows(rows), rows)
    return _Looked(believed.p, believed.answered, signed_values(believed.p, "decision"))


def _measures(posterior: LabelPosterior, answers: PoolAnswers, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """(m,) uncertainty and inconsistency of these rows, in blocks."""
    usual = answers.mean_count()
    uncertainty, inconsistency = np.empty(rows.size), np.empty(rows.size)
    for start in range(0, rows.size, BLOCK):
        part = slice(start, start + BLOCK)
        believed = answers.believed(posterior.rows(rows[part]), rows[part])
        uncertainty[part] = 1 / np.maximum(_gaps(believed), LEAST_MARGIN)
        inconsistency[part] = np.abs(believed.counts() - usual)
    return uncertainty, inconsistency


def _gaps(believed: Believed) -> FloatArray:
    """(b,) lowest log-odds of a predicted label less the highest of the others, over what was not answered."""
    f = signed_values(believed.p, "decision")
    inside = np.where(~believed.answered & (f > 0), f, np.inf).min(1)
    outside = np.where(~believed.answered & (f <= 0), f, -np.inf).max(1)
    return np.where(np.isfinite(inside), inside, 0.0) - np.where(np.isfinite(outside), outside, 0.0)


def _set_losses(f: FloatArray, answered: BoolArray) -> FloatArray:
    """(b,) largest hinge loss of a predicted label plus the largest of another, over what was not answered."""
    losses = np.where(answered, 0.0, np.maximum(0.0, 1 - np.abs(f)))
    return np.where(f > 0, losses, 0.0).max(1) + np.where(f > 0, 0.0, losses).max(1)


def _spread(rows: IntArray, at_most: int) -> IntArray:
    """At most this number of the rows, evenly spread."""
    return rows if rows.size <= at_most else rows[np.linspace(0, rows.size - 1, at_most).astype(np.intp)]
