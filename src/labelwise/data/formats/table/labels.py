"""Labels in tables: cells that list them or say yes or no, the sign between them, one column or one each; and back."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import FormatError, Problem, repeated, shown
from labelwise.data.formats.table.layout import RawTable, TableLayout, is_blank
from labelwise.records import LabelData

UNKNOWN = frozenset({"NaN", "nan", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "None"})  # as programs write it
TRUTH = {"0": 0.0, "0.0": 0.0, "false": 0.0, "no": 0.0, "1": 1.0, "1.0": 1.0, "true": 1.0, "yes": 1.0}
SIGNS = (";", "|", ",")  # between labels, in the order of trust: a comma may well be part of a name
QUOTED = r"(?:'[^'\\]*'|\"[^\"\\]*\")"
PRINTED_LIST = re.compile(rf"\[{QUOTED}(?:, ?{QUOTED})*\]")  # as Python prints a list of texts
Labels = tuple[sp.csr_array, sp.csr_array | None, tuple[str, ...]]  # Y, observed, names


class DoubtfulCell(Problem):
    """A cell that may be one label or several; `text` is what it holds."""

    def __init__(self, problem: str, text: str) -> None:
        super().__init__(problem)
        self.text = text


def is_unknown(cell: Any) -> bool:
    """Whether a cell of labels says nothing: it is blank, or holds a word by which programs write that."""
    return is_blank(cell) or (isinstance(cell, str) and cell.strip() in UNKNOWN)


def parse_truth(cell: Any) -> float:
    """0.0 or 1.0, NaN where the cell is blank: unknown."""
    if is_unknown(cell):
        return float("nan")
    value = TRUTH.get(str(cell).strip().lower())
    if value is None:
        raise Problem(f"found {shown(cell)}, expected 0, 1 or blank (unknown)")
    return value


def is_yes_no(cells: Sequence[Any], names: Collection[str] | None) -> bool:
    """Whether a column says yes and no of one label, and does not list labels; `names` are the labels there are.

    >>> is_yes_no(["1", "0", ""], None), is_yes_no(["1", "0"], ["0", "1"]), is_yes_no(["1;2", "0"], None)
    (True, False, False)
    """
    said = {str(cell).strip() for cell in cells if not is_unknown(cell)}
    return bool(said) and all(word.lower() in TRUTH for word in said) and (names is None or not said <= set(names))


def parse_tags(cell: Any, separator: str, names: Collection[str] = ()) -> list[str] | None:
    """The labels that a cell lists, or None where it is blank: nothing is known. `names` are labels there are.

    >>> parse_tags("red; round", ";"), parse_tags("red;", ";"), parse_tags(";", ";"), parse_tags("NaN", ";")
    (['red', 'round'], ['red'], [], None)
    """
    if isinstance(cell, str) and not separator.strip() and cell == separator:
        return []  # a blank separator: a cell of it alone is not a blank cell
    if is_unknown(cell) and not (isinstance(cell, str) and cell.strip() in names):
        return None
    if isinstance(cell, str):
        found = _list_in(cell.strip())
        if found is None:
            found = _split(cell, separator)
    elif isinstance(cell, list | tuple):
        found = [str(name) for name in cell if isinstance(name, str | int)]
        if len(found) < len(cell):
            raise Problem(f"found {shown(cell)}, expected a list of label names")
    elif isinstance(cell, int):
        found = [str(cell)]
    else:
        raise Problem(f"found {shown(cell)}, expected label names joined by {separator!r} or a list of them")
    if "" in found:
        raise Problem(f"found {shown(cell)}, which holds an empty label name; {separator!r} alone means no label")
    if len(set(found)) < len(found):
        raise Problem(f"the label {repeated(found)!r} is given twice")
    return found


def join_tags(names: Sequence[str] | None, separator: str) -> str:
    """The inverse of `parse_tags` for a text cell.

    One label that would be taken for something else, such as "NaN", "1" or "a, b", has the separator after it.
    """
    if names is None:
        return ""
    joined = separator.join(names) if names else separator
    if len(names) == 1 and (_is_doubtful(joined, separator) or parse_tags(joined, separator) != list(names)):
        joined += separator
    if parse_tags(joined, separator) != list(names):
        raise Problem(f"the labels {shown(list(names))} cannot be joined by {separator!r}; choose another separator=")
    return joined


def find_separator(cells: Sequence[Any], names: Collection[str] | None) -> str:
    """The sign that divides the labels of a column's cells, ";" where none does; raises where it cannot be told.

    >>> find_separator(["red, round", "red", "blue, round"], None), find_separator(["Goods, other; food"], None)
    (',', ';')
    """
    texts = [text for text in dict.fromkeys(_texts(cells)) if _list_in(text) is None]
    there = [sign for sign in SIGNS if any(sign in text for text in texts)]
    if not there:
        return SIGNS[0]
    if names is not None:
        for sign in there if there[0] == SIGNS[0] else (SIGNS[0], *there):
            if all(set(_split(text, sign)) <= {*names, ""} for text in texts):
                return sign
    sign = there[0]
    if sign == ",":
        _check_commas(texts)
    else:
        _check_others(texts, sign, there[1:])
    return sign


def _check_commas(texts: Sequence[str]) -> None:
    """Commas divide labels where a part of one cell is found in another, too; else they may be part of a name."""
    counts = Counter(name for text in texts for name in set(_split(text, ",")))
    lists = [text for text in texts if len(_split(text, ",")) > 1 or text.endswith(",")]
    if not any(counts[name] > 1 for text in lists for name in _split(text, ",")):
        raise _doubt(lists[0], ",", SIGNS[0])


def _check_others(texts: Sequence[str], sign: str, others: Sequence[str]) -> None:
    """A cell without the sign, in which another one divides names that other cells hold, may be a list as well."""
    names = {name for text in texts for name in _split(text, sign)}
    for text in texts:
        for other in others:
            if sign not in text and other in text and names & {*_split(text, other)}:
                raise _doubt(text, other, sign)


def _doubt(text: str, divides: str, one: str) -> DoubtfulCell:
    count = len(_split(text, divides))
    return DoubtfulCell(
        f"found {shown(text)}, which may be one label or {count}; say separator={divides!r} if {divides!r} divides "
        f"labels, or separator={one!r} if it is part of a name",
        text,
    )


def _texts(cells: Sequence[Any]) -> list[str]:
    return [cell.strip() for cell in cells if isinstance(cell, str) and not is_unknown(cell)]


def _split(cell: str, separator: str) -> list[str]:
    """The parts without the blanks around them; the sign alone is none, and one after the last part adds none."""
    if cell.strip() == separator.strip():
        return []
    parts = [name.strip() for name in cell.split(separator)]
    return parts[:-1] if len(parts) > 1 and not parts[-1] and separator.strip() else parts


def _list_in(text: str) -> list[str] | None:
    """The labels of a cell that holds a list of texts, as JSON or as Python prints it; None where it is no list."""
    if not (text.startswith("[") and text.endswith("]")):
        return None
    if PRINTED_LIST.fullmatch(text):
        return [quoted[1:-1].strip() for quoted in re.findall(QUOTED, text)]
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and all(isinstance(name, str) for name in found):
        return [name.strip() for name in found]
    if text[1:2] in ("'", '"'):
        raise Problem(f"found {shown(text)}, which looks like a list and is none; write names with a sign between them")
    return None


def _is_doubtful(name: str, separator: str) -> bool:
    return name.strip().lower() in TRUTH or any(sign in name for sign in SIGNS if sign != separator)


def read_labels(table: RawTable, layout: TableLayout) -> Labels:
    """Y, observed and the names of the labels."""
    table.need(layout.label_columns, "labels")
    if layout.labels is None:
        names = layout.known_names() or ()
        nothing = sp.csr_array((table.n_rows, len(names)), dtype=bool)
        return nothing, nothing.copy(), names
    if isinstance(layout.labels, str):
        return _from_one_column(table, layout, layout.labels)
    names = tuple(layout.labels)
    if len(set(names)) < len(names):
        raise FormatError(f"labels= names a column twice: {shown(names, 200)}", table.path)
    return *truth_columns(table, names), names


def truth_columns(table: RawTable, names: Sequence[str]) -> tuple[sp.csr_array, sp.csr_array | None]:
    """Y and observed of one column per label."""
    values = np.array([table.each(name, parse_truth) for name in names], np.float64).T.reshape(-1, len(names))  # (n, q)
    known = ~np.isnan(values)
    return sp.csr_array(values == 1.0), None if known.all() else sp.csr_array(known)


def _from_one_column(table: RawTable, layout: TableLayout, column: str) -> Labels:
    """A column that lists labels, or one that says yes and no of the label it is named after."""
    cells, given = table.cells(column), layout.known_names()
    if layout.separator is None and is_yes_no(cells, given):
        return _from_yes_no(table, layout, column, given)
    separator = layout.separator
    if separator is None:
        try:
            separator = find_separator(cells, given)
        except DoubtfulCell as doubt:
            row = next(n for n, cell in enumerate(cells) if isinstance(cell, str) and cell.strip() == doubt.text)
            raise table.wrong(row, f"column {column!r}: {doubt}") from None
        except Problem as problem:
            raise FormatError(f"column {column!r}: {problem}", table.path) from None
    tags = table.each(column, lambda cell: parse_tags(cell, separator, given or ()))
    found = _from_tags(table, column, tags, given)
    if any(isinstance(cell, str) and separator in cell for cell in cells):
        words = f"column {column!r}: labels are divided by {separator!r} (separator={separator!r})"
        layout.say(words, guessed=layout.separator is None and separator != ";")
    if layout.notice is not None:
        _say_of_tags(layout, column, tags, found[2])
    return found


def _from_yes_no(table: RawTable, layout: TableLayout, column: str, given: tuple[str, ...] | None) -> Labels:
    names = (column,) if given is None else given
    if column not in names:
        raise FormatError(
            f"column {column!r} holds only 0 and 1, or words like them, so that it is one label, which is not in "
            f"label_names=; add {column!r} there, or choose a column that lists labels",
            table.path,
        )
    values = np.array(table.each(column, parse_truth))  # (n,)
    rows, place = np.flatnonzero(~np.isnan(values)), names.index(column)
    shape = (len(values), len(names))
    Y = sp.csr_array((values[rows] == 1.0, (rows, np.full(len(rows), place))), shape=shape)
    Y.eliminate_zeros()
    observed = sp.csr_array((np.ones(len(rows), dtype=bool), (rows, np.full(len(rows), place))), shape=shape)
    yes, no, unknown = Y.nnz, len(rows) - Y.nnz, len(values) - len(rows)
    words = f"column {column!r} is read as one label: {yes:,} yes, {no:,} no, {unknown:,} blank (unknown)"
    layout.say(words, guessed=True)
    return Y, None if len(rows) == len(values) * len(names) else observed, names


def _say_of_tags(layout: TableLayout, column: str, tags: list[list[str] | None], names: tuple[str, ...]) -> None:
    blank, none = tags.count(None), tags.count([])
    layout.say(
        f"column {column!r}: {len(tags) - blank:,} items with known labels, {none:,} of them with none; "
        f"{blank:,} blank (nothing is known of them)"
    )
    by_case: dict[str, list[str]] = {}
    for name in names:
        by_case.setdefault(name.casefold(), []).append(name)
    alike = [same for same in by_case.values() if len(same) > 1]
    if alike:
        more = f", and {len(alike) - 1:,} more such" if len(alike) > 1 else ""
        layout.say(f"column {column!r}: {' and '.join(map(repr, alike[0]))} differ only in case{more}; are they one?")


def _from_tags(table: RawTable, column: str, tags: list[list[str] | None], given: tuple[str, ...] | None) -> Labels:
    names = tuple(sorted({name for found in tags for name in found or ()})) if given is None else given
    if not names:
        raise FormatError(f"column {column!r} holds no label at all; list the labels with label_names=", table.path)
    if len(set(names)) < len(names):
        raise FormatError(f"label_names= holds a name twice: {shown(names, 200)}", table.path)
    for row, found in enumerate(tags):
        strange = set(found or ()).difference(names) if given is not None else ()
        if strange:
            name = next(name for name in found or () if name in strange)
            raise table.wrong(row, f"column {column!r}: found the label {name!r}, which is not in label_names=")
    return *matrix_of_tags(tags, names), names


def matrix_of_tags(
    tags: Sequence[Sequence[str] | None], names: Sequence[str]
) -> tuple[sp.csr_array, sp.csr_array | None]:
    """Y and observed of items whose labels are listed, None where nothing is known of them; `names` has them all.

    >>> Y, observed = matrix_of_tags([["red"], None, []], ["round", "red"])
    >>> Y.toarray().astype(int).tolist(), observed.toarray()[:, 0].tolist()
    ([[0, 1], [0, 0], [0, 0]], [True, False, True])
    """
    place = {name: label for label, name in enumerate(names)}
    rows = np.repeat(np.arange(len(tags)), [len(found or ()) for found in tags])
    labels = np.array([place[name] for found in tags for name in found or ()], dtype=np.intp)
    shape = (len(tags), len(names))
    Y = sp.csr_array((np.ones(len(rows), dtype=bool), (rows, labels)), shape=shape)
    known = np.array([found is not None for found in tags])
    return Y, None if known.all() else sp.csr_array(np.broadcast_to(known[:, None], shape))


def label_columns(data: LabelData) -> dict[str, list[int | None]]:
    """One column per label with 0, 1 and None for unknown."""
    values: npt.NDArray[Any] = data.Y.toarray().astype(object).astype(int).astype(object)
    if data.observed is not None:
        values[~data.observed.toarray()] = None
    return dict(zip(data.label_names, values.T.tolist(), strict=True))


def label_lists(data: LabelData) -> list[list[str] | None]:
    """The labels present on each item, None where nothing is known of it; one column cannot say more."""
    Y = sp.csr_array(data.Y, copy=True)
    Y.sort_indices()
    ends, names = Y.indptr.tolist(), [data.label_names[label] for label in Y.indices.tolist()]
    lists: list[list[str] | None] = [names[start:stop] for start, stop in itertools.pairwise(ends)]
    if data.observed is None:
        return lists
    counts = np.diff(sp.csr_array(data.observed).indptr)  # (n,)
    partial = np.flatnonzero((counts > 0) & (counts < data.n_labels))
    if len(partial):
        item = data.item_ids[partial[0]]
        raise Problem(
            f"only some labels of item {item!r} are known, which one column of labels cannot say; "
            "use labels=None to write one column per label"
        )
    return [found if count else None for found, count in zip(lists, counts.tolist(), strict=True)]
