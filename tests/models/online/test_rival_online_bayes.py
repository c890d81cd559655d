"""`OnlineBayes` from outside: only its documented behaviour, against slow rivals of the model it claims to be."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from comparison_ep import COUPLINGS, ComparisonStream, exact, stream
from labelwise import OnlineBayes


def assert_same_beliefs(model, rival, X, rtol=1e-9):
    mean, variance = model.posterior(X).scores()
    rival_mean, rival_variance = rival.scores(X) if hasattr(rival, "scores") else rival.posterior(X).scores()
    assert_allclose(mean, rival_mean, rtol=rtol, atol=rtol)
    assert_allclose(variance, rival_variance, rtol=rtol)


# ---- learning, against EP of the model in plain moment matching


@pytest.mark.parametrize("local_bias", [False, True])
@pytest.mark.parametrize("coupling", COUPLINGS)
def test_every_coupling_is_ep_of_its_comparisons(coupling, local_bias):
    X, Y = stream(coupling)
    rival_bias = local_bias and coupling != "independent"  # which always has one per label
    rival = ComparisonStream(coupling, 3, 4, local_bias=rival_bias).learn_all(X, Y)
    assert_same_beliefs(exact(coupling, local_bias=local_bias).partial_fit(X, Y), rival, X)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_settings_of_prior_noise_and_margin_reach_the_messages(coupling):
    X, Y = stream(coupling, seed=1)
    settings = {"score_noise": 0.4, "weight_variance": 2.5, "margin": 0.3, "local_bias": coupling != "independent"}
    if coupling in ("global", "independent"):
        settings |= {"bias_variance": 7.0}
    rival = ComparisonStream(coupling, 3, 4, **settings).learn_all(X, Y)
    assert_same_beliefs(exact(coupling, **settings).partial_fit(X, Y), rival, X, rtol=1e-8)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_a_label_without_an_answer_sends_no_message(coupling):
    X, Y = stream(coupling, seed=2)
    hidden = np.random.default_rng(3).random(Y.shape) < 0.4
    if coupling == "multiclass":
        hidden &= ~Y
    rival = ComparisonStream(coupling, 3, 4).learn_all(X, Y, ~hidden)
    by_mask = exact(coupling).partial_fit(X, Y, ~hidden)
    assert_same_beliefs(by_mask, rival, X)
    assert_array_equal(by_mask.state_.counts, rival.counts)
    by_nan = exact(coupling).partial_fit(X, np.where(hidden, np.nan, Y))
    other_values = exact(coupling).partial_fit(X, Y ^ hidden, observed=~hidden)
    for model in (by_nan, other_values):
        assert_array_equal(model.predict_proba(X), by_mask.predict_proba(X))


@pytest.mark.parametrize("coupling", ["global", "independent"])
def test_wrong_answers_are_the_corrected_factor(coupling):
    X, Y = stream(coupling, seed=4)
    settings = {"flip_probability": 0.15, "margin": 0.0}
    rival = ComparisonStream(coupling, 3, 4, **settings).learn_all(X, Y)
    model = exact(coupling, **settings).partial_fit(X, Y)
    assert_same_beliefs(model, rival, X)
    trusting = exact(coupling, margin=0.0, bias_variance=1.0).partial_fit(X, Y)
    almost = exact(coupling, margin=0.0, bias_variance=1.0, flip_probability=1e-12).partial_fit(X, Y)
    assert_same_beliefs(almost, trusting, X, rtol=1e-6)
    doubting, certain = exact(coupling, **settings), exact(coupling, margin=0.0, bias_variance=1.0)
    scores = [model.partial_fit(X[:1], Y[:1]).posterior(X[:1]).scores() for model in (doubting, certain)]
    assert np.all(np.abs(scores[0][0]) < np.abs(scores[1][0]))  # one who may be told wrong believes less
    assert np.all(scores[0][1] > scores[1][1])


def test_the_bias_of_a_star_is_the_exact_integral_within_the_error_of_ep():
    q, rng = 12, np.random.default_rng(5)
    warm_X, warm_Y = stream(n=6, d=2, q=q, seed=6)
    model = exact(skew_margin=False).partial_fit(warm_X, warm_Y)
    x, y = rng.normal(size=(1, 2)), rng.random((1, q)) < 0.3
    weights, spread = model.state_.weights_of(np.arange(2))
    b_mean, b_variance = model.state_.arrays()["bias"][0]
    m, u, z = (x @ weights)[0], (x**2 @ spread)[0] + 1.0, np.where(y[0], 1.0, -1.0)

    grid = np.linspace(b_mean - 12 * b_variance**0.5, b_mean + 12 * b_variance**0.5, 8001)
    t = (z * (m - grid[:, None]) - 1.0) / np.sqrt(u)  # (grid, q)
    density = np.exp(norm.logpdf(grid, b_mean, np.sqrt(b_variance)) + log_ndtr(t).sum(1))
    density /= density.sum()
    score = m + z * np.sqrt(u) * np.exp(norm.logpdf(t) - log_ndtr(t))  # mean of each score given the bias
    exact_mean = density @ grid
    exact_variance = density @ (grid - exact_mean) ** 2
    exact_score = density @ score  # (q,)

    model.partial_fit(x, y)
    after_mean, after_variance = model.state_.arrays()["bias"][0]
    assert_allclose(after_mean, exact_mean, atol=1e-2 * exact_variance**0.5)
    assert_allclose(after_variance, exact_variance, rtol=0.05)
    after, _ = model.state_.weights_of(np.arange(2))
    exact_weights = weights + spread * x.T * (exact_score - m) / u
    assert np.all(np.abs(after - exact_weights) < 1e-2 * np.sqrt(spread))


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_one_row_moves_the_weights_as_importance_sampling_says(coupling):
    rng, q, n = np.random.default_rng(7), 4, 400_000
    x, y = np.array([0.8, -0.6]), np.array([True, False, coupling == "pairwise", False])
    weights = rng.normal(size=(n, 2, q))
    scores = np.einsum("j,njc->nc", x, weights) + rng.normal(size=(n, q))
    if coupling in ("global", "independent"):
        bias = rng.normal(size=(n, 1 if coupling == "global" else q))
        keep = np.all(np.where(y, 1, -1) * (scores - bias) > 0.2, axis=1)
    else:
        keep = np.all(scores[:, y].min(1, keepdims=True) - scores[:, ~y] > 0.2, axis=1)
    assert keep.sum() > 10_000
    model = exact(coupling, margin=0.2, skew_margin=False, bias_variance=1.0).partial_fit(x[None], y[None])
    mean, variance = model.state_.weights_of(np.arange(2))
    error = 4 * weights[keep].std(0) / np.sqrt(keep.sum())
    slack = 0.03 if coupling == "pairwise" else 0.01  # loops: EP itself is off by .025 sd
    assert np.all(np.abs(mean - weights[keep].mean(0)) < error + slack)
    assert_allclose(variance, weights[keep].var(0), rtol=0.04 + 4 * np.sqrt(2 / keep.sum()))


def test_two_classes_are_one_truncation_and_exact():
    x, y = np.array([[1.0, 2.0]]), np.array([[False, True]])
    mean, variance = exact("multiclass", margin=0.5).partial_fit(x, y).state_.weights_of(np.arange(2))
    total = 2 * (5 + 1.0)  # variance of the difference of the two scores
    t = -0.5 / np.sqrt(total)
    V = norm.pdf(t) / ndtr(t)
    assert_allclose(mean[:, 1], x[0] * V / np.sqrt(total))
    assert_allclose(mean[:, 0], -mean[:, 1])
    assert_allclose(variance, (1 - x[0] ** 2 * V * (V + t) / total)[:, None] * np.ones(2))


def test_default_tolerance_and_float32_stay_near_the_fixed_point():
    X, Y = stream(n=40, q=12, seed=8)
    fixed_point = exact().partial_fit(X, Y).posterior(X).scores()
    everyday = OnlineBayes(normalize=None, local_bias=False).partial_fit(X, Y).posterior(X).scores()
    assert np.all(np.abs(everyday[0] - fixed_point[0]) < 0.02 * np.sqrt(fixed_point[1]))
    assert_allclose(everyday[1], fixed_point[1], rtol=0.01)


# ---- margins and counts


def test_rare_labels_have_to_win_by_more():
    def moved(answer, prior):
        model = exact("independent", label_prior=prior).partial_fit(np.ones((1, 1)), [[answer]])
        return model.state_.weights_of(np.array([0]))[0].item()

    def expected(edge):  # weight, bias and noise of variance 1 each
        t = -edge / np.sqrt(3.0)
        return norm.pdf(t) / ndtr(t) / np.sqrt(3.0)

    rare, common = (1.0, 99.0), (50.0, 50.0)
    assert_allclose(moved(1, rare), expected(np.log(np.e + 99 / 2)))  # the answer itself counts too
    assert_allclose(moved(1, common), expected(np.log(np.e + 50 / 51)))
    assert_allclose(moved(0, rare), -expected(1.0))
    assert moved(1, rare) > moved(1, common)


def test_a_label_that_is_always_there_has_the_plain_margin_and_one_never_there_stays_finite():
    X = np.random.default_rng(0).normal(size=(30, 2))
    Y = np.column_stack([np.ones(30), np.zeros(30)])
    for coupling in ("global", "independent"):
        skewed, plain = (exact(coupling, skew_margin=on).partial_fit(X, Y) for on in (True, False))
        assert_array_equal(skewed.predict_proba(X), plain.predict_proba(X))  # no positives of the second, no negatives
        p = OnlineBayes(coupling).partial_fit(X, Y).predict_proba(X)
        assert np.all(p[:, 0] > 0.9)
        assert np.all((p[:, 1] > 0) & (p[:, 1] < 0.1))


def test_fit_counts_before_it_learns_and_goes_through_the_rows_in_random_order():
    X, Y = stream(n=3, q=3, seed=9)
    counts = np.array([(~Y).sum(0), Y.sum(0)])
    orders = []
    for order in itertools.permutations(range(3)):
        rival = ComparisonStream("global", 3, 3)
        for i in order:
            rival.counts = counts - np.array([~Y[i], Y[i]])  # it counts the row it learns itself
            rival.learn(X[i], Y[i], np.ones(3, bool))
        orders.append(rival.scores(X)[0])
    found = set()
    for seed in range(12):
        mean = exact(random_state=seed).fit(X, Y).posterior(X).scores()[0]
        match = [k for k, other in enumerate(orders) if np.allclose(mean, other, rtol=1e-8, atol=1e-8)]
        assert len(match) == 1
        found.update(match)
    assert len(found) > 2


# ---- invariants


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_permuting_labels_permutes_results(coupling):
    X, Y = stream(coupling, q=5, seed=10)
    order = np.array([3, 0, 4, 1, 2])
    mean, variance = exact(coupling).partial_fit(X, Y).posterior(X).scores()
    permuted = exact(coupling).partial_fit(X, Y[:, order]).posterior(X).scores()
    assert_allclose(permuted[0], mean[:, order], rtol=1e-8, atol=1e-8)
    assert_allclose(permuted[1], variance[:, order], rtol=1e-8)


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("settings", [{}, {"half_life": 4.0}, {"hash_features": 8}])
def test_rows_one_by_one_equal_one_batch(coupling, settings):
    X, Y = stream(coupling, n=12, seed=11)
    together = OnlineBayes(coupling, **settings).partial_fit(X, Y)
    one_by_one = OnlineBayes(coupling, **settings)
    for x, y in zip(X, Y, strict=True):
        one_by_one.partial_fit(x[None], y[None])
    assert_array_equal(one_by_one.predict_proba(X), together.predict_proba(X))
    assert one_by_one.n_seen_ == together.n_seen_ == 12


def test_variances_never_grow_and_signs_are_symmetric():
    X, Y = stream(n=15, seed=12)
    model, opposite = exact(skew_margin=False), exact(skew_margin=False)
    variance = np.ones((3, 4))
    for x, y in zip(X, Y, strict=True):
        after = model.partial_fit(x[None], y[None]).state_.weights_of(np.arange(3))[1]
        assert np.all(after <= variance)
        assert np.all(after > 0)
        variance = after
        opposite.partial_fit(x[None], ~y[None])
    assert_allclose(opposite.posterior(X).scores()[0], -model.posterior(X).scores()[0], rtol=1e-8, atol=1e-10)


def test_only_ratios_to_the_weight_variance_matter():
    X, Y = stream(seed=13)
    model = exact("independent").partial_fit(X, Y)
    scaled = exact("independent", weight_variance=1 / 9).partial_fit(3 * X, Y)
    assert_allclose(scaled.predict_proba(3 * X), model.predict_proba(X), rtol=1e-9)


def test_unit_rows_by_default_whatever_their_length():
    X, Y = stream(seed=14)
    lengths = np.linspace(0.01, 100, len(X))[:, None]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    by_hand = OnlineBayes(normalize=None, dtype="float64").partial_fit(unit, Y).predict_proba(unit)
    assert_allclose(OnlineBayes(dtype="float64").partial_fit(X * lengths, Y).predict_proba(X), by_hand, rtol=1e-9)


def test_independent_is_a_model_per_label_and_global_with_one_label():
    X, Y = stream(seed=15)
    together = exact("independent").partial_fit(X, Y).predict_proba(X)
    for c in range(4):
        for coupling in ("independent", "global"):
            alone = exact(coupling, bias_variance=1.0).partial_fit(X, Y[:, [c]])
            assert_allclose(alone.predict_proba(X), together[:, [c]], rtol=1e-9)


def test_blocks_are_separate_models_and_threads_change_nothing():
    X, Y = stream(n=20, q=40, seed=16)
    blocks = exact(block_size=16).partial_fit(X, Y).predict_proba(X)
    for start in (0, 16, 32):
        own = exact().partial_fit(X, Y[:, start : start + 16]).predict_proba(X)
        assert_allclose(blocks[:, start : start + 16], own, rtol=1e-8)
    threads = exact(block_size=16, n_jobs=2).partial_fit(X, Y).predict_proba(X)
    assert_array_equal(threads, blocks)


# ---- forgetting


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_forgetting_decays_natural_parameters_towards_the_prior(coupling):
    X, Y = stream(coupling, seed=17)
    X[::2, 0] = 0  # a feature that is not always there is forgotten all the same
    rival = ComparisonStream(coupling, 3, 4, half_life=3.0, local_bias=coupling != "independent").learn_all(X, Y)
    model = exact(coupling, half_life=3.0, local_bias=True).partial_fit(sp.csr_array(X), Y)
    assert_same_beliefs(model, rival, X)


def test_what_is_long_ago_is_forgotten_and_half_of_it_after_a_half_life():
    first, other = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    model = exact("independent", half_life=10.0).partial_fit(first, [[1]])
    mean, variance = (value[0, 0] for value in model.state_.weights_of(np.array([0])))
    for _ in range(10):
        model.partial_fit(other, [[0]])
    later_mean, later_variance = (value[0, 0] for value in model.state_.weights_of(np.array([0])))
    assert_allclose(later_mean / later_variance, 0.5 * mean / variance)
    assert_allclose(1 / later_variance - 1, 0.5 * (1 / variance - 1))
    model.partial_fit(np.repeat(other, 400, axis=0), np.zeros((400, 1)))
    later_mean, later_variance = model.state_.weights_of(np.array([0]))
    assert_allclose(later_mean, 0, atol=1e-10)
    assert_allclose(later_variance, 1, atol=1e-10)
    endless = exact("independent", half_life=1e15).partial_fit(first, [[1]]).predict_proba(first)
    assert_allclose(endless, exact("independent").partial_fit(first, [[1]]).predict_proba(first), rtol=1e-12)
