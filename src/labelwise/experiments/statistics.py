"""From the table of a study to curves, areas and differences, each with how far it can be trusted.

The runs of one seed share their test set and their start, so strategies are compared seed by seed: what the seeds have
in common cancels, and the error of a difference is far smaller than that of either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import Literal

import numpy as np
from scipy.stats import norm as normal
from scipy.stats import t as student

from labelwise.experiments.metrics import LOWER_IS_BETTER
from labelwise.experiments.tables import Table
from labelwise.posterior import FloatArray

Currency = Literal["items_read", "answers", "cost"]
LEVEL = 0.95  # of every interval
RESAMPLES = 4000  # of a bootstrap


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
        reach = error * float(student.ppf(0.5 + LEVEL / 2, n - 1)) if n > 1 else nan
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


@dataclass(frozen=True)
class Comparison:
    """One model with one strategy on one metric: its area, where it ended, and by how much it differs from random.

    `area` is the mean over all evaluations of a run, `final` the last evaluation. `difference` is area minus the area
    of the `control` with the same model and seed; None for the control itself and where the study has no control.
    """

    model: str
    strategy: str
    metric: str
    area: Estimate
    final: Estimate
    control: str
    difference: Estimate | None

    @property
    def verdict(self) -> Literal["better", "worse", "no difference", "one seed", "control", "no control"]:
        """Against random, on this metric; a difference counts only where its interval leaves out zero."""
        if self.difference is None:
            return "control" if self.strategy == self.control else "no control"
        if isnan(self.difference.standard_error):
            return "one seed"
        gain = self.difference.sign * (-1 if self.metric in LOWER_IS_BETTER else 1)
        return "better" if gain > 0 else "worse" if gain < 0 else "no difference"


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


def compare(table: Table, metrics: Sequence[str]) -> list[Comparison]:
    """Every model and strategy on every metric, metric by metric."""
    return [
        _comparison(table, metric, model, strategy, control)
        for metric in metrics
        for model, strategy, control in table.distinct("model", "strategy", "control")
    ]


def areas(table: Table, metric: str, model: str, strategy: str) -> dict[int, float]:
    """Seed to area under the learning curve, as the mean over its evaluations."""
    of_arm = table.where(model=model, strategy=strategy)
    return {seed: float(of_arm.where(seed=seed)[metric].mean()) for (seed,) in of_arm.distinct("seed")}


def paired_difference(left: dict[int, float], right: dict[int, float]) -> Estimate:
    """Left minus right over the seeds both have.

    >>> paired_difference({0: 0.7, 1: 0.9}, {0: 0.6, 1: 0.8}).value.__round__(6)
    0.1
    """
    shared = [seed for seed in left if seed in right]
    return Estimate.of(left[seed] - right[seed] for seed in shared)


def paired_bootstrap(
    groups: Sequence[Sequence[float]], rng: np.random.Generator, resamples: int = RESAMPLES
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
    outside = float(normal.sf(sqrt(n / (n - 1)) * student.ppf(0.5 + LEVEL / 2, n - 1)))  # on either side
    low, high = np.quantile(sample, [outside, 1 - outside])
    return Estimate(mean, float(sample.std()), float(low), float(high), k)


def clear_winner(table: Table, metric: str, arms: Sequence[tuple[str, str]]) -> tuple[str, str] | None:
    """The (model, strategy) that beats each of the others beyond noise, seed by seed; None where none does."""
    if len(arms) < 2:
        return None
    sense = -1 if metric in LOWER_IS_BETTER else 1
    by_arm = {arm: areas(table, metric, *arm) for arm in arms}
    best = max(arms, key=lambda arm: sense * np.mean(list(by_arm[arm].values())))
    others = (paired_difference(by_arm[best], by_arm[arm]) for arm in arms if arm != best)
    return best if all(sense * difference.sign > 0 for difference in others) else None


def _comparison(table: Table, metric: str, model: str, strategy: str, control: str) -> Comparison:
    own = areas(table, metric, model, strategy)
    last = _by_seed(table.where(model=model, strategy=strategy), metric)[:, -1]
    has_control = strategy != control and (model, control) in table.distinct("model", "strategy")
    difference = paired_difference(own, areas(table, metric, model, control)) if has_control else None
    return Comparison(model, strategy, metric, Estimate.of(own.values()), Estimate.of(last), control, difference)


def _by_seed(of_arm: Table, column: str) -> FloatArray:
    """One row per seed, one column per evaluation."""
    return np.stack([of_arm.where(seed=seed)[column].astype(float) for (seed,) in of_arm.distinct("seed")])
