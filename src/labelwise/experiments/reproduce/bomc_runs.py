"""Paper 5, BOMC (AISTATS 2010): the outcomes of its jobs by set, learner and rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelwise.experiments.jobs import Outcome
from labelwise.experiments.report import Cell
from labelwise.experiments.reproduce.bomc import BAYES
from labelwise.experiments.reproduce.bomc_figures import Line
from labelwise.experiments.statistics import Estimate, paired_difference

PUBLISHED = ", as published"
MASS, EXPECTED, SAMPLED, TUNED = "class mass", "expected F1", "expected F1, 5 samples", "cross-validated"


def distinct(runs: Sequence[Outcome], key: str) -> list[str]:
    return list(dict.fromkeys(run[key] for run in runs))


def select(runs: Sequence[Outcome], name: str, learner: str) -> list[Outcome]:
    return [run for run in runs if run["set"] == name and run["learner"] == learner]


def rules(learner: str) -> tuple[str, ...]:
    return (MASS, EXPECTED, SAMPLED) if learner in BAYES else (MASS, TUNED)


def rows_of(runs: Sequence[Outcome], name: str) -> np.ndarray:
    return np.array(next(run["rows"] for run in runs if run["set"] == name), dtype=float)


def scores_of(runs: Sequence[Outcome], rule: str) -> np.ndarray:
    return np.array([[part[rule] for part in run["f1"]] for run in runs])  # (splits, sizes)


def line_of(runs: Sequence[Outcome], learner: str, rule: str) -> Line:
    return Line(learner, np.array(runs[0]["rows"], dtype=float), scores_of(runs, rule))


def stages(sizes: int) -> list[int]:
    """Which of so many numbers of rows the tables show."""
    return sorted({0, sizes // 2, sizes - 1})


def stage_names(runs: Sequence[Outcome]) -> list[str]:
    middle = ["middle"] if max(len(run["rows"]) for run in runs) > 2 else []
    return ["fewest rows", *middle, "all rows"]


def f1_cells(runs: Sequence[Outcome], rule: str) -> list[Cell]:
    values = scores_of(runs, rule)
    return [Cell(with_error(values[:, at])) for at in stages(values.shape[1])]


def mean_of(runs: Sequence[Outcome], key: str, rule: str) -> float:
    return float(np.mean([run[key][rule] for run in runs]))


def gain(runs: Sequence[Outcome], name: str, left: tuple[str, str], right: tuple[str, str], at: int = -1) -> Estimate:
    """Of two (learner, rule) pairs on a set, split by split, after all rows or the fewest."""
    sides = [{r["seed"]: r["f1"][at][rule] for r in select(runs, name, learner)} for learner, rule in (left, right)]
    return paired_difference(*sides)


def with_error(values: Sequence[float] | np.ndarray, form: str = ".3f", digits: int = 3) -> str:
    estimate = Estimate.of(values)
    error = "" if np.isnan(estimate.standard_error) else f" ± {estimate.standard_error:.{digits}f}"
    return f"{estimate.value:{form}}{error}"
