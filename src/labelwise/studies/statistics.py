"""From the table of a study to curves, comparisons with random and labels saved, each with how far it can be trusted.

The runs of one seed share their test set and their start, so strategies are compared seed by seed. What the runs of a
seed have in common cancels, and the error of a difference is far smaller than that of either side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite, isnan, nan, sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import norm as normal
from scipy.stats import t as student

from labelwise.numerics.metrics import LOWER_IS_BETTER
from labelwise.posterior import FloatArray
from labelwise.studies.ranking import Ranking, holm, rank_over_sets, signed_rank_p
from labelwise.studies.tables import Arm, Table

Currency = Literal["items_read", "answers", "cost"]
Verdict = Literal["better", "worse", "no difference", "one seed", "control", "no control"]
BySeed = Mapping[int, float]
BySet = Mapping[str, BySeed]
CONFIDENCE_LEVEL = 0.95  # of every interval
BOOTSTRAP_RESAMPLES = 4000
MIN_SETS = 6  # below, not even a gain on every one of them could be told from chance at the 5 % level
EQUAL_ANSWERS_TOLERANCE = 0.01  # answers at the end may differ by this share and still count as equal


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds with its standard error and a Student-t interval; the last are NaN for a single seed.

    Examples
    --------
    >>> Estimate.of([0.1, 0.2, 0.3])
    Estimate(value=0.2, standard_error=0.0577, low=-0.0484, high=0.4484, n=3)
    """

    value: float
    standard_error: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Estimate:
        sample = np.array(list(values), dtype=float)
        n = sample.size
        if n == 0:
            raise ValueError("there is nothing to average")
        mean = float(sample.mean())
        error = float(sample.std(ddof=1)) / sqrt(n) if n > 1 else nan
        reach = error * float(student.ppf(0.5 + CONFIDENCE_LEVEL / 2, n - 1)) if n > 1 else nan
        return cls(mean, error, mean - reach, mean + reach, n)

    def __repr__(self) -> str:
        parts = ((name, round(getattr(self, name), 4)) for name in ("value", "standard_error", "low", "high"))
        return f"Estimate({', '.join(f'{name}={value}' for name, value in parts)}, n={self.n})"

    @property
    def sign(self) -> int:
        """+1 or −1 where the whole interval lies above or below zero, 0 where noise may explain it."""
        return int(self.low > 0) - int(self.high < 0)


@dataclass(frozen=True, eq=False)
class Curve:
    """A learning curve of one model with one strategy, averaged over seeds."""

    model: str
    strategy: str
    cost: FloatArray  # (r,), items read, answers given or their price, mean over seeds
    mean: FloatArray  # (r,)
    standard_error: FloatArray  # (r,), NaN for a single seed
    n_seeds: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """One model with one strategy on one metric, over all sets: where it stands, and how it does beside random.

    Parameters
    ----------
    control : str
        The random strategy that it is compared with, under the same model.
    area, final : Estimate
        The mean over all evaluations of a run, and its last evaluation; means over sets, with the error over seeds.
    gain : Estimate or None
        Area minus that of the control with the same seed, better being positive; None for the control itself and where
        the model has none. With six sets or more its interval says what to expect of other sets (paired bootstrap over
        sets and seeds). Fewer can tell nothing of others: then it says what to expect of other seeds on these.
    n_sets, better, worse : int
        Sets it ran on; those of them on which the mean over seeds lies above and below the control.
    p_value : float
        Wilcoxon's over sets, adjusted by Holm for all that were compared; NaN without a gain.
    ranking : Ranking or None
        Of all that may be compared with it; None where fewer than two ran on every set.
    mean_rank : float
        Its own in it, 1 being best; NaN where it did not run on every set.
    answer_shares, item_shares : floats, one per set
        Answers, and items read, needed to reach the control's end, as a share of what that had spent; infinite where
        it was never reached. None are given without a control.
    """

    model: str
    strategy: str
    metric: str
    control: str
    area: Estimate
    final: Estimate
    gain: Estimate | None
    n_sets: int
    better: int
    worse: int
    p_value: float
    ranking: Ranking | None
    mean_rank: float
    answer_shares: tuple[float, ...]
    item_shares: tuple[float, ...]

    @property
    def verdict(self) -> Verdict:
        """Against random, on this metric; a difference counts only where its interval leaves out zero."""
        if self.gain is None:
            return "control" if self.strategy == self.control else "no control"
        if isnan(self.gain.low):
            return "one seed"
        return "better" if self.gain.sign > 0 else "worse" if self.gain.sign < 0 else "no difference"

    @property
    def share(self) -> float:
        """Median over sets of the share of answers needed; infinite where half were never reached, NaN without any."""
        return _median_share(self.answer_shares)

    @property
    def share_items(self) -> float:
        """The same of the items read."""
        return _median_share(self.item_shares)

    @property
    def reached(self) -> int:
        """Sets on which the control's end was reached."""
        return sum(map(isfinite, self.answer_shares))

    @property
    def difference(self) -> Estimate | None:
        """The gain in the direction of the metric: below zero where a loss is lower than the control's."""
        if self.gain is None or self.metric not in LOWER_IS_BETTER:
            return self.gain
        return Estimate(-self.gain.value, self.gain.standard_error, -self.gain.high, -self.gain.low, self.gain.n)


@dataclass(frozen=True, eq=False)
class League:
    """Arms that may be compared: they gave as many answers, or at least ask for the same."""

    table: Table
    control: str  # the random strategy to beat, with the same model

    @property
    def arms(self) -> list[Arm]:
        return self.table.distinct("model", "strategy")

    @property
    def sets(self) -> list[str]:
        return [data for (data,) in self.table.distinct("data")]


@dataclass(frozen=True)
class Saving:
    """What one model with one strategy needs on one set to reach the end of the control on the same set."""

    data: str
    model: str
    strategy: str
    level: float  # score of the control at its end, mean over seeds
    needed: float  # items or answers at which the mean curve first reaches it; infinite where it never does
    spent: float  # what the control had spent at its end

    @property
    def share(self) -> float:
        """`needed` as a share of `spent`: 0.4 saves 60 %; infinite where the level was never reached."""
        return self.needed / self.spent


def learning_curves(table: Table, metric: str, cost: Currency = "items_read") -> list[Curve]:
    """One curve per model and strategy, in the order of the table."""
    curves = []
    for model, strategy in table.distinct("model", "strategy"):
        of_arm = table.where(model=model, strategy=strategy)
        values = _by_seed(of_arm, metric)  # (seeds, r)
        n = values.shape[0]
        error = values.std(axis=0, ddof=1) / sqrt(n) if n > 1 else np.full(values.shape[1], nan)
        curves.append(Curve(model, strategy, _by_seed(of_arm, cost).mean(0), values.mean(0), error, n))
    return curves


def leagues(table: Table) -> list[League]:
    """All arms in one league where they end with equal answers on every set; else one league per kind of question."""
    last = table.where(round=table["round"].max())
    ends = [last.where(data=data)["answers"] for (data,) in table.distinct("data")]
    if all(end.max() <= (1 + EQUAL_ANSWERS_TOLERANCE) * end.min() for end in ends):
        return [League(table, _control(table))]
    parts = (table.where(target=target) for (target,) in table.distinct("target"))
    return [League(part, _control(part)) for part in parts]


def compare(table: Table, metrics: Sequence[str]) -> list[Comparison]:
    """Every model with every strategy on every metric, over all sets of the table; metric by metric."""
    found = leagues(table)
    return [comparison for metric in metrics for league in found for comparison in _compare_in(league, metric)]


def stand(league: League, metric: str) -> list[Comparison]:
    """The name of 0.1 for `compare`; it goes with the next release."""
    return compare(league.table, [metric])


def areas(table: Table, metric: str, model: str, strategy: str) -> dict[int, float]:
    """Seed to area under the learning curve, as the mean over its evaluations."""
    of_arm = table.where(model=model, strategy=strategy)
    return {seed: float(of_arm.where(seed=seed)[metric].mean()) for (seed,) in of_arm.distinct("seed")}


def finals(table: Table, metric: str, model: str, strategy: str) -> dict[int, float]:
    """Seed to the last evaluation."""
    of_arm = table.where(model=model, strategy=strategy)
    return {seed: float(of_arm.where(seed=seed)[metric][-1]) for (seed,) in of_arm.distinct("seed")}


def paired_difference(left: dict[int, float], right: dict[int, float]) -> Estimate:
    """Left minus right over the seeds both have.

    >>> paired_difference({0: 0.7, 1: 0.9}, {0: 0.6, 1: 0.8}).value.__round__(6)
    0.1
    """
    shared = [seed for seed in left if seed in right]
    return Estimate.of(left[seed] - right[seed] for seed in shared)


def paired_bootstrap(
    groups: Sequence[Sequence[float]], rng: np.random.Generator, resamples: int = BOOTSTRAP_RESAMPLES
) -> Estimate:
    """The mean of groups' means, with an interval by drawing groups, and then values within them, with replacement.

    For differences to random: a group is a set, its values are the seeds. Sets are drawn first because the question is
    what happens on the next set, not on the next seed. With one group only its values are drawn; with one value there
    is no interval. Percentiles are taken further out the fewer there are, since few draws from few spread too little
    (Hesterberg, What teachers should know about the bootstrap, Am. Stat. 2015, the expanded percentile interval); yet
    below half a dozen groups no bootstrap can be trusted.

    >>> found = paired_bootstrap([[0.1, 0.2, 0.3], [0.0, 0.1, 0.2]], np.random.default_rng(0))
    >>> round(found.value, 3), found.n
    (0.15, 2)
    """
    values = [np.asarray(group, dtype=float) for group in groups if len(group)]
    if not values:
        raise ValueError("there is nothing to average")
    k, mean = len(values), float(np.mean([group.mean() for group in values]))
    n = k if k > 1 else values[0].size
    if n == 1:
        return Estimate(mean, nan, nan, nan, k)
    drawn = np.empty((k, resamples, k))  # group, resample, place
    for group, means in zip(values, drawn, strict=True):  # a fresh mean of the group wherever it might be drawn
        means[...] = rng.choice(group, (*means.shape, group.size)).mean(-1)
    picked = rng.integers(k, size=drawn.shape[1:])  # (resamples, k)
    sample = np.take_along_axis(drawn, picked[None], 0)[0].mean(-1)
    outside = float(normal.sf(sqrt(n / (n - 1)) * student.ppf(0.5 + CONFIDENCE_LEVEL / 2, n - 1)))  # on either side
    low, high = np.quantile(sample, [outside, 1 - outside])
    return Estimate(mean, float(sample.std()), float(low), float(high), k)


def clear_winner(table: Table, metric: str, arms: Sequence[Arm]) -> Arm | None:
    """The arm that beats each of the others beyond noise, seed by seed; None where none does."""
    if len(arms) < 2:
        return None
    sense = -1 if metric in LOWER_IS_BETTER else 1
    by_arm = {arm: areas(table, metric, *arm) for arm in arms}
    best = max(arms, key=lambda arm: sense * np.mean(list(by_arm[arm].values())))
    others = (paired_difference(by_arm[best], by_arm[arm]) for arm in arms if arm != best)
    return best if all(sense * difference.sign > 0 for difference in others) else None


def cost_to_reach(cost: npt.ArrayLike, score: npt.ArrayLike, level: float) -> float:
    """The cost at which a curve first reaches a level, by straight lines between its points; infinite where never.

    >>> cost_to_reach([10, 20, 30], [0.4, 0.6, 0.7], 0.5), cost_to_reach([10, 20], [0.4, 0.6], 0.9)
    (15.0, inf)
    """
    costs, scores = np.asarray(cost, dtype=float), np.asarray(score, dtype=float)
    above = np.flatnonzero(scores >= level)
    if above.size == 0:
        return inf
    end = int(above[0])
    if end == 0 or np.isnan(scores[end - 1]):
        return float(costs[end])
    start = end - 1
    part = (level - scores[start]) / (scores[end] - scores[start])
    return float(costs[start] + part * (costs[end] - costs[start]))


def label_savings(table: Table, metric: str, currency: Currency = "answers", control: str = "random") -> list[Saving]:
    """Every model and strategy on every set against `control` with the same model; sets without it are left out.

    Curves are averaged over seeds first: a single one crosses any level early by luck. The control itself is listed,
    too. Where its own curve is not rising to the end it needs less than all it spent; that shows how far to trust the
    others' shares.
    """
    sense = -1 if metric in LOWER_IS_BETTER else 1
    savings = []
    for (data,) in table.distinct("data"):
        curves = {(c.model, c.strategy): c for c in learning_curves(table.where(data=data), metric, currency)}
        for (model, strategy), curve in curves.items():
            rival = curves.get((model, control))
            if rival is not None and isfinite(level := float(rival.mean[-1])):
                needed = cost_to_reach(curve.cost, sense * curve.mean, sense * level)
                savings.append(Saving(data, model, strategy, level, needed, float(rival.cost[-1])))
    return savings


def seconds_per_question(table: Table) -> dict[Arm, dict[str, float]]:
    """Arm to set to seconds of asking and learning per question, median over rounds and seeds after the start."""
    asked = table["round"] > 0
    kept = Table({name: column[asked] for name, column in table.columns.items()})
    found: dict[Arm, dict[str, float]] = {}
    for model, strategy, data in kept.distinct("model", "strategy", "data"):
        rows = kept.where(model=model, strategy=strategy, data=data)
        seconds = (rows["seconds_asking"] + rows["seconds_fitting"]) / np.maximum(rows["questions"], 1)
        found.setdefault((model, strategy), {})[data] = float(np.median(seconds))
    return found


def _compare_in(league: League, metric: str) -> list[Comparison]:
    by_arm, ends = _by_arm(league, metric, areas), _by_arm(league, metric, finals)
    ranking = _ranked(league, metric, by_arm)
    ranks = {} if ranking is None else dict(zip(ranking.names, ranking.mean_ranks.tolist(), strict=True))
    gains = {arm: _gains(by_arm, arm, league.control, metric) for arm in league.arms}
    compared = [arm for arm in league.arms if gains[arm]]
    p_values = holm([signed_rank_p([_mean(of_set.values()) for of_set in gains[arm].values()]) for arm in compared])
    p_value_of = dict(zip(compared, p_values, strict=True))
    answers = label_savings(league.table, metric, "answers", league.control)
    items = label_savings(league.table, metric, "items_read", league.control)
    comparisons = []
    for arm in league.arms:
        means = [_mean(of_set.values()) for of_set in gains[arm].values()]
        comparisons.append(
            Comparison(
                *arm,
                metric,
                league.control,
                area=_over_seeds(by_arm[arm]),
                final=_over_seeds(ends[arm]),
                gain=_gain(gains[arm]),
                n_sets=len(by_arm[arm]),
                better=sum(mean > 0 for mean in means),
                worse=sum(mean < 0 for mean in means),
                p_value=p_value_of.get(arm, nan),
                ranking=ranking,
                mean_rank=ranks.get(_name(arm), nan),
                answer_shares=_shares(answers, arm),
                item_shares=_shares(items, arm),
            )
        )
    return comparisons


def _control(table: Table) -> str:
    """The random strategy in the table; that for whole items before that for pairs."""
    controls = [
        (target != "items", strategy)
        for strategy, control, target in table.distinct("strategy", "control", "target")
        if strategy == control
    ]
    return min(controls)[1] if controls else str(table["control"][0])


def _name(arm: Arm) -> str:
    return f"{arm[1]} · {arm[0]}"


def _by_arm(league: League, metric: str, summary: Callable[..., BySeed]) -> dict[Arm, dict[str, BySeed]]:
    """Arm to set to seed to a figure of the run."""
    found: dict[Arm, dict[str, BySeed]] = {arm: {} for arm in league.arms}
    for data in league.sets:
        of_set = league.table.where(data=data)
        for arm in of_set.distinct("model", "strategy"):
            found[arm][data] = summary(of_set, metric, *arm)
    return found


def _ranked(league: League, metric: str, by_arm: Mapping[Arm, BySet]) -> Ranking | None:
    """The arms that ran on every set, by area; None where fewer than two did."""
    sense = -1 if metric in LOWER_IS_BETTER else 1
    whole = [arm for arm in league.arms if set(by_arm[arm]) == set(league.sets)]
    if len(whole) < 2:
        return None
    scores = [[sense * float(np.mean(list(by_arm[arm][data].values()))) for arm in whole] for data in league.sets]
    return rank_over_sets([_name(arm) for arm in whole], scores)


def _gains(by_arm: Mapping[Arm, BySet], arm: Arm, control: str, metric: str) -> dict[str, dict[int, float]]:
    """Set to seed to gain over the control with the same model, better being positive."""
    model, strategy = arm
    rival = by_arm.get((model, control))
    if strategy == control or rival is None:
        return {}
    sense = -1 if metric in LOWER_IS_BETTER else 1
    gains = {
        data: {seed: sense * (own[seed] - rival[data][seed]) for seed in own if seed in rival[data]}
        for data, own in by_arm[arm].items()
        if data in rival
    }
    known = {data: {seed: gain for seed, gain in of.items() if isfinite(gain)} for data, of in gains.items()}
    return {data: of for data, of in known.items() if of}


def _gain(gains: BySet) -> Estimate | None:
    if not gains:
        return None
    if len(gains) >= MIN_SETS:
        return paired_bootstrap([list(of.values()) for of in gains.values()], np.random.default_rng(0))
    seeds = set.intersection(*(set(of) for of in gains.values()))
    if not seeds:
        return None
    return Estimate.of(float(np.mean([of[seed] for of in gains.values()])) for seed in sorted(seeds))


def _over_seeds(by_set: BySet) -> Estimate:
    """Means over sets, seed by seed."""
    seeds = dict.fromkeys(seed for of_set in by_set.values() for seed in of_set)
    return Estimate.of(_mean(of_set.get(seed, nan) for of_set in by_set.values()) for seed in seeds)


def _shares(savings: Sequence[Saving], arm: Arm) -> tuple[float, ...]:
    return tuple(saving.share for saving in savings if (saving.model, saving.strategy) == arm)


def _median_share(shares: Sequence[float]) -> float:
    """Between a set that was reached and one that never was, never: what was not seen is not promised."""
    if not shares:
        return nan
    shares = sorted(shares)
    low, high = shares[(len(shares) - 1) // 2], shares[len(shares) // 2]
    return inf if high == inf else (low + high) / 2


def _mean(values: Iterable[float]) -> float:
    """Of those that are known."""
    known = [value for value in values if not isnan(value)]
    return float(np.mean(known)) if known else nan


def _by_seed(of_arm: Table, column: str) -> FloatArray:
    """One row per seed, one column per evaluation."""
    return np.stack([of_arm.where(seed=seed)[column].astype(float) for (seed,) in of_arm.distinct("seed")])
