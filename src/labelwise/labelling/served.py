"""A project as those see it who ask and answer: no features, no model, opened in milliseconds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelwise.labelling.errors import ProjectError, StoreError
from labelwise.labelling.exchange.label_studio_tasks import TaskItems
from labelwise.labelling.items.pictures import located
from labelwise.labelling.many_items import ManyItems
from labelwise.labelling.notes import Notes
from labelwise.labelling.people import People
from labelwise.labelling.records import TOLD, Event, Settings
from labelwise.labelling.service import Service
from labelwise.labelling.store import Location, Store
from labelwise.labelling.store.engine import read_value, write_value
from labelwise.labelling.store.events import NewEvent, add_event, last_event, move_votes, read_events, read_timings
from labelwise.labelling.store.items import item_ids, item_names, items_by_number, show_item
from labelwise.labelling.store.labels import (
    add_labels,
    describe_labels,
    last_change,
    merge_labels,
    read_implies_parent,
    read_labels,
    read_meanings,
    rename_label,
    retire_label,
    set_start,
    write_implies_parent,
)
from labelwise.labelling.store.opinions import remove_opinions, write_opinions
from labelwise.labelling.store.questions import forget_beliefs
from labelwise.labelling.store.schema import WHOLE_ITEM, YES
from labelwise.labelling.store.trainings import last_good
from labelwise.labelling.training.derived import SIMILAR, DerivedReader
from labelwise.labelling.training.guesses import Shares, hint_of
from labelwise.labelling.training.similar import SimilarItems
from labelwise.records.labels import Label, as_labels
from labelwise.records.opinions import Opinions, check_opinion_name

PICTURE_FOLDERS, GUIDELINES = "picture_folders", "guidelines"
OWN_BLOCKS = {"images": ("colours", "edges")}  # of features that are made here; the others are names of kinds
OWNER = "owner"  # who changes labels and adds items where no name is given


class ServedProject:
    """What a page needs of a project: its questions and answers, its people, its labels. `Project` is one too.

    Parameters
    ----------
    location : path of a SQLite file, or postgresql://user@host/database
    """

    starts_worker = False  # whether who serves it keeps a worker running beside

    def __init__(self, location: Location) -> None:
        self.store = Store.open(location)
        with self.store.reading() as connection:
            self.settings = _settings(read_value(connection, "settings"), self.store.shown)
            self.identity = str(read_value(connection, "identity"))
        self.service = Service(self.store, self.settings)
        self.many = ManyItems(self.store, self.settings)
        self.notes = Notes(self.store)
        self.people = People(self.store)
        self.task_items = TaskItems(self.store, self.settings, self.identity)
        self._alike = DerivedReader(self.store, SIMILAR, SimilarItems.load)

    def close(self) -> None:
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what was said ------------------------------------------------------------------------------------------------

    def events(self) -> list[Event]:
        """Everything that people did, oldest first."""
        with self.store.reading() as connection:
            names, labels = item_names(connection), read_labels(connection).all_names
            found, times = read_events(connection), read_timings(connection)
        return [event_of(row, said, labels, item=names[row.item], timing=times.get(row.id)) for row, said in found]

    def label_names(self) -> list[str]:
        """The labels in use."""
        with self.store.reading() as connection:
            return list(read_labels(connection).names)

    def labels(self) -> tuple[Label, ...]:
        """The labels in use, with what was said of them."""
        with self.store.reading() as connection:
            return read_meanings(connection, read_labels(connection))

    def gone_labels(self) -> set[str]:
        """The labels that were merged or retired."""
        with self.store.reading() as connection:
            return set(read_labels(connection).gone)

    def item_names(self) -> set[str]:
        """The names of all items."""
        with self.store.reading() as connection:
            return set(item_names(connection).values())

    @property
    def is_settled(self) -> bool:
        """Whether the ready questions follow from everything answered so far."""
        with self.store.reading() as connection:
            good = last_good(connection)
            now = (last_event(connection), last_change(connection))
        return good is not None and (good.seen_event, good.seen_change) == now

    # -- showing items ------------------------------------------------------------------------------------------------

    def content_of(self, item: str) -> Any:
        """What is to be shown of an item, by name."""
        with self.store.reading() as connection:
            return located(show_item(connection, item_ids(connection, [item])[item])[1], self.store.folder)

    def similar(self, item: str, n: int = 10) -> list[tuple[str, float]]:
        """The n items most like this one, with the cosine between their features and its own; itself is left out.

        By their vectors if they have any, otherwise by their words or numbers. Items that have nothing in common with
        it are left out. Answers and beliefs play no part. It is read from a file of the worker, which has them since
        its last training: empty before that, and of items that were added since.
        """
        numbers, scores = self.similarities(item)
        best = np.argsort(-scores, kind="stable")[:n]
        with self.store.reading() as connection:
            rows = items_by_number(connection, numbers[best].tolist())
        return [(rows[int(numbers[i])].name, float(scores[i])) for i in best.tolist()]

    def similarities(self, item: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """(m,) the numbers of all items that have anything in common with an item, and the cosines, see `similar`."""
        with self.store.reading() as connection:
            number = item_ids(connection, [item])[item]
        alike = self._similar_items()
        scores = np.zeros(0, dtype=np.float32) if alike is None else alike.scores(number)
        if alike is None or not scores.size:
            return np.zeros(0, dtype=np.int64), scores[:0]
        kept = (scores > 0) & (alike.items != number)
        return alike.items[kept], scores[kept]

    def _similar_items(self) -> SimilarItems | None:
        return self._alike.read()

    def picture_folders(self) -> list[str]:
        """The folders whose pictures may be shown: those that the pictures of items were in when they were added."""
        with self.store.reading() as connection:
            folders = read_value(connection, PICTURE_FOLDERS) or ()
        base = self.store.folder or Path()
        return [str((base / folder).resolve()) for folder in folders]

    def guidelines(self) -> str:
        """How to label, for those who do, in Markdown; empty where nothing was written."""
        with self.store.reading() as connection:
            return str(read_value(connection, GUIDELINES) or "")

    def write_guidelines(self, text: str) -> None:
        """Say how to label, in place of what was said before. Markdown; HTML in it is shown as text."""
        if "\0" in text:
            raise ProjectError("the guidelines have a NUL in them; leave it out")
        self.store.write(lambda connection: write_value(connection, GUIDELINES, text))

    # -- changing labels ----------------------------------------------------------------------------------------------

    def add_label(
        self,
        name: str,
        *,
        like: Shares | None = None,
        counts: Shares | None = None,
        examples: Iterable[str] = (),
        who: str = OWNER,
    ) -> None:
        """One more label, unknown for every item but the examples; with `like` or `counts` it starts from a guess.

        `like`: for some labels, the share of their items that carry this one, too. `counts`: for some labels, how many
        items of the project carry both. `examples`: items that carry it.
        """
        with self.store.writing() as connection:
            hint = hint_of(name, read_labels(connection).names, like, counts)
            (label,) = add_labels(connection, [name], who, time.time())
            if hint is not None:
                set_start(connection, name, *hint)
            for item in item_ids(connection, examples).values():
                add_event(connection, NewEvent(time.time(), who, item, "answer", label, TOLD, {label: YES}))
            forget_beliefs(connection)

    def describe_labels(self, labels: Iterable[Any] | Mapping[str, str], *, who: str = OWNER) -> int:
        """Say what labels mean, in place of what was said before; returns how many changed. The next training uses it.

        `labels`: `Label` records or mappings of their fields, or one mapping of names to descriptions.
        """
        try:
            described = as_labels(labels)
        except (TypeError, ValueError) as error:
            raise ProjectError(str(error)) from None
        with self.store.writing() as connection:
            return describe_labels(connection, described, who, time.time())

    def imply_parents(self, implies: bool = True, *, who: str = OWNER) -> bool:
        """Say whether a label implies its parent; returns whether that is a change.

        If so, a yes to a label is a yes to those above it, a no to those below it, and predictions keep to it. What
        people said is kept as they said it.
        """
        with self.store.writing() as connection:
            changed = write_implies_parent(connection, implies, who, time.time())
            if changed:
                forget_beliefs(connection)
        return changed

    @property
    def implies_parent(self) -> bool:
        """Whether a label implies its parent."""
        with self.store.reading() as connection:
            return read_implies_parent(connection)

    def add_opinions(self, opinions: Opinions, *, who: str = OWNER) -> int:
        """Keep what a source says of items, in place of what it said before; returns of how many items.

        Opinions are weighed by the answers, judged by the random share, and never taken as answers. The name of a block
        of the project's features, such as its encoder's, is refused.
        """
        features = self.settings.features
        blocks = [block["name"] for block in features.get("blocks", ())] + [features.get("embed")]
        try:
            check_opinion_name(opinions.name, [*filter(None, blocks), *OWN_BLOCKS.get(features["kind"], ())])
        except ValueError as error:
            raise ProjectError(str(error)) from None
        with self.store.writing() as connection:
            return write_opinions(connection, opinions, who, time.time())

    def remove_opinions(self, name: str, *, who: str = OWNER) -> int:
        """Forget what a source says; returns of how many items."""
        with self.store.writing() as connection:
            return remove_opinions(connection, name, who, time.time())

    def rename_label(self, old: str, new: str, *, who: str = OWNER) -> None:
        with self.store.writing() as connection:
            rename_label(connection, old, new, who, time.time())

    def merge_labels(self, source: str, target: str, *, who: str = OWNER) -> None:
        """Make one label of two: what people said of `source` they have now said of `target`, yes to either is yes."""
        with self.store.writing() as connection:
            gone, kept = merge_labels(connection, source, target, who, time.time())
            move_votes(connection, gone, kept, time.time())
            forget_beliefs(connection, gone)

    def retire_label(self, name: str, *, who: str = OWNER) -> None:
        """Stop asking about a label and using its answers, which are kept."""
        with self.store.writing() as connection:
            forget_beliefs(connection, retire_label(connection, name, who, time.time()))


def _settings(stored: Any, location: str) -> Settings:
    """The settings of a project; a file that was damaged may hold others than there are."""
    try:
        return Settings(**stored)
    except (TypeError, ValueError) as error:
        raise StoreError(f"{location} is damaged: its settings cannot be read ({error}); restore a copy") from None


def event_of(row: Any, said: Mapping[int, int], labels: Mapping[int, str], *, item: str, **more: Any) -> Event:
    """A row of the store and what was said with it, by label number, as an event by names."""
    asked = None if row.asked == WHOLE_ITEM else labels[row.asked]
    values = {labels[label]: None if value < 0 else bool(value) for label, value in said.items()}
    return Event(row.id, row.at, row.who, row.kind, item, asked, row.reason, values, row.undoes, **more)
