"""spaCy's text categories as JSON: `{"text": ..., "cats": {"SPORTS": 1.0, "MUSIC": 0.0}}`, one per line or in a list.

A category that is left out of an item is unknown. Files of the binary form (.spacy) are turned into this one by spaCy:
`[{"text": doc.text, "cats": doc.cats} for doc in DocBin().from_disk(path).get_docs(nlp.vocab)]`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from labelwise.data.errors import FormatError, Problem, shown
from labelwise.data.formats.jsonl import parse_lines
from labelwise.data.formats.table.layout import RawTable, TableLayout
from labelwise.data.formats.table.reader import to_data
from labelwise.data.reading import text_lines
from labelwise.files import AnyPath, split_name, writing
from labelwise.records import LabelData

TEXT, CATS = "text", "cats"
TO_JSON = '[{"text": doc.text, "cats": doc.cats} for doc in DocBin().from_disk(path).get_docs(nlp.vocab)]'


def read(path: AnyPath, *, threshold: float = 0.5, **layout: Any) -> LabelData:
    """Read texts and their categories.

    Parameters
    ----------
    path : path of a .jsonl or .json file, plain or compressed
    threshold : a category of at least this value is present
    layout : see `labelwise.data.TableLayout`; `labels` are all categories
    """
    rows = _rows(path)
    columns = dict.fromkeys(name for _, row in rows for name in row if name != CATS)
    table = {name: [row.get(name) for _, row in rows] for name in columns}
    cats = [_cats(row.get(CATS), path, number) for number, row in rows]
    names = sorted({name for said in cats for name in said})
    if not names:
        raise FormatError(f"no item has a category: expected an object {CATS!r} of names and numbers", path)
    if clash := [name for name in names if name in table]:
        raise FormatError(f"the category {clash[0]!r} has the name of another field; rename it", path)
    for name in names:
        table[name] = [None if name not in said else int(said[name] >= threshold) for said in cats]
    options: dict[str, Any] = {"text": TEXT} | layout | {"labels": names}
    return to_data(RawTable(path, table, [number for number, _ in rows], is_text=False), TableLayout(**options))


def write(data: LabelData, path: AnyPath, *, text: str = TEXT, id: str | None = "id") -> None:
    """Write texts and their categories: 1.0, 0.0, and left out where a label is unknown.

    Parameters
    ----------
    text : the field of `items` that is the text, where items have fields
    id : name of the field of ids, None leaves them out
    """
    if data.items is None:
        raise FormatError("there is no text to write: the items have nothing to show", path)
    known = data.observed_mask()
    lines = []
    for row, (name, item) in enumerate(zip(data.item_ids, data.items, strict=True)):
        if isinstance(item, Mapping) and text not in item:
            raise FormatError(f"text={text!r} is no field of item {name!r}", path)
        yes = set(data.Y.indices[data.Y.indptr[row] : data.Y.indptr[row + 1]].tolist())
        answered = known.indices[known.indptr[row] : known.indptr[row + 1]].tolist()
        cats = {data.label_names[label]: float(label in yes) for label in answered}
        shown_as = {} if id is None else {id: name}
        lines.append(shown_as | {TEXT: str(item[text] if isinstance(item, Mapping) else item), CATS: cats})
    with writing(path) as file:
        if split_name(path)[1] == ".json":
            file.write(json.dumps(lines, ensure_ascii=False, indent=1).encode())
        else:
            file.writelines((json.dumps(line, ensure_ascii=False) + "\n").encode() for line in lines)


def _rows(path: AnyPath) -> list[tuple[int, dict[str, Any]]]:
    if split_name(path)[1] == ".spacy":
        raise FormatError(f"this is spaCy's binary form; write it as json by spaCy: {TO_JSON}", path)
    if split_name(path)[1] != ".json":
        rows = list(parse_lines(text_lines(path, "utf-8"), path))
    else:
        try:
            found = json.loads("".join(text_lines(path, "utf-8")))
        except (ValueError, RecursionError) as error:
            raise FormatError(f"this is no valid JSON: {error}", path) from None
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise FormatError("expected a list of objects with a text and cats", path)
        rows = list(enumerate(found, start=1))
    if not rows:
        raise FormatError("there is no item in it", path)
    return rows


def _cats(found: Any, path: AnyPath, line: int) -> dict[str, float]:
    if found is None:
        return {}
    try:
        if not isinstance(found, dict):
            raise Problem(f"found {shown(found)} as {CATS!r}, expected an object of names and numbers")
        for name, value in found.items():
            if not isinstance(value, int | float) or math.isnan(value):
                raise Problem(f"found {shown(value)} for the category {name!r}, expected a number from 0 to 1")
    except Problem as problem:
        raise FormatError(str(problem), path, line) from None
    return {str(name): float(value) for name, value in found.items()}
