"""Ask where the model is least sure of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import entr

from labelwise.numerics.arrays import FloatArray
from labelwise.posterior import LabelPosterior
from labelwise.queries.base import ScoringStrategy, Target


@dataclass(frozen=True)
class Uncertainty(ScoringStrategy):
    """Entropy, or another spread, of the label probabilities; for items, summed over the open labels.

    Summed entropy collects odd items and items with many labels, and can be much worse than random on sparse text. It
    pays for pairs.

    Parameters
    ----------
    target : "items" or "pairs"
    measure : "entropy", "margin" or "variance"
        Entropy in nats, nearness to one half (0.5 − |p − 0.5|), or p (1 − p). They rank single pairs alike, but their
        sums over an item differ.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.1], [0.6, 0.5]]))
    >>> Uncertainty(measure="margin").score(beliefs, np.random.default_rng(0)).round(2)
    array([[0.1, 0.1], [0.4, 0.5]])
    """

    target: Target = "items"
    measure: Literal["entropy", "margin", "variance"] = "entropy"

    def score(self, posterior: LabelPosterior, rng: np.random.Generator) -> FloatArray:
        p = np.clip(posterior.probabilities(), 0.0, 1.0)  # (n, q), rounding may step over the ends, where entr is −inf
        if self.measure == "entropy":
            return entr(p) + entr(1 - p)
        if self.measure == "margin":
            return 0.5 - np.abs(p - 0.5)
        if self.measure == "variance":
            return p * (1 - p)
        raise ValueError(f'measure must be "entropy", "margin" or "variance", got {self.measure!r}')
