"""Weights that walk, and windows of rows learnt forth and back, against one dense Gaussian over all times."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from comparison_ep import ComparisonStream, exact, stream
from labelwise import OnlineBayes
from walking_weights import WalkingWeights

PLAIN = {"skew_margin": False, "bias_variance": 2.0}


def gaps(n=7, d=3, q=3, seed=0):
    """Rows some of whose features are absent: a walk goes on while nobody looks."""
    X, Y = stream(n=n, d=d, q=q, seed=seed)
    X[np.random.default_rng(seed).random(X.shape) < 0.4] = 0
    X[-1] = 1.0
    return X, Y


def state_of(model, d=3):
    weights, spread = model.state_.weights_of(np.arange(d))
    if model.coupling == "global":
        bias = model.state_.bias[0]
        return weights, spread, bias[:1], bias[1:]
    mean, variance = model.state_.local_bias()
    return weights, spread, -mean, variance  # a bias is subtracted in the rival, a weight of 1 is added here


def assert_same_state(model, rival, rtol):
    for found, truth in zip(state_of(model), rival.now(), strict=True):
        assert_allclose(found, truth, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("coupling", ["global", "independent"])
@pytest.mark.parametrize("drift", [0.05, 0.3])
def test_one_row_after_the_other_is_the_filter_of_the_walk(coupling, drift):
    X, Y = gaps()
    rival = WalkingWeights(coupling, X, Y, drift=drift, bias_variance=2.0).learn(0)
    model = exact(coupling, drift=drift, **PLAIN).partial_fit(sp.csr_array(X), Y)
    assert_same_state(model, rival, 1e-7)


@pytest.mark.parametrize("coupling", ["global", "independent"])
@pytest.mark.parametrize("passes", [1, 3])
def test_a_window_forth_and_back_is_ep_of_the_dense_gaussian(coupling, passes):
    X, Y = gaps(seed=1)
    rival = WalkingWeights(coupling, X, Y, drift=0.1, bias_variance=2.0).learn(passes)
    model = exact(coupling, drift=0.1, window=50, window_passes=passes, **PLAIN).partial_fit(sp.csr_array(X), Y)
    assert_same_state(model, rival, 1e-7)
    once = exact(coupling, drift=0.1, **PLAIN).partial_fit(sp.csr_array(X), Y)
    assert np.abs(state_of(once)[0] - rival.now()[0]).max() > 1e-3  # going back changed something


@pytest.mark.parametrize("coupling", ["global", "independent", "multiclass", "pairwise"])
def test_windows_in_a_row_start_where_the_one_before_ended(coupling):
    X, Y = stream(coupling, n=9)
    at_once = exact(coupling, drift=0.1, window=3).partial_fit(X, Y)
    by_call = exact(coupling, drift=0.1, window=3)
    for start in (0, 3, 6):
        by_call.partial_fit(X[start : start + 3], Y[start : start + 3])
    assert_array_equal(at_once.predict_proba(X), by_call.predict_proba(X))


@pytest.mark.parametrize("coupling", ["global", "independent", "multiclass"])
def test_messages_that_have_settled_do_not_know_the_order_of_the_rows(coupling):
    X, Y = stream(coupling, n=12, seed=2)
    order = np.random.default_rng(0).permutation(12)
    settings = {"window": 12, "window_passes": 60, "skew_margin": False, "local_bias": True}
    forth = exact(coupling, **settings).partial_fit(X, Y).posterior(X).scores()
    mixed = exact(coupling, **settings).partial_fit(X[order], Y[order]).posterior(X).scores()
    assert_allclose(mixed[0], forth[0], rtol=1e-6, atol=1e-7)
    assert_allclose(mixed[1], forth[1], rtol=1e-6)
    once = [exact(coupling, skew_margin=False).partial_fit(X[i], Y[i]).posterior(X).scores()[0] for i in (order, ...)]
    assert np.abs(once[0] - once[1]).max() > 1e-2


@pytest.mark.parametrize("coupling", ["global", "independent"])
def test_a_window_of_one_row_is_the_plain_model(coupling):
    X, Y = stream(n=8, seed=3)
    plain = exact(coupling).partial_fit(X, Y).posterior(X).scores()
    windows = exact(coupling, window=1).partial_fit(X, Y).posterior(X).scores()
    assert_allclose(windows[0], plain[0], rtol=1e-9, atol=1e-9)
    assert_allclose(windows[1], plain[1], rtol=1e-9)


def test_variances_of_features_long_unseen_widen_by_the_drift_up_to_the_prior():
    X = sp.csr_array(np.array([[1.0, 0.0]] + [[0.0, 1.0]] * 6))
    Y = np.ones((7, 1))
    before = exact("independent", drift=0.02).partial_fit(X[:1], Y[:1]).state_.weights_of(np.arange(1))
    model = exact("independent", drift=0.02).partial_fit(X, Y)
    after = model.state_.weights_of(np.arange(1))
    assert_allclose(after[0], before[0])
    assert_allclose(after[1], before[1] + 6 * 0.02)
    bias = model.state_.local_bias()
    assert_allclose(model.posterior(X[:1]).scores()[1], after[1] + bias[1])
    fast = exact("independent", drift=0.9)
    before = fast.partial_fit(X[:1], Y[:1]).state_.weights_of(np.arange(1))
    assert_allclose(fast.partial_fit(X[1:], Y[1:]).state_.weights_of(np.arange(1))[1], before[1] + 1.0)


def test_unanswered_labels_and_single_precision_in_a_window():
    X, Y = stream(n=30, d=5, q=4, seed=4)
    observed = np.random.default_rng(1).random(Y.shape) < 0.6
    settings = {"normalize": None, "drift": 0.01, "window": 10, "tolerance": 1e-9}
    double = OnlineBayes(dtype="float64", **settings).partial_fit(X, Y, observed)
    single = OnlineBayes(**settings).partial_fit(X, Y, observed)
    assert_allclose(single.predict_proba(X), double.predict_proba(X), atol=2e-5)
    other = OnlineBayes(dtype="float64", **settings).partial_fit(X, Y ^ ~observed, observed)
    assert_array_equal(other.predict_proba(X), double.predict_proba(X))


def test_fit_keeps_the_order_of_rows_in_which_weights_move():
    X, Y = stream(n=40, seed=5)
    settings = {"drift": 0.05, "skew_margin": False}
    fitted = exact(random_state=3, **settings).fit(X, Y)
    assert_array_equal(fitted.predict_proba(X), exact(**settings).partial_fit(X, Y).predict_proba(X))


def test_a_slow_walk_follows_labels_that_turn_round():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    w = rng.normal(size=(5, 6))
    angle = np.linspace(0, np.pi, 2000)[:, None]
    Y = np.cos(angle) * (X @ w) + np.sin(angle) * (X @ w[:, ::-1]) > 0
    still = exact("independent").partial_fit(X[:1800], Y[:1800])
    moving = exact("independent", drift=2e-3).partial_fit(X[:1800], Y[:1800])
    hits = [(model.predict(X[1800:]) == Y[1800:]).mean() for model in (still, moving)]
    assert hits[1] > hits[0] + 0.05


def test_the_rival_without_a_walk_is_the_other_rival():
    X, Y = stream(n=5, q=3, seed=6)
    plain = ComparisonStream("global", 3, 3, skew_margin=False, bias_variance=2.0).learn_all(X, Y)
    walk = WalkingWeights("global", X, Y, drift=1e-9, bias_variance=2.0).learn(0)
    assert_allclose(walk.now()[0], plain.mean, rtol=1e-4, atol=1e-5)
