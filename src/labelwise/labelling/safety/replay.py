"""What the tables should say, told once more from all events and changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from labelwise.labelling.store.checking import EventRow

OTHER_CHANGES = ("add items", "describe labels", "name person", "repair")  # that leave the labels as they are

Votes = dict[tuple[int, str], tuple[int, int, str]]  # by label and person: event, value, reason


def replay(events: Iterable[EventRow]) -> Votes:
    """The last word of each person on each label of one item, from all its events."""
    ordered = sorted(events, key=lambda event: event.id)
    taken_back = {event.undoes for event in ordered}
    votes: Votes = {}
    for event in ordered:
        if event.kind == "answer" and event.id not in taken_back:
            for label, value in event.values.items():
                votes[label, event.who] = (event.id, value, event.reason)
    return votes


def replay_labels(changes: Iterable[tuple[Any, ...]]) -> list[tuple[int, str, bool, int | None]] | None:
    """Number, name, whether retired, and what it was merged into, of all labels, told from the changes.

    None where there are changes that this version does not know. A change of a label that is not there raises a
    `LookupError` or a `ValueError`.
    """
    names: dict[int, str] = {}
    retired: set[int] = set()
    merged: dict[int, int] = {}

    def in_use(name: str) -> int:
        return next(number for number, known in names.items() if known == name and number not in {*retired, *merged})

    for number, _, _, what, detail in changes:
        try:
            if what == "add labels":
                for name in detail["names"]:
                    names[len(names) + 1] = name
            elif what == "rename label":
                names[in_use(detail["old"])] = detail["new"]
            elif what == "merge labels":
                gone, kept = in_use(detail["source"]), in_use(detail["target"])
                merged = {label: kept if into == gone else into for label, into in merged.items()} | {gone: kept}
            elif what == "retire label":
                retired.add(in_use(detail["name"]))
            elif what not in OTHER_CHANGES:
                return None
        except (KeyError, TypeError, StopIteration):
            raise ValueError(f"change {number} ({what!r}) is of a label that is not in use then") from None
    return [(label, name, label in retired, merged.get(label)) for label, name in names.items()]
