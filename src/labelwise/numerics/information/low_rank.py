"""The engine on F Fᵀ + diag(noise), never held in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.information import _kernels as kernels
from labelwise.numerics.information.lazy_rows import Lazy, LazyRows, MoveLog, dense_row
from labelwise.numerics.information.state import Criterion, InformationState, positive
from labelwise.numerics.information.weights import Factor, WeightBeliefs, gram

LARGEST_RATIO = 1e12  # of variance to noise: the relative error of a gain may reach a ten-thousandth there


@dataclass(frozen=True, eq=False)
class LowRank:
    """A covariance, or a precision, F Fᵀ + diag(noise).

    Parameters
    ----------
    factor : (n, r) dense or sparse. Single precision is kept as it is (half the memory) and computed with in double.
    noise : positive, one number or (n,)
    of : what the matrix is. "precision" is for the labels of one item, whose precision diag(α) + ΦᵀΦ/v is
        `LowRank(Phi.T / np.sqrt(v), alpha, of="precision")`

    Examples
    --------
    >>> from labelwise.numerics.information import greedy_information
    >>> greedy_information(LowRank(np.array([[1.0], [1.0], [3.0], [0.0]]), noise=0.1), 2).indices
    array([2, 0])
    """

    factor: npt.ArrayLike | sp.sparray | sp.spmatrix
    noise: float | npt.ArrayLike
    of: Literal["covariance", "precision"] = "covariance"


class LowRankInformation(InformationState):
    """Greedy selection on F Fᵀ + diag(noise): two matrices of order r, (4) and (5) of docs/mathematics/information.md.

    Memory beyond the factor, which is kept by reference if its rows are contiguous: O(n + r²), whatever the number of
    picks. Scores once computed are upper bounds later, so only rows that might win need refreshing; a refresh costs r
    for each pick missed, of which r at most are counted. All ways are exact.

    Parameters
    ----------
    matrix : the covariance or precision
    given, criterion, costs, eligible : as in `DenseInformation`
    lazy : True refreshes rows one by one where needed, False all rows before every pick; "auto" begins like True and
        sweeps over all rows, several picks in one matrix product, each time the former has cost as much as a sweep

    Attributes
    ----------
    beliefs : `WeightBeliefs` after the last pick

    Examples
    --------
    >>> matrix = LowRank(np.random.default_rng(0).standard_normal((1000, 5)), noise=0.1)
    >>> state = LowRankInformation(matrix)
    >>> state.pick(2).indices, state.pick(2).indices
    (array([550, 630]), array([ 47, 361]))
    >>> LowRankInformation(matrix).pick(4).indices
    array([550, 630,  47, 361])
    """

    def __init__(
        self,
        matrix: LowRank,
        *,
        given: npt.ArrayLike | None = None,
        criterion: Criterion = "mi",
        costs: npt.ArrayLike | None = None,
        eligible: npt.ArrayLike | None = None,
        lazy: Lazy = "auto",
    ) -> None:
        F = _checked_factor(matrix.factor)
        n = F.shape[0]
        super().__init__(n, given=given, criterion=criterion, costs=costs, eligible=eligible)
        noise = positive(matrix.noise, n, "noise", "a variable without noise of its own makes the matrix singular")
        if matrix.of not in ("covariance", "precision"):
            raise ValueError(f'of must be "covariance" or "precision", got {matrix.of!r}')
        if lazy != "auto" and not isinstance(lazy, bool):
            raise ValueError(f'lazy must be True, False or "auto", got {lazy!r}')
        self._of_precision = matrix.of == "precision"
        self._factor = F
        self._log = MoveLog(self._start_beliefs(noise))
        rows, is_open = self._start_rows(noise), self._open
        self._lazy_rows = LazyRows(F, rows, is_open, self._log, self._rule(self.by_entropy), lazy)

    @property
    def beliefs(self) -> WeightBeliefs:
        return self._log.beliefs

    def gains(self) -> FloatArray:
        self._lazy_rows.sweep()
        gains = 0.5 * np.log(self._amount(self._lazy_rows.rows))
        gains[~self._open] = -np.inf
        return gains

    def _winner(self) -> int:
        return self._lazy_rows.winner()

    def _gain(self, index: int) -> float:
        return float(0.5 * np.log(self._amount(self._lazy_rows.rows[index])))

    def _amount(self, rows: Any) -> Any:
        """exp(2 gain): the residuals that count in the criterion asked for, and what stays."""
        _, residual_counts, inverse_counts = self._rule(self.criterion == "entropy")
        residual = rows["residual"] if residual_counts else 1.0
        return residual * (rows["inverse_residual"] if inverse_counts else 1.0) * rows["fixed"]

    def _eliminate(self, index: int) -> None:
        self._log.move(dense_row(self._factor, index), float(self._lazy_rows.rows["noise"][index]))
        self._lazy_rows.close(index)

    def _reserve(self, n: int) -> None:
        """Nothing grows with the number of picks."""

    def _start_entropy(self) -> None:
        super()._start_entropy()
        self._lazy_rows.score_by(self._rule(True))

    def _rule(self, by_entropy: bool) -> kernels.Rule:
        """Both residuals count in "mi", else only the one that holds the variances."""
        both = self.criterion == "mi" and not by_entropy
        return by_entropy, both or not self._of_precision, both or self._of_precision

    def _start_beliefs(self, noise: FloatArray) -> WeightBeliefs:
        F, given = self._factor, np.flatnonzero(self._given)
        grams = gram(F[given], 1.0 / noise[given]), gram(F, ~self._given / noise)
        if not np.isfinite(grams).all():
            raise ValueError("factor must be finite, got NaN or infinity: look at the features it was made from")
        return WeightBeliefs(*grams)

    def _start_rows(self, noise: FloatArray) -> npt.NDArray[np.void]:
        rows = np.zeros(len(noise), dtype=kernels.ROW)
        rows["noise"], rows["cost"] = noise, self._costs
        residual, inverse_residual = self.beliefs.residuals(self._factor, noise)
        check_noise(noise, residual)
        rows["residual"] = np.maximum(residual, noise)
        rows["inverse_residual"] = np.maximum(inverse_residual, kernels.EPS / noise)
        rows["fixed"] = 1.0
        if self.criterion == "mi_fixed_rest":
            rows["fixed"] = rows["residual" if self._of_precision else "inverse_residual"]
        return rows


def check_noise(noise: FloatArray, variance: FloatArray) -> None:
    """ValueError where a variable has next to no noise of its own."""
    if np.any(variance > LARGEST_RATIO * noise):
        worst = int(np.argmax(variance / noise))
        raise ValueError(
            f"noise must be at least {1 / LARGEST_RATIO:g} of the variance, got {noise[worst]:.3g} with a variance "
            f"of {variance[worst]:.3g}: raise it, or double precision cannot tell a row from those like it"
        )


def _checked_factor(factor: Any) -> Factor:
    F = sp.csr_array(factor) if sp.issparse(factor) else np.ascontiguousarray(factor)
    if F.ndim != 2:
        raise ValueError(f"factor must have shape (n, r), got {F.shape}")
    return F if F.dtype in (np.float32, np.float64) else F.astype(np.float64)
