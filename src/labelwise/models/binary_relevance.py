"""One scikit-learn classifier per label: the usual baseline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.special import expit
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
        Cloned for each label; by default `LogisticRegression(C=10, solver="liblinear")`, which on text does best with
        rows scaled to unit length.
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
        X = _narrow(X)
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
        return self

    def posterior(self, X: Any) -> LabelPosterior:
        return _ClassifierPosterior(_narrow(self._check_items(X)), self.classifiers_, self.base_rates_)


class _ClassifierPosterior(LabelPosterior):
    """Beliefs of fitted classifiers, computed when asked for: a pool walked in blocks never has all n × q at once."""

    def __init__(self, X: Any, classifiers: list[Any], base_rates: FloatArray) -> None:
        super().__init__(X.shape[0], len(classifiers))
        self._X, self._classifiers, self._base_rates = X, classifiers, base_rates
        self._probabilities: FloatArray | None = None

    def probabilities(self) -> FloatArray:
        if self._probabilities is None:
            p = np.tile(self._base_rates, (self.n_items, 1))  # (n, q)
            for j, classifier in enumerate(self._classifiers):
                if classifier is not None:
                    p[:, j] = _positive_probability(classifier, self._X)
            self._probabilities = p
        return self._probabilities

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> LabelPosterior:
        if self._probabilities is not None:
            return MarginalPosterior(self._probabilities[rows])
        return _ClassifierPosterior(self._X[rows], self._classifiers, self._base_rates)


def _narrow(X: Any) -> Any:
    """Sparse X with 32-bit indices where they are wide enough: liblinear and others refuse 64-bit ones."""
    if not sp.issparse(X) or X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _fit_label(template: Any, X: Any, y: BoolArray, answered: BoolArray) -> Any:
    y = y[answered]
    if y.size == 0 or y.all() or not y.any():
        return None
    return clone(template).fit(X if answered.all() else X[answered], y.astype(int))


def _positive_probability(classifier: Any, X: Any) -> FloatArray:
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba(X)[:, 1]
    return expit(classifier.decision_function(X))
