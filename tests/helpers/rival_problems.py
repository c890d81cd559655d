"""A small pool with beliefs and partial answers, for rivals that are computed by explicit loops."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from labelwise import Answer, BinaryRelevance, Campaign, LabelData
from labelwise.posterior import MarginalPosterior


@dataclass(frozen=True, eq=False)
class Problem:
    p: np.ndarray  # (n, q) beliefs
    Y: np.ndarray  # (n, q) truth
    observed: np.ndarray  # (n, q) what was answered
    X: np.ndarray  # (n, d)

    @property
    def known(self):
        return LabelData.from_arrays(self.X, self.Y, observed=self.observed)

    @property
    def believed(self):
        """Beliefs with the answers put in."""
        return np.where(self.observed, self.Y, self.p)

    @property
    def open_rows(self):
        return [i for i in range(len(self.p)) if not self.observed[i].all()]

    def choose(self, strategy, n, *, closed=None, seed=0):
        closed = self.observed if closed is None else closed
        return strategy.choose(
            MarginalPosterior(self.p), sp.csr_array(closed), n, np.random.default_rng(seed), known=self.known
        )

    def scores(self, strategy):
        """{row: score} of every open item."""
        choice = self.choose(strategy, len(self.p))
        return dict(zip(choice.rows.tolist(), choice.scores.tolist(), strict=True))

    def relabelled(self, order):
        return Problem(self.p[:, order], self.Y[:, order], self.observed[:, order], self.X)

    def reordered(self, order):
        return Problem(self.p[order], self.Y[order], self.observed[order], self.X[order])


def problem(n=60, q=5, d=6, *, complete=20, partial=10, seed=0) -> Problem:
    """Items of which the first were answered in full and the next in part; beliefs are right more often than not."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=(d, q)) - 0.5
    Y = f + 0.7 * rng.normal(size=f.shape) > 0
    p = 1 / (1 + np.exp(-f - 0.5 * rng.normal(size=f.shape)))
    observed = np.zeros(Y.shape, dtype=bool)
    observed[:complete] = True
    observed[complete : complete + partial] = rng.random((partial, q)) < 0.5
    return Problem(p, Y, observed, X)


def wave_pool(n=80, d=5, q=4) -> tuple[np.ndarray, np.ndarray]:
    """(n, d) features and (n, q) labels without chance, so that other packages can be given the same ones anywhere."""
    i, k, j = np.arange(1, n + 1)[:, None], np.arange(1, d + 1)[None, :], np.arange(1, q + 1)[None, :]
    X = np.sin(0.7 * i * k + k)
    W = np.cos(1.3 * k.T * j)
    return X, X @ W + 0.4 * np.sin(2.1 * i * j) > 0.5 * (j - 1) / q


def campaign_picks(strategy, model, n_start, n_picks, *, mirrored=False):
    """Rows of `wave_pool` in the order in which a campaign asks for them, one at a time, each answered in full.

    With `mirrored` there is one more label, the opposite of the first: every item then has one and lacks one.
    """
    X, Y = wave_pool()
    if mirrored:
        Y = np.column_stack([Y, ~Y[:, 0]])
    observed = np.zeros(Y.shape, dtype=bool)
    observed[:n_start] = True
    campaign = Campaign(LabelData.from_arrays(X, Y, observed=observed), model=model, strategy=strategy)
    picks = []
    for _ in range(n_picks):
        question = campaign.ask(1)[0]
        row = int(question.item)
        picks.append(row)
        present = {name for name, value in zip(campaign.data.label_names, Y[row], strict=True) if value}
        campaign.tell(Answer.to(question, present))
    return picks


def exact_logistic() -> BinaryRelevance:
    """One logistic regression per label, solved so closely that packages agree on its probabilities."""
    return BinaryRelevance(LogisticRegression(C=10, solver="newton-cholesky", tol=1e-10))
