"""Active diagnosis: which labels of an item to ask for, when every label has its price."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.choosing import best, open_entries
from labelwise.numerics.information import LowRank, greedy_information
from labelwise.posterior import LabelCovariances, LabelPosterior
from labelwise.queries.base import Choice, Target
from labelwise.records.costs import divisors

Rule = Literal["auto", "near_threshold", "variance", "total_variance", "mi"]
BLOCK = 64  # items at a time: their label covariances may be q × q each
KNOWN_BEFORE_VARIANCE = 10  # "auto" goes over to variance when so many of an item's labels are known


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The labels of each item that are most worth asking for, given its known labels.

    Pass beliefs that include the item's known labels, `posterior.given(values, observed)`: through the label covariance
    one label informs about another.

    Parameters
    ----------
    labels_per_item : int
        Number of labels of an item that are asked before the next item's.
    rule : "auto", "near_threshold", "variance", "total_variance" or "mi"
        "near_threshold": nearest to the threshold. "variance": most uncertain, given those asked before.
        "total_variance": the label whose answer most reduces the summed variance of all labels. "mi": the labels that
        jointly carry most information about the others (mutual information, paper 1). On medical and enron,
        "near_threshold" is best for about the first ten answers and "variance" after that: "auto" does that.
    threshold : float or (q,)
        Where a probability turns into a label.
    costs : (q,), optional
        Price of each label, 0 for free. Scores are gains per cost; nearness to the threshold is ½ − |p − t| per cost.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.45, 0.1], [0.3, 0.05, 0.8]]))
    >>> nothing = sp.csr_array((2, 3), dtype=bool)
    >>> choice = Diagnosis(labels_per_item=1).choose(beliefs, nothing, 2, np.random.default_rng(0))
    >>> choice.rows, choice.labels
    (array([0, 1]), array([1, 0]))
    """

    labels_per_item: int = 1
    rule: Rule = "auto"
    threshold: float | npt.ArrayLike = 0.5
    costs: npt.ArrayLike | None = None
    target: Target = "pairs"

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        """Up to n (item, label) pairs: the best `labels_per_item` of every item, the best items first."""
        rows, labels, scores = self.labels_of(posterior, closed, rng)
        if rows.size == 0:
            return Choice(rows, labels, scores)
        starts = np.flatnonzero(np.diff(rows, prepend=-1))  # first, and best, pair of each item
        order = best(scores[starts], starts.size, rng.random(starts.size))
        sizes = np.diff(np.append(starts, rows.size))
        picked = np.concatenate([starts[item] + np.arange(sizes[item]) for item in order])[:n]
        return Choice(rows[picked], labels[picked], scores[picked])

    def labels_in_order(
        self,
        order: npt.NDArray[np.intp],
        posterior: LabelPosterior,
        closed: sp.csr_array,
        n: int,
        rng: np.random.Generator,
    ) -> Choice:
        """The labels of these items in their order, `labels_per_item` of each, until there are n pairs."""
        step = -(-n // self.labels_per_item)
        found: list[tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]] = []
        for start in range(0, order.size, step):
            part = order[start : start + step]
            place, labels, scores = self.labels_of(posterior.rows(part), closed[part], rng)
            found.append((part[place], labels, scores))
            if sum(labels.size for _, labels, _ in found) >= n:
                break
        rows, labels, scores = (np.concatenate(column)[:n] for column in zip(*found, strict=True))
        return Choice(rows, labels, scores)

    def labels_of(
        self, posterior: LabelPosterior, closed: sp.csr_array, rng: np.random.Generator
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], FloatArray]:
        """The chosen labels of every item with any open, item by item and best first: rows, labels, scores."""
        if self.rule not in get_args(Rule):
            raise ValueError(f"rule must be one of {get_args(Rule)}, got {self.rule!r}")
        if self.labels_per_item < 1:
            raise ValueError(f"labels_per_item must be at least 1, got {self.labels_per_item!r}")
        costs = divisors(self.label_costs(posterior.n_labels))
        found = [np.empty((0, 3))]
        for part, beliefs in posterior.blocks(BLOCK):
            free = open_entries(closed[part])  # (n, q)
            for row, labels, scores in self._of_block(beliefs, free, costs, rng):
                found.append(np.column_stack([np.full(labels.size, part.start + row), labels, scores]))
        table = np.concatenate(found)
        return table[:, 0].astype(np.intp), table[:, 1].astype(np.intp), table[:, 2]

    def _of_block(
        self, beliefs: LabelPosterior, free: npt.NDArray[np.bool_], costs: FloatArray, rng: np.random.Generator
    ) -> Iterator[tuple[int, npt.NDArray[np.intp], FloatArray]]:
        """(row, labels, scores) of every item of the block that has open labels."""
        by_variance = self._by_variance(free)
        marginal = self._marginal_scores(beliefs, by_variance) / costs  # (n, q)
        marginal = np.where(free, marginal, -np.inf)
        jointly = self.rule == "mi" or by_variance.any()
        covariances = beliefs.label_covariances() if jointly else None
        for row in np.flatnonzero(free.any(1)):
            if covariances is not None and (self.rule == "mi" or by_variance[row]):
                criterion: Literal["mi", "entropy"] = "mi" if self.rule == "mi" else "entropy"
                yield int(row), *_jointly(covariances, int(row), free[row], costs, self.labels_per_item, criterion)
            else:
                labels = best(marginal[row], self.labels_per_item, rng.random(free.shape[1:]))
                yield int(row), labels, marginal[row, labels]

    def _by_variance(self, free: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which items are asked by variance."""
        if self.rule == "auto":
            return (~free).sum(1) >= KNOWN_BEFORE_VARIANCE
        return np.full(len(free), self.rule == "variance")

    def _marginal_scores(self, beliefs: LabelPosterior, by_variance: npt.NDArray[np.bool_]) -> FloatArray:
        if self.rule == "total_variance":
            covariances = beliefs.label_covariances()
            return (covariances.dense() ** 2).sum(1) / covariances.variances()  # (n, q)
        if self.rule == "mi" or by_variance.all():
            return np.zeros((beliefs.n_items, beliefs.n_labels))
        return 0.5 - np.abs(beliefs.probabilities() - np.asarray(self.threshold, dtype=float))

    def label_costs(self, n_labels: int) -> FloatArray:
        """(q,) checked costs, ones where none were given."""
        costs = np.ones(n_labels) if self.costs is None else np.asarray(self.costs, dtype=float)
        if costs.shape != (n_labels,) or not (np.isfinite(costs) & (costs >= 0)).all():
            raise ValueError(f"costs must be {n_labels} numbers of 0 or more, one per label, got {self.costs!r}")
        return costs


def _jointly(
    covariances: LabelCovariances,
    row: int,
    free: npt.NDArray[np.bool_],
    costs: FloatArray,
    n: int,
    criterion: Literal["mi", "entropy"],
) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Labels of one item chosen one after the other by the engine, and their gains per cost."""
    open_labels = np.flatnonzero(free)
    diagonal, factor = covariances.diagonal[row, open_labels], covariances.factor[row, open_labels]
    if factor.shape[1] < open_labels.size / 3:
        picks = greedy_information(LowRank(factor, diagonal), n, costs=costs[open_labels], criterion=criterion)
    else:
        dense = factor @ factor.T + np.diag(diagonal)
        picks = greedy_information(dense, n, costs=costs[open_labels], criterion=criterion)
    return open_labels[picks.indices], picks.gains_per_cost
