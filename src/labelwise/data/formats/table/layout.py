"""Tables of csv, jsonl and parquet: which column means what, and the way from columns to LabelData."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from labelwise.data.errors import FormatError, Problem, shown
from labelwise.data.formats.cells import check_dtype
from labelwise.data.reading import read_names
from labelwise.files import AnyPath
from labelwise.views.wording import did_you_mean

ALL = "all"  # features of every column that can be one


@dataclass(frozen=True)
class TableLayout:
    """Which column of a table means what: the options that csv, jsonl and parquet share.

    Parameters
    ----------
    labels : str, list of str, or None
        One column that lists the labels present, joined by `separator` or as a list: all others are absent. A blank
        cell means that nothing is known of the item; the separator alone, or an empty list, that it has no label.
        One column that holds only 0 and 1 (false and true, no and yes) is the label it is named after.
        Several columns: one per label with 0, 1, or blank for unknown. None: the table has no labels yet.
        Blank are also NaN, nan, NA, N/A, n/a, #N/A, <NA>, null, NULL and None.
    text : column to turn into features, or None
    features : columns of numbers or, in words, of categories. None takes all that are numeric and not of another use,
        or, with `text`, none. "all" takes those, and columns of lists and of few different words, beside the text. []
        reads labels alone. In jsonl and parquet a column may hold lists of numbers of one length. Text, numbers, lists
        and categories become blocks of features.
    id : column of the items' ids; "id" is used if there is such a column, None numbers the rows
    items : columns to show people; None keeps all but labels and id, a single name keeps its bare values
    label_names : the labels there are, in order, as a list or the path of a file with one per line
        Needed without labels; with one column it fixes the order, which otherwise is alphabetical.
    separator : between labels in one cell; None finds out which of ; | , it is, warns where it is not ;, and raises
        where it cannot be told
    vectorizer : scikit-learn transformer for `text`, TF-IDF by default
        One that is not fitted is fitted here, one that is fitted is only applied.
    dtype : float64 or float32, of X
    notice : called with each sentence about what was found: the separator, blanks, items that are there twice

    Examples
    --------
    >>> layout = TableLayout(text="body", labels="topics", id="url")
    >>> layout.label_columns
    ('topics',)
    """

    labels: str | Sequence[str] | None = "labels"
    text: str | None = None
    features: Sequence[str] | Literal["all"] | None = None
    id: str | None = "id"
    items: str | Sequence[str] | None = None
    label_names: Sequence[str] | AnyPath | None = None
    separator: str | None = None
    vectorizer: Any = None
    dtype: npt.DTypeLike = np.float64
    notice: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        check_dtype(self.dtype)
        if self.separator == "":
            raise ValueError("separator must not be empty; take a sign that no label holds, such as ';'")
        if self.labels is None and self.label_names is None:
            raise ValueError("without labels= the label_names= must say which labels there are to learn")
        if isinstance(self.features, str) and self.features != ALL:
            raise ValueError(
                f"features must be a list of columns or {ALL!r}, got {self.features!r}; write [{self.features!r}]"
            )
        if self.label_names is not None and not (self.labels is None or isinstance(self.labels, str)):
            raise ValueError("label_names= goes with one column of labels; several columns are named by themselves")

    @property
    def label_columns(self) -> tuple[str, ...]:
        return columns_named(self.labels)

    def say(self, sentence: str, *, guessed: bool = False) -> None:
        """Tell whoever wants notices; where nobody does, what was guessed is a warning."""
        if self.notice is not None:
            self.notice(sentence)
        elif guessed:
            warnings.warn(sentence, stacklevel=2)

    def known_names(self) -> tuple[str, ...] | None:
        """The label names that were given beforehand."""
        return None if self.label_names is None else read_names(self.label_names)


@dataclass(frozen=True)
class RawTable:
    """Columns of equal length as read from a file; cells are all str where `is_text`, blank ones "" or None."""

    path: AnyPath
    columns: dict[str, Any]
    lines: Sequence[int] | None  # the line each row starts on; None where a file has rows and no lines
    is_text: bool

    @property
    def n_rows(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def need(self, names: Sequence[str], option: str) -> None:
        """Raise where a column is missing, naming the option that asked for it."""
        for name in names:
            if name not in self.columns:
                there = shown(list(self.columns), 300)
                hint, near = delimiter_hint(list(self.columns)), did_you_mean(name, self.columns)
                raise FormatError(
                    f"there is no column {name!r}, asked for by {option}={near}; there are {there}{hint}", self.path
                )

    def wrong(self, row: int, problem: str) -> FormatError:
        """The error for a row counted from 0."""
        if self.lines is None:
            return FormatError(f"row {row + 1}: {problem}", self.path)
        return FormatError(problem, self.path, self.lines[row])

    def each(self, name: str, parse: Callable[[Any], Any]) -> list[Any]:
        """Every cell of a column parsed; a Problem becomes an error that names row and column."""
        parsed = []
        for row, cell in enumerate(self.cells(name)):
            try:
                parsed.append(parse(cell))
            except Problem as problem:
                raise self.wrong(row, f"column {name!r}: {problem}") from None
        return parsed

    def cells(self, name: str) -> list[Any]:
        column = self.columns[name]
        return column.tolist() if isinstance(column, np.ndarray) else list(column)


def columns_named(labels: str | Sequence[str] | None) -> tuple[str, ...]:
    """The columns that `labels=` names: none, one or several."""
    return (labels,) if isinstance(labels, str) else tuple(labels or ())


def delimiter_hint(names: Sequence[str]) -> str:
    """What to add to an error where a table seems to be one column because it was cut at the wrong sign.

    >>> delimiter_hint(["id;body;tags"])
    "; if columns are divided by another sign, say delimiter=';'"
    """
    if len(names) == 1:
        for sign, typed in ((";", ";"), ("\t", "\\t"), ("|", "|")):
            if sign in names[0]:
                return f"; if columns are divided by another sign, say delimiter='{typed}'"
    return ""


def is_blank(cell: Any) -> bool:
    """Whether nothing was filled in: None, "" or a float NaN."""
    return cell is None or (isinstance(cell, str) and not cell.strip()) or (isinstance(cell, float) and cell != cell)
