"""How many labels a strategy needs to reach what random questions reach at the end."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isinf

import numpy as np
import numpy.typing as npt

from labelwise.experiments.metrics import LOWER_IS_BETTER
from labelwise.experiments.statistics import Currency, Curve, learning_curves
from labelwise.experiments.tables import Table


@dataclass(frozen=True)
class Saving:
    """What one model with one strategy needs on one set, against a reference on the same set.

    Parameters
    ----------
    level : float
        The score of the reference at its end, mean over seeds.
    needed : float
        Items or answers at which the mean curve first reaches it, by straight lines between evaluations; infinite
        where it never does.
    spent : float
        What the reference had spent at its end.
    """

    data: str
    model: str
    strategy: str
    reference: tuple[str, str]
    level: float
    needed: float
    spent: float

    @property
    def share(self) -> float:
        """`needed` as a share of `spent`: 0.4 saves 60 %; infinite where the level was never reached."""
        return self.needed / self.spent

    @property
    def reached(self) -> bool:
        return not isinf(self.needed)


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


def label_savings(table: Table, metric: str, currency: Currency = "answers", reference: str = "random") -> list[Saving]:
    """Every model and strategy on every set against `reference` with the same model; sets without it are left out.

    Curves are averaged over seeds first: a single one crosses any level early by luck. The reference itself is listed,
    too; where its own curve is not rising to the end it needs less than all it spent, which shows how far to trust
    the others' shares.
    """
    sense = -1 if metric in LOWER_IS_BETTER else 1
    found = []
    for (data,) in table.distinct("data"):
        curves = {(c.model, c.strategy): c for c in learning_curves(table.where(data=data), metric, currency)}
        for (model, strategy), curve in curves.items():
            rival = curves.get((model, reference))
            if rival is not None and np.isfinite(sense * rival.mean[-1]):
                found.append(_saving(data, (model, strategy), curve, rival, sense))
    return found


def _saving(data: str, arm: tuple[str, str], curve: Curve, rival: Curve, sense: int) -> Saving:
    level = float(rival.mean[-1])
    needed = cost_to_reach(curve.cost, sense * curve.mean, sense * level)
    return Saving(data, *arm, (rival.model, rival.strategy), level, needed, float(rival.cost[-1]))
