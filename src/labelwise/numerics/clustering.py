"""Rows that stand for all: nearest to the centres of k-means, most typical of clusters, or covering the most."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.extmath import randomized_svd

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.blocks import Block, join_columns
from labelwise.numerics.feature_scaling import FeatureScaling, learn_scaling, unit_rows
from labelwise.numerics.gp.kernels import squared_norms
from labelwise.numerics.linear_algebra import dense

ITERATIONS: Final = 100
POINTS_PER_CENTRE: Final = 512  # that centres are learnt from; the nearest row is looked for among all
LEARNT_ON: Final = 10_000  # rows, whatever the number of centres
AXES: Final = 100  # of sparse rows
AXES_FROM: Final = 4000  # rows
NEIGHBOURS: Final = 20  # of an item within its cluster, that say how typical it is


def at_most(n: int, rows: IntArray, rng: np.random.Generator) -> IntArray:
    """The rows, rising; n of them at random where there are more."""
    return rows if rows.size <= n else np.sort(rng.choice(rows, n, replace=False))


def nearest_to_centres(Z: Any, n: int, rng: np.random.Generator) -> IntArray:
    """n different rows of Z (m, d), dense or csr: of each k-means centre the nearest row; all rows if there are fewer.

    If one row is the nearest to several centres, the later centres take the next nearest row that is free.

    >>> Z = np.array([[0.0, 0.0], [0.1, 0.0], [0.2, 0.0], [5.0, 5.0], [5.1, 5.0], [5.2, 5.0]])
    >>> np.sort(nearest_to_centres(Z, 2, np.random.default_rng(0)))
    array([1, 4])
    """
    m = Z.shape[0]
    if n >= m:
        return np.arange(m)
    if n <= 0:
        return np.empty(0, dtype=np.intp)
    centres = cluster_centres(Z, n, rng)  # (n, d)
    rows = np.asarray(pairwise_distances_argmin(centres, Z), dtype=np.intp)  # in blocks: never n × m
    free = np.ones(m, dtype=bool)
    free[rows] = False
    squares = squared_norms(Z)
    for place in np.setdiff1d(np.arange(n), np.unique(rows, return_index=True)[1]):
        gaps = squares - 2 * np.asarray(Z @ centres[place])  # (m,) squared distances up to a constant
        rows[place] = np.argmin(np.where(free, gaps, np.inf))
        free[rows[place]] = False
    return rows


def cluster_centres(Z: Any, n: int, rng: np.random.Generator) -> FloatArray:
    """(n, d) centres of k-means with a k-means++ start, learnt from a sample where Z has very many rows."""
    sampled = at_most(max(n, min(POINTS_PER_CENTRE * n, LEARNT_ON)), np.arange(Z.shape[0]), rng)
    learnt_on = Z if sampled.size == Z.shape[0] else Z[sampled]
    means = KMeans(n, n_init=1, max_iter=ITERATIONS, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than centres: centres coincide
        return np.asarray(means.fit(learnt_on).cluster_centers_, dtype=np.float64)


def typicality(Z: Any, member: IntArray) -> FloatArray:
    """(m,) one over the mean distance of each row to its nearest neighbours in its cluster; 0 where it is alone there.

    There are 20 neighbours, or half of a cluster that is smaller (Hacohen, Dekel & Weinshall, ICML 2022).

    >>> typicality(np.array([[0.0], [1.0], [3.0], [9.0]]), np.array([0, 0, 0, 1])).round(2)
    array([1. , 1. , 0.5, 0. ])
    """
    found = np.zeros(Z.shape[0])
    order = np.argsort(member, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(member[order])) + 1):
        k = min(NEIGHBOURS, rows.size // 2)
        if k:
            distances, _ = NearestNeighbors(n_neighbors=k).fit(Z[rows]).kneighbors()  # each row's own place is left out
            found[rows] = 1 / (distances.mean(axis=1) + 1e-5)
    return found


def greedy_coverage(kernel: FloatArray, covered: FloatArray, n: int) -> tuple[IntArray, FloatArray]:
    """n columns of `kernel` (m, c), one after the other, each that which raises Σ_x max(covered_x, k(x, chosen)) most.

    The sum is submodular, so that greedy choices reach 1 − 1/e of the best possible gain.

    Parameters
    ----------
    kernel : (m, c) how well each candidate covers each row, not negative
    covered : (m,) how well the rows are covered already

    Returns
    -------
    columns, and what each gained

    >>> greedy_coverage(np.array([[1.0, 0.8, 0.0], [0.0, 0.7, 0.2]]), np.zeros(2), 2)
    (array([1, 0]), array([1.5, 0.2]))
    """
    columns, gained = np.empty(min(n, kernel.shape[1]), dtype=np.intp), np.empty(min(n, kernel.shape[1]))
    free = np.ones(kernel.shape[1], dtype=bool)
    for place in range(columns.size):
        gains = np.where(free, np.maximum(kernel - covered[:, None], 0.0).sum(axis=0), -1.0)
        columns[place] = pick = int(np.argmax(gains))
        gained[place], free[pick] = gains[pick], False
        covered = np.maximum(covered, kernel[:, pick])
    return columns, gained


@dataclass(frozen=True, eq=False)
class ItemVectors:
    """From rows of features to dense rows of few columns, by which items are clustered.

    Blocks of vectors are taken alone where there are any. Otherwise words and categories become rows of unit length,
    and numbers are standardised as models do it. Sparse rows are projected on leading singular vectors. Rows have unit
    length, but where there are at most ten numbers and nothing else: a plane would become a circle.

    Examples
    --------
    >>> X = np.array([[3.0, 4.0, 7.0], [0.0, 5.0, 9.0]])
    >>> blocks = Block("minilm", "vectors", 0, 2), Block("size", "numbers", 2, 3)
    >>> ItemVectors.learn(X, blocks, np.random.default_rng(0))(X)
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    blocks: tuple[Block, ...]
    scalings: tuple[FeatureScaling, ...]  # of each block
    axes: FloatArray | None = None  # (d, k)

    @classmethod
    def learn(cls, X: Any, blocks: Sequence[Block], rng: np.random.Generator) -> Self:
        """From a pool (n, d), of which a sample is read."""
        rows = X[at_most(AXES_FROM, np.arange(X.shape[0]), rng)]
        whole = Block("all", "words" if sp.issparse(rows) else "numbers", 0, X.shape[1])
        seen = [block for block in blocks if block.is_seen_by_models]
        used = [block for block in seen if block.kind == "vectors"] or seen or [whole]
        scalings = [
            learn_scaling(_columns(block, rows), "auto") if block.kind == "numbers" else FeatureScaling(unit_rows=True)
            for block in used
        ]
        plain = cls(tuple(used), tuple(scalings))
        joined = plain._joined(rows)
        if not sp.issparse(joined) or joined.shape[1] <= AXES:
            return plain
        k = min(AXES, joined.shape[0])
        axes = randomized_svd(joined, k, random_state=int(rng.integers(2**31)))[2].T
        return cls(plain.blocks, plain.scalings, axes)

    def __call__(self, X: Any) -> FloatArray:
        """(m, k) of the rows X (m, d)."""
        joined = self._joined(X)
        if len(self.blocks) == 1 and self.axes is None:
            return dense(joined)
        return unit_rows(dense(joined if self.axes is None else joined @ self.axes))

    def _joined(self, X: Any) -> Any:
        return join_columns(
            [scale(_columns(block, X)) for block, scale in zip(self.blocks, self.scalings, strict=True)]
        )


def _columns(block: Block, X: Any) -> Any:
    """Those of a block; vectors and numbers, which have hardly a zero, dense."""
    return dense(block.of(X)) if block.kind in ("vectors", "numbers") else block.of(X)
