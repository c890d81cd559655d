"""Rows that stand for all of them: k-means, and the row nearest to each centre."""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.extmath import randomized_svd

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.feature_scaling import unit_rows
from labelwise.numerics.gp.kernels import squared_norms
from labelwise.numerics.linear_algebra import dense

ITERATIONS: Final = 100
POINTS_PER_CENTRE: Final = 512  # that centres are learnt from; the nearest row is looked for among all
LEARNT_ON: Final = 10_000  # rows, whatever the number of centres
AXES: Final = 100  # of sparse rows


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
    sampled = max(n, min(Z.shape[0], POINTS_PER_CENTRE * n, LEARNT_ON))
    learnt_on = Z if sampled == Z.shape[0] else Z[np.sort(rng.choice(Z.shape[0], sampled, replace=False))]
    means = KMeans(n, n_init=1, max_iter=ITERATIONS, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than centres: centres coincide
        return np.asarray(means.fit(learnt_on).cluster_centers_, dtype=np.float64)


def unit_vectors(X: Any, rng: np.random.Generator) -> FloatArray:
    """(m, k) rows of unit length, dense: of dense rows with all features, of sparse ones on leading singular vectors.

    The singular vectors are those of the rows at unit length, or of a sample of very many rows.

    >>> unit_vectors(np.array([[3.0, 4.0], [0.0, 0.0]]), np.random.default_rng(0))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    if not sp.issparse(X):
        return unit_rows(np.asarray(X, dtype=np.float64))
    Z = unit_rows(sp.csr_array(X, dtype=np.float64))
    m, d = Z.shape
    if d > AXES:
        sample = Z if m <= LEARNT_ON else Z[np.sort(rng.choice(m, LEARNT_ON, replace=False))]
        k = min(AXES, m)
        Z = Z @ randomized_svd(sample, k, random_state=int(rng.integers(2**31)))[2].T  # (m, k)
    return unit_rows(dense(Z))
