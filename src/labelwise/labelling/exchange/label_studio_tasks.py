"""Which item of the project a task of Label Studio is: never by its number alone.

A task that we exported says which item of which project it is. Any other is the item that shows the same. Where no item
does, or several do, a task is none: an answer to it would be filed under another item.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.records import Settings
from labelwise.labelling.store import Store
from labelwise.labelling.store.annotations import contents_after, known_tasks
from labelwise.labelling.store.items import items_by_number, known_items

SUGGESTIONS = "labelwise_suggestions"  # field of a task: likely labels and why, a line each; no part of the item
NO_ITEM = "the task is no item of the project: none shows the same"
NO_DATA = "the task has no data to find its item by"


@dataclass(frozen=True)
class TaskItem:
    """The item of a task by number and name; or None and why there is none."""

    number: int | None = None
    name: str = ""
    why: str = ""
    is_ambiguous: bool = False


class TaskItems:
    """Finds the items of tasks; what items show is read once, and later what was added.

    Parameters
    ----------
    store : Store
    settings : Settings
    identity : of the project, as its exported tasks carry it
    """

    def __init__(self, store: Store, settings: Settings, identity: str) -> None:
        self._store = store
        self._field = settings.features.get("field")
        self._identity = identity
        self._turn = threading.Lock()
        self._seen = 0  # the last item that is in the two below
        self._first: dict[int, int] = {}  # item by the hash of what it shows
        self._others: dict[int, list[int]] = {}  # items that show the same as an earlier one

    def find(self, tasks: Sequence[Any]) -> list[TaskItem]:
        """The item of each task, in their order."""
        with self._store.reading() as connection:
            named = known_items(connection, filter(None, map(_claimed, tasks)))
            items = [self._exported(task, named) for task in tasks]
            left = [i for i, each in enumerate(items) if each is None]
            if left:
                self._catch_up(connection)
                others = self._by_content(connection, [tasks[i] for i in left], named)
                for i, other in zip(left, others, strict=True):
                    items[i] = other
        return [each or TaskItem(why=NO_DATA) for each in items]

    def _exported(self, task: Any, named: Mapping[str, int]) -> TaskItem | None:
        """The item of a task that this project exported."""
        name = _claimed(task)
        if name not in named or _meta(task).get("project") != self._identity:
            return None
        return TaskItem(named[name], name)

    def _by_content(self, connection: sa.Connection, tasks: Sequence[Any], named: Mapping[str, int]) -> list[TaskItem]:
        keys = {key for key in map(task_key, tasks) if key is not None}
        recorded = known_tasks(connection, keys)
        candidates = [self._candidates(task, named, recorded) for task in tasks]
        contents = items_by_number(connection, (number for each in candidates for part in each for number in part))
        return [self._chosen(task, each, contents) for task, each in zip(tasks, candidates, strict=True)]

    def _candidates(
        self, task: Any, named: Mapping[str, int], recorded: Mapping[tuple[str, str], tuple[int, str]]
    ) -> tuple[list[int], ...]:
        """Items that the task may be, those of the surest kind first."""
        key, claimed = task_key(task), named.get(_claimed(task))
        item, digest = recorded.get(key, (0, "")) if key is not None else (0, "")
        earlier = [item] if item and digest == data_digest(task) else []
        shown = _hash(_shown(_data(task), self._field))
        same = [self._first[shown], *self._others.get(shown, ())] if shown in self._first else []
        return earlier, [] if claimed is None else [claimed], same

    def _chosen(self, task: Any, candidates: Iterable[Sequence[int]], contents: Mapping[int, sa.Row]) -> TaskItem:
        earlier, claimed, same = candidates
        if earlier:
            return TaskItem(earlier[0], contents[earlier[0]].name)
        data = _data(task)
        if _hash(_shown(data, self._field)) is None:
            return TaskItem(why=NO_DATA)
        for numbers in (claimed, same):
            fitting = [number for number in numbers if shows_the_same(contents[number].content, data, self._field)]
            if len(fitting) == 1:
                return TaskItem(fitting[0], contents[fitting[0]].name)
            if fitting:
                return TaskItem(why=f"{len(fitting)} items of the project show the same as the task", is_ambiguous=True)
        return TaskItem(why=NO_ITEM)

    def _catch_up(self, connection: sa.Connection) -> None:
        with self._turn:
            for row in contents_after(connection, self._seen):
                key = _hash(_shown(row.content, self._field))
                if key is None:
                    pass
                elif key in self._first:
                    self._others.setdefault(key, []).append(row.id)
                else:
                    self._first[key] = row.id
                self._seen = row.id


def shows_the_same(content: Any, data: Mapping[str, Any], field: str | None) -> bool:
    """Whether an item and a task show the same, and no other field that both have says something else.

    >>> shows_the_same({"text": "hello", "from": None}, {"text": "hello", "from": "", "id": 7}, "text")
    True
    >>> shows_the_same({"text": "hello", "from": "ann"}, {"text": "hello", "from": "bob"}, "text")
    False
    """
    shown = _shown(content, field)
    if _hash(shown) is None or shown != _shown(data, field):
        return False
    if not isinstance(content, Mapping):
        return True
    return all(_is_same(value, data[key]) for key, value in content.items() if key in data)


def _is_same(one: Any, other: Any) -> bool:
    """A csv file's values: a blank may be None, a number its digits."""
    return one == other or ("" if one is None else str(one)) == ("" if other is None else str(other))


def task_key(task: Any) -> tuple[str, str] | None:
    """The project there and the number of a task; None where it does not say."""
    if not isinstance(task, Mapping):
        return None
    source, number = plain(task.get("project")), plain(task.get("id"))
    return (source, number) if source and number else None


def data_digest(task: Any) -> str:
    """Tells a task from another that got its number."""
    return hashlib.sha256(_canonical(_data(task)).encode(errors="replace")).hexdigest()[:32]


def plain(value: Any) -> str:
    """A number of Label Studio as part of a key; blank where it is none.

    >>> plain(7), plain("7"), plain(None), plain(True), plain({})
    ('7', '7', '', '', '')
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        return ""
    return re.sub(r"[^0-9A-Za-z_-]", "", str(value))[:40]


def _claimed(task: Any) -> str:
    """The name that an exported task carries."""
    name = _meta(task).get("item")
    return name if isinstance(name, str) else ""


def _meta(task: Any) -> Mapping[str, Any]:
    meta = task.get("meta") if isinstance(task, Mapping) else None
    return meta if isinstance(meta, Mapping) else {}


def _data(task: Any) -> Mapping[str, Any]:
    data = task.get("data") if isinstance(task, Mapping) else None
    return {name: value for name, value in data.items() if name != SUGGESTIONS} if isinstance(data, Mapping) else {}


def _shown(content: Any, field: str | None) -> Any:
    """What identifies an item or a task: the field that the model reads, else its text, else all of it."""
    if not isinstance(content, Mapping):
        return content
    if field:
        return content.get(field)
    text = content.get("text")
    return text if isinstance(text, str) else dict(content)


def _hash(shown: Any) -> int | None:
    """None where it shows nothing: that is no proof of anything."""
    if shown is None or shown == "" or shown == {}:
        return None
    return hash(shown) if isinstance(shown, str) else hash(_canonical(shown))


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
