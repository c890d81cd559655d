"""Notes and flags on items: a label is missing, a text cannot be read, a question; listed, answered, exported."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.people import check_person
from labelwise.labelling.store import Store
from labelwise.labelling.store.items import add_note, answer_note, item_ids, read_notes, reopen_note

KINDS = {
    "note": "a note",
    "label missing": "a label is missing",
    "unreadable": "it cannot be read",
}  # flags that people choose from, in words
LONGEST = 4000  # characters


@dataclass(frozen=True)
class Note:
    """A note on an item; `answered_at` is None while it is open. Times are seconds since 1970."""

    id: int
    item: str
    who: str
    at: float
    kind: str
    text: str
    answer: str | None = None
    answered_by: str | None = None
    answered_at: float | None = None

    @property
    def is_open(self) -> bool:
        return self.answered_at is None


class Notes:
    """The notes of a project.

    Parameters
    ----------
    store : Store
    clock : seconds since 1970
    """

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self._clock = lambda: round(clock(), 6)

    def add(self, item: str, who: str, text: str = "", kind: str = "note") -> Note:
        """Leave a note or a flag on an item; a plain note needs a text."""
        check_person(who)
        said = _checked(text)
        if kind not in KINDS:
            raise ProjectError(f"a note is one of {', '.join(KINDS)}, got {kind!r}")
        if kind == "note" and not said:
            raise ProjectError("the note says nothing; write something, or choose a flag")
        at = self._clock()
        with self.store.writing() as connection:
            number = add_note(connection, item_ids(connection, [item])[item], who, at, kind, said)
        return Note(number, item, who, at, kind, said)

    def answer(self, number: int, who: str, text: str = "") -> None:
        """Answer a note, which is done then."""
        check_person(who)
        said = _checked(text)
        if not self.store.write(lambda connection: answer_note(connection, number, who, self._clock(), said)):
            raise ProjectError(f"there is no open note no. {number}; somebody may have answered it")

    def reopen(self, number: int) -> None:
        """Make a note that was answered an open one again."""
        if not self.store.write(lambda connection: reopen_note(connection, number)):
            raise ProjectError(f"there is no answered note no. {number}")

    def all(self, item: str | None = None) -> list[Note]:
        """Every note, or those on one item, oldest first."""
        with self.store.reading() as connection:
            numbers = None if item is None else item_ids(connection, [item]).values()
            rows = read_notes(connection, numbers)
        names = [name for name in Note.__dataclass_fields__ if name != "item"]
        return [Note(item=row.name, **{name: getattr(row, name) for name in names}) for row in rows]


def _checked(text: str) -> str:
    said = text.strip()
    if len(said) > LONGEST or "\0" in said:
        raise ProjectError(f"a note has at most {LONGEST} characters, and no sign NUL; shorten it")
    return said
