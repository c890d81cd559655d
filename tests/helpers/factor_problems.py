"""A small problem for factor models: labels with gaps, counts with gaps, and labels that only the counts know."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from labelwise.numerics.factors.model import Counts, FactorData, FactorFit, Factors, Penalties, start_factors
from labelwise.numerics.gp.feature_regression import FeatureRegression
from labelwise.numerics.weighted_ridge import RowSolver

FAST = {"feature_penalty": 0.3, "n_iterations": 15}  # of a model: nothing to choose


class Problem(NamedTuple):
    X: np.ndarray
    Y: np.ndarray  # (n, q) of all labels
    observed: np.ndarray  # (n, s) of the seen ones
    counts: Counts  # (s, q)

    @property
    def seen(self) -> np.ndarray:
        return self.Y[:, : self.observed.shape[1]]


def problem(seed=0, n=60, d=5, s=7, u=3, known=0.6, known_counts=0.7) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = X @ rng.normal(size=(d, s + u)) + 0.5 * rng.normal(size=(n, s + u)) > 0.5
    observed = rng.random((n, s)) < known
    mask = rng.random((s, s + u)) < known_counts
    mask[np.arange(s), np.arange(s)] = False
    values = (Y.T.astype(float) @ Y)[:s]
    return Problem(X, Y, observed, Counts(np.where(mask, values, 0.0), mask))


def factor_fit(given: Problem, *, counts=True, penalties=None, method="cg", regression="auto", **options) -> FactorFit:
    penalties = penalties or Penalties(items=2.0, labels=3.0, columns=4.0, features=1.5, counts_weight=0.5)
    data = FactorData.of(given.seen, given.observed, given.counts if counts else None)
    ridge = FeatureRegression(given.X, penalties.features / penalties.items, method=regression, steps=3)
    return FactorFit(data, penalties, ridge, RowSolver(method), **options)


def start(fit: FactorFit, k=4, dtype=np.float64) -> Factors:
    return start_factors(fit.data, k, fit.regression.X.shape[1], bias=fit.bias, dtype=dtype)


def run(fit: FactorFit, factors: Factors, n: int) -> Factors:
    for _ in range(n):
        factors = fit.sweep(factors)
    return factors


def topics(n=400, d=30, q=24, unseen=8, seed=0):
    """Items of a few topics with words and labels; the last labels have no answers, only counts."""
    rng = np.random.default_rng(seed)
    mixture = rng.dirichlet(np.full(6, 0.1), size=n)
    words, labels = rng.gamma(0.3, 1.0, size=(6, d)), 4 * rng.normal(size=(6, q)) - 3
    X = rng.poisson(3 * mixture @ words).astype(float)
    Y = rng.random((n, q)) < expit(mixture @ labels)
    observed = np.ones((n, q), dtype=bool)
    observed[:, q - unseen :] = False
    cooccurrence = Y.T.astype(float) @ Y
    cooccurrence[q - unseen :, q - unseen :] = np.nan
    return X, Y, observed, cooccurrence


def auc(p, y):
    order = np.argsort(np.argsort(p)) + 1
    positives = y.sum()
    return (order[y].sum() - positives * (positives + 1) / 2) / (positives * (len(y) - positives))
