"""Compiled one-pass learning: sparse rows in, diagonal Gaussian weights updated in place.

Weights are feature-major, (rows, 2, columns): for each feature the means of all labels, then their variances, in one
stretch of memory. An example reads its features' rows once for the scores. It exchanges messages on vectors that stay
in the first cache (`message_passing`), and visits the same rows again while they are still in the second. Row 0 belongs
to the constant feature, a bias per label. Columns beyond the labels are padding: they get no answer and stay at the
prior.

A block of labels has weights of its own and shares nothing with the others, so threads take blocks. One array for all
would not do: what the processor fetches ahead of one thread's columns is another's. Nothing is allocated per example.

`learn` absorbs items one by one; `learn_linked` does so with a hierarchy of labels, or weights that walk.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from labelwise.numerics.arrays import FloatArray, IntegerArray
from labelwise.numerics.ep.message_passing import (
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
        if not linked_margins(work.e, z, beliefs.counts, likelihood, counting, links.tree):
            continue
        _scores(work, items, i, beliefs.weights, likelihood.noise, prior.local_bias)
        sweeps += exchange_messages(work, z, beliefs.hub, likelihood, links, branches)
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
def linked_margins(
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
def exchange_messages(
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
