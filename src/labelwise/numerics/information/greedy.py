"""One call for every greedy selection by mutual information."""

from __future__ import annotations

import numpy.typing as npt

from labelwise.numerics.information.dense import DenseInformation
from labelwise.numerics.information.low_rank import LowRank, LowRankInformation
from labelwise.numerics.information.state import Criterion, InformationState, Picks
from labelwise.numerics.information.streamed import LowRankBlocks, StreamedInformation


def greedy_information(
    covariance: npt.ArrayLike | LowRank | LowRankBlocks,
    n: int,
    *,
    given: npt.ArrayLike | None = None,
    criterion: Criterion = "mi",
    costs: npt.ArrayLike | None = None,
    eligible: npt.ArrayLike | None = None,
    stop_when_not_positive: bool = False,
) -> Picks:
    """The n variables that, taken one after the other, tell most about those not taken.

    The gain of x is ½ log[var(x | chosen) / var(x | all others not chosen)], Krause, Singh & Guestrin, JMLR 2008; the
    variable with the highest gain per cost is taken, the first of those within a relative 1e-10.

    Parameters
    ----------
    covariance : (n, n) array, or `LowRank`, which is never formed, or `LowRankBlocks`, whose factor is not held either
    n : how many; all that are open where they are fewer
    given : indices conditioned on from the start, say the labelled items
    criterion : "mi"; "entropy", the numerator alone: the most uncertain given what was chosen; "mi_fixed_rest", where
        the denominator stays what it was at the start: var(x | all others not given)
    costs : (n,) positive, or one number. "entropy" takes the highest variance per cost
    eligible : (n,) mask of what may be picked; what may not still belongs to the rest
    stop_when_not_positive : end when no gain is positive, instead of going on by entropy

    Examples
    --------
    On a line of nine points entropy begins at an end, mutual information in the middle, where there is more to tell of:

    >>> import numpy as np
    >>> x = np.arange(9.0)
    >>> covariance = np.exp(-0.5 * np.subtract.outer(x, x) ** 2) + 0.01 * np.eye(9)
    >>> greedy_information(covariance, 3).indices, greedy_information(covariance, 3, criterion="entropy").indices
    (array([4, 1, 7]), array([0, 5, 8]))
    """
    state: InformationState
    if isinstance(covariance, LowRank):
        state = LowRankInformation(covariance, given=given, criterion=criterion, costs=costs, eligible=eligible)
    elif isinstance(covariance, LowRankBlocks):
        state = StreamedInformation(covariance, given=given, criterion=criterion, costs=costs, eligible=eligible)
    else:
        state = DenseInformation(covariance, given=given, criterion=criterion, costs=costs, eligible=eligible)
    return state.pick(n, stop_when_not_positive=stop_when_not_positive)
