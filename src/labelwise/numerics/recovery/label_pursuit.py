"""Labels from codes without a belief: by greedy choice of labels, and by convex programmes.

Labels are never negative, so signed correlations count, not their sizes, and for the lasso they are at most 1. All
items are worked on at once. Equation numbers are those of docs/mathematics/orthogonal_target_gp.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linprog

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray

RIDGE = 1e-9  # keeps the refit solvable when labels of the support have nearly the same code
COSAMP_ROUNDS = 15

PENALTY = 0.02  # η, price of a label
LASSO_ROUNDS = 60
MISFIT_PRICE = 20.0  # of a unit of code that the labels of the linear programme do not explain


def recover_omp(codes: FloatArray, projection: FloatArray, n_labels: int) -> FloatArray:
    """(n, q) scores by orthogonal matching pursuit: `n_labels` picks per item, the first scores highest, (24).

    Each pick has the largest correlation with what is left of the code; all picks are then refitted by least squares.

    >>> recover_omp(np.array([[0.0, 2.0, 1.0]]), np.eye(3), 2)
    array([[0., 2., 1.]])
    """
    n_labels = _checked(n_labels, projection)
    gram, target = projection.T @ projection, codes @ projection  # (q, q), (n, q)
    lengths = np.sqrt(np.maximum(gram.diagonal(), np.finfo(float).tiny))
    rows = np.arange(codes.shape[0])
    chosen = np.zeros((rows.size, n_labels), dtype=np.intp)
    scores = np.zeros_like(target)
    left = target.copy()
    taken = np.zeros(target.shape, dtype=bool)
    for step in range(n_labels):
        picks = np.argmax(np.where(taken, -np.inf, left / lengths), axis=1)
        chosen[:, step], taken[rows, picks] = picks, True
        scores[rows, picks] = n_labels - step
        support = chosen[:, : step + 1]
        weights = _refit(gram, target, support)  # (n, step + 1)
        left = target - np.einsum("ns,nsq->nq", weights, gram[support])
    return scores


def recover_binary_pursuit(codes: FloatArray, projection: FloatArray, n_labels: int) -> FloatArray:
    """(n, q) scores by matching pursuit with labels of weight 1: the pick lowers |r − Φ y|² most, and is subtracted.

    Good on exact codes, poor on predicted ones.
    """
    n_labels = _checked(n_labels, projection)
    gram, left = projection.T @ projection, codes @ projection
    rows, scores = np.arange(codes.shape[0]), np.zeros((codes.shape[0], projection.shape[1]))
    for step in range(n_labels):
        gain = np.where(scores > 0, -np.inf, left - 0.5 * gram.diagonal())
        picks = np.argmax(gain, axis=1)
        scores[rows, picks] = n_labels - step
        left = left - gram[picks]
    return scores


def recover_cosamp(codes: FloatArray, projection: FloatArray, n_labels: int) -> FloatArray:
    """(n, q) weights by CoSaMP (Needell & Tropp 2009): 2κ candidates join the support, the κ largest stay, (25).

    An item is done when its residual no longer falls; its best support counts.
    """
    n_labels = _checked(n_labels, projection)
    gram, target = projection.T @ projection, codes @ projection
    n, q = target.shape
    best, best_error = np.zeros((n, q)), np.full(n, np.inf)
    active, weights = np.arange(n), np.zeros((n, q))
    for _ in range(COSAMP_ROUNDS):
        left = target[active] - weights[active] @ gram
        candidates = _largest(np.abs(left), min(2 * n_labels, q))
        merged = candidates | (weights[active] > 0)
        fitted = np.maximum(_fit_on(gram, target[active], merged), 0.0)
        kept = _largest(fitted, n_labels)
        fresh = np.maximum(_fit_on(gram, target[active], kept), 0.0)  # (a, q)
        error = np.einsum("nq,nq->n", fresh @ gram - 2 * target[active], fresh)  # |r − Φ y|² − |r|²
        better = error < best_error[active] - 1e-12
        best[active[better]], best_error[active[better]] = fresh[better], error[better]
        weights[active] = fresh
        active = active[better]
        if active.size == 0:
            break
    return best


def _refit(gram: FloatArray, target: FloatArray, support: IntArray) -> FloatArray:
    """(n, s) least squares on each item's own support."""
    blocks = gram[support[:, :, None], support[:, None, :]]  # (n, s, s)
    blocks[:, np.arange(support.shape[1]), np.arange(support.shape[1])] += RIDGE
    return np.linalg.solve(blocks, np.take_along_axis(target, support, 1)[:, :, None])[:, :, 0]


def _fit_on(gram: FloatArray, target: FloatArray, mask: npt.NDArray[np.bool_]) -> FloatArray:
    """(n, q) least squares on the labels of each item's mask, 0 elsewhere; masks packed to a common width."""
    width = max(1, int(mask.sum(axis=1).max(initial=1)))
    packed = np.argsort(~mask, axis=1, kind="stable")[:, :width]  # (n, w)
    real = np.take_along_axis(mask, packed, 1)
    blocks = gram[packed[:, :, None], packed[:, None, :]] * (real[:, :, None] & real[:, None, :])
    blocks[:, np.arange(width), np.arange(width)] += np.where(real, RIDGE, 1.0)
    right = np.where(real, np.take_along_axis(target, packed, 1), 0.0)
    fitted = np.linalg.solve(blocks, right[:, :, None])[:, :, 0]
    result = np.zeros(target.shape)
    np.put_along_axis(result, packed, np.where(real, fitted, 0.0), 1)
    return result


def _largest(values: FloatArray, count: int) -> Any:
    """(n, q) mask of each row's `count` largest values, ties to the lower label."""
    falling = np.argsort(-values, axis=1, kind="stable")[:, :count]
    mask = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(mask, falling, True, 1)
    return mask


def _checked(n_labels: int, projection: FloatArray) -> int:
    if n_labels < 1:
        raise ValueError(f"at least one label has to be picked, got {n_labels!r}")
    return min(n_labels, projection.shape[1])


def recover_box_lasso(
    codes: FloatArray,
    projection: FloatArray,
    *,
    penalty: float = PENALTY,
    rounds: int = LASSO_ROUNDS,
    fixed: tuple[FloatArray, BoolArray] | None = None,
) -> FloatArray:
    """(n, q) of min ½ |r − Φ y|² + η Σ y over 0 ≤ y ≤ 1, all items at once by FISTA (Beck & Teboulle 2009), (22).

    Parameters
    ----------
    codes : (n, c) array
        r, of labels that are not centred.
    projection : (c, q) array
    fixed : (n, q) values and mask, optional
        Labels that are held at their values.

    Examples
    --------
    >>> recover_box_lasso(np.array([[0.5, 3.0, -1.0]]), np.eye(3), penalty=0.1)
    array([[0.4, 1. , 0. ]])
    """
    gram = projection.T @ projection  # (q, q)
    step = 1 / max(float(np.linalg.eigvalsh(gram)[-1]), np.finfo(float).tiny)
    pull = step * (codes @ projection - penalty)  # (n, q)
    damped = np.eye(gram.shape[0]) - step * gram
    low, high = (0.0, 1.0) if fixed is None else (np.where(fixed[1], fixed[0], 0.0), np.where(fixed[1], fixed[0], 1.0))
    y = np.clip(np.zeros_like(pull), low, high)
    z, momentum = y, 1.0
    for _ in range(rounds):
        following = z @ damped
        following += pull
        np.clip(following, low, high, out=following)
        grown = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        z = following + (momentum - 1) / grown * (following - y)
        y, momentum = following, grown
    return y


def recover_basis_pursuit(
    codes: FloatArray, projection: FloatArray, *, misfit_price: float = MISFIT_PRICE
) -> FloatArray:
    """(n, q) of min Σ y + price · |r − Φ y|₁ over y ≥ 0, one linear programme per item (HiGHS), (23).

    With exact codes of few enough labels it recovers them exactly.

    >>> recover_basis_pursuit(np.array([[1.0, 1.0]]), np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])).round(6) + 0.0
    array([[1., 0., 0.]])
    """
    c, q = projection.shape
    cost = np.concatenate([np.ones(q), np.full(2 * c, misfit_price)])
    constraints = sp.hstack([sp.csr_array(projection), sp.eye_array(c), -sp.eye_array(c)], format="csr")
    result = np.zeros((codes.shape[0], q))
    for row, r in enumerate(codes):
        solved = linprog(cost, A_eq=constraints, b_eq=r, bounds=(0, None), method="highs")
        if solved.x is not None:
            result[row] = solved.x[:q]
    return result
