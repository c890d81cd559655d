"""The engine on F Fᵀ + diag(noise), never held in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.information import _kernels as kernels
from labelwise.numerics.information.state import Criterion, FloatArray, InformationState, positive
from labelwise.numerics.information.weights import Factor, WeightBeliefs, arrays, double_blocks, gram

LARGEST_RATIO = 1e12  # of variance to noise: the relative error of a gain may reach a ten-thousandth there
MOVES_WORTH_A_PRODUCT = 4  # fewer are faster row by row, without a copy in double precision
SWEEP_ROW = 250.0  # what a sweep costs for each row besides reading it, in visits to an entry of the factor
SWEEP_MOVE = 0.4  # what an entry and a move cost in a matrix product, against one by one


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
        lazy: bool | Literal["auto"] = "auto",
    ) -> None:
        F = _checked_factor(matrix.factor)
        n, r = F.shape
        super().__init__(n, given=given, criterion=criterion, costs=costs, eligible=eligible)
        noise = positive(matrix.noise, n, "noise", "a variable without noise of its own makes the matrix singular")
        if matrix.of not in ("covariance", "precision"):
            raise ValueError(f'of must be "covariance" or "precision", got {matrix.of!r}')
        if lazy != "auto" and not isinstance(lazy, bool):
            raise ValueError(f'lazy must be True, False or "auto", got {lazy!r}')
        self._of_precision, self._lazy = matrix.of == "precision", lazy
        self._factor = F
        self._arrays = arrays(F)
        self.beliefs = self._start_beliefs(noise)
        self._rows = self._start_rows(noise)
        self._steps = np.zeros((max(1, r), 2, r))
        self._n_moves, self._n_swept, self._work = 0, 0, 0.0
        self._tournament = self._start_tournament()

    def gains(self) -> FloatArray:
        self._sweep()
        gains = 0.5 * np.log(self._amount(self._rows))
        gains[~self._open] = -np.inf
        return gains

    def _winner(self) -> int:
        if self._lazy is False:
            self._sweep()
        budget = self._budget()
        winner, left = self._lazy_winner(budget)
        self._work += budget - left
        if winner < 0:
            self._sweep()
            winner, _ = self._lazy_winner(0.0)
        return winner

    def _lazy_winner(self, budget: float) -> tuple[int, float]:
        return kernels.lazy_winner(
            self._arrays, self._rows, self._tournament, self._moves(), self._rule(self.by_entropy), budget
        )

    def _budget(self) -> float:
        """Refresh rows one by one for as long as it has cost less, since the last sweep, than another sweep would."""
        if self._lazy is True:
            return np.inf
        n, r = self._factor.shape
        sweep = n * (SWEEP_ROW + r * (1.0 + SWEEP_MOVE * min(self._n_moves - self._n_swept, r)))
        return max(0.0, sweep - self._work)

    def _sweep(self) -> None:
        """Bring all rows up to date in one pass over the factor; several moves at a time are matrix products."""
        rows, rule = self._rows, self._rule(self.by_entropy)
        missed = np.arange(self._n_swept, self._n_moves)
        if sp.issparse(self._factor) or len(missed) < MOVES_WORTH_A_PRODUCT:
            kernels.refresh_open(self._arrays, rows, self._tournament, self._moves())
        elif len(missed) <= len(self._steps):
            steps = self._steps[missed % len(self._steps)].reshape(2 * len(missed), -1)  # (2m, r)
            for part, block in double_blocks(self._factor):
                kernels.apply_dots(rows, part.start, block @ steps.T, self._n_moves)
        else:
            residuals = self.beliefs.residuals(self._factor, rows["noise"])
            kernels.apply_residuals(rows, *residuals, self._n_moves)
        kernels.score_open(rows, self._tournament, rule)
        self._n_swept, self._work = self._n_moves, 0.0

    def _gain(self, index: int) -> float:
        return float(0.5 * np.log(self._amount(self._rows[index])))

    def _amount(self, rows: Any) -> Any:
        """exp(2 gain): the residuals that count in the criterion asked for, and what stays."""
        _, residual_counts, inverse_counts = self._rule(self.criterion == "entropy")
        residual = rows["residual"] if residual_counts else 1.0
        return residual * (rows["inverse_residual"] if inverse_counts else 1.0) * rows["fixed"]

    def _eliminate(self, index: int) -> None:
        row = self._factor[[index]]
        dense = row if isinstance(row, np.ndarray) else row.toarray()
        step = self.beliefs.move(dense[0].astype(np.float64), float(self._rows["noise"][index]))
        self._steps[self._n_moves % len(self._steps)] = step
        self._n_moves += 1
        kernels.set_score(*self._tournament, index, -np.inf)

    def _reserve(self, n: int) -> None:
        """Nothing grows with the number of picks."""

    def _start_entropy(self) -> None:
        super()._start_entropy()
        kernels.score_open(self._rows, self._tournament, self._rule(True))  # stale variances are upper bounds too

    def _moves(self) -> kernels.Moves:
        return self.beliefs.covariances, self._steps, self._n_moves

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
        if np.any(residual > LARGEST_RATIO * noise):
            worst = int(np.argmax(residual / noise))
            raise ValueError(
                f"noise must be at least {1 / LARGEST_RATIO:g} of the variance, got {noise[worst]:.3g} with a variance "
                f"of {residual[worst]:.3g}: raise it, or double precision cannot tell a row from those like it"
            )
        rows["residual"] = np.maximum(residual, noise)
        rows["inverse_residual"] = np.maximum(inverse_residual, kernels.EPS / noise)
        rows["fixed"] = 1.0
        if self.criterion == "mi_fixed_rest":
            rows["fixed"] = rows["residual" if self._of_precision else "inverse_residual"]
        return rows

    def _start_tournament(self) -> kernels.Tournament:
        tournament = scores, _ = kernels.start_tournament(len(self._open))
        scores[: len(self._open)][self._open] = 0.0
        kernels.score_open(self._rows, tournament, self._rule(self.by_entropy))
        return tournament


def _checked_factor(factor: Any) -> Factor:
    F = sp.csr_array(factor) if sp.issparse(factor) else np.ascontiguousarray(factor)
    if F.ndim != 2:
        raise ValueError(f"factor must have shape (n, r), got {F.shape}")
    return F if F.dtype in (np.float32, np.float64) else F.astype(np.float64)
