"""Where a mixture's fit begins."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

from labelwise.models.mixture.fitting import balanced_mean, size_means, start_features, start_responsibilities


def blobs(seed=0):
    """Three groups; the first two differ in their labels only, the last in its features."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], 20)
    X = np.array([[0.0, 0.0], [0.0, 0.0], [5.0, 5.0]])[group] + 0.1 * rng.normal(size=(60, 2))
    Y = np.array([[1, 1, 0], [0, 0, 1], [0, 0, 1]], dtype=bool)[group]
    return X, Y, group


def test_clusters_see_labels_and_features():
    X, Y, group = blobs()
    everything = np.ones(Y.shape, dtype=bool)
    features = start_features(X, Y, everything, Y.mean(0), np.random.default_rng(0))
    phi = start_responsibilities(features, 3, np.random.default_rng(0))
    np.testing.assert_allclose(phi.sum(1), 1.0)
    np.testing.assert_allclose(np.unique(phi), [0.2 / 3, 0.8 + 0.2 / 3])
    own = phi.argmax(1)
    assert len({(a, b) for a, b in zip(own, group, strict=True)}) == 3  # a cluster for each group


def test_labels_and_features_have_the_same_spread_and_unknown_labels_stand_in_the_middle():
    X, Y, _ = blobs()
    observed = np.random.default_rng(1).random(Y.shape) < 0.5
    rates = np.array([0.4, 0.5, 0.6])
    features = start_features(1000 * X + 7, Y, observed, rates, np.random.default_rng(0))
    assert np.all(features[:, :3][~observed] == 0)
    for part in (features[:, :3], features[:, 3:5]):
        assert ((part - part.mean(0)) ** 2).sum(1).mean() == pytest.approx(1.0)
    assert 0 < np.abs(features[:, 5]).max() < 1e-5
    hidden = start_features(1000 * X + 7, Y ^ ~observed, observed, rates, np.random.default_rng(0))
    np.testing.assert_array_equal(hidden, features)


def test_sparse_features_give_the_same_start():
    X, Y, _ = blobs()
    X[np.abs(X) < 0.05] = 0.0
    everything, rates = np.ones(Y.shape, dtype=bool), Y.mean(0)
    dense = start_features(X, Y, everything, rates, np.random.default_rng(0))
    sparse = start_features(sp.csr_array(X), Y, everything, rates, np.random.default_rng(0))
    np.testing.assert_allclose(sparse.toarray(), dense, atol=1e-12)
    np.testing.assert_array_equal(
        start_responsibilities(sparse, 3, np.random.default_rng(0)),
        start_responsibilities(dense, 3, np.random.default_rng(0)),
    )


def test_constant_features_and_labels_are_no_obstacle():
    Y = np.zeros((6, 2), dtype=bool)
    Y[:3, 0] = True
    features = start_features(np.ones((6, 2)), Y, np.ones(Y.shape, dtype=bool), Y.mean(0), np.random.default_rng(0))
    assert np.all(np.isfinite(features)) and np.all(features[:, 2:4] == 0)
    phi = start_responsibilities(features, 2, np.random.default_rng(0))
    assert len(set(phi.argmax(1)[:3])) == 1 and phi.argmax(1)[0] != phi.argmax(1)[5]


def test_many_rows_are_put_to_the_nearest_centre(monkeypatch):
    monkeypatch.setattr("labelwise.models.mixture.fitting.CLUSTER_ROWS", 30)
    X, Y, group = blobs()
    features = start_features(X, Y, np.ones(Y.shape, dtype=bool), Y.mean(0), np.random.default_rng(0))
    phi = start_responsibilities(features, 3, np.random.default_rng(0))
    assert len({(a, b) for a, b in zip(phi.argmax(1), group, strict=True)}) == 3


def test_prior_means_make_the_gates_add_up_to_about_one():
    assert 20 * expit(balanced_mean(20)) == pytest.approx(1.0)
    assert balanced_mean(1) == balanced_mean(2) == 0.0
    phi = np.random.default_rng(0).dirichlet([5.0, 1.0, 1.0], 200)
    means = size_means(phi)
    assert expit(means).sum() == pytest.approx(1.0)
    assert means.argmax() == 0
    np.testing.assert_allclose(size_means(np.full((30, 4), 0.25)), balanced_mean(4))


@pytest.mark.parametrize(("unit", "shift"), [(1e-12, 0.0), (1e10, 0.0), (1.0, 1e6)])
def test_units_and_origin_of_features_do_not_matter(unit, shift):
    X, Y, _ = blobs()
    observed, rates = np.ones(Y.shape, dtype=bool), Y.mean(0)
    start = [start_features(A, Y, observed, rates, np.random.default_rng(0)) for A in (X, unit * X + shift)]
    centred = [A - A.mean(axis=0) for A in start]
    np.testing.assert_allclose(centred[0], centred[1], atol=1e-7)
