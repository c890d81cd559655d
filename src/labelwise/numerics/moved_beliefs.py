"""Probabilities that were moved by something a model does not know, and what must then move along with them."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from labelwise.numerics.arrays import BoolArray, FloatArray

MIN_PROBABILITY = 1e-6  # log-odds are taken of probabilities between this and 1 minus this
NEWTON_STEPS = 12


def log_odds(p: FloatArray) -> FloatArray:
    return np.asarray(logit(np.clip(p, MIN_PROBABILITY, 1 - MIN_PROBABILITY)))


def move_draws(drawn: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
    """Draws (s, n, q) of probabilities whose mean moves from `before` to `after` (n, q), in place.

    Each draw moves by the same log-odds, but where `after` is certain, which every draw then is.

    >>> move_draws(np.array([[[0.4, 0.1]], [[0.6, 0.3]]]), np.array([[0.5, 0.2]]), np.array([[0.9, 0.2]])).round(2)
    array([[[0.86, 0.1 ]], [[0.94, 0.3 ]]])
    """
    moves = before != after  # (n, q)
    certain = moves & ((after <= 0) | (after >= 1))
    drawn[:, certain] = after[certain]
    moves &= ~certain
    shift = log_odds(after[moves]) - log_odds(before[moves])
    drawn[:, moves] = with_mean(log_odds(drawn[:, moves]) + shift, after[moves])
    return drawn


def with_mean(log_odds: FloatArray, mean: FloatArray) -> FloatArray:
    """Probabilities of draws (s, ...) whose log-odds are all shifted so that the mean probability is the one given."""
    shift = np.zeros(mean.shape)
    for _ in range(NEWTON_STEPS):
        p = expit(log_odds + shift)
        slope = np.maximum((p * (1 - p)).mean(axis=0), MIN_PROBABILITY)
        shift += np.clip((mean - p.mean(axis=0)) / slope, -2.0, 2.0)  # far off, the slope may be next to nothing
    return np.asarray(expit(log_odds + shift))


def move_labels(drawn: BoolArray, before: FloatArray, after: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Label sets (s, n, q) with marginals `before` given the marginals `after`, in place, by as few flips as possible.

    Where the probability falls a drawn label is kept with the probability after / before; where it rises a label that
    was not drawn is added with (after − before) / (1 − before). What a label has to do with others is kept as far as
    the marginals allow.
    """
    fall = np.divide(after, before, out=np.ones_like(after), where=before > 0)
    rise = np.divide(after - before, 1 - before, out=np.zeros_like(after), where=before < 1)
    chance = rng.random(drawn.shape)
    drawn &= chance < fall
    drawn |= (chance < rise) & (after > before)
    return drawn


def move_ranking(ranking: FloatArray, before: FloatArray, after: FloatArray, moved: BoolArray) -> FloatArray:
    """(n, q) a model's ranking in which the `moved` labels of each item stand where their probability `after` belongs.

    A ranking may be on any scale. That of an item is matched with its probabilities `before` by position, the highest
    with the highest, and read off in between; outside it goes on with slope one. Where labels are ranked by
    probability this is the probability itself. Labels at −∞, of which a model knows nothing, are not matched.

    >>> move_ranking(np.array([[5.0, 1.0, 3.0]]), np.array([[0.9, 0.1, 0.5]]), np.array([[0.9, 0.7, 0.5]]),
    ...              np.array([[False, True, False]]))
    array([[5., 4., 3.]])
    """
    if np.array_equal(ranking, before):
        return np.where(moved, after, ranking)
    result = np.array(ranking, dtype=np.float64)
    for i in np.flatnonzero(moved.any(axis=1)):
        known = np.isfinite(result[i])
        result[i, moved[i]] = _read_off(np.sort(before[i, known]), np.sort(ranking[i, known]), after[i, moved[i]])
    return result


def _read_off(p: FloatArray, scale: FloatArray, wanted: FloatArray) -> FloatArray:
    """Where probabilities stand on a scale, from sorted pairs of both."""
    if not p.size:
        return wanted
    inside = np.interp(wanted, p, scale)
    return np.asarray(inside + np.where(wanted > p[-1], wanted - p[-1], 0) + np.where(wanted < p[0], wanted - p[0], 0))
