"""Labels from codes by greedy choice of labels: a few at a time, refitted as they come.

Labels are never negative, so signed correlations count, not their sizes. All items are worked on at once. Equation
numbers are those of docs/mathematics/orthogonal_target_gp.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.label_codes import FloatArray

RIDGE = 1e-9  # keeps the refit solvable when labels of the support have nearly the same code
ROUNDS = 15

IntArray = npt.NDArray[np.intp]


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
    for _ in range(ROUNDS):
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
