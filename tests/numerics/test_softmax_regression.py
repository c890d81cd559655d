"""The regression against scikit-learn's, and what it makes of a single class."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from labelwise.numerics.softmax_regression import SoftmaxRegression


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_against_scikit_learn(C):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=80), [-0.5, 0.5]) * 2
    ours = SoftmaxRegression.fit(X, y, C=C)
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=10000).fit(X, y)
    np.testing.assert_array_equal(ours.classes, [0, 2, 4])
    p = softmax(X @ ours.weights + ours.intercepts, axis=1)
    np.testing.assert_allclose(p, theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_two_classes_have_the_symmetric_form():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([5, 5, 7, 7])
    ours = SoftmaxRegression.fit(X, y)
    np.testing.assert_allclose(ours.weights.sum(), 0, atol=1e-6)
    assert ours.predict(np.array([[-5.0], [9.0]])).tolist() == [5, 7]


def test_a_single_class_is_always_predicted():
    ours = SoftmaxRegression.fit(np.ones((3, 2)), np.full(3, 4))
    assert ours.predict(np.zeros((2, 2))).tolist() == [4, 4]


def test_features_that_say_nothing_leave_the_shares():
    y = np.array([1, 1, 1, 2, 3, 3])
    ours = SoftmaxRegression.fit(np.zeros((6, 4)), y)
    np.testing.assert_allclose(softmax(ours.intercepts), [3 / 6, 1 / 6, 2 / 6], atol=1e-6)
