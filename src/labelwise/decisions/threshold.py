"""Keep the labels whose probability is high enough."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from labelwise.posterior import LabelPosterior


@dataclass(frozen=True, eq=False)
class Threshold:
    """Keep every label whose probability exceeds `value`: one number, or one per label.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.3, 0.6]]))
    >>> Threshold().decide(beliefs)
    array([[ True, False,  True]])
    >>> Threshold([0.95, 0.25, 0.5]).decide(beliefs)
    array([[False,  True,  True]])
    """

    value: float | npt.ArrayLike = 0.5

    def __post_init__(self) -> None:
        value = np.asarray(self.value, dtype=float)
        if not np.all((value >= 0) & (value <= 1)):
            raise ValueError(f"a threshold of probabilities lies between 0 and 1, got {self.value!r}")

    def decide(self, posterior: LabelPosterior) -> npt.NDArray[np.bool_]:
        value = np.asarray(self.value, dtype=float)
        if value.ndim and value.shape != (posterior.n_labels,):
            raise ValueError(f"value has shape {value.shape}, expected one number or ({posterior.n_labels},)")
        return posterior.probabilities() > value
