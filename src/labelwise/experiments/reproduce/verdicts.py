"""From differences to words: what several sets say together about a claim."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labelwise.experiments.reproduce.claims import Verdict
from labelwise.experiments.statistics import Estimate

POINTS = 100  # scores are shares; differences are told in points, hundredths


def points(difference: Estimate) -> str:
    error = "" if np.isnan(difference.standard_error) else f" ± {POINTS * difference.standard_error:.1f}"
    return f"{POINTS * difference.value:+.1f}{error} points"


def told(differences: Sequence[Estimate]) -> str:
    """Of several sets: each difference in points, and how many are beyond noise."""
    better, worse = (sum(d.sign == sign for d in differences) for sign in (1, -1))
    values = ", ".join(f"{POINTS * d.value:+.1f}" for d in differences)
    return f"{values} points; beyond noise better on {better}, worse on {worse} of {len(differences)} sets"


def beats(differences: Sequence[Estimate]) -> Verdict:
    """Whether all, some or none of the differences are positive beyond noise."""
    signs = [difference.sign for difference in differences]
    if all(sign > 0 for sign in signs):
        return "holds"
    if any(sign > 0 for sign in signs):
        return "holds in part"
    hopeful = all(sign == 0 for sign in signs) and np.mean([difference.value for difference in differences]) > 0
    return "undecided" if hopeful else "does not hold"


def not_worse(differences: Sequence[Estimate]) -> Verdict:
    """Whether none, some or all of the differences are negative beyond noise."""
    worse = [difference.sign < 0 for difference in differences]
    return "holds" if not any(worse) else "does not hold" if all(worse) else "holds in part"
