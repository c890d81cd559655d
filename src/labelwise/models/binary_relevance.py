"""One scikit-learn classifier per label: the usual baseline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from labelwise.models.base import BoolArray, LabelModel
from labelwise.posterior import FloatArray, LabelPosterior, MarginalPosterior


class BinaryRelevance(LabelModel):
    """One classifier per label, each fitted on the rows where its label was answered.

    A label with answers of one kind only, or none, is given a constant probability: (positives + ½) / (answers + 1),
    and for one that was never answered the mean of the others.

    Parameters
    ----------
    classifier : scikit-learn classifier with `predict_proba` or `decision_function`, optional
        Cloned for each label; by default logistic regression with C = 10 on rows scaled to unit length is
        recommended for text; the plain default is `LogisticRegression(C=10, solver="liblinear")`.
    n_jobs : int, optional
        Labels fitted side by side, as in joblib.
    random_state : int, RandomState or None
        Handed to every clone that has a `random_state`.

    Attributes
    ----------
    classifiers_ : list
        The fitted classifier of each label, None where the label is constant.
    base_rates_ : (q,) array
        Share of yes among the answers to each label, smoothed as above.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, 1], [1, 1], [1, np.nan]])
    >>> BinaryRelevance().fit(X, Y).predict(X)
    array([[0, 1], [0, 1], [1, 1], [1, 1]])
    """

    def __init__(self, classifier: Any = None, *, n_jobs: int | None = None, random_state: Any = None) -> None:
        self.classifier = classifier
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        X, Y, observed = self._check_training(X, Y, observed)
        template = self.classifier if self.classifier is not None else LogisticRegression(C=10.0, solver="liblinear")
        if "random_state" in template.get_params(deep=False) and self.random_state is not None:
            template = clone(template).set_params(random_state=self.random_state)
        answers = observed.sum(0)
        self.base_rates_ = (Y.sum(0) + 0.5) / (answers + 1)
        if (answers == 0).any():
            self.base_rates_[answers == 0] = self.base_rates_[answers > 0].mean()
        self.classifiers_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit_label)(template, X, Y[:, j], observed[:, j]) for j in range(self.n_labels_)
        )
        self.classes_ = [np.array([0, 1])] * self.n_labels_
        return self

    def posterior(self, X: Any) -> LabelPosterior:
        X = self._check_items(X)
        p = np.tile(self.base_rates_, (X.shape[0], 1))  # (n, q)
        for j, classifier in enumerate(self.classifiers_):
            if classifier is not None:
                p[:, j] = _positive_probability(classifier, X)
        return MarginalPosterior(p)


def _fit_label(template: Any, X: Any, y: BoolArray, answered: BoolArray) -> Any:
    y = y[answered]
    if y.size == 0 or y.all() or not y.any():
        return None
    return clone(template).fit(X if answered.all() else X[answered], y.astype(int))


def _positive_probability(classifier: Any, X: Any) -> FloatArray:
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba(X)[:, 1]
    return 1 / (1 + np.exp(-classifier.decision_function(X)))
