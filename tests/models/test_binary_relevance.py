"""BinaryRelevance: each label against scikit-learn, constants by formula, and a posterior that waits."""

import warnings
from typing import ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from labelwise import BinaryRelevance, Threshold


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    Y = X @ rng.normal(size=(3, 4)) + rng.normal(size=(50, 4)) > 0
    return X, Y, rng.random((50, 4)) < 0.7


class Noting(ClassifierMixin, BaseEstimator):
    """A classifier that notes how many rows it is asked about."""

    asked: ClassVar[list[int]] = []  # shared by all clones on purpose

    def fit(self, X, y):
        self.rate_ = y.mean()
        return self

    def predict_proba(self, X):
        self.asked.append(X.shape[0])
        return np.column_stack([np.full(X.shape[0], 1 - self.rate_), np.full(X.shape[0], self.rate_)])


def liblinear():
    """The default classifier as scikit-learn has it, taken as far as it goes."""
    return LogisticRegression(C=10, solver="liblinear", tol=1e-12, max_iter=10_000)


@pytest.mark.parametrize("classifier", [GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_each_label_is_its_own_classifier_on_its_own_answers(problem, classifier):
    X, Y, observed = problem
    model = BinaryRelevance(classifier).fit(X, Y, observed=observed)
    p = model.predict_proba(X)
    for j in range(4):
        rows = observed[:, j]
        np.testing.assert_allclose(p[:, j], classifier.fit(X[rows], Y[rows, j]).predict_proba(X)[:, 1], rtol=1e-10)
    np.testing.assert_array_equal(Threshold().decide(model.posterior(X)), p > 0.5)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", ["auto", "none"])
def test_the_default_is_logistic_regression_on_each_labels_own_answers(problem, kind, scale):
    X, Y, observed = problem
    model = BinaryRelevance(scale=scale).fit(kind(X), Y, observed=observed)
    p = model.predict_proba(kind(X))
    prepared = X
    if scale == "auto":  # three dense features are standardised and keep their lengths; sparse rows have unit length
        standardised = StandardScaler().fit(X[observed.any(axis=1)]).transform(X) / np.sqrt(3)
        prepared = standardised if kind is np.asarray else normalize(X)
    for j in range(4):
        rows = observed[:, j]
        alone = liblinear().fit(prepared[rows], Y[rows, j])
        np.testing.assert_allclose(p[:, j], alone.predict_proba(prepared)[:, 1], rtol=1e-5)
        np.testing.assert_allclose(model.coef_[j], alone.coef_[0], rtol=1e-5)
        np.testing.assert_allclose(model.intercept_[j], alone.intercept_[0], rtol=1e-5)


def test_the_default_does_not_mind_the_units_of_dense_features(problem):
    X, Y, _ = problem
    expected = BinaryRelevance().fit(X, Y).predict_proba(X)
    odd = X * np.array([1e-3, 1.0, 1e4]) + np.array([5.0, -100.0, 0.0])
    np.testing.assert_allclose(BinaryRelevance().fit(odd, Y).predict_proba(odd), expected, rtol=1e-5)


def test_a_classifier_given_sees_the_features_as_they_are(problem):
    X, Y, _ = problem
    given = [BinaryRelevance(GaussianNB(), scale=scale).fit(X, Y).predict_proba(X) for scale in ("auto", "none")]
    np.testing.assert_array_equal(*given)


def test_an_unknown_scale_is_named(problem):
    X, Y, _ = problem
    with pytest.raises(ValueError, match="scale must be one of 'auto', 'none', got 'unit'"):
        BinaryRelevance(scale="unit").fit(X, Y)


def test_margins_become_probabilities_without_overflow(problem):
    X, Y, _ = problem
    model = BinaryRelevance(RidgeClassifier()).fit(X, Y)
    margin = RidgeClassifier().fit(X, Y[:, 0].astype(int)).decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], expit(margin))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = model.predict_proba(X * 1e6)
    assert np.all((p >= 0) & (p <= 1)) and p.min() < 1e-6


@pytest.mark.parametrize("classifier", [None, LogisticRegression()])
def test_constant_labels_have_the_smoothed_rate(classifier):
    X = np.arange(4.0).reshape(-1, 1)
    nan = np.nan
    Y = np.array([[1, 0, nan, 0], [1, nan, nan, 1], [1, 0, nan, 0], [nan, nan, nan, 1]])
    model = BinaryRelevance(classifier).fit(X, Y)
    rates = [(3 + 0.5) / (3 + 1), 0.5 / (2 + 1), None, (2 + 0.5) / (4 + 1)]
    rates[2] = np.mean([rates[0], rates[1], rates[3]])
    np.testing.assert_allclose(model.base_rates_, rates)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p[:, :3], np.tile(rates[:3], (4, 1)))
    if classifier is None:
        assert [bool(weights.any()) for weights in model.coef_] == [False, False, False, True]
    else:
        assert [fitted is None for fitted in model.classifiers_] == [True, True, True, False]
    assert np.all(np.diff(p[:, 3]) > 0)


def test_no_label_present_anywhere():
    X, Y = np.random.default_rng(0).normal(size=(30, 2)), np.zeros((30, 3), dtype=bool)
    p = BinaryRelevance().fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(p, 0.5 / 31)


def test_the_classifier_given_is_never_fitted(problem):
    X, Y, _ = problem
    template = LogisticRegression()
    BinaryRelevance(template, random_state=3).fit(X, Y)
    assert not hasattr(template, "coef_") and template.random_state is None


def test_random_state_reaches_every_clone(problem):
    X, Y, _ = problem
    forest = RandomForestClassifier(n_estimators=3)
    first, second, other = (BinaryRelevance(forest, random_state=seed).fit(X, Y) for seed in (1, 1, 2))
    assert all(fitted.random_state == 1 for fitted in first.classifiers_)
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    assert np.any(first.predict_proba(X) != other.predict_proba(X))
    own = BinaryRelevance(RandomForestClassifier(n_estimators=3, random_state=5)).fit(X, Y)
    assert own.classifiers_[0].random_state == 5
    assert BinaryRelevance(GaussianNB(), random_state=1).fit(X, Y).predict_proba(X).shape == Y.shape


def test_side_by_side_is_one_after_another(problem):
    X, Y, observed = problem
    alone = BinaryRelevance(LogisticRegression()).fit(X, Y, observed=observed).predict_proba(X)
    with joblib.parallel_config("threading"):
        together = BinaryRelevance(LogisticRegression(), n_jobs=2).fit(X, Y, observed=observed).predict_proba(X)
    np.testing.assert_array_equal(alone, together)


def wide(X):
    """As scipy makes it from coordinates: 64-bit indices, and every zero stated."""
    rows, columns = np.nonzero(np.ones_like(X))
    made = sp.csr_array((X.ravel(), (rows, columns)), shape=X.shape)
    assert made.indices.dtype == np.int64
    return made


def stated_in_halves(X):
    """Every entry stated twice, as half of itself: scipy means their sum."""
    n, d = X.shape
    columns = np.tile(np.repeat(np.arange(d), 2), n)
    return sp.csr_array((np.repeat(X / 2, 2, axis=1).ravel(), columns, np.arange(n + 1) * 2 * d), shape=X.shape)


@pytest.mark.parametrize("classifier", [None, LogisticRegression(C=10, solver="liblinear")])
@pytest.mark.parametrize("kind", [wide, stated_in_halves, sp.csc_matrix, pd.DataFrame])
def test_features_of_every_kind_teach_the_same(problem, kind, classifier):
    X, Y, observed = problem
    X = np.where(np.abs(X) > 0.3, X, 0.0)
    plain = X if kind is pd.DataFrame else sp.csr_array(X)  # dense ones are standardised, sparse ones are not
    expected = BinaryRelevance(classifier).fit(plain, Y, observed=observed).predict_proba(plain)
    made = kind(X)
    np.testing.assert_allclose(
        BinaryRelevance(classifier).fit(made, Y, observed=observed).predict_proba(made), expected, rtol=1e-6
    )


def test_the_posterior_waits_until_it_is_asked_and_walks_in_blocks(problem):
    X, Y, _ = problem
    model = BinaryRelevance(Noting()).fit(X, Y[:, :1])
    Noting.asked.clear()
    posterior = model.posterior(X)
    assert Noting.asked == []
    parts = [beliefs.probabilities() for _, beliefs in posterior.blocks(20)]
    assert Noting.asked == [20, 20, 10]
    whole = posterior.probabilities()
    np.testing.assert_array_equal(np.vstack(parts), whole)
    posterior.probabilities()
    np.testing.assert_array_equal(posterior.rows(np.array([4, 4, -1])).probabilities(), whole[[4, 4, -1]])
    assert Noting.asked == [20, 20, 10, 50]  # the whole is computed once


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("rows", [slice(5, 9), np.array([3, 0, 3]), np.arange(50) % 2 == 0])
def test_rows_of_a_waiting_posterior(problem, kind, rows):
    X, Y, _ = problem
    model = BinaryRelevance().fit(kind(X), Y)
    part = model.posterior(kind(X)).rows(rows)
    expected = model.predict_proba(kind(X))[rows]
    assert (part.n_items, part.n_labels) == expected.shape
    np.testing.assert_allclose(part.probabilities(), expected, rtol=1e-12)


def test_a_posterior_outlives_the_next_fit(problem):
    X, Y, _ = problem
    model = BinaryRelevance().fit(X, Y)
    before, held = model.predict_proba(X), model.posterior(X)
    model.fit(X, ~Y)
    np.testing.assert_array_equal(held.probabilities(), before)


def test_predictions_are_the_callers_own(problem):
    X, Y, _ = problem
    model = BinaryRelevance(DummyClassifier(strategy="prior")).fit(X, Y)
    model.predict_proba(X)[:] = 7.0
    np.testing.assert_allclose(model.predict_proba(X), np.tile(Y.mean(0), (50, 1)))
