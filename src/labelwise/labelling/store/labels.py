"""The labels of a project: added, renamed, merged, retired; every such change is kept in `changes`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.errors import AnswerRefused, ProjectError
from labelwise.labelling.store.schema import changes, labels
from labelwise.records.label_tree import LabelTree
from labelwise.records.labels import Label
from labelwise.views.wording import did_you_mean

DESCRIBE = "describe labels"  # a change: the number of each label to what it means
IMPLY = "imply parents"  # a change: whether a label implies its parent
LAST_CHANGE = sa.select(sa.func.coalesce(sa.func.max(changes.c.id), 0))


@dataclass(frozen=True)
class StoredLabels:
    """The labels in use, in order, and what became of the others."""

    ids: tuple[int, ...]
    names: tuple[str, ...]
    gone: dict[str, str | None]  # a label no longer in use, by name, to the one it was merged into; None is retired
    all_names: dict[int, str]
    starts: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)  # of guessed labels: like or counts

    @cached_property
    def column_of(self) -> dict[int, int]:
        """The place of each label in use."""
        return {label: column for column, label in enumerate(self.ids)}

    @cached_property
    def _number_of(self) -> dict[str, int]:
        return dict(zip(self.names, self.ids, strict=True))

    def id_of(self, name: str) -> int:
        """The number of a label in use, by name; a merged or retired one is told apart from one that never was."""
        if name in self._number_of:
            return self._number_of[name]
        if name in self.gone:
            target = self.gone[name]
            what = "is retired and takes no answers" if target is None else f"was merged into {target!r}; use that one"
            raise AnswerRefused(f"label {name!r} {what}")
        hint = did_you_mean(name, self.names)
        raise ProjectError(f"there is no label {name!r} in the project{hint}")

    def recorded_id_of(self, name: str) -> int:
        """The number that answers given elsewhere go to: a merged label's target, a retired label's own."""
        if name in self._number_of or name not in self.gone:
            return self.id_of(name)
        target = self.gone[name]
        return self.last_id_of(name) if target is None else self.recorded_id_of(target)

    def last_id_of(self, name: str) -> int:
        """The number of a label that is or was in use."""
        return max(label for label, known in self.all_names.items() if known == name)


def read_labels(connection: sa.Connection) -> StoredLabels:
    rows = connection.execute(sa.select(labels).order_by(labels.c.id)).all()
    used = [row for row in rows if row.retired_at is None and row.merged_into is None]
    gone = [row for row in rows if row.retired_at is not None or row.merged_into is not None]
    names = {row.id: row.name for row in rows}
    return StoredLabels(
        ids=tuple(row.id for row in used),
        names=tuple(row.name for row in used),
        gone={row.name: names.get(row.merged_into) for row in gone},
        all_names=names,
        starts=_starts(rows, {row.id: row.name for row in used}),
    )


def _starts(rows: Sequence[sa.Row], used: dict[int, str]) -> dict[str, dict[str, dict[str, float]]]:
    """What labels in use were said to go with, by today's names; merged labels count as those they went into."""
    became = {row.id: row.merged_into or row.id for row in rows}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row.id not in used or row.start is None:
            continue
        ((kind, given),) = row.start.items()
        said: dict[str, float] = {}
        for number, value in given.items():
            other = became[int(number)]
            if other in used and other != row.id:
                said[used[other]] = max(value, said.get(used[other], 0.0))
        if said:
            found[row.name] = {kind: said}
    return found


def set_start(connection: sa.Connection, name: str, kind: str, given: Mapping[str, float]) -> None:
    """Note what a label goes with: `kind` is like or counts, see `labelwise.campaign.new_labels.NewLabel`."""
    known = read_labels(connection)
    start = {kind: {str(known.id_of(other)): value for other, value in given.items()}}
    connection.execute(labels.update().where(labels.c.id == known.id_of(name)).values(start=start))


def describe_labels(connection: sa.Connection, described: Iterable[Label], who: str, at: float) -> int:
    """Note what labels in use mean, in place of what was said of them before; how many changed.

    It is kept in `changes`: the last word counts.
    """
    known, described = read_labels(connection), list(described)
    for label in described:
        if any("\0" in text for said in label.as_dict().values() for text in said):
            raise ProjectError(f"what is said of the label {label.name!r} has a NUL in it; leave it out")
    before = {label.name: label for label in read_meanings(connection, known)}
    said = {str(known.id_of(each.name)): _without_name(each) for each in described if before.get(each.name) != each}
    if said:
        note_change(connection, DESCRIBE, {"labels": said}, who, at)
        _check_tree(connection)
    return len(said)


def read_meanings(connection: sa.Connection, known: StoredLabels) -> tuple[Label, ...]:
    """The labels in use with what was said of them."""
    rows = connection.execute(sa.select(changes.c.detail).where(changes.c.what == DESCRIBE).order_by(changes.c.id))
    said: dict[str, dict[str, Any]] = {}
    for row in rows:
        said |= row.detail["labels"]
    return tuple(
        Label.of({**said.get(str(number), {}), "name": name})
        for number, name in zip(known.ids, known.names, strict=True)
    )


def read_implies_parent(connection: sa.Connection) -> bool:
    """Whether a label implies its parent."""
    latest = sa.select(changes.c.detail).where(changes.c.what == IMPLY).order_by(changes.c.id.desc()).limit(1)
    detail = connection.execute(latest).scalar()
    return bool(detail and detail["implies_parent"])


def write_implies_parent(connection: sa.Connection, implies: bool, who: str, at: float) -> bool:
    """Say whether a label implies its parent; whether that is a change. A circle of parents is refused."""
    if read_implies_parent(connection) == implies:
        return False
    note_change(connection, IMPLY, {"implies_parent": implies}, who, at)
    _check_tree(connection)
    return True


def read_tree(connection: sa.Connection, known: StoredLabels) -> LabelTree | None:
    """Which label implies which; None where none does."""
    if not read_implies_parent(connection):
        return None
    tree = LabelTree.of(read_meanings(connection, known))
    return None if tree.is_flat else tree


def _check_tree(connection: sa.Connection) -> None:
    try:
        read_tree(connection, read_labels(connection))
    except ValueError as error:
        raise ProjectError(str(error)) from None


def _without_name(label: Label) -> dict[str, Any]:
    return {key: value for key, value in label.as_dict().items() if key != "name"}


def add_labels(connection: sa.Connection, names: Iterable[str], who: str, at: float) -> list[int]:
    """Write new labels after those there are; their numbers."""
    new = [check_name(name) for name in names]
    used = set(read_labels(connection).names)
    for position, name in enumerate(new):
        if name in used or name in new[:position]:
            raise ProjectError(f"there is a label {name!r} already")
    start = connection.execute(sa.select(sa.func.coalesce(sa.func.max(labels.c.id), 0))).scalar_one() + 1
    ids = list(range(start, start + len(new)))
    if ids:
        connection.execute(labels.insert(), [{"id": i, "name": name} for i, name in zip(ids, new, strict=True)])
        note_change(connection, "add labels", {"names": new}, who, at)
    return ids


def rename_label(connection: sa.Connection, old: str, new: str, who: str, at: float) -> None:
    known = read_labels(connection)
    if check_name(new) in known.names:
        raise ProjectError(f"there is a label {new!r} already; merge {old!r} into it instead")
    connection.execute(labels.update().where(labels.c.id == known.id_of(old)).values(name=new))
    note_change(connection, "rename label", {"old": old, "new": new}, who, at)
    _move_children(connection, old, new, who, at)


def merge_labels(connection: sa.Connection, source: str, target: str, who: str, at: float) -> tuple[int, int]:
    """Take `source` out of use in favour of `target`; the numbers of both. Moving the answers is the caller's part."""
    known = read_labels(connection)
    gone, kept = known.id_of(source), known.id_of(target)
    if gone == kept:
        raise ProjectError(f"label {source!r} cannot be merged into itself")
    moved = (labels.c.id == gone) | (labels.c.merged_into == gone)
    connection.execute(labels.update().where(moved).values(merged_into=kept))
    note_change(connection, "merge labels", {"source": source, "target": target}, who, at)
    _move_children(connection, source, target, who, at)
    return gone, kept


def _move_children(connection: sa.Connection, old: str, new: str, who: str, at: float) -> None:
    """Put the labels under one label under another."""
    there = read_meanings(connection, read_labels(connection))
    moved = [replace(label, parent="" if label.name == new else new) for label in there if label.parent == old]
    describe_labels(connection, moved, who, at)


def retire_label(connection: sa.Connection, name: str, who: str, at: float) -> int:
    """No more questions about it and no more use of its answers, which are kept; its number."""
    known = read_labels(connection)
    if len(known.ids) == 1:
        raise ProjectError(f"label {name!r} is the last one; a project needs at least one")
    label = known.id_of(name)
    connection.execute(labels.update().where(labels.c.id == label).values(retired_at=at))
    note_change(connection, "retire label", {"name": name}, who, at)
    return label


def note_change(connection: sa.Connection, what: str, detail: dict[str, Any], who: str, at: float) -> None:
    connection.execute(changes.insert().values(at=at, who=who, what=what, detail=detail))


def read_changes(connection: sa.Connection) -> list[dict[str, Any]]:
    return [dict(row._mapping) for row in connection.execute(sa.select(changes).order_by(changes.c.id))]


def last_change(connection: sa.Connection) -> int:
    return connection.execute(LAST_CHANGE).scalar_one()


def check_name(name: str) -> str:
    """A name that every format can carry: not blank, no line ends or control signs, no blanks around it."""
    if not name.strip():
        raise ProjectError("a label needs a name, got a blank one")
    if name != name.strip() or not name.isprintable():
        raise ProjectError(f"the label name {name!r} has blanks around it, or a line end or control sign in it")
    return name
