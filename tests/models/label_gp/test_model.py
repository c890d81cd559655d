"""LabelGP against refitting by hand: masks, rows left out, answers in pieces, the large regime and awkward data."""

import pickle
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from labelwise.decisions import Threshold
from labelwise.models.label_gp import LabelGP
from labelwise.models.label_gp import posterior as solving
from labelwise.numerics.feature_scaling import learn_scaling
from labelwise.numerics.gp.feature_solver import FeatureSolver
from labelwise.numerics.gp.kernel_solver import IterativeSolver, KernelSolver

FIXED = {"noise_ratio": 0.5, "scale": "none"}
LINEAR = LabelGP("linear", **FIXED)
MIXED = LabelGP("rbf+linear", length_scale=1.2, linear_share=0.3, **FIXED)


def problem(n=40, d=4, q=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X @ rng.normal(size=(d, q))) + 0.4 * rng.normal(size=(n, q)) > np.linspace(-0.2, 0.8, q)
    return X, Y


def masked(n=40, seed=0):
    """Whole items first, then single answers; the last label hardly answered."""
    X, Y = problem(n, seed=seed)
    observed = np.random.default_rng(seed).random(Y.shape) < 0.4
    observed[: n // 3] = True
    observed[:, 4] &= np.arange(n) < 6
    return X, Y, observed


def beliefs(model, X):
    posterior = model.posterior(X)
    return np.stack([posterior.means(), posterior.variances(), posterior.probabilities()])


# ---- the regression ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [LINEAR, MIXED], ids=["linear", "rbf+linear"])
def test_each_label_is_regressed_on_its_own_rows(model):
    X, Y, observed = masked()
    X_new = problem(seed=1)[0]
    posterior = clone(model).fit(X, Y, observed=observed).posterior(X_new)
    for j in range(5):
        rows = observed[:, j]
        alone = clone(model).fit(X[rows], Y[rows, j : j + 1]).posterior(X_new)
        np.testing.assert_allclose(posterior.means()[:, j], alone.means()[:, 0], atol=1e-10)
        np.testing.assert_allclose(posterior.variances()[:, j], alone.variances()[:, 0], atol=1e-10)


@pytest.mark.parametrize("model", [LINEAR, MIXED], ids=["linear", "rbf+linear"])
@pytest.mark.parametrize("masks", [False, True])
def test_leaving_one_out_is_fitting_without_it(model, masks):
    X, Y, observed = masked(n=18)
    observed[:, 0] = True  # no row without an answer
    if not masks:
        observed[:] = True
    means, variances = clone(model).fit(X, Y, observed=observed).leave_one_out()
    scales = clone(model).fit(X, Y, observed=observed)._fitted.label_scales
    np.testing.assert_array_equal(np.isnan(means), ~observed)
    for i in range(18):
        hidden = observed.copy()
        hidden[i] = False
        rest = clone(model).fit(X, Y, observed=hidden)
        posterior = rest.posterior(X[i : i + 1])
        np.testing.assert_allclose(means[i, observed[i]], posterior.means()[0, observed[i]], atol=1e-9)
        left = posterior.variances()[0] / rest._fitted.label_scales + 0.5  # in units of the kernel, with noise
        np.testing.assert_allclose((variances[i] / scales)[observed[i]], left[observed[i]], atol=1e-9)


def test_hidden_entries_and_the_order_of_labels_do_not_matter():
    X, Y, observed = masked()
    model = LabelGP(random_state=0).fit(X, Y, observed=observed)
    hidden = LabelGP(random_state=0).fit(X, Y ^ ~observed, observed=observed)
    np.testing.assert_array_equal(hidden.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(hidden.thresholds_, model.thresholds_)
    order = np.array([3, 1, 4, 0, 2])
    permuted = LabelGP(random_state=0).fit(X, Y[:, order], observed=observed[:, order])
    np.testing.assert_allclose(beliefs(permuted, X), beliefs(model, X)[:, :, order], atol=1e-10)
    np.testing.assert_allclose(permuted.thresholds_, model.thresholds_[order])
    np.testing.assert_allclose(
        permuted.posterior(X).label_covariances().dense(),
        model.posterior(X).label_covariances().dense()[:, order][:, :, order],
        atol=1e-8,
    )


# ---- answers in pieces ---------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.lists(st.integers(1, 39), min_size=1, max_size=4), st.booleans())
def test_in_pieces_as_at_once(seed, cuts, linear):
    X, Y, observed = masked(seed=seed)
    observed[np.arange(40), np.arange(40) % 4] = True  # no row without an answer
    model = LINEAR if linear else MIXED
    whole = clone(model).fit(X, Y, observed=observed)
    edges = [0, *sorted(set(cuts)), 40]
    pieces = clone(model)
    for start, stop in pairwise(edges):
        assert pieces.partial_fit(X[start:stop], Y[start:stop], observed=observed[start:stop]) is pieces
    np.testing.assert_allclose(beliefs(pieces, X), beliefs(whole, X), atol=1e-8)
    np.testing.assert_allclose(pieces.thresholds_, whole.thresholds_)
    np.testing.assert_allclose(pieces.leave_one_out(), whole.leave_one_out(), atol=1e-8)
    np.testing.assert_allclose(pieces._fitted.correlation.dense(), whole._fitted.correlation.dense(), atol=1e-7)
    columns = np.array([0, 5])
    np.testing.assert_allclose(
        pieces.posterior(X).item_covariance().columns(columns),
        whole.posterior(X).item_covariance().columns(columns),
        atol=1e-8,
    )


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_single_answers_about_known_items_are_put_to_them(kind):
    X, Y = problem()
    observed = np.zeros(Y.shape, dtype=bool)
    observed[:15] = True
    model = clone(MIXED).fit(kind(X), Y, observed=observed)
    rng = np.random.default_rng(0)
    rows, labels = rng.permutation(np.argwhere(~observed))[:60].T
    for part in np.array_split(np.arange(60), 7):
        single = np.zeros((part.size, 5), dtype=bool)
        single[np.arange(part.size), labels[part]] = True
        model.partial_fit(kind(X[rows[part]]), Y[rows[part]], observed=single)
    observed[rows, labels] = True
    whole = clone(MIXED).fit(kind(X), Y, observed=observed)
    assert model.n_items_ == whole.n_items_ == observed.any(axis=1).sum()
    np.testing.assert_allclose(beliefs(model, kind(X)), beliefs(whole, kind(X)), atol=1e-8)


def test_the_same_question_asked_twice_counts_twice():
    X, Y = problem(n=10)
    model = clone(LINEAR).fit(X, Y)
    again = clone(LINEAR).fit(np.vstack([X, X[:1]]), np.vstack([Y, ~Y[:1]]))
    model.partial_fit(X[:1], ~Y[:1])
    assert model.n_items_ == 11
    np.testing.assert_allclose(beliefs(model, X), beliefs(again, X), atol=1e-10)


def test_scaling_and_hyper_parameters_stay_while_answers_are_added():
    X, Y = problem(n=60)
    model = LabelGP(random_state=0).fit(X[:30], Y[:30])
    kernel, noise = model.kernel_, model.noise_ratio_
    model.partial_fit(X[30:] * 7 + 3, Y[30:])
    assert (model.kernel_, model.noise_ratio_) == (kernel, noise)
    scaling = learn_scaling(X[:30], "auto")
    prepared = np.vstack([scaling(X[:30]), scaling(X[30:] * 7 + 3)])
    share = None if kernel.linear in (0, 1) else kernel.linear
    name = {0.0: "rbf", 1.0: "linear"}.get(kernel.linear, "rbf+linear")
    by_hand = LabelGP(name, scale="none", noise_ratio=noise, length_scale=kernel.length_scale, linear_share=share)
    by_hand.fit(prepared, Y)
    np.testing.assert_allclose(model.predict_proba(X), by_hand.predict_proba(scaling(X)), atol=1e-8)


def test_a_posterior_does_not_change_when_the_model_learns_more():
    X, Y, observed = masked()
    model = clone(MIXED).fit(X[:30], Y[:30], observed=observed[:30])
    early = model.posterior(X)
    before = beliefs(clone(MIXED).fit(X[:30], Y[:30], observed=observed[:30]), X)
    model.partial_fit(X[30:], Y[30:], observed=observed[30:])
    np.testing.assert_allclose(np.stack([early.means(), early.variances(), early.probabilities()]), before, atol=1e-12)


# ---- the large regime ----------------------------------------------------------------------------------------------


def solver_of(model):
    return type(model._fitted.solver)


@pytest.mark.parametrize("masks", [False, True])
def test_feature_space_is_kernel_space_for_a_linear_kernel(masks, monkeypatch):
    X, Y, observed = masked()
    if not masks:
        observed[:] = True
    features = clone(LINEAR).fit(X, Y, observed=observed)
    assert solver_of(features) is FeatureSolver
    monkeypatch.setattr(solving, "MAX_NUMBERS", 0)  # no room for features
    monkeypatch.setattr(solving, "exact_is_affordable", lambda observed: True)
    kernels = clone(LINEAR).fit(X, Y, observed=observed)
    assert solver_of(kernels) is KernelSolver
    np.testing.assert_allclose(beliefs(features, X), beliefs(kernels, X), atol=1e-9)
    np.testing.assert_allclose(features.leave_one_out(), kernels.leave_one_out(), atol=1e-9)
    a, b = features.posterior(X).item_covariance(), kernels.posterior(X).item_covariance()
    np.testing.assert_allclose(a.columns(np.arange(40)), b.columns(np.arange(40)), atol=1e-9)
    np.testing.assert_allclose(a.diagonal(), b.diagonal(), atol=1e-9)


def test_many_rows_go_through_inducing_rows():
    X, Y = problem(n=300, d=2)
    exact = clone(MIXED).fit(X, Y)
    large = clone(MIXED).set_params(max_exact=100, n_inducing=80, random_state=0).fit(X, Y)
    assert (solver_of(exact), solver_of(large)) == (KernelSolver, FeatureSolver)
    assert np.abs(large.predict_proba(X) - exact.predict_proba(X)).mean() < 0.02
    assert np.abs(large.posterior(X).variances() - exact.posterior(X).variances()).mean() < 0.02


def test_a_model_that_outgrows_kernel_space_goes_on_in_feature_space():
    X, Y = problem(n=120, d=2)
    model = clone(MIXED).set_params(max_exact=100, n_inducing=90, random_state=0)
    model.fit(X[:90], Y[:90])
    assert solver_of(model) is KernelSolver
    model.partial_fit(X[90:], Y[90:])
    assert solver_of(model) is FeatureSolver
    exact = clone(MIXED).fit(X, Y)
    assert np.abs(model.predict_proba(X) - exact.predict_proba(X)).mean() < 0.01
    posterior = model.partial_fit(X[:5], Y[:5]).posterior(X)
    assert posterior.means().shape == (120, 5)


def test_conjugate_gradients_give_the_means_of_the_factors(monkeypatch):
    X, Y, observed = masked(n=60)
    exact = clone(MIXED).fit(X, Y, observed=observed)
    monkeypatch.setattr(solving, "exact_is_affordable", lambda observed: False)
    iterative = clone(MIXED).fit(X[:50], Y[:50], observed=observed[:50])
    assert solver_of(iterative) is IterativeSolver
    iterative.partial_fit(X[50:], Y[50:], observed=observed[50:])
    assert solver_of(iterative) is IterativeSolver
    np.testing.assert_allclose(iterative.posterior(X).means(), exact.posterior(X).means(), atol=1e-6)
    assert np.abs(iterative.predict_proba(X) - exact.predict_proba(X)).max() < 0.02  # 50 rows are inducing


# ---- probabilities -------------------------------------------------------------------------------------------------


def test_probabilities_are_calibrated_and_beat_the_raw_mean():
    X, Y = problem(n=900, seed=4)
    X, X_new, Y, Y_new = X[:200], X[200:], Y[:200], Y[200:]
    posterior = LabelGP(random_state=0).fit(X, Y).posterior(X_new)
    p, raw = posterior.probabilities(), np.clip(posterior.means(), 1e-3, 1 - 1e-3)
    assert log_loss(Y_new.ravel(), p.ravel()) < log_loss(Y_new.ravel(), raw.ravel())
    for low, high in [(0.05, 0.3), (0.3, 0.7), (0.7, 0.95)]:
        inside = (p > low) & (p < high)
        assert abs(p[inside].mean() - Y_new[inside].mean()) < 0.08
    linear = [LogisticRegression(C=10).fit(X, Y[:, j]).predict_proba(X_new)[:, 1] for j in range(5)]
    assert roc_auc_score(Y_new, p) > roc_auc_score(Y_new, np.array(linear).T)


def test_probabilities_rise_with_the_mean():
    X, Y, observed = masked()
    posterior = LabelGP(random_state=0).fit(X, Y, observed=observed).posterior(problem(n=200, seed=9)[0])
    order = np.argsort(posterior.means(), axis=0)
    assert np.all(np.diff(np.take_along_axis(posterior.probabilities(), order, axis=0), axis=0) >= 0)


def test_tuned_thresholds_find_more_of_rare_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 6))
    Y = X @ rng.normal(size=(6, 8)) + 1.5 * rng.normal(size=(1200, 8)) > 4.5
    model = LabelGP(random_state=0).fit(X[:300], Y[:300])
    posterior, truth = model.posterior(X[300:]), Y[300:]

    def macro_f1(sets):
        return np.mean(2 * (sets & truth).sum(0) / np.maximum(sets.sum(0) + truth.sum(0), 1))

    assert macro_f1(Threshold(model.thresholds_).decide(posterior)) > 1.2 * macro_f1(Threshold().decide(posterior))


# ---- awkward data --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["auto", "linear", "rbf", "rbf+linear"])
@pytest.mark.parametrize("case", ["one row", "one label", "constant labels", "duplicates", "zero rows", "two rows"])
def test_awkward_data_without_a_warning(kernel, case):
    X, Y = problem(n=12)
    if case == "one row":
        X, Y = X[:1], Y[:1]
    elif case == "two rows":
        X, Y = X[:2], np.array([[0, 1], [1, 1]])
    elif case == "one label":
        Y = Y[:, :1]
    elif case == "constant labels":
        Y = np.zeros((12, 3), dtype=bool)
        Y[:, 1] = True
    elif case == "duplicates":
        X[:] = X[0]
    elif case == "zero rows":
        X[::2] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for features in (X, sp.csr_array(X)):
            model = LabelGP(kernel, random_state=0).fit(features, Y).partial_fit(features, Y)
            posterior = model.posterior(features)
            p = posterior.probabilities()
            draws = posterior.sample_probabilities(3, np.random.default_rng(0))
            assert p.shape == Y.shape
            for values in (p, draws, posterior.variances(), posterior.label_covariances().dense()):
                assert np.isfinite(values).all()
            assert np.all((p > 0) & (p < 1))
            assert posterior.item_covariance().diagonal().shape == (len(X),)


def test_labels_of_one_kind_keep_their_base_rate_and_unanswered_ones_that_of_the_others():
    X, Y, observed = masked()
    Y[:, 0], Y[:, 1] = False, True
    observed[:, 4] = False
    model = LabelGP(random_state=0).fit(X, Y, observed=observed)
    n = observed.sum(axis=0)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p[:, 0], 0.5 / (n[0] + 1))
    np.testing.assert_allclose(p[:, 1], (n[1] + 0.5) / (n[1] + 1))
    np.testing.assert_allclose(p[:, 4], model.base_rates_[:4].mean())
    np.testing.assert_allclose(model.posterior(X).means()[:, 4], model.base_rates_[:4].mean())


@pytest.mark.parametrize("scale", ["auto", "none"])
def test_float32_and_data_frames(scale):
    X, Y = problem()
    model = LabelGP(scale=scale, random_state=0).fit(X, Y)
    single = LabelGP(scale=scale, random_state=0).fit(X.astype(np.float32), Y)
    np.testing.assert_allclose(single.predict_proba(X.astype(np.float32)), model.predict_proba(X), atol=1e-4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = LabelGP(scale=scale, random_state=0).fit(frame, pd.DataFrame(Y))
    np.testing.assert_allclose(named.predict_proba(frame), model.predict_proba(X), atol=1e-12)
    assert list(named.feature_names_in_) == list("abcd")


def test_sparse_is_dense_where_features_are_prepared_alike():
    X, Y, observed = masked()
    X = np.where(np.abs(X) > 0.7, X, 0.0)
    for model in (LINEAR, MIXED, LabelGP(scale="none", random_state=0)):
        dense = clone(model).fit(X, Y, observed=observed)
        sparse = clone(model).fit(sp.csr_array(X), Y, observed=observed)
        np.testing.assert_allclose(beliefs(sparse, sp.csr_array(X)), beliefs(dense, X), atol=1e-8)


def test_more_rows_than_the_search_uses():
    X, Y = problem(n=120)
    model = LabelGP(n_search=50, random_state=3).fit(X, Y)
    again = LabelGP(n_search=50, random_state=3).fit(X, Y)
    other = LabelGP(n_search=50, random_state=4).fit(X, Y)
    assert model.noise_ratio_ == again.noise_ratio_
    assert model.noise_ratio_ != other.noise_ratio_
    assert pickle.loads(pickle.dumps(model)).partial_fit(X[:2], Y[:2]).n_items_ == 122


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "cubic"}, r"kernel must be one of .* got 'cubic'"),
        ({"scale": "max"}, r"scale must be one of 'auto', 'none', got 'max'"),
        ({"noise_ratio": 0.0}, r"noise_ratio must be positive, or None .* got 0\.0"),
        ({"length_scale": -1.0}, r"length_scale must be positive.* got -1\.0"),
        ({"linear_share": 1.0}, r"linear_share must lie between 0 and 1.* got 1\.0"),
        ({"bias": -0.1}, r"bias must be at least 0, got -0\.1"),
        ({"n_search": 1}, r"n_search must be at least 2, got 1"),
        ({"rank": -1}, r"rank must be at least 0, got -1"),
    ],
)
def test_wrong_settings_name_the_value_and_the_cure(settings, message):
    X, Y = problem(n=5)
    with pytest.raises(ValueError, match=message):
        LabelGP(**settings).fit(X, Y)


@pytest.mark.parametrize("seed", [None, 0, np.random.RandomState(0), np.random.default_rng(0)])
def test_any_source_of_chance_will_do(seed):
    X, Y = problem(n=30)
    assert LabelGP(n_search=20, random_state=seed).fit(X, Y).predict(X).shape == Y.shape


@pytest.mark.parametrize("kernel", ["auto", "rbf", "linear", "rbf+linear"])
@pytest.mark.parametrize("scale", ["auto", "none"])
def test_features_that_say_nothing_leave_the_base_rates(kernel, scale):
    Y = np.random.default_rng(0).random((80, 4)) < [0.36, 0.58, 0.35, 0.1]
    for rows in (slice(None), slice(None, None, -1)):
        p = LabelGP(kernel, scale=scale).fit(np.ones((80, 3)), Y[rows]).predict_proba(np.ones((1, 3)))
        np.testing.assert_allclose(p[0], Y.mean(0), atol=0.02)
