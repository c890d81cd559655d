"""Between numbers and records: rows and labels as questions, answers as sparse masks, names that were nearly right."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.choosing import random_items, random_pairs
from labelwise.records import LabelData, Question
from labelwise.records.asking import CONTROL, START_REASON


def embed_rows(rows_of: npt.NDArray[np.bool_], rows: npt.NDArray[np.intp], shape: tuple[int, int]) -> sp.csr_array:
    """A sparse (n, q) matrix whose given rows (rising) are these and whose other rows are empty."""
    counts = np.zeros(shape[0] + 1, dtype=np.int64)
    counts[rows + 1] = rows_of.sum(1)
    columns = np.nonzero(rows_of)[1]
    return sp.csr_array((np.ones(columns.size, dtype=bool), columns, np.cumsum(counts)), shape=shape)


def as_questions(data: LabelData, closed: sp.csr_array, chosen: tuple[Any, Any, Any], reason: str) -> list[Question]:
    """Rows, labels (or None: all that are open) and scores, as questions."""
    rows, labels, scores = chosen
    names = np.array(data.label_names, dtype=object)
    if labels is None:
        asked = [tuple(names[free]) for free in ~closed[rows].toarray()]
    else:
        asked = [(names[label],) for label in labels]
    ids = data.item_ids
    return [Question(ids[row], which, reason, float(s)) for row, which, s in zip(rows, asked, scores, strict=True)]


def interleave(control: list[Question], chosen: list[Question], drawn: npt.NDArray[np.bool_]) -> list[Question]:
    """Random questions at the places that were drawn for them, so that nobody can tell them by their position."""
    random, planned = iter(control), iter(chosen)
    merged = [next(random if is_random else planned, None) for is_random in drawn]
    return [question for question in (*merged, *random, *planned) if question is not None]


def by_item(questions: Iterable[Question]) -> list[Question]:
    """The same with all about one item together, at the place of the first.

    >>> asked = [Question("a", ("x",)), Question("b", ("x",)), Question("a", ("y",))]
    >>> [(question.item, *question.labels) for question in by_item(asked)]
    [('a', 'x'), ('a', 'y'), ('b', 'x')]
    """
    about: dict[str, list[Question]] = {}
    for question in questions:
        about.setdefault(question.item, []).append(question)
    return [question for group in about.values() for question in group]


def check_number(n: Any) -> None:
    """Refuse what is no number of questions."""
    if not isinstance(n, Integral) or n < 0:
        raise ValueError(f"n must be a whole number and not negative, got {n!r}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    close = get_close_matches(str(name), known, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def start_questions(
    data: LabelData,
    closed: sp.csr_array,
    full: npt.NDArray[np.intp],
    *,
    start: int,
    n: int,
    target: str,
    random_state: int,
) -> list[Question]:
    """Up to n questions about the random items of the start, in an order drawn once.

    Parameters
    ----------
    data : LabelData
    closed : (n, q) entries that may not be asked
    full : rows of which every label is known
    start : number of items of the start; none is asked once this number is known in full
    n : how many questions to ask
    target : "items", or "pairs": then every open label of an item in turn
    random_state : decides the order
    """
    missing = start - full.size
    if missing <= 0:
        return []
    order = np.random.default_rng([random_state, 0, 4]).permutation(data.n_items)
    order = order[~np.isin(order, full)]
    order = order[np.diff(closed.indptr)[order] < closed.shape[1]][:missing]
    if target == "items":
        order = order[:n]
        return as_questions(data, closed, (order, None, np.full(order.size, np.nan)), START_REASON)
    place, labels = np.nonzero(~closed[order].toarray())
    rows = order[place[:n]]
    return as_questions(data, closed, (rows, labels[:n], np.full(rows.size, np.nan)), START_REASON)


def random_questions(
    data: LabelData, closed: sp.csr_array, n: int, target: str, rng: np.random.Generator
) -> list[Question]:
    """Up to n questions of the random share: items, or pairs, drawn from what is open."""
    rows, labels = (random_items(closed, n, rng), None) if target == "items" else random_pairs(closed, n, rng)
    return as_questions(data, closed, (rows, labels, np.full(rows.size, np.nan)), CONTROL)
