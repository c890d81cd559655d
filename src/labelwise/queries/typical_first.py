"""Ask about typical items of parts of the pool without answers: a start that needs no model (TypiClust, ProbCover)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances_argmin

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.choosing import open_items
from labelwise.numerics.clustering import ItemVectors, at_most, cluster_centres, greedy_coverage, typicality
from labelwise.numerics.gp.kernels import squared_distances
from labelwise.numerics.user_input import check_at_least, check_choices
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Known, PoolAnswers
from labelwise.queries.base import Choice, Target

MAX_CLUSTERS = 500
FEW_MEMBERS = 5  # clusters with no more than these come last
REFERENCES = 1000  # items that stand for the pool in `method="coverage"`


@dataclass(frozen=True)
class TypicalFirst:
    """The most typical item of each cluster of the pool, clusters with the fewest answered items first.

    The pool is parted by k-means into as many clusters as there are items with answers and questions of the batch, at
    most 500. A question goes to the cluster with the fewest items that are answered or being asked, of those the
    largest one. Clusters of at most five items come last. In a cluster, the open item with the smallest mean distance
    to its 20 nearest members is asked; a cluster without open items is passed over. Beliefs are not looked at.

    Items are compared by their vectors, where features have such a block, else by all features, in rows of unit length
    (see `ItemVectors`).

    Parameters
    ----------
    method : "clusters" or "coverage"
        "coverage" has no clusters: each question raises Σ_x max_c exp(−‖x − c‖² / 2h²) most, with c the answered and
        asked items and h half the median distance. The sum is over 1000 items that stand for the pool.
    sample : int
        The most open items, and the most answered ones, that are looked at; of larger pools a random part.

    Examples
    --------
    >>> from labelwise.posterior import IgnorantPosterior
    >>> from labelwise.records import LabelData
    >>> X = np.array([[-1.0, 0.9], [-1.0, 1.0], [-1.0, 1.1], [1.0, -1.1], [1.0, -1.0], [1.0, -0.9]])
    >>> known = LabelData.from_arrays(X, label_names=["a"])
    >>> rng = np.random.default_rng(0)
    >>> choice = TypicalFirst().choose(IgnorantPosterior(6, 1), known.observed, 2, rng, known=known)
    >>> sorted(choice.rows.tolist())
    [1, 4]

    References
    ----------
    Hacohen, Dekel & Weinshall, Active learning on a budget: opposite strategies suit high and low budgets, ICML 2022.
    """

    method: Literal["clusters", "coverage"] = "clusters"
    sample: int = 5000
    target: Target = "items"
    looks_at_answers: ClassVar[bool] = True

    def choose(
        self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator, *, known: Known
    ) -> Choice:
        """Up to n open items; those without any open label, and those with an answer, count as answered."""
        self._check()
        open_rows = open_items(closed)
        n = min(n, open_rows.size)
        if n == 0:
            return Choice(np.empty(0, dtype=np.intp), None, np.empty(0))
        answered = np.ones(closed.shape[0], dtype=bool)
        answered[open_rows] = False
        answered[PoolAnswers.of(known, closed.shape).rows()] = True
        candidates = at_most(max(self.sample, n), open_rows, rng)
        rows = np.union1d(candidates, at_most(self.sample, np.flatnonzero(answered), rng))
        Z = ItemVectors.learn(known.X, getattr(known, "blocks", ()), rng)(known.X[rows])
        free = np.isin(rows, candidates)
        choose = _by_clusters if self.method == "clusters" else _by_coverage
        picked, scores = choose(Z, free, answered[rows], n, rng)
        return Choice(rows[picked], None, scores)

    def _check(self) -> None:
        if self.target != "items":
            raise ValueError(f'TypicalFirst asks for "items", got target={self.target!r}')
        check_choices(self, method=("clusters", "coverage"))
        check_at_least(self, 1, "sample")


def _by_clusters(
    Z: FloatArray, free: BoolArray, answered: BoolArray, n: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """n of the free rows and how typical they are.

    In a cluster with a answered items its r-th best row is asked when a + r items are answered or asked. So the order
    over all clusters is one sort.
    """
    k = min(int(answered.sum()) + n, MAX_CLUSTERS, len(Z))
    member = pairwise_distances_argmin(Z, cluster_centres(Z, k, rng))  # (m,)
    typical = typicality(Z, member)
    sizes, counts = np.bincount(member, minlength=k), np.bincount(member[answered], minlength=k)
    rows = np.flatnonzero(free)
    rows = rows[np.lexsort((rng.random(rows.size), -typical[rows], member[rows]))]  # cluster by cluster, best first
    places = np.arange(rows.size) - np.searchsorted(member[rows], member[rows])
    own, chance = member[rows], rng.random(k)
    order = np.lexsort((chance[own], -sizes[own], counts[own] + places, sizes[own] <= FEW_MEMBERS))
    picked = rows[order[:n]]
    return picked, typical[picked]


def _by_coverage(
    Z: FloatArray, free: BoolArray, answered: BoolArray, n: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """n of the free rows and what each gains."""
    rows = rng.permutation(np.flatnonzero(free))  # ties go to the first
    references = Z[at_most(REFERENCES, np.arange(len(Z)), rng)]  # (r, k)
    between = squared_distances(references)
    width = np.median(between[between > 0]) / 4 if (between > 0).any() else 1.0  # h², h half the median distance
    done = np.exp(-squared_distances(references, Z[answered]) / (2 * width))  # (r, a)
    kernel = np.exp(-squared_distances(references, Z[rows]) / (2 * width))  # (r, c)
    columns, gains = greedy_coverage(kernel, done.max(axis=1, initial=0.0), n)
    return rows[columns], gains
