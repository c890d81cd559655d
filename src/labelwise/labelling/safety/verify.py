"""Whether a project, or a backup of one, is sound: looked at as it lies there, without changing anything."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.errors import ProjectError, StoreError
from labelwise.labelling.records import EVENT_KINDS, Settings
from labelwise.labelling.safety.doubled import Doubled, find_doubled
from labelwise.labelling.safety.replay import Votes, replay, replay_labels
from labelwise.labelling.store import Location, schema
from labelwise.labelling.store import checking as stored
from labelwise.labelling.store.checking import EventRow
from labelwise.labelling.store.copying import Progress, count_rows
from labelwise.labelling.store.engine import read_value, read_version
from labelwise.labelling.store.items import items_by_number
from labelwise.labelling.store.read_only import ReadOnlyStore, is_damage
from labelwise.labelling.store.schema import NO, UNSURE, WHOLE_ITEM, YES

SOUND, DAMAGED, SUSPICIOUS = "sound", "damaged", "suspicious"
EXIT_CODES = {SOUND: 0, DAMAGED: 7, SUSPICIOUS: 8}
SEAL = "backup"  # the key of what a backup says of itself
CHECKS = {  # name: what is looked at
    "file": "the file can be read, its pages, rows and indices agree",
    "tables": "all tables, columns and views are there, and nothing that is not ours",
    "references": "what a row refers to is there; what may be there once is there once",
    "settings": "the settings can be read, and so can every field of JSON",
    "items": "every item has a name",
    "labels": "every label has a name, is merged into one that is there, and follows from the changes",
    "events": "every answer, skip and undo is well formed and refers to what is there",
    "leases": "every answered question has one event, of the same person, item and label",
    "votes": "the last word of each person is what a replay of all events gives",
    "seal": "what was in the backup is as it was when the backup was made",
    "times": "nothing was said before 1990 or after today",
    "doubled": "nobody answered one question twice at once",
}
ODD = ("times", "doubled")  # checks that find what is suspicious, not what is damaged
FIRST_YEAR = 631_152_000.0  # 1990: no answer is older than that
AHEAD = 86_400.0  # seconds that clocks of several machines may differ, at the very most


@dataclass
class Check:
    """One thing that was looked at: how often it was wrong, and the first few cases in words."""

    name: str
    number: int = 0
    examples: list[str] = field(default_factory=list)
    done: bool = True

    @property
    def state(self) -> str:
        return SOUND if not self.number else SUSPICIOUS if self.name in ODD else DAMAGED

    def found(self, problem: str) -> None:
        self.number += 1
        if len(self.examples) < stored.MOST_TOLD:
            self.examples.append(problem)


@dataclass(frozen=True)
class Verdict:
    """What `verify` found.

    `rows` counts the rows of each table, `doubled` lists questions that one person answered twice at once, and `names`
    has the names of their items.
    """

    location: str
    version: int | None
    rows: dict[str, int]
    checks: tuple[Check, ...]
    doubled: tuple[Doubled, ...] = ()
    names: dict[int, str] = field(default_factory=dict)

    @property
    def state(self) -> str:
        states = {check.state for check in self.checks}
        return DAMAGED if DAMAGED in states else SUSPICIOUS if SUSPICIOUS in states else SOUND

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.state]

    @property
    def is_older(self) -> bool:
        """Whether opening the project brings its tables up to date."""
        return self.version is not None and self.version < schema.VERSION

    def as_dict(self) -> dict[str, Any]:
        return {
            "project": self.location,
            "state": self.state,
            "version": self.version,
            "rows": self.rows,
            "checks": [
                {"name": each.name, "state": each.state if each.done else "not done", "number": each.number}
                | ({"examples": each.examples} if each.examples else {})
                for each in self.checks
            ],
            "doubled": [each.as_dict() | {"item_name": self.names.get(each.item)} for each in self.doubled],
        }


class Damaged(ProjectError):
    """A project or backup that `verify` found to be damaged."""

    exit_code = EXIT_CODES[DAMAGED]


def verify(location: Location, progress: Progress = lambda *_: None) -> Verdict:
    """Look at a project or backup; raises `StoreError` only where there is none, or it cannot be reached.

    Examples
    --------
    >>> import tempfile
    >>> from labelwise.labelling import Project
    >>> from labelwise import LabelData
    >>> path = tempfile.mkdtemp() + "/sizes.db"
    >>> Project.create(path, LabelData.from_arrays([[0.0], [1.0]], label_names=["small"])).close()
    >>> verify(path).state
    'sound'
    """
    store = ReadOnlyStore(location)
    with closing(store):
        try:
            with store.reading() as connection:
                return verify_in(connection, store.shown, progress)
        except (StoreError, UnicodeDecodeError) as error:
            if isinstance(error, StoreError) and not is_damage(error):
                raise
            checks = tuple(Check(name, done=name == "file") for name in CHECKS)
            checks[0].found(str(error))
            return Verdict(store.shown, None, {}, checks)


def verify_in(connection: sa.Connection, shown: str, progress: Progress) -> Verdict:
    """The same in a transaction, which sees one state of the project however many write."""
    return _Inspection(connection, shown, progress).run()


class _Inspection:
    """One look at a project, check by check. Where the file itself is damaged the others are not done."""

    def __init__(self, connection: sa.Connection, shown: str, progress: Progress) -> None:
        self.connection = connection
        self.shown = shown
        self.progress = progress
        self.now = time.time()
        self.checks = {name: Check(name, done=False) for name in CHECKS}
        self.doubled: list[Doubled] = []
        self.names: dict[int, str] = {}
        self.aborted = False  # PostgreSQL reads nothing more in a transaction once a query has failed

    def run(self) -> Verdict:
        version, rows = None, {}
        self._check("file", partial(stored.integrity_problems, self.connection))
        if not self._broken():
            version = self._version()
        if not self._broken():
            with self._guarded("tables"):
                rows = count_rows(self.connection)
            self._check("tables", partial(self._tables, version))
        if not self._broken():
            for name, look in self._simple_checks().items():
                self._check(name, look)
            if not self.aborted:
                self._check_events()
        checks = tuple(self.checks.values())
        return Verdict(self.shown, version, rows, checks, tuple(self.doubled), self.names)

    def _simple_checks(self) -> dict[str, Callable[[], Iterable[str]]]:
        return {
            "references": self._references,
            "settings": self._settings,
            "items": self._items,
            "labels": self._labels,
            "leases": partial(stored.lease_problems, self.connection),
            "seal": self._seal,
        }

    def _broken(self) -> bool:
        return any(check.state == DAMAGED for check in self.checks.values())

    def _check(self, name: str, look: Callable[[], Iterable[str]]) -> None:
        if self.aborted:
            return
        with self._guarded(name):
            for problem in look():
                self.checks[name].found(problem)

    @contextmanager
    def _guarded(self, name: str) -> Iterator[None]:
        """What cannot be read is a finding like others, not the end of all checks."""
        check = self.checks[name]
        check.done = True
        try:
            yield
        except (sa.exc.DBAPIError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError) as error:
            from_database = isinstance(error, sa.exc.DBAPIError)
            if from_database and not is_damage(error):
                raise
            if self.aborted:  # found already
                return
            self.aborted = from_database and self.connection.dialect.name != "sqlite"
            check.found(f"it cannot be read: {' '.join(str(getattr(error, 'orig', None) or error).split())}")

    def _version(self) -> int | None:
        if not stored.is_project(self.connection):
            read_version(self.connection, self.shown)  # which says so
        try:
            return read_version(self.connection, self.shown)
        except StoreError as error:
            if "newer labelwise" in str(error):
                raise
            self.checks["tables"].found(str(error))
        except (ValueError, TypeError, sa.exc.DBAPIError) as error:
            self.checks["tables"].found(f"the version cannot be read: {error}")
        self.checks["tables"].done = True
        return None

    # -- one check each -----------------------------------------------------------------------------------------------

    def _tables(self, version: int | None) -> Iterator[str]:
        yield from (f"{part} is missing" for part in stored.missing_parts(self.connection, version))
        yield from (f"there is {part}" for part in stored.strange_parts(self.connection, version))

    def _references(self) -> Iterator[str]:
        yield from stored.broken_references(self.connection)
        yield from stored.repeated_values(self.connection)

    def _settings(self) -> Iterator[str]:
        yield from stored.unreadable_json(self.connection)
        Settings(**read_value(self.connection, "settings"))
        if not isinstance(read_value(self.connection, "identity"), str):
            yield "the project has no identity"

    def _items(self) -> Iterator[str]:
        for number, name in stored.item_rows(self.connection):
            if not isinstance(number, int) or not isinstance(name, str) or not name:
                yield f"item {number!r} has the name {name!r}"

    def _labels(self) -> Iterator[str]:
        rows = stored.label_rows(self.connection)
        into = {number: merged for number, _, _, merged in rows}
        used = [name for _, name, retired, merged in rows if retired is None and merged is None]
        yield from (f"the name {name!r} is of two labels in use" for name in sorted({*used}) if used.count(name) > 1)
        for number, name, retired, _ in rows:
            if not isinstance(name, str) or not name.strip():
                yield f"label {number!r} has the name {name!r}"
            if retired is not None and not is_time(retired):
                yield f"label {number!r} was retired at {retired!r}"
            if _has_cycle(number, into):
                yield f"label {number!r} is merged into itself by way of others"
        changes = stored.change_rows(self.connection)
        yield from (f"change {number!r} has the time {at!r}" for number, at, *_ in changes if not is_time(at))
        replayed = replay_labels(changes)
        here = [(number, name, retired is not None, merged) for number, name, retired, merged in rows]
        if replayed is not None and replayed != here:
            yield from (f"the changes make label {label}, here it is not" for label in replayed if label not in here)
            yield from (
                f"here is label {label}, which the changes do not make" for label in here if label not in replayed
            )

    def _seal(self) -> Iterator[str]:
        said = read_value(self.connection, SEAL)
        if said is None:
            if stored.is_marked_as_sealed(self.connection):
                yield "the digests that were written into the backup are gone"
            return
        sealed = said["seal"]
        now = stored.seal(self.connection, {name: each["last"] for name, each in sealed.items()})
        for name, each in sealed.items():
            if now[name]["sha256"] != each["sha256"]:
                yield f"{name} up to number {each['last']} are not as they were when the backup was made"

    # -- every event --------------------------------------------------------------------------------------------------

    def _check_events(self) -> None:
        for name in ("events", "votes", "times", "doubled"):
            self.checks[name].done = True
        with self._guarded("events"):
            total, done = stored.count_events(self.connection), 0
            labels = {number for number, *_ in stored.label_rows(self.connection)}
            said = _StreamByItem(stored.votes_by_item(self.connection))
            for item, events in stored.events_by_item(self.connection):
                votes = self._item(events, labels)
                with self._guarded("votes"):
                    self._compare(item, votes, said.take(item))
                done += len(events)
                self.progress("events", done, total)
            for item in said.rest():
                self.checks["votes"].found(f"item {item}: the view has it, although nobody did anything with it")
            shown = [each.item for each in self.doubled[: stored.AT_ONCE]]
            self.names = {number: row.name for number, row in items_by_number(self.connection, shown).items()}

    def _item(self, events: list[EventRow], labels: Collection[int]) -> Votes:
        for problem in broken_rules(events, labels):
            self.checks["events"].found(problem)
        for event in events:
            if odd_time(event.at, self.now):
                self.checks["times"].found(f"event {event.id} of {event.who!r} has the time {event.at!r}")
        votes = replay(events)
        for doubled in find_doubled(events, votes):
            self.doubled.append(doubled)
            self.checks["doubled"].found(_in_words(doubled))
        return votes

    def _compare(self, item: int, replayed: Votes, seen: Votes) -> None:
        for key in replayed.keys() | seen.keys():
            if replayed.get(key) != seen.get(key):
                what = f"item {item}, {key}: a replay gives {replayed.get(key)}, the project {seen.get(key)}"
                self.checks["votes"].found(what)


class _StreamByItem:
    """A stream by item, read beside another: what it says of an item, and which of its items were never asked for."""

    def __init__(self, stream: Iterator[tuple[int, dict[Any, Any]]]) -> None:
        self._stream = stream
        self._next = next(stream, None)
        self._passed: list[int] = []

    def take(self, item: int) -> dict[Any, Any]:
        while self._next is not None and self._next[0] < item:
            self._passed.append(self._next[0])
            self._next = next(self._stream, None)
        if self._next is None or self._next[0] != item:
            return {}
        found, self._next = self._next[1], next(self._stream, None)
        return found

    def rest(self) -> Iterator[int]:
        yield from self._passed
        if self._next is not None:
            yield self._next[0]
            yield from (item for item, _ in self._stream)


def _has_cycle(label: int, into: dict[int, int | None]) -> bool:
    seen, following = {label}, into.get(label)
    while following is not None and following not in seen:
        seen.add(following)
        following = into.get(following)
    return following is not None


def _in_words(doubled: Doubled) -> str:
    against = ", and they contradict each other" if doubled.contradicts else ""
    events = f"events {doubled.first} and {doubled.second}"
    return f"item {doubled.item}: {doubled.who!r} answered twice at once, {events}{against}"


# -- what holds of every event, whoever wrote it -----------------------------------------------------------------------


def broken_rules(events: Sequence[EventRow], labels: Collection[int]) -> Iterator[str]:
    """What is wrong with the events of one item, given in the order of their numbers."""
    by_number = {event.id: event for event in events}
    for event in events:
        wrong = [*_wrong_form(event)] or [*_wrong_content(event, labels), *_wrong_undo(event, by_number)]
        yield from (f"event {event.id!r}: {each}" for each in wrong)


def odd_time(at: Any, now: float) -> bool:
    """Whether a time is a number, but none at which anybody labelled."""
    return is_time(at) and not FIRST_YEAR <= at <= now + AHEAD


def is_time(at: Any) -> bool:
    return isinstance(at, int | float) and math.isfinite(at)


def _wrong_form(event: EventRow) -> Iterator[str]:
    """Fields that are not of their kind: a file holds whatever was written into it."""
    for name in ("id", "item", "asked"):
        if not isinstance(getattr(event, name), int):
            yield f"{name} is {getattr(event, name)!r}, not a number"
    for name in ("who", "kind", "reason"):
        value = getattr(event, name)
        if not isinstance(value, str) or not value.strip():
            yield f"{name} is {value!r}"
    if not is_time(event.at):
        yield f"the time is {event.at!r}"
    if not isinstance(event.lease, str | None) or not isinstance(event.undoes, int | None):
        yield f"the lease is {event.lease!r}, it undoes {event.undoes!r}"


def _wrong_content(event: EventRow, labels: Collection[int]) -> Iterator[str]:
    if event.kind not in EVENT_KINDS:
        yield f"the kind is {event.kind!r}, not {', '.join(EVENT_KINDS)}"
    if event.asked != WHOLE_ITEM and event.asked not in labels:
        yield f"it was asked about label {event.asked}, which there is not"
    for label, value in event.values.items():
        if label not in labels:
            yield f"it says something of label {label!r}, which there is not"
        if value not in (YES, NO, UNSURE):
            yield f"the value of label {label!r} is {value!r}, not {YES}, {NO} or {UNSURE}"
    if event.kind == "answer" and not event.values:
        yield "an answer that says nothing"
    if event.kind != "answer" and event.values:
        yield f"values, although it is of the kind {event.kind!r}"


def _wrong_undo(event: EventRow, by_number: dict[int, EventRow]) -> Iterator[str]:
    if (event.kind == "undo") != (event.undoes is not None):
        yield f"of the kind {event.kind!r} and undoes {event.undoes}"
    if event.undoes is None:
        return
    undone = by_number.get(event.undoes)
    if undone is None:
        yield f"it undoes event {event.undoes}, which is of another item or not there"
    elif undone.kind == "undo" or undone.who != event.who or not undone.id < event.id:
        yield f"it undoes event {event.undoes}, which is no earlier answer or skip of {event.who!r}"
