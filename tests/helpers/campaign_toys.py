"""Small models, a strategy and a pool for the tests of campaigns: cheap enough to rebuild at every answer."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator

from labelwise import Answer, Campaign, LabelData, Uncertainty
from labelwise.posterior import LabelPosterior
from labelwise.queries.base import Choice

LABELS = ("a", "b", "c")


class Diary(list):
    """What models were taught; clones share it."""

    def __deepcopy__(self, memo):
        return self


class LinearPosterior(LabelPosterior):
    """Beliefs of a linear model, computed when asked for."""

    def __init__(self, X, W):
        super().__init__(X.shape[0], W.shape[1])
        self._X, self._W = X, W

    def probabilities(self):
        return expit(self._X @ self._W)

    def rows(self, rows):
        return LinearPosterior(self._X[rows], self._W)


class Ridge(BaseEstimator):
    """A ridge regression per label of ±1 on its answered rows, from sums to which `partial_fit` adds exactly."""

    def __init__(self, diary=None, random_state=None):
        self.diary = diary
        self.random_state = random_state

    def fit(self, X, Y, observed=None):
        self.gram_ = np.tile(np.eye(X.shape[1]), (Y.shape[1], 1, 1))
        self.target_ = np.zeros((Y.shape[1], X.shape[1]))
        return self._add("fit", X, Y, observed)

    def partial_fit(self, X, Y, observed=None):
        return self._add("partial_fit", X, Y, observed)

    def _add(self, verb, X, Y, observed):
        assert observed.shape == Y.shape == (X.shape[0], self.target_.shape[0]) and observed.any(1).all()
        if self.diary is not None:
            self.diary.append((verb, int(observed.sum())))
        X = X.toarray() if sp.issparse(X) else X
        for j in range(Y.shape[1]):
            rows = X[observed[:, j]]
            self.gram_[j] += rows.T @ rows
            self.target_[j] += rows.T @ (2.0 * Y[observed[:, j], j] - 1)
        return self

    def posterior(self, X):
        return LinearPosterior(X, np.linalg.solve(self.gram_, self.target_[:, :, None])[:, :, 0].T.copy())


class Counting(Ridge):
    """Blind to features: the smoothed share of yes per label, so that all items tie."""

    def fit(self, X, Y, observed=None):
        return super().fit(np.ones((X.shape[0], 1)), Y, observed)

    def partial_fit(self, X, Y, observed=None):
        return super().partial_fit(np.ones((X.shape[0], 1)), Y, observed)

    def posterior(self, X):
        return super().posterior(np.ones((X.shape[0], 1)))


class Refitted(BaseEstimator):
    """Ridge without partial_fit."""

    def __init__(self, diary=None):
        self.diary = diary

    def fit(self, X, Y, observed=None):
        self.ridge_ = Ridge(self.diary).fit(X, Y, observed)
        return self

    def posterior(self, X):
        return self.ridge_.posterior(X)


@dataclass(frozen=True)
class InOrder:
    """Asks the first open items, so that whatever else is asked was drawn by the campaign."""

    target: str = "items"

    def choose(self, posterior, closed, n, rng):
        rows = np.flatnonzero(~closed.toarray().all(1))[:n]
        return Choice(rows, None, -rows.astype(float))


def make_pool(n=24, seed=0, kind=np.asarray, **changes):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return LabelData.from_arrays(kind(X), label_names=LABELS, **changes)


def make_truth(n=24, seed=0):
    return np.random.default_rng(seed + 1).random((n, 3)) < 0.4


def start(data=None, model=None, strategy=None, **options):
    data = make_pool() if data is None else data
    return Campaign(data, model=model or Ridge(), strategy=strategy or Uncertainty(), **options)


def reply(questions, truth, drop=None):
    """True answers; with a generator `drop`, only some of the labels asked for (at least one)."""
    replies = []
    for question in questions:
        names = [name for name in question.labels if drop is None or drop.random() < 0.6] or question.labels[:1]
        values = {name: bool(truth[int(question.item), LABELS.index(name)]) for name in names}
        replies.append(Answer(question.item, values, question.reason))
    return replies


def known_pairs(data):
    mask, Y = data.observed_mask().toarray(), data.Y.toarray()
    return {(data.item_ids[i], data.label_names[j]): bool(Y[i, j]) for i, j in zip(*np.nonzero(mask), strict=True)}


def assert_same_state(one, other, n=4):
    """The same next questions, beliefs, answers and labels; scores and beliefs up to rounding."""
    first, second = one.ask(n), other.ask(n)
    assert first == second
    np.testing.assert_allclose([q.score for q in first], [q.score for q in second], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(one.believe().probabilities(), other.believe().probabilities(), rtol=1e-9)
    assert one.answers == other.answers and known_pairs(one.labelled()) == known_pairs(other.labelled())
