"""Compiled inner loops of the low-rank engine: float64 arithmetic on rows kept in the precision they came in.

All compiled code is in this one file because numba's cache on disk watches only the file of the function itself.
Arguments that go together are plain tuples: a class of ours in a signature would tie that cache to the class.

==========  ==========================================================================================
factor      (n, r) array, or (data, indices, indptr) of compressed rows
rows        (n,) records of type ROW
tournament  scores of the rows, −inf where closed, and of the best of every FAN of them, of the best of
            every FAN of those, and so on: round after round, each padded with −inf, the best of all
            last; and where each round starts
moves       covariances (2, r, r): M and H after the last move; steps (r, 2, r): a/√c and b/√e, those
            of move t at t mod r; the number of moves
rule        by entropy? does the residual count? does the inverse residual count?
==========  ==========================================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.extending import overload

TIE = 1e-10  # scores this close are equal, and a gain this small is not positive: rounding must not choose
FAN = 16  # two cache lines; a million scores take five rounds
EPS = float(np.finfo(np.float64).eps)
TOURNAMENT = 2500.0  # what finding and replacing a row in the tournament costs, in visits to an entry of the factor
FAST = {"reassoc", "contract", "nsz"}  # sums may be vectorised; NaN and infinity keep their meaning


compiled = njit(cache=True, nogil=True, error_model="numpy")  # a division need not look for zero
Tournament = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]
Moves = tuple[Any, Any, int]
Rule = tuple[bool, bool, bool]
ROW = np.dtype(
    [
        ("noise", np.float64),
        ("cost", np.float64),
        ("residual", np.float64),  # diagonal left of F Fᵀ + noise when the chosen are eliminated
        ("inverse_residual", np.float64),  # the same of its inverse
        ("fixed", np.float64),  # factor of the gain that stays
        ("seen", np.int64),  # number of moves the residuals account for
    ]
)  # side by side: rows are visited in the order of their scores, and one visit should be one cache miss


def score(variance: Any, precision: Any, cost: Any, by_entropy: bool) -> Any:
    """What the greedy step maximises: gain per cost, or by entropy the log of variance per cost.

    Entropy is not divided by cost: ½ log variance changes sign with the unit of measurement, and a negative amount
    per cost prefers the dearest. Variance per cost has the same order where costs are equal and knows no unit.
    """
    if by_entropy:
        return 0.5 * np.log(variance / cost)
    return 0.5 * np.log(variance * precision) / cost


def tie_width(best: float, cost: float, by_entropy: bool) -> float:
    """Scores this close to the best tie with it: TIE relative, in the gain or in what it is the logarithm of."""
    return TIE if by_entropy else TIE * max(abs(best), 1.0 / cost)


compiled_score, compiled_tie_width = compiled(score), compiled(tie_width)


def row_size(factor: Any, i: int) -> int:
    """Stored entries of row i."""
    raise NotImplementedError  # compiled code only


def row_dots(factor: Any, i: int, steps: Any, at: int) -> tuple[float, float]:
    """f_i · a and f_i · b for the pair (a, b) = steps[at]."""
    raise NotImplementedError


def row_forms(factor: Any, i: int, covariances: Any) -> tuple[float, float]:
    """f_iᵀ M f_i and f_iᵀ H f_i for the symmetric M, H = covariances."""
    raise NotImplementedError


@overload(row_size)
def _row_size(factor: Any, i: Any) -> Any:
    def dense(factor: Any, i: Any) -> Any:
        return factor.shape[1]

    def sparse(factor: Any, i: Any) -> Any:
        _, _, indptr = factor
        return indptr[i + 1] - indptr[i]

    return dense if isinstance(factor, types.Array) else sparse


@overload(row_dots, jit_options={"fastmath": FAST})
def _row_dots(factor: Any, i: Any, steps: Any, at: Any) -> Any:
    def dense(factor: Any, i: Any, steps: Any, at: Any) -> Any:
        f_a, f_b = 0.0, 0.0
        for j in range(factor.shape[1]):
            f = np.float64(factor[i, j])
            f_a += f * steps[at, 0, j]
            f_b += f * steps[at, 1, j]
        return f_a, f_b

    def sparse(factor: Any, i: Any, steps: Any, at: Any) -> Any:
        data, indices, indptr = factor
        f_a, f_b = 0.0, 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            f, j = np.float64(data[entry]), indices[entry]
            f_a += f * steps[at, 0, j]
            f_b += f * steps[at, 1, j]
        return f_a, f_b

    return dense if isinstance(factor, types.Array) else sparse


@overload(row_forms, jit_options={"fastmath": FAST})
def _row_forms(factor: Any, i: Any, covariances: Any) -> Any:
    def dense(factor: Any, i: Any, covariances: Any) -> Any:
        f_M_f, f_H_f = 0.0, 0.0
        for j in range(factor.shape[1]):
            f, f_M, f_H = np.float64(factor[i, j]), 0.0, 0.0
            for k in range(j):
                g = np.float64(factor[i, k])
                f_M += g * covariances[0, j, k]
                f_H += g * covariances[1, j, k]
            f_M_f += f * (2.0 * f_M + f * covariances[0, j, j])
            f_H_f += f * (2.0 * f_H + f * covariances[1, j, j])
        return f_M_f, f_H_f

    def sparse(factor: Any, i: Any, covariances: Any) -> Any:
        data, indices, indptr = factor
        f_M_f, f_H_f = 0.0, 0.0
        for at in range(indptr[i], indptr[i + 1]):
            f, j, f_M, f_H = np.float64(data[at]), indices[at], 0.0, 0.0
            for other in range(indptr[i], at):
                g, k = np.float64(data[other]), indices[other]
                f_M += g * covariances[0, j, k]
                f_H += g * covariances[1, j, k]
            f_M_f += f * (2.0 * f_M + f * covariances[0, j, j])
            f_H_f += f * (2.0 * f_H + f * covariances[1, j, j])
        return f_M_f, f_H_f

    return dense if isinstance(factor, types.Array) else sparse


@compiled
def all_row_forms(factor: Any, covariances: Any, forms: Any) -> None:
    """`row_forms` of every row, into forms (2, n)."""
    for i in range(forms.shape[1]):
        forms[0, i], forms[1, i] = row_forms(factor, i, covariances)


@compiled
def add_sparse_gram(factor: Any, weights: Any, gram: Any) -> None:
    """gram += Σ_i weights_i f_i f_iᵀ for compressed rows."""
    data, indices, indptr = factor
    for i in range(len(weights)):
        for at in range(indptr[i], indptr[i + 1]):
            j, f = indices[at], weights[i] * np.float64(data[at])
            for other in range(indptr[i], indptr[i + 1]):
                gram[j, indices[other]] += f * np.float64(data[other])


@compiled
def add_outer(M: Any, a: Any, sign: float) -> None:
    """M += sign a aᵀ in place, exactly symmetric."""
    for j in range(len(a)):
        for k in range(len(a)):
            M[j, k] += sign * (a[j] * a[k])


def start_tournament(n: int) -> Tournament:
    """A tournament of n players, all out of it (−inf)."""
    starts = [0]
    groups = -(-n // FAN)
    total = groups * FAN
    while groups > 1:
        starts.append(total)
        groups = -(-groups // FAN)
        total += groups * FAN
    return np.full(total + 1, -np.inf), np.array(starts, dtype=np.int64)


@compiled
def replay(scores: Any, starts: Any) -> None:
    """Play every round again."""
    for level in range(len(starts)):
        stop = starts[level + 1] if level + 1 < len(starts) else len(scores) - 1
        for group in range((stop - starts[level]) // FAN):
            first = starts[level] + group * FAN
            scores[stop + group] = scores[first : first + FAN].max()


@compiled
def set_score(scores: Any, starts: Any, player: int, score: float) -> None:
    """Give one player a new score and replay its matches."""
    for level in range(len(starts)):
        scores[starts[level] + player] = score
        player //= FAN
        first = starts[level] + player * FAN
        score = scores[first]
        for at in range(first + 1, first + FAN):
            score = max(score, scores[at])
    scores[-1] = score


@compiled
def first_at_least(scores: Any, starts: Any, least: float) -> int:
    """The first player with a score of `least`, which the best of all must reach."""
    player = 0
    for level in range(len(starts) - 1, -1, -1):
        player *= FAN
        while scores[starts[level] + player] < least:
            player += 1
    return player


@compiled
def _score(row: Any, rule: Rule) -> float:
    by_entropy, residual_counts, inverse_counts = rule
    amount = (row.residual if residual_counts else 1.0) * (row.inverse_residual if inverse_counts else 1.0)
    return compiled_score(amount, row.fixed, row.cost, by_entropy)


@compiled
def _lower(row: Any, residual: float, inverse_residual: float, count: int) -> None:
    """Write down what is left after `count` moves, no more than before and no less than rounding allows."""
    row.residual = max(min(row.residual, residual), row.noise)
    row.inverse_residual = max(min(row.inverse_residual, inverse_residual), EPS / row.noise)
    row.seen = count


@compiled
def _refresh(factor: Any, i: int, rows: Any, covariances: Any, steps: Any, count: int) -> None:
    """Bring row i up to date by the moves it has missed (5), or from the covariances (4) where that is less work."""
    row = rows[i]
    if count - row.seen <= row_size(factor, i):
        fall, inverse_fall = 0.0, 0.0
        for t in range(row.seen, count):
            f_a, f_b = row_dots(factor, i, steps, t % len(steps))
            fall += f_a * f_a
            inverse_fall += f_b * f_b
        _lower(row, row.residual - fall, row.inverse_residual - inverse_fall / row.noise**2, count)
    else:
        f_M_f, f_H_f = row_forms(factor, i, covariances)
        _lower(row, row.noise + f_M_f, (1.0 - f_H_f / row.noise) / row.noise, count)


@compiled
def refresh_open(factor: Any, rows: Any, tournament: Tournament, moves: Moves) -> None:
    """Bring every open row up to date, reading the factor once and in order."""
    scores, _ = tournament
    covariances, steps, count = moves
    for i in range(len(rows)):
        if scores[i] > -np.inf:
            _refresh(factor, i, rows, covariances, steps, count)


@compiled
def apply_dots(rows: Any, start: int, dots: Any, count: int) -> None:
    """Bring rows start, start + 1, ... up to date from the products (b, 2m) with the last m of `count` moves."""
    last = dots.shape[1] // 2
    for at in range(len(dots)):
        row, fall, inverse_fall = rows[start + at], 0.0, 0.0
        for t in range(max(0, last - (count - row.seen)), last):  # the moves it has missed; closed rows may miss more
            fall += dots[at, 2 * t] ** 2
            inverse_fall += dots[at, 2 * t + 1] ** 2
        _lower(row, row.residual - fall, row.inverse_residual - inverse_fall / row.noise**2, count)


@compiled
def lower_bounds(rows: Any, which: Any, falls: Any, inverse_falls: Any, count: int) -> None:
    """Lower the bounds of rows `which` (b,) by what the moves up to the number `count` took from them at least."""
    for at in range(len(which)):
        row = rows[which[at]]
        inverse_fall = inverse_falls[at] / row.noise**2
        _lower(row, row.residual - falls[at], row.inverse_residual - inverse_fall, count)


@compiled
def least_falls(dots: Any, slack: Any, last: Any) -> Any:
    """(b,) the least sums of squares of the `last` (b,) products of `dots` (b, m), raised by slack (m,) at most."""
    falls = np.zeros(len(dots))
    for at in range(len(dots)):
        for t in range(len(slack) - last[at], len(slack)):
            falls[at] += max(abs(np.float64(dots[at, t])) - slack[t], 0.0) ** 2
    return falls


@compiled
def copy_rows(source: Any, places: Any, target: Any, at: Any) -> None:
    """target[at] = source[places], without a copy in between."""
    for number in range(len(places)):
        target[at[number]] = source[places[number]]


@compiled
def apply_residuals(rows: Any, residual: Any, inverse_residual: Any, count: int) -> None:
    """Bring every row up to date from what is left of it after `count` moves."""
    for i in range(len(rows)):
        _lower(rows[i], residual[i], inverse_residual[i], count)


@compiled
def score_open(rows: Any, tournament: Tournament, rule: Rule) -> None:
    """Score every open row from what is known of it."""
    scores, starts = tournament
    for i in range(len(rows)):
        if scores[i] > -np.inf:
            scores[i] = _score(rows[i], rule)
    replay(scores, starts)


@compiled
def rescore(rows: Any, which: Any, tournament: Tournament, rule: Rule) -> None:
    """Score some open rows again from what is known of them."""
    scores, starts = tournament
    for i in which:
        set_score(scores, starts, i, _score(rows[i], rule))


@compiled
def lazy_winner(
    factor: Any, rows: Any, tournament: Tournament, moves: Moves, rule: Rule, budget: float
) -> tuple[int, float]:
    """The first open row within a tie of the best score, and what is left of `budget`; −1 when nothing is.

    Scores only fall, so a stale one is an upper bound: when the best of all is fresh, no stale row can beat it.
    The budget is counted in visits to an entry of the factor. −2 when a row has missed more moves than are kept: its
    owner has such rows refreshed several at a time, which is faster than one by one.
    """
    scores, starts = tournament
    covariances, steps, count = moves
    by_entropy, _, _ = rule
    while True:
        best = scores[-1]
        i = first_at_least(scores, starts, best)
        if rows[i].seen == count:
            i = first_at_least(scores, starts, best - compiled_tie_width(best, rows[i].cost, by_entropy))
            if rows[i].seen == count:
                return i, budget
        if budget <= 0.0:
            return -1, budget
        if rows[i].seen < count - len(steps):
            return -2, budget
        size = row_size(factor, i)
        budget -= TOURNAMENT + size * min(count - rows[i].seen, size)
        _refresh(factor, i, rows, covariances, steps, count)
        set_score(scores, starts, i, _score(rows[i], rule))
