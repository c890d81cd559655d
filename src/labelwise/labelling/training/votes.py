"""From the votes of people to what is known, and to the answers that a campaign learns from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from labelwise.labelling.figures.agreement import Tally
from labelwise.labelling.missed import Counts, picks_of_item
from labelwise.labelling.records import GIVEN, SETTLED
from labelwise.labelling.store.events import Votes
from labelwise.labelling.store.labels import StoredLabels
from labelwise.labelling.store.schema import NO, YES
from labelwise.records.asking import CONTROL, SWEEP, VERIFY, Answer
from labelwise.records.label_tree import LabelTree

SAID_NOTHING, UNKNOWN = -2, -1  # a person said nothing of a label; nothing is known of it (nobody said yes or no)

Codes = npt.NDArray[np.int8]


@dataclass
class ItemVotes:
    """Everything said of one item: a row per person."""

    people: dict[str, int]
    values: Codes  # (people, q): SAID_NOTHING, UNSURE, NO or YES
    events: npt.NDArray[np.int64]  # (people, q): when it was said, by the number of the event
    known: Codes  # (q,): UNKNOWN, NO or YES
    given: npt.NDArray[np.bool_]  # (q,): came with the item
    is_random: npt.NDArray[np.bool_]  # (q,): first asked in the random share
    settles: npt.NDArray[np.bool_]  # (people, q): said to settle the label
    verifies: npt.NDArray[np.bool_]  # (people, q): not picked, and asked about once more
    swept: npt.NDArray[np.bool_]  # (people, q): said in a sweep of one label over many items

    @classmethod
    def none(cls, q: int) -> ItemVotes:
        flags = np.zeros(q, dtype=bool)
        none, numbers = np.zeros((0, q), dtype=np.int8), np.zeros((0, q), dtype=np.int64)
        nobody = [none.astype(bool) for _ in range(3)]
        return cls({}, none, numbers, np.full(q, UNKNOWN, np.int8), flags, flags.copy(), *nobody)

    def row_of(self, who: str) -> int:
        if who not in self.people:
            self.people[who] = len(self.people)
            q = self.known.size
            self.values = np.vstack([self.values, np.full((1, q), SAID_NOTHING, np.int8)])
            self.events = np.vstack([self.events, np.zeros((1, q), np.int64)])
            for name in ("settles", "verifies", "swept"):
                setattr(self, name, np.vstack([getattr(self, name), np.zeros((1, q), bool)]))
        return self.people[who]

    def majority(self) -> Codes:
        """(q,) the latest settled answer, else that of the majority, and at equal numbers the latest answer."""
        yes, no = ((self.values == value).sum(0) for value in (YES, NO))
        said = self.values >= 0
        settled = said & self.settles
        counts = np.where(settled.any(0), settled, said)
        last = np.where(counts, self.events, -1).argmax(0)
        standing = np.where(said.any(0), self.values[last, np.arange(last.size)], UNKNOWN)
        by_count = np.where(yes > no, YES, np.where(no > yes, NO, standing))
        return np.where(settled.any(0), standing, by_count).astype(np.int8)

    def voters(self) -> npt.NDArray[np.intp]:
        """(q,) how many people have said anything of each label."""
        return (self.values != SAID_NOTHING).sum(0)

    def read_by(self) -> npt.NDArray[np.bool_]:
        """(people,) who read the item and said something of it; a sweep asks about one label at a glance."""
        return ((self.values != SAID_NOTHING) & ~self.swept & ~self.given).any(1)


class History:
    """The votes so far, by item, and the answers a campaign would have been told.

    `add` takes votes in the order of their events. A person's vote replaces an earlier one of theirs only in a history
    built anew from each person's last word. Then the same votes give the same answers, whenever they came.
    """

    def __init__(self, labels: StoredLabels, names: dict[int, str], tree: LabelTree | None = None) -> None:
        self.labels = labels
        self.tree = tree  # where a label implies its parent: what is known of an item keeps to it, and yes wins
        self.names = names
        self.items: dict[int, ItemVotes] = {}
        self.answers: list[Answer] = []
        self.n_given = 0
        self.tally = Tally(len(labels.ids))
        self._verifies_since: dict[str, int] = {}  # the first event by which a person verified labels
        self.picks: Counts = {}  # labels missed and found by picking, where that was checked
        self._column_of = labels.column_of

    def add(self, votes: Votes) -> list[Answer] | None:
        """Take in more votes; the answers they make, or None where the history must be built anew."""
        began = len(self.answers)
        for part in _by_event(votes):
            if not self._add_event(votes, part):
                return None
        return self.answers[began:]

    def _add_event(self, votes: Votes, part: slice) -> bool:
        columns = np.array([self._column_of.get(label, -1) for label in votes.label[part].tolist()], dtype=np.intp)
        used = columns >= 0
        columns, values = columns[used], votes.value[part][used]
        if columns.size == 0:
            return True
        item, reason, who = int(votes.item[part.start]), votes.reason[part.start], votes.who[part.start]
        of_item = self.items.setdefault(item, ItemVotes.none(len(self.labels.ids)))
        self._count_picks(of_item, -1)
        fresh = columns[of_item.voters()[columns] == 0]
        of_item.given[fresh], of_item.is_random[fresh] = reason == GIVEN, reason == CONTROL
        self.n_given += fresh.size if reason == GIVEN else 0
        person = of_item.row_of(who)
        if (of_item.values[person, columns] != SAID_NOTHING).any():
            return False
        self.tally.add(of_item, who, columns, values)
        of_item.values[person, columns], of_item.events[person, columns] = values, votes.event[part.start]
        of_item.settles[person, columns], of_item.verifies[person, columns] = reason == SETTLED, reason == VERIFY
        of_item.swept[person, columns] = reason == SWEEP
        before, of_item.known = of_item.known, self._closed(of_item.majority())
        if reason == VERIFY:
            self._verifies_since.setdefault(who, int(votes.event[part.start]))
        self._count_picks(of_item, 1)
        self._tell(item, of_item, before, reason)
        return True

    def _closed(self, known: Codes) -> Codes:
        if self.tree is None:
            return known
        yes, no = self.tree.close(known == YES, known == NO)
        return np.where(yes, YES, np.where(no, NO, known)).astype(np.int8)

    def _count_picks(self, of_item: ItemVotes, sign: int) -> None:
        for who, table in picks_of_item(of_item, self._verifies_since).items():
            self.picks[who] = self.picks.get(who, np.zeros_like(table)) + sign * table

    def _tell(self, item: int, of_item: ItemVotes, before: Codes, reason: str) -> None:
        """What the campaign learns of it: what is new, unless it came with the items."""
        news = np.flatnonzero((of_item.known != before) & ~of_item.given)
        if news.size and reason != GIVEN:  # what follows from labels that came with an item came with it
            values = {self.labels.names[column]: bool(of_item.known[column]) for column in news.tolist()}
            corrects = bool((before[news] != UNKNOWN).any())
            self.answers.append(Answer(self.names[item], values, reason, correction=corrects))

    def table(self, ids: tuple[int, ...], which: str = "known") -> tuple[npt.NDArray[np.intp], Codes]:
        """Rows (among `ids`) and codes (rows, q) of the items anything is known of.

        `which` keeps all that is known, or only what was "given"; the rest then counts as unknown.
        """
        q = len(self.labels.ids)
        row_of = {item: row for row, item in enumerate(ids)}
        by_row = sorted(((row_of[item], votes) for item, votes in self.items.items()), key=lambda pair: pair[0])
        rows, codes = [], []
        for row, votes in by_row:
            code = votes.known if which == "known" else np.where(getattr(votes, which), votes.known, UNKNOWN)
            if (code != UNKNOWN).any():
                rows.append(row)
                codes.append(code)
        return np.array(rows, dtype=np.intp), np.array(codes, dtype=np.int8).reshape(len(rows), q)


def _by_event(votes: Votes) -> Iterator[slice]:
    changes = (np.flatnonzero(np.diff(votes.event)) + 1).tolist()
    edges = [0, *changes, votes.event.size] if votes.event.size else []
    yield from (slice(start, stop) for start, stop in pairwise(edges))
