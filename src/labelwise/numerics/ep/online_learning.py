"""Compiled one-pass learning: sparse rows in, diagonal Gaussian weights updated in place.

Weights are feature-major, (rows, 2, columns): for each feature the means of all labels, then their variances, in one
stretch of memory. An example reads its features' rows once for the scores. It exchanges messages on vectors that stay
in the first cache (`message_passing`), and visits the same rows again while they are still in the second. Row 0 belongs
to the constant feature, a bias per label. Columns beyond the labels are padding: they get no answer and stay at the
prior.

A block of labels has weights of its own and shares nothing with the others, so threads take blocks. One array for all
would not do: what the processor fetches ahead of one thread's columns is another's. Nothing is allocated per example.

`learn` absorbs items one by one, `learn_linked` does so with a hierarchy of labels or weights that walk, and
`learn_window` goes through a window of items forth and back.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from labelwise.numerics.arrays import FloatArray, IntegerArray
from labelwise.numerics.ep.message_passing import (
    SMALLEST_PRECISION,
    Branches,
    Likelihood,
    Tree,
    Work,
    compiled,
    independent,
    make_branches,
    make_work,
    multi_class,
    open_independent,
    open_star,
    pairwise,
    set_roles,
    star,
)

INDEPENDENT, STAR, MULTI_CLASS, PAIRWISE = range(4)
SMALLEST_VARIANCE = 1e-10


class Items(NamedTuple):
    """A block of items in CSR form, features already renamed to rows of the weights (-1: never seen)."""

    indptr: IntegerArray  # (n + 1,) int64
    rows: IntegerArray  # (nnz,) int32
    values: FloatArray  # (nnz,) in the precision of the weights
    elapsed: FloatArray  # (nnz,) examples since the row was last touched; empty where nothing is forgotten


class Beliefs(NamedTuple):
    """What learning changes, for one block of labels."""

    weights: FloatArray  # (rows, 2, columns) mean and variance
    hub: FloatArray  # (2,) float64, mean and variance of the bias that the labels share; unused by other graphs
    counts: FloatArray  # (2, columns) float64, negative and positive answers; those of long ago fade, too


class Prior(NamedTuple):
    """What the weights were before, and how fast they go back there."""

    weight_precision: float
    local_precision: float  # of the bias per label
    hub_precision: float
    half_life: float  # in examples; 0 forgets nothing
    local_bias: bool
    drift: float = 0.0  # variance that a weight's random walk adds per example


class Counting(NamedTuple):
    """Answers behind the margins of rare labels: counted as they come, or known before (`running` False)."""

    running: bool
    negative: float  # pseudo-counts
    positive: float


@compiled
def learn(
    items: Items,
    signs: IntegerArray,
    beliefs: Beliefs,
    likelihood: Likelihood,
    prior: Prior,
    counting: Counting,
    graph: int,
) -> int:
    """Absorb the items one by one, in place; the number of sweeps that expectation propagation took over all."""
    work = make_work(signs.shape[1], beliefs.weights, graph == PAIRWISE)
    sweeps = 0
    for i in range(items.indptr.size - 1):
        z = signs[i]
        if prior.half_life > 0:
            _forget(items, i, beliefs, prior, graph == STAR)
            if counting.running:
                _fade_counts(beliefs.counts, 2.0 ** (-1 / prior.half_life))
        if not _margins(work.e, z, beliefs.counts, likelihood, counting):
            continue  # no answer here
        _scores(work, items, i, beliefs.weights, likelihood.noise, prior.local_bias)
        if graph == STAR:
            sweeps += star(work, z, beliefs.hub, likelihood)
        elif graph == INDEPENDENT:
            independent(work, z, likelihood)
        elif graph == MULTI_CLASS:
            sweeps += multi_class(work, z, likelihood)
        else:
            sweeps += pairwise(work, z, likelihood)
        _absorb(work, items, i, beliefs.weights, prior.local_bias)
    return sweeps


@compiled
def _margins(e: FloatArray, z: IntegerArray, counts: FloatArray, how: Likelihood, counting: Counting) -> bool:
    """By how much labels have to win: ε, or ε ln(e + negatives/positives) if relevant. Is there an answer at all?"""
    negative, positive = counts[0], counts[1]
    answers = 0
    for c in range(z.size):
        e[c] = how.margin
        answers += abs(z[c])
        if counting.running:
            negative[c] += z[c] < 0
            positive[c] += z[c] > 0
    if how.skew:
        for c in range(z.size):
            if z[c] > 0:
                for_it = max(positive[c] + counting.positive, 0.5)
                e[c] = how.margin * math.log(math.e + (negative[c] + counting.negative) / for_it)
    return answers > 0


@compiled
def _scores(work: Work, items: Items, i: int, weights: FloatArray, noise: float, local_bias: bool) -> None:
    """Mean and variance of the scores of item i: m = Σ x μ, u = Σ x² σ² + noise.

    Features are taken four at a time: m and u are read and written less often, and memory is asked for more at once.
    """
    m, u, rows, x = work.m, work.u, items.rows, items.values
    a, b = weights[0, 0], weights[0, 1]
    there = m.dtype.type(local_bias)
    for c in range(m.size):
        m[c] = there * a[c]
        u[c] = there * b[c] + noise
    k, end = items.indptr[i], items.indptr[i + 1]
    while k + 3 < end:
        x0, x1, x2, x3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        a, b, d, e = weights[rows[k], 0], weights[rows[k + 1], 0], weights[rows[k + 2], 0], weights[rows[k + 3], 0]
        for c in range(m.size):
            m[c] += x0 * a[c] + x1 * b[c] + x2 * d[c] + x3 * e[c]
        x0, x1, x2, x3 = x0 * x0, x1 * x1, x2 * x2, x3 * x3
        a, b, d, e = weights[rows[k], 1], weights[rows[k + 1], 1], weights[rows[k + 2], 1], weights[rows[k + 3], 1]
        for c in range(m.size):
            u[c] += x0 * a[c] + x1 * b[c] + x2 * d[c] + x3 * e[c]
        k += 4
    while k < end:
        a, b = weights[rows[k], 0], weights[rows[k], 1]
        for c in range(m.size):
            m[c] += x[k] * a[c]
            u[c] += x[k] * x[k] * b[c]
        k += 1


@compiled
def _absorb(work: Work, items: Items, i: int, weights: FloatArray, local_bias: bool) -> None:
    if local_bias:
        _move(work, weights[0], items.values.dtype.type(1))
    for k in range(items.indptr[i], items.indptr[i + 1]):
        _move(work, weights[items.rows[k]], items.values[k])


@compiled
def _move(work: Work, row: FloatArray, x: float) -> None:
    """One feature's weights: μ += σ² x g, σ² -= (σ² x)² h."""
    g, h, mean, variance = work.g, work.h, row[0], row[1]
    least = row.dtype.type(SMALLEST_VARIANCE)  # a float64 here would turn the whole loop into float64
    for c in range(g.size):
        reach = variance[c] * x
        mean[c] += reach * g[c]
        variance[c] = max(variance[c] - reach * reach * h[c], least)


@compiled
def _forget(items: Items, i: int, beliefs: Beliefs, prior: Prior, with_hub: bool) -> None:
    """Let what was learnt fade by the time since it was last used: natural parameters go back towards the prior."""
    once = 2.0 ** (-1 / prior.half_life)
    if with_hub:
        hub = beliefs.hub
        hub[0], hub[1] = _faded(hub[0], hub[1], once, prior.hub_precision)
    _fade(beliefs.weights[0], once, prior.local_precision)
    for k in range(items.indptr[i], items.indptr[i + 1]):
        keep = 2.0 ** (-items.elapsed[k] / prior.half_life)
        _fade(beliefs.weights[items.rows[k]], keep, prior.weight_precision)


@compiled
def _fade_counts(counts: FloatArray, keep: float) -> None:
    """Answers of long ago count less, as the weights learnt from them do."""
    for c in range(counts.shape[1]):
        counts[0, c] *= keep
        counts[1, c] *= keep


@compiled
def _fade(row: FloatArray, keep: float, precision: float) -> None:
    for c in range(row.shape[1]):
        row[0, c], row[1, c] = _faded(row[0, c], row[1, c], keep, precision)


@compiled
def _faded(mean: float, variance: float, keep: float, precision: float) -> tuple[float, float]:
    """P ← P₀ + keep (P - P₀) and N ← keep N, for a prior of mean zero."""
    faded = 1 / (precision + keep * (1 / variance - precision))
    return keep * mean / variance * faded, faded


@compiled
def project(
    items: Items, weights: FloatArray, prior: Prior, mean: FloatArray, variance: FloatArray, start: int, stop: int
) -> None:
    """Mean and variance of the scores without noise, in columns start to stop of two (n, q) arrays.

    Features never seen are at the prior; those that have yet to fade are taken as if they had.
    """
    for i in range(mean.shape[0]):
        m, u = mean[i, start:stop], variance[i, start:stop]
        unknown = 0.0
        for c in range(m.size):
            m[c] = weights[0, 0, c] if prior.local_bias else 0
            u[c] = weights[0, 1, c] if prior.local_bias else 0
        for k in range(items.indptr[i], items.indptr[i + 1]):
            x, row = items.values[k], items.rows[k]
            if row < 0:
                unknown += x * x / prior.weight_precision
            elif items.elapsed.size > 0 and items.elapsed[k] > 0:
                keep = 2.0 ** (-items.elapsed[k] / prior.half_life)
                for c in range(m.size):
                    now = _faded(weights[row, 0, c], weights[row, 1, c], keep, prior.weight_precision)
                    m[c] += x * now[0]
                    u[c] += x * x * now[1]
            else:
                for c in range(m.size):
                    m[c] += x * weights[row, 0, c]
                    u[c] += x * x * weights[row, 1, c]
        for c in range(m.size):
            u[c] += unknown


@compiled
def scale_rows(indptr: IntegerArray, values: FloatArray) -> None:
    """Scale every item to unit length, in place; an empty one stays empty.

    By the largest value first, whose square may be out of range. Values are not zero.
    """
    for i in range(indptr.size - 1):
        largest, square = 0.0, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            largest = max(largest, abs(values[k]))
        for k in range(indptr[i], indptr[i + 1]):
            values[k] /= largest
            square += values[k] * values[k]
        for k in range(indptr[i], indptr[i + 1]):
            values[k] /= math.sqrt(square)


@compiled
def admit(features: IntegerArray, row_of: IntegerArray, n_rows: int, rows: IntegerArray) -> int:
    """Put down the row of every feature; one without a row gets the next. The number of rows there are then."""
    for k in range(features.size):
        row = row_of[features[k]]
        if row < 0:
            row = n_rows
            row_of[features[k]] = row
            n_rows += 1
        rows[k] = row
    return n_rows


@compiled
def stamp(indptr: IntegerArray, rows: IntegerArray, last: IntegerArray, now: int) -> FloatArray:
    """(nnz,) examples since each row was last touched (-1: never), item 0 being number `now`. Updates `last`."""
    elapsed = np.empty(rows.size, np.float32)
    for i in range(indptr.size - 1):
        for k in range(indptr[i], indptr[i + 1]):
            elapsed[k] = now + i - last[rows[k]] if last[rows[k]] >= 0 else 0
            last[rows[k]] = now + i
    return elapsed


# -- labels under labels, and weights that walk -----------------------------------------------------------------------


class Links(NamedTuple):
    """What the messages of an item run through, and how often."""

    graph: int
    tree: Tree
    passes: int  # back and forth over a window


@compiled
def learn_linked(
    items: Items,
    signs: IntegerArray,
    beliefs: Beliefs,
    likelihood: Likelihood,
    prior: Prior,
    counting: Counting,
    links: Links,
) -> int:
    """`learn` for a hierarchy of labels, or weights that walk. Answers are closed (`close_answers`)."""
    work, branches = make_work(signs.shape[1], beliefs.weights, links.graph == PAIRWISE), make_branches(signs.shape[1])
    sweeps = 0
    for i in range(items.indptr.size - 1):
        z = signs[i]
        if prior.half_life > 0:
            _forget(items, i, beliefs, prior, links.graph == STAR)
            if counting.running:
                _fade_counts(beliefs.counts, 2.0 ** (-1 / prior.half_life))
        if prior.drift > 0:
            _walk(items, i, beliefs, prior, links.graph == STAR)
        if not _linked_margins(work.e, z, beliefs.counts, likelihood, counting, links.tree):
            continue
        _scores(work, items, i, beliefs.weights, likelihood.noise, prior.local_bias)
        sweeps += _exchange_messages(work, z, beliefs.hub, likelihood, links, branches)
        _absorb(work, items, i, beliefs.weights, prior.local_bias)
    return sweeps


@compiled
def _walk(items: Items, i: int, beliefs: Beliefs, prior: Prior, with_hub: bool) -> None:
    """Beliefs widen by the steps since they were last used."""
    if with_hub:
        beliefs.hub[1] += prior.drift
    _widen(beliefs.weights[0, 1], prior.drift)
    for k in range(items.indptr[i], items.indptr[i + 1]):
        _widen(beliefs.weights[items.rows[k], 1], _walked(items.elapsed[k], prior))


@compiled
def _widen(variance: FloatArray, more: float) -> None:
    for c in range(variance.size):
        variance[c] += more


def walked(elapsed: Any, prior: Prior) -> Any:
    """Variance that a walk adds over a gap: `drift` per example, at most that of the prior."""
    return np.minimum(prior.drift * elapsed, 1 / prior.weight_precision)


_walked = compiled(walked)


@compiled
def _linked_margins(
    e: FloatArray, z: IntegerArray, counts: FloatArray, how: Likelihood, counting: Counting, tree: Tree
) -> bool:
    """`_margins`; under a parent the negatives are those of the items for which the parent is relevant."""
    any_answer = _margins(e, z, counts, how, counting)
    if how.skew and tree.parents.size > 0:
        for c in range(z.size):
            if z[c] > 0:
                e[c] = how.margin * math.log(math.e + _odds_against(c, tree.parents[c], counts, counting))
    return any_answer


@compiled
def _all_margins(
    margins: FloatArray, signs: IntegerArray, counts: FloatArray, how: Likelihood, counting: Counting, tree: Tree
) -> None:
    for i in range(signs.shape[0]):
        _linked_margins(margins[i], signs[i], counts, how, counting, tree)


@compiled
def _odds_against(c: int, parent: int, counts: FloatArray, counting: Counting) -> float:
    """Negatives per positive of a label, among items for which its parent is relevant; by shares of known answers."""
    positive = max(counts[1, c] + counting.positive, 0.5)
    if parent < 0:
        return (counts[0, c] + counting.negative) / positive
    of_parent = max(counts[1, parent] + counting.positive, 0.5)
    answers = max(counts[0, c] + counts[1, c] + counting.negative + counting.positive, positive)
    answers_of_parent = counts[0, parent] + counts[1, parent] + counting.negative + counting.positive
    return max(of_parent / max(answers_of_parent, of_parent) * answers / positive - 1, 0.0)


@compiled
def _exchange_messages(
    work: Work, z: IntegerArray, hub: FloatArray, how: Likelihood, links: Links, branches: Branches
) -> int:
    """Gain and shrink of the scores of one example; the number of sweeps."""
    graph, tree = links.graph, links.tree
    if tree.parents.size == 0:
        if graph == STAR:
            return star(work, z, hub, how)
        if graph == INDEPENDENT:
            return independent(work, z, how)
        if graph == MULTI_CLASS:
            return multi_class(work, z, how)
        return pairwise(work, z, how)
    is_open = set_roles(branches, z, tree)
    if graph == STAR:
        return open_star(work, branches, tree, hub, how) if is_open else star(work, branches.sign, hub, how)
    return open_independent(work, branches, tree, how) if is_open else independent(work, branches.sign, how)


# -- a window of items, forth and back --------------------------------------------------------------------------------


class Window(NamedTuple):
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
    window = Window(indptr, place, values, steps, heard, hub_heard, margins, prior.drift)
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
def _go_through(
    window: Window,
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
        sweeps += _exchange_messages(work, signs[i], work.hub, likelihood, links, branches)
        _part(window, i, running, hub, work, links.graph == STAR)
        if is_back:
            _step(window, i, running, hub)
    return sweeps


@compiled
def _step(window: Window, i: int, running: FloatArray, hub: FloatArray) -> None:
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
def _meet(window: Window, i: int, running: FloatArray, hub: FloatArray, work: Work, noise: float) -> None:
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
def _part(window: Window, i: int, running: FloatArray, hub: FloatArray, work: Work, with_hub: bool) -> None:
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
