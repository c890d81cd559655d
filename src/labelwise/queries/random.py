"""Ask at random: the control that every strategy has to beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.choosing import random_items, random_pairs
from labelwise.posterior import LabelPosterior
from labelwise.queries.base import Choice, Target, check_target


@dataclass(frozen=True)
class Random:
    """Choose uniformly among the open items or pairs.

    Parameters
    ----------
    target : "items" or "pairs"

    Examples
    --------
    >>> from labelwise.posterior import IgnorantPosterior
    >>> nothing = sp.csr_array((5, 2), dtype=bool)
    >>> Random().choose(IgnorantPosterior(5, 2), nothing, 2, np.random.default_rng(0)).rows.size
    2
    """

    target: Target = "items"

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        check_target(self.target)
        if self.target == "items":
            rows = random_items(closed, n, rng)
            return Choice(rows, None, np.zeros(rows.size))
        rows, labels = random_pairs(closed, n, rng)
        return Choice(rows, labels, np.zeros(rows.size))
