"""One label of many items: pages of a sweep, and changes in bulk. Each is saved, and taken back, as one."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import sqlalchemy as sa

from labelwise.labelling.errors import AnswerRefused, ProjectError
from labelwise.labelling.leases import checked_values, undo_answer
from labelwise.labelling.people import check_person
from labelwise.labelling.records import BULK, Settings
from labelwise.labelling.store import Store
from labelwise.labelling.store.events import NewEvent, add_event, read_votes
from labelwise.labelling.store.items import item_ids, items_by_number
from labelwise.labelling.store.labels import read_labels
from labelwise.labelling.store.questions import StoredLease, end_lease, leases_of, withdraw
from labelwise.labelling.store.schema import YES
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

MOST_ITEMS = 5000  # changed in bulk at once: others who answer wait for it


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

        def give(connection: sa.Connection) -> SweepPage | None:
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

        return self.store.write(give)

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

        def reopen(connection: sa.Connection) -> SweepPage:
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

        return self.store.write(reopen)

    # -- in bulk ------------------------------------------------------------------------------------------------------

    def change(self, who: str, label: str, value: bool, items: Collection[str], token: str) -> SavedTogether:
        """Say yes or no to a label of many items, whatever this person said before; sent twice, saved once.

        `token` is any word of hexadecimal digits that was not used before. `take_back` takes all of it back.
        """
        check_person(who)
        if len(items) > MOST_ITEMS:
            raise ProjectError(f"{len(items)} items are too many to change at once; narrow the search to {MOST_ITEMS}")

        def change(connection: sa.Connection) -> SavedTogether:
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

        return self.store.write(change)

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
