"""Feature penalty and number of sweeps, chosen by labels and items that are hidden from the fit for the purpose."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.models.factors.training import (
    FactorProblem,
    FactorSettings,
    Learnt,
    first_factors,
    prepare_fit,
    sweeps,
    transfer,
    with_feature_penalty,
)
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.metrics import precision_at

PENALTIES = {"map": (0.15, 0.5, 1.5, 5.0), "variational": (0.02, 0.06, 0.2, 0.6)}  # × mean squared length of a row
SWEEPS = {"map": (5, 10, 20, 40), "variational": (40,)}  # beliefs do not overfit: nothing is gained by stopping early
FALLBACK = {"map": (0.5, 20), "variational": (0.1, 40)}
FEWEST_LABELS = 8  # below, hiding half of them says nothing
FEWEST_ITEMS = 20
HELD_OUT = 5  # one item in so many
PAPER_PRECISION_AT = (1, 3, 5)  # precision@k for the k that the paper reports


@dataclass(frozen=True)
class FactorChoice:
    """The feature penalty and the number of sweeps to use, and what each candidate scored."""

    penalty: float
    n_iterations: int
    scores: dict[tuple[float, int], float]


def choose(model: Any, problem: FactorProblem, settings: FactorSettings) -> FactorChoice:
    """Penalty and sweeps as the parameters have them; "auto" by hiding, or by habit where that is impossible."""
    unit = problem.scale()
    free = model.feature_penalty == "auto", model.n_iterations == "auto"
    penalties = tuple(unit * p for p in PENALTIES[settings.inference]) if free[0] else (float(model.feature_penalty),)
    n_sweeps = SWEEPS[settings.inference] if free[1] else (int(model.n_iterations),)
    if not any(free):
        return FactorChoice(penalties[0], n_sweeps[0], {})
    chosen = choose_by_hiding(problem, settings, penalties, n_sweeps, model.n_trials, model._generator())
    if chosen is not None:
        return chosen
    if problem.n_unseen:
        n, labels = problem.Y.shape
        warnings.warn(
            f"{labels} labels with answers and {n} items are too few to choose feature_penalty and n_iterations by "
            f"({FEWEST_LABELS} and {FEWEST_ITEMS} are needed); usual values are used, or give them",
            stacklevel=5,  # the caller of fit
        )
    usual = FALLBACK[settings.inference]
    return FactorChoice(unit * usual[0] if free[0] else penalties[0], usual[1] if free[1] else n_sweeps[0], {})


def choose_by_hiding(
    problem: FactorProblem,
    settings: FactorSettings,
    penalties: tuple[float, ...],
    n_sweeps: tuple[int, ...],
    n_trials: int,
    rng: np.random.Generator,
) -> FactorChoice | None:
    """The best of the grid on a fifth of the items; None where there is too little to hide.

    Where there are labels to be learnt from counts alone, half of the seen ones are hidden too, and the precision
    among those plus that among all labels decides; otherwise the log-likelihood of the held-out answers does.
    """
    n, s = problem.Y.shape
    among_unseen = problem.n_unseen > 0
    if n < FEWEST_ITEMS or (among_unseen and s < FEWEST_LABELS):
        return None
    scores: dict[tuple[float, int], list[float]] = {(p, t): [] for p in penalties for t in n_sweeps}
    for _ in range(n_trials if among_unseen else 1):  # all answers of a fifth of the items are enough to go by
        items = rng.permutation(n)[: n // HELD_OUT]
        labels = np.sort(rng.permutation(s)[: s // 2]) if among_unseen else np.empty(0, dtype=np.intp)
        trial = problem.hide(items, labels)
        for penalty in penalties:
            own = with_feature_penalty(settings, penalty)
            for step, value in _try(problem, trial, items, labels, own, n_sweeps).items():
                scores[penalty, step].append(value)
    means = {key: float(np.mean(values)) for key, values in scores.items()}
    best = max(means, key=lambda key: (means[key], key[0], -key[1]))  # ties: the stronger penalty, the fewer sweeps
    return FactorChoice(best[0], best[1], means)


def _try(
    problem: FactorProblem,
    trial: FactorProblem,
    items: IntArray,
    labels: IntArray,
    settings: FactorSettings,
    n_sweeps: tuple[int, ...],
) -> dict[int, float]:
    """The score on what was hidden from a trial after each of these numbers of sweeps."""
    kept = np.delete(np.arange(problem.Y.shape[1]), labels)
    order = np.concatenate([kept, labels])
    truth, known = problem.Y[np.ix_(items, order)], problem.observed[np.ix_(items, order)]
    fit = prepare_fit(trial, settings)
    found = {}
    for step, factors in enumerate(sweeps(settings, fit, first_factors(trial, settings, fit), max(n_sweeps)), 1):
        if step not in n_sweeps:
            continue
        scores = Learnt(fit, factors, transfer(settings, fit, factors)).scores(problem.X[items])  # (held, s)
        if labels.size:
            hidden = slice(kept.size, None)
            found[step] = mean_precision(scores, truth, known)
            found[step] += mean_precision(scores[:, hidden], truth[:, hidden], known[:, hidden])
        else:
            found[step] = float((scores * truth - np.logaddexp(0, scores))[known].mean())
    return found


def mean_precision(scores: FloatArray, truth: BoolArray, known: BoolArray) -> float:
    """The mean of precision at 1, 3 and 5 among the entries that are known."""
    scores, truth = np.where(known, scores, -np.inf), truth & known
    return float(np.mean([precision_at(scores, truth, k) for k in PAPER_PRECISION_AT if k <= scores.shape[1]]))
