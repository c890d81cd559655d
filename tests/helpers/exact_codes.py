"""Exact codes of sparse label vectors, and the share of vectors that a decoder gets back whole."""

import numpy as np

from labelwise.numerics.recovery.label_codes import addressed_projection


def exact_codes(n, kappa, q=132, c=66, seed=0):
    rng = np.random.default_rng(seed)
    Phi = addressed_projection(c, q, seed)
    Y = np.zeros((n, q))
    for row in Y:
        row[rng.permutation(q)[:kappa]] = 1
    return Phi, Y, Y @ Phi.T


def share_recovered(scores, Y):
    kappa = int(Y[0].sum())
    top = np.argsort(-scores, axis=1, kind="stable")[:, :kappa]
    return np.mean([set(chosen) == set(np.flatnonzero(y)) for chosen, y in zip(top, Y, strict=True)])
