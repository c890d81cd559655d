"""Ask every label its share of yes/no questions: the least certain items of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import entr

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.choosing import TIE, best, open_entries
from labelwise.posterior import LabelPosterior
from labelwise.queries.base import BLOCK, Choice, Target
from labelwise.records.costs import Costs, divisors

LARGEST_SHARE = 4.0  # of a label, in even shares: no label takes the whole batch, and few candidates need be kept
MOST_EXPECTED = 6.0  # labels of an item, beyond which it counts as explained


@dataclass(frozen=True, eq=False)
class BalancedPairs:
    """Divide a batch of (item, label) questions among the labels, and ask about each label where it is least certain.

    A question about one label finds its rare positives, which random items do not. Dividing the batch keeps a few
    frequent labels, whose items all look uncertain, from taking every question. The share of a label grows with its
    remaining uncertainty. Chosen pairs of one item follow each other, so that a person reads the item once.

    A label without any yes so far looks the same on all items. It is asked about random items, and more often about
    items that the other labels explain least. An item with few likely labels may have one that was not seen so far.

    Parameters
    ----------
    focus : float
        Shares are proportional to the mean entropy of a label over the pool per cost of its answers, to this power. 0
        gives every label the same number of questions; ½ is best if errors fall as one over the answers. No label gets
        more than four even shares.
    costs : Costs, optional
        If reading an item has a cost, items with several labels worth asking are preferred, by worth per cost. A
        campaign passes its own. By default all answers cost the same and reading costs nothing.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.5, 0.01], [0.4, 0.02], [0.6, 0.1]]))
    >>> nothing = sp.csr_array((3, 2), dtype=bool)
    >>> choice = BalancedPairs(focus=0).choose(beliefs, nothing, 2, np.random.default_rng(0))
    >>> sorted(zip(choice.labels.tolist(), choice.rows.tolist()))
    [(0, 0), (1, 2)]
    """

    focus: float = 0.5
    costs: Costs | None = None
    looks_at_costs: ClassVar[bool] = True

    @property
    def target(self) -> Target:
        return "pairs"

    def choose(
        self,
        posterior: LabelPosterior,
        closed: sp.csr_array,
        n: int,
        rng: np.random.Generator,
        *,
        costs: Costs | None = None,
    ) -> Choice:
        """Up to n pairs; a score of 1 is the worth of the last question of a label's share."""
        if not 0 <= self.focus <= 1:
            raise ValueError(f"focus must lie between 0 and 1, got {self.focus!r}")
        costs = costs or self.costs or Costs()
        prices, read = divisors(costs.prices(posterior.n_labels)), float(costs.reading())
        even = max(1.0, n / max(posterior.n_labels, 1))
        kept = _Candidates(posterior.n_labels, int(np.ceil(LARGEST_SHARE * even)))
        for part, beliefs in posterior.blocks(BLOCK):
            p = np.clip(beliefs.probabilities(), 0.0, 1.0)  # (n, q)
            kept.add(part.start, entr(p) + entr(1 - p), open_entries(closed[part]), _tie_breaks(p, rng))
        shares = _shares((kept.mean_entropies() / prices) ** self.focus, kept.counts, n, rng)
        rows, labels, worth = kept.in_units_of_the_last(shares)
        ranked = worth if read == 0 else _per_cost(rows, worth, prices[labels], read)
        picked = best(ranked, n, rng.random(ranked.size))
        if picked.size < n:  # labels with little left to ask: the others take their part
            others = np.setdiff1d(np.arange(worth.size), picked)
            picked = np.append(picked, others[best(worth[others], n - picked.size, rng.random(others.size))])
        picked = _grouped(picked, rows[picked])
        return Choice(rows[picked], labels[picked], worth[picked])


class _Candidates:
    """Of each label, the open items with the highest entropies, over a pool met in blocks."""

    def __init__(self, n_labels: int, depth: int) -> None:
        self.entropies = np.full((n_labels, depth), -np.inf)  # highest first
        self.rows = np.zeros((n_labels, depth), dtype=np.intp)
        self.counts = np.zeros(n_labels, dtype=np.intp)  # open items of each label
        self.sums = np.zeros(n_labels)  # of their entropies

    def add(self, start: int, entropies: FloatArray, free: npt.NDArray[np.bool_], ties: FloatArray) -> None:
        """One more block, (n, q) each; `ties` between 0 and 1 decide between items that are otherwise alike."""
        self.counts += free.sum(0)
        self.sums += np.where(free, entropies, 0.0).sum(0)
        depth = self.rows.shape[1]
        candidates = np.empty((len(self.rows), depth + len(free)))  # (q, depth + n): the best so far, then the block
        candidates[:, :depth] = self.entropies
        candidates[:, depth:] = np.where(free, entropies + TIE * ties, -np.inf).T
        top = np.argpartition(-candidates, depth - 1, axis=1)[:, :depth]
        top = np.take_along_axis(top, np.argsort(-np.take_along_axis(candidates, top, 1), axis=1, kind="stable"), 1)
        before = np.take_along_axis(self.rows, np.minimum(top, depth - 1), 1)
        self.entropies, self.rows = (
            np.take_along_axis(candidates, top, 1),
            np.where(top < depth, before, start + top - depth),
        )

    def mean_entropies(self) -> FloatArray:
        return self.sums / np.maximum(self.counts, 1)

    def in_units_of_the_last(self, shares: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Rows, labels and entropies relative to the last one within the label's share; those beyond it count half."""
        last = np.take_along_axis(self.entropies, np.maximum(shares, 1)[:, None] - 1, axis=1)  # (q, 1)
        within = np.arange(self.rows.shape[1]) < shares[:, None]
        worth = self.entropies / np.maximum(last, TIE) * np.where(within, 1.0, 0.5)
        labels, place = np.nonzero(self.entropies > -np.inf)
        return self.rows[labels, place], labels, worth[labels, place]


def _tie_breaks(p: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(n, q) draws between 0 and 1; the highest are a sample of the items with weights exp(−expected labels).

    That is about the chance that an item has none of the labels found so far. Draws u to the power 1 / weight are how
    Efraimidis and Spirakis sample with weights, without replacement.
    """
    inverse_weights = np.exp(np.minimum(p.sum(axis=1), MOST_EXPECTED))
    return rng.random(p.shape) ** inverse_weights[:, None]


def _shares(weights: FloatArray, counts: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """About n questions in proportion to the weights, at most four even shares and not more than a label has open.

    Fractions are rounded at random with one common offset, so that the sum is off by less than one.
    """
    weights = np.where(counts > 0, np.maximum(weights, np.finfo(float).tiny), 0.0)
    if not weights.any():
        return np.zeros(len(weights), dtype=np.intp)
    cap = LARGEST_SHARE * max(1.0, n / len(weights))
    shares = np.zeros(len(weights))
    room = np.minimum(counts, cap)
    for _ in range(len(weights)):  # each round fills at least one label, or is the last
        left = n - shares.sum()
        open_ = shares < room
        if left < 0.5 or not open_.any():
            break
        shares[open_] += left * weights[open_] / weights[open_].sum()
        if not (shares > room).any():
            break
        shares = np.minimum(shares, room)
    return np.diff(np.floor(np.cumsum(shares) + rng.random()), prepend=0.0).astype(np.intp)


def _per_cost(rows: IntArray, worth: FloatArray, prices: FloatArray, read: float) -> FloatArray:
    """Of each pair, the best ratio of value to cost of its item, −inf for pairs that would lower it.

    A pair of worth 1 has the value of its price: shares have seen to that. The pairs of an item are taken best first;
    reading costs once.
    """
    order = np.lexsort((-worth, rows))
    starts = np.flatnonzero(np.diff(rows[order], prepend=-1))
    sizes = np.diff(np.append(starts, order.size))
    place = np.arange(order.size) - np.repeat(starts, sizes)  # of a pair within its item
    value, cost = (_running(each[order], starts, sizes) for each in (worth * prices, prices))
    ratio = value / (read + cost)
    top = np.repeat(np.maximum.reduceat(ratio, starts), sizes) if starts.size else ratio
    last = np.maximum.reduceat(np.where(ratio == top, place, -1), starts) if starts.size else place
    ranked = np.empty(worth.size)
    ranked[order] = np.where(place <= np.repeat(last, sizes), top, -np.inf)
    return ranked


def _running(values: FloatArray, starts: IntArray, sizes: IntArray) -> FloatArray:
    """Cumulative sums that begin anew at each start."""
    total = np.cumsum(values)
    return total - np.repeat(total[starts] - values[starts], sizes)


def _grouped(picked: IntArray, rows: IntArray) -> IntArray:
    """The same picks with those of one row together, rows in the order of their first pick."""
    _, first, group = np.unique(rows, return_index=True, return_inverse=True)
    return picked[np.lexsort((np.arange(rows.size), first[group]))]
