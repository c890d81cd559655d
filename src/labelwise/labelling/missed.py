"""How often people miss labels when they pick: counted from their votes, kept with a training, read by the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from labelwise.labelling.store.labels import StoredLabels
from labelwise.labelling.store.schema import NO, YES
from labelwise.labelling.store.trainings import last_good
from labelwise.records.missed import PickCounts, worth_verifying

if TYPE_CHECKING:
    from labelwise.labelling.training.votes import ItemVotes

FloatArray = npt.NDArray[np.float64]
NEVER_ASKED = int(np.iinfo(np.int64).max)  # later than any question
Counts = dict[str, npt.NDArray[np.int64]]  # by person, (2, q): missed, found


def picks_of_item(of_item: ItemVotes, since: Mapping[str, int]) -> Counts:
    """Labels that an item has: missed and found by each person who picked its labels and was checked.

    Several labels in a person's first answer, verified ones included, were picked. It was checked where the person said
    more of the item later (labels to verify, corrections), or where somebody else answered. It was also checked where
    it came after the first event by which the person verified labels, which is in `since`. What was likely was then
    picked, or asked about, unless the item is of the random share. What came with the item does not count.
    """
    unread = of_item.given | of_item.swept  # nobody picked these
    asked = np.where(unread, 0, of_item.events)  # (people, q) number of the event, 0 where nothing was said
    n_people = int((asked > 0).any(axis=1).sum())
    counts: Counts = {}
    for who, row in of_item.people.items():
        said = asked[row] > 0
        first = int(asked[row].min(initial=NEVER_ASKED, where=said))
        at_first = said & (asked[row] == first)
        later = said & ~at_first
        was_asked = NEVER_ASKED > first > since.get(who, NEVER_ASKED) and not of_item.is_random.any()
        is_checked = later.any() or n_people > 1 or was_asked
        if (at_first | of_item.verifies[row]).sum() < 2 or not is_checked:
            continue
        there, value = of_item.known == YES, of_item.values[row]
        picked = there & at_first & (value == YES)
        missed = there & ((at_first & (value == NO)) | (later & (value == YES)))
        counts[who] = np.stack([missed, picked]).astype(np.int64)
    return counts


def as_report(counts: Counts, labels: StoredLabels) -> dict[str, dict[str, list[int]]]:
    """Counts as a training keeps them: by person and number of the label, those that are not 0."""
    report = {}
    for who, table in sorted(counts.items()):
        some = np.flatnonzero(table.any(axis=0)).tolist()
        if some:
            report[who] = {str(labels.ids[column]): table[:, column].tolist() for column in some}
    return report


@dataclass(frozen=True, eq=False)
class MissRates:
    """What a training knows of missed labels: counts of people and labels, and how common labels are."""

    people: tuple[str, ...]
    label_names: tuple[str, ...]
    counts: PickCounts  # (people, q)
    base_rates: FloatArray  # (q,)

    @classmethod
    def read(cls, report: Mapping[str, Any], labels: StoredLabels) -> MissRates:
        """From the report of a training; labels that are gone since are left out, those that are new are rare."""
        picks, examples = report.get("picks", {}), report.get("examples", {})
        table = np.zeros((len(picks), 2, len(labels.ids)), dtype=np.int64)
        for person, of_person in enumerate(picks.values()):
            for label, both in of_person.items():
                column = labels.column_of.get(int(label))
                if column is not None:
                    table[person, :, column] = both
        rates = examples.get("rates", {})
        base_rates = np.array([rates.get(str(label), 1 / len(labels.ids)) for label in labels.ids])
        return cls(tuple(picks), tuple(labels.names), PickCounts(table[:, 0], table[:, 1]), base_rates)

    def of(self, who: str) -> FloatArray:
        """(q,) miss rate of each label, as far as this person's picks were checked; else of everybody's."""
        if who in self.people:
            return self.counts.by_label()[self.people.index(who)]
        return np.full(len(self.label_names), self.counts.overall()[0])

    def to_verify(self, who: str, beliefs: Mapping[str, float]) -> tuple[str, ...]:
        """The labels to ask a person about if they are not picked, of those that there are beliefs of."""
        p = np.array([beliefs.get(name, np.nan) for name in self.label_names])
        worth = worth_verifying(p, self.of(who), self.base_rates)
        return tuple(self.label_names[place] for place in worth.tolist())


class LatestMissRates:
    """The rates of the last good training, looked up at most once a second."""

    def __init__(self) -> None:
        self._read: tuple[float, MissRates] | None = None

    def latest(self, connection: sa.Connection, labels: StoredLabels, now: float) -> MissRates:
        if self._read is None or now >= self._read[0] + 1.0 or self._read[1].label_names != labels.names:
            good = last_good(connection)
            self._read = (now, MissRates.read({} if good is None else good.report or {}, labels))
        return self._read[1]
