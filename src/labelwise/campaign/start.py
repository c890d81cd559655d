"""The start of a campaign: random items that are answered in full before the strategy takes over."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.campaign.answers import START_REASON
from labelwise.campaign.questions import as_questions
from labelwise.records import LabelData, Question


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
    start : how many items the start has; none is asked once so many are known in full
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
