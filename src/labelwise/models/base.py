"""What every model shares: checked input, scikit-learn manners, and the step from a posterior to predictions."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from labelwise import decisions
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.user_input import dense_labels
from labelwise.posterior import LabelPosterior


class LabelModel(ClassifierMixin, BaseEstimator):
    """Base of all models: a scikit-learn classifier of label sets.

    A model writes `fit(X, Y, observed=None)`, which starts with `self._check_training(...)`, and `posterior(X)`,
    which starts with `self._check_items(X)`. `predict_proba` and `predict` follow from the posterior.

    Examples
    --------
    >>> import labelwise as lw
    >>> data = lw.data.make_shapes(60, random_state=0)
    >>> model = lw.LabelGP().fit(data.X, data.Y.toarray())
    >>> isinstance(model, LabelModel), model.posterior(data.X).probabilities().shape
    (True, (60, 18))
    """

    classes_: npt.NDArray[np.intp]  # (q,) the labels by number, as scikit-learn has it for indicator matrices
    n_features_in_: int
    n_labels_: int
    random_state: Any  # of models that draw

    def posterior(self, X: Any) -> LabelPosterior:
        raise NotImplementedError

    def predict_proba(self, X: Any) -> FloatArray:
        """(n, q) probability that each label is present."""
        return np.array(self.posterior(X).probabilities())

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """(n, q) of 0 and 1: the sets of the default decision, each item by itself; labels may be below one half.

        For another rule, such as p > ½: `labelwise.Threshold().decide(model.posterior(X))`, see `labelwise.decisions`.
        """
        return decisions.BY_NAME[decisions.DEFAULT]().decide(self.posterior(X)).astype(np.int64)

    @classmethod
    def published(cls, **parameters: Any) -> Self:
        """The old name of `paper`, of models that have it, for one release more."""
        warnings.warn("published() is now paper()", DeprecationWarning, stacklevel=2)
        made: Self = getattr(cls, "paper")(**parameters)  # noqa: B009 (not every model has one)
        return made

    def _check_training(
        self, X: Any, Y: Any, observed: Any, *, reset: bool = True, may_be_unanswered: bool = False
    ) -> tuple[Any, BoolArray, BoolArray]:
        """X as float array or csr, Y and observed as dense booleans; rows without any answer are left out."""
        if Y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=reset)
        names = _names_of(Y)
        Y, observed = _check_labels(Y, observed)
        if Y.shape[0] != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and Y has {Y.shape[0]}: inconsistent numbers of samples")
        if not reset and Y.shape[1] != self.n_labels_:
            raise ValueError(f"Y has {Y.shape[1]} labels, but the model was fitted with {self.n_labels_}; call fit")
        if reset:
            self.n_labels_ = Y.shape[1]
            self.classes_ = np.arange(self.n_labels_) if names is None else names
        answered = observed.any(axis=1)
        if not answered.any() and not may_be_unanswered:
            raise ValueError("no entry of Y is observed: a model needs at least one answer")
        return (X, Y, observed) if answered.all() else (X[answered], Y[answered], observed[answered])

    def _check_items(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)

    def _generator(self) -> np.random.Generator:
        """What a fit draws from: `random_state` itself where it is a generator, else one made from it."""
        if isinstance(self.random_state, np.random.Generator):
            return self.random_state
        return np.random.default_rng(check_random_state(self.random_state).randint(2**31))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.target_tags.two_d_labels = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        raise NotImplementedError


def with_random_state(model: Any, random_state: Any) -> Any:
    """The unfitted model itself; a `random_state` that it has and that is None is set to this one."""
    if "random_state" in model.get_params(deep=False) and model.random_state is None:
        model.set_params(random_state=random_state)
    return model


def _check_labels(Y: Any, observed: Any) -> tuple[BoolArray, BoolArray]:
    """Y and mask as two dense (n, q) boolean arrays; errors are worded as ours and as scikit-learn's."""
    try:
        Y_bool, known = dense_labels(Y, observed)
    except ValueError as error:
        raise ValueError(f"{error}{_in_the_words_of_sklearn(Y)}") from error
    if Y_bool.shape[1] == 0:
        raise ValueError(f"Y must have at least one label, got shape {Y_bool.shape}")
    return Y_bool, known


def _names_of(Y: Any) -> Any:
    """The columns of a data frame of labels; None where they are no names."""
    names = list(getattr(Y, "columns", ()))
    return np.array(names) if names and all(isinstance(name, str) for name in names) else None


def _in_the_words_of_sklearn(Y: Any) -> str:
    try:
        values = np.asarray(Y.toarray() if sp.issparse(Y) else Y)
    except ValueError:  # rows of different lengths
        return ""
    kind = type_of_target(np.nan_to_num(values, posinf=2, neginf=2)) if values.dtype.kind == "f" else ""
    if values.ndim == 1:
        return f". Only binary classification is supported. The type of the target is {kind or type_of_target(values)}."
    return f". Unknown label type: {kind}" if kind.startswith("continuous") else ""
