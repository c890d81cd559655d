"""Rows of a factor that are brought up to date only when they might win: the inner half of the low-rank engines."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.information import _kernels as kernels
from labelwise.numerics.information.weights import Factor, WeightBeliefs, arrays, double_blocks

MOVES_WORTH_A_PRODUCT = 4  # fewer are faster row by row, without a copy in double precision
SWEEP_ROW = 250.0  # what a sweep costs for each row besides reading it, in visits to an entry of the factor
SWEEP_MOVE = 0.4  # what an entry and a move cost in a matrix product, against one by one
LOOKS_TOGETHER = 128  # rows that nothing is known of but bounds are looked at so many at a time
UNSEEN = -2  # in place of a winner: the best row has missed more moves than are kept
NO_MOVE = -(2**40)  # for `seen`: the residuals are upper bounds and account for no move in particular

Lazy = bool | Literal["auto"]


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
    lazy : True refreshes one by one where needed, False all before every winner; "auto" begins like True and sweeps
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
