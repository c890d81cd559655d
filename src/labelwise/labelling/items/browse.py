"""Finding items again: by words, label, person, doubt or disagreement; and all that happened to one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.items.blind import Hidden, as_seen, hidden_from, hidden_in_search, places, seen_events
from labelwise.labelling.records import SETTLED, Event, unpack_reasons
from labelwise.labelling.served import ServedProject, event_of
from labelwise.labelling.store.browsing import (
    answerers,
    answerers_of,
    disputed,
    events_on,
    find_items,
    ready_of,
    touched_since,
)
from labelwise.labelling.store.events import read_votes
from labelwise.labelling.store.items import item_ids, items_by_number, known_items, show_item
from labelwise.labelling.store.labels import StoredLabels, read_labels, read_meanings, read_tree
from labelwise.labelling.store.questions import highest_rank, items_asked_at_random
from labelwise.labelling.store.schema import NO, YES
from labelwise.labelling.training.snapshot import Snapshot, snapshot_reader
from labelwise.labelling.training.votes import UNKNOWN, History
from labelwise.records.asking import Suggestion
from labelwise.records.labels import Label

SHOWS = ("all", "uncertain", "disagree", "people", "unanswered")
SAID_KINDS = ("any", "yes", "no", "open")
PAGE = 20  # items on one page
MOST_WORDS = 8  # of a search

Floats = npt.NDArray[np.floating[Any]]
Codes = npt.NDArray[np.int8]


@dataclass(frozen=True)
class ItemSearch:
    """What to look for. `said` is about `label`: known as yes, as no, or open; without a label it says nothing.

    `similar_to` is an item: those that have something in common with it are found, the most similar first.
    """

    words: str = ""
    label: str | None = None
    said: str = "any"
    who: str | None = None
    show: str = "all"
    similar_to: str | None = None

    def __post_init__(self) -> None:
        if "\0" in f"{self.words}{self.label}{self.who}{self.similar_to}":  # PostgreSQL has no such sign
            raise ProjectError("a search cannot hold the sign NUL; leave it out")
        if self.show not in SHOWS or self.said not in SAID_KINDS:
            raise ProjectError(f"show one of {', '.join(SHOWS)} and said one of {', '.join(SAID_KINDS)}, got {self}")

    @property
    def parts(self) -> list[str]:
        """The words, one by one."""
        return self.words.split()[:MOST_WORDS]


@dataclass(frozen=True)
class FoundItem:
    """An item in a list: what is known, what is expected of the rest, where belief and people differ.

    `hides` tells that others said something of it that is not to be seen before one has said something oneself.
    """

    name: str
    content: Any
    present: tuple[str, ...]
    n_known: int
    expected: tuple[tuple[str, float], ...]
    disputed: tuple[tuple[str, bool, float], ...]
    uncertainty: float | None
    people: tuple[str, ...]
    hides: bool = False


@dataclass(frozen=True)
class SearchPage:
    """One page of what was found."""

    total: int
    page: int
    pages: int
    items: tuple[FoundItem, ...]
    notice: str | None


@dataclass(frozen=True)
class LabelOfItem:
    """One label of an item: what is known and believed, and who said what (None is unsure), or that this is hidden.

    `predicted`: whether the label is in the set that `labelwise predict` gives the item, as long as nothing is known;
    `reason`: why it is likely, of items about which a question is ready; `settled`: somebody's word stands.
    """

    name: str
    known: bool | None
    probability: float | None
    votes: Mapping[str, bool | None]
    hidden: bool = False
    predicted: bool = False
    reason: Suggestion | None = None
    settled: bool = False


@dataclass(frozen=True)
class Disagreement:
    """A label of an item that some people say yes to and others no, and nobody has settled."""

    item: str
    content: Any
    label: Label
    votes: Mapping[str, bool | None]
    probability: float | None


@dataclass(frozen=True)
class ItemPage:
    """An item with its labels and everything that happened to it, oldest first."""

    name: str
    content: Any
    labels: tuple[LabelOfItem, ...]
    events: tuple[Event, ...]

    @property
    def hides(self) -> bool:
        """Whether others said something that is not to be seen yet."""
        return any(label.hidden for label in self.labels)


@dataclass(frozen=True, eq=False)
class _ProjectView:
    """One consistent view: items anything is known of, with codes (m, q), and beliefs lined up with today's labels."""

    labels: StoredLabels
    items: npt.NDArray[np.int64]  # (m,), rising
    codes: Codes  # (m, q)
    snapshot: Snapshot | None
    columns: npt.NDArray[np.intp]  # (q,) of the snapshot; -1 for a label it does not have
    asked_at_random: npt.NDArray[np.int64]  # items that a question of the random share is about now
    hidden: Hidden = field(default_factory=Hidden.nothing)

    def hidden_of(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """(k, q) what of some items is not to be seen."""
        return self.hidden.mask(numbers, self.labels.column_of)

    def codes_of(self, numbers: npt.NDArray[np.int64]) -> Codes:
        """(k, q) what is known of some items, as far as it may be seen."""
        found = np.full((numbers.size, len(self.labels.ids)), UNKNOWN, dtype=np.int8)
        place, there = places(self.items, numbers)
        found[there] = self.codes[place[there]]
        found[self.hidden_of(numbers)] = UNKNOWN
        return found

    def beliefs_of(self, numbers: npt.NDArray[np.int64]) -> Floats:
        """(k, q) probabilities; NaN where nothing is believed.

        What is believed of items that are asked about at random now is nobody's to see: it would spoil the answers.
        """
        found = np.full((numbers.size, len(self.labels.ids)), np.nan, dtype=np.float32)
        if self.snapshot is not None and self.snapshot.has_beliefs:
            place, there = places(self.snapshot.items, numbers)
            used = self.columns >= 0
            found[np.ix_(there, used)] = self.snapshot.probabilities[np.ix_(place[there], self.columns[used])]
            by_chance = np.isin(numbers, self.asked_at_random)
            found[by_chance[:, None] & (self.codes_of(numbers) == UNKNOWN)] = np.nan
            found[self.hidden_of(numbers)] = np.nan  # it was learnt from the answers that are hidden
        return found

    def column_of(self, numbers: npt.NDArray[np.int64], column: int) -> tuple[Codes, Floats]:
        """(k,) what is known, and (k,) what is believed, of one label of some items, without regard to who looks."""
        codes, p = np.full(numbers.size, UNKNOWN, dtype=np.int8), np.full(numbers.size, np.nan)
        place, there = places(self.items, numbers)
        codes[there] = self.codes[place[there], column]
        if self.snapshot is not None and self.snapshot.has_beliefs and self.columns[column] >= 0:
            place, there = places(self.snapshot.items, numbers)
            p[there] = self.snapshot.probabilities[place[there], self.columns[column]]
        return codes, p

    def predicted_of(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """(k, q) predicted label sets, without labels of which no belief may be seen."""
        found = np.zeros((numbers.size, len(self.labels.ids)), dtype=bool)
        if self.snapshot is not None and self.snapshot.has_beliefs:
            place, there = places(self.snapshot.items, numbers)
            used = self.columns >= 0
            found[np.ix_(there, used)] = self.snapshot.label_sets(place[there])[:, self.columns[used]]
        return found & ~np.isnan(self.beliefs_of(numbers))

    def uncertainty_of(self, numbers: npt.NDArray[np.int64]) -> Floats:
        """(k,) bits; NaN where nothing is believed, or it is not to be seen."""
        found = np.full(numbers.size, np.nan)
        if self.snapshot is not None and self.snapshot.has_beliefs:
            place, there = places(self.snapshot.items, numbers)
            found[there] = self.snapshot.uncertainty[place[there]]
            found[np.isin(numbers, self.asked_at_random) | self.hidden_of(numbers).any(1)] = np.nan
        return found


class Browser:
    """Looks into a project for the page: words and people by the store, beliefs from the worker's last snapshot.

    What was said since the snapshot is looked up, so that an answer shows at once; beliefs follow with the next one.

    Parameters
    ----------
    project : ServedProject
    """

    def __init__(self, project: ServedProject) -> None:
        self.project = project
        self.snapshots = snapshot_reader(project.store)

    def people(self) -> list[str]:
        """Who may be filtered by."""
        with self.project.store.reading() as connection:
            return answerers(connection)

    def find(self, search: ItemSearch, page: int = 1, viewer: str | None = None, per_page: int = PAGE) -> SearchPage:
        """One page of the items that are looked for: by number, or most uncertain or most disputed first.

        With a viewer, others' answers to a question that several people are asked are hidden until the viewer has
        answered it, in what is shown and in what is found.
        """
        with self.project.store.reading() as connection:
            view, numbers, notice = self._found(connection, search, viewer)
            pages = max(1, -(-numbers.size // per_page))
            page = min(max(page, 1), pages)
            shown = numbers[(page - 1) * per_page : page * per_page]
            view = replace(view, hidden=hidden_from(connection, self.project.settings, viewer, shown.tolist()))
            return SearchPage(int(numbers.size), page, pages, self._rows(connection, view, shown, viewer), notice)

    def disagreements(self, start: int = 0, most: int = PAGE) -> tuple[int, list[Disagreement]]:
        """How many there are, and some of them, by item and label."""
        with self.project.store.reading() as connection:
            view = self.read_view(connection)
            entries = [each for each in disputed(connection).tolist() if each[1] in view.labels.column_of]
            part = entries[start : start + most]
            numbers = sorted({item for item, _ in part})
            rows, votes = items_by_number(connection, numbers), read_votes(connection, numbers)
            meanings = read_meanings(connection, view.labels)
        said: dict[tuple[int, int], dict[str, bool | None]] = {}
        columns = zip(votes.item.tolist(), votes.label.tolist(), votes.value.tolist(), votes.who, strict=True)
        for item, label, value, who in columns:
            said.setdefault((item, label), {})[who] = _word(value)
        found = []
        for item, label in part:
            column = view.labels.column_of[label]
            p = view.column_of(np.array([item]), column)[1][0]
            row = rows[item]
            found.append(Disagreement(row.name, row.content, meanings[column], said[item, label], _number(p)))
        return len(entries), found

    def names_found(self, search: ItemSearch, viewer: str | None = None) -> list[str]:
        """The names of all items that are looked for, in the order of `find`."""
        with self.project.store.reading() as connection:
            _, numbers, _ = self._found(connection, search, viewer)
            names = items_by_number(connection, numbers.tolist())
        return [names[number].name for number in numbers.tolist()]

    def _found(
        self, connection: sa.Connection, search: ItemSearch, viewer: str | None
    ) -> tuple[_ProjectView, npt.NDArray[np.int64], str | None]:
        """The view, the numbers of all items that are looked for, in order, and what to say about it."""
        view = self.read_view(connection)
        hidden = hidden_in_search(connection, self.project.settings, view.labels, search, viewer)
        view = replace(view, hidden=hidden)
        numbers = find_items(connection, search.parts, search.who, search.show == "unanswered")
        numbers = as_seen(connection, hidden, numbers, search, viewer)
        if search.show == "people":
            entries = disputed(connection)
            seen = set(map(tuple, entries.tolist())) - set(map(tuple, hidden.entries.tolist()))
            numbers = numbers[np.isin(numbers, sorted({item for item, _ in seen}))]
        numbers, notice = _in_order(view, _by_label(view, numbers, search), search.show)
        if search.similar_to is not None:
            numbers, notice = self._most_similar(numbers, search.similar_to, notice)
        return view, numbers, notice

    def _most_similar(
        self, numbers: npt.NDArray[np.int64], item: str, notice: str | None
    ) -> tuple[npt.NDArray[np.int64], str | None]:
        """Those of the items that are like one, the most similar first."""
        alike, scores = self.project.similarities(item)
        if not alike.size:
            return numbers[:0], "Nothing is known of similar items yet: this needs a worker that has read the items."
        order = np.argsort(-scores, kind="stable")
        return alike[order][np.isin(alike[order], numbers)], notice

    def item(self, name: str, viewer: str | None = None) -> ItemPage:
        """One item with its history; with a viewer, as far as the viewer may see it."""
        if "\0" in name:
            raise ProjectError(f"there is no item {name!r} in the project")
        with self.project.store.reading() as connection:
            number = item_ids(connection, [name])[name]
            view = replace(
                self.read_view(connection), hidden=hidden_from(connection, self.project.settings, viewer, [number])
            )
            votes = read_votes(connection, [number])
            _, content = show_item(connection, number)
            events = events_on(connection, number)
        labels, here = view.labels, np.array([number])
        closed = set(view.hidden.entries[:, 1].tolist())
        said: dict[int, dict[str, bool | None]] = {}
        for label, who, value in zip(votes.label.tolist(), votes.who, votes.value.tolist(), strict=True):
            if label not in closed:
                said.setdefault(label, {})[who] = _word(value)
        settled = {label for label, why in zip(votes.label.tolist(), votes.reason, strict=True) if why == SETTLED}
        rows = zip(labels.ids, labels.names, view.codes_of(here)[0], view.beliefs_of(here)[0], strict=True)
        return ItemPage(
            name,
            content,
            tuple(
                LabelOfItem(
                    each,
                    _word(code),
                    _number(p),
                    said.get(label, {}),
                    label in closed,
                    settled=label in settled - closed,
                )
                for label, each, code, p in rows
            ),
            _past(name, seen_events(events, closed, viewer), labels.all_names),
        )

    def standing_of(self, names: Sequence[str]) -> dict[str, tuple[tuple[LabelOfItem, ...], float | None]]:
        """Labels of those of these items that there are, and their place among the ready questions, 0 for the next."""
        with self.project.store.reading() as connection:
            view, found = self.read_view(connection), known_items(connection, names)
            ready, end = ready_of(connection, list(found.values())), highest_rank(connection) + 1
        numbers = np.array(list(found.values()), dtype=np.int64)
        codes, p, predicted = view.codes_of(numbers), view.beliefs_of(numbers), view.predicted_of(numbers)
        standing = {}
        for row, (name, number) in enumerate(found.items()):
            cells = zip(view.labels.names, codes[row], p[row], predicted[row].tolist(), strict=True)
            rank, words = ready.get(number, (None, None))
            seen = ((each, value) for each, value in zip(view.labels.names, p[row].tolist(), strict=True))
            believed = {each: value for each, value in seen if value == value}  # what must not be seen is NaN
            reasons = unpack_reasons(words, view.labels.names, believed)[1]
            labels = tuple(
                LabelOfItem(each, _word(code), _number(value), {}, predicted=there, reason=reasons.get(each))
                for each, code, value, there in cells
            )
            standing[name] = (labels, None if rank is None else rank / end)
        return standing

    def label_counts(self) -> tuple[tuple[str, ...], npt.NDArray[np.int64], npt.NDArray[np.int64], Codes]:
        """The labels, on how many items each is known as present (q,) and absent (q,), and the codes (m, q)."""
        with self.project.store.reading() as connection:
            view = self.read_view(connection)
        return view.labels.names, (view.codes == YES).sum(0), (view.codes == NO).sum(0), view.codes

    def read_view(self, connection: sa.Connection) -> _ProjectView:
        """What is known and believed now."""
        labels, snapshot = read_labels(connection), self.snapshots.read()
        q = len(labels.ids)
        if snapshot is None:
            known, codes = np.zeros(0, np.int64), np.zeros((0, q), np.int8)
            columns, seen = np.full(q, -1, dtype=np.intp), 0
        else:
            columns, there = places(snapshot.labels, np.array(labels.ids, dtype=np.int64))
            columns = np.where(there, columns, -1)
            known, seen = snapshot.items[snapshot.rows], int(snapshot.seen[0])
            codes = np.full((known.size, q), UNKNOWN, dtype=np.int8)
            codes[:, columns >= 0] = snapshot.codes[:, columns[columns >= 0]]
        touched = touched_since(connection, seen)
        if touched:
            known, codes = _overlaid(connection, labels, (known, codes), touched)
        by_chance = np.array(items_asked_at_random(connection), dtype=np.int64)
        return _ProjectView(labels, known, codes, snapshot, columns, by_chance)

    def _rows(
        self, connection: sa.Connection, view: _ProjectView, numbers: npt.NDArray[np.int64], viewer: str | None
    ) -> tuple[FoundItem, ...]:
        rows = items_by_number(connection, numbers.tolist())
        people = answerers_of(connection, numbers.tolist())
        codes, p, bits = view.codes_of(numbers), view.beliefs_of(numbers), view.uncertainty_of(numbers)
        predicted = view.predicted_of(numbers)
        hiding = set(view.hidden.entries[:, 0].tolist())
        found = []
        for row, number in enumerate(numbers.tolist()):
            named = [who for who in people.get(number, []) if number not in hiding or who == viewer]
            rest = (_number(bits[row]), named)
            one = _found(rows[number], view.labels.names, codes[row], p[row], predicted[row], rest)
            found.append(replace(one, hides=number in hiding))
        return tuple(found)


def _overlaid(
    connection: sa.Connection, labels: StoredLabels, before: tuple[npt.NDArray[np.int64], Codes], touched: list[int]
) -> tuple[npt.NDArray[np.int64], Codes]:
    """What is known, with some items looked up anew; an item that nothing is known of any more is left out."""
    history = History(labels, dict.fromkeys(touched, ""), read_tree(connection, labels))
    history.add(read_votes(connection, touched))
    fresh = {item: votes.known for item, votes in sorted(history.items.items()) if (votes.known != UNKNOWN).any()}
    kept = ~np.isin(before[0], touched)
    items = np.concatenate([before[0][kept], np.array(list(fresh), dtype=np.int64)])
    new = np.array(list(fresh.values()), dtype=np.int8).reshape(len(fresh), len(labels.ids))
    order = np.argsort(items, kind="stable")
    return items[order], np.concatenate([before[1][kept], new])[order]


def _by_label(view: _ProjectView, numbers: npt.NDArray[np.int64], search: ItemSearch) -> npt.NDArray[np.int64]:
    if search.label is None:
        return numbers
    column = view.labels.column_of[view.labels.id_of(search.label)]
    code = view.codes_of(numbers)[:, column]
    kept = {"any": code != UNKNOWN, "yes": code == YES, "no": code == NO, "open": code == UNKNOWN}[search.said]
    return numbers[kept]


def _in_order(
    view: _ProjectView, numbers: npt.NDArray[np.int64], show: str
) -> tuple[npt.NDArray[np.int64], str | None]:
    """Filtered and sorted by what the model believes, where that is wanted; and what to say about it."""
    if show not in ("uncertain", "disagree"):
        return numbers, None
    if view.snapshot is None or not view.snapshot.has_beliefs:
        return numbers[:0], "Nothing is believed yet: this needs answers, and a worker that has learnt from them."
    if show == "uncertain":
        bits = view.uncertainty_of(numbers)
        numbers, score = numbers[~np.isnan(bits)], bits[~np.isnan(bits)]
    else:
        numbers = numbers[np.isin(numbers, view.items)]
        score = _distance(view.codes_of(numbers), view.beliefs_of(numbers)).max(axis=1, initial=0.0)
        numbers, score = numbers[score > 0.5], score[score > 0.5]
    return numbers[np.argsort(-score, kind="stable")], None


def _distance(codes: Codes, p: Floats) -> Floats:
    """How far beliefs are from what is known; 0 where nothing is known or believed."""
    distance = np.abs(codes - p)
    distance[(codes == UNKNOWN) | np.isnan(p)] = 0.0
    return distance


def _found(
    row: sa.Row,
    names: tuple[str, ...],
    codes: Codes,
    p: Floats,
    predicted: npt.NDArray[np.bool_],
    rest: tuple[Any, list[str]],
) -> FoundItem:
    believed = np.nan_to_num(p)
    likely = np.flatnonzero((codes == UNKNOWN) & predicted)
    likely = likely[np.argsort(-believed[likely], kind="stable")]
    disputed = np.flatnonzero(_distance(codes, p) > 0.5)
    return FoundItem(
        name=row.name,
        content=row.content,
        present=tuple(names[column] for column in np.flatnonzero(codes == YES)),
        n_known=int((codes != UNKNOWN).sum()),
        expected=tuple((names[column], float(believed[column])) for column in likely.tolist()),
        disputed=tuple((names[c], bool(codes[c]), float(believed[c])) for c in disputed.tolist()),
        uncertainty=rest[0],
        people=tuple(rest[1]),
    )


def _past(item: str, events: list[tuple[sa.Row, dict[int, int]]], names: Mapping[int, str]) -> tuple[Event, ...]:
    undone = {row.undoes: row.id for row, _ in events if row.undoes is not None}
    return tuple(event_of(row, said, names, item=item, taken_back=undone.get(row.id)) for row, said in events)


def _word(code: int) -> bool | None:
    return None if code < 0 else bool(code)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
