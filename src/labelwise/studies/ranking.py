"""Who is best over several sets: ranks, whether they differ at all, and which differences noise cannot explain.

A set is one observation, whatever the number of seeds behind it: seeds of one set are not independent evidence about
the next set. Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2, rankdata, studentized_range, wilcoxon

from labelwise.posterior import FloatArray

ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Ranking:
    """Mean ranks over sets, 1 being the best, and how far apart they must be to differ beyond noise.

    Parameters
    ----------
    names : what was ranked, in the order given
    mean_ranks : (k,)
    n_sets : int
        Sets behind the ranks; those where somebody's score is unknown are left out.
    p_value : float
        Friedman's: how likely ranks differ as much where all are equally good; NaN below two sets.
    critical_difference : float
        Nemenyi's: two that are closer than this do not differ at the 5 % level; infinite below two sets.

    Examples
    --------
    >>> ranked = rank_over_sets(["a", "b"], [[0.9, 0.8], [0.7, 0.6], [0.5, 0.5]])
    >>> ranked.mean_ranks
    array([1.16666667, 1.83333333])
    >>> round(ranked.critical_difference, 3), ranked.best_first()
    (1.132, ['a', 'b'])
    """

    names: tuple[str, ...]
    mean_ranks: FloatArray
    n_sets: int
    p_value: float
    critical_difference: float

    def best_first(self) -> list[str]:
        return [self.names[place] for place in np.argsort(self.mean_ranks, kind="stable")]

    def groups(self) -> list[tuple[str, ...]]:
        """The largest runs of neighbours, best first, within one critical difference; single ones are left out."""
        order = np.argsort(self.mean_ranks, kind="stable")
        ranks = self.mean_ranks[order]
        ends = np.searchsorted(ranks, ranks + self.critical_difference, side="right")
        found, reached = [], 0
        for start, end in enumerate(ends.tolist()):
            if end > reached and end - start > 1:
                found.append(tuple(self.names[place] for place in order[start:end]))
            reached = max(reached, end)
        return found


def rank_over_sets(names: Sequence[str], scores: npt.ArrayLike) -> Ranking:
    """Rank what is named by its scores, (sets, k), higher being better; ties share the mean of their ranks."""
    values = np.atleast_2d(np.asarray(scores, dtype=float))
    if values.shape[1] != len(names) or len(names) < 2:
        raise ValueError(f"{len(names)} names need as many columns of scores and at least two, got {values.shape}")
    values = values[np.isfinite(values).all(1)]
    ranks = rankdata(-values, axis=1) if values.size else np.full((0, len(names)), nan)  # (sets, k)
    n_sets = len(ranks)
    mean_ranks = ranks.mean(0) if n_sets else np.full(len(names), nan)
    return Ranking(tuple(names), mean_ranks, n_sets, _friedman(ranks), critical_difference(len(names), n_sets))


def critical_difference(k: int, n_sets: int, alpha: float = ALPHA) -> float:
    """Nemenyi's critical difference of mean ranks: q_α √(k (k + 1) / 6N), q_α from the studentised range over √2."""
    if n_sets < 2:
        return inf
    return float(studentized_range.ppf(1 - alpha, k, np.inf)) / sqrt(2) * sqrt(k * (k + 1) / (6 * n_sets))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: among many tests, the chance of even one false alarm stays below the level.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted.round(12).tolist()


def signed_rank_p(differences: npt.ArrayLike) -> float:
    """Wilcoxon's signed-rank test, two-sided and exact for few sets: could the differences as well be turned around?

    Unlike mean ranks it does not depend on who else takes part. Sets where both are equal say nothing; 1 where all are.
    """
    values = np.asarray(differences, dtype=float)
    values = values[np.isfinite(values) & (values != 0)]
    if values.size == 0:
        return 1.0
    return float(wilcoxon(values, method="exact" if values.size <= 50 else "approx").pvalue)


def _friedman(ranks: FloatArray) -> float:
    """p-value of Friedman's test, χ² with k − 1 degrees of freedom, corrected for ties."""
    n, k = ranks.shape
    if n < 2:
        return nan
    within = np.sum((ranks - (k + 1) / 2) ** 2) / (n * (k - 1))  # k (k + 1) / 12 without ties
    if within == 0:
        return 1.0
    between = n * np.sum((ranks.mean(0) - (k + 1) / 2) ** 2)
    return float(chi2.sf(between / within, k - 1))
