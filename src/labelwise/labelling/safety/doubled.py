"""Questions that one person was given twice at once: what to make of the two answers, and how to take one back.

Up to the version that this file came with, a page of a project with `--overlap 2` or more could list every label of an
item twice. The marks of the first copy were saved, and then the "no" of everything left alone in the second.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.records import BULK, GIVEN, SETTLED, TOLD
from labelwise.labelling.safety.replay import Votes
from labelwise.labelling.store import Store
from labelwise.labelling.store.checking import EventRow, events_by_item
from labelwise.labelling.store.events import MERGED, NewEvent, add_event
from labelwise.labelling.store.labels import note_change
from labelwise.labelling.store.schema import NO, YES

AT_ONCE = 1.0  # seconds within which nobody answers one question twice
NOT_ASKED_FOR = (GIVEN, TOLD, SETTLED, BULK)  # such answers contradict earlier ones only where a person says so


@dataclass(frozen=True)
class Doubled:
    """Two events of one person about one question at once; `take_back` is the copy nobody filled in, where one is."""

    item: int
    who: str
    asked: int
    first: int
    second: int
    contradicts: bool
    take_back: int | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def find_doubled(events: Sequence[EventRow], votes: Votes) -> Iterator[Doubled]:
    """The doubled questions of one item, from its events in order, but for what was taken back or said anew since."""
    taken_back = {event.undoes for event in events}
    counting = {event for event, _, _ in votes.values()}
    groups: dict[tuple[str, int], list[EventRow]] = {}
    for event in events:
        asked_for = event.reason not in NOT_ASKED_FOR and not (event.lease or "").startswith(MERGED)
        if event.kind != "undo" and event.id not in taken_back and asked_for:
            groups.setdefault((event.who, event.asked), []).append(event)
    for (who, asked), group in groups.items():
        for first, second in pairwise(group):
            if not {first.id, second.id} & counting or not _at_once(first, second) or _about_others(first, second):
                continue
            back = _not_filled_in(first, second)
            yield Doubled(first.item, who, asked, first.id, second.id, _contradict(first, second), back)


def _at_once(first: EventRow, second: EventRow) -> bool:
    """Saved within a second, or given within a second and both answered: saving many labels may take longer."""
    if abs(second.at - first.at) <= AT_ONCE:
        return True
    given = (first.given_at, second.given_at)
    return given[0] is not None and given[1] is not None and abs(given[1] - given[0]) <= AT_ONCE


def _about_others(first: EventRow, second: EventRow) -> bool:
    """Whether two answers share no label: the rest of an item, answered in two parts, is no copy."""
    return bool(first.values and second.values) and not first.values.keys() & second.values.keys()


def _contradict(first: EventRow, second: EventRow) -> bool:
    return any({value, second.values.get(label)} == {YES, NO} for label, value in first.values.items())


def _not_filled_in(first: EventRow, second: EventRow) -> int | None:
    """The copy that says nothing but no beyond what the other says; None where a person filled in both."""
    for copy in (second, first):
        if copy.kind == "skip":
            return copy.id
    if _contradict(first, second) and abs(second.at - first.at) > AT_ONCE:
        return None  # so slow that the second answer may be a change of mind
    if _adds_nothing(second, first):
        return second.id
    return first.id if _adds_nothing(first, second) else None


def _adds_nothing(one: EventRow, other: EventRow) -> bool:
    return all(value == NO or other.values.get(label) == value for label, value in one.values.items())


def repair(store: Store, doubled: Iterable[Doubled], who: str) -> list[int]:
    """Take back the copies that nobody filled in, as their person would have; the numbers of the undone events.

    Events are only added. What is not as it was found, because somebody undid or changed it meanwhile, is left alone.
    """
    wanted = {each.take_back: each for each in doubled if each.take_back is not None}
    with store.writing() as connection:
        undone = []
        for event in _standing(connection, set(wanted)):
            undo = NewEvent(time.time(), event.who, event.item, "undo", event.asked, event.reason, undoes=event.id)
            add_event(connection, undo)
            undone.append(event.id)
        if undone:
            note_change(connection, "repair", {"taken back": undone}, who, time.time())
    return undone


def _standing(connection: sa.Connection, numbers: set[int]) -> list[EventRow]:
    copies = []
    for _, events in events_by_item(connection):
        taken_back = {event.undoes for event in events}
        copies += [event for event in events if event.id in numbers - taken_back]
    return copies
