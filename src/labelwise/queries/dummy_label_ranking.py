"""Ask where a dummy label parts the ranked labels at an unusual place, and for the label next to it (AUDI)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.choosing import TIE, open_entries
from labelwise.numerics.user_input import check_at_least, check_choices
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Known, PoolAnswers, signed_values
from labelwise.queries.base import BLOCK, Choice, Target, best_over_blocks, check_target
from labelwise.queries.random import Random

UNASKED = 0.5  # stands for the number of answers of an item that has none


@dataclass(frozen=True)
class DummyLabelRanking:
    """Labels are ranked together with a dummy; those above it are predicted, and the one next to it is least certain.

    An item's uncertainty is the difference between its number of predicted labels and the mean number of labels of
    answered items. Its score is that divided by the number of its answered labels, at least ½: items without answers
    come first, for diversity. Pairs are the labels next to the dummy of the items with the highest scores.

    The paper learns ranking and dummy together; here the ranking is that of the model, by the log-odds of the labels.
    Before anything is known, it asks at random.

    Parameters
    ----------
    target : "items" or "pairs"
    dummy : "even" or "count"
        "even": at even odds, so that labels with a probability above ½ are predicted. "count": below the number of
        labels that the model expects of the item (`LabelPosterior.label_counts`), which suits rare labels that never
        reach even odds.
    labels_per_item : int
        Number of pairs of an item that are asked before those of the next. After all open items the second labels
        follow, and so on.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> from labelwise.records import LabelData
    >>> p = np.array([[0.9, 0.1], [0.9, 0.6], [0.8, 0.3], [0.9, 0.1]])
    >>> known = LabelData.from_arrays(np.eye(4), [[1, 0]] + 3 * [[np.nan, np.nan]])
    >>> pairs = DummyLabelRanking("pairs")
    >>> choice = pairs.choose(MarginalPosterior(p), known.observed, 1, np.random.default_rng(0), known=known)
    >>> choice.rows, choice.labels
    (array([1]), array([1]))

    References
    ----------
    Huang & Zhou, Active query driven by uncertainty and diversity for incremental multi-label learning, ICDM 2013.
    """

    target: Target = "items"
    dummy: Literal["even", "count"] = "even"
    labels_per_item: int = 1
    looks_at_answers: ClassVar[bool] = True

    def choose(
        self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator, *, known: Known
    ) -> Choice:
        """Up to n open items, or pairs, reading the pool in blocks."""
        self._check()
        answers = PoolAnswers.of(known, closed.shape)
        if answers.rows().size == 0 or n == 0:
            return Random(self.target).choose(posterior, closed, n, rng)
        items, scores = best_over_blocks(self._blocks(posterior, closed, answers), n, rng)
        if self.target == "items":
            return Choice(items, None, scores)
        place, labels = self._next_to_dummy(posterior.rows(items), closed[items], answers.of_rows(items), rng)
        return Choice(items[place[:n]], labels[:n], scores[place[:n]])

    def _blocks(
        self, posterior: LabelPosterior, closed: sp.csr_array, answers: PoolAnswers
    ) -> Iterator[tuple[int, FloatArray]]:
        usual, asked = answers.mean_count(), np.maximum(answers.per_item(), UNASKED)
        for part, beliefs in posterior.blocks(BLOCK):
            _, counts = self._ranked(beliefs, answers, part)
            scores = np.abs(counts - usual) / asked[part]
            yield part.start, np.where(open_entries(closed[part]).any(1), scores, -np.inf)

    def _next_to_dummy(
        self, beliefs: LabelPosterior, closed: sp.csr_array, answers: PoolAnswers, rng: np.random.Generator
    ) -> tuple[IntArray, IntArray]:
        """Places and labels of all open pairs of some items: in turns of `labels_per_item`, those next to the dummy."""
        away, _ = self._ranked(beliefs, answers, slice(None))
        away = np.where(open_entries(closed), away + TIE * rng.random(away.shape), np.inf)  # (m, q)
        labels = np.argsort(away, axis=1)
        turn = np.arange(away.shape[1]) // self.labels_per_item  # of the nearest label, the next, ...
        order = np.argsort(np.broadcast_to(turn, away.shape).ravel(), kind="stable")
        place, nearness = np.divmod(order, away.shape[1])
        asked = np.isfinite(away[place, labels[place, nearness]])
        return place[asked], labels[place, nearness][asked]

    def _ranked(
        self, beliefs: LabelPosterior, answers: PoolAnswers, rows: IntArray | slice
    ) -> tuple[FloatArray, FloatArray]:
        """(b, q) distance of each label's log-odds to the dummy's, and (b,) how many labels are above it."""
        p = answers.believed(beliefs, rows).p
        f = signed_values(p, "decision")
        if self.dummy == "even":
            return np.abs(f), (p > 0.5).sum(1).astype(np.float64)
        q = f.shape[1]
        ordered = -np.sort(-f, axis=1)
        counts = np.clip(np.rint(beliefs.label_counts()), 0, q)
        below = counts.astype(np.intp)[:, None]  # place of the first label below the dummy
        ends = np.clip(
            np.hstack([below - 1, below]), 0, q - 1
        )  # with none above or none below, the dummy is at the end
        dummy = np.take_along_axis(ordered, ends, axis=1).mean(1, keepdims=True)
        return np.abs(f - dummy), counts

    def _check(self) -> None:
        check_target(self.target)
        check_choices(self, dummy=("even", "count"))
        check_at_least(self, 1, "labels_per_item")
