"""Compiled smoothing: a window of items is gone through forth and back, and each is learnt against all others.

Messages run along the random walk of every weight and of the bias that labels share, from before and from after. An
item that is met again has its own messages (`message_passing`) found anew. Nothing is counted twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from labelwise.numerics.arrays import FloatArray, IntegerArray
from labelwise.numerics.ep.message_passing import (
    SMALLEST_PRECISION,
    Likelihood,
    Tree,
    Work,
    compiled,
    make_branches,
    make_work,
)
from labelwise.numerics.ep.online_learning import (
    PAIRWISE,
    SMALLEST_VARIANCE,
    STAR,
    Beliefs,
    Counting,
    Items,
    Links,
    Prior,
    exchange_messages,
    linked_margins,
    walked,
)


class RowWindow(NamedTuple):
    """Items that are gone through forth and back, the constant among their features.

    A visit is a feature of an item. Factors on its weights are kept as precision and shift.
    """

    indptr: IntegerArray  # (n + 1,) visits of each item
    place: IntegerArray  # (visits,) of the feature among those that occur here
    values: FloatArray  # (visits,)
    steps: FloatArray  # (visits,) variance of the walk from the visit before to this one
    heard: FloatArray  # (visits, 2, columns) what was said by the items met after this one the last time
    hub_heard: FloatArray  # (n, 2) the same of the bias that labels share
    margins: FloatArray  # (n, columns)
    drift: float


def learn_window(
    items: Items,
    signs: IntegerArray,
    beliefs: Beliefs,
    likelihood: Likelihood,
    prior: Prior,
    counting: Counting,
    links: Links,
) -> int:
    """Absorb the items together, in place: forth, and `links.passes` times back and forth again. Returns the sweeps."""
    n, columns, dtype = items.indptr.size - 1, signs.shape[1], beliefs.weights.dtype
    indptr, rows, values = items.indptr, items.rows, items.values
    steps = walked(items.elapsed, prior) if prior.drift > 0 else np.zeros(rows.size)
    if prior.local_bias:
        first = indptr[:-1]
        rows, values, steps = (
            np.insert(rows, first, 0),
            np.insert(values, first, 1),
            np.insert(steps, first, prior.drift),
        )
        indptr = indptr + np.arange(n + 1)
    here, place = np.unique(rows, return_inverse=True)
    heard, hub_heard = np.zeros((rows.size, 2, columns), dtype), np.zeros((n, 2))
    margins = np.zeros((n, columns), dtype)
    _all_margins(margins, signs, beliefs.counts, likelihood, counting, links.tree)
    window = RowWindow(indptr, place, values, steps, heard, hub_heard, margins, prior.drift)
    mean, variance = beliefs.weights[here].swapaxes(0, 1)
    start = np.stack([1 / variance, mean / variance], axis=1)  # (features here, 2, columns)
    with_hub = links.graph == STAR
    hub_start = np.array([1.0, beliefs.hub[0]]) / beliefs.hub[1] if with_hub else np.zeros(2)
    sweeps = 0
    for turn in range(2 * links.passes + 1):
        is_back = turn % 2 == 1
        running, hub = (np.zeros_like(start), np.zeros(2)) if is_back else (start.copy(), hub_start.copy())
        sweeps += _go_through(window, signs, running, hub, likelihood, links, is_back)
    beliefs.weights[here, 0] = running[:, 1] / running[:, 0]
    beliefs.weights[here, 1] = np.maximum(1 / running[:, 0], SMALLEST_VARIANCE)
    if with_hub:
        beliefs.hub[:] = hub[1] / hub[0], 1 / hub[0]
    return sweeps


@compiled
def _all_margins(
    margins: FloatArray, signs: IntegerArray, counts: FloatArray, how: Likelihood, counting: Counting, tree: Tree
) -> None:
    for i in range(signs.shape[0]):
        linked_margins(margins[i], signs[i], counts, how, counting, tree)


@compiled
def _go_through(
    window: RowWindow,
    signs: IntegerArray,
    running: FloatArray,
    hub: FloatArray,
    likelihood: Likelihood,
    links: Links,
    is_back: bool,
) -> int:
    """Meet the items of a window once, the first one first or the last one first; the number of sweeps.

    Messages run along the walks of all weights and of the hub. An item has its own found anew, against what all others
    say: those that were met on the way (`running`, (features here, 2, columns), and `hub`) and those on the other side,
    as they were heard the last time.
    """
    n = window.indptr.size - 1
    work, branches = make_work(signs.shape[1], running, links.graph == PAIRWISE), make_branches(signs.shape[1])
    sweeps = 0
    for number in range(n):
        i = n - 1 - number if is_back else number
        if not is_back:
            _step(window, i, running, hub)
        _meet(window, i, running, hub, work, likelihood.noise)
        for c in range(work.e.size):
            work.e[c] = window.margins[i, c]
        sweeps += exchange_messages(work, signs[i], work.hub, likelihood, links, branches)
        _part(window, i, running, hub, work, links.graph == STAR)
        if is_back:
            _step(window, i, running, hub)
    return sweeps


@compiled
def _step(window: RowWindow, i: int, running: FloatArray, hub: FloatArray) -> None:
    """What is said about one end of a step, said about the other: P and N over 1 + variance P."""
    if window.drift == 0:
        return
    kept = 1 / (1 + window.drift * hub[0])
    hub[0] *= kept
    hub[1] *= kept
    for v in range(window.indptr[i], window.indptr[i + 1]):
        factor, variance = running[window.place[v]], window.steps[v]
        for c in range(factor.shape[1]):
            kept = 1 / (1 + variance * factor[0, c])
            factor[0, c] *= kept
            factor[1, c] *= kept


@compiled
def _meet(window: RowWindow, i: int, running: FloatArray, hub: FloatArray, work: Work, noise: float) -> None:
    """Scores and hub of item i by what all other items say."""
    m, u = work.m, work.u
    for c in range(m.size):
        m[c], u[c] = 0, noise
    for v in range(window.indptr[i], window.indptr[i + 1]):
        near, far, x = running[window.place[v]], window.heard[v], window.values[v]
        for c in range(m.size):
            variance = 1 / (near[0, c] + far[0, c])
            m[c] += x * (near[1, c] + far[1, c]) * variance
            u[c] += x * x * variance
    precision = hub[0] + window.hub_heard[i, 0]
    work.hub[0], work.hub[1] = (hub[1] + window.hub_heard[i, 1]) / precision, 1 / precision


@compiled
def _part(window: RowWindow, i: int, running: FloatArray, hub: FloatArray, work: Work, with_hub: bool) -> None:
    """Take along what item i says, and leave there what was said before it.

    No item takes precision away: where the shrink is negative, only the mean moves.
    """
    g, h = work.g, work.h
    for v in range(window.indptr[i], window.indptr[i + 1]):
        near, far, x = running[window.place[v]], window.heard[v], window.values[v]
        for c in range(g.size):
            variance = 1 / (near[0, c] + far[0, c])
            mean = (near[1, c] + far[1, c]) * variance
            bend = max(x * x * h[c], 0.0)
            lam = bend / max(1 - variance * bend, SMALLEST_PRECISION)
            far[0, c], far[1, c] = near[0, c], near[1, c]
            near[0, c] += lam
            near[1, c] += mean * lam + x * g[c] * (1 + lam * variance)
    if with_hub:
        far = window.hub_heard[i]
        precision, shift = hub[0] + far[0], hub[1] + far[1]
        after = max(1 / work.hub[1], precision)
        far[0], far[1] = hub[0], hub[1]
        hub[0] += after - precision
        hub[1] += work.hub[0] * after - shift
