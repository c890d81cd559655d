"""One label of many items: pages of a sweep, and changes in bulk. Each is saved, and taken back, as one."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa

from labelwise.labelling.errors import AnswerRefused, ProjectError
from labelwise.labelling.leases import checked_values, undo_answer
from labelwise.labelling.people import check_person
from labelwise.labelling.records import BULK, Settings, unpack_reasons
from labelwise.labelling.store import Store
from labelwise.labelling.store.browsing import find_items, words_ready
from labelwise.labelling.store.events import NewEvent, add_event, read_votes
from labelwise.labelling.store.items import item_ids, items_by_number, known_items
from labelwise.labelling.store.labels import read_labels, read_meanings
from labelwise.labelling.store.questions import StoredLease, end_lease, leases_of, withdraw
from labelwise.labelling.store.schema import NO, UNSURE, YES
from labelwise.labelling.store.sweeps import (
    answered_items,
    end_tiles,
    held_tiles,
    hold_tiles,
    saved_together,
    taken_items,
    tile_token,
    tiles_of,
    values_of,
)
from labelwise.records.asking import SWEEP, Timing

if TYPE_CHECKING:
    from labelwise.labelling.items.browse import Browser

MOST_ITEMS = 5000  # changed in bulk at once: others who answer wait for it
LEAST_TELLING = 0.25  # share of the strongest word's weight that a word must have to be marked
OF_NAMES = 0.5  # weight of a word of a label's names where better ones are known
SWEEP_ORDERS = ("likely", "unsure")
_WORD = re.compile(r"[^\W_]{2,}")


@dataclass(frozen=True)
class SweepPage:
    """Items, by number, that a person looks at for one label; `marked` are those that were marked before."""

    token: str
    label: str
    items: tuple[int, ...]
    marked: frozenset[int] = frozenset()


@dataclass(frozen=True)
class SavedTogether:
    """What was saved as one: by which token it is taken back, the last event, how many answers; what was left out.

    Left out of a sweep are items that somebody else answered or was asked about meanwhile; of a change in bulk, those
    of which the person said the same before.
    """

    token: str
    event: int
    saved: int
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class BulkPreview:
    """What a change in bulk does: to how many items, of which the person said the `same` or something else before, and
    how many others contradict."""

    items: int
    same: int
    changed: int
    against_others: int


class ManyItems:
    """Answers about one label of many items. Every method is one transaction.

    Parameters
    ----------
    store : Store
    settings : Settings
    clock : seconds since 1970
    """

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        self.store = store
        self.settings = settings
        self._clock = lambda: round(clock(), 6)

    # -- sweeps -------------------------------------------------------------------------------------------------------

    def give_page(
        self, who: str, label: str, candidates: Sequence[int], n: int, keep: Iterable[str] = ()
    ) -> SweepPage | None:
        """The next page of a sweep: the first n candidates, by number, that nobody has; None where none is left.

        Pages of this person that are not in `keep` are given back.
        """
        check_person(who)
        kept_pages = tuple(f"{token}-" for token in keep)
        with self.store.writing() as connection:
            number, now = read_labels(connection).id_of(label), self._clock()
            mine = held_tiles(connection, who)
            kept = {tile.item for tile in mine if tile.token.startswith(kept_pages) and tile.label == number}
            end_tiles(connection, (tile.token for tile in mine if not tile.token.startswith(kept_pages)), "expired")
            closed = taken_items(connection, number, who, now) | answered_items(connection, number) | kept
            items = [item for item in candidates if item not in closed][:n]
            if not items:
                return None
            page = secrets.token_hex(8)
            hold_tiles(connection, page, number, who, items, (now, now + self.settings.lease_seconds))
            return SweepPage(page, label, tuple(items))

    def save_page(
        self, who: str, page: str, values: Mapping[str, bool | None], timing: Timing | None = None
    ) -> SavedTogether:
        """Save what was said of the items of a page, by name, each as an answer of its own; sent twice, saved once.

        Items that were answered meanwhile, or that somebody is asked about now, are left out. `timing` is of the page:
        the answers share it evenly.
        """
        return self.store.write(lambda connection: self._save_page(connection, who, page, values, timing))

    def reopen_page(self, who: str, page: str) -> SweepPage:
        """Take a saved page back; a page of the same items is given. Sent twice, it is taken back once."""
        with self.store.writing() as connection:
            saved = saved_together(connection, page, who)
            if not saved:
                raise AnswerRefused("there is no saved page to take back")
            label, items = saved[0].asked, tuple(row.item for row in saved)
            again = hashlib.sha256(f"again {page}".encode()).hexdigest()[:16]
            if not tiles_of(connection, again, who):
                self._undo(connection, saved)
                now = self._clock()
                hold_tiles(connection, again, label, who, items, (now, now + self.settings.lease_seconds))
            elif any(not row.undone for row in saved_together(connection, again, who)):
                raise AnswerRefused("that page was taken back already, and saved again since")
            said = values_of(connection, [row.id for row in saved], label)
            marked = frozenset(row.item for row in saved if said.get(row.id) == YES)
            return SweepPage(again, read_labels(connection).all_names[label], items, marked)

    # -- in bulk ------------------------------------------------------------------------------------------------------

    def change(self, who: str, label: str, value: bool, items: Collection[str], token: str) -> SavedTogether:
        """Say yes or no to a label of many items, whatever this person said before; sent twice, saved once.

        `token` is any word of hexadecimal digits that was not used before. `take_back` takes all of it back.
        """
        check_person(who)
        if len(items) > MOST_ITEMS:
            raise ProjectError(f"{len(items)} items are too many to change at once; narrow the search to {MOST_ITEMS}")
        with self.store.writing() as connection:
            known, now = read_labels(connection), self._clock()
            before = saved_together(connection, token, who)
            if before:
                return SavedTogether(token, before[-1].id, len(before))
            said, _ = checked_values(known, {label: value})
            (number,) = said
            ids = item_ids(connection, items)
            votes = read_votes(connection, list(ids.values()))
            columns = zip(votes.item.tolist(), votes.label.tolist(), votes.value.tolist(), votes.who, strict=True)
            mine = {item: vote for item, of, vote, person in columns if person == who and of == number}
            same = {name for name, item in ids.items() if mine.get(item) == said[number]}
            leases = {lease.item: lease for lease in leases_of(connection, who) if lease.label == number}
            event = 0
            for place, (name, item) in enumerate(ids.items()):
                if name in same:
                    continue
                lease = tile_token(token, place)
                event = add_event(connection, NewEvent(now, who, item, "answer", number, BULK, said, lease))
                if item in leases:
                    end_lease(connection, leases[item].token, "answered")
                else:
                    withdraw(connection, item, number)
            return SavedTogether(token, event, len(ids) - len(same), tuple(sorted(same)))

    def preview(self, who: str, label: str, value: bool, items: Collection[str]) -> BulkPreview:
        """What `change` would do."""
        with self.store.reading() as connection:
            number = read_labels(connection).id_of(label)
            votes = read_votes(connection, list(item_ids(connection, items).values()))
        code = YES if value else NO
        said = zip(votes.item.tolist(), votes.label.tolist(), votes.value.tolist(), votes.who, strict=True)
        about = [(item, vote, person) for item, of, vote, person in said if of == number]
        mine = {item: vote for item, vote, person in about if person == who}
        others = {item for item, vote, person in about if person != who and vote not in (code, UNSURE)}
        same = sum(vote == code for vote in mine.values())
        return BulkPreview(len(items), same, len(mine) - same, len(others))

    def take_back(self, who: str, token: str) -> int:
        """Take back all that was saved together; how many answers that were. Sent twice, it is taken back once."""
        return self.store.write(lambda connection: self._undo(connection, saved_together(connection, token, who)))

    # -- inside -------------------------------------------------------------------------------------------------------

    def _save_page(
        self,
        connection: sa.Connection,
        who: str,
        page: str,
        values: Mapping[str, bool | None],
        timing: Timing | None,
    ) -> SavedTogether:
        tiles = tiles_of(connection, page, who)
        if not tiles:
            raise AnswerRefused(f"there is no page {page!r} of a sweep for {who!r}; ask for one")
        rows = items_by_number(connection, [tile.item for tile in tiles])
        tile_of = {rows[tile.item].name: tile for tile in tiles}
        strange = sorted(values.keys() - tile_of.keys())
        if strange:
            raise ProjectError(f"item {strange[0]!r} is not on the page; answer for those that are")
        known, label = read_labels(connection), tiles[0].label
        name = known.all_names[label]
        codes = {item: checked_values(known, {name: value})[0] for item, value in values.items()}  # refuses gone labels
        before = saved_together(connection, page, who)
        if before:
            said = values_of(connection, [row.id for row in before], label)
            stored = {row.lease: said.get(row.id) for row in before}
            sent = {tile_of[item].token: code[label] for item, code in codes.items()}
            if any(sent.get(lease) != value for lease, value in stored.items()):
                raise AnswerRefused("the page was saved already; take it back first to change it")
            left = tuple(item for item in values if tile_of[item].token not in stored)
            return SavedTogether(page, before[-1].id, len(before), left)
        closed = taken_items(connection, label, who, self._clock()) | answered_items(connection, label)
        fresh = {item: code for item, code in codes.items() if tile_of[item].item not in closed}
        event = self._add_tiles(connection, [(tile_of[item], code) for item, code in fresh.items()], len(codes), timing)
        used = {tile_of[item].token for item in fresh}
        end_tiles(connection, used, "answered")
        end_tiles(connection, (tile.token for tile in tiles if tile.token not in used), "expired")
        return SavedTogether(page, event, len(fresh), tuple(item for item in values if item not in fresh))

    def _add_tiles(
        self,
        connection: sa.Connection,
        said: Sequence[tuple[StoredLease, Mapping[int, int]]],
        looked_at: int,
        timing: Timing | None,
    ) -> int:
        """Write the answers of a page, all of one moment, which is how its times are put together again."""
        now, event = self._clock(), 0
        for tile, values in said:
            taken = None if timing is None else timing.clamped(now - tile.given_at)
            if taken is not None:
                marked = int(values[tile.label] == YES)
                taken = replace(taken, question=SWEEP, seconds=taken.seconds / looked_at, by_key=marked)
                taken = replace(taken, by_search=0, by_suggestion=0)
            new = NewEvent(now, tile.who, tile.item, "answer", tile.label, SWEEP, values, tile.token, timing=taken)
            event = add_event(connection, new)
            withdraw(connection, tile.item, tile.label)
        return event

    def _undo(self, connection: sa.Connection, saved: Iterable[sa.Row]) -> int:
        standing = [row for row in saved if not row.undone]
        for row in standing:
            undo_answer(connection, row, self._clock())
        return len(standing)


# -- what a sweep shows -----------------------------------------------------------------------------------------------


def sweep_order(
    browser: Browser, label: str, words: Sequence[str] = (), order: str = "likely", among: Sequence[str] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.floating]]:
    """Items, by number, of which a label is not known, in the order to look at them, and how likely each has it.

    Items that a question of the random share is about are left out: what is said of them must not follow from what is
    believed.

    Parameters
    ----------
    browser : Browser
    label : a label in use
    words : that the items have
    order : "likely", or "unsure" for what teaches most
    among : names of items to keep to, in this order, optional
    """
    if order not in SWEEP_ORDERS:
        raise ProjectError(f"a sweep is ordered by {' or '.join(SWEEP_ORDERS)}, got {order!r}")
    with browser.project.store.reading() as connection:
        view = browser.read_view(connection)
        column = view.labels.column_of[view.labels.id_of(label)]
        numbers = find_items(connection, words)
        if among is not None:
            known = known_items(connection, among)
            wanted = np.array([known[name] for name in among if name in known], dtype=np.int64)
            numbers = wanted[np.isin(wanted, numbers)]
    codes, p = view.column_of(numbers, column)
    open_ = (codes < 0) & ~np.isin(numbers, view.asked_at_random)
    numbers, p = numbers[open_], p[open_]
    if among is not None:
        return numbers, p
    worth = p if order == "likely" else -np.abs(p - 0.5)
    best = np.argsort(-np.where(np.isnan(p), -np.inf, worth), kind="stable")
    return numbers[best], p[best]


def telling_words(store: Store, label: str) -> dict[str, float]:
    """Words that speak for a label, and how much: those that were said or learnt to do so, and those of its names.

    What was learnt is known of the items that questions are ready about. Where there are words of the label's own,
    those of its names count half, and very short ones not at all.
    """
    with store.reading() as connection:
        labels, stored = read_labels(connection), words_ready(connection)
        meaning = read_meanings(connection, labels)[labels.column_of[labels.id_of(label)]]
    said: Counter[str] = Counter()
    for each in stored:
        marks, reasons = unpack_reasons(each, labels.names, {label: 1.0})
        said.update({word: weight for word, name, weight in marks if name == label and weight > 0})
        said.update(dict.fromkeys(reasons[label].words if label in reasons else (), 1.0))
    top = max(said.values(), default=1.0)
    own = {word: amount / top for word, amount in said.items() if amount > LEAST_TELLING * top and len(word) > 2}
    own |= dict.fromkeys(_WORD.findall(" ".join(meaning.keywords).lower()), 1.0)
    names = _WORD.findall(" ".join([meaning.name, *meaning.aliases]).lower())
    if not own:
        return dict.fromkeys(names, 1.0)
    return dict.fromkeys((word for word in names if len(word) > 2), OF_NAMES) | own
