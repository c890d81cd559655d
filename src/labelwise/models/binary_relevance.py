"""One classifier per label, the usual baseline: logistic regressions solved together, or scikit-learn classifiers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight

from labelwise.models.base import LabelModel
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.feature_scaling import FeatureScaling, learn_scaling
from labelwise.numerics.logistic_regression import fit_logistic
from labelwise.numerics.user_input import check_choices, dense_labels
from labelwise.posterior import LabelPosterior, MarginalPosterior

C = 10.0  # of the default classifier, which then does well on rows of unit length


@dataclass(eq=False, repr=False)
class BinaryRelevance(LabelModel):
    """One classifier per label, each fitted on the rows where its label was answered.

    The default is a logistic regression with C = 10, penalised as in liblinear (the intercept, too); all labels are
    solved together, to the optimum. A label whose answers are all yes or all no gets the constant probability
    (positives + ½) / (answers + 1). A label without answers gets the mean of the others.

    Parameters
    ----------
    classifier : scikit-learn classifier with `predict_proba` or `decision_function`, optional
        Cloned for each label, instead of the logistic regression.
    scale : "auto" or "none"
        How features are prepared for the logistic regression. "auto": columns of dense features standardised, unless
        they look like principal axes, then rows scaled to unit length; rows of at most ten dense features keep their
        lengths. A classifier that you pass gets the features unchanged: pass a pipeline to prepare them.
    n_jobs : int, optional
        Labels fitted in parallel, as in joblib, if a classifier is given.
    random_state : int, RandomState or None
        Passed to every clone that has a `random_state`.

    Attributes
    ----------
    base_rates_ : (q,) array
        Share of yes among the answers to each label, smoothed as above.
    coef_, intercept_ : (q, d) and (q,) arrays
        The logistic regressions, on prepared features; zero and the log odds of its rate for a constant label.
    classifiers_ : list
        Where a classifier was given, the fitted one of each label, None where the label is constant.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0, 1], [0, 1], [1, 1], [1, np.nan]])
    >>> BinaryRelevance().fit(X, Y).predict(X)
    array([[0, 1], [0, 1], [1, 1], [1, 1]])
    """

    classifier: Any = None
    _: KW_ONLY
    scale: Literal["auto", "none"] = "auto"
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, Y: Any, observed: Any = None, sample_weight: Any = None) -> Self:
        """Fit; `sample_weight` (n,) counts a row as so many. Features are prepared as without weights."""
        check_choices(self, scale=("auto", "none"))
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)  # (n,)
            observed = dense_labels(Y, observed)[1] & (weights > 0)[:, None]
            weights = weights[observed.any(axis=1)]  # of the rows that are left
        X, Y, observed = self._check_training(X, Y, observed)
        strength = observed if weights is None else weights[:, None] * observed  # (n, q)
        answers, positives = strength.sum(0), (strength * Y).sum(0)
        self.base_rates_ = (positives + 0.5) / (answers + 1)
        if (answers == 0).any():
            self.base_rates_[answers == 0] = self.base_rates_[answers > 0].mean()
        varies = (Y & observed).any(0) & (~Y & observed).any(0)
        if self.classifier is None:
            self._fit_logistic(X, Y, strength, varies)  # a mask is a weight of 0 or 1
        else:
            self._fit_clones(_narrow(X), Y, strength, varies)
        return self

    def _fit_logistic(self, X: Any, Y: BoolArray, strength: BoolArray | FloatArray, varies: BoolArray) -> None:
        self._scaling = learn_scaling(X, self.scale)
        self.coef_ = np.zeros((self.n_labels_, X.shape[1]))
        self.intercept_ = np.log(self.base_rates_ / (1 - self.base_rates_))
        weights, intercepts = fit_logistic(self._scaling(X), Y[:, varies], strength[:, varies], C)
        self.coef_[varies], self.intercept_[varies] = weights.T, intercepts

    def _fit_clones(self, X: Any, Y: BoolArray, strength: BoolArray | FloatArray, varies: BoolArray) -> None:
        template = clone(self.classifier)
        if "random_state" in template.get_params(deep=False) and self.random_state is not None:
            template.set_params(random_state=self.random_state)
        fitted = iter(
            Parallel(n_jobs=self.n_jobs)(
                delayed(_fit_label)(template, X, Y[:, j], strength[:, j]) for j in np.flatnonzero(varies)
            )
        )
        self.classifiers_ = [next(fitted) if learnt else None for learnt in varies]

    def posterior(self, X: Any) -> LabelPosterior:
        X = self._check_items(X)
        if self.classifier is None:
            classify = partial(_by_logistic, self._scaling, self.coef_, self.intercept_)
            return _LatePosterior(X, self.n_labels_, classify)
        classify = partial(_by_classifiers, self.classifiers_, self.base_rates_)
        return _LatePosterior(_narrow(X), self.n_labels_, classify)


class _LatePosterior(LabelPosterior):
    """Beliefs of fitted classifiers, computed when asked for: a pool walked in blocks never has all n × q at once."""

    def __init__(self, X: Any, n_labels: int, classify: Callable[[Any], FloatArray]) -> None:
        super().__init__(X.shape[0], n_labels)
        self._X, self._classify = X, classify
        self._probabilities: FloatArray | None = None

    def probabilities(self) -> FloatArray:
        if self._probabilities is None:
            self._probabilities = self._classify(self._X)
        return self._probabilities

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> LabelPosterior:
        if self._probabilities is not None:
            return MarginalPosterior(self._probabilities[rows])
        return _LatePosterior(self._X[rows], self.n_labels, self._classify)


def _by_logistic(scaling: FeatureScaling, coef: FloatArray, intercept: FloatArray, X: Any) -> FloatArray:
    margins = scaling(X) @ coef.T + intercept  # (n, q)
    return expit(margins, out=margins)


def _by_classifiers(classifiers: list[Any], base_rates: FloatArray, X: Any) -> FloatArray:
    p = np.tile(base_rates, (X.shape[0], 1))  # (n, q)
    for j, classifier in enumerate(classifiers):
        if classifier is not None:
            p[:, j] = _positive_probability(classifier, X)
    return p


def _narrow(X: Any) -> Any:
    """Sparse X with 32-bit indices where they are wide enough: liblinear and others refuse 64-bit ones."""
    if not sp.issparse(X) or X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _fit_label(template: Any, X: Any, y: BoolArray, strength: BoolArray | FloatArray) -> Any:
    """A clone fitted on the rows with some strength; numbers are weights, which a pipeline hands to its last step."""
    answered = strength > 0
    name = f"{template.steps[-1][0]}__sample_weight" if hasattr(template, "steps") else "sample_weight"
    weights = {} if strength.dtype == bool else {name: strength[answered]}
    return clone(template).fit(X if answered.all() else X[answered], y[answered].astype(int), **weights)


def _positive_probability(classifier: Any, X: Any) -> FloatArray:
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba(X)[:, 1]
    return expit(classifier.decision_function(X))


def as_label_model(model: Any) -> Any:
    """A plain scikit-learn classifier, or a pipeline that ends in one, as `BinaryRelevance`: one clone for each label.

    What is a model of label sets already, or no classifier, is given back as it is.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> as_label_model(GaussianNB())
    BinaryRelevance(classifier=GaussianNB())
    """
    if isinstance(model, type) or hasattr(model, "posterior") or not hasattr(model, "fit"):
        return model
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(last, "posterior"):
        raise TypeError(
            f"a pipeline that ends in {type(last).__name__}, which learns all labels at once, cannot be a model: "
            "prepare the features before they become LabelData, and give the model alone"
        )
    if type(last).__name__ == "MultiOutputClassifier":
        if last is not model:
            raise TypeError(
                "let the pipeline end in the classifier that MultiOutputClassifier wraps: it is cloned here"
            )
        model = last.estimator
    can = any(hasattr(model, method) for method in ("predict_proba", "decision_function"))
    return BinaryRelevance(model) if can else model
