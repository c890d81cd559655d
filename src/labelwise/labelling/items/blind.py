"""Blind second opinions: others' answers are hidden from a person who has not answered yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from labelwise.labelling.records import Settings
from labelwise.labelling.store.browsing import find_items, spoken_of
from labelwise.labelling.store.labels import StoredLabels
from labelwise.labelling.store.schema import WHOLE_ITEM
from labelwise.labelling.training.chance import is_shared

if TYPE_CHECKING:
    from labelwise.labelling.items.browse import ItemSearch


@dataclass(frozen=True, eq=False)
class Hidden:
    """Others' answers that a person may not see before giving their own, by item and label.

    `spoken` are all the entries that anybody said something of: of everything, or of the items and labels looked at.
    """

    spoken: npt.NDArray[np.int64]  # (m, 2)
    is_hidden: npt.NDArray[np.bool_]  # (m,)

    @classmethod
    def nothing(cls) -> Hidden:
        return cls(np.zeros((0, 2), np.int64), np.zeros(0, bool))

    @property
    def entries(self) -> npt.NDArray[np.int64]:
        """(k, 2) of item and label."""
        return self.spoken[self.is_hidden]

    def mask(self, numbers: npt.NDArray[np.int64], column_of: Mapping[int, int]) -> npt.NDArray[np.bool_]:
        """(k, q) of items in any order and of the labels in use."""
        hidden = np.zeros((numbers.size, len(column_of)), dtype=bool)
        if not self.is_hidden.any():
            return hidden
        order = np.argsort(numbers, kind="stable")
        place, there = places(numbers[order], self.entries[:, 0])
        columns = np.array([column_of.get(label, -1) for label in self.entries[:, 1].tolist()], dtype=np.intp)
        used = there & (columns >= 0)
        hidden[order[place[used]], columns[used]] = True
        return hidden

    def closed_items(self) -> npt.NDArray[np.int64]:
        """Items of which nothing that was said may be seen."""
        return np.setdiff1d(self.entries[:, 0], self.spoken[~self.is_hidden, 0])


def hidden_from(
    connection: sa.Connection,
    settings: Settings,
    viewer: str | None,
    numbers: Sequence[int] | None,
    label: int | None = None,
) -> Hidden:
    """What a viewer may not see: others' answers to questions that the viewer may be asked, too."""
    if viewer is None or settings.overlap == 1:
        return Hidden.nothing()
    spoken = spoken_of(connection, viewer, numbers, label)
    asked = spoken[:, 1] if settings.target == "pairs" else WHOLE_ITEM
    return Hidden(spoken[:, :2], (spoken[:, 2] == 0) & is_shared(settings, spoken[:, 0], asked))


def hidden_in_search(
    connection: sa.Connection, settings: Settings, labels: StoredLabels, search: ItemSearch, viewer: str | None
) -> Hidden:
    """What must be known to be hidden before a search is over; what is shown in the end is looked up then."""
    if search.show != "all" or search.who is not None:
        return hidden_from(connection, settings, viewer, None)
    if search.label is not None:
        return hidden_from(connection, settings, viewer, None, labels.id_of(search.label))
    return Hidden.nothing()


def as_seen(
    connection: sa.Connection, hidden: Hidden, numbers: npt.NDArray[np.int64], search: ItemSearch, viewer: str | None
) -> npt.NDArray[np.int64]:
    """Items found by who answered, or because nobody did, as far as a viewer may know."""
    if viewer is None or search.who == viewer:
        return numbers
    if search.show == "unanswered" and search.who is None:
        others = find_items(connection, search.parts)
        return np.union1d(numbers, others[np.isin(others, hidden.closed_items())])
    if search.who is not None:  # what hides anything does not tell who answered
        return numbers[~np.isin(numbers, hidden.entries[:, 0])]
    return numbers


def seen_events(
    events: list[tuple[sa.Row, dict[int, int]]], closed: set[int], viewer: str | None
) -> list[tuple[sa.Row, dict[int, int]]]:
    """What happened, without what others said of labels that are hidden, and without their taking it back."""
    seen, left_out = [], set()
    for row, said in events:
        shown = said if row.who == viewer else {label: value for label, value in said.items() if label not in closed}
        if (said and not shown) or row.undoes in left_out:
            left_out.add(row.id)
        else:
            seen.append((row, shown))
    return seen


def places(
    rising: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Where numbers are in a rising array, and whether they are there at all."""
    if rising.size == 0:
        return np.zeros(wanted.size, dtype=np.intp), np.zeros(wanted.size, dtype=bool)
    place = np.minimum(np.searchsorted(rising, wanted), rising.size - 1)
    return place, rising[place] == wanted
