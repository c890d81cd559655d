"""Paper 4, ML-LCS (UAI 2017), done again: the sets, and labels that nobody is told about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.data import read
from labelwise.posterior import BoolArray, FloatArray
from labelwise.records import LabelData

SETS = ("bibtex", "delicious")
MADE_UP = "made up"
SEEN = {"delicious": 500}  # labels told in the half-half experiments; otherwise half of them, rounded up


@dataclass(frozen=True, eq=False)
class Split:
    """Official training and test items, and which labels are told."""

    train: LabelData
    test: LabelData
    seen: Any  # label numbers
    unseen: Any

    @property
    def Y(self) -> BoolArray:
        return self.train.Y.toarray()

    @property
    def truth(self) -> BoolArray:
        return self.test.Y.toarray()

    @property
    def observed(self) -> BoolArray:
        told = np.zeros(self.train.Y.shape, dtype=bool)
        told[:, self.seen] = True
        return told

    def counts(self) -> FloatArray:
        """(q, q) co-occurrence counts of all labels on the training items: all that is told of unseen labels."""
        return count(self.Y)


def count(Y: BoolArray) -> FloatArray:
    """(q, q) items that carry both labels."""
    sparse = sp.csr_array(Y.astype(np.float64))
    return np.asarray((sparse.T @ sparse).toarray())


def split(folder: str, name: str, seed: int, share: float | None = None) -> Split:
    """A random half, or share, of the labels told."""
    train, test = load(folder, name)
    q = train.n_labels
    n_seen = int(np.ceil(q * share)) if share is not None else SEEN.get(name, -(-q // 2))
    order = np.random.default_rng(seed).permutation(q)
    return Split(train, test, order[:n_seen], order[n_seen:])


@lru_cache(maxsize=2)
def load(folder: str, name: str) -> tuple[LabelData, LabelData]:
    """Official training and test rows."""
    if name == MADE_UP:
        return made_up()
    train, test = (read(Path(folder) / name / f"{name}-{part}.arff.gz") for part in ("train", "test"))
    return train, test


def made_up(n: int = 700, seed: int = 0) -> tuple[LabelData, LabelData]:
    """Short texts on a few themes, tagged by theme: for runs without the published sets."""
    rng = np.random.default_rng(seed)
    themes = rng.dirichlet(np.full(8, 0.15), size=n)  # (n, themes)
    words = themes @ rng.dirichlet(np.full(120, 0.1), size=8)  # (n, words)
    X = (rng.poisson(25 * words) > 0).astype(float)
    tags = themes @ rng.gamma(0.25, size=(8, 30)) * 1.2
    Y = rng.random((n, 30)) < np.minimum(tags, 0.9)
    data = LabelData.from_arrays(sp.csr_array(X), Y)
    return data.take(np.arange(n - 200)), data.take(np.arange(n - 200, n))
