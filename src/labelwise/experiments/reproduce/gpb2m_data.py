"""Paper 3, GP-B²M, done again: the published sets as its campaigns see them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize

from labelwise.data import read
from labelwise.records import LabelData

FILES = {
    "enron": "enron/enron.arff.gz",
    "yeast": "yeast/yeast.arff.gz",
    "corel5k": "corel5k/Corel5k-sparse.arff.gz",
    "bibtex": "bibtex/bibtex.arff.gz",
    "delicious": "delicious/delicious.arff.gz",
}
LEAST = {"enron": 20, "yeast": 20, "corel5k": 100, "bibtex": 200, "delicious": 1000}  # positives a label must have
START, BATCH = 40, 10  # items known at first, and asked in a round
N_TEST, N_POOL = 500, 800
DIMENSIONS = 300


class Bench(NamedTuple):
    """A pool whose first items are known, everything about the same pool, and a test set nobody asks about."""

    known: LabelData
    truth: LabelData
    test: LabelData


def load_bench(file: str | Path, least: int, seed: int) -> Bench:
    """Frequent labels only; a random pool and test set; features prepared on the pool; a start that has every label.

    Sparse rows (words) are weighted by tf-idf and projected on the pool's 300 leading singular vectors; dense features
    are standardised. Rows are then scaled to unit length.
    """
    data = frequent_labels(read(file), least)
    rng = np.random.default_rng([seed, 3])
    order = rng.permutation(data.n_items)
    test, pool = data.take(order[:N_TEST]), data.take(order[N_TEST : N_TEST + N_POOL])
    X_pool, X_test = _prepared(pool.X, test.X)
    pool, test = (replace(part, X=X, feature_names=None) for part, X in ((pool, X_pool), (test, X_test)))
    return Bench(knowing(pool, covering_rows(pool.Y, START, rng)), pool, test)


def frequent_labels(data: LabelData, least: int) -> LabelData:
    """The same items with the labels that at least so many of them have."""
    kept = np.flatnonzero(data.Y.sum(0) >= least)
    names = tuple(data.label_names[j] for j in kept)
    return replace(data, Y=sp.csr_array(data.Y[:, kept]), label_names=names)


def covering_rows(Y: sp.csr_array, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """n random rows that have every label where n rows can: first a random cover, then any.

    >>> Y = sp.csr_array(np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=bool))
    >>> all(3 in covering_rows(Y, 2, np.random.default_rng(seed)) for seed in range(9))
    True
    """
    order = rng.permutation(Y.shape[0])
    lacking = np.asarray(Y.sum(0) > 0).ravel()
    first = []
    for row in order:  # rows that bring a label not seen before
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        if lacking[labels].any():
            first.append(row)
            lacking[labels] = False
    rest = order[~np.isin(order, first)]
    return np.concatenate([np.array(first, dtype=np.intp), rest])[:n]


def knowing(data: LabelData, rows: npt.NDArray[np.intp]) -> LabelData:
    """The same items, of which only these rows are known."""
    mask = np.zeros((data.n_items, 1), dtype=bool)
    mask[rows] = True
    observed = sp.csr_array(np.broadcast_to(mask, data.Y.shape))
    return replace(data, Y=sp.csr_array(data.Y.multiply(observed)), observed=observed)


def _prepared(pool: Any, test: Any) -> tuple[Any, Any]:
    if not sp.issparse(pool):
        scaler = StandardScaler().fit(pool)
        return normalize(scaler.transform(pool)), normalize(scaler.transform(test))
    weights = TfidfTransformer(sublinear_tf=False).fit(pool)
    dimensions = min(DIMENSIONS, *(size - 1 for size in pool.shape))
    leading = TruncatedSVD(dimensions, random_state=0).fit(weights.transform(pool))
    X_pool, X_test = (normalize(leading.transform(weights.transform(X))) for X in (pool, test))
    return X_pool, X_test
