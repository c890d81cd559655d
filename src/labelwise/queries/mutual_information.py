"""Ask for the items, or the (item, label) pairs, that together tell most about those that are not asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.choosing import open_entries, open_items, random_items, random_pairs
from labelwise.numerics.information import Criterion, LowRank, Picks, greedy_information
from labelwise.numerics.partial_cholesky import pivoted_partial_cholesky
from labelwise.posterior import FloatArray, IgnorantPosterior, ItemCovariance, LabelPosterior
from labelwise.queries.base import Choice, Target, check_target
from labelwise.queries.diagnosis import Diagnosis

LARGEST_JOINT = 4000  # pairs in one joint system: a covariance of 128 MB


@dataclass(frozen=True, eq=False)
class MutualInformation:
    """Greedy mutual information, non-myopic: each choice counts what the earlier ones of the batch already tell.

    Items are chosen by the covariance between items that the model believes in, so it needs a Gaussian process model
    (`LabelGP`, `CompressedLabelGP`). The labels seen so far matter through the model's hyper-parameters only. Before
    anything is known, it asks at random.

    Parameters
    ----------
    target : "items" or "pairs"
    criterion : "mi", "entropy" or "mi_fixed_rest"
        Information about the rest; the uncertainty of the choice itself; the published proof-sketch form.
    pairs : "item_then_labels" or "joint"
        For pairs: choose items as above, then `diagnosis.labels_per_item` labels of each (the published form); or
        choose pairs jointly over a shortlist of `shortlist` items, label and item covariance together.
    diagnosis : Diagnosis
        How the labels of a chosen item are chosen, and what each label costs.
    shortlist : int
        Items in the joint form; with q labels at most 4000 / q of them are used, and all where the pool is that small.
    max_dense : int
        Largest pool handled by an n × n matrix where the kernel has no exact factor; above it, a partial Cholesky
        factor of rank `rank` is used, and what it misses counts as noise of the item.

    References
    ----------
    Vasisht, Damianou, Varma & Kapoor, Active learning for sparse Bayesian multilabel classification, KDD 2014.
    Krause, Singh & Guestrin, Near-optimal sensor placements in Gaussian processes, JMLR 2008.
    """

    target: Target = "items"
    criterion: Criterion = "mi"
    pairs: Literal["item_then_labels", "joint"] = "item_then_labels"
    diagnosis: Diagnosis = field(default_factory=lambda: Diagnosis(labels_per_item=5))
    shortlist: int = 16
    max_dense: int = 6000
    rank: int = 500

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        check_target(self.target)
        if self.pairs not in ("item_then_labels", "joint"):
            raise ValueError(f'pairs must be "item_then_labels" or "joint", got {self.pairs!r}')
        if isinstance(posterior, IgnorantPosterior):
            return self._at_random(closed, n, rng)
        rows = open_items(closed)
        if rows.size == 0 or n == 0:
            nothing = np.empty(0, dtype=np.intp)
            return Choice(nothing, None if self.target == "items" else nothing, np.empty(0))
        beliefs = posterior.rows(rows)
        if self.target == "items":
            picks = self._items(beliefs, n)
            return Choice(rows[picks.indices], None, picks.gains)
        choice = (self._joint if self.pairs == "joint" else self._item_then_labels)(beliefs, closed[rows], n, rng)
        return replace(choice, rows=rows[choice.rows])

    def _at_random(self, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        rows, labels = (random_items(closed, n, rng), None) if self.target == "items" else random_pairs(closed, n, rng)
        return Choice(rows, labels, np.zeros(rows.size))

    def _items(self, beliefs: LabelPosterior, n: int) -> Picks:
        covariance = _item_covariance(beliefs)
        factor = covariance.factor()
        if factor is not None and factor.shape[1] < beliefs.n_items / 3:
            return greedy_information(LowRank(factor, covariance.noise), n, criterion=self.criterion)
        if beliefs.n_items <= self.max_dense:
            dense = covariance.columns(np.arange(beliefs.n_items))
            dense[np.diag_indices_from(dense)] += covariance.noise
            return greedy_information(dense, n, criterion=self.criterion)
        factor, lost = pivoted_partial_cholesky(covariance.diagonal(), covariance.columns, self.rank)
        return greedy_information(LowRank(factor, covariance.noise + lost), n, criterion=self.criterion)

    def _item_then_labels(
        self, beliefs: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator
    ) -> Choice:
        """Items in the order of their information, and the labels of each: the published generalised form."""
        n_items = -(-n // self.diagnosis.labels_per_item)
        rows, labels, scores = [], [], []
        chosen = 0
        order = self._items(beliefs, min(beliefs.n_items, n)).indices
        for start in range(0, order.size, n_items):
            part = order[start : start + n_items]
            place, which, score = self.diagnosis.labels_of(beliefs.rows(part), closed[part], rng)
            rows.append(part[place])
            labels.append(which)
            scores.append(score)
            chosen += which.size
            if chosen >= n:
                break
        return Choice(np.concatenate(rows)[:n], np.concatenate(labels)[:n], np.concatenate(scores)[:n])

    def _joint(self, beliefs: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        """Pairs over a shortlist of items, or over the whole pool where it is small, by one joint covariance.

        Between pair (i, j) and pair (i', j') it is ρ(i, i') times entry (j, j') of G_i G_i'ᵀ, where G_i G_iᵀ is the
        label covariance of item i and ρ the correlation of the items' predictions, noise included. For a model that
        believes in one label covariance this is the Kronecker product of both; for any other it is still positive.
        """
        q = beliefs.n_labels
        affordable = max(1, LARGEST_JOINT // q)
        n_items = beliefs.n_items if beliefs.n_items <= affordable else min(self.shortlist, affordable)
        items = self._items(beliefs, max(n_items, -(-n // q))).indices
        part = beliefs.rows(items)
        covariance = _item_covariance(part)
        between = covariance.columns(np.arange(items.size)) + covariance.noise * np.eye(items.size)
        scale = np.sqrt(np.diag(between))
        labels = part.label_covariances()
        joint = _pair_covariance(between / np.outer(scale, scale), labels.diagonal, labels.factor)
        free = open_entries(closed[items]).ravel()
        costs = np.tile(self.diagnosis.label_costs(q), items.size)
        picks = greedy_information(joint, n, eligible=free, criterion=self.criterion, costs=costs)
        return Choice(items[picks.indices // q], picks.indices % q, picks.gains_per_cost)


def _item_covariance(beliefs: LabelPosterior) -> ItemCovariance:
    covariance = beliefs.item_covariance()
    if covariance is None:
        raise ValueError(
            "MutualInformation needs beliefs with a covariance between items, and this model has none; "
            "use LabelGP or another Gaussian process model, or another strategy"
        )
    return covariance


def _pair_covariance(correlation: FloatArray, diagonal: FloatArray, factor: FloatArray) -> npt.NDArray[np.float64]:
    """(b q, b q) covariance of all pairs of b items."""
    b, q = diagonal.shape
    joint = np.einsum("iar,jbr->iajb", factor, factor, optimize=True)  # (b, q, b, q)
    root = np.sqrt(diagonal)
    labels = np.arange(q)
    joint[:, labels, :, labels] += np.einsum("iq,jq->qij", root, root)
    joint *= correlation[:, None, :, None]
    return joint.reshape(b * q, b * q)
