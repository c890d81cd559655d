"""Features in tables: numeric columns, and text through a vectoriser."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from labelwise.data.errors import FormatError, Problem, shown
from labelwise.data.formats.cells import parse_number
from labelwise.data.formats.table.layout import RawTable, TableLayout, delimiter_hint, is_blank

Floats = npt.NDArray[np.floating[Any]]
NUMBERS = {int, float, bool}  # types of JSON and parquet cells that are a number


def read_features(table: RawTable, layout: TableLayout) -> tuple[Any, tuple[str, ...] | None]:
    """X and the names of its columns: the text's features, then the numeric columns."""
    parts: list[Any] = []
    names: list[str] | None = []
    if layout.text is not None:
        table.need([layout.text], "text")
        X, words = _vectorize(table, layout)
        parts.append(X)
        names = words
    chosen = _numeric_columns(table, layout)
    for name in chosen:
        column = numbers(table, name)
        parts.append(column)
        own = [name] if column.shape[1] == 1 else [f"{name}[{k}]" for k in range(column.shape[1])]
        names = None if names is None else names + own
    if not parts and layout.features is None:
        raise FormatError(
            f"there is nothing to learn from: no column of {shown(list(table.columns), 300)} is numeric; "
            f"give text= or features={delimiter_hint(list(table.columns))}",
            table.path,
        )
    if not parts:
        return np.empty((table.n_rows, 0), dtype=layout.dtype), ()
    if any(sp.issparse(part) for part in parts):
        X = parts[0] if len(parts) == 1 else sp.hstack(parts)
        return sp.csr_array(X).astype(layout.dtype), None if names is None else tuple(names)
    return np.hstack(parts).astype(layout.dtype, copy=False), None if names is None else tuple(names)


def _numeric_columns(table: RawTable, layout: TableLayout) -> list[str]:
    if layout.features is not None:
        table.need(layout.features, "features")
        return list(layout.features)
    if layout.text is not None:
        return []
    other = {*layout.label_columns, layout.id}
    return [name for name in table.columns if name not in other and is_numeric(table, name)]


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
