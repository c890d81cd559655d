"""How a campaign stands, judged by its random questions: the error, the gain of the strategy, and whether to stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import t as student

from labelwise.campaign.estimates import LEVEL, IntervalEstimate, MicroF1, calibration, draw_items, with_interval
from labelwise.posterior import LabelPosterior
from labelwise.records.costs import Spent

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
Learn = Callable[[npt.NDArray[np.bool_]], Any]  # (e,) which answers may be learnt from: a fitted model, or None
Select = Callable[[npt.NDArray[np.bool_]], npt.NDArray[np.bool_]]  # from answers not hidden to those to learn from
Decide = Callable[[LabelPosterior], Bools]

FOLDS = 3
MIN_RANDOM_ITEMS = 20  # below which nothing is said: drawing from a few again and again does not tell how others differ
MIN_GAIN = 0.005  # of F1: a doubling of the answers that surely brings less does not pay
SHARES = (0.25, 0.5, 1.0)  # of the answers that the random model had, for the strategy to pass its score


@dataclass(frozen=True)
class Standing:
    """A campaign at one moment, judged by its random questions.

    Every figure is of items that the judged model has not learnt from: the random items are hidden from it in turn.

    Attributes
    ----------
    spent : Spent
        Items read, answers given and what they cost.
    random_items, random_answers, random_labels : int
        The basis of the figures: items asked about at random, answers to these questions, labels found by them.
    f1 : IntervalEstimate or None
        Micro-F1 of the predictions; None with fewer than 20 random items, or if none has or gets a label.
    over_random : IntervalEstimate or None
        F1 by the strategy's first answers less that by random ones, with equally many of both.
    saved : IntervalEstimate or None
        Share of the answers that the strategy saves until it is better than the random answers; 0 if it is not.
    per_doubling : IntervalEstimate or None
        Gain of the second half of the answers: at best, doubling them will bring about the same.
    calibration : mapping or None
        How often labels are present, for `bins` of their probability, and the mean `error`.
    advice : str
        Whether to go on, and why.
    """

    spent: Spent
    random_items: int
    random_answers: int
    random_labels: int
    advice: str
    f1: IntervalEstimate | None = None
    over_random: IntervalEstimate | None = None
    saved: IntervalEstimate | None = None
    per_doubling: IntervalEstimate | None = None
    calibration: dict[str, Any] | None = None


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
    judged = RandomAnswers.of(told)
    counts = (spent, judged.items.size, int(judged.known.sum()), int(judged.Y.sum()))
    if not judged.items.size:
        return Standing(*counts, "no random questions to judge by: ask some at random, for example with control=0.1")
    if judged.items.size < MIN_RANDOM_ITEMS:
        few = f"{judged.items.size} random item{'s say' if judged.items.size > 1 else ' says'} little"
        return Standing(*counts, f"go on: {few}, {MIN_RANDOM_ITEMS} are needed to judge by")
    folds = rng.permutation(judged.items.size) % FOLDS
    draws = draw_items(judged.items.size, rng)
    cross_fit = _CrossFit(judged, told, X, folds, learn)

    def score_of(beliefs: list[LabelPosterior | None]) -> MicroF1:
        return MicroF1.of(judged.Y, judged.known, cross_fit.label_sets(beliefs, decide), draws)

    def score(select: Select) -> MicroF1:
        return score_of(cross_fit.beliefs(select))

    everything = cross_fit.beliefs(lambda open_: open_)
    full, calibrated = score_of(everything), cross_fit.calibration(everything)
    if full.value is None:
        return Standing(*counts, "go on: no label was found among the random items yet", calibration=calibrated)
    doubling = full.above(score(lambda open_: first_of(open_, int(open_.sum()) // 2)))
    over_random, saved = _strategy_worth(told.random, score)
    return Standing(*counts, _advice(doubling), full.estimate(), over_random, saved, doubling, calibrated)


def first_of(answers: Bools, n: int) -> Bools:
    """(e,) the first n of the marked answers."""
    return answers & (np.cumsum(answers) <= n)


def _strategy_worth(
    random: Bools, score: Callable[[Select], MicroF1]
) -> tuple[IntervalEstimate | None, IntervalEstimate | None]:
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
    return by_strategy[-1].above(at_random), with_interval(value, spared)


def _first_share(random: Bools, share: float, count: Callable[[Bools], int]) -> Select:
    return lambda open_: first_of(open_ & ~random, round(share * count(open_)))


def _advice(doubling: IntervalEstimate) -> str:
    said = f"the second half of the answers brought {100 * doubling.value:+.1f} points of F1"
    said += f" ({100 * doubling.low:+.1f} to {100 * doubling.high:+.1f})"
    if doubling.high < MIN_GAIN:
        return f"stop: {said}; the same number again is unlikely to bring more"
    return f"go on: {said}"


@dataclass(frozen=True, eq=False)
class RandomAnswers:
    """The items asked about at random, with what is known of them from random questions."""

    items: Ints  # (n,)
    Y: Bools  # (n, q)
    known: Bools  # (n, q)

    @classmethod
    def of(cls, told: Told, n_labels: int | None = None) -> RandomAnswers:
        items, place = np.unique(told.rows[told.random], return_inverse=True)
        shape = (items.size, int(told.labels.max(initial=-1)) + 1 if n_labels is None else n_labels)
        Y, known = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
        known[place, told.labels[told.random]] = True
        latest = np.isin(told.rows, items)  # a correction counts, whoever asked for it
        Y[np.searchsorted(items, told.rows[latest]), told.labels[latest]] = told.values[latest]
        return cls(items, Y & known, known)


@dataclass(frozen=True, eq=False)
class _CrossFit:
    """Beliefs about the random items, each by a model that learnt nothing about it: items are hidden in turn."""

    judged: RandomAnswers
    told: Told
    X: Any  # (n, d) features of the pool
    folds: Ints  # (n,) of the random items
    learn: Learn

    def beliefs(self, select: Select) -> list[LabelPosterior | None]:
        """Of each fold, by a model that learnt from the selected ones of the answers that are not hidden."""
        found = []
        for fold in range(self.folds.max() + 1):
            rows = self.judged.items[self.folds == fold]
            model = self.learn(select(~np.isin(self.told.rows, rows)))
            found.append(None if model is None else model.posterior(self.X[rows]))
        return found

    def label_sets(self, beliefs: list[LabelPosterior | None], decide: Decide) -> Bools:
        """(n, q) none where there was nothing to learn from."""
        sets = np.zeros(self.judged.Y.shape, dtype=bool)
        for fold, of_fold in enumerate(beliefs):
            if of_fold is not None:
                sets[self.folds == fold] = _first_columns(decide(of_fold), sets)
        return sets

    def calibration(self, beliefs: list[LabelPosterior | None]) -> dict[str, Any] | None:
        p = np.zeros(self.judged.Y.shape)
        for fold, of_fold in enumerate(beliefs):
            if of_fold is None:
                return None
            p[self.folds == fold] = _first_columns(of_fold.probabilities(), p)
        return calibration(self.judged.Y, self.judged.known, p)


def _first_columns(values: Any, like: npt.NDArray[Any]) -> Any:
    """As many columns as the other one has: labels after these were never asked about."""
    return values[:, : like.shape[1]]


# -- what more answers are expected to bring: the learning curve, carried on ------------------------------------------


RATES = (0.25, 0.5, 0.75, 1.0, 1.5)  # how fast a curve may flatten out: its distance from the end falls as n**-rate
MOST_POINTS = 24  # of the course, evenly spread in log n: neighbouring trainings tell nearly the same
MIN_POINTS = 5  # points that a forecast needs

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Forecast:
    """The gain in F1 expected from this number of further answers, with its interval."""

    answers: int
    gain: float
    low: float
    high: float


def forecast_gain(course: Sequence[Mapping[str, Any]], ahead: int = 100) -> Forecast | None:
    """Fit F1 = a − b·n**−rate for several rates, weigh them by their evidence, and read off the gain.

    With a flat prior on a, b and log σ, b has a Student posterior for each rate; the forecast is their mixture. The
    scatter of the curve about the fit is what the interval comes from: an error of the level, which all points share,
    does not move a difference. Points count by the items asked at random behind them. None where there are too few.

    Parameters
    ----------
    course : points with "answers", "f1" and "items" (asked at random), oldest first
    ahead : answers to look ahead

    Examples
    --------
    >>> course = [{"answers": n, "f1": 0.8 - 0.5 * n**-0.5, "items": 50} for n in range(4, 200, 7)]
    >>> forecast = forecast_gain(course, 100)
    >>> round(forecast.gain, 3) == round(0.5 * (193**-0.5 - 293**-0.5), 3)
    True
    """
    n, f1, weight = _thinned(course)
    if n.size < MIN_POINTS:
        return None
    parts = [_fit(n, f1, weight, rate, ahead) for rate in RATES]
    evidence = np.array([part[0] for part in parts])
    share = np.exp(evidence - evidence.max())
    share /= share.sum()
    mean, scale = np.array([part[1] for part in parts]), np.array([part[2] for part in parts])
    low, high = (_quantile(level, share, mean, scale, n.size - 2) for level in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    most = 1 - f1[-1]
    gain, low, high = (float(np.clip(value, -f1[-1], most)) for value in (share @ mean, low, high))
    return Forecast(ahead, gain, low, high)


def _thinned(course: Sequence[Mapping[str, Any]]) -> tuple[Floats, Floats, Floats]:
    """Answers, F1 and weight of MOST_POINTS points at most, the last one too; the later of two with as many answers."""
    latest = {point["answers"]: point for point in course if point.get("f1") is not None and point["answers"] > 0}
    n = np.array(sorted(latest), dtype=np.float64)
    if n.size > MOST_POINTS:
        wanted = np.geomspace(n[0], n[-1], MOST_POINTS)
        n = np.unique(n[np.abs(np.log(n)[:, None] - np.log(wanted)).argmin(0)])
    points = [latest[int(number)] for number in n]
    f1 = np.array([point["f1"] for point in points], dtype=np.float64)
    return n, f1, np.array([max(point.get("items", 1), 1) for point in points], dtype=np.float64)


def _fit(n: Floats, f1: Floats, weight: Floats, rate: float, ahead: int) -> tuple[float, float, float]:
    """Log evidence of a rate, and centre and scale of the Student posterior of the gain."""
    span = n[0] ** -rate - n[-1] ** -rate
    basis = np.column_stack([np.ones(n.size), -(n**-rate - n[-1] ** -rate) / span])  # b is then the rise so far
    root = np.sqrt(weight / weight.mean())[:, None]
    Q, R = np.linalg.qr(basis * root)
    projected = Q.T @ (f1 * root[:, 0])
    b = np.linalg.solve(R, projected)[1]
    spread = float(((f1 * root[:, 0]) @ (f1 * root[:, 0])) - projected @ projected)
    freedom = n.size - 2
    spread = max(spread, 1e-10 * n.size)  # a curve without any scatter is still rounded
    variance = spread / freedom / R[1, 1] ** 2
    evidence = -np.log(np.abs(np.diag(R))).sum() - freedom / 2 * np.log(spread)
    step = (n[-1] ** -rate - (n[-1] + ahead) ** -rate) / span
    return float(evidence), float(b * step), float(np.sqrt(variance) * step)


def _quantile(level: float, share: Floats, mean: Floats, scale: Floats, freedom: int) -> float:
    """Of a mixture of Student distributions."""
    ends = student.ppf([0.001, 0.999], freedom)
    low, high = float((mean + ends[0] * scale).min()), float((mean + ends[1] * scale).max())
    return float(brentq(lambda x: share @ student.cdf((x - mean) / scale, freedom) - level, low, high))
