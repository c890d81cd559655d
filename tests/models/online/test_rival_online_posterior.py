"""Beliefs, growth, files and odd input of `OnlineBayes`, from outside: only what is documented."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import ndtr, ndtri
from scipy.stats import norm
from sklearn.exceptions import NotFittedError

from comparison_ep import COUPLINGS, ComparisonStream, exact, stream
from labelwise import OnlineBayes

# ---- beliefs


@pytest.mark.parametrize("coupling", ["global", "independent"])
def test_probabilities_include_the_noise(coupling):
    X, Y = stream(coupling, n=5)
    model = exact(coupling, score_noise=0.7, local_bias=True).partial_fit(X, Y)
    rival = ComparisonStream(coupling, 3, 4, score_noise=0.7, local_bias=coupling == "global").learn_all(X, Y)
    mean, variance = rival.scores(X)
    assert_allclose(model.predict_proba(X), ndtr(mean / np.sqrt(variance + 0.49)), rtol=1e-8)


def test_probability_of_a_class_is_the_chance_that_its_score_is_the_largest():
    X, Y = stream("multiclass", d=2, q=3)
    model = exact("multiclass", score_noise=0.5).partial_fit(X, Y)
    mean, variance = ComparisonStream("multiclass", 2, 3, score_noise=0.5).learn_all(X, Y).scores(X)
    p = model.predict_proba(X)
    assert_allclose(p.sum(1), 1)
    for i in range(3):
        scale = np.sqrt(variance[i] + 0.25)
        for c in range(3):
            others = [k for k in range(3) if k != c]
            area = quad(
                lambda f, c=c, i=i, scale=scale, others=others: (
                    norm.pdf(f, mean[i, c], scale[c]) * np.prod(ndtr((f - mean[i, others]) / scale[others]))
                ),
                -15,
                15,
                points=list(mean[i]),
            )[0]
            assert p[i, c] == pytest.approx(area, abs=1e-6)


def test_a_great_noise_leaves_everything_open():
    X, Y = stream()
    assert_allclose(exact(score_noise=1e4).partial_fit(X, Y).predict_proba(X), 0.5, atol=1e-2)


@pytest.mark.parametrize("coupling", ["global", "independent"])
def test_draws_have_the_mean_spread_and_dependence_of_the_beliefs(coupling):
    X, Y = stream(coupling, q=3, seed=1)
    model = exact(coupling, bias_variance=2.0, score_noise=2.0).partial_fit(X, Y)
    beliefs = model.posterior(X[:2])
    mean, variance = beliefs.scores()
    draws = beliefs.sample_probabilities(10_000, np.random.default_rng(0))  # (s, 2, 3)
    assert_allclose(draws.mean(0), beliefs.probabilities(), atol=0.01)
    scores = 2.0 * ndtri(draws.astype(float))
    assert np.all(np.abs(scores.mean(0) - mean) < 5 * np.sqrt(variance / 10_000))
    assert_allclose(scores.var(0), variance, rtol=0.07)
    spread = model.state_.weights_of(np.arange(3))[1]  # (3, 3)
    bias = variance - X[:2] ** 2 @ spread  # (2, 3)
    between_items = np.cov(scores[:, 0, 0], scores[:, 1, 0])[0, 1]
    assert between_items == pytest.approx(X[0] * X[1] @ spread[:, 0] + bias[0, 0], abs=0.05)
    between_labels = np.cov(scores[:, 0, 0], scores[:, 0, 1])[0, 1]
    assert between_labels == pytest.approx(bias[0, 0] if coupling == "global" else 0.0, abs=0.05)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_drawn_label_sets_have_the_probabilities_as_their_means(coupling):
    X, Y = stream(coupling, seed=2)
    beliefs = OnlineBayes(coupling).partial_fit(X, Y).posterior(X)
    sets = beliefs.sample_labels(8000, np.random.default_rng(1))
    assert_allclose(sets.mean(0), beliefs.probabilities(), atol=0.03)
    if coupling == "multiclass":
        assert_array_equal(sets.sum(2), 1)


def test_draws_are_the_same_weights_for_every_block_of_items():
    X, Y = stream(seed=3)
    beliefs = OnlineBayes().partial_fit(X, Y).posterior(X)
    whole = beliefs.sample_probabilities(5, np.random.default_rng(4))
    parts = [part.sample_probabilities(5, np.random.default_rng(4)) for _, part in beliefs.blocks(3)]
    assert_allclose(np.concatenate(parts, axis=1), whole, rtol=1e-6)


# ---- what turns up in mid-stream


@pytest.mark.parametrize("coupling", ["global", "independent", "pairwise"])
def test_a_label_that_turns_up_was_at_the_prior_and_unanswered_before(coupling):
    X, Y = stream(coupling, n=20, q=5, seed=4)
    observed = np.ones(Y.shape, bool)
    observed[:8, 3:] = False
    told = exact(coupling, local_bias=True).partial_fit(X, Y, observed)
    grown = exact(coupling, local_bias=True).partial_fit(X[:8], Y[:8, :3]).partial_fit(X[8:], Y[8:])
    assert_allclose(grown.predict_proba(X), told.predict_proba(X), rtol=1e-9)
    assert_allclose(grown.label_shares_, [*Y[:, :3].mean(0), *Y[8:, 3:].mean(0)])


def test_a_label_that_turns_up_is_learnt():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1200, 4))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.5])
    model = OnlineBayes().partial_fit(X[:500], Y[:500, :1]).partial_fit(X[500:1000], Y[500:1000])
    p = model.predict_proba(X[1000:])
    assert np.mean((p[:, 1] > 0.5) == Y[1000:, 1]) > 0.9
    assert np.mean((p[:, 0] > 0.5) == Y[1000:, 0]) > 0.9


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_features_that_turn_up_were_zero_before(coupling):
    X, Y = stream(coupling, d=6, seed=6)
    X[:5, 4:] = 0
    known = exact(coupling).partial_fit(sp.csr_array(X), Y)
    grown = exact(coupling).partial_fit(sp.csr_array(X[:5, :4]), Y[:5]).partial_fit(sp.csr_array(X[5:]), Y[5:])
    assert_allclose(grown.predict_proba(sp.csr_array(X)), known.predict_proba(X), rtol=1e-12)


def test_features_never_seen_only_widen_the_doubt():
    X, Y = stream(seed=7)
    model = exact("independent").partial_fit(sp.csr_array(X), Y)
    mean, variance = model.posterior(sp.csr_array(X)).scores()
    wider = sp.csr_array(np.column_stack([X, np.full(len(X), 3.0)]))
    wide_mean, wide_variance = model.posterior(wider).scores()
    assert_allclose(wide_mean, mean, rtol=1e-12, atol=1e-12)
    assert_allclose(wide_variance, variance + 9.0, rtol=1e-12)


def test_one_index_far_out_is_refused_instead_of_filling_memory():
    far = sp.csr_array((np.ones(1), ([0], [10**9])), shape=(1, 10**9 + 1))
    near = sp.csr_array(np.eye(1, 3))
    model = OnlineBayes()
    with pytest.raises(ValueError, match=r"1,000,000,001 columns.*hash_features"):
        model.partial_fit(far, [[1, 0]])
    model.partial_fit(near, [[1, 0]])
    with pytest.raises(ValueError, match="hash_features"):
        model.partial_fit(far, [[1, 0]])
    assert model.partial_fit(near, [[0, 1]]).n_seen_ == 2
    assert np.all(np.isfinite(model.predict_proba(far)))
    assert OnlineBayes(hash_features=16).partial_fit(far, [[1, 0]]).n_seen_ == 1


def test_hashed_features_may_have_any_index():
    X, Y = stream(n=30, d=40, seed=8)
    columns = np.random.default_rng(0).choice(2**40, size=40, replace=False)
    columns.sort()
    sparse = sp.csr_array(X)
    far = sp.csr_array((sparse.data, columns[sparse.indices], sparse.indptr), shape=(30, 2**40))
    model = OnlineBayes(hash_features=64).partial_fit(far, Y)
    p = model.predict_proba(far)
    assert np.all((p > 0) & (p < 1))
    assert np.corrcoef(p.ravel(), Y.ravel())[0, 1] > 0.5
    assert len(model.state_.arrays()["features"]) <= 64


# ---- files


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("settings", [{}, {"half_life": 5.0, "dtype": "float64"}, {"hash_features": 8}])
def test_a_loaded_model_believes_and_goes_on_as_the_saved_one(coupling, settings, tmp_path):
    X, Y = stream(coupling, n=20, seed=9)
    model = OnlineBayes(coupling, label_prior=(1.0, 5.0), **settings).partial_fit(X[:12], Y[:12])
    model.save(tmp_path / "model.npz")
    loaded = OnlineBayes.load(tmp_path / "model.npz")
    assert loaded.get_params() == model.get_params()
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert_array_equal(loaded.label_shares_, model.label_shares_)
    for each in (model, loaded):
        each.partial_fit(X[12:], Y[12:])
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.n_seen_ == 20


def test_wrong_files_are_refused_by_name(tmp_path):
    junk = tmp_path / "junk.npz"
    junk.write_text("this is no model")
    with pytest.raises(ValueError, match=r"junk\.npz is no labelwise"):
        OnlineBayes.load(junk)
    whole = tmp_path / "whole.npz"
    OnlineBayes().partial_fit(np.eye(3), np.eye(3)).save(whole)
    cut = tmp_path / "cut.npz"
    cut.write_bytes(whole.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"cut\.npz is no labelwise"):
        OnlineBayes.load(cut)
    with pytest.raises(FileNotFoundError, match=r"absent\.npz"):
        OnlineBayes.load(tmp_path / "absent.npz")
    with pytest.raises(NotFittedError):
        OnlineBayes().save(tmp_path / "unfitted.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.npz", "junk.npz", "whole.npz"]


# ---- odd input


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_form_of_the_input_does_not_matter(coupling):
    rng = np.random.default_rng(10)
    X = rng.integers(-2, 3, size=(12, 4))
    _, Y = stream(coupling, n=12, seed=11)
    expected = OnlineBayes(coupling).partial_fit(X.astype(float), Y).predict_proba(X.astype(float))
    forms = [
        X,
        X.astype(np.float32),
        X.tolist(),
        np.asfortranarray(X),
        sp.csr_array(X),
        sp.coo_array(X),
        sp.csc_matrix(X),
    ]
    for form in forms:
        p = OnlineBayes(coupling).partial_fit(form, sp.csr_array(Y)).predict_proba(form)
        assert_allclose(p, expected, rtol=1e-6)


def test_duplicate_unsorted_and_explicit_zero_entries_of_sparse_rows_are_those_of_the_matrix():
    X, Y = stream(n=2, d=4, seed=12)
    X[:, 1] = 0
    data = np.array([*X[0, [3, 0]], 5.0, X[0, 2] - 1, 1.0, -5.0, *X[1, [2, 1, 0, 3]]])
    indices = np.array([3, 0, 1, 2, 2, 1, 2, 1, 0, 3])
    messy = sp.csr_array((data, indices, [0, 6, 10]), shape=(2, 4))
    assert_allclose(messy.toarray(), X)
    expected = OnlineBayes(half_life=2.0).partial_fit(X, Y)
    model = OnlineBayes(half_life=2.0).partial_fit(messy, Y)
    assert_allclose(model.predict_proba(messy), expected.predict_proba(X), rtol=1e-5)
    assert_array_equal(messy.indices, indices)  # what was given is left as it was
    assert_array_equal(messy.data, data)


@pytest.mark.parametrize("score_noise", [1.0, 0.01, 0.0])
def test_rows_without_features_move_the_bias_alone(score_noise):
    X, Y = stream(seed=13)
    model = exact(score_noise=score_noise, skew_margin=False).partial_fit(X, Y)
    weights = model.state_.weights_of(np.arange(3))
    before = model.predict_proba(np.zeros((1, 3)))
    model.partial_fit(np.zeros((3, 3)), np.ones((3, 4)))
    for now, then in zip(model.state_.weights_of(np.arange(3)), weights, strict=True):
        assert_array_equal(now, then)
    after = model.predict_proba(np.zeros((1, 3)))
    assert np.all(after > before)
    assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_empty_rows_that_contradict_each_other_without_noise_leave_numbers(coupling):
    model = OnlineBayes(coupling, score_noise=0.0, local_bias=False)
    model.partial_fit(np.zeros((2, 3)), np.eye(2)).partial_fit(np.eye(2, 3), np.eye(2))
    assert np.all(np.isfinite(model.predict_proba(np.vstack([np.eye(3), np.zeros((1, 3))]))))


def test_a_stream_without_any_feature_learns_how_common_labels_are():
    Y = np.random.default_rng(14).random((300, 2)) < [0.7, 0.1]
    p = OnlineBayes("independent", skew_margin=False, margin=0.0).partial_fit(np.zeros((300, 3)), Y)
    p = p.predict_proba(np.zeros((1, 3)))[0]
    assert_allclose(p, Y.mean(0), atol=0.12)


def test_an_unanswered_row_changes_nothing():
    X, Y = stream(seed=15)
    for settings in ({}, {"half_life": 3.0}):
        model = OnlineBayes(**settings).partial_fit(X, Y)
        p = model.predict_proba(X)
        model.partial_fit(X[:1], np.full((1, 4), np.nan))
        assert_array_equal(model.predict_proba(X), p)
        observed = np.ones(Y.shape, bool)
        observed[[0, 5]] = False
        left_out = OnlineBayes(**settings).partial_fit(np.delete(X, [0, 5], 0), np.delete(Y, [0, 5], 0))
        assert_array_equal(
            OnlineBayes(**settings).partial_fit(X, Y, observed).predict_proba(X), left_out.predict_proba(X)
        )


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_features_that_are_no_numbers_are_refused_and_leave_the_model_as_it_was(bad):
    X, Y = stream(seed=16)
    model = OnlineBayes().partial_fit(X, Y)
    p = model.predict_proba(X)
    wrong = X.copy()
    wrong[3, 1] = bad
    for form in (wrong, sp.csr_array(wrong)):
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            model.partial_fit(form, Y)
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            model.predict_proba(form)
    assert_array_equal(model.predict_proba(X), p)


@pytest.mark.parametrize("value", [1e25, 1e300])
def test_features_too_large_for_the_weights_are_scaled_or_refused_never_nan(value):
    X, Y = stream(seed=17)
    huge = X.copy()
    huge[4] *= value
    scaled = OnlineBayes().partial_fit(huge, Y).predict_proba(huge)  # unit rows: their length does not matter
    assert_allclose(scaled, OnlineBayes().partial_fit(X, Y).predict_proba(X), rtol=1e-4)
    model = OnlineBayes(normalize=None).partial_fit(X, Y)
    p = model.predict_proba(X)
    with pytest.raises(ValueError, match="normalize"):
        model.partial_fit(huge, Y)
    with pytest.raises(ValueError, match="normalize"):
        model.predict_proba(huge)
    assert_array_equal(model.predict_proba(X), p)


def test_wrong_answers_and_shapes_are_refused_with_the_cure():
    X, Y = stream(seed=18)
    model = OnlineBayes().partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"0 and 1 .*got 2\.0"):
        model.partial_fit(X, 2.0 * Y)
    with pytest.raises(ValueError, match=r"0 and 1 .*got inf"):
        model.partial_fit(X, np.where(Y, np.inf, 0))
    with pytest.raises(ValueError, match="3 labels, but the model was fitted with 4"):
        model.partial_fit(X, Y[:, :3])
    with pytest.raises(ValueError, match="at most 200 labels"):
        OnlineBayes("pairwise").partial_fit(X[:1], np.zeros((1, 201)))
    with pytest.raises(ValueError, match=r"exactly one label per row, row 1 has 2; use coupling='global'"):
        OnlineBayes("multiclass").partial_fit(X[:2], [[1, 0], [1, 1]])
    with pytest.raises(ValueError, match="margin=0"):
        OnlineBayes(flip_probability=0.1).partial_fit(X, Y)
