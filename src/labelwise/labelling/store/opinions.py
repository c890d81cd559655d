"""What others say of the items, by source: kept as it was said, and read by today's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp
import sqlalchemy as sa

from labelwise.labelling.store.engine import insert_rows
from labelwise.labelling.store.items import item_ids
from labelwise.labelling.store.labels import StoredLabels, note_change, read_labels
from labelwise.labelling.store.schema import labels, opinions
from labelwise.records.opinions import Opinions

ADD, REMOVE = "add opinions", "remove opinions"  # changes


def write_opinions(connection: sa.Connection, said: Opinions, who: str, at: float) -> int:
    """Keep what a source says, in place of what it said before; of how many items."""
    known, number_of = read_labels(connection), item_ids(connection, said.items)
    label_of = {name: known.id_of(name) for name in said.labels()}
    until = int(connection.execute(sa.select(sa.func.coalesce(sa.func.max(labels.c.id), 0))).scalar_one())
    rows = []
    for item, entry in said.scores.items():
        numbers = np.array([label_of[name] for name in entry], dtype="<i4").tobytes()
        scores = np.array(list(entry.values()), dtype="<f4").tobytes() if isinstance(entry, Mapping) else None
        rows.append((said.name, number_of[item], numbers, scores, until))
    connection.execute(opinions.delete().where(opinions.c.source == said.name))
    insert_rows(connection, opinions, ("source", "item", "labels", "scores", "until"), rows)
    note_change(connection, ADD, {"source": said.name, "items": len(rows)}, who, at)
    return len(rows)


def remove_opinions(connection: sa.Connection, source: str, who: str, at: float) -> int:
    """Forget what a source says; of how many items."""
    gone = connection.execute(opinions.delete().where(opinions.c.source == source)).rowcount
    if gone:
        note_change(connection, REMOVE, {"source": source, "items": gone}, who, at)
    return gone


def read_opinions(connection: sa.Connection, items: Sequence[int], known: StoredLabels) -> dict[str, sp.csr_array]:
    """By source, (n, q) of these items and the labels in use: 1 says yes, −1 no, 0 nothing.

    Of labels that were merged, the surest yes counts; what was said of retired ones is left out.
    """
    row_of = {item: row for row, item in enumerate(items)}
    numbers, columns = _columns(known)
    by_source: dict[str, list[tuple[int, np.ndarray]]] = {}
    for each in connection.execute(sa.select(opinions).order_by(opinions.c.source, opinions.c.item)):
        said = np.full(numbers.size, np.nan)
        if each.scores is None:
            said[numbers <= each.until] = -1.0
        labels_of = np.searchsorted(numbers, np.frombuffer(each.labels, dtype="<i4"))
        said[labels_of] = 1.0 if each.scores is None else 2.0 * np.frombuffer(each.scores, dtype="<f4") - 1
        row = np.full(len(known.ids) + 1, -np.inf)
        there = ~np.isnan(said)
        np.maximum.at(row, columns[there], said[there])  # the last column is of labels that are gone
        by_source.setdefault(each.source, []).append((row_of[each.item], np.where(np.isinf(row), 0.0, row)[:-1]))
    shape = (len(items), len(known.ids))
    return {source: _matrix(rows, shape) for source, rows in by_source.items()}


def _columns(known: StoredLabels) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of all labels, rising, and the column that each goes to; the last is of those that are gone."""
    numbers = np.array(sorted(known.all_names), dtype=np.int64)
    columns = []
    for number in numbers.tolist():
        name: str | None = known.all_names[number]
        if number not in known.column_of and name in known.gone:
            name = known.gone[name]
            number = -1 if name is None else known.id_of(name)
        columns.append(known.column_of.get(number, len(known.ids)))
    return numbers, np.array(columns, dtype=np.intp)


def _matrix(rows: list[tuple[int, np.ndarray]], shape: tuple[int, int]) -> sp.csr_array:
    place = np.repeat([row for row, _ in rows], shape[1])
    values = np.concatenate([said for _, said in rows])
    columns = np.tile(np.arange(shape[1]), len(rows))
    some = values != 0
    return sp.csr_array((values[some], (place[some], columns[some])), shape=shape)
