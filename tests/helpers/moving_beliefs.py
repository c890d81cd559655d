"""Beliefs that move with a few draws, or as Gaussians, so that what a strategy has to choose is known by hand."""

import itertools

import numpy as np
import scipy.sparse as sp

from labelwise.posterior import LabelPosterior
from labelwise.records import LabelData

# columns are directions in which four draws can go, independent of one another, each with mean 0
ONE, TWO, THREE = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]], dtype=float)
STILL = np.zeros(4)


class Draws(LabelPosterior):
    """Beliefs that are a few equally likely models: draw s of every item, and of every block, is that of one model."""

    joint_draws = True

    def __init__(self, draws):
        super().__init__(*draws.shape[1:])
        self.draws = draws  # (s, n, q)

    def probabilities(self):
        return self.draws.mean(0)

    def rows(self, rows):
        return Draws(self.draws[:, rows])

    def sample_probabilities(self, n_samples, rng):
        return self.draws[np.arange(n_samples) % len(self.draws)]


class Kin(LabelPosterior):
    """Gaussian beliefs: probabilities, and a covariance between the items' latents that all labels share."""

    def __init__(self, p, C, noise=1.0):
        super().__init__(*p.shape)
        self.p, self.C, self.noise = p, C, noise  # (n, q), (n, n)

    def probabilities(self):
        return self.p

    def rows(self, rows):
        return Kin(self.p[rows], self.C[rows][:, rows], self.noise)

    def item_covariance(self):
        return self

    def diagonal(self):
        return np.diag(self.C).copy()

    def columns(self, rows):
        return self.C[:, rows]

    def factor(self):
        return None


def directions(*rows):
    """(4, n, q) draws: for each item, for each label, mean + amplitude · direction."""
    return np.array([[mean + size * way for mean, size, way in row] for row in rows]).transpose(2, 0, 1)


def pool(n, q, *, X=None, Y=None, known=()):
    """A pool of which some rows were answered in full."""
    observed = np.zeros((n, q), dtype=bool)
    observed[list(known)] = True
    X = np.eye(n) if X is None else X
    Y = np.zeros((n, q), dtype=bool) if Y is None else Y
    return LabelData.from_arrays(X, Y, observed=observed)


def chosen(strategy, beliefs, n, *, known=None, seed=0, closed=None):
    """Rows of a batch of n, whatever the strategy wants to see."""
    known = pool(beliefs.n_items, beliefs.n_labels) if known is None else known
    closed = known.observed_mask() if closed is None else sp.csr_array(closed)
    wanted = {"known": known} if getattr(strategy, "looks_at_answers", False) else {}
    choice = strategy.choose(beliefs, closed, n, np.random.default_rng(seed), **wanted)
    assert len(set(choice.rows.tolist())) == choice.rows.size or choice.labels is not None
    assert np.isfinite(choice.scores).all()
    return choice.rows.tolist()


def best_clusters(Z, n):
    """Members of the n clusters with the least squares, of all ways to part the rows."""
    found = []
    for member in itertools.product(range(n), repeat=len(Z)):
        if len(set(member)) == n:
            parts = [[i for i, c in enumerate(member) if c == k] for k in range(n)]
            cost = sum(((Z[part] - Z[part].mean(0)) ** 2).sum() for part in parts)
            found.append((cost, parts))
    return min(found, key=lambda pair: pair[0])[1]


def nearest_of_best_clusters(Z, n):
    parts = best_clusters(Z, n)
    return sorted(part[int(np.argmin(((Z[part] - Z[part].mean(0)) ** 2).sum(1)))] for part in parts)
