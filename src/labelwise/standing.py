"""How a campaign stands: what the random share of its questions says of the error, of the strategy, and of stopping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.costs import Spent
from labelwise.posterior import LabelPosterior

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
Learn = Callable[[npt.NDArray[np.bool_]], Any]  # (e,) which answers may be learnt from: a fitted model, or None
Select = Callable[[npt.NDArray[np.bool_]], npt.NDArray[np.bool_]]  # from answers not hidden to those to learn from
Decide = Callable[[LabelPosterior], Bools]

FOLDS = 3
DRAWS = 500  # bootstrap draws of the items
LEVEL = 0.9  # of intervals
ENOUGH = 20  # random items, below which nothing is said of strategy and stopping
WORTH = 0.005  # of F1: a doubling of the answers that surely brings less does not pay
SHARES = (0.25, 0.5, 1.0)  # of the answers that the random model had, for the strategy to pass its score


@dataclass(frozen=True)
class Estimate:
    """A figure and the interval that holds it nine times in ten."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class Standing:
    """A campaign at one moment, judged by its random questions.

    Every figure is of items that the model judged had not learnt from: the random items in turn are hidden from it.

    Attributes
    ----------
    spent : Spent
        Items read, answers given and what they cost.
    random_items, random_answers : int
        What the figures rest on.
    f1 : Estimate or None
        Micro-F1 of the predictions; None without random questions, or where none of them found or expected a label.
    over_random : Estimate or None
        F1 by the strategy's first answers less that by random ones, with equally many of both.
    saved : Estimate or None
        Share of the answers that the strategy spared until it was better than the random answers; 0 where it was not.
    per_doubling : Estimate or None
        What the second half of the answers brought: about what doubling them will bring, at best.
    advice : str
        Whether to go on, and why.
    """

    spent: Spent
    random_items: int
    random_answers: int
    f1: Estimate | None
    over_random: Estimate | None
    saved: Estimate | None
    per_doubling: Estimate | None
    advice: str


@dataclass(frozen=True, eq=False)
class Told:
    """Single answers, oldest first: item and label by number, what was said, and whether the question was random."""

    rows: Ints  # (e,)
    labels: Ints  # (e,)
    values: Bools  # (e,)
    random: Bools  # (e,)

    def only(self, which: Bools) -> Told:
        """Those marked in the mask, (e,)."""
        return Told(self.rows[which], self.labels[which], self.values[which], self.random[which])


def stand(told: Told, spent: Spent, X: Any, learn: Learn, decide: Decide, rng: np.random.Generator) -> Standing:
    """Judge a campaign by its random answers.

    Parameters
    ----------
    told : Told
    spent : Spent
    X : (n, d) features of the pool
    learn : from a mask of the answers to a model that learnt from those (and from what was known at the start)
    decide : from beliefs to label sets
    rng : draws folds and bootstrap samples
    """
    judged = _Judged.of(told)
    counts = (spent, judged.items.size, int(told.random.sum()))
    if not judged.items.size:
        return Standing(*counts, None, None, None, None, "ask some questions at random, say control=0.1, to judge by")
    folds = rng.permutation(judged.items.size) % min(FOLDS, judged.items.size)
    draws = draw_items(judged.items.size, rng)

    def score(select: Select) -> MicroF1:
        return MicroF1.of(judged.Y, judged.known, _predict(judged, told, select, (X, folds, learn, decide)), draws)

    full = score(lambda open_: open_)
    if full.value is None:
        return Standing(*counts, None, None, None, None, "go on: no label was found among the random items yet")
    f1 = full.estimate()
    if judged.items.size < ENOUGH:
        few = f"go on: {judged.items.size} random items say little, {ENOUGH} are needed to advise"
        return Standing(*counts, f1, None, None, None, few)
    doubling = full.above(score(lambda open_: first_of(open_, int(open_.sum()) // 2)))
    return Standing(*counts, f1, *_strategy_worth(told.random, score), doubling, _advice(doubling))


def first_of(answers: Bools, n: int) -> Bools:
    """(e,) the first n of the marked answers."""
    return answers & (np.cumsum(answers) <= n)


def _strategy_worth(random: Bools, score: Callable[[Select], MicroF1]) -> tuple[Estimate | None, Estimate | None]:
    """What the strategy's answers are worth beside equally many random ones.

    Hiding random items takes from the random answers alone, so that equally many are counted after it.
    """
    if random.all():
        return None, None

    def both(open_: Bools) -> int:
        return int(min((open_ & random).sum(), (open_ & ~random).sum()))

    at_random = score(lambda open_: first_of(open_ & random, both(open_)))
    by_strategy = [score(_first_share(random, share, both)) for share in SHARES]
    reached = np.stack([found.draws > at_random.draws for found in by_strategy])  # (shares, draws)
    first = np.where(reached.any(0), np.argmax(reached, axis=0), len(SHARES) - 1)
    spared = 1 - np.array(SHARES)[first]  # (draws,)
    value = next((1 - s for s, f in zip(SHARES, by_strategy, strict=True) if f.above(at_random).value > 0), 0.0)
    return by_strategy[-1].above(at_random), _estimate(value, spared)


def _first_share(random: Bools, share: float, count: Callable[[Bools], int]) -> Select:
    return lambda open_: first_of(open_ & ~random, round(share * count(open_)))


def _advice(doubling: Estimate) -> str:
    said = f"the second half of the answers brought {100 * doubling.value:+.1f} points of F1"
    said += f" ({100 * doubling.low:+.1f} to {100 * doubling.high:+.1f})"
    if doubling.high < WORTH:
        return f"stop: {said}, and as many more will hardly bring more"
    return f"go on: {said}"


@dataclass(frozen=True, eq=False)
class _Judged:
    """The random items with what is known of them from random questions."""

    items: Ints  # (n,)
    Y: Bools  # (n, q)
    known: Bools  # (n, q)

    @classmethod
    def of(cls, told: Told) -> _Judged:
        items, place = np.unique(told.rows[told.random], return_inverse=True)
        shape = (items.size, int(told.labels.max(initial=-1)) + 1)
        Y, known = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        known[place, told.labels[told.random]] = True
        latest = np.isin(told.rows, items)  # a correction counts, whoever asked for it
        Y[np.searchsorted(items, told.rows[latest]), told.labels[latest]] = told.values[latest]
        return cls(items, Y & known, known)


def _predict(judged: _Judged, told: Told, select: Select, means: tuple[Any, Ints, Learn, Decide]) -> Bools:
    """(n, q) label sets of the random items, each by a model that learnt nothing about it."""
    X, folds, learn, decide = means
    predicted = np.zeros(judged.Y.shape, dtype=bool)
    for fold in range(folds.max() + 1):
        hidden = judged.items[folds == fold]
        model = learn(select(~np.isin(told.rows, hidden)))
        if model is not None:
            predicted[folds == fold] = decide(model.posterior(X[hidden]))[:, : judged.Y.shape[1]]
    return predicted


@dataclass(frozen=True, eq=False)
class MicroF1:
    """Micro-F1 of predictions, None where there is nothing to count, and of each bootstrap draw of the items.

    >>> Y = np.array([[True, False], [True, True]])
    >>> MicroF1.of(Y, np.ones((2, 2), dtype=bool), Y, draw_items(2, np.random.default_rng(0))).estimate()
    Estimate(value=1.0, low=1.0, high=1.0)
    """

    value: float | None
    draws: npt.NDArray[np.float64]

    @classmethod
    def of(cls, Y: Bools, known: Bools, predicted: Bools, draws: npt.NDArray[np.int64]) -> MicroF1:
        """On what is `known` (n, q), with items as often as in each of the draws (b, n)."""
        hits = (Y & predicted & known).sum(1)  # (n,)
        sizes = ((Y & known).sum(1) + (predicted & known).sum(1)).astype(np.float64)  # 2 tp + fp + fn
        below = draws @ sizes
        scores = np.divide(2 * (draws @ hits), below, out=np.zeros(len(draws)), where=below > 0)
        return cls(float(2 * hits.sum() / sizes.sum()) if sizes.any() else None, scores)

    def estimate(self) -> Estimate:
        return _estimate(self.value or 0.0, self.draws)

    def above(self, other: MicroF1) -> Estimate:
        return _estimate((self.value or 0.0) - (other.value or 0.0), self.draws - other.draws)


def draw_items(n: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """(draws, n) how often each item is drawn by a bootstrap."""
    return rng.multinomial(n, np.full(n, 1 / n), size=DRAWS)


def _estimate(value: float, draws: npt.NDArray[np.float64]) -> Estimate:
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(value), float(low), float(high))
