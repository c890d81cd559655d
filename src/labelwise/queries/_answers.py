"""What strategies that look at answers read of the pool they are handed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp
from scipy.special import logit

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.posterior import LabelPosterior

Values = Literal["probability", "decision"]
MIN_PROBABILITY = 1e-12  # probabilities are kept so far from 0 and 1 before their log-odds are taken


class Known(Protocol):
    """The part of a `LabelData` that strategies read: features, answers, and which entries were answered."""

    @property
    def X(self) -> Any: ...

    @property
    def Y(self) -> sp.csr_array: ...

    @property
    def observed(self) -> sp.csr_array | None: ...


class Believed(NamedTuple):
    """Some rows of a pool: probabilities that are 0 or 1 where answered, and which entries were answered."""

    p: FloatArray  # (b, q)
    answered: BoolArray  # (b, q)

    def counts(self) -> FloatArray:
        """(b,) how many labels each item is predicted to have: those answered yes and those more likely than not."""
        return (self.p > 0.5).sum(1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class PoolAnswers:
    """What was answered of a pool, read in blocks of rows."""

    Y: sp.csr_array  # (n, q)
    observed: sp.csr_array | None  # (n, q)

    @classmethod
    def of(cls, known: Known, shape: tuple[int, int]) -> PoolAnswers:
        if known.Y.shape != shape:
            raise ValueError(
                f"known holds answers about {known.Y.shape} (items, labels), but the questions are about {shape}; "
                "hand over the pool that the beliefs are about"
            )
        return cls(known.Y, known.observed)

    def of_rows(self, rows: IntArray) -> PoolAnswers:
        """The answers about some of the items, in this order."""
        return PoolAnswers(self.Y[rows], None if self.observed is None else self.observed[rows])

    def per_item(self) -> IntArray:
        """(n,) labels of each item that were answered."""
        if self.observed is None:
            return np.full(self.Y.shape[0], self.Y.shape[1], dtype=np.intp)
        return np.diff(self.observed.indptr)

    def rows(self) -> IntArray:
        """Items of which anything was answered."""
        return np.flatnonzero(self.per_item())

    def complete_rows(self) -> IntArray:
        """Items of which everything was answered."""
        return np.flatnonzero(self.per_item() == self.Y.shape[1])

    def mask(self, rows: IntArray | slice) -> BoolArray:
        """(b, q) which entries were answered."""
        if self.observed is None:
            return np.ones((np.arange(self.Y.shape[0])[rows].size, self.Y.shape[1]), dtype=bool)
        return self.observed[rows].toarray()

    def believed(self, posterior: LabelPosterior, rows: IntArray | slice) -> Believed:
        """Beliefs about some rows, with what was answered put in; `posterior` is about these rows alone."""
        answered = self.mask(rows)
        p = np.clip(posterior.probabilities(), 0.0, 1.0)
        return Believed(np.where(answered, self.Y[rows].toarray(), p), answered)

    def mean_count(self) -> float:
        """Mean number of labels of an answered item: the sum of the labels' shares of yes.

        Where whole items were answered this is their mean count. A label that was never answered is given the mean
        share of the others.
        """
        n, q = self.Y.shape
        asked = np.full(q, n) if self.observed is None else np.bincount(self.observed.indices, minlength=q)
        if not asked.any():
            return 0.0
        shares = np.bincount(self.Y.indices, minlength=q)[asked > 0] / asked[asked > 0]
        return float(shares.mean() * q)


def signed_values(p: FloatArray, values: Values) -> FloatArray:
    """What stands for a classifier's output, positive where a label is predicted: 2 p − 1, or the log-odds of p.

    For one logistic regression per label, and for classifiers that have a decision function only, the log-odds are the
    decision values.
    """
    if values == "probability":
        return 2 * p - 1
    if values == "decision":
        return logit(np.clip(p, MIN_PROBABILITY, 1 - MIN_PROBABILITY))
    raise ValueError(f'values must be "probability" or "decision", got {values!r}')
