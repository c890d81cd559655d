"""The pools everybody is timed and judged on: made up, and real ones where they are. Rows have unit length."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler, normalize

import labelwise as lw

LABELS = 50
SETS = {
    "enron": "enron/enron.arff.gz",
    "medical": "medical/medical.arff",
    "bibtex": "bibtex/bibtex.arff.gz",
    "yeast": "yeast/yeast.arff.gz",
}


@dataclass(frozen=True, eq=False)
class Pool:
    """Items to ask about, and some that nobody is asked about, to judge by."""

    X: Any
    Y: np.ndarray
    X_test: Any
    Y_test: np.ndarray


def made_up(n: int, seed: int = 0, features: int = 1000, words: int = 60) -> tuple[sp.csr_array, np.ndarray]:
    """Texts of `words` words with Zipf frequencies, some twice; 3 of 50 labels each, by noisy rules over the words."""
    rng = np.random.default_rng(seed)
    word = np.exp(rng.random((n, words)) * np.log(features)).astype(np.int32) - 1
    X = sp.csr_array((np.ones(word.size), (np.repeat(np.arange(n), words), word.ravel())), shape=(n, features))
    X = sp.csr_array(normalize(X))
    rules = sp.random_array((features, LABELS), density=0.05, random_state=rng, format="csr")
    scores = (X @ rules).toarray()
    scores += 0.2 * scores.std(axis=0) * rng.normal(size=scores.shape)
    rates = 0.3 / np.arange(1, LABELS + 1) ** 0.6
    return X, scores > [np.quantile(column, 1 - rate) for column, rate in zip(scores.T, rates, strict=True)]


def real(name: str, limit: int, seed: int = 0) -> tuple[Any, np.ndarray] | None:
    """A published set, its 50 most frequent labels and `limit` of its items; None where it is not there."""
    folder = os.environ.get("LABELWISE_SHARED_DATA")
    path = Path(folder or "") / SETS[name]
    if not folder or not path.exists():
        return None
    data = lw.read(path)
    Y = data.Y.toarray().astype(bool)
    frequent = np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[:LABELS])
    rows = np.random.default_rng(seed).permutation(data.n_items)[:limit]
    X = data.X if sp.issparse(data.X) else StandardScaler().fit_transform(data.X)
    return normalize(X)[rows], Y[np.ix_(rows, frequent)]


def split(X: Any, Y: np.ndarray, n_test: int) -> Pool:
    return Pool(X[:-n_test], Y[:-n_test], X[-n_test:], Y[-n_test:])
