"""Running counts of what was said: of each label, and how far people agree. Each vote costs one step, not a recount."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from labelwise.labelling.figures.agreement import Floats, alpha_of_sums, item_parts
from labelwise.labelling.store.schema import NO, UNSURE, YES

if TYPE_CHECKING:
    from labelwise.labelling.training.votes import ItemVotes

Columns = npt.NDArray[np.intp]


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
            both = asked & (said >= 0)
            if other == who or not both.any():
                continue
            mine, theirs = values[both] == YES, said[both] == YES
            first, second = sorted((who, other))
            counts = self.pairs.setdefault((first, second), PairCounts())
            counts.both += int(both.sum())
            counts.same += int((mine == theirs).sum())
            counts.yes_first += int((mine if first == who else theirs).sum())
            counts.yes_second += int((theirs if first == who else mine).sum())

    def alphas(self) -> Floats:
        """(q,) Krippendorff's α of each label; NaN where nobody could have disagreed."""
        return alpha_of_sums(self._yes, self._no, self._differ)
