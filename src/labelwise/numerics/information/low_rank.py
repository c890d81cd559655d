"""The engine on F Fᵀ + diag(noise), never held in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.information import _kernels as kernels
from labelwise.numerics.information.state import InformationState, Selection, positive
from labelwise.numerics.information.weights import Factor, WeightBeliefs, arrays, double_blocks, gram

LARGEST_RATIO = 1e12  # of variance to noise: the relative error of a gain may reach a ten-thousandth there
MOVES_WORTH_A_PRODUCT = 4  # fewer are faster row by row, without a copy in double precision
SWEEP_ROW = 250.0  # what a sweep costs for each row besides reading it, in visits to an entry of the factor
SWEEP_MOVE = 0.4  # what an entry and a move cost in a matrix product, against one by one
LOOKS_TOGETHER = 128  # rows that nothing is known of but bounds are looked at so many at a time
UNSEEN = -2  # in place of a winner: the best row has missed more moves than are kept
NO_MOVE = -(2**40)  # for `seen`: the residuals are upper bounds and account for no move in particular
Lazy = bool | Literal["auto"]


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
    selection : given, criterion, costs and eligible, see `Selection`
    lazy : True refreshes rows one by one where needed, False all rows before every pick. "auto" begins like True and
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

    def __init__(self, matrix: LowRank, *, lazy: Lazy = "auto", **selection: Unpack[Selection]) -> None:
        F = _checked_factor(matrix.factor)
        n = F.shape[0]
        super().__init__(n, **selection)
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
        is_mi = self.criterion == "mi" and not by_entropy
        return by_entropy, is_mi or not self._of_precision, is_mi or self._of_precision

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


# -- rows that are brought up to date only when they might win --------------------------------------------------------


class MoveLog:
    """Weight beliefs and the moves that led to them, the last r of which are kept.

    Attributes
    ----------
    beliefs : `WeightBeliefs` after the last move
    steps : (r, 2, r) what move t took from the residuals, at t mod r
    count : number of moves
    """

    def __init__(self, beliefs: WeightBeliefs) -> None:
        r = beliefs.covariances.shape[1]
        self.beliefs = beliefs
        self.steps = np.zeros((max(1, r), 2, r))
        self.count = 0

    def move(self, row: FloatArray, noise: float) -> None:
        """Move one row from the rest to the chosen."""
        self.steps[self.count % len(self.steps)] = self.beliefs.move(row, noise)
        self.count += 1

    def since(self, first: int) -> FloatArray:
        """(m, 2, r) the steps of the moves from `first` on, at most the last r."""
        return self.steps[np.arange(max(first, self.count - len(self.steps)), self.count) % len(self.steps)]

    def arrays(self) -> kernels.Moves:
        return self.beliefs.covariances, self.steps, self.count


class LazyRows:
    """Rows with what is left of them, in a tournament whose winner is refreshed until it is up to date.

    Parameters
    ----------
    factor : (n, r), kept by reference
    rows : (n,) records of type ROW, changed in place
    is_open : (n,) mask of the rows that may win
    log : the moves, which the owner makes
    rule : what a score is, see `_kernels`
    lazy : True refreshes one by one where needed, False all before every winner. "auto" begins like True and sweeps
        over all rows, several moves in one matrix product, each time the former has cost as much as a sweep
    """

    def __init__(
        self,
        factor: Factor,
        rows: npt.NDArray[np.void],
        is_open: npt.NDArray[np.bool_],
        log: MoveLog,
        rule: kernels.Rule,
        lazy: Lazy = "auto",
    ) -> None:
        self.factor, self.rows = factor, rows
        self._arrays, self._log, self._rule, self._lazy = arrays(factor), log, rule, lazy
        self.n_swept, self._work = int(rows["seen"].min(initial=log.count)), 0.0
        self._tournament = kernels.start_tournament(len(rows))
        self._tournament[0][: len(rows)][is_open] = 0.0
        kernels.score_open(rows, self._tournament, rule)

    def winner(self) -> int:
        """The first open row within a tie of the best score."""
        if self._lazy is False:
            self.sweep()
        winner = UNSEEN
        while winner == UNSEEN:
            budget = self._budget()
            winner, left = self._lazy_winner(budget)
            self._work += budget - left
            if winner == UNSEEN:
                self._look_at_best()
        if winner < 0:
            self.sweep()
            winner, _ = self._lazy_winner(0.0)
        return winner

    def best(self) -> float:
        """The best score; that of a row up to date once a `winner` was found."""
        return float(self._tournament[0][-1])

    def scores(self) -> FloatArray:
        """(n,) upper bounds of the scores, −inf where closed."""
        return self._tournament[0][: len(self.rows)]

    def close(self, index: int) -> None:
        kernels.set_score(*self._tournament, index, -np.inf)

    def score_by(self, rule: kernels.Rule) -> None:
        """Score by another rule from now on; what is stale stays an upper bound."""
        self._rule = rule
        kernels.score_open(self.rows, self._tournament, rule)

    def sweep(self) -> None:
        """Bring all rows up to date in one pass over the factor; several moves at a time are matrix products."""
        rows, log, missed = self.rows, self._log, self._log.count - self.n_swept
        if sp.issparse(self.factor) or missed < MOVES_WORTH_A_PRODUCT:
            kernels.refresh_open(self._arrays, rows, self._tournament, log.arrays())
        elif missed <= len(log.steps):
            steps = log.since(self.n_swept).reshape(2 * missed, -1)  # (2m, r)
            for part, block in double_blocks(self.factor):
                kernels.apply_dots(rows, part.start, block @ steps.T, log.count)
        else:
            kernels.apply_residuals(rows, *log.beliefs.residuals(self.factor, rows["noise"]), log.count)
        kernels.score_open(rows, self._tournament, self._rule)
        self.n_swept, self._work = log.count, 0.0

    def _look_at_best(self) -> None:
        """Bring the best of the rows that have missed more moves than are kept up to date, in one matrix product."""
        rows, log, scores = self.rows, self._log, self.scores()
        unseen = np.flatnonzero((rows["seen"] < log.count - len(log.steps)) & (scores > -np.inf))
        if unseen.size > LOOKS_TOGETHER:
            unseen = unseen[np.argpartition(-scores[unseen], LOOKS_TOGETHER)[:LOOKS_TOGETHER]]
        part = rows[unseen]
        kernels.apply_residuals(part, *log.beliefs.residuals(self.factor[unseen], part["noise"]), log.count)
        rows[unseen] = part
        kernels.rescore(rows, unseen, self._tournament, self._rule)
        r = self.factor.shape[1]
        self._work += unseen.size * (SWEEP_ROW + SWEEP_MOVE * r * r)

    def _lazy_winner(self, budget: float) -> tuple[int, float]:
        found: tuple[int, float] = kernels.lazy_winner(
            self._arrays, self.rows, self._tournament, self._log.arrays(), self._rule, budget
        )
        return found

    def _budget(self) -> float:
        """Refresh rows one by one for as long as it has cost less, since the last sweep, than another sweep would."""
        if self._lazy is True:
            return np.inf
        n, r = self.factor.shape
        sweep = n * (SWEEP_ROW + r * (1.0 + SWEEP_MOVE * min(self._log.count - self.n_swept, r)))
        return max(0.0, sweep - self._work)


def dense_row(factor: Factor, index: int) -> FloatArray:
    """One row in double precision."""
    row: Any = factor[[index]]
    return np.asarray(row if isinstance(row, np.ndarray) else row.toarray(), dtype=np.float64)[0]
