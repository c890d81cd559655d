"""Compiled expectation propagation on the factor graph of one example.

Scores f_c ~ N(m_c, u_c) are compared with one another or with a bias, and every comparison is a hard factor
I(difference > margin). See Zhang, Graepel & Herbrich, AISTATS 2010, figures 1-3, with the signs of its section 2 put
right: the true class has to win. Gain g and shrink h say how every weight below moves: mean += variance x g and
variance -= (variance x)² h.

All take the scores of the example in `Work`, the signs z of its labels (0: no answer), and leave the gain g and the
shrink h of every score in `Work`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np

from labelwise.numerics.arrays import FloatArray, IntegerArray
from labelwise.numerics.ep.truncated import noisy_moment, v_and_rest

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
