"""What the dense and the low-rank engine share: the criterion, costs, ties, and the greedy walk itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.information._kernels import TIE

Criterion = Literal["mi", "entropy", "mi_fixed_rest"]
IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Picks:
    """What a greedy selection took, in order.

    Parameters
    ----------
    indices : (t,) positions in the covariance
    gains : (t,) what each added to the criterion, in nats, not divided by its cost. For "mi" they sum to the mutual
        information of the picks with the rest, for "entropy" to ½ log det of their covariance.
    costs : (t,) cost of each; ones where none were given
    n_by_criterion : the first so many were picked by the criterion asked for. The others, if any, came after no
        positive gain was left and were picked by entropy; their gains are still those of the criterion.

    Examples
    --------
    >>> from labelwise.numerics.information import greedy_information
    >>> picks = greedy_information(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 5.0]]), 3)
    >>> picks.indices, picks.n_by_criterion, picks.gains.round(3)
    (array([0, 2, 1]), 1, array([ 0.144,  0.   , -0.144]))
    """

    indices: IndexArray
    gains: FloatArray
    costs: FloatArray
    n_by_criterion: int

    @property
    def gains_per_cost(self) -> FloatArray:
        return self.gains / self.costs


class Selection(TypedDict, total=False):
    """What may be said of a selection, besides the covariance and how many to pick."""

    given: npt.ArrayLike | None  # indices conditioned on from the start, say the labelled items
    criterion: Criterion  # "mi", "entropy" (variance only), or "mi_fixed_rest" (the rest stays what it was)
    costs: npt.ArrayLike | None  # (n,) positive, or one number
    eligible: npt.ArrayLike | None  # (n,) mask of what may be picked; what may not still belongs to the rest


class InformationState(ABC):
    """A selection under way: `pick` now, `pick` later, and the result is that of picking all at once.

    Eliminating a variable moves it from the rest to the chosen. Subclasses keep, for every variable, its variance
    given the chosen and its precision given the others of the rest; the gain is ½ log(variance × precision).

    Attributes
    ----------
    by_entropy : whether the next pick goes by entropy: asked for, or because no positive gain was left
    fell_back : whether it does so because no positive gain was left
    """

    def __init__(
        self,
        n_variables: int,
        *,
        given: npt.ArrayLike | None = None,
        criterion: Criterion = "mi",
        costs: npt.ArrayLike | None = None,
        eligible: npt.ArrayLike | None = None,
    ) -> None:
        if criterion not in get_args(Criterion):
            raise ValueError(f"criterion must be one of {get_args(Criterion)}, got {criterion!r}")
        self.criterion = criterion
        self.by_entropy = criterion == "entropy"
        self._given = _given_mask(given, n_variables)
        self._costs = _checked_costs(costs, n_variables)
        self._open = _eligible_mask(eligible, n_variables) & ~self._given

    @property
    def fell_back(self) -> bool:
        return self.by_entropy and self.criterion != "entropy"

    @abstractmethod
    def gains(self) -> FloatArray:
        """(n,) what each open variable would add now, in nats; −inf for the given, the picked and the ineligible."""

    @abstractmethod
    def _winner(self) -> int:
        """The open variable with the highest score, the first of those that tie."""

    @abstractmethod
    def _gain(self, index: int) -> float:
        """What `index`, a winner, would add now."""

    @abstractmethod
    def _eliminate(self, index: int) -> None:
        """Move `index` from the rest to the chosen; it is closed already."""

    @abstractmethod
    def _reserve(self, n: int) -> None:
        """Make ready for n more picks."""

    def _start_entropy(self) -> None:
        """Score by entropy from now on."""
        self.by_entropy = True

    def take(self, index: int) -> None:
        """Condition on `index` from now on, as if it had been picked."""
        if not 0 <= index < len(self._open) or not self._open[index]:
            raise ValueError(f"{index} is outside the covariance, given, picked or not eligible: take an open variable")
        self._reserve(1)
        self._close(index)

    def pick(self, n: int, *, stop_when_not_positive: bool = False) -> Picks:
        """The next n variables, one after the other by gain per cost; all that are open where they are fewer.

        Mutual information is not monotone: past about half of a pool every gain is negative. From there on the picks
        go by entropy, or end when `stop_when_not_positive`.
        """
        if n < 0:
            raise ValueError(f"n must be 0 or more, got {n}")
        n = min(n, int(np.count_nonzero(self._open)))
        self._reserve(n)
        indices, gains, n_by_criterion = np.empty(n, dtype=np.intp), np.empty(n), 0
        for step in range(n):
            winner = self._next()
            if self.fell_back and stop_when_not_positive:
                indices, gains = indices[:step], gains[:step]
                break
            indices[step], gains[step] = winner, self._gain(winner)
            n_by_criterion += not self.fell_back
            self._close(winner)
        return Picks(indices, gains, self._costs[indices], n_by_criterion)

    def _next(self) -> int:
        winner = self._winner()
        if not self.by_entropy and self._gain(winner) <= TIE:  # gains only fall, so none will be positive again
            self._start_entropy()
            winner = self._winner()
        return winner

    def _close(self, index: int) -> None:
        self._open[index] = False
        self._eliminate(index)


def _given_mask(given: npt.ArrayLike | None, n: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(n, dtype=bool)
    if given is None or np.size(given) == 0:
        return mask
    indices = np.asarray(given)
    if not np.issubdtype(indices.dtype, np.integer):
        raise ValueError(f"given must hold indices, got {indices.dtype}; use np.flatnonzero on a mask")
    if indices.min() < 0 or indices.max() >= n:
        raise ValueError(f"given must lie in 0..{n - 1}, got {indices.min()}..{indices.max()}")
    mask[indices] = True
    return mask


def _eligible_mask(eligible: npt.ArrayLike | None, n: int) -> npt.NDArray[np.bool_]:
    if eligible is None:
        return np.ones(n, dtype=bool)
    mask = np.asarray(eligible)
    if mask.dtype != bool or mask.shape != (n,):
        raise ValueError(f"eligible must be a mask of shape ({n},), got {mask.dtype} of shape {mask.shape}")
    return mask


def _checked_costs(costs: npt.ArrayLike | None, n: int) -> FloatArray:
    if costs is None:
        return np.ones(n)
    return positive(costs, n, "costs", "every question must cost something")


def positive(values: npt.ArrayLike, n: int, name: str, cure: str) -> FloatArray:
    """`values` as (n,) float64, a number repeated; ValueError unless all are positive and finite."""
    array: npt.NDArray[Any] = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), (n,)):
        raise ValueError(f"{name} must be a number or have shape ({n},), got shape {array.shape}")
    bad = ~((array > 0) & (array < np.inf))  # NaN compares false
    if bad.any():
        raise ValueError(f"{name} must be positive and finite, got {array[bad].flat[0]}: {cure}")
    return np.full(n, array) if array.ndim == 0 else np.ascontiguousarray(array)
