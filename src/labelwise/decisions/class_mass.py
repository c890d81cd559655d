"""Give each label to as many items as its share says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelwise.decisions.base import ScoredSets, label_groups, score_groups
from labelwise.numerics.arrays import BoolArray
from labelwise.numerics.user_input import dense_labels
from labelwise.posterior import LabelPosterior


@dataclass(frozen=True, eq=False)
class ClassMass:
    """Give each label to its most probable items; the number of items is its share of all items, rounded.

    Only the order of a label's probabilities matters, so badly scaled probabilities do no harm. The shares decide
    everything else: take them from items drawn at random. Answers to a strategy's questions are no random sample,
    because it asks about items that may have a label. In a campaign use only the answers with reason "control". A label
    without a positive among them is never predicted.

    Parameters
    ----------
    shares : float or (q,) array
        Share of items that have the label, between 0 and 1.

    Notes
    -----
    Equal probabilities are taken in the order of the items. In batches of more than 4 million (item, label) entries
    probabilities within 2 % of each other's odds count as equal.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.10, 0.9], [0.03, 0.8], [0.02, 0.7], [0.01, 0.6]]))
    >>> ClassMass([0.5, 0.25]).decide(beliefs)
    array([[ True,  True],
           [ True, False],
           [False, False],
           [False, False]])

    References
    ----------
    Zhang, Graepel & Herbrich, AISTATS 2010, section 5.2.
    """

    shares: npt.ArrayLike

    @classmethod
    def from_labels(cls, Y: Any, observed: Any = None) -> Self:
        """Shares of yes among the known labels of items drawn at random; 0 for a label that is never known.

        Y is (n, q) of 0 and 1, with NaN for unknown if it is dense; `observed` is the mask of known entries.
        """
        present, known = dense_labels(Y, observed)
        return cls(present.sum(0) / np.maximum(known.sum(0), 1))

    def decide(self, posterior: LabelPosterior) -> BoolArray:
        return label_groups(posterior).largest(self._sizes(posterior))

    def decide_scored(self, posterior: LabelPosterior) -> ScoredSets:
        """The sets, and the F1 that the beliefs expect of each label."""
        groups = label_groups(posterior)
        sets = groups.largest(self._sizes(posterior))
        return ScoredSets(sets, score_groups(groups, sets, beta=1.0, empty=0.0), "macro")

    def _sizes(self, posterior: LabelPosterior) -> npt.NDArray[np.int64]:
        shares = np.asarray(self.shares, dtype=float)
        if shares.ndim and shares.shape != (posterior.n_labels,):
            raise ValueError(f"shares has shape {shares.shape}, expected one number or ({posterior.n_labels},)")
        if not np.all((shares >= 0) & (shares <= 1)):
            raise ValueError(f"shares of items must lie between 0 and 1, got {self.shares!r}")
        sizes = np.rint(posterior.n_items * shares).astype(np.int64)
        return np.broadcast_to(sizes, (posterior.n_labels,))
