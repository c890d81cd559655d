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
WORTH_ASKING = 2.0  # times as much as whole items, from which on a campaign with `sweeps` asks for one


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
    """Labels of which a page of the likeliest items brings more for a person's time than whole items, most first.

    f more items with a label bring log(1 + f / (1 + n)), where n items are known to have it: a rare label gains most,
    and the tenth of a page less than the first. A page shows the likeliest open items of one label. Whole items, as
    many as fit in its time, bring what is believed of an open item, and also labels that were never seen: the chance of
    one is the share of the fully answered items whose label no other has (Good and Turing).

    Not worth a page are labels of which less than one item is expected, and those that are not `learnt` (q,), because
    all items have them equally likely. Empty where labels have prices, and before an item is answered in full.

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
    likeliest, expected, n_open = np.zeros((0, q)), np.zeros(q), 0
    for start in range(0, n, AT_ONCE):
        part = slice(start, min(start + AT_ONCE, n))
        not_asked = closed[part].toarray()
        p = np.where(not_asked | ~learnt, 0.0, beliefs.rows(part).probabilities())
        likeliest = np.sort(np.concatenate([likeliest, p]), axis=0)[-SWEEP_PAGE:]
        expected, n_open = expected + p.sum(axis=0), n_open + int((~not_asked.all(axis=1)).sum())
    if not expected.any():
        return ()
    have, rates = np.asarray(labelled.Y.sum(axis=0), dtype=np.float64).ravel(), expected / n_open
    words = labelled.word_counts(np.arange(n)) if costs.read_word else None
    found, seconds = likeliest.sum(axis=0), float(costs.sweep(len(likeliest)))
    items = seconds / costs.whole_item(rates.sum(), words=words).mean()  # that take as long as the page
    never_seen = float((labelled.Y[full].sum(axis=0) == 1).sum() / full.sum())
    by_items = np.log1p(items * rates / (1 + have)).sum() + items * never_seen * np.log(2)
    times = np.log1p(found / (1 + have)) / by_items
    best = [label for label in np.argsort(-times, kind="stable").tolist() if times[label] > 1 and found[label] >= 1]
    return tuple(
        SweepWorth(labelled.label_names[label], round(float(found[label]), 2), seconds, round(float(times[label]), 2))
        for label in best[:MOST_SWEEPS]
    )


def sweep_page(beliefs: LabelPosterior, data: LabelData, closed: sp.csr_array, label: str) -> list[Question]:
    """The questions of a page: the open items that most likely have the label, likeliest first."""
    column = data.label_names.index(label)
    open_ = np.flatnonzero(~closed[:, [column]].toarray().ravel())
    parts = [open_[start : start + AT_ONCE] for start in range(0, open_.size, AT_ONCE)]
    p = np.concatenate([beliefs.rows(part).probabilities()[:, column] for part in parts])
    first = np.argsort(-p, kind="stable")[:SWEEP_PAGE]
    return [
        Question(data.item_ids[row], (label,), SWEEP, float(score))
        for row, score in zip(open_[first], p[first], strict=True)
    ]
