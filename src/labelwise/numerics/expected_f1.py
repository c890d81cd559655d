"""The expected F-measure of sets of uncertain labels, and the set that maximises it.

With y the truth, k the size of the set chosen, N = Σ y and B = β², F = (1 + B) Σ_{chosen} y / (k + B N). Each row of
the arrays here is one problem of its own: a label over the items of a batch (macro-F), or an item over its labels
(sample-wise F). Where nothing is chosen and nothing is true F is 0/0 and counts `empty_score`. Among sets of one size
the most probable entries are best if entries are independent, so the search runs over prefixes of the falling order.

Further letters: g groups of entries with one probability (see `Groups`), t quadrature nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, log2

import numpy as np
import numpy.typing as npt
from numba import njit

from labelwise.numerics.arrays import BoolArray, FloatArray, IntegerArray

PANEL_NODES = 12  # Gauss-Legendre nodes on each panel
PANELS_NEAR_ZERO = 16  # halvings of [0, 1/2] toward x = 0, where a fractional power of x is not smooth
TIED = 1e-6  # probabilities that differ by less than this, relative, are the same
FLAT = 1e-6  # probabilities that differ by less than this, relative to the highest, are the same
GAIN = 1e-12  # a larger set must be better by this much, relative: rounding must not choose
NEGLIGIBLE_INTEGRAND = 1e-60  # an integrand below this has no digit left to add, here and for every larger set
CERTAIN = 1 - 2.0**-50  # probabilities are kept below, so that 1 − p v has a reciprocal at every node
SMALL, SERIES = 0.01, 7  # below, seven terms of log(1 − p v) have all the digits
REORDER = {"reassoc", "contract", "nsz"}  # lets sums over nodes use vector registers; nothing is assumed finite


@dataclass(frozen=True, eq=False)
class Nodes:
    """Quadrature for 1/(k + B N) = ∫₀¹ x^(k + B N − 1) dx, in the variable that keeps the integrand smooth."""

    absent: FloatArray  # (t,), v = 1 − x^B: entry i contributes a factor 1 − p_i v
    log_x: FloatArray  # (t,), each chosen entry contributes a factor x
    weight: FloatArray  # (t,), with all that depends on neither the set nor the probabilities


@lru_cache(maxsize=32)
def quadrature(beta: float, n_entries: int) -> Nodes:
    """Nodes for sets of up to `n_entries` entries: panels that halve toward x = 1, where large k and N live.

    E[F] = (1 + B) ∫ x^(k − 1 + B) Π_j (1 − p_j v) Σ_{i ≤ k} p_i / (1 − p_i v) dx with v = 1 − x^B, from
    E[y_i z^(N − 1)] = p_i Π_{j ≠ i} (1 − p_j + p_j z). For B ≤ 1 the variable is z = x^B instead, so that no power
    falls below one: ((1 + B) / B) ∫ z^(k / B) … dz.
    """
    B = beta**2
    rate = n_entries * (1 + 1 / B) if B <= 1 else n_entries * (1 + B) + B  # of decay in u, at most
    finest = 1 + max(1, ceil(log2(max(rate, 1.0))))
    smooth = max(B, 1 / B).is_integer()  # then the integrand is a polynomial
    near_zero = 1 - 2.0 ** -np.arange(2.0, 2.0 if smooth else PANELS_NEAR_ZERO)
    edges = np.concatenate([[0.0], 2.0 ** np.arange(-finest, 0.0), near_zero, [1.0]])
    point, weight = np.polynomial.legendre.leggauss(PANEL_NODES)
    half_width = np.diff(edges)[:, None] / 2  # (panels, 1)
    u = (edges[:-1, None] + half_width * (1 + point)).ravel()  # (t,), 1 − x or 1 − z
    weight = (half_width * weight).ravel()
    log_u = np.log1p(-u)
    if B <= 1:
        return Nodes(u, log_u / B, (1 + B) / B * weight)
    return Nodes(-np.expm1(B * log_u), log_u, (1 + B) * np.exp((B - 1) * log_u) * weight)


def best_prefixes(
    probability: FloatArray, count: FloatArray, beta: float, empty_score: float
) -> tuple[IntegerArray, FloatArray]:
    """How many leading groups of each row to choose, and the F that is then expected, entries being independent.

    Parameters
    ----------
    probability, count : (r, g) arrays
        Groups in falling order of probability, and the number of entries in each.

    Returns
    -------
    taken : (r,) array of int
    expected : (r,) array of float

    Notes
    -----
    Of all sets the best is a prefix of the falling order (Jansche, ACL 2007; Ye et al., ICML 2012). Its expected F is
    one integral per size, and the running sums over sizes share the nodes: O(n) per row and node, no n² table. By
    Jensen's inequality (1 + B) E[N] / (k + B E[N]) is an upper bound for every set of k or more. The search ends when
    it falls below the best found. Entries of probability zero are never chosen.

    >>> best_prefixes(np.array([[0.9, 0.4, 0.1]]), np.ones((1, 3)), beta=1.0, empty_score=0.0)
    (array([1]), array([0.756]))
    """
    nodes = quadrature(float(beta), int(count.sum(1).max(initial=1)))
    p = np.minimum(probability, CERTAIN)
    return _best_prefixes(p, count, nodes.absent, nodes.log_x, nodes.weight, (beta**2, empty_score))


def expected_scores(
    probability: FloatArray, count: FloatArray, chosen: FloatArray, beta: float, empty_score: float
) -> FloatArray:
    """(r,) expected F of given sets, entries being independent; `chosen` (r, g) counts a group's entries in the set.

    >>> expected_scores(np.array([[0.5, 0.5]]), np.ones((1, 2)), np.array([[1.0, 0.0]]), 1.0, 0.0).round(4)
    array([0.4167])
    """
    nodes = quadrature(float(beta), int(count.sum(1).max(initial=1)))
    p = np.minimum(probability, CERTAIN)
    return _expected_scores(p, count, chosen, nodes.absent, nodes.log_x, nodes.weight, empty_score)


def believable_sizes(probability: FloatArray, taken: IntegerArray, empty_score: float) -> IntegerArray:
    """(r,) sizes of the sets, no larger than the number of true entries can be believed to be.

    `probability` (r, g) is falling. That number is at most the mean of N and two of its standard deviations, entries
    being independent. A set that is cut there is not cut among entries of one probability, but before them. It is empty
    where nothing is left; at least one entry stays where an empty set scores nothing (`empty_score` 0).

    >>> believable_sizes(np.array([[0.9, 0.8] + 50 * [0.02]]), np.array([52]), 1.0)
    array([2])
    """
    deviation = np.sqrt((probability * (1 - probability)).sum(axis=1))
    most = np.maximum(np.floor(probability.sum(axis=1) + 2 * deviation), 1).astype(np.int64)
    sizes = np.array(taken, dtype=np.int64)
    for r in np.flatnonzero(sizes > most):
        p = probability[r]
        tied = p[: most[r]] <= p[most[r]] * (1 + TIED)
        sizes[r] = int(np.argmax(tied)) if tied.any() else most[r]
        if sizes[r] == 0 and empty_score == 0:
            sizes[r] = 1
    return sizes


def sampled_scores(sets: BoolArray, drawn: BoolArray, beta: float, empty_score: float) -> FloatArray:
    """(n,) mean F of label sets (n, q) over drawn ones (s, n, q).

    >>> sampled_scores(np.array([[True, True]]), np.array([[[True, False]], [[True, True]]]), 1.0, 1.0).round(4)
    array([0.8333])
    """
    hits, present, size = (drawn & sets).sum(axis=2), drawn.sum(axis=2), sets.sum(axis=1)
    total = size + beta**2 * present  # (s, n)
    score = np.where(total > 0, (1 + beta**2) * hits / np.maximum(total, 1e-300), empty_score)
    return np.asarray(score.mean(axis=0))


def cut_scores(hits: IntegerArray, count: FloatArray, beta: float, empty_score: float) -> FloatArray:
    """(q, g + 1) mean F over samples where nothing, the first group, the first two, ... of each label are chosen.

    Zhang, Graepel & Herbrich, AISTATS 2010, section 4.3, with the factor 2 of F1 restored. Positives above the cut and
    positives at all per sample, and entries above the cut: nothing else of the samples is needed.

    Parameters
    ----------
    hits : (s, q, g) array
        Positives of each sample in each group, in falling order of probability.
    count : (q, g) array
        Items in each group.
    """
    B = beta**2
    size = np.cumsum(count, axis=1)  # (q, g)
    total = np.zeros(size.shape)
    nothing = np.zeros(size.shape[0])
    for sample in hits:
        hits_above = np.cumsum(sample, axis=1)  # (q, g)
        total += (
            (1 + B) * hits_above / np.maximum(size + B * hits_above[:, -1:], 1e-300)
        )  # found is 0 where the other is
        nothing += hits_above[:, -1] == 0
    return np.concatenate([empty_score * nothing[:, None], total], axis=1) / len(hits)


def highest(scores: FloatArray) -> tuple[IntegerArray, FloatArray]:
    """Where the highest score of each row is, and the score; of equals the first, and so the smallest set."""
    best = scores.max(1)
    return (scores >= best[:, None] * (1 - GAIN)).argmax(1), best


def best_sampled_prefixes(
    code: IntegerArray, drawn: BoolArray, beta: float, empty_score: float
) -> tuple[IntegerArray, FloatArray]:
    """How many of each item's most probable labels to choose, and the mean F over the item's drawn label sets.

    Parameters
    ----------
    code : (n, q) array
        Rank of each label of an item, 0 the most probable.
    drawn : (s, n, q) array of bool
        Label sets drawn from the beliefs, with whatever dependence between labels they have.
    """
    by_item = np.ascontiguousarray(drawn.transpose(1, 2, 0))  # (n, q, s): a label's draws side by side
    return _best_sampled_prefixes(code, by_item, beta**2, empty_score)


@njit(cache=True, nogil=True, fastmath=REORDER)
def _best_prefixes(
    probability: FloatArray,
    count: FloatArray,
    absent: FloatArray,
    log_x: FloatArray,
    weight: FloatArray,
    settings: tuple[float, float],
) -> tuple[IntegerArray, FloatArray]:
    B, empty_score = settings
    x = np.exp(log_x)  # (t,)
    rows = probability.shape[0]
    taken, expected = np.zeros(rows, dtype=np.int64), np.zeros(rows)
    for r in range(rows):
        p, c = probability[r], count[r]
        mass, mean, none = _mass(p, c, absent, weight)
        best, size, alive = empty_score * none, 0.0, weight.size
        ratio = np.zeros(weight.size)  # Σ_{chosen} p / (1 − p v)
        for g in range(p.size):
            if p[g] <= 0:
                break
            if c[g] == 0:
                continue
            size += c[g]
            if (1 + B) * mean <= best * (size + B * mean):
                break
            value = 0.0
            for t in range(alive):
                mass[t] *= x[t] if c[g] == 1 else np.exp(c[g] * log_x[t])
                ratio[t] += c[g] * p[g] / (1 - p[g] * absent[t])
                value += mass[t] * ratio[t]
            while alive > 0 and mass[alive - 1] < NEGLIGIBLE_INTEGRAND:
                alive -= 1
            if value > best * (1 + GAIN):
                best, taken[r] = value, g + 1
        expected[r] = best
    return taken, expected


@njit(cache=True, nogil=True, fastmath=REORDER)
def _expected_scores(
    probability: FloatArray,
    count: FloatArray,
    chosen: FloatArray,
    absent: FloatArray,
    log_x: FloatArray,
    weight: FloatArray,
    empty_score: float,
) -> FloatArray:
    expected = np.zeros(probability.shape[0])
    for r in range(probability.shape[0]):
        mass, _, none = _mass(probability[r], count[r], absent, weight)
        size = chosen[r].sum()
        if size == 0:
            expected[r] = empty_score * none
            continue
        ratio = np.zeros(weight.size)
        for g in range(probability.shape[1]):
            p, c = probability[r, g], chosen[r, g]
            if c > 0:
                ratio += c * p / (1 - p * absent)
        expected[r] = (mass * np.exp(size * log_x) * ratio).sum()
    return expected


@njit(cache=True, nogil=True, fastmath=REORDER)
def _mass(p: FloatArray, count: FloatArray, absent: FloatArray, weight: FloatArray) -> tuple[FloatArray, float, float]:
    """weight × Π (1 − p v) at the nodes, E[N], and the probability that no entry is true."""
    mass, mean, log_none = weight.copy(), 0.0, 0.0
    powers = np.zeros(SERIES)  # Σ p^(m + 1) / (m + 1) over small p, for log(1 − p v) = −Σ (p v)^m / m
    for g in range(p.size):
        c = count[g]
        if p[g] <= 0 or c == 0:
            continue
        mean += c * p[g]
        log_none += c * np.log1p(-p[g])
        if p[g] < SMALL:  # most entries, where labels are rare: a few additions instead of a pass over the nodes
            power = c
            for m in range(SERIES):
                power *= p[g]
                powers[m] += power / (m + 1)
        elif c == 1:
            for t in range(mass.size):
                mass[t] *= 1 - p[g] * absent[t]
        else:
            for t in range(mass.size):
                mass[t] *= np.exp(c * np.log1p(-p[g] * absent[t]))
    for t in range(mass.size):
        series = 0.0
        for m in range(SERIES - 1, -1, -1):
            series = (series + powers[m]) * absent[t]
        mass[t] *= np.exp(-series)
    return mass, mean, np.exp(log_none)


@njit(cache=True, nogil=True, fastmath=REORDER)
def _best_sampled_prefixes(
    code: IntegerArray, drawn: BoolArray, B: float, empty_score: float
) -> tuple[IntegerArray, FloatArray]:
    n, q, s = drawn.shape
    taken, expected = np.zeros(n, dtype=np.int64), np.zeros(n)
    falling = np.empty(q, dtype=np.int64)
    for i in range(n):
        for j in range(q):
            falling[code[i, j]] = j
        present, hits = np.zeros(s), np.zeros(s)
        for j in range(q):
            present += drawn[i, j]
        mean = present.sum() / s
        best = empty_score * (present == 0).sum() / s
        for k in range(1, q + 1):
            if (1 + B) * mean <= best * (k + B * mean):  # no larger set can be better, see best_prefixes
                break
            value = 0.0
            for t in range(s):
                hits[t] += drawn[i, falling[k - 1], t]
                value += hits[t] / (B * present[t] + k)
            value *= (1 + B) / s
            if value > best * (1 + GAIN):
                best, taken[i] = value, k
        expected[i] = best
    return taken, expected


# -- groups of entries: probabilities of each label in falling order --------------------------------------------------


# Every item is its own group, or groups are bins on a logit grid. Ranks are exact and cost a sort; bins can be filled
# block by block and lose only the order inside a bin. Group 0 has the most probable items.


@dataclass(frozen=True, eq=False)
class Groups:
    """The items of each label, grouped by falling probability."""

    code: IntegerArray  # (n, q), the group of each entry
    probability: FloatArray  # (q, g), mean in the group, falling
    count: FloatArray  # (q, g), items in the group

    def sets(self, taken: npt.ArrayLike) -> BoolArray:
        """(n, q) the entries of the first `taken` groups of each label."""
        return self.code < np.asarray(taken)

    def largest(self, sizes: IntegerArray) -> BoolArray:
        """(n, q) the sizes[j] most probable items of each label j; within a group the first items come first."""
        return take_in_order(self.code, *self.cuts(sizes))

    def cuts(self, sizes: IntegerArray) -> tuple[IntegerArray, IntegerArray]:
        """(q,) groups that fit into each label's size as a whole, and how many items of the next one still do."""
        ends = np.cumsum(self.count, axis=1)  # (q, g)
        cut = (ends <= sizes[:, None]).sum(1)
        whole = np.concatenate([np.zeros((len(ends), 1)), ends], axis=1)[np.arange(len(ends)), cut]
        return cut, (sizes - whole).astype(np.int64)

    def flat(self) -> BoolArray:
        """(q,) labels that are equally probable for all items, to six digits, and less likely than not.

        >>> rank_groups(np.array([[0.2, 0.2, 0.6], [0.2, 0.1, 0.6]])).flat()
        array([ True, False, False])
        """
        there = self.count > 0
        highest = np.where(there, self.probability, 0.0).max(axis=1, initial=0.0)
        lowest = np.where(there, self.probability, 1.0).min(axis=1, initial=1.0)
        return is_flat(lowest, highest)

    def count_of(self, sets: BoolArray) -> FloatArray:
        """(q, g) how many of a group's items are in the given (n, q) sets."""
        found = np.zeros_like(self.count)
        add_counts(self.code, sets, found)
        return found


def is_flat(lowest: FloatArray, highest: FloatArray) -> BoolArray:
    """Whether the least and the largest probability of a label are the same, to six digits, and below one half."""
    return (highest - lowest <= FLAT * highest) & (highest < 0.5)


def rank_groups(p: FloatArray) -> Groups:
    """Every item of (n, q) is a group of its own; equal probabilities keep the order of the items.

    >>> rank_groups(np.array([[0.2], [0.9], [0.2]])).code.ravel()
    array([1, 0, 2], dtype=int32)
    """
    columns = np.ascontiguousarray(p.T, dtype=float)  # (q, n)
    falling = np.argsort(-columns, axis=1, kind="stable")
    rank = np.empty(columns.shape, dtype=np.int32)
    np.put_along_axis(rank, falling, np.arange(columns.shape[1], dtype=np.int32)[None, :], axis=1)
    return Groups(np.ascontiguousarray(rank.T), np.take_along_axis(columns, falling, 1), np.ones(columns.shape))


def logit_codes(p: FloatArray, n_bins: int, reach: float) -> IntegerArray:
    """The bin of each probability: equal steps of the logit from +reach (bin 0) down to −reach, open at both ends.

    Equal steps of the logit are equal ratios of small probabilities: rare labels live there, and a grid in p itself
    cannot tell them apart.

    >>> logit_codes(np.array([[1.0, 0.73, 0.5, 0.27, 0.0]]), 4, reach=2.0)
    array([[0, 1, 2, 2, 3]], dtype=uint8)
    """
    codes = np.empty(p.shape, dtype=np.uint8 if n_bins <= 256 else np.uint16)
    _logit_codes(p, n_bins, reach, codes)
    return codes


def threshold_codes(p: FloatArray, n: int) -> IntegerArray:
    """The bin of each probability between n equal thresholds 0, 1/n, ...: bin 0 is above the highest of them.

    >>> threshold_codes(np.array([[1.0, 0.76, 0.75, 0.3, 0.0]]), 4)
    array([[0, 0, 1, 2, 3]], dtype=uint8)
    """
    return np.minimum(n - np.ceil(n * p), n - 1).astype(np.uint8 if n <= 256 else np.uint16)


def bin_groups(codes: IntegerArray, sums: FloatArray, counts: FloatArray) -> Groups:
    """Groups out of what `add_to_bins` has gathered; an empty bin is given the probability of the one before it."""
    mean = np.where(counts > 0, sums / np.maximum(counts, 1), np.inf)  # (q, g)
    return Groups(codes, np.minimum(np.minimum.accumulate(mean, axis=1), 1.0), counts)


@njit(cache=True, nogil=True)
def add_to_bins(codes: IntegerArray, p: FloatArray, sums: FloatArray, counts: FloatArray) -> None:
    """Add a block of items, (n, q) codes and probabilities, to the (q, g) sums and counts."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            g = codes[i, j]
            sums[j, g] += p[i, j]
            counts[j, g] += 1


@njit(cache=True, nogil=True)
def add_counts(codes: IntegerArray, among: BoolArray, counts: FloatArray) -> None:
    """Add the entries of a block that are in the (n, q) mask `among` to the (q, g) counts."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            if among[i, j]:
                counts[j, codes[i, j]] += 1


@njit(cache=True, nogil=True)
def add_hits(codes: IntegerArray, drawn: BoolArray, hits: IntegerArray) -> None:
    """Add the positives among (s, n, q) drawn labels to their group's place in (s, q, g)."""
    for t in range(drawn.shape[0]):
        for i in range(drawn.shape[1]):
            for j in range(drawn.shape[2]):
                if drawn[t, i, j]:
                    hits[t, j, codes[i, j]] += 1


@njit(cache=True, nogil=True)
def _logit_codes(p: FloatArray, n_bins: int, reach: float, codes: IntegerArray) -> None:
    low, high = 1 / (1 + np.exp(reach)), 1 / (1 + np.exp(-reach))
    for i in range(p.shape[0]):
        for j in range(p.shape[1]):
            if p[i, j] <= low:
                codes[i, j] = n_bins - 1
            elif p[i, j] >= high:
                codes[i, j] = 0
            else:
                place = (reach - np.log(p[i, j] / (1 - p[i, j]))) * (n_bins / (2 * reach))
                codes[i, j] = min(max(int(place), 0), n_bins - 1)


@njit(cache=True, nogil=True)
def take_in_order(code: IntegerArray, cut: IntegerArray, left: IntegerArray) -> BoolArray:
    """Entries before the cut, and the first `left` entries of the group at the cut, which are counted down."""
    taken = np.zeros(code.shape, dtype=np.bool_)
    for i in range(code.shape[0]):
        for j in range(code.shape[1]):
            if code[i, j] < cut[j]:
                taken[i, j] = True
            elif code[i, j] == cut[j] and left[j] > 0:
                taken[i, j] = True
                left[j] -= 1
    return taken
