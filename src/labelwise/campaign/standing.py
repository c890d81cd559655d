"""How a campaign stands, judged by its random questions: the error, the gain of the strategy, and whether to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.campaign.estimates import MicroF1, calibration, draw_items, with_interval
from labelwise.campaign.sweeps import SweepWorth
from labelwise.posterior import LabelPosterior
from labelwise.records.asking import RISK, check_goals
from labelwise.records.costs import Spent
from labelwise.records.learning_curve import CurvePoint, IntervalEstimate, LearningCurve, Outlook
from labelwise.views.html import of_standing

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.intp]
Learn = Callable[[npt.NDArray[np.bool_]], Any]  # (e,) which answers may be learnt from: a fitted model, or None
Select = Callable[[npt.NDArray[np.bool_]], npt.NDArray[np.bool_]]  # from answers not hidden to those to learn from
Decide = Callable[[LabelPosterior], Bools]
Floats = npt.NDArray[np.float64]

FOLDS = 3
MIN_RANDOM_ITEMS = 20  # below which nothing is said: drawing from a few again and again does not tell how others differ
MIN_GAIN = 0.005  # of F1: a doubling of the answers that surely brings less does not pay
SHARES = (0.0, 0.5, 1.0)  # of the time that strategy and random questions both had, at which they are compared
CURVE_SHARES = (1 / 6, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1.0)  # of the time so far, after which F1 is looked at
RATES = (0.1, 0.25, 0.5, 1.0)  # how a curve may flatten out: its distance from the end falls as t**-rate, at most 1/t
MIN_POINTS = 4  # that a forecast needs
KEPT_CURVES = 200  # of the probable ones


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
        F1 by the strategy's answers less that by random ones that took as long, both after the same random ones.
    saved : IntervalEstimate or None
        Share of the time that the strategy saves against random questions, until both are equally good; below 0 where
        it takes longer.
    per_doubling : IntervalEstimate or None
        Gain of the second half of the time: at best, doubling it will bring about the same.
    curve : LearningCurve or None
        F1 over seconds of people's time; None where prices are not in seconds.
    outlook : Outlook or None
        What more time brings: the gain of the next hour, and the time to the F1 that was asked for.
    calibration : mapping or None
        How often labels are present, for `bins` of their probability, and the mean `error`.
    sweeps : tuple of SweepWorth
        Labels of which a sweep over many items is expected to bring more for the time than whole items, most first.
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
    curve: LearningCurve | None = None
    outlook: Outlook | None = None
    sweeps: tuple[SweepWorth, ...] = ()

    def asked_for(
        self, target_f1: float | None = None, worth_an_hour: float | None = None, risk: float = RISK
    ) -> Standing:
        """The same for these goals: the outlook has the time to this F1, and the advice follows what an hour is worth.

        `worth_an_hour` is the gain in F1 that makes an hour of people's time worth it. The advice is then to stop once
        more time is worth it with a probability below `risk` (`LearningCurve.pays`). Before 20 random items are
        answered nothing is estimated, and it is to go on.
        """
        check_goals(target_f1, worth_an_hour, risk)
        if self.curve is None:
            return self
        outlook = self.curve.outlook(target_f1, worth_an_hour, risk)
        return replace(self, outlook=outlook, advice=outlook.advice or self.advice)

    def _repr_html_(self) -> str:
        return of_standing(self)

    def to_frame(self) -> Any:
        """The figures as a pandas.DataFrame: a row for each, with its interval."""
        from labelwise.views import frames  # loads pandas

        return frames.of_standing(self)


@dataclass(frozen=True, eq=False)
class AnswerArrays:
    """Single answers, oldest first: item and label by number, what was said, and whether the question was random."""

    rows: Ints  # (e,)
    labels: Ints  # (e,)
    values: Bools  # (e,)
    random: Bools  # (e,)

    def only(self, which: Bools) -> AnswerArrays:
        """Those marked in the mask, (e,)."""
        return AnswerArrays(self.rows[which], self.labels[which], self.values[which], self.random[which])


def measure_standing(
    told: AnswerArrays, spent: Spent, seconds: Floats, X: Any, learn: Learn, decide: Decide, rng: np.random.Generator
) -> Standing:
    """Judge a campaign by its random answers.

    Parameters
    ----------
    told : AnswerArrays
    spent : Spent
    seconds : (e,) what each answer cost, by prices in seconds or in another unit
    X : (n, d) features of the pool
    learn : from a mask of the answers to a model that learnt from those (and from what was known at the start)
    decide : from beliefs to label sets
    rng : draws folds, bootstrap samples and curves
    """
    judged = RandomAnswers.of(told)
    counts = (spent, judged.items.size, int(judged.known.sum()), int(judged.Y.sum()))
    if not judged.items.size:
        return Standing(*counts, "no random questions to judge by: labelwise new --control 0.1 (control=0.1) asks some")
    if judged.items.size < MIN_RANDOM_ITEMS:
        few = f"{judged.items.size} random item{'s say' if judged.items.size > 1 else ' says'} little"
        return Standing(*counts, f"go on: {few}, {MIN_RANDOM_ITEMS} are needed to judge by")
    seconds = seconds if seconds.any() else np.ones(told.rows.size)  # where everything is free, answers are counted
    cross_fit = _CrossFit(judged, told, X, rng.permutation(judged.items.size) % FOLDS, learn)
    draws = draw_items(judged.items.size, rng)

    def score_of(beliefs: list[LabelPosterior | None]) -> MicroF1:
        return MicroF1.of(judged.Y, judged.known, cross_fit.label_sets(beliefs, decide), draws)

    def score(select: Select) -> MicroF1:
        return score_of(cross_fit.beliefs(select))

    everything = cross_fit.beliefs(lambda open_: open_)
    full, calibrated = score_of(everything), cross_fit.calibration(everything)
    if full.value is None:
        return Standing(*counts, "go on: no label was found among the random items yet", calibration=calibrated)
    course = {share: score(_first_part(share, seconds)) for share in CURVE_SHARES[:-1]} | {1.0: full}
    curve = None
    if spent.unit == "s":
        learnt_from = cross_fit.mean_seconds(seconds)
        curve = fit_curve(spent.cost, [share * learnt_from for share in course], list(course.values()), rng)
    doubling = full.above(course[1 / 2])
    over_random, saved = _strategy_worth(told.random, seconds, score)
    found = Standing(*counts, _advice(doubling), full.estimate(), over_random, saved, doubling, calibrated, curve)
    return found.asked_for()


def first_of(answers: Bools, n: int) -> Bools:
    """(e,) the first n of the marked answers."""
    return answers & (np.cumsum(answers) <= n)


def first_within(answers: Bools, seconds: Floats, limit: float) -> Bools:
    """(e,) those of the marked answers that were given before their times (e,) sum up to the limit.

    >>> first_within(np.array([True, False, True, True]), np.array([1.0, 9.0, 2.0, 2.0]), 3.0)
    array([ True, False,  True, False])
    """
    return answers & (np.cumsum(np.where(answers, seconds, 0.0)) <= limit * (1 + 1e-9))


def _first_part(share: float, seconds: Floats) -> Select:
    return lambda open_: first_within(open_, seconds, share * float(seconds[open_].sum()))


def _strategy_worth(
    random: Bools, seconds: Floats, score: Callable[[Select], MicroF1]
) -> tuple[IntervalEstimate | None, IntervalEstimate | None]:
    """What the strategy's answers are worth beside random ones that took as long.

    Both go on from the first half of the random answers, as a campaign does: a strategy chooses what these lack. Hiding
    random items takes from the random answers alone, so that the times are compared after it.
    """
    if random.all():
        return None, None

    def parts(open_: Bools) -> tuple[Bools, Bools, Bools, float]:
        """What both learn from, the other random answers, the strategy's, and the time that both of these have."""
        common_start = first_of(open_ & random, int((open_ & random).sum()) // 2)
        others, chosen = open_ & random & ~common_start, open_ & ~random
        return common_start, others, chosen, min(float(seconds[others].sum()), float(seconds[chosen].sum()))

    def first_share(share: float, by_strategy: bool) -> Select:
        def select(open_: Bools) -> Bools:
            common_start, others, chosen, common = parts(open_)
            return common_start | first_within(chosen if by_strategy else others, seconds, share * common)

        return select

    common_start, _, _, common = parts(np.ones(random.size, dtype=bool))
    before = float(seconds[common_start].sum())
    times = (before + common * np.array(SHARES)) / (before + common)
    start = score(first_share(0.0, by_strategy=False))
    at_random, chosen = ([start, *(score(first_share(s, by)) for s in SHARES[1:])] for by in (False, True))
    ours, others = (np.array([[found.value or 0.0] for found in arm]) for arm in (chosen, at_random))
    our_draws, other_draws = (np.stack([found.draws for found in arm]) for arm in (chosen, at_random))
    saved = with_interval(float(time_saved(ours, others, times)[0]), time_saved(our_draws, other_draws, times))
    return chosen[-1].above(at_random[-1]), saved


def time_saved(ours: Floats, others: Floats, times: Floats) -> Floats:
    """(b,) share of the time that one curve saves until both are equally good; below 0 where it takes longer.

    The curves (s, b) are known at these times (s,) and straight in between. Equally good is where the lower one ends.

    >>> times = np.array([0.25, 0.5, 1.0])
    >>> time_saved(np.array([[0.5], [0.7], [0.8]]), np.array([[0.4], [0.5], [0.6]]), times)
    array([0.625])
    >>> time_saved(np.array([[0.4], [0.5], [0.6]]), np.array([[0.4], [0.6], [0.8]]), times)
    array([-1.])
    """
    level = np.minimum(ours[-1], others[-1])
    return 1 - _time_to_reach(ours, level, times) / _time_to_reach(others, level, times)


def _time_to_reach(scores: Floats, level: Floats, times: Floats) -> Floats:
    """(b,) when a curve (s, b) first reaches a level that it reaches at its end."""
    end = np.argmax(scores >= level, axis=0)  # (b,) the first one that is there
    begin, column = np.maximum(end - 1, 0), np.arange(scores.shape[1])
    low, high = scores[begin, column], scores[end, column]
    part = np.divide(level - low, high - low, out=np.ones(level.size), where=high > low)
    return times[begin] + np.clip(part, 0, 1) * (times[end] - times[begin])


def _advice(doubling: IntervalEstimate) -> str:
    said = f"the second half of the time brought {100 * doubling.value:+.1f} points of F1"
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
    def of(cls, told: AnswerArrays, n_labels: int | None = None) -> RandomAnswers:
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
    told: AnswerArrays
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

    def mean_seconds(self, seconds: Floats) -> float:
        """Of the answers that are learnt from, in the mean over folds; `seconds` (e,) is what each took."""
        hidden = [self.judged.items[self.folds == fold] for fold in range(self.folds.max() + 1)]
        return float(np.mean([seconds[~np.isin(self.told.rows, rows)].sum() for rows in hidden]))

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


# -- the learning curve over people's time ----------------------------------------------------------------------------


def fit_curve(
    seconds: float, at: Sequence[float], scores: Sequence[MicroF1], rng: np.random.Generator
) -> LearningCurve | None:
    """The curve through F1 at these times; None where no time was spent.

    Parameters
    ----------
    seconds : spent so far
    at : (p,) the seconds behind each score, rising
    scores : (p,) F1, each with the same bootstrap draws of the same items
    rng : draws the curves
    """
    if not (np.isfinite(seconds) and seconds > 0 and np.all(np.isfinite(at))):
        return None
    known = [(t, score) for t, score in zip(at, scores, strict=True) if t > 0 and score.value is not None]
    points = tuple(CurvePoint(float(t), *_rounded(score.estimate())) for t, score in known)
    t = np.array([t for t, _ in known])
    if np.unique(t).size < MIN_POINTS:
        return LearningCurve(seconds, points)
    f1 = np.array([score.value for _, score in known], dtype=np.float64)  # (p,)
    judged = np.stack([score.draws for _, score in known])  # (p, b)
    drawn = draw_curves(t / seconds, f1, judged - f1[:, None], KEPT_CURVES, rng)
    return LearningCurve(seconds, points, tuple((now, rise, rate) for now, rise, rate in drawn.round(5).tolist()))


def draw_curves(t: Floats, f1: Floats, deviations: Floats, n: int, rng: np.random.Generator) -> Floats:
    """(n, 3) now, rise and rate of curves that are probable, given F1 (p,) at times t (p,), now being t = 1.

    F1 = now + rise · (1 − t**−rate) is fitted for several rates. Rates are drawn by their evidence, under a flat prior
    of the level, of the rise between first and last point, and of log σ. Two things make a curve uncertain. The points
    scatter about it: level and rise have a Student posterior. And the items that judge all points are a draw: a
    bootstrap draw of them moves all points together, by `deviations` (p, b).
    """
    fits = [_fit(t, f1, deviations, rate) for rate in RATES]
    evidence = np.array([fit.evidence for fit in fits])
    share = np.exp(evidence - evidence.max())
    freedom = t.size - 2
    rates = rng.choice(len(RATES), size=n, p=share / share.sum())
    items = rng.integers(deviations.shape[1], size=n)
    scale = np.sqrt(freedom / rng.chisquare(freedom, size=n))  # Student: a normal draw over a drawn scale
    noise = rng.standard_normal((n, 2)) * scale[:, None]
    solution, moved, factor = (np.stack([getattr(f, part) for f in fits]) for part in ("solution", "moved", "factor"))
    scattered = np.einsum("nij,nj->ni", factor[rates], noise)
    return np.column_stack([solution[rates] + moved[rates, :, items] + scattered, np.array(RATES)[rates]])


@dataclass(frozen=True, eq=False)
class _Fit:
    """Least squares for one rate: log evidence, (now, rise), its moves by each deviation (2, b), and L of L Lᵀ."""

    evidence: float
    solution: Floats  # (2,)
    moved: Floats  # (2, b)
    factor: Floats  # (2, 2) the covariance of a Student posterior is L Lᵀ


def _fit(t: Floats, f1: Floats, deviations: Floats, rate: float) -> _Fit:
    basis = np.column_stack([np.ones(t.size), 1 - t**-rate])  # (p, 2)
    span = t[-1] ** -rate - t[0] ** -rate  # negative: how far the second column goes from first to last point
    Q, R = np.linalg.qr(basis)
    projected = Q.T @ f1
    spread = max(float(f1 @ f1 - projected @ projected), 1e-10 * t.size)  # no scatter at all is still rounded
    freedom = t.size - 2
    R_inverse = np.linalg.inv(R)
    evidence = np.log(abs(span)) - np.log(np.abs(np.diag(R))).sum() - freedom / 2 * np.log(spread)
    factor = R_inverse * np.sqrt(spread / freedom)
    return _Fit(float(evidence), R_inverse @ projected, R_inverse @ (Q.T @ deviations), factor)


def _rounded(estimate: IntervalEstimate) -> tuple[float, float, float]:
    return round(estimate.value, 4), round(estimate.low, 4), round(estimate.high, 4)
