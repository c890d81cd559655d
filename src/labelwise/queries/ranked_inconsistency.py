"""Ask where many labels rank as uncertain and the predicted set is unlike those of answered items (CVIRS)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.choosing import best, open_items
from labelwise.numerics.user_input import check_at_least, check_choices
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Known, PoolAnswers
from labelwise.queries.base import BLOCK, Choice, Target
from labelwise.queries.random import Random

EXACT = 2**24  # entries (item, label) up to which ranks are exact
COMPARED = 2**18  # pairs of items compared at a time
ROUNDING = 1e-9  # joint entropies below it are none
FINEST = 2.0**-40  # doubts below it are one level
LOWEST = int(np.float32(FINEST).view(np.int32)) >> 16
LEVELS = (int(np.float32(1.0).view(np.int32)) >> 16) - LOWEST + 1
Distance = Literal["entropy", "hamming"]


@dataclass(frozen=True)
class RankedInconsistency:
    """Borda count of the margins of an item's labels, times the mean distance of its predicted set to answered ones.

    Each label ranks the items by its margin |2 p − 1|, and gives an item the share of the others that are more certain.
    An item's rank score is the mean over its open labels. The distance of two label sets is that of their entropies as
    columns of yes and no: variation of information relative to the joint entropy. It is 1 for sets that differ in every
    label, which the formula would not distinguish from equal ones. Sets that are partly answered are compared in that
    part, and weighted by its size. Before the first answer the strategy asks at random.

    In pools beyond 2²⁴ pairs of item and label, margins are ranked by levels that are 0.8 % apart.

    Parameters
    ----------
    distance : "entropy" or "hamming"
        As above, or the share of labels in which two sets differ.
    sample : int
        Number of answered items to compare with, drawn at random if there are more.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> from labelwise.records import LabelData
    >>> p = np.array([[0.9, 0.1, 0.1], [0.9, 0.3, 0.1], [0.4, 0.6, 0.4], [0.8, 0.1, 0.1]])
    >>> known = LabelData.from_arrays(np.eye(4), [[1, 0, 0]] + 3 * [3 * [np.nan]])
    >>> rng = np.random.default_rng(0)
    >>> RankedInconsistency().choose(MarginalPosterior(p), known.observed, 1, rng, known=known).rows
    array([2])

    References
    ----------
    Reyes, Morell & Ventura, Effective active learning strategy for multi-label learning, Neurocomputing 2018.
    """

    distance: Distance = "entropy"
    sample: int = 1000
    target: Target = "items"
    looks_at_answers: ClassVar[bool] = True

    def choose(
        self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator, *, known: Known
    ) -> Choice:
        """Up to n open items, reading the pool in blocks; three times if it is too large for exact ranks."""
        self._check()
        answers = PoolAnswers.of(known, closed.shape)
        rows, answered = open_items(closed), answers.rows()
        if answered.size == 0 or rows.size == 0 or n == 0:
            return Random().choose(posterior, closed, n, rng)
        if answered.size > self.sample:
            answered = np.sort(rng.choice(answered, self.sample, replace=False))
        examples = _Examples.of(answers.of_rows(answered), self.distance)
        blocks: Iterable[_Block] = _Walk(posterior, answers, rows)
        if rows.size * posterior.n_labels <= EXACT:
            blocks = list(blocks)
            shares = _exact_shares(blocks)
        else:
            shares = _level_shares(blocks, posterior.n_labels)
        scores = shares * np.concatenate([examples.distances(block.p > 0.5) for block in blocks])
        chosen = best(scores, n, rng.random(scores.size))
        return Choice(rows[chosen], None, scores[chosen])

    def _check(self) -> None:
        if self.target != "items":
            raise ValueError(f'RankedInconsistency asks for "items", got target={self.target!r}')
        check_choices(self, distance=("entropy", "hamming"))
        check_at_least(self, 1, "sample")


class _Block(NamedTuple):
    p: FloatArray  # (b, q), 0 or 1 where answered
    ranked: BoolArray  # (b, q), what was not answered

    def doubts(self) -> FloatArray:
        return np.round(1 - np.abs(2 * self.p - 1), 12)  # rounding must not rank


@dataclass(frozen=True, eq=False)
class _Walk:
    """Beliefs about some rows, in blocks, as often as they are wanted."""

    posterior: LabelPosterior
    answers: PoolAnswers
    rows: IntArray

    def __iter__(self) -> Iterator[_Block]:
        for start in range(0, self.rows.size, BLOCK):
            part = self.rows[start : start + BLOCK]
            p, answered = self.answers.believed(self.posterior.rows(part), part)
            yield _Block(p, ~answered)


def _exact_shares(blocks: Sequence[_Block]) -> FloatArray:
    """(m,) mean over an item's labels of the share of the other items that the label doubts less; ties count half."""
    ranked = np.vstack([block.ranked for block in blocks]).T  # (q, m)
    doubts = np.where(ranked, np.vstack([block.doubts() for block in blocks]).T, -1.0)  # what is not ranked comes first
    order = np.argsort(doubts, axis=1)
    ordered = np.take_along_axis(doubts, order, axis=1)
    places = np.arange(doubts.shape[1])
    rises = np.diff(ordered, axis=1) > 0
    ends = np.ones((len(doubts), 1), dtype=bool)
    first = np.maximum.accumulate(np.where(np.hstack([ends, rises]), places, 0), axis=1)  # of those that tie
    last = np.where(np.hstack([rises, ends]), places, places[-1])
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    less = np.empty(doubts.shape)
    np.put_along_axis(less, order, (first + last) / 2 - (~ranked).sum(1, keepdims=True), axis=1)
    return _mean_share(less.T, ranked.sum(1), ranked.T)


def _level_shares(blocks: Iterable[_Block], n_labels: int) -> FloatArray:
    """The same from counts of items by level of doubt, whatever the size of the pool, in two walks."""
    labels = np.arange(n_labels)
    counts = np.zeros((n_labels, LEVELS), dtype=np.int64)
    for block in blocks:
        places = (labels * LEVELS + _level(block.doubts()))[block.ranked]
        counts += np.bincount(places, minlength=counts.size).reshape(counts.shape)
    less = np.cumsum(counts, axis=1) - (counts + 1) / 2  # items below each level, and half of the others of it
    total = counts.sum(1)
    return np.concatenate([_mean_share(less[labels, _level(b.doubts())], total, b.ranked) for b in blocks])


def _level(doubts: FloatArray) -> IntArray:
    """The exponent and the leading 7 bits of the fraction: levels that are at most 1/128 apart, relatively."""
    bits = np.maximum(doubts, FINEST).astype(np.float32).view(np.int32)
    return (bits >> 16).astype(np.intp) - LOWEST


def _mean_share(less: FloatArray, total: IntArray, ranked: BoolArray) -> FloatArray:
    """(b,) of (b, q) items that are doubted less, of (q,) ranked; an item that is ranked alone is doubted most."""
    shares = np.where(total > 1, less / np.maximum(total - 1, 1), 1.0)
    return np.where(ranked, shares, 0.0).sum(1) / np.maximum(ranked.sum(1), 1)


@dataclass(frozen=True, eq=False)
class _Examples:
    """Label sets that were answered, to compare predicted ones with."""

    present: FloatArray  # (m, q)
    answered: FloatArray  # (m, q)
    distance: Distance

    @classmethod
    def of(cls, answers: PoolAnswers, distance: Distance) -> _Examples:
        answered = answers.mask(slice(None))
        return cls(answers.Y.toarray().astype(np.float32), answered.astype(np.float32), distance)

    def distances(self, sets: BoolArray) -> FloatArray:
        """(b,) mean distance of each set to the examples."""
        size = max(1, COMPARED // len(self.present))
        parts = [self._distances(sets[start : start + size]) for start in range(0, len(sets), size)]
        return np.concatenate(parts)

    def _distances(self, sets: BoolArray) -> FloatArray:
        """Through a table of k ln k: with n labels, an entropy is ln n − Σ k ln k / n over the counts k of cells."""
        members = sets.astype(np.float32)
        size = self.answered.sum(1).astype(np.intp)  # (m,)
        shared = (members @ self.present.T).astype(np.intp)  # (b, m)
        ours = (members.sum(1)[:, None] if self.answered.all() else members @ self.answered.T).astype(np.intp)
        theirs = self.present.sum(1).astype(np.intp)
        differ = ours + theirs - 2 * shared
        if self.distance == "hamming":
            return differ.sum(1) / size.sum()
        counts = np.arange(sets.shape[1] + 1)
        table = xlogy(counts, counts)
        joint = _entropy(table, size, shared, ours - shared, theirs - shared, size - ours - theirs + shared)
        own = _entropy(table, size, ours, size - ours) + _entropy(table, size, theirs, size - theirs)
        relative = np.where(joint > ROUNDING, 2 - own / np.maximum(joint, ROUNDING), 0.0)
        return np.where(differ == size, 1.0, relative) @ (size / size.sum())


def _entropy(table: FloatArray, size: IntArray, *cells: IntArray) -> FloatArray:
    """In nats, of a label drawn from `size` that fall into cells so often."""
    return np.log(size) - sum(table[cell] for cell in cells) / size
