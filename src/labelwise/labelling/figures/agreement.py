"""How far people agree, beyond what chance would give: Krippendorff's alpha, Cohen's kappa, and counts for both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from labelwise.labelling.store.schema import NO, UNSURE, YES

if TYPE_CHECKING:
    from labelwise.labelling.training.votes import ItemVotes

Floats = npt.NDArray[np.float64]
Columns = npt.NDArray[np.intp]


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


# -- running counts: each vote costs one step, not a recount ----------------------------------------------------------


@dataclass
class PairCounts:
    """Two people on the same labels of the same items: how often both said yes or no, the same, and yes each."""

    both: int = 0
    same: int = 0
    yes_first: int = 0
    yes_second: int = 0

    @property
    def kappa(self) -> float | None:
        """Cohen's κ: agreement beyond what the two shares of yes would give by chance; None where it is undefined."""
        if self.both == 0:
            return None
        first, second = self.yes_first / self.both, self.yes_second / self.both
        by_chance = first * second + (1 - first) * (1 - second)
        return None if by_chance == 1 else (self.same / self.both - by_chance) / (1 - by_chance)


class Tally:
    """Counts per label and per pair of people, kept up vote by vote.

    Parameters
    ----------
    q : int
        Labels.

    Attributes
    ----------
    said : (3, q) how often each label was answered yes, no and unsure
    pairs : counts of each two people who answered the same, names in order

    References
    ----------
    Krippendorff, Content Analysis, 2004, chapter 11; see `labelwise.labelling.figures.agreement`.
    """

    def __init__(self, q: int) -> None:
        self.said = np.zeros((3, q), dtype=np.int64)
        self.pairs: dict[tuple[str, str], PairCounts] = {}
        self._yes, self._no, self._differ = np.zeros((3, q))  # over items with two answers or more

    def add(self, of_item: ItemVotes, who: str, columns: Columns, values: npt.NDArray[Any]) -> None:
        """One person's new votes on labels of an item; `of_item` has what the others said before."""
        for row, code in enumerate((YES, NO, UNSURE)):
            self.said[row, columns] += values == code
        others = of_item.values[:, columns]  # (people, k)
        yes, no = (others == YES).sum(0), (others == NO).sum(0)
        if (yes + no).any():
            before, after = item_parts(yes, no), item_parts(yes + (values == YES), no + (values == NO))
            for total, was, now in zip((self._yes, self._no, self._differ), before, after, strict=True):
                total[columns] += now - was
            self._add_pairs(of_item, who, columns, values)

    def _add_pairs(self, of_item: ItemVotes, who: str, columns: Columns, values: npt.NDArray[Any]) -> None:
        asked = (values >= 0) & ~of_item.given[columns]
        for other, row in of_item.people.items():
            said = of_item.values[row, columns]
            is_common = asked & (said >= 0)
            if other == who or not is_common.any():
                continue
            mine, theirs = values[is_common] == YES, said[is_common] == YES
            first, second = sorted((who, other))
            counts = self.pairs.setdefault((first, second), PairCounts())
            counts.both += int(is_common.sum())
            counts.same += int((mine == theirs).sum())
            counts.yes_first += int((mine if first == who else theirs).sum())
            counts.yes_second += int((theirs if first == who else mine).sum())

    def alphas(self) -> Floats:
        """(q,) Krippendorff's α of each label; NaN where nobody could have disagreed."""
        return alpha_of_sums(self._yes, self._no, self._differ)
