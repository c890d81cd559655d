"""What a `CooccurrenceTransfer` leaves open, and by what it ranks, where counts are unknown."""

import numpy as np
import pytest

import labelwise as lw
from labelwise.models import CooccurrenceTransfer

SETTINGS = {"scale": "none", "label_weight": 0.0, "noise_variance": 1.5, "random_state": 0}


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4)) / 2
    truth = X @ rng.normal(size=(4, 7)) + 0.3 * rng.normal(size=(120, 7)) > 0.4
    observed = np.ones(truth.shape, dtype=bool)
    observed[:, [5, 6]] = False
    return X, truth, observed, truth.T.astype(float) @ truth


def with_constant(X):
    return np.hstack([X, np.full((len(X), 1), 0.3)])


def left_open(F, noise, X_new):
    """(n,) variance of x·w given data F w + noise, w ~ N(0, I)."""
    P = with_constant(X_new)
    return np.einsum("nd,de,ne->n", P, np.linalg.inv(np.eye(5) + F.T @ np.linalg.solve(noise, F)), P)


def test_variances_follow_the_counts_that_are_known(problem):
    X, truth, observed, counts = problem
    counts[[0, 1, 3], 6] = counts[6, [0, 1, 3]] = np.nan
    found = CooccurrenceTransfer(cooccurrence=counts, **SETTINGS).fit(X, truth, observed).posterior(X[:9]).variances()
    for label, known in ((5, [0, 1, 2, 3, 4]), (6, [2, 4])):
        S = truth[:, known].astype(float)
        noise = 1.5 * S.T @ S + 0.1 * np.eye(len(known))
        np.testing.assert_allclose(found[:, label], left_open(S.T @ with_constant(X), noise, X[:9]), atol=1e-9)
    assert np.all(found[:, 6] > found[:, 5])


def test_answers_beside_counts_lower_the_variance(problem):
    X, truth, observed, counts = problem
    counts[0, 6] = counts[6, 0] = np.nan
    observed[:20, 6] = True
    found = CooccurrenceTransfer(cooccurrence=counts, **SETTINGS).fit(X, truth, observed).posterior(X[:9]).variances()
    S, P = truth[:, 1:5].astype(float), with_constant(X)
    noise = np.zeros((24, 24))
    noise[:4, :4], noise[4:, 4:] = 1.5 * S.T @ S + 0.1 * np.eye(4), 1.5 * np.eye(20)
    np.testing.assert_allclose(found[:, 6], left_open(np.vstack([S.T @ P, P[:20]]), noise, X[:9]), atol=1e-9)


def test_labels_are_ranked_by_their_scores_and_those_without_any_come_last(problem):
    X, truth, observed, counts = problem
    counts[6, :], counts[:, 6] = np.nan, np.nan
    beliefs = CooccurrenceTransfer(cooccurrence=counts, **SETTINGS).fit(X, truth, observed).posterior(X)
    np.testing.assert_array_equal(beliefs.ranking()[:, :6], beliefs.means()[:, :6])
    np.testing.assert_array_equal(beliefs.ranking()[:, 6], -np.inf)
    assert not lw.TopLabels(6, by="ranking").decide(beliefs)[:, 6].any()
