"""OrthogonalTargetGP against dense Gaussian algebra, its own pieces put together by hand, and learning one by one."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from labelwise.models import OrthogonalTargetGP
from labelwise.models.compressed.label_decoders import DECODERS, CodeDecoder
from labelwise.numerics.gp.target_kernel import as_kernel, separate_evidence
from labelwise.numerics.recovery.gaussian_recovery import condition
from labelwise.numerics.recovery.label_codes import addressed_projection
from labelwise.queries import Diagnosis


def problem(n=80, d=15, q=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = X @ rng.standard_normal((d, q)) / np.sqrt(d) + 0.4 * rng.standard_normal((n, q)) > 0.8
    return X, Y


def dense_beliefs(model, X):
    """Means and variances of every target from the definition, given the kernels that the model found."""
    state = model._state
    means, variances = np.empty((len(X), model.n_targets_)), np.empty((len(X), model.n_targets_))
    Z = state.scaling(X)
    for group in state.groups:
        K, cross, prior = group.kernel(state.X), group.kernel(state.X, Z), group.kernel.diagonal(Z)
        for g, scale, ratio in zip(group.targets, group.scales, group.ratios, strict=True):
            C_inv = np.linalg.inv(scale * (K + ratio * np.eye(len(K))))
            means[:, g] = scale * cross.T @ C_inv @ state.targets[:, g]
            variances[:, g] = scale * (prior + ratio) - np.einsum("ij,ik,kj->j", scale * cross, C_inv, scale * cross)
    return means, variances


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_compressed": 0.5},
        {"n_compressed": 8, "bpca": "evb"},
        {"n_compressed": 8, "bpca": "vb"},
        {"n_compressed": 6, "bpca": "pca", "n_targets": 3, "gp": "separate"},
        {"kernel": "linear"},
    ],
)
def test_targets_are_gaussian_process_regression(options):
    X, Y = problem()
    model = OrthogonalTargetGP(random_state=0, **options).fit(X[:60], Y[:60])
    beliefs = model.posterior(X[60:])
    means, variances = dense_beliefs(model, X[60:])
    np.testing.assert_allclose(beliefs.target_means(), means, atol=1e-7)
    np.testing.assert_allclose(beliefs.target_variances(), variances, atol=1e-7)
    assert model.target_weights_.sum() == pytest.approx(1)


def test_all_targets_at_once_are_the_multi_output_process_with_unit_task_covariance():
    """K^f ⊗ K^x + D ⊗ I over stacked targets, small enough to write down."""
    X, Y = problem(30, q=6)
    model = OrthogonalTargetGP(random_state=0).fit(X[:20], Y[:20])
    (group,), state, k = model._state.groups, model._state, model.n_targets_
    Z = state.scaling(X[20:])
    K_f = np.diag(group.scales)
    C = np.kron(K_f, group.kernel(state.X)) + np.kron(np.diag(group.noises), np.eye(20))
    cross = np.kron(K_f, group.kernel(state.X, Z))  # (k n, k m)
    mean = cross.T @ np.linalg.solve(C, state.targets.T.ravel())
    np.testing.assert_allclose(model.posterior(X[20:]).target_means(), mean.reshape(k, 10).T, atol=1e-8)
    full = np.kron(K_f, group.kernel(Z)) + np.kron(np.diag(group.noises), np.eye(10))
    variance = (full - cross.T @ np.linalg.solve(C, cross)).diagonal()
    np.testing.assert_allclose(model.posterior(X[20:]).target_variances(), variance.reshape(k, 10).T, atol=1e-8)


def test_left_out_rows_are_those_of_a_fit_without_them():
    X, Y = problem(25, q=5)
    model = OrthogonalTargetGP(random_state=0).fit(X, Y)
    state = model._state
    (group,) = state.groups
    mean, variance = state.regression.left_out()
    i, rest = 7, np.delete(np.arange(25), 7)
    codes = Y.astype(float)  # the identity code
    targets = (codes[rest] - codes[rest].mean(0)) / np.sqrt(state.directions.variances)
    for g in range(5):
        C = group.kernel(state.X[rest]) + group.ratios[g] * np.eye(24)
        cross = group.kernel(state.X[rest], state.X[[i]])[:, 0]
        expected = cross @ np.linalg.solve(C, targets[:, g])  # departs from the mean of the others
        assert mean[i, g] == pytest.approx(expected, abs=1e-8)
        spread = group.kernel.diagonal(state.X[[i]])[0] + group.ratios[g] - cross @ np.linalg.solve(C, cross)
        assert variance[i, g] == pytest.approx(group.scales[g] * spread, abs=1e-8)


def test_pool_variances_after_many_rows_one_by_one_are_those_of_a_fresh_model():
    X, Y = problem(330, q=6)
    model = OrthogonalTargetGP(random_state=0, refit_every=1000).fit(X[:30], Y[:30])
    model.posterior(X).target_groups()
    for i in range(30, 230):
        model.partial_fit(X[i : i + 1], Y[i : i + 1])
        (group,) = model.posterior(X).target_groups()
    (fitted,) = model._state.groups
    known, ratio = model._state.X[model._state.full], float(np.median(fitted.ratios))
    Z = model._state.scaling(X)
    C, cross = fitted.kernel(known) + ratio * np.eye(230), fitted.kernel(known, Z)
    fresh = fitted.kernel.diagonal(Z) - np.einsum("ij,ij->j", cross, np.linalg.solve(C, cross))
    np.testing.assert_allclose(group.covariance.diagonal(), fresh, atol=1e-9)
    columns = fitted.kernel(Z, Z[[5, 9]]) - cross.T @ np.linalg.solve(C, cross[:, [5, 9]])
    np.testing.assert_allclose(group.covariance.columns(np.array([5, 9])), columns, atol=1e-9)


def test_an_earlier_posterior_keeps_its_beliefs():
    X, Y = problem(60, q=6)
    model = OrthogonalTargetGP(random_state=0).fit(X[:20], Y[:20])
    beliefs = model.posterior(X)
    p, variances = beliefs.probabilities(), beliefs.target_groups()[0].covariance.diagonal().copy()
    model.partial_fit(X[20:40], Y[20:40])
    model.posterior(X).target_groups()
    np.testing.assert_array_equal(beliefs.probabilities(), p)
    np.testing.assert_allclose(beliefs.target_groups()[0].covariance.diagonal(), variances, atol=1e-12)


def test_a_pool_changed_in_place_is_another_pool():
    X, Y = problem(60, q=6)
    model = OrthogonalTargetGP(random_state=0).fit(X[:20], Y[:20])
    pool = X.copy()
    before = model.posterior(pool).target_groups()[0].covariance.diagonal().copy()
    pool[:] = pool[::-1]
    np.testing.assert_allclose(model.posterior(pool).target_groups()[0].covariance.diagonal(), before[::-1], atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"n_compressed": 8, "bpca": "evb"}, {"refit_every": 4, "kernel_every": 10}])
def test_rows_one_by_one_equal_one_batch(options):
    X, Y = problem(64, q=12)
    one, batch = (OrthogonalTargetGP(random_state=0, **options).fit(X[:40], Y[:40]) for _ in range(2))
    for i in range(40, 64):
        one.partial_fit(X[i : i + 1], Y[i : i + 1])
    batch.partial_fit(X[40:], Y[40:])
    np.testing.assert_allclose(one.predict_proba(X), batch.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(one.posterior(X).scores(), batch.posterior(X).scores(), atol=1e-8)


def test_adding_a_label_keeps_the_codes_of_the_others():
    X, Y = problem(40, q=70)
    fewer = OrthogonalTargetGP("gaussian", n_compressed=30, random_state=0).fit(X, Y[:, :69])
    more = OrthogonalTargetGP("gaussian", n_compressed=30, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(more.projection_[:, :69], fewer.projection_)
    signs = OrthogonalTargetGP("rademacher", n_compressed=30, random_state=0).fit(X, Y).projection_
    np.testing.assert_allclose(np.abs(signs), 30**-0.5)


def test_permuting_labels_with_their_codes_permutes_scores():
    X, Y = problem(60, q=12)
    Phi, order = addressed_projection(7, 12, 1), np.random.default_rng(0).permutation(12)
    straight = OrthogonalTargetGP(Phi).fit(X, Y).posterior(X)
    permuted = OrthogonalTargetGP(Phi[:, order]).fit(X, Y[:, order]).posterior(X)
    for decoder in ("lasso", "linear", "scaled_linear", "l2", "omp"):
        np.testing.assert_allclose(permuted.scores(decoder), straight.scores(decoder)[:, order], atol=1e-6)


def test_linear_decoder_is_gaussian_conditioning():
    rng = np.random.default_rng(0)
    Phi, rates = addressed_projection(3, 6, 0), rng.uniform(0.05, 0.5, 6)
    decoder, r = CodeDecoder(Phi, rates, 2), rng.standard_normal((1, 3))
    V = np.diag(rates * (1 - rates))
    noisy = Phi @ V @ Phi.T + decoder.noise * np.eye(3)
    joint = np.block([[V, V @ Phi.T], [Phi @ V, noisy]])
    mean = condition(np.concatenate([rates, Phi @ rates]), joint, np.arange(6, 9), r[0])[0][:6]
    np.testing.assert_allclose(decoder.scores(r, "linear")[0], mean, atol=1e-6)
    scaled = (mean - rates) / np.sqrt(rates * (1 - rates))
    np.testing.assert_allclose(decoder.scores(r, "scaled_linear")[0], scaled, atol=1e-5)
    assert decoder.noise == pytest.approx(0.1 * np.trace(Phi @ V @ Phi.T) / 3)


def test_minimum_norm_is_exact_for_an_orthogonal_code():
    rng = np.random.default_rng(0)
    Phi, Y = np.linalg.qr(rng.standard_normal((8, 8))).Q, rng.random((5, 8)) < 0.3
    np.testing.assert_allclose(CodeDecoder(Phi, np.full(8, 0.3), 2).scores(Y @ Phi.T, "l2"), Y, atol=1e-12)


@pytest.mark.parametrize("name", DECODERS)
def test_every_decoder_ranks_labels_of_exact_codes(name):
    rng = np.random.default_rng(0)
    Phi, Y = addressed_projection(20, 30, 0), np.zeros((12, 30))
    for row in Y:
        row[rng.permutation(30)[:2]] = 1
    scores = CodeDecoder(Phi, np.full(30, 2 / 30), 2).scores(Y @ Phi.T, name)
    top = np.argsort(-scores, axis=1)[:, :2]
    found = np.mean([set(t) == set(np.flatnonzero(y)) for t, y in zip(top, Y, strict=True)])
    assert found >= (0.5 if name == "correlation" else 0.8)


def test_partial_rows_teach_and_full_masks_change_nothing():
    X, Y = problem(90, q=8)
    everything = np.ones(Y.shape, dtype=bool)
    plain = OrthogonalTargetGP(random_state=0).fit(X[:60], Y[:60])
    masked = clone(plain).fit(X[:60], Y[:60], observed=everything[:60])
    np.testing.assert_array_equal(masked.predict_proba(X), plain.predict_proba(X))
    observed = everything.copy()
    observed[20:60] = np.random.default_rng(0).random((40, 8)) < 0.6

    def error(model):
        return np.mean((model.predict_proba(X[60:]) - Y[60:]) ** 2)

    partial = clone(plain).fit(X[:60], Y[:60], observed=observed[:60])
    assert error(partial) < error(clone(plain).fit(X[:20], Y[:20]))
    assert partial._state.full.size < 60  # rows known in half do not count for the variances of the pool


@pytest.mark.parametrize("options", [{}, {"n_compressed": 5}])
def test_diagnosis_asks_and_learns_label_by_label(options):
    """Pair answers arrive as rows with one known label; they end up on their item and teach."""
    X, Y = problem(70, q=8)
    model = OrthogonalTargetGP(random_state=0, **options).fit(X[:40], Y[:40])
    beliefs = model.posterior(X[40:45])
    first = np.zeros((5, 8), dtype=bool)
    first[:, 0] = True
    told = beliefs.given(Y[40:45], first)
    np.testing.assert_array_equal(told.probabilities()[:, 0], Y[40:45, 0])
    assert not np.allclose(told.probabilities()[:, 1:], beliefs.probabilities()[:, 1:])
    choice = Diagnosis(labels_per_item=2).choose(told, sp.csr_array(first), 10, np.random.default_rng(0))
    assert 0 not in choice.labels and choice.rows.size == 10
    for row, label in zip(choice.rows, choice.labels, strict=True):
        mask = np.zeros((1, 8), dtype=bool)
        mask[0, label] = True
        model.partial_fit(X[40 + row : 41 + row], Y[40 + row : 41 + row], observed=mask)
    assert model.n_items_ == 45
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_label_counts_follow_the_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12))
    Y = rng.random((200, 10)) < (1 / (1 + np.exp(-2 * X[:, :1])))
    beliefs = OrthogonalTargetGP(random_state=0).fit(X[:150], Y[:150]).posterior(X[150:])
    assert np.corrcoef(beliefs.label_counts(), Y[150:].sum(1))[0, 1] > 0.6


def test_configurations_of_the_paper_and_its_rivals():
    X, Y = problem(40, q=10)
    paper = OrthogonalTargetGP.paper(random_state=0)
    assert (paper.bpca, paper.gp, paper.optimizer, paper.refit_every) == ("vb", "separate", "simplex", 1)
    ridge = OrthogonalTargetGP.ridge(random_state=0, n_compressed=6).fit(X, Y)
    state = ridge._state
    K = state.X @ state.X.T + ridge.kernels_[0].bias
    codes = Y @ ridge.projection_.T
    expected = codes.mean(0) + K @ np.linalg.solve(K + np.eye(40), codes - codes.mean(0))  # ridge, penalty 1
    np.testing.assert_allclose(ridge.posterior(X).codes(), expected, atol=1e-8)
    own = OrthogonalTargetGP.bayesian_ridge(random_state=0, n_compressed=6).fit(X, Y)
    assert np.unique(own._state.groups[0].ratios).size > 1


@pytest.mark.parametrize("optimizer", ["lbfgs", "simplex", "bayes", "gradient"])
def test_every_optimizer_climbs(optimizer):
    X, Y = problem(50, q=6)
    start = OrthogonalTargetGP(random_state=0, gp="separate").fit(X, Y)
    phi0 = start._state.products.start()
    at_start = sum(separate_evidence(start._state.products, u, phi0, phi0).value for u in start._state.targets.T)
    found = OrthogonalTargetGP(random_state=0, gp="separate", optimizer=optimizer).fit(X, Y)
    assert found.log_posterior_ >= -at_start
    assert start.log_posterior_ >= found.log_posterior_ - 0.05  # gradients find the best, or as good as that


def test_large_pools_keep_bounds_that_hold(monkeypatch):
    monkeypatch.setattr("labelwise.models.targets.posterior.STORED_NUMBERS", 10)
    X, Y = problem(60, q=6)
    model = OrthogonalTargetGP(random_state=0).fit(X[:20], Y[:20])
    (group,) = model.posterior(X).target_groups()
    assert group.bounds is not None and np.all(group.bounds >= group.covariance.diagonal() - 1e-12)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bpca": "maybe"}, "bpca must be one of"),
        ({"decoder": "magic"}, "decoder must be one of"),
        ({"n_compressed": 1.5}, "share of at most 1"),
        ({"n_compressed": 0}, "n_compressed must be positive"),
        ({"refit_every": 0}, "refit_every must be at least 1"),
        ({"kernel_every": 0}, "kernel_every must be at least 1"),
        ({"projection": np.ones((2, 3))}, "projection must be a finite"),
        ({"projection": "identity", "n_compressed": 3}, "keeps every label"),
    ],
)
def test_wrong_parameters_are_named(options, words):
    X, Y = problem(10, q=4)
    with pytest.raises(ValueError, match=words):
        OrthogonalTargetGP(**options).fit(X, Y)


def test_rows_beyond_the_limit_are_drawn():
    X, Y = problem(50, q=4)
    assert OrthogonalTargetGP(max_rows=20, random_state=0).fit(X, Y).n_items_ == 20


def test_single_answers_do_not_make_beliefs_worse():
    """Rows with one known label each must not teach the average, nor spoil the calibration."""
    X, Y = problem(500, q=12, seed=3)
    observed = np.ones(Y.shape, dtype=bool)
    observed[60:400] = False
    observed[np.arange(60, 400), np.random.default_rng(0).integers(12, size=340)] = True

    def loss(model):
        p = np.clip(model.predict_proba(X[400:]), 1e-6, 1 - 1e-6)
        return -np.mean(np.where(Y[400:], np.log(p), np.log(1 - p)))

    for options in ({}, {"n_compressed": 8}):
        before = OrthogonalTargetGP(random_state=0, **options).fit(X[:60], Y[:60])
        after = OrthogonalTargetGP(random_state=0, **options).fit(X[:400], Y[:400], observed=observed[:400])
        assert loss(after) < loss(before) + 0.005


@pytest.mark.parametrize("options", [{"gp": "separate"}, {"gp": "separate", "bpca": "evb"}, {"gp": "shared"}])
def test_campaigns_may_begin_with_two_rows(options):
    """Nothing is searched at first, so the first search has no end of an earlier one to start from."""
    X, Y = problem(30, q=5)
    model = OrthogonalTargetGP(random_state=0, refit_every=5, n_compressed=4, **options).fit(X[:2], Y[:2])
    for i in range(2, 20):
        model.partial_fit(X[i : i + 1], Y[i : i + 1])
    assert np.isfinite(model.log_posterior_)
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_searches_go_on_from_the_last_optimum():
    X, Y = problem(80, q=6)
    common = {"gp": "separate", "bpca": "pca", "n_targets": 3, "refit_every": 10, "scale": "none"}
    warm = OrthogonalTargetGP(random_state=0, **common).fit(X[:60], Y[:60]).partial_fit(X[60:70], Y[60:70])
    cold = OrthogonalTargetGP(random_state=0, **common).fit(X[:70], Y[:70])
    np.testing.assert_allclose(warm.directions_.variances, cold.directions_.variances)
    assert warm.log_posterior_ == pytest.approx(cold.log_posterior_, abs=0.2)


@pytest.mark.parametrize("gp", ["separate", "shared"])
def test_targets_are_learnt_at_every_row_while_kernels_wait_for_their_period(gp):
    """Directions are those of a fresh fit, every kernel is one that was there before, until the period is over."""
    X, Y = problem(46, q=8)
    options = {"gp": gp, "n_compressed": 5, "bpca": "vb", "scale": "none", "random_state": 0}
    model = OrthogonalTargetGP(refit_every=1, kernel_every=6, **options).fit(X[:40], Y[:40])
    centre = as_kernel(model._state.products.start())  # of a direction that continues none
    for i in range(40, 45):
        before = model.kernels_
        model.partial_fit(X[[i]], Y[[i]])
        fresh = OrthogonalTargetGP(**options).fit(X[: i + 1], Y[: i + 1])
        np.testing.assert_allclose(model.directions_.variances, fresh.directions_.variances)
        assert set(model.kernels_) <= {*before, centre}
    model.partial_fit(X[45:], Y[45:])
    assert not set(model.kernels_) & set(before)
    assert model.log_posterior_ == pytest.approx(OrthogonalTargetGP(**options).fit(X, Y).log_posterior_, abs=0.5)


def test_answers_to_rows_that_are_there_lead_to_a_search():
    X, Y = problem(80, q=5)
    first = np.zeros(Y.shape, dtype=bool)
    first[np.arange(80), np.arange(80) % 5] = True
    model = OrthogonalTargetGP(random_state=0).fit(X, Y, observed=first)
    one = clone(model).fit(X, Y, observed=first)
    kernels = model.kernels_
    model.partial_fit(X, Y, observed=~first)
    for i in range(80):
        one.partial_fit(X[[i]], Y[[i]], observed=~first[[i]])
    assert model.n_items_ == 80 and model.kernels_ != kernels
    np.testing.assert_allclose(model.directions_.centre, Y.mean(0))
    np.testing.assert_allclose(one.predict_proba(X), model.predict_proba(X), atol=1e-8)


def test_rows_that_were_drawn_stay_open_and_later_ones_come_on_top():
    X, Y = problem(60, q=5)
    observed = np.ones(Y.shape, dtype=bool)
    observed[:, 0] = False
    model = OrthogonalTargetGP(max_rows=40, random_state=0).fit(X, Y, observed=observed)
    assert model.partial_fit(X, Y, observed=~observed).n_items_ == 60  # 40 were open, 20 had not been drawn


def test_rows_of_which_nothing_is_known_change_nothing():
    X, Y = problem(40, q=5)
    model = OrthogonalTargetGP(random_state=0).fit(X[:30], Y[:30])
    before = model.predict_proba(X)
    model.partial_fit(X[30:], Y[30:], observed=np.zeros((10, 5), dtype=bool))
    assert model.n_items_ == 30
    np.testing.assert_array_equal(model.predict_proba(X), before)
