"""A guard over a strategy: it raises the share of random questions if the strategy does not pay.

Chosen questions can be far worse than random ones, and nobody knows beforehand on which data. The random answers of a
campaign show it. Two models learn from equally many answers, or from answers that took equally long: one from random
answers only, the other partly from the strategy's. Which of them better ranks the labels of random items that neither
has seen?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from labelwise.campaign.standing import AnswerArrays, first_of
from labelwise.posterior import FloatArray

Bools = npt.NDArray[np.bool_]
Learn = Callable[[Bools], Any]  # (e,) which answers may be learnt from: a fitted model, or None

FOLDS = 2
DEFAULT_TRUST = {"items": 0.0, "pairs": 2.0}
FEWEST_ITEMS = 10  # to judge by
NOISE = 0.1  # of the difference in one item's ranking, believed beforehand as firmly as by one item
TRAINING_NOISE = (
    2.0  # items are not all that is random, the answers learnt from are, too: variances are this much larger
)


@dataclass(frozen=True)
class Guard:
    """How far a campaign trusts its strategy.

    A campaign asks at random with probability `control` + (1 − `control`) Φ(−z). z is `trust` plus the evidence: the
    gain of the strategy's answers over random ones, in standard errors, computed whenever the answers have doubled. So
    if the strategy does not pay, more questions become random.

    Parameters
    ----------
    control : float
        The smallest share of random questions, for base rates, thresholds and unbiased estimates.
    trust : float, optional
        Trust in the strategy before any evidence, in standard errors. Default: the strategy's own `trust` if it has
        one. Else 2 for pairs, because choosing them mostly pays, and 0 (half of the questions are random) for whole
        items, because choosing them seldom does.

    Examples
    --------
    >>> guard = Guard(control=0.05)
    >>> [round(guard.share("items", evidence), 2) for evidence in (-3.0, 0.0, 3.0)]
    [1.0, 0.53, 0.05]
    """

    control: float = 0.05
    trust: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.control <= 1:
            raise ValueError(f"a guard needs a share of random questions above 0 and up to 1, got {self.control!r}")

    def share(self, target: str, evidence: float = 0.0, of_strategy: float | None = None) -> float:
        """Share of random questions in a campaign that asks for "items" or "pairs"; `of_strategy` is its own trust."""
        usual = DEFAULT_TRUST[target] if of_strategy is None else of_strategy
        trust = usual if self.trust is None else self.trust
        return float(self.control + (1 - self.control) * ndtr(-(trust + evidence)))


def evidence_point(n_answers: int) -> int:
    """How many answers the guard has looked at: the largest of 0, 1, 2, 4, 8, 16, ... ≤ n.

    >>> [evidence_point(n) for n in (0, 1, 12, 16)]
    [0, 1, 8, 16]
    """
    return 1 << (n_answers.bit_length() - 1) if n_answers else 0


def strategy_evidence(
    told: AnswerArrays, X: Any, learn: Learn, rng: np.random.Generator, seconds: FloatArray | None = None
) -> float:
    """By how many standard errors the strategy's answers beat random ones that took as long; 0 if there are too few.

    `seconds` (e,) is what each answer cost; without it all cost the same.

    The random items, those with yes and no among random answers, are hidden in turn. One model learns from the random
    answers that are left; the other from the first half of these and the strategy's first answers in place of the rest.
    """
    judged = _random_items(told)
    if judged is None or not (~told.random).any():
        return 0.0
    items, Y, known = judged
    folds = rng.permutation(items.size) % FOLDS
    gains = np.zeros(items.size)
    for fold in range(FOLDS):
        hidden = folds == fold
        open_ = ~np.isin(told.rows, items[hidden])
        at_random, by_strategy = equally_long(told.random, open_, seconds)
        models = [learn(by_strategy), learn(at_random)]
        scores = [
            np.zeros(0) if m is None else _precision(m, X[items[hidden]], Y[hidden], known[hidden]) for m in models
        ]
        gains[hidden] = scores[0] - scores[1] if scores[0].size == scores[1].size else 0.0
    variance = (np.sum((gains - gains.mean()) ** 2) + NOISE**2) / items.size * TRAINING_NOISE
    return float(gains.mean() / np.sqrt(variance / items.size))


def equally_long(random: Bools, open_: Bools, seconds: FloatArray | None = None) -> tuple[Bools, Bools]:
    """(e,) which answers each of the two models learns from: random ones, or half of those and the strategy's.

    Both took the same time, to within one answer; where nothing has a price, both are equally many.

    >>> random, everything = np.array([1, 1, 1, 1, 0, 0, 0], dtype=bool), np.ones(7, dtype=bool)
    >>> [which.astype(int) for which in equally_long(random, everything, np.array([1.0, 1, 1, 1, 2, 2, 2]))]
    [array([1, 1, 1, 1, 0, 0, 0]), array([1, 1, 0, 0, 1, 0, 0])]
    """
    seconds = np.ones(random.size) if seconds is None or not seconds.any() else seconds
    shared = first_of(open_ & random, int((open_ & random).sum()) // 2)
    others, chosen = open_ & random & ~shared, open_ & ~random
    spent = [np.cumsum(np.where(which, seconds, 0.0)) for which in (others, chosen)]
    limit = min(each[-1] for each in spent) * (1 + 1e-9) if random.size else 0.0
    return shared | (others & (spent[0] <= limit)), shared | (chosen & (spent[1] <= limit))


def _random_items(told: AnswerArrays) -> tuple[npt.NDArray[np.intp], Bools, Bools] | None:
    """Items with yes and no among their random answers, the answers (n, q) and where there are any; None where few."""
    items, place = np.unique(told.rows[told.random], return_inverse=True)
    shape = (items.size, int(told.labels.max(initial=-1)) + 1)
    Y, known = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    labels = told.labels[told.random]
    known[place, labels], Y[place, labels] = True, told.values[told.random]
    has_yes_and_no = Y.any(axis=1) & (known & ~Y).any(axis=1)
    return (
        (items[has_yes_and_no], Y[has_yes_and_no], known[has_yes_and_no])
        if has_yes_and_no.sum() >= FEWEST_ITEMS
        else None
    )


def _precision(model: Any, X: Any, Y: Bools, known: Bools) -> FloatArray:
    """(n,) average precision of each item's ranking of its known labels."""
    p = model.posterior(X).probabilities()[:, : Y.shape[1]]
    order = np.argsort(np.where(known, -p, np.inf), axis=1, kind="stable")
    truth = np.take_along_axis(Y, order, axis=1)
    precision = np.cumsum(truth, axis=1) / np.arange(1, Y.shape[1] + 1)
    return np.where(truth, precision, 0.0).sum(axis=1) / truth.sum(axis=1)
