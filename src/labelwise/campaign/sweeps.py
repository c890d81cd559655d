"""Sweeps, one label of many items: when a page brings more for a person's time than whole items, and its questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.posterior import LabelPosterior
from labelwise.records import LabelData, Question
from labelwise.records.asking import SWEEP, SWEEP_PAGE
from labelwise.records.costs import Costs

AT_ONCE = 4096  # items whose beliefs are asked for in one go
MOST_SWEEPS = 3  # labels that are told to be worth sweeping


@dataclass(frozen=True)
class SweepWorth:
    """A label that is worth sweeping: items with it that a page is expected to show, and the seconds of the page.

    `times`: how many times as much that brings as whole items do in the same time.
    """

    label: str
    found: float
    seconds: float
    times: float


def worth_sweeping(
    beliefs: LabelPosterior, labelled: LabelData, closed: sp.csr_array, costs: Costs, learnt: npt.NDArray[np.bool_]
) -> tuple[SweepWorth, ...]:
    """Labels of which a page of the least certain items brings more for a person's time than whole items, most first.

    What an answer tells is measured by p (1 − p), for a belief p: nothing where the model is sure. With u as its sum
    over some items, they bring log(1 + u / (1 + n)), where n items are known to have the label. A rare label gains
    most, and the tenth item of a page less than the first. As many whole items as fit in the time bring what an open
    item has in the mean, and also labels that were never seen. The chance of one is the share of the fully answered
    items whose label no other has (Good and Turing).

    Not worth a page are labels of which less than one item is expected there, and those that are not `learnt` (q,),
    because all items have them equally likely. Empty where labels have prices, and before an item is answered in full.

    Parameters
    ----------
    beliefs : of the whole pool
    labelled : the pool with its answers
    closed : (n, q) cells that are not asked about
    costs, learnt : prices, and the labels (q,) of which something was learnt
    """
    n, q = labelled.Y.shape
    full = np.asarray(labelled.observed_mask().sum(axis=1)).ravel() == q
    if costs.unit != "s" or not costs.picks or not full.any():
        return ()
    page, expected, doubts, n_open = np.zeros((2, 0, q)), np.zeros(q), np.zeros(q), 0
    for start in range(0, n, AT_ONCE):
        part = slice(start, min(start + AT_ONCE, n))
        not_asked = closed[part].toarray()
        p = np.where(not_asked | ~learnt, 0.0, beliefs.rows(part).probabilities())
        page = np.concatenate([page, np.stack([p * (1 - p), p])], axis=1)
        page = np.take_along_axis(page, np.argsort(-page[:1], axis=1, kind="stable")[:, :SWEEP_PAGE], axis=1)
        doubts, expected = doubts + (p * (1 - p)).sum(axis=0), expected + p.sum(axis=0)
        n_open += int((~not_asked.all(axis=1)).sum())
    if not doubts.any():
        return ()
    have = np.asarray(labelled.Y.sum(axis=0), dtype=np.float64).ravel()
    words = labelled.word_counts(np.arange(n)) if costs.read_word else None
    (on_page, found), seconds = page.sum(axis=1), float(costs.sweep(page.shape[1]))
    items = seconds / costs.whole_item(expected.sum() / n_open, words=words).mean()  # that take as long as the page
    never_seen = float((labelled.Y[full].sum(axis=0) == 1).sum() / full.sum())
    by_items = np.log1p(items * doubts / n_open / (1 + have)).sum() + items * never_seen * np.log(2)
    times = np.log1p(on_page / (1 + have)) / by_items
    best = [label for label in np.argsort(-times, kind="stable").tolist() if times[label] > 1 and found[label] >= 1]
    return tuple(
        SweepWorth(labelled.label_names[label], round(float(found[label]), 2), seconds, round(float(times[label]), 2))
        for label in best[:MOST_SWEEPS]
    )


def sweep_page(beliefs: LabelPosterior, data: LabelData, closed: sp.csr_array, label: str) -> list[Question]:
    """The questions of a page: the open items that are least certain to have the label or not, those first."""
    column = data.label_names.index(label)
    open_ = np.flatnonzero(~closed[:, [column]].toarray().ravel())
    parts = [open_[start : start + AT_ONCE] for start in range(0, open_.size, AT_ONCE)]
    p = np.concatenate([beliefs.rows(part).probabilities()[:, column] for part in parts])
    first = np.argsort(-p * (1 - p), kind="stable")[:SWEEP_PAGE]
    return [
        Question(data.item_ids[row], (label,), SWEEP, float(score))
        for row, score in zip(open_[first], p[first], strict=True)
    ]
