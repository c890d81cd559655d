"""How far people agree, beyond what chance would give: Krippendorff's alpha of each label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def krippendorff_alpha(yes: npt.ArrayLike, no: npt.ArrayLike) -> float:
    """Krippendorff's α of one yes/no label from the numbers of yes and no that each item was given.

    1 is agreement, 0 what chance gives, below 0 is systematic disagreement. Items with a single answer say nothing
    of agreement and are left out. NaN where no item has two answers, or where all answers are the same: then there is
    nothing to be told apart.

    Parameters
    ----------
    yes, no : (n,) counts per item

    Examples
    --------
    >>> krippendorff_alpha([2, 0, 2], [0, 2, 0])
    1.0
    >>> round(krippendorff_alpha([2, 1, 0], [0, 1, 2]), 3)
    0.444

    References
    ----------
    Krippendorff, Content Analysis, 2004, chapter 11: observed over expected disagreement of the coincidence matrix.
    """
    return float(alpha_of_sums(*(part.sum() for part in item_parts(np.asarray(yes), np.asarray(no)))))


def item_parts(yes: npt.NDArray[Any], no: npt.NDArray[Any]) -> tuple[Floats, Floats, Floats]:
    """What each item adds: its yes, its no, and its observed disagreement; nothing while it has a single answer."""
    number = yes + no
    paired = number >= 2
    differ = yes * no / np.maximum(number - 1, 1)
    return yes * paired * 1.0, no * paired * 1.0, differ * paired


def alpha_of_sums(yes: npt.ArrayLike, no: npt.ArrayLike, differ: npt.ArrayLike) -> Floats:
    """Krippendorff's α from the sums of `item_parts` over items; NaN where nobody could have disagreed."""
    a, b, observed = (np.asarray(part, dtype=np.float64) for part in (yes, no, differ))
    expected = a * b / np.maximum(a + b - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(expected > 1e-12, 1 - observed / expected, np.nan)
