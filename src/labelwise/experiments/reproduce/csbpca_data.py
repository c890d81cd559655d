"""The protocol of paper 2: which labels and rows of a published set are kept, how it is split, how sets are scored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from labelwise.data import read
from labelwise.decisions import TopLabels
from labelwise.experiments.metrics import macro_f1
from labelwise.posterior import BoolArray, FloatArray, MarginalPosterior
from labelwise.records import LabelData

FILES = {
    "corel5k": "corel5k/Corel5k-sparse.arff.gz",
    "bibtex": "bibtex/bibtex.arff.gz",
    "delicious": "delicious/delicious.arff.gz",
}
PAPER_SIZES = {"corel5k": (5000, 132), "bibtex": (7013, 127), "delicious": (8172, 157)}  # rows, labels of its table 1
LABEL_SHARE = {"corel5k": 0.005, "bibtex": 0.005, "delicious": 0.025}  # of the rows; 0.005 leaves delicious 589 labels
START_SHARE, POOL_SHARE = 0.01, 0.4
MOST_TEST_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Split:
    """One shuffle: the pool with the rows to start from first, and the test set."""

    pool: LabelData
    n_start: int
    test: LabelData
    cardinality: float  # mean number of labels in the whole set, as the paper takes it

    @property
    def truth(self) -> BoolArray:
        return np.asarray(self.test.Y.toarray(), dtype=bool)


def load(file: str, name: str, *, n_labels: int | None = None, share: float | None = None) -> LabelData:
    """A set as the paper prepares it: labels on too few rows dropped, then rows without labels; rows of unit length.

    `n_labels` keeps only the most frequent ones, `share` is the least part of the rows that a label must be on.
    """
    data = read(Path(file))
    share = LABEL_SHARE[name] if share is None else share
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    kept = np.flatnonzero(counts >= share * data.n_items)
    if n_labels is not None:
        kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[:n_labels]])
    Y = sp.csr_array(data.Y[:, kept])
    rows = np.flatnonzero(np.diff(Y.indptr))
    return LabelData.from_arrays(
        normalize(data.X[rows]), Y[rows], item_ids=map(str, rows), label_names=[data.label_names[j] for j in kept]
    )


def split(data: LabelData, seed: int) -> Split:
    """1 % to start from, 40 % to ask about, the first rows of the rest to test on."""
    order = np.random.default_rng([seed, 2]).permutation(data.n_items)
    n_start, n_pool = round(START_SHARE * data.n_items), round(POOL_SHARE * data.n_items)
    pool = data.take(order[: n_start + n_pool])
    return Split(pool, n_start, data.take(order[n_start + n_pool :][:MOST_TEST_ROWS]), data.cardinality)


def top_sets(scores: FloatArray, counts: npt.NDArray[np.integer]) -> BoolArray:
    """(n, q) the highest labels of each item, as many as its count says."""
    sets = np.zeros(scores.shape, dtype=bool)
    for count in np.unique(counts):
        rows = counts == count
        sets[rows] = TopLabels(int(count)).decide(MarginalPosterior(scores[rows]))
    return sets


def macro(sets: BoolArray, truth: BoolArray) -> float:
    """Macro-F1 over all labels, as the paper has it: a label without positives counts 0."""
    found = macro_f1(sets, truth)
    return found.value * (truth.shape[1] - found.left_out) / truth.shape[1]
