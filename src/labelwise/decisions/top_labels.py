"""Keep the most probable labels of each item, a fixed or an inferred number of them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Literal

import numpy as np
import numpy.typing as npt

from labelwise.posterior import LabelPosterior


@dataclass(frozen=True)
class TopLabels:
    """Keep the `count` most probable labels of each item.

    Parameters
    ----------
    count : int, "average" or "expected"
        An int is the same number for all items. "average" is the expected number of labels per item of the batch,
        rounded and at least one. "expected" is each item's own expected number, rounded, which may be 0. That number is
        the sum of the item's probabilities, unless the model estimates it better, as `OrthogonalTargetGP` does.
    by : "probability" or "ranking"
        Order of the labels: their probabilities, or the model's own ranking, such as that of its decoder.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.8, 0.4], [0.2, 0.1, 0.1]]))
    >>> TopLabels(1).decide(beliefs)
    array([[ True, False, False],
           [ True, False, False]])
    >>> TopLabels("expected").decide(beliefs)
    array([[ True,  True, False],
           [False, False, False]])
    """

    count: int | Literal["average", "expected"] = "average"
    by: Literal["probability", "ranking"] = "probability"

    def __post_init__(self) -> None:
        if self.count in ("average", "expected"):
            return
        if not isinstance(self.count, Integral) or self.count < 1:
            raise ValueError(f'count must be a whole number from 1 on, "average" or "expected", got {self.count!r}')

    def decide(self, posterior: LabelPosterior) -> npt.NDArray[np.bool_]:
        if self.by not in ("probability", "ranking"):
            raise ValueError(f'by must be "probability" or "ranking", got {self.by!r}')
        p = posterior.probabilities() if self.by == "probability" else posterior.ranking()  # (n, q)
        falling = np.argsort(-p, axis=1, kind="stable")
        rank = np.empty_like(falling)
        np.put_along_axis(rank, falling, np.broadcast_to(np.arange(p.shape[1]), p.shape), axis=1)
        return rank < self._counts(posterior)[:, None]

    def _counts(self, posterior: LabelPosterior) -> npt.NDArray[np.integer]:
        n = posterior.n_items
        if self.count == "expected":
            return np.rint(posterior.label_counts()).astype(int)
        if self.count == "average":
            return np.full(n, max(1, round(float(posterior.label_counts().mean())) if n else 1))
        return np.full(n, self.count)
