"""Shares of several beliefs in one, by how well they foretell answers that they had not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]

STEPS = 200
TOLERANCE = 1e-6


def stacking_weights(likelihoods: FloatArray, prior: float = 1.0) -> FloatArray:
    """Weights (m,) that maximise Σ_i log Σ_m w_m l_mi + prior · Σ_m log w_m over the simplex, by EM.

    `likelihoods` (m, n) are what each of m beliefs gave to each of n answers. The objective is concave, every EM step
    raises it, and the prior keeps all weights above 0: an even share where there is nothing to go by.

    >>> stacking_weights(np.array([[0.9, 0.8, 0.9], [0.5, 0.5, 0.5]]), prior=0.1).round(2)
    array([0.93, 0.07])
    >>> stacking_weights(np.zeros((2, 0)))
    array([0.5, 0.5])
    """
    m, n = likelihoods.shape
    weights = np.full(m, 1 / m)
    safe = np.maximum(likelihoods, np.finfo(float).tiny)
    for _ in range(STEPS):
        responsible = weights[:, None] * safe
        counts = (responsible / responsible.sum(axis=0)).sum(axis=1) + prior  # (m,)
        updated = counts / (n + m * prior)
        if np.abs(updated - weights).max() < TOLERANCE:
            return updated
        weights = updated
    return weights
