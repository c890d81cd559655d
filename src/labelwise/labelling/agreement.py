"""How far people agree, beyond what chance would give: Krippendorff's alpha of each label."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


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
    a, b = np.asarray(yes, dtype=np.float64), np.asarray(no, dtype=np.float64)
    paired = a + b >= 2
    a, b = a[paired], b[paired]
    total = a.sum() + b.sum()
    expected = a.sum() * b.sum() / max(total - 1, 1.0)
    if expected == 0:
        return float("nan")
    observed = (a * b / (a + b - 1)).sum()
    return float(1 - observed / expected)
