"""Compiled expectation propagation on the factor graph of one example.

Scores f_c ~ N(m_c, u_c) are compared with one another or with a bias, and every comparison is a hard factor
I(difference > margin). See Zhang, Graepel & Herbrich, AISTATS 2010, figures 1-3, with the signs of its section 2 put
right: the true class has to win. Gain g and shrink h say how every weight below moves: mean += variance x g and
variance -= (variance x)² h.

All take the scores of the example in `Work`, the signs z of its labels (0: no answer), and leave the gain g and the
shrink h of every score in `Work`.

Labels may stand under others: then a score says whether the label is relevant if its parent is (`set_roles`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from labelwise.numerics.arrays import FloatArray, IntegerArray
from labelwise.numerics.ep.truncated import log_ndtr, noisy_moment, v_and_rest

SMALLEST_PRECISION = 1e-12  # a noise factor may take precision away; nothing is divided by less than this
FAST = {"reassoc", "contract", "nsz", "arcp"}  # sums over labels may be reordered; NaN and infinity keep their meaning
compiled = numba.njit(nogil=True, cache=True, error_model="numpy", fastmath=FAST)


class Likelihood(NamedTuple):
    """How labels come from scores, and how long to exchange messages about it."""

    pieces: FloatArray  # truncated.table()
    noise: float  # variance of a score given its weights
    margin: float
    skew: bool  # rare labels have to win by more
    flip: float  # share of answers that are turned round
    tolerance: float
    max_sweeps: int


class Work(NamedTuple):
    """Vectors of one example, made once per call of the kernel."""

    m: FloatArray  # (q,) mean and variance of the scores, in the precision of the weights, as are e, g and h
    u: FloatArray
    e: FloatArray  # margins
    g: FloatArray
    h: FloatArray
    lam: FloatArray  # (q,) messages in natural parameters, float64
    eta: FloatArray
    S: FloatArray  # (q,) variance and mean of the cavities, then what `_look_up` finds, float64
    M: FloatArray
    r: FloatArray
    t: FloatArray
    V: FloatArray
    rest: FloatArray
    before: FloatArray  # (2, q) beliefs of the sweep before, pairwise only
    sites: FloatArray  # (2, 2, q, q) pairwise only: relevant or irrelevant side, precision or shift
    hub: FloatArray  # (2,) multi-class only


@compiled
def make_work(q: int, example: FloatArray, pairwise: bool) -> Work:
    """Vectors for q labels in the dtype of an example array; the q × q sites only where they are needed."""
    p = q if pairwise else 0
    a = np.zeros((5, q), example.dtype)
    b = np.zeros((8, q))
    pairs = np.zeros((2, p)), np.zeros((2, 2, p, p))
    return Work(a[0], a[1], a[2], a[3], a[4], b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], *pairs, np.zeros(2))


@compiled
def star(work: Work, z: IntegerArray, hub: FloatArray, how: Likelihood) -> int:
    """Every score against one shared bias, the hub, whose mean and variance are updated in place (figure 3).

    All labels hear the same bias, then it is refreshed. Returns the number of sweeps.
    """
    L_prior = 1 / hub[1]
    E_prior = hub[0] * L_prior
    L, E = L_prior, E_prior
    for c in range(z.size):
        work.lam[c], work.eta[c] = 0, 0
    sweeps = 0
    while sweeps < how.max_sweeps:
        lam, eta = _exchange(work, z, L, E, how)
        L_new, E_new = L_prior + lam, E_prior + eta
        moved = abs(E_new / L_new - E / L) * math.sqrt(L_new)
        scaled = abs(L / L_new - 1)
        L, E = L_new, E_new
        sweeps += 1
        if sweeps > 1 and moved < how.tolerance and scaled < how.tolerance:
            break
    _exchange(work, z, L, E, how)  # gain and shrink at the final messages
    hub[0], hub[1] = E / L, 1 / L
    return sweeps


@compiled
def _exchange(work: Work, z: IntegerArray, L: float, E: float, how: Likelihood) -> tuple[float, float]:
    """One parallel sweep: each label hears the hub without itself and answers; the sums of the new messages."""
    if how.flip > 0:
        return _exchange_noisy(work, z, L, E, how)
    S, M, r, t, V, rest = work.S, work.M, work.r, work.t, work.V, work.rest
    for c in range(z.size):
        S[c] = 1 / (L - work.lam[c])
        M[c] = (E - work.eta[c]) * S[c]
        r[c] = 1 / math.sqrt(work.u[c] + S[c])
        t[c] = (z[c] * (work.m[c] - M[c]) - work.e[c]) * r[c]
    _look_up(t, V, rest, how.pieces)
    lam_sum, eta_sum = 0.0, 0.0
    for c in range(z.size):
        W = abs(z[c]) * (1 - rest[c])
        gain = z[c] * V[c] * r[c]
        lam = W / (work.u[c] + S[c] * rest[c])
        eta = M[c] * lam - gain * (1 + lam * S[c])
        work.g[c], work.h[c] = gain, W * r[c] * r[c]
        work.lam[c], work.eta[c] = lam, eta
        lam_sum += lam
        eta_sum += eta
    return lam_sum, eta_sum


@compiled
def _look_up(t: FloatArray, V: FloatArray, rest: FloatArray, pieces: FloatArray) -> None:
    """V(t) and 1 - W(t). A loop of its own: it jumps about in memory, and the loops around it vectorise without it."""
    for c in range(t.size):
        V[c], rest[c] = v_and_rest(t[c], pieces)


@compiled
def _exchange_noisy(work: Work, z: IntegerArray, L: float, E: float, how: Likelihood) -> tuple[float, float]:
    """The same with answers that may be turned round: λ may be negative, and a site that cannot be used is left out."""
    lam_sum, eta_sum = 0.0, 0.0
    for c in range(z.size):
        lam, eta, gain, shrink = 0.0, 0.0, 0.0, 0.0
        if z[c] != 0 and L - work.lam[c] > SMALLEST_PRECISION:
            S = 1 / (L - work.lam[c])
            M = (E - work.eta[c]) * S
            G, shrink = noisy_moment(z[c] * (work.m[c] - M), work.u[c] + S, float(work.e[c]), how.flip, how.pieces)
            gain = z[c] * G
            if 1 - S * shrink > SMALLEST_PRECISION:
                lam = shrink / (1 - S * shrink)
                eta = M * lam - gain * (1 + lam * S)
        work.g[c], work.h[c] = gain, shrink
        work.lam[c], work.eta[c] = lam, eta
        lam_sum += lam
        eta_sum += eta
    return lam_sum, eta_sum


@compiled
def independent(work: Work, z: IntegerArray, how: Likelihood) -> int:
    """Every score against zero: nothing to exchange, the moments are exact."""
    if how.flip > 0:
        for c in range(z.size):
            work.lam[c], work.eta[c] = 0, 0
        _exchange_noisy(work, z, np.inf, 0.0, how)  # a hub that is certainly zero
        return 0
    r, t, V, rest = work.r, work.t, work.V, work.rest
    for c in range(z.size):
        r[c] = 1 / math.sqrt(work.u[c])
        t[c] = (z[c] * work.m[c] - work.e[c]) * r[c]
    _look_up(t, V, rest, how.pieces)
    for c in range(z.size):
        work.g[c] = z[c] * V[c] * r[c]
        work.h[c] = abs(z[c]) * (1 - rest[c]) * r[c] * r[c]
    return 0


@compiled
def multi_class(work: Work, z: IntegerArray, how: Likelihood) -> int:
    """The score of the true label beats all others: a star whose hub is that score (figure 1).

    An example whose true label is not known says nothing.
    """
    y = -1
    for c in range(z.size):
        if z[c] > 0:
            y = c
    if y < 0:
        for c in range(z.size):
            work.g[c], work.h[c] = 0, 0
        return 0
    u = float(work.u[y])
    work.hub[0], work.hub[1] = work.m[y], u
    z[y] = 0  # the hub is no leaf
    sweeps = star(work, z, work.hub, how)
    z[y] = 1
    work.g[y] = (work.hub[0] - work.m[y]) / u
    work.h[y] = (u - work.hub[1]) / (u * u)
    return sweeps


@compiled
def pairwise(work: Work, z: IntegerArray, how: Likelihood) -> int:
    """Every relevant score beats every irrelevant one (figure 2), a pair at a time, in the order of their numbers.

    The graph has loops: a little less exact.
    """
    for c in range(z.size):
        work.lam[c] = 1 / work.u[c]
        work.eta[c] = work.m[c] * work.lam[c]
        for k in range(z.size):
            for side in range(2):
                work.sites[side, 0, c, k], work.sites[side, 1, c, k] = 0, 0
    sweeps, moving = 0, True
    while moving and sweeps < how.max_sweeps:
        for c in range(z.size):
            work.before[0, c], work.before[1, c] = work.lam[c], work.eta[c]
        for r in range(z.size):
            if z[r] > 0:
                for k in range(z.size):
                    if z[k] < 0:
                        _beat(work, r, k, how)
        sweeps += 1
        moving = sweeps == 1 or _moved(work) >= how.tolerance
    for c in range(z.size):
        u = float(work.u[c])
        work.g[c] = (work.eta[c] / work.lam[c] - work.m[c]) / u
        work.h[c] = (u - 1 / work.lam[c]) / (u * u)
    return sweeps


@compiled
def _beat(work: Work, r: int, k: int, how: Likelihood) -> None:
    """Refresh the factor f_r - f_k > margin: take its old messages out, put the new ones in."""
    S_r = 1 / (work.lam[r] - work.sites[0, 0, r, k])
    S_k = 1 / (work.lam[k] - work.sites[1, 0, r, k])
    M_r = (work.eta[r] - work.sites[0, 1, r, k]) * S_r
    M_k = (work.eta[k] - work.sites[1, 1, r, k]) * S_k
    scale = 1 / math.sqrt(S_r + S_k)
    V, rest = v_and_rest((M_r - M_k - how.margin) * scale, how.pieces)
    lam_r = (1 - rest) / (S_k + S_r * rest)
    lam_k = (1 - rest) / (S_r + S_k * rest)
    eta_r = M_r * lam_r + V * scale * (1 + lam_r * S_r)
    eta_k = M_k * lam_k - V * scale * (1 + lam_k * S_k)
    work.lam[r], work.eta[r] = 1 / S_r + lam_r, M_r / S_r + eta_r
    work.lam[k], work.eta[k] = 1 / S_k + lam_k, M_k / S_k + eta_k
    work.sites[0, 0, r, k], work.sites[0, 1, r, k] = lam_r, eta_r
    work.sites[1, 0, r, k], work.sites[1, 1, r, k] = lam_k, eta_k


@compiled
def _moved(work: Work) -> float:
    """The largest change of a score's mean (in standard deviations) or variance (relative) over the last sweep."""
    largest = 0.0
    for c in range(work.lam.size):
        was = work.before[1, c] / work.before[0, c]
        moved = abs(work.eta[c] / work.lam[c] - was) * math.sqrt(work.lam[c])
        largest = max(largest, moved, abs(work.before[0, c] / work.lam[c] - 1))
    return largest


# -- labels under labels ----------------------------------------------------------------------------------------------


class Tree(NamedTuple):
    """Which label stands under which; both are empty where there is no hierarchy."""

    parents: IntegerArray  # (q,) -1 for a label without a parent
    order: IntegerArray  # (q,) labels, each after its parent


class Branches(NamedTuple):
    """Vectors of one example for labels whose parents are not known, made once per call of the kernel."""

    sign: IntegerArray  # (q,) int8, answers that are about the score of the label itself
    role: IntegerArray  # (q,) int8, 1: not known, with a no below; -1: no, below a label that is not known; 0: neither
    lam: FloatArray  # (q,) messages to the hub
    eta: FloatArray
    yes: FloatArray  # (q,) log-chance that the score is above the hub, or below it, by the margin
    no: FloatArray
    V_yes: FloatArray
    V_no: FloatArray
    rest_yes: FloatArray
    rest_no: FloatArray
    r: FloatArray
    up: FloatArray  # (q,) log-chance of what is known from the label downwards, if its parent is relevant
    below: FloatArray  # (q,) the same of its children together, if the label is relevant
    inside: FloatArray  # (q,) log-weight of all else if the parent is relevant, and if it is not
    outside: FloatArray


@compiled
def make_branches(q: int) -> Branches:
    a, b = np.zeros((2, q), np.int8), np.zeros((13, q))
    return Branches(a[0], a[1], b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12])


@compiled
def close_answers(signs: IntegerArray, tree: Tree) -> None:
    """What follows from answers (n, q) of +1, -1 and 0, in place: a yes holds above, a no below; yes wins."""
    for i in range(signs.shape[0]):
        z = signs[i]
        for k in range(tree.order.size - 1, -1, -1):
            c = tree.order[k]
            if z[c] > 0 and tree.parents[c] >= 0:
                z[tree.parents[c]] = 1
        for c in tree.order:
            if tree.parents[c] >= 0 and z[tree.parents[c]] < 0:
                z[c] = -1


@compiled
def multiply_down(p: FloatArray, tree: Tree) -> None:
    """Chances (n, q) of labels given their parents become those of the labels, in place; booleans alike."""
    for i in range(p.shape[0]):
        for c in tree.order:
            if tree.parents[c] >= 0:
                p[i, c] *= p[i, tree.parents[c]]


@compiled
def set_roles(branches: Branches, z: IntegerArray, tree: Tree) -> bool:
    """Whose score an answer is about. Is there a no below a label that is not known?

    The score of a label says whether it is relevant given that its parent is, so an answer is about it where the
    parent is relevant. Below an irrelevant label nothing is said. Needs answers that `close_answers` has closed.
    """
    sign, role = branches.sign, branches.role
    is_open = False
    for c in range(z.size):
        p = tree.parents[c]
        known = p < 0 or z[p] > 0
        sign[c] = z[c] if known else 0
        role[c] = -1 if z[c] < 0 and not known and z[p] == 0 else 0
        is_open |= role[c] != 0
    if is_open:
        for k in range(z.size - 1, -1, -1):
            c = tree.order[k]
            p = tree.parents[c]
            if role[c] != 0 and p >= 0 and z[p] == 0:
                role[p] = 1
    return is_open


@compiled
def open_star(work: Work, branches: Branches, tree: Tree, hub: FloatArray, how: Likelihood) -> int:
    """`star` where some answers are a no below labels that are not known, all at `set_roles`; the number of sweeps."""
    L_prior = 1 / hub[1]
    E_prior = hub[0] * L_prior
    L, E = L_prior, E_prior
    for c in range(branches.sign.size):
        work.lam[c], work.eta[c], branches.lam[c], branches.eta[c] = 0, 0, 0, 0
    sweeps = 0
    while sweeps < how.max_sweeps:
        lam, eta = _exchange(work, branches.sign, L, E, how)
        lam_open, eta_open = _exchange_open(work, branches, tree, L, E, how)
        L_new, E_new = max(L_prior + lam + lam_open, SMALLEST_PRECISION), E_prior + eta + eta_open
        moved = abs(E_new / L_new - E / L) * math.sqrt(L_new)
        scaled = abs(L / L_new - 1)
        L, E = L_new, E_new
        sweeps += 1
        if sweeps > 1 and moved < how.tolerance and scaled < how.tolerance:
            break
    _exchange(work, branches.sign, L, E, how)
    _exchange_open(work, branches, tree, L, E, how)
    hub[0], hub[1] = E / L, 1 / L
    return sweeps


@compiled
def open_independent(work: Work, branches: Branches, tree: Tree, how: Likelihood) -> int:
    """`independent` with such answers: one pass up the tree and one down, and the moments are exact."""
    independent(work, branches.sign, how)
    for c in range(branches.sign.size):
        branches.lam[c], branches.eta[c] = 0, 0
    _exchange_open(work, branches, tree, np.inf, 0.0, how)  # a hub that is certainly zero
    return 0


@compiled
def _exchange_open(
    work: Work, branches: Branches, tree: Tree, L: float, E: float, how: Likelihood
) -> tuple[float, float]:
    """Messages of the labels with a role: up and down the tree what is probable, and to the hub; sums of the latter.

    Let Q and P be the chances that a score is on the side of no and of yes, and β of a label that of all that is known
    from it downwards if its parent is relevant: β = Q for a no, β = Q + P Π β(child) for a label that is not known.
    Seen from one score, the chance of everything is ω (Q + P Π β) + ρ. ρ is the part in which the parent is
    irrelevant, so that the score is free. This is a mixture of two truncated Gaussians and a whole one: its gain is the
    mean of theirs, and its shrink their mean less the variance of their gains.
    """
    b, order, parents = branches, tree.order, tree.parents
    for c in order:
        if b.role[c] != 0:
            _hear_hub(work, b, c, L, E, how)
    for k in range(order.size - 1, -1, -1):
        c = order[k]
        if b.role[c] != 0:
            b.up[c] = b.no[c] if b.role[c] < 0 else np.logaddexp(b.no[c], b.yes[c] + b.below[c])
            if parents[c] >= 0 and b.role[parents[c]] > 0:
                b.below[parents[c]] += b.up[c]
    lam_sum, eta_sum = 0.0, 0.0
    for c in order:
        if b.role[c] != 0:
            p = parents[c]
            b.inside[c], b.outside[c] = 0.0, -np.inf
            if p >= 0 and b.role[p] > 0:
                b.inside[c] = b.inside[p] + b.yes[p] + b.below[p] - b.up[c]
                b.outside[c] = np.logaddexp(b.inside[p] + b.no[p], b.outside[p])
            _answer_hub(work, b, c, L, E)
            lam_sum += b.lam[c]
            eta_sum += b.eta[c]
    return lam_sum, eta_sum


@compiled
def _hear_hub(work: Work, b: Branches, c: int, L: float, E: float, how: Likelihood) -> None:
    """How probable both sides are, before anything is known of the label, with the hub as the others see it.

    A label that is not known has no margin: without a no below it, its two sides are all there is.
    """
    S = 1 / max(L - b.lam[c], SMALLEST_PRECISION)
    gap = work.m[c] - (E - b.eta[c]) * S
    b.r[c] = 1 / math.sqrt(work.u[c] + S)
    t_yes, t_no = gap * b.r[c], (-gap - (how.margin if b.role[c] < 0 else 0.0)) * b.r[c]
    b.V_yes[c], b.rest_yes[c] = v_and_rest(t_yes, how.pieces)
    b.V_no[c], b.rest_no[c] = v_and_rest(t_no, how.pieces)
    b.yes[c], b.no[c] = log_ndtr(t_yes, b.V_yes[c]), log_ndtr(t_no, b.V_no[c])
    b.below[c] = 0.0


@compiled
def _answer_hub(work: Work, b: Branches, c: int, L: float, E: float) -> None:
    """Gain and shrink of the score, and the message to the hub: λ = h / (1 - S h) without a difference of equals."""
    everything = np.logaddexp(b.inside[c] + b.up[c], b.outside[c])
    p_no = math.exp(b.inside[c] + b.no[c] - everything)
    p_yes = math.exp(b.inside[c] + b.yes[c] + b.below[c] - everything) if b.role[c] > 0 else 0.0
    p_free = max(1 - p_no - p_yes, 0.0)
    mean = p_yes * b.V_yes[c] - p_no * b.V_no[c]
    spread = p_yes * (b.V_yes[c] - mean) ** 2 + p_no * (b.V_no[c] + mean) ** 2 + p_free * mean**2
    rest = p_yes * b.rest_yes[c] + p_no * b.rest_no[c] + p_free
    W = p_yes * (1 - b.rest_yes[c]) + p_no * (1 - b.rest_no[c]) - spread
    precision = L - b.lam[c]
    S = 1 / max(precision, SMALLEST_PRECISION)
    M = (E - b.eta[c]) * S
    gain = mean * b.r[c]
    work.g[c], work.h[c] = gain, W * b.r[c] ** 2
    b.lam[c], b.eta[c] = 0.0, 0.0
    if precision > SMALLEST_PRECISION:
        b.lam[c] = W / (work.u[c] + S * (rest + spread))
        b.eta[c] = M * b.lam[c] - gain * (1 + b.lam[c] * S)
