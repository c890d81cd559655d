"""Ask for the items, or the (item, label) pairs, that together tell most about those that are not asked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.choosing import open_entries, open_items
from labelwise.numerics.gp.feature_spaces import FeatureSpace, Fourier, Landmarks, feature_blocks
from labelwise.numerics.information import Criterion, LowRank, LowRankBlocks, Picks, Run, greedy_information, run_here
from labelwise.numerics.linear_algebra import add_diagonal, pivoted_partial_cholesky, spanning_variables
from labelwise.numerics.user_input import check_choices
from labelwise.posterior import IgnorantPosterior, ItemCovariance, LabelPosterior
from labelwise.queries.base import Choice, Target, check_target
from labelwise.queries.diagnosis import Diagnosis
from labelwise.queries.random import Random
from labelwise.records.costs import divisors

LARGEST_JOINT = 4000  # pairs in one joint system: a covariance of 128 MB
PER_LANDMARK = 4  # items among which each landmark is found


@dataclass(frozen=True, eq=False)
class MutualInformation:
    """Greedy mutual information, non-myopic: each choice takes the earlier ones of the batch into account.

    Items are chosen by the model's covariance between items, so the strategy needs a Gaussian process model (`LabelGP`,
    `CompressedLabelGP`). Answers matter only through the model's hyper-parameters. Before the first answer it asks at
    random. What is maximised is the information of the items to ask about and the rest, given the labelled ones:
    docs/mathematics/guarantees.md compares it with the paper's.

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
        Items in the joint form; with q labels at most 4000 / q of them are used, or the whole pool if it is that small.
    max_dense : int
        Largest pool for which an n × n matrix is used if the kernel has no exact factor. Also the largest number of
        items of a pool in shards that are loaded at once. Larger pools are read in blocks, with the features of the
        kernel if it has any, else with `rank` features that approximate it; the remainder counts as noise of the item.
    approximation : "landmarks" or "fourier"
        Features spanned by items that are far from one another (Nyström), or random Fourier features.
    run : runs the work on the blocks, by default in this process; see `LowRankBlocks`

    References
    ----------
    Vasisht, Damianou, Varma & Kapoor, Active learning for sparse Bayesian multilabel classification, KDD 2014.
    Krause, Singh & Guestrin, Near-optimal sensor placements in Gaussian processes, JMLR 2008.

    Examples
    --------
    >>> import numpy as np, labelwise as lw
    >>> data = lw.data.make_shapes(60, random_state=0)
    >>> model = lw.LabelGP().fit(data.X[:20], data.Y[:20].toarray())
    >>> closed, rng = data.hide().observed_mask(), np.random.default_rng(0)
    >>> lw.MutualInformation().choose(model.posterior(data.X[20:]), closed[20:], 3, rng).rows
    array([ 7,  4, 12])
    """

    target: Target = "items"
    criterion: Criterion = "mi"
    pairs: Literal["item_then_labels", "joint"] = "item_then_labels"
    diagnosis: Diagnosis = field(default_factory=lambda: Diagnosis(labels_per_item=5))
    shortlist: int = 16
    max_dense: int = 6000
    rank: int = 500
    approximation: Literal["landmarks", "fourier"] = "landmarks"
    run: Run = field(default=run_here, repr=False)

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        check_target(self.target)
        check_choices(self, pairs=("item_then_labels", "joint"), approximation=("landmarks", "fourier"))
        if isinstance(posterior, IgnorantPosterior):
            return Random(self.target).choose(posterior, closed, n, rng)
        rows = open_items(closed)
        if rows.size == 0 or n == 0:
            nothing = np.empty(0, dtype=np.intp)
            return Choice(nothing, None if self.target == "items" else nothing, np.empty(0))
        pool = _Pool(posterior, rows)
        if self.target == "items":
            picks = self._items(pool, n)
            return Choice(rows[picks.indices], None, picks.gains)
        if self.pairs == "joint":
            choice = self._joint(pool, closed[rows], n)
            return replace(choice, rows=rows[choice.rows])
        order = rows[self._items(pool, min(pool.n_items, n)).indices]
        return self.diagnosis.labels_in_order(order, posterior, closed, n, rng)

    def _items(self, pool: _Pool, n: int) -> Picks:
        if pool.n_items > self.max_dense and (space := self._space(pool)) is not None:
            picks = greedy_information(pool.blocks(space, self.run), n, criterion=self.criterion)
            return replace(picks, indices=np.searchsorted(pool.rows, picks.indices))
        covariance = _item_covariance(pool.beliefs(self.max_dense))
        factor = covariance.factor()
        if factor is not None and factor.shape[1] < pool.n_items / 3:
            return greedy_information(LowRank(factor, covariance.noise), n, criterion=self.criterion)
        if pool.n_items <= self.max_dense:
            dense = add_diagonal(covariance.columns(np.arange(pool.n_items)), covariance.noise)
            return greedy_information(dense, n, criterion=self.criterion)
        factor, lost = pivoted_partial_cholesky(covariance.diagonal(), covariance.columns, self.rank)
        return greedy_information(LowRank(factor, covariance.noise + lost), n, criterion=self.criterion)

    def _space(self, pool: _Pool) -> FeatureSpace | None:
        """Features in which a large pool is walked block by block; None where the model offers none."""
        if pool.posterior.parts() is None:
            return None
        exact = pool.posterior.feature_space()
        if exact is not None and exact.known_gram.shape[0] < pool.n_items / 3:
            return exact
        if self.approximation == "fourier":
            return pool.posterior.feature_space(Fourier(self.rank))
        few = np.unique(np.linspace(0, pool.n_items - 1, min(pool.n_items, PER_LANDMARK * self.rank)).astype(np.intp))
        covariance = _item_covariance(pool.of(few)).columns(np.arange(few.size))
        return pool.posterior.feature_space(Landmarks(pool.features(few[spanning_variables(covariance, self.rank)])))

    def _joint(self, pool: _Pool, closed: sp.csr_array, n: int) -> Choice:
        """Pairs over a shortlist of items, or over the whole pool where it is small, by one joint covariance.

        Between pair (i, j) and pair (i', j') it is ρ(i, i') times entry (j, j') of G_i G_i'ᵀ. G_i G_iᵀ is the label
        covariance of item i, and ρ the correlation of the items' predictions, noise included. For a model that believes
        in one label covariance this is the Kronecker product of both; for any other it is still positive.
        """
        q = pool.posterior.n_labels
        affordable = max(1, LARGEST_JOINT // q)
        n_items = pool.n_items if pool.n_items <= affordable else min(self.shortlist, affordable)
        items = self._items(pool, max(n_items, -(-n // q))).indices
        part = pool.of(items)
        covariance = _item_covariance(part)
        between = covariance.columns(np.arange(items.size)) + covariance.noise * np.eye(items.size)
        scale = np.sqrt(np.diag(between))
        labels = part.label_covariances()
        joint = _pair_covariance(between / np.outer(scale, scale), labels.diagonal, labels.factor)
        free = open_entries(closed[items]).ravel()
        costs = np.tile(divisors(self.diagnosis.label_costs(q)), items.size)
        picks = greedy_information(joint, n, eligible=free, criterion=self.criterion, costs=costs)
        return Choice(items[picks.indices // q], picks.indices % q, picks.gains_per_cost)


@dataclass(frozen=True, eq=False)
class _Pool:
    """The open items of a posterior, by their place among themselves."""

    posterior: LabelPosterior
    rows: npt.NDArray[np.intp]  # rising

    @property
    def n_items(self) -> int:
        return self.rows.size

    @cached_property
    def _all(self) -> LabelPosterior:
        return self.posterior.rows(self.rows)

    def beliefs(self, most: int) -> LabelPosterior:
        """About all of them; from a pool in shards at most `max_dense` are loaded."""
        if self.posterior.is_streamed and self.n_items > most:
            raise ValueError(
                f"the {self.n_items} open items of this pool are in shards, and the model's covariance between them "
                "has no features to walk it by: use LabelGP or another Gaussian process model, or another strategy"
            )
        return self._all

    def of(self, places: npt.NDArray[np.intp]) -> LabelPosterior:
        """About some of them."""
        return self.posterior.rows(self.rows[places])

    def features(self, places: npt.NDArray[np.intp]) -> Any:
        """Of some of them, rising, as the user gave them."""
        parts = self.posterior.parts() or ()
        rows, found = self.rows[places], []
        for part in parts:
            mine = rows[(rows >= part.start) & (rows < part.start + part.n_rows)] - part.start
            if mine.size:
                found.append(part.load(mine))
        return sp.vstack(found, format="csr") if sp.issparse(found[0]) else np.concatenate(found)

    def blocks(self, space: FeatureSpace, run: Run) -> LowRankBlocks:
        """In the features of a space, for the streamed engine."""
        in_pool = np.zeros(self.posterior.n_items, dtype=bool)
        in_pool[self.rows] = True
        blocks = feature_blocks(self.posterior.parts() or (), space)
        return LowRankBlocks(blocks, known_gram=space.known_gram, in_pool=in_pool, run=run)


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
