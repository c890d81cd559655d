"""Features in tables: numbers, lists of numbers, categories, and text through a vectoriser."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from labelwise.data.errors import FormatError, Problem, shown
from labelwise.data.formats.cells import parse_number
from labelwise.data.formats.table.layout import ALL, RawTable, TableLayout, delimiter_hint, is_blank
from labelwise.records import Block, Kind, join_columns

Floats = npt.NDArray[np.floating[Any]]
MOST_CATEGORIES, MOST_GUESSED = 1000, 50  # different values of a column that was chosen, and of one that was not
NUMBER_LIKE = re.compile(r"\s*[-+]?\.?\d|\s*[-+]?(nan|inf)\b", re.IGNORECASE)
LOOKED_AT = 100  # cells of a column, for whether it holds numbers
NUMBERS = {int, float, bool}  # types of JSON and parquet cells that are a number


@dataclass(frozen=True)
class TablePart:
    """The columns of one block of features."""

    name: str
    kind: Kind
    X: Any  # (n, k)
    feature_names: list[str] | None


def read_features(
    table: RawTable, layout: TableLayout, *, categories: bool = True
) -> tuple[Any, tuple[str, ...] | None, tuple[Block, ...]]:
    """X, the names of its columns and its blocks: the text's features, numbers, lists of numbers, categories.

    Without `categories`, as for one batch of many, a column of words is refused.
    """
    parts: list[TablePart] = []
    if layout.text is not None:
        table.need([layout.text], "text")
        X, words = _vectorize(table, layout)
        parts.append(TablePart(layout.text, "words" if sp.issparse(X) else "vectors", X, words))
    chosen = _chosen_columns(table, layout)
    if not parts and not chosen and layout.features is None:
        raise FormatError(
            f"there is nothing to learn from: no column of {shown(list(table.columns), 300)} is numeric; "
            f"give text= or features={delimiter_hint(list(table.columns))}",
            table.path,
        )
    parts += _column_parts(table, chosen, categories)
    if not parts:
        return np.empty((table.n_rows, 0), dtype=layout.dtype), (), ()
    ends = np.cumsum([part.X.shape[1] for part in parts]).tolist()
    blocks = tuple(
        Block(part.name, part.kind, start, stop) for part, start, stop in zip(parts, [0, *ends[:-1]], ends, strict=True)
    )
    names: list[str] | None = []
    for part in parts:
        names = None if names is None or part.feature_names is None else names + part.feature_names
    X = join_columns([part.X for part in parts])
    X = sp.csr_array(X) if sp.issparse(X) else X
    named = None if names is None else tuple(names)
    return X.astype(layout.dtype, copy=False), named, blocks if len(blocks) > 1 else ()


def _chosen_columns(table: RawTable, layout: TableLayout) -> list[str]:
    if layout.features is not None and layout.features != ALL:
        table.need(layout.features, "features")
        return list(layout.features)
    if layout.text is not None and layout.features is None:
        return []
    other = {*layout.label_columns, layout.id, layout.text}
    names = [name for name in table.columns if name not in other]
    if layout.features is None:
        return [name for name in names if is_numeric(table, name)]
    return [name for name in names if is_numeric(table, name) or _has_lists(table, name) or _is_category(table, name)]


def _column_parts(table: RawTable, names: list[str], categories: bool) -> list[TablePart]:
    """Blocks in the order of the columns: of numbers, and of categories, that stand together; of each list its own."""
    found: list[TablePart] = []
    for kind, run in groupby(names, key=partial(_kind, table, categories)):
        together = list(run)
        if kind == "vectors":
            found += [_list_part(table, name) for name in together]
            continue
        parts = [one_hot(table, n) if kind == "categories" else (numbers(table, n), [n]) for n in together]
        taken = {part.name for part in found}
        name = kind if kind not in taken else f"{kind} from {together[0]}"
        found.append(TablePart(name, kind, join_columns([X for X, _ in parts]), [n for _, own in parts for n in own]))
    return found


def _kind(table: RawTable, categories: bool, name: str) -> Kind:
    if _has_lists(table, name):
        return "vectors"
    return "categories" if categories and _has_words(table, name) else "numbers"


def _list_part(table: RawTable, name: str) -> TablePart:
    values = numbers(table, name)
    return TablePart(name, "vectors", values, [f"{name}[{k}]" for k in range(values.shape[1])])


def _has_lists(table: RawTable, name: str) -> bool:
    column = table.columns[name]
    if isinstance(column, np.ndarray):
        return column.ndim == 2
    return not table.is_text and any(isinstance(cell, list) for cell in column)


def _has_words(table: RawTable, name: str) -> bool:
    """Whether no filled cell begins like a number: then a column is one of categories, not of numbers with a slip."""
    column = table.columns[name]
    filled = [] if isinstance(column, np.ndarray) else [cell for cell in column if not is_blank(cell)]
    if not all(isinstance(cell, str) for cell in filled):
        return False
    return bool(filled) and not any(NUMBER_LIKE.match(cell) for cell in filled[:LOOKED_AT])


def _is_category(table: RawTable, name: str) -> bool:
    """Whether a column of words has few different ones, each used more than once on average."""
    if not _has_words(table, name):
        return False
    filled = [cell for cell in table.columns[name] if not is_blank(cell)]
    return len(set(filled)) <= min(MOST_GUESSED, len(filled) // 2)


def one_hot(table: RawTable, name: str) -> tuple[sp.csr_array, list[str]]:
    """(n, k) with a one for the category of each item, none for a blank cell; and the names of the columns."""

    def parse(cell: Any) -> str:
        if not (is_blank(cell) or isinstance(cell, str)):
            raise Problem(f"found {shown(cell)}, expected a category in words as in other rows, or a blank")
        return "" if is_blank(cell) else cell.strip()

    cells = table.each(name, parse)
    known = sorted(set(cells) - {""})
    if len(known) > MOST_CATEGORIES:
        raise FormatError(
            f"column {name!r} has {len(known):,} different values, too many for categories (at most "
            f"{MOST_CATEGORIES}); give it as text=, or leave it out of features=",
            table.path,
        )
    place = {category: column for column, category in enumerate(known)}
    rows = [row for row, cell in enumerate(cells) if cell]
    columns = [place[cells[row]] for row in rows]
    X = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(cells), len(known)))
    return X, [f"{name}={category}" for category in known]


def is_numeric(table: RawTable, name: str) -> bool:
    """Whether every filled cell of a column is a number, and there is one; a blank among numbers is found later."""
    column = table.columns[name]
    if isinstance(column, np.ndarray):
        return column.ndim == 1
    filled = [cell for cell in column if not is_blank(cell)]
    if not filled:
        return False
    if not table.is_text:
        return set(map(type, filled)) <= NUMBERS
    return _as_floats(filled) is not None


def numbers(table: RawTable, name: str) -> Floats:
    """A column as finite floats (n, 1), or (n, k) where its cells are lists of k numbers."""
    column = table.columns[name]
    values: Floats | None
    if isinstance(column, np.ndarray):
        values = column.astype(np.float64)
    elif not table.is_text and any(isinstance(cell, list) for cell in column):
        return _stacked(table, name)
    else:
        values = _as_floats(column) if table.is_text or set(map(type, column)) <= NUMBERS else None
    if values is None or not np.isfinite(values).all():
        values = np.array(table.each(name, lambda cell: _one_number(cell, table.is_text)))
    return values.reshape(len(values), -1)


def _as_floats(cells: Any) -> Floats | None:
    """All cells by float(), the quick way; None where that fails or takes what is no number of ours."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except (ValueError, OverflowError):
        return None
    return None if any(isinstance(cell, str) and "_" in cell for cell in cells) else values


def _one_number(cell: Any, is_text: bool) -> float:
    if is_blank(cell):
        raise Problem("found a blank, expected a number; fill it in or drop the row")
    if is_text:
        return parse_number(cell.strip())
    if type(cell) not in NUMBERS:
        raise Problem(f"found {shown(cell)}, expected a number")
    try:
        return parse_number(repr(float(cell)))
    except OverflowError:
        raise Problem(f"found {shown(cell)}, which is too large for a 64-bit number") from None


def _stacked(table: RawTable, name: str) -> Floats:
    column = table.columns[name]
    width = next(len(cell) for cell in column if isinstance(cell, list))
    if all(isinstance(cell, list) and len(cell) == width for cell in column):
        values = np.array(column, dtype=object)
        if set(map(type, values.flat)) <= NUMBERS and np.isfinite(values.astype(np.float64)).all():
            return values.astype(np.float64)

    def parse(cell: Any) -> list[float]:
        if not isinstance(cell, list) or len(cell) != width:
            raise Problem(f"found {shown(cell)}, expected a list of {width} numbers as in the first row")
        return [_one_number(value, is_text=False) for value in cell]

    return np.array(table.each(name, parse)).reshape(-1, width)


def _vectorize(table: RawTable, layout: TableLayout) -> tuple[Any, list[str] | None]:
    texts = table.each(str(layout.text), _one_text)
    vectorizer = TfidfVectorizer(dtype=layout.dtype) if layout.vectorizer is None else layout.vectorizer
    fitted = _is_fitted(vectorizer)
    try:
        X = vectorizer.transform(texts) if fitted else vectorizer.fit_transform(texts)
    except ValueError as error:
        cause = str(error) if any(text.strip() for text in texts) else "every text is empty"
        raise FormatError(
            f"column {layout.text!r}: no features can be made of the texts: {cause}", table.path
        ) from error
    try:
        names = [str(name) for name in vectorizer.get_feature_names_out()]
    except (AttributeError, NotFittedError, ValueError):
        return X, None  # hashing, for one, has no names to give
    return X, names


def _is_fitted(vectorizer: Any) -> bool:
    try:
        check_is_fitted(vectorizer)
    except NotFittedError:
        return False
    except TypeError as error:
        raise TypeError(f"vectorizer must be a scikit-learn transformer, got {vectorizer!r}") from error
    return True


def _one_text(cell: Any) -> str:
    if not isinstance(cell, str):
        raise Problem(f"found {shown(cell)}, expected a text")
    return cell
