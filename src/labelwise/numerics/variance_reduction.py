"""What an answer about one item takes from the variance of others, and batches chosen by it one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.choosing import best

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.intp]


def variance_reductions(cross: FloatArray, own: FloatArray, noise: float) -> FloatArray:
    """(n,) Σ_j c_ij² / (c_ii + noise): how much the summed variance of the reference items j falls with item i.

    Parameters
    ----------
    cross : (n, m) covariances of the items with the reference items
    own : (n,) variances of the items
    noise : float
        Variance of an answer about an item whose function is known.

    >>> variance_reductions(np.array([[2.0, 1.0]]), np.array([2.0]), 0.5)
    array([2.])
    """
    return np.einsum("nm,nm->n", cross, cross) / (own + noise)


def greedy_reduction(
    covariance: FloatArray,
    reference: IntArray,
    noise: float,
    base: FloatArray,
    slope: float,
    n: int,
    priority: FloatArray,
) -> tuple[IntArray, FloatArray]:
    """n items, each the one with the highest base + slope · reduction given those before it.

    Parameters
    ----------
    covariance : (u, u) of all items concerned
    reference : items whose variance counts
    base : (u,) what speaks for an item besides; −inf: never chosen
    priority : (u,) breaks ties

    Returns
    -------
    items, best first, and the score of each when it was chosen
    """
    C, base = covariance.copy(), base.copy()
    chosen, scores = [], []
    for _ in range(n):
        score = base + slope * variance_reductions(C[:, reference], C.diagonal(), noise)
        pick = best(score, 1, priority)
        if pick.size == 0:
            break
        i = int(pick[0])
        chosen.append(i)
        scores.append(float(score[i]))
        base[i] = -np.inf
        C -= np.outer(C[:, i], C[i]) / (C[i, i] + noise)
    return np.array(chosen, dtype=np.intp), np.array(scores)
