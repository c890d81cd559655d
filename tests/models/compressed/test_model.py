"""CompressedLabelGP: beliefs against dense joint algebra, plain GP regression, its own parts, and published figures."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from labelwise import CompressedLabelGP, Diagnosis, MutualInformation, Threshold, read
from labelwise.numerics.recovery.gaussian_recovery import condition, shrunk_label_prior
from labelwise.numerics.recovery.label_codes import CompressedLabels, KnownLabels
from labelwise.numerics.recovery.sparse_recovery import recover_box_lasso, recover_vb
from labelwise.posterior import LabelPosterior

PRIORS = {
    "auto": {},
    "auto, pca": {"projection": "pca", "n_compressed": 3},
    "auto, random": {"projection": "gaussian"},
    "flat": {"projection": "pca", "label_prior": "flat", "n_compressed": 3},
    "covariance": {"projection": "gaussian", "label_prior": "covariance"},
    "covariance, identity": {"label_prior": "covariance"},
    "sparse": {"projection": "gaussian", "label_prior": "sparse"},
    "sparse, fast": {"projection": "gaussian", "label_prior": "sparse", "recovery": "fast"},
    "mean field": {"projection": "gaussian", "inference": "mean_field"},
}


def problem(n=60, d=3, q=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    shared = X @ rng.standard_normal((d, q)) + 0.7 * rng.standard_normal((n, 2)) @ rng.standard_normal((2, q))
    return X, shared + 0.3 * rng.standard_normal((n, q)) > 0.6


def made(**parameters):
    return CompressedLabelGP(**({"random_state": 0, "scale": "none", "kernel": "rbf"} | parameters))


@pytest.fixture(params=PRIORS)
def model(request):
    X, Y = problem()
    return made(**PRIORS[request.param]).fit(X[:40], Y[:40])


def log_loss(p, Y):
    return -np.log(np.where(Y, p, 1 - p)).mean()


def regression(model, X_train, X):
    """K, C⁻¹ and the covariance of code and noise of the fitted model, by plain algebra."""
    C = model.kernel_(X_train) + model.noise_variance_ * np.eye(len(X_train))
    K = model.kernel_(X, X_train)
    variance = model.kernel_.diagonal(X) - np.einsum("nm,mk,nk->n", K, np.linalg.inv(C), K) + model.noise_variance_
    return K @ np.linalg.inv(C), variance


# --- the model against dense algebra


def test_one_unlabelled_item_is_the_dense_joint_posterior():
    X, Y = problem(n=13)
    model = CompressedLabelGP.paper(random_state=1, kernel="rbf", scale="none", n_iterations=9).fit(X[:12], Y[:12])
    Phi = model.projection_
    assert Phi.shape == (3, 6) and not model.label_mean_.any()
    C = model.kernel_(X) + model.noise_variance_ * np.eye(13)
    code_map = block_diag(*[Phi] * 13)  # all labels of all items to all their codes
    joint = code_map.T @ np.kron(np.linalg.inv(C), np.eye(3)) @ code_map  # the precision of all labels, rank n k
    unknown, known = slice(12 * 6, 13 * 6), slice(0, 12 * 6)
    alpha = np.ones(6)
    for _ in range(9):
        Sigma = np.linalg.inv(np.diag(alpha) + joint[unknown, unknown])
        mean = -Sigma @ joint[unknown, known] @ Y[:12].ravel()
        used, alpha = alpha, (1e-6 + 0.5) / (1e-6 + 0.5 * (mean**2 + Sigma.diagonal()))
    beliefs = model.posterior(X[12:])
    np.testing.assert_allclose(beliefs.means()[0], mean, atol=1e-9)
    np.testing.assert_allclose(beliefs.variances()[0], Sigma.diagonal(), rtol=1e-7)
    np.testing.assert_allclose(beliefs.label_covariances().dense()[0], Sigma, atol=1e-8)
    assert used.max() > 1.1  # the updates did something


def test_identity_and_flat_prior_are_plain_gp_regression():
    X, Y = problem()
    model = made(label_prior="flat").fit(X[:40], Y[:40])
    amplitude, length, noise = model.amplitude_, model.kernel_.length_scale, model.noise_variance_
    kernel = ConstantKernel(amplitude, "fixed") * RBF(length, "fixed") + ConstantKernel(amplitude, "fixed")
    for j in range(6):
        plain = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X[:40], Y[:40, j] - Y[:40, j].mean())
        mean, sd = plain.predict(X[40:], return_std=True)
        beliefs = model.posterior(X[40:])
        np.testing.assert_allclose(beliefs.means()[:, j], mean + Y[:40, j].mean(), atol=1e-7)
        np.testing.assert_allclose(beliefs.variances()[:, j], sd**2 + noise, rtol=1e-6)
        np.testing.assert_allclose(beliefs.label_covariances().variances()[:, j], sd**2 + noise, rtol=1e-6)


def test_unknown_labels_are_dropped_under_the_identity():
    X, Y = problem()
    observed = np.random.default_rng(1).random(Y.shape) < 0.6
    model = made().fit(X, Y, observed=observed)
    beliefs = model.posterior(X[:5] + 0.1)
    for j in range(6):
        rows = observed[:, j]
        weights, variance = regression(model, X[rows], X[:5] + 0.1)
        expected = Y[rows, j].mean() + weights @ (Y[rows, j] - Y[rows, j].mean())
        np.testing.assert_allclose(beliefs.means()[:, j], expected, atol=1e-9)
        np.testing.assert_allclose(beliefs.variances()[:, j], variance, rtol=1e-8)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_covariance_prior_is_the_dense_posterior(kernel):
    X, Y = problem()
    model = made(projection="gaussian", label_prior="covariance", kernel=kernel).fit(X[:40], Y[:40])
    weights, v = regression(model, X[:40], X[40:])
    Phi, prior = model.projection_, shrunk_label_prior(Y[:40])
    codes = weights @ (Y[:40] - Y[:40].mean(0)) @ Phi.T
    beliefs = model.posterior(X[40:])
    covariances = beliefs.label_covariances().dense()
    for i in range(20):
        Sigma = np.linalg.inv(np.linalg.inv(prior.covariance) + Phi.T @ Phi / v[i])
        np.testing.assert_allclose(covariances[i], Sigma, atol=1e-8)
        np.testing.assert_allclose(beliefs.means()[i], prior.mean + Sigma @ Phi.T @ codes[i] / v[i], atol=1e-8)


def test_flat_covariance_is_that_of_the_codes_and_what_they_leave_over():
    X, Y = problem()
    model = made(projection="pca", label_prior="flat", n_compressed=2).fit(X[:40], Y[:40])
    _, v = regression(model, X[:40], X[40:])
    Phi, centred = model.projection_, Y[:40] - Y[:40].mean(0)
    np.testing.assert_allclose(Phi @ Phi.T, np.eye(2), atol=1e-12)
    left_over = (centred - centred @ Phi.T @ Phi).var(0) + 1e-4
    expected = v[:, None, None] * (Phi.T @ Phi) + np.diag(left_over)
    np.testing.assert_allclose(model.posterior(X[40:]).label_covariances().dense(), expected, atol=1e-8)
    np.testing.assert_allclose(model.posterior(X[40:]).variances(), expected.diagonal(axis1=1, axis2=2), atol=1e-8)


def test_a_centred_regression_recovers_sparse_labels_not_departures():
    X, Y = problem()
    model = made(projection="gaussian", label_prior="sparse", center=True).fit(X[:40], Y[:40])
    weights, v = regression(model, X[:40], X[40:])
    Phi, mean = model.projection_, Y[:40].mean(0)
    codes = CompressedLabels(weights @ (Y[:40] - mean) @ Phi.T + Phi @ mean, v)
    np.testing.assert_allclose(model.posterior(X[40:]).means(), recover_vb(codes, Phi).mean, atol=1e-8)


# --- evidence


@pytest.mark.parametrize("projection", ["identity", "pca", "gaussian"])
def test_evidence_is_the_density_of_the_codes_at_its_highest(projection):
    X, Y = problem()
    model = made(projection=projection, kernel="linear").fit(X, Y)
    Z = (Y - model.label_mean_) @ model.projection_.T
    K = model.kernel_(X)

    def density(amplitude, noise):
        return multivariate_normal(np.zeros(60), amplitude * K + noise * np.eye(60)).logpdf(Z.T).sum()

    best = density(1.0, model.noise_variance_)
    np.testing.assert_allclose(model.log_evidence_, best, rtol=1e-9)
    for factor in (0.97, 1.03):
        assert density(factor, model.noise_variance_) < best
        assert density(1.0, factor * model.noise_variance_) < best


def test_kernel_and_length_scale_are_those_of_highest_evidence():
    X, Y = problem()
    fits = {length: made(length_scale=length).fit(X, Y).log_evidence_ for length in (0.3, 1.0, 3.0, 9.0)}
    searched = made().fit(X, Y)
    assert searched.log_evidence_ > max(fits.values()) - 1.0  # the grid is half an octave wide
    linear, automatic = made(kernel="linear").fit(X, Y), made(kernel="auto").fit(X, Y)
    assert automatic.log_evidence_ == max(linear.log_evidence_, searched.log_evidence_)


def test_only_the_sum_of_the_noises_matters():
    X, Y = problem()
    fits = [
        made(projection="gaussian", inference="mean_field", compression_share=share).fit(X, Y) for share in (0.1, 0.9)
    ]
    marginal = made(projection="gaussian").fit(X, Y)
    assert fits[0].log_evidence_ == fits[1].log_evidence_ == marginal.log_evidence_
    assert fits[0].noise_variance_ == fits[1].noise_variance_ == marginal.noise_variance_


def test_given_noise_is_used():
    X, Y = problem()
    model = made(noise_variance=0.3, kernel="linear").fit(X, Y)
    assert model.noise_variance_ == 0.3
    assert made(kernel="linear").fit(X, Y).log_evidence_ > model.log_evidence_


def test_scikit_learn_kernels_give_what_the_same_kernel_of_ours_gives():
    X, Y = problem()
    ours = made(kernel="linear").fit(X[:40], Y[:40])
    for rows in (X, sp.csr_array(X)):
        theirs = made(kernel=DotProduct(sigma_0=1.0)).fit(rows[:40], Y[:40])
        np.testing.assert_allclose(theirs.amplitude_, ours.amplitude_, rtol=1e-5)
        np.testing.assert_allclose(theirs.predict_proba(rows[40:]), ours.predict_proba(X[40:]), atol=1e-6)
    observed = np.random.default_rng(0).random((40, 6)) < 0.7
    theirs = made(kernel=DotProduct(sigma_0=1.0)).fit(X[:40], Y[:40], observed=observed)
    ours = made(kernel="linear").fit(X[:40], Y[:40], observed=observed)
    np.testing.assert_allclose(theirs.predict_proba(X[40:]), ours.predict_proba(X[40:]), atol=1e-6)


# --- mean field


def test_mean_field_means_agree_and_variances_are_too_small():
    X, Y = problem(n=120, q=8)
    marginal = made(projection="gaussian", label_prior="sparse").fit(X[:80], Y[:80]).posterior(X[80:])
    mean_field = made(projection="gaussian", inference="mean_field").fit(X[:80], Y[:80]).posterior(X[80:])
    assert np.corrcoef(marginal.means().ravel(), mean_field.means().ravel())[0, 1] > 0.95
    assert (mean_field.variances() < marginal.variances()).mean() > 0.95
    first = mean_field.label_covariances().variances()
    np.testing.assert_allclose(first, mean_field.variances(), rtol=1e-6, atol=1e-8)


# --- what is chosen by "auto"


def test_default_projection_compresses_only_many_labels():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    Y = X @ rng.standard_normal((3, 70)) + 0.1 * rng.standard_normal((60, 70)) > 0.5
    np.testing.assert_array_equal(made().fit(X, Y[:, :64]).projection_, np.eye(64))
    compressed = made().fit(X, Y)
    k = compressed.projection_.shape[0]
    centred = Y - Y.mean(0)
    kept = ((centred @ compressed.projection_.T) ** 2).sum() / (centred**2).sum()
    fewer = ((centred @ compressed.projection_[: k - 1].T) ** 2).sum() / (centred**2).sum()
    assert k < 60 and fewer < 0.95 <= kept
    assert made(n_compressed=4).fit(X, Y[:, :20]).projection_.shape == (4, 20)


@pytest.mark.parametrize(
    ("parameters", "n_codes", "centred"),
    [
        ({}, 6, True),
        ({"projection": "pca", "n_compressed": 2}, 2, True),
        ({"projection": "pca", "n_compressed": 0.5}, None, True),
        ({"projection": "gaussian"}, 3, False),
        ({"projection": "gaussian", "n_compressed": 0.7}, 4, False),
        ({"projection": "orthogonal", "n_compressed": 5}, 5, False),
        ({"projection": "gaussian", "label_prior": "covariance"}, 3, True),
        ({"projection": "gaussian", "label_prior": "flat"}, 3, True),
        ({"projection": np.ones((2, 6)) + np.eye(2, 6)}, 2, False),
        ({"label_prior": "sparse"}, 6, True),
        ({"center": False}, 6, False),
    ],
    ids=str,
)
def test_codes_and_centring(parameters, n_codes, centred):
    X, Y = problem()
    model = made(**parameters).fit(X, Y)
    assert n_codes is None or model.projection_.shape[0] == n_codes
    np.testing.assert_allclose(model.label_mean_, Y.mean(0) if centred else np.zeros(6))
    rates = np.broadcast_to(Y.mean(0), Y.shape)
    assert log_loss(model.predict_proba(X), Y) < 0.95 * log_loss(rates, Y)


def test_sparse_recovery_is_sequential_for_many_labels():
    X, Y = problem(q=110)
    fast = made(projection="gaussian").fit(X[:40], Y[:40]).posterior(X[40:])
    assert (fast.means() == 0).mean() > 0.3  # labels outside the sequential model
    assert np.unique(fast.scores()[0]).size == 110  # and yet no ties
    vb = made(projection="gaussian", recovery="vb").fit(X[:40], Y[:40]).posterior(X[40:])
    assert (vb.means() != 0).all()


def test_published_is_the_papers_model():
    model = CompressedLabelGP.paper(kernel="linear")
    assert (
        model.get_params()
        == CompressedLabelGP(
            "gaussian", center=False, label_prior="sparse", recovery="vb", kernel="linear"
        ).get_params()
    )
    assert model.prior_shape == model.prior_rate == 1e-6 and model.n_compressed is None


@pytest.mark.parametrize("projection", ["identity", "pca"])
def test_permuting_labels_permutes_beliefs(projection):
    X, Y = problem()
    order = np.array([3, 0, 5, 1, 4, 2])
    given = {"projection": projection, "n_compressed": 3 if projection == "pca" else None}
    straight, permuted = made(**given).fit(X, Y), made(**given).fit(X, Y[:, order])
    np.testing.assert_allclose(permuted.predict_proba(X), straight.predict_proba(X)[:, order], atol=1e-7)
    np.testing.assert_allclose(permuted.thresholds_, straight.thresholds_[order], atol=1e-9)


# --- known labels of the items themselves


def test_nothing_known_changes_nothing(model):
    X, Y = problem()
    before = model.posterior(X[40:])
    after = before.given(Y[40:], np.zeros_like(Y[40:]))
    np.testing.assert_allclose(after.probabilities(), before.probabilities(), atol=1e-12)


def test_known_labels_are_believed_and_others_stay_probabilities(model):
    X, Y = problem()
    observed = np.random.default_rng(0).random((20, 6)) < 0.5
    observed[:4] = False
    before = model.posterior(X[40:])
    after = before.given(sp.csr_array(Y[40:]), sp.csr_array(observed))
    p = after.probabilities()
    np.testing.assert_array_equal(p[observed], Y[40:][observed])
    assert np.all((p >= 0) & (p <= 1))
    np.testing.assert_allclose(p[:4], before.probabilities()[:4], atol=1e-12)
    picked = np.array([7, 2, 19])
    np.testing.assert_allclose(after.rows(picked).probabilities(), p[picked], atol=1e-10)
    assert after.label_covariances().variances()[observed].max() < 1e-8


@pytest.mark.parametrize("name", ["covariance", "covariance, identity"])
def test_known_labels_condition_the_gaussian_prior(name):
    X, Y = problem()
    model = made(**PRIORS[name]).fit(X[:40], Y[:40])
    before = model.posterior(X[40:44])
    observed = np.random.default_rng(0).random((4, 6)) < 0.5
    after = before.given(Y[40:44], observed)
    covariances = after.label_covariances().dense()
    for i in range(4):
        labels = np.flatnonzero(observed[i])
        Sigma = before.label_covariances().dense()[i]
        mean, Sigma = condition(before.means()[i], Sigma, labels, Y[40 + i, labels].astype(float))
        np.testing.assert_allclose(after.means()[i], mean, atol=1e-6)
        np.testing.assert_allclose(covariances[i], Sigma, atol=1e-7)
        moved = np.clip(before.probabilities()[i] + mean - before.means()[i], 1e-4, 1 - 1e-4)
        expected = np.where(observed[i], Y[40 + i], moved)
        np.testing.assert_allclose(after.probabilities()[i], expected, atol=1e-6)


def test_known_labels_are_held_in_the_sparse_recovery():
    X, Y = problem()
    model = made(**PRIORS["sparse"]).fit(X[:40], Y[:40])
    observed = np.random.default_rng(0).random((20, 6)) < 0.5
    weights, v = regression(model, X[:40], X[40:])
    codes = CompressedLabels(weights @ Y[:40] @ model.projection_.T, v)
    expected = recover_vb(codes, model.projection_, known=KnownLabels(Y[40:], observed))
    after = model.posterior(X[40:]).given(Y[40:], observed)
    np.testing.assert_allclose(after.means(), expected.mean, atol=1e-7)
    np.testing.assert_allclose(after.variances(), expected.variance, atol=1e-7)


@pytest.mark.parametrize("name", ["covariance", "sparse", "auto"])
def test_answers_one_after_the_other_are_answers_together(name):
    X, Y = problem()
    beliefs = made(**PRIORS[name]).fit(X[:40], Y[:40]).posterior(X[40:])
    first, second = np.zeros((20, 6), bool), np.zeros((20, 6), bool)
    first[:, 1], second[::2, 4] = True, True
    in_turn = beliefs.given(Y[40:], first).given(Y[40:], second)
    together = beliefs.given(Y[40:], first | second)
    np.testing.assert_allclose(in_turn.label_covariances().dense(), together.label_covariances().dense(), atol=1e-7)
    if name != "auto":  # there, clipping in between may matter
        np.testing.assert_allclose(in_turn.probabilities(), together.probabilities(), atol=1e-7)


def test_labels_that_go_together_tell_about_one_another():
    X, Y = problem(n=300, seed=2)
    Y[:, 1] = Y[:, 0]
    for name in ("auto", "covariance, identity"):
        beliefs = made(**PRIORS[name]).fit(X[:200], Y[:200]).posterior(X[200:])
        observed = np.zeros((100, 6), bool)
        observed[:, 0] = True
        before, after = beliefs.probabilities()[:, 1], beliefs.given(Y[200:], observed).probabilities()[:, 1]
        truth = Y[200:, 1]
        assert (
            np.log(np.where(truth, after, 1 - after)).mean() > 0.5 * np.log(np.where(truth, before, 1 - before)).mean()
        )


def test_default_label_covariance_has_the_variances_of_probabilities():
    X, Y = problem()
    beliefs = made().fit(X[:40], Y[:40]).posterior(X[40:])
    p = beliefs.probabilities()
    np.testing.assert_allclose(beliefs.label_covariances().variances(), p * (1 - p), rtol=1e-10)
    dense = beliefs.label_covariances().dense()
    correlation = dense / np.sqrt(np.einsum("ni,nj->nij", p * (1 - p), p * (1 - p)))
    _, v = regression(made().fit(X[:40], Y[:40]), X[:40], X[40:])
    model_prior = shrunk_label_prior(Y[:40]).covariance
    typical = np.linalg.inv(np.linalg.inv(model_prior) + np.eye(6) / np.median(v))
    scale = np.sqrt(typical.diagonal())
    off = ~np.eye(6, dtype=bool)
    expected = (typical / np.outer(scale, scale))[off]
    assert np.corrcoef(correlation[0][off], expected)[0, 1] > 0.99


def test_samples_follow_the_model_in_blocks(model, monkeypatch):
    X, _ = problem()
    beliefs = model.posterior(X[40:46])
    monkeypatch.setattr("labelwise.models.compressed.model.BLOCK_NUMBERS", 2 * 36)
    drawn = beliefs.sample_labels(3000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(0), beliefs.probabilities(), atol=0.05)
    whole = LabelPosterior.sample_labels(beliefs, 3000, np.random.default_rng(1))
    for i in range(6):
        difference = np.cov(drawn[:, i].T.astype(float)) - np.cov(whole[:, i].T.astype(float))
        assert np.abs(difference).max() < 0.04


def test_sampled_probabilities_average_to_the_probabilities_and_vary_with_what_is_not_known(model):
    X, _ = problem()
    items = np.vstack([X[:3], X[:3] + 30.0])  # near the training rows, and far from all of them
    beliefs = model.posterior(items)
    drawn = beliefs.sample_probabilities(4000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(0), beliefs.probabilities(), atol=0.04)
    share = drawn.var(0) / (
        beliefs.probabilities() * (1 - beliefs.probabilities())
    )  # 1: it all depends on the functions
    assert share[3:].min() > share[:3].max()
    assert share.max() <= 1.05


# --- calibration and thresholds


def test_link_and_thresholds_come_from_left_out_beliefs():
    X, Y = problem(n=200)
    model = made(projection="gaussian", label_prior="covariance").fit(X[:120], Y[:120])
    p, truth = model.predict_proba(X[120:]), Y[120:]
    base = np.broadcast_to(Y[:120].mean(0), truth.shape)
    raw = np.clip(model.posterior(X[120:]).means(), 1e-3, 1 - 1e-3)
    assert log_loss(p, truth) < 0.97 * log_loss(raw, truth) < 0.9 * log_loss(base, truth)

    def f1(sets):
        return 2 * (sets & truth).sum() / (sets.sum() + truth.sum())

    tuned = Threshold(model.thresholds_).decide(model.posterior(X[120:]))
    assert f1(tuned) > f1(p > 0.5) - 0.01
    assert np.all((model.thresholds_ > 0) & (model.thresholds_ < 1))


# --- items, and the strategies that use these beliefs


@pytest.mark.parametrize("kernel", ["linear", "rbf", RBF(1.5)])
def test_item_covariance_is_that_of_the_regression(kernel):
    X, Y = problem()
    model = made(projection="gaussian", kernel=kernel).fit(X[:30], Y[:30])
    covariance = model.posterior(X).item_covariance()
    weights, _ = regression(model, X[:30], X)
    expected = model.kernel_(X) - weights @ model.kernel_(X[:30], X)
    np.testing.assert_allclose(covariance.columns(np.arange(60)), expected, atol=1e-8)
    np.testing.assert_allclose(covariance.diagonal(), expected.diagonal(), atol=1e-8)
    assert covariance.noise == model.noise_variance_
    factor = covariance.factor()
    assert (factor is not None) == (kernel == "linear")
    if factor is not None:
        np.testing.assert_allclose(factor @ factor.T, expected, atol=1e-8)


def test_items_count_as_known_when_all_their_labels_are():
    X, Y = problem()
    observed = np.ones((30, 6), dtype=bool)
    observed[20:, :3] = False
    model = made().fit(X[:30], Y[:30], observed=observed)
    weights, _ = regression(model, X[:20], X)
    expected = model.kernel_(X) - weights @ model.kernel_(X[:20], X)
    np.testing.assert_allclose(model.posterior(X).item_covariance().columns(np.arange(60)), expected, atol=1e-8)


def test_strategies_work_with_these_beliefs(model):
    X, Y = problem()
    beliefs = model.posterior(X[40:])
    closed = np.zeros((20, 6), dtype=bool)
    closed[:3] = True
    closed[3:, 0] = True
    beliefs = beliefs.given(Y[40:], closed)
    strategies = [
        MutualInformation(),
        MutualInformation(target="pairs"),
        MutualInformation(target="pairs", pairs="joint"),
        *(Diagnosis(labels_per_item=2, rule=rule) for rule in ("near_threshold", "variance", "total_variance", "mi")),
    ]
    for strategy in strategies:
        choice = strategy.choose(beliefs, sp.csr_array(closed), 6, np.random.default_rng(0))
        assert choice.rows.size == 6 and choice.rows.min() >= 3 and np.isfinite(choice.scores).all()
        if choice.labels is not None:
            assert not closed[choice.rows, choice.labels].any()
            assert len(set(zip(choice.rows, choice.labels, strict=True))) == 6


# --- errors, and published figures


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"projection": "fourier"}, "projection must be one of"),
        ({"projection": np.ones((2, 5))}, r"\(k, 6\)"),
        ({"projection": np.full((2, 6), np.nan)}, "finite"),
        ({"n_compressed": 0}, "n_compressed must be positive"),
        ({"n_compressed": 1.5}, "share"),
        ({"projection": "identity", "n_compressed": 3}, "keeps every label"),
        ({"center": "yes"}, "center must be one of 'auto', True, False"),
        ({"projection": "orthogonal", "n_compressed": 7}, "orthonormal"),
        ({"label_prior": "gauss"}, "label_prior must be one of"),
        ({"label_prior": "covariance", "center": False}, "center=False"),
        ({"label_prior": "covariance", "inference": "mean_field"}, "mean_field"),
        ({"recovery": "slow"}, "recovery must be one of"),
        ({"kernel": "matern"}, "kernel must be one of"),
        ({"kernel": 3}, "scikit-learn kernel"),
        ({"length_scale": -1.0}, "length_scale must be positive"),
        ({"noise_variance": 0.0}, "noise_variance must be positive"),
        ({"scale": "robust"}, "scale must be one of"),
        ({"n_iterations": 0}, "n_iterations must be at least 1"),
        ({"prior_rate": 0.0}, "must be positive"),
        ({"compression_share": 1.0}, "compression_share must lie"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named(parameters, words):
    X, Y = problem(n=20)
    with pytest.raises(ValueError, match=words):
        made(**parameters).fit(X, Y)


def test_known_labels_of_another_shape_are_refused():
    X, Y = problem()
    beliefs = made(label_prior="covariance").fit(X, Y).posterior(X[:3])
    with pytest.raises(ValueError, match=r"observed has shape \(2, 6\), expected \(3, 6\)"):
        beliefs.given(Y[:3], np.ones((2, 6), bool))


@pytest.mark.shared_data
def test_yeast_precision_with_and_without_a_random_projection(shared_data):
    data = read(shared_data / "yeast" / "yeast.arff.gz")
    Y = np.asarray(data.Y.todense() if sp.issparse(data.Y) else data.Y).astype(bool)
    order = np.random.default_rng(0).permutation(len(Y))
    train, test = order[:300], order[300:1100]

    def precision(**parameters):
        beliefs = CompressedLabelGP(random_state=0, **parameters).fit(data.X[train], Y[train]).posterior(data.X[test])
        top = beliefs.scores().argmax(1)
        return Y[test][np.arange(800), top].mean()

    assert precision() >= 0.74 and precision(projection="pca") >= 0.74
    assert precision(projection="gaussian") < 0.65


@pytest.mark.parametrize("center", [True, False])
def test_scores_by_any_decoder_are_those_of_the_predicted_codes(center):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    Y = X @ rng.standard_normal((6, 10)) > 1
    model = CompressedLabelGP("gaussian", n_compressed=7, center=center, label_prior="sparse", random_state=0).fit(X, Y)
    beliefs = model.posterior(X)
    codes = beliefs._codes.mean + model.projection_ @ model.label_mean_  # of labels that are not centred
    np.testing.assert_allclose(beliefs.scores("l2"), codes @ np.linalg.pinv(model.projection_).T, atol=1e-10)
    np.testing.assert_allclose(beliefs.scores("lasso"), recover_box_lasso(codes, model.projection_), atol=1e-10)
    np.testing.assert_array_equal(beliefs.ranking(), beliefs.scores())


@pytest.mark.parametrize("options", [{"projection": "pca"}, {"projection": "gaussian", "n_compressed": 3}])
def test_rows_hardly_known_say_nothing_of_the_codes(options):
    X, Y = problem(n=60)
    observed = np.arange(6) == np.arange(60)[:, None] % 6  # one answer each ...
    observed[:40] = True  # ... but for the first
    model = CompressedLabelGP(**options, random_state=0).fit(X, Y, observed)
    np.testing.assert_array_equal(model._fitted.regression.solver.X, model._fitted.scaling(X[:40]))
    by_itself = CompressedLabelGP(random_state=0).fit(X, Y, observed)  # every label is a code: all answers count
    assert len(by_itself._fitted.regression.solver.X) == 60
