"""What a project's store must hold, in plain Python: told by what clients sent and what was acknowledged.

Independent of the service: it reads the tables row by row and counts votes by itself. Labels have names that never
come back to another label (`stem`: "b", "b.1" and "b.2" are one label renamed twice).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.store.events import read_votes
from labelwise.labelling.store.labels import StoredLabels
from labelwise.labelling.training.votes import UNKNOWN, History

MERGED = "merged:"
SETTLED = "settled"
Values = Mapping[str, bool | None]


@dataclass(frozen=True)
class Sent:
    """One thing that a client asked the store to keep."""

    who: str
    item: str
    kind: str  # answer, skip, undo
    values: tuple[tuple[str, bool | None], ...] = ()  # by the stem of the label
    lease: str | None = None
    undoes: int | None = None
    is_settled: bool = False
    seconds: float | None = field(default=None, compare=False)  # how long it took


@dataclass(frozen=True)
class Stored:
    """One event as it is in the tables."""

    id: int
    who: str
    item: str
    kind: str
    asked: int
    reason: str
    lease: str | None
    undoes: int | None
    values: dict[str, int]
    seconds: float | None = None

    def is_by(self, sent: Sent) -> bool:
        return self.who == sent.who

    def says(self, sent: Sent) -> bool:
        """Whether this is what was sent, whoever is written as its author."""
        return (
            (self.kind, self.item, self.undoes) == (sent.kind, sent.item, sent.undoes)
            and self.values == {label: code(value) for label, value in sent.values}
            and (sent.lease is None or self.lease == sent.lease)
            and (self.seconds is None or 0 <= self.seconds <= (sent.seconds or 0.0))  # cut, and never made longer
            and (self.reason == SETTLED) == (sent.is_settled or (sent.kind == "undo" and self.reason == SETTLED))
        )


@dataclass
class Findings:
    """What is wrong with a store, each in words."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    falsified: list[str] = field(default_factory=list)
    wrong_author: list[str] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        return {name: len(getattr(self, name)) for name in self.__dataclass_fields__}

    def extend(self, more: Findings) -> None:
        for name in self.__dataclass_fields__:
            getattr(self, name).extend(getattr(more, name))

    def all(self) -> list[str]:
        return [f"{name}: {each}" for name in self.__dataclass_fields__ for each in getattr(self, name)]


class StoreModel:
    """What was sent and what was acknowledged; `check` compares a store with it."""

    def __init__(self) -> None:
        self.acknowledged: dict[int, Sent] = {}  # by the number that the receipt gave
        self.undone: list[Sent] = []  # acknowledged: a receipt of these has no number
        self.perhaps: list[Sent] = []  # sent, with no reply
        self.twice: list[str] = []  # one number for two things

    def acknowledge(self, event: int, sent: Sent) -> None:
        before = self.acknowledged.setdefault(event, sent)
        if None in (before.lease, sent.lease):  # told without a lease, and sent again with the lease that it ended
            before = replace(before, lease=sent.lease)
        if before != sent:
            self.twice.append(f"event {event} was given as a receipt for {before} and for {sent}")

    def check(self, connection: sa.Connection) -> Findings:
        """Compare everything in the tables with everything that was sent."""
        found = Findings(doubled=list(self.twice))
        stored, labels = read_events(connection), names_of(connection)[1]
        self._compare_events({event.id: event for event in stored}, labels, found)
        find_doubled(stored, found)
        votes = replay(stored, labels, found)
        compare_known(connection, votes, found)
        return found

    def _compare_events(self, stored: dict[int, Stored], labels: dict[int, str], found: Findings) -> None:
        for number, sent in self.acknowledged.items():
            event = stored.get(number)
            if event is None:
                found.lost.append(f"{sent} was acknowledged as event {number}")
            elif not event.says(sent):
                found.falsified.append(f"{sent} was acknowledged, {event} is stored")
            elif not event.is_by(sent):
                found.wrong_author.append(f"{sent} was acknowledged, {event} is stored")
        undone = {event.undoes: event for event in stored.values() if event.kind == "undo"}
        for sent in self.undone:
            if sent.undoes not in undone:
                found.lost.append(f"{sent} was acknowledged, nothing takes event {sent.undoes} back")
        open_for = [*self.perhaps, *self.undone]
        for number, event in stored.items():
            if number in self.acknowledged or event.reason == "given" or (event.lease or "").startswith(MERGED):
                continue
            if takes_moved_back(event, stored, labels):
                continue
            same = [sent for sent in open_for if event.says(sent)]
            mine = next((sent for sent in same if event.is_by(sent)), None)
            if mine is not None:
                open_for.remove(mine)
            elif same:
                found.wrong_author.append(f"{event} was sent by {same[0].who}")
            else:
                found.falsified.append(f"nobody sent {event}")


def takes_moved_back(event: Stored, stored: dict[int, Stored], labels: dict[int, str]) -> bool:
    """Whether an event takes a moved vote back because its person took back the answer it was made of."""
    moved = stored.get(event.undoes or 0)
    if moved is None or not (moved.lease or "").startswith(MERGED):
        return False
    mine = [each for each in stored.values() if (each.who, each.item) == (event.who, event.item)]
    label = labels[int((moved.lease or "").split(":")[1])]
    made_of = [each.id for each in mine if label in each.values and each.id < moved.id]
    return any(each.undoes in made_of for each in mine if each.id < event.id)


def find_doubled(stored: Iterable[Stored], found: Findings) -> None:
    """Two standing answers of one person to one question, where neither was volunteered or a correction."""
    stored = list(stored)
    undone = {event.undoes for event in stored if event.undoes is not None}
    answers = [e for e in stored if e.kind != "undo" and e.lease is not None and not e.lease.startswith(MERGED)]
    standing = Counter((e.who, e.item, e.asked) for e in answers if e.id not in undone)
    leases = Counter(e.lease for e in answers)
    found.doubled += [f"{key} stands {number} times" for key, number in standing.items() if number > 1]
    found.doubled += [f"lease {lease} ended {number} times" for lease, number in leases.items() if number > 1]


Votes = dict[tuple[str, str], dict[str, tuple[int, int, bool]]]  # by item and label, then person: event, value, settled


def replay(stored: Iterable[Stored], labels: dict[int, str], found: Findings) -> Votes:
    """The last word of each person on each label, by going through the events one by one."""
    stored = list(stored)
    undone = {event.undoes for event in stored if event.undoes is not None}
    votes: Votes = {}
    for event in stored:
        if event.kind != "answer":
            continue
        if event.lease is not None and event.lease.startswith(MERGED):
            check_moved(event, stored, labels, found)
        if event.id not in undone:
            for label, value in event.values.items():
                votes.setdefault((event.item, label), {})[event.who] = (event.id, value, event.reason == SETTLED)
    return votes


def check_moved(event: Stored, stored: list[Stored], labels: dict[int, str], found: Findings) -> None:
    """A vote that moved to the label its own was merged into must be one that its person gave."""
    source = labels[int((event.lease or "").split(":")[1])]
    gave = {
        value
        for other in stored
        if other.id < event.id and (other.who, other.item, other.kind) == (event.who, event.item, "answer")
        for label, value in other.values.items()
        if label == source
    }
    if not set(event.values.values()) <= gave:
        found.falsified.append(f"{event} moved a vote that nobody gave")


def compare_known(connection: sa.Connection, votes: Votes, found: Findings) -> None:
    """What a model would learn from, against the majority of the replayed votes."""
    items, labels = names_of(connection)
    every = StoredLabels(tuple(labels), tuple(labels.values()), {}, labels)  # also those no longer in use
    history = History(every, items)
    history.add(read_votes(connection))
    said = {
        (items[item], name): value
        for item, of_item in history.items.items()
        for name, value in zip(every.names, of_item.known.tolist(), strict=True)
        if value != UNKNOWN
    }
    expected = {key: value for key, voters in votes.items() if (value := majority(voters)) is not None}
    for key in said.keys() | expected.keys():
        if said.get(key) != expected.get(key):
            found.falsified.append(f"{key} is known as {said.get(key)}, people said {expected.get(key)}")


def majority(voters: Mapping[str, tuple[int, int, bool]]) -> int | None:
    """Yes or no: the last word that settles, else most votes, and between as many yes as no the last to speak."""
    told = sorted((event, value, settled) for event, value, settled in voters.values() if value >= 0)
    settled = [value for _, value, settles in told if settles]
    if settled or not told:
        return settled[-1] if settled else None
    yes = sum(value for _, value, _ in told)
    return told[-1][1] if 2 * yes == len(told) else int(2 * yes > len(told))


# -- reading the tables ------------------------------------------------------------------------------------------------

LABELS = tuple("abcdefghijklmnopqrstuvwxyz")  # names to make labels with


def stem(name: str) -> str:
    """The name that a label was made with."""
    return name.split(".")[0]


def code(value: bool | None) -> int:
    return -1 if value is None else int(value)


def names_of(connection: sa.Connection) -> tuple[dict[int, str], dict[int, str]]:
    items = {row.id: row.name for row in connection.execute(sa.text("SELECT id, name FROM items"))}
    labels = {row.id: stem(row.name) for row in connection.execute(sa.text("SELECT id, name FROM labels"))}
    return items, labels


def read_events(connection: sa.Connection) -> list[Stored]:
    items, labels = names_of(connection)
    values: dict[int, dict[str, int]] = {}
    for row in connection.execute(sa.text("SELECT event, label, value FROM event_values")):
        values.setdefault(row.event, {})[labels[row.label]] = row.value
    times = {row.event: row.seconds for row in connection.execute(sa.text("SELECT event, seconds FROM timings"))}
    query = sa.text("SELECT id, who, item, kind, asked, reason, lease, undoes FROM events ORDER BY id")
    return [
        # a row has the columns in the order of the record
        Stored(row.id, row.who, items[row.item], *row[3:8], values.get(row.id, {}), times.get(row.id))
        for row in connection.execute(query)
    ]


def sent_values(values: Mapping[str, Any]) -> tuple[tuple[str, bool | None], ...]:
    """Values by name, as `Sent` has them."""
    return tuple(sorted((stem(name), value) for name, value in values.items()))
