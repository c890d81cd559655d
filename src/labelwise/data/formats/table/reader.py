"""From a table of any format to LabelData, and from LabelData to the columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.data.errors import FormatError, Problem, repeated, shown
from labelwise.data.formats.table.features import read_features
from labelwise.data.formats.table.labels import label_columns, label_lists, read_labels
from labelwise.data.formats.table.layout import RawTable, TableLayout, is_blank
from labelwise.files import AnyPath
from labelwise.records import LabelData


def to_data(table: RawTable, layout: TableLayout) -> LabelData:
    """The table as its layout says."""
    if table.n_rows == 0:
        raise FormatError("there is no row", table.path)
    Y, observed, label_names = read_labels(table, layout)
    X, feature_names, blocks = read_features(table, layout)
    items = _read_items(table, layout)
    if layout.notice is not None:
        _say_of_items(table, layout, items)
    return LabelData(
        X=X,
        Y=Y,
        observed=observed,
        item_ids=_read_ids(table, layout),
        label_names=label_names,
        feature_names=feature_names,
        items=items,
        blocks=blocks,
    )


def read_frame(frame: Any, layout: TableLayout) -> LabelData:
    """A pandas.DataFrame as its layout says; its index is the ids where it is more than a count and no column is."""
    columns = {str(name): [None if cell is None else _plain(cell) for cell in frame[name].tolist()] for name in frame}
    if len(columns) < len(frame.columns):
        raise FormatError("two columns have the same name; rename one", "the data frame")
    data = to_data(RawTable("the data frame", columns, None, is_text=False), layout)
    counted = list(frame.index) == list(range(len(frame)))
    if counted or layout.id is None or layout.id in columns:
        return data
    return replace(data, item_ids=tuple(map(str, frame.index)))


def _plain(cell: Any) -> Any:
    """An array in a cell as a list; what pandas has for a missing value as None."""
    if isinstance(cell, np.ndarray):
        return cell.tolist()
    return None if type(cell).__name__ in ("NAType", "NaTType") else cell


def _read_ids(table: RawTable, layout: TableLayout) -> tuple[str, ...]:
    if layout.id is None or (layout.id == "id" and "id" not in table.columns):
        return tuple(map(str, range(table.n_rows)))
    table.need([layout.id], "id")
    ids = tuple(table.each(layout.id, one_id))
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in seen:
            raise table.wrong(row, f"column {layout.id!r}: the id {name!r} is given twice")
        seen[name] = row
    return ids


def one_id(cell: Any) -> str:
    if is_blank(cell) or not isinstance(cell, str | int):
        raise Problem(f"found {shown(cell)}, expected an id")
    return str(cell)


def _say_of_items(table: RawTable, layout: TableLayout, items: tuple[Any, ...] | None) -> None:
    """How many texts are blank, and how many items are there more than once."""
    if layout.text is not None:
        texts = [text.strip() for text in table.cells(layout.text)]
        blank = texts.count("")
        if blank:
            layout.say(f"column {layout.text!r}: {blank:,} of {len(texts):,} texts are blank")
        seen = [text for text in texts if text]
        what = f"texts of column {layout.text!r} are"
    else:
        seen = [repr(item) for item in items or ()]
        what = "items are in all that is shown"
    twice = len(seen) - len(set(seen))
    if twice:
        layout.say(f"{twice:,} {what} the same as an earlier one")


def _read_items(table: RawTable, layout: TableLayout) -> tuple[Any, ...] | None:
    if isinstance(layout.items, str):
        table.need([layout.items], "items")
        return tuple(table.cells(layout.items))
    other = {*layout.label_columns, layout.id}
    names = [name for name in table.columns if name not in other] if layout.items is None else list(layout.items)
    table.need(names, "items")
    if not names:
        return None
    return tuple(dict(zip(names, row, strict=True)) for row in zip(*map(table.cells, names), strict=True))


@dataclass(frozen=True)
class TableColumns:
    """The columns that hold all of a LabelData: id and what is shown, features, labels."""

    fields: dict[str, list[Any]]
    feature_names: tuple[str, ...]
    X: Any  # (n, d)
    answers: dict[str, list[Any]]
    list_column: str | None  # the one that lists labels; None where each label has its own

    @property
    def names(self) -> list[str]:
        return [*self.fields, *self.feature_names, *self.answers]

    def blocks(self, size: int) -> Iterator[list[list[Any]]]:
        """The columns in pieces of at most `size` rows, as lists in the order of `names`."""
        for start in range(0, self.X.shape[0], size):
            rows = slice(start, start + size)
            X = self.X[rows].toarray() if sp.issparse(self.X) else np.asarray(self.X[rows])
            features = X.T.tolist() if self.feature_names else []
            yield [
                *(column[rows] for column in self.fields.values()),
                *features,
                *(column[rows] for column in self.answers.values()),
            ]


def to_columns(
    data: LabelData,
    path: AnyPath,
    *,
    labels: str | None = "labels",
    text: str | None = None,
    id: str | None = "id",
) -> TableColumns:
    """The columns of a table to write: id, the fields of `items`, features, labels.

    Parameters
    ----------
    data : LabelData
    path : of the file, for errors
    labels : name of the one column that lists the labels of an item, or None for one column per label
    text : the field of `items` that features are made of; they are then left out, reading makes them again
    id : name of the column of ids, None leaves them out
    """
    if data.n_items == 0:
        raise FormatError("there is no item to write", path)
    ids = {} if id is None else {id: list(data.item_ids)}
    shown_fields = _item_fields(data, text)
    names: tuple[str, ...] = ()
    if text is None:
        names = data.feature_names or tuple(f"x{column}" for column in range(data.n_features))
        shown_fields = {name: column for name, column in shown_fields.items() if name not in set(names)}
    elif text not in shown_fields:
        raise FormatError(f"text={text!r} is no field of items, which have {shown(list(shown_fields), 200)}", path)
    try:
        answers: dict[str, Any] = label_columns(data) if labels is None else {labels: label_lists(data)}
    except Problem as problem:
        raise FormatError(str(problem), path) from None
    if (twice := repeated([*ids, *shown_fields, *names, *answers])) is not None:
        raise FormatError(f"the column {twice!r} would be there twice; rename it, or choose id= or labels=", path)
    return TableColumns({**ids, **shown_fields}, names, data.X, answers, labels)


def _item_fields(data: LabelData, text: str | None) -> dict[str, list[Any]]:
    if data.items is None:
        return {}
    if not all(isinstance(item, Mapping) for item in data.items):
        return {text or "item": list(data.items)}
    names = dict.fromkeys(name for item in data.items for name in item)
    return {str(name): [item.get(name) for item in data.items] for name in names}
