"""Targets known on different rows against a Gaussian process each on its own rows; silence that changes nothing."""

import numpy as np
import pytest

from labelwise.models import OrthogonalTargetGP


def problem(n, d=6, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = X @ rng.standard_normal((d, q)) + 0.3 * rng.standard_normal((n, q)) > 0.4
    return X, Y


def on_own_rows(model, X, Y, observed, Z):
    """Means and variances of every target at Z from the definition, given the rows where its label was answered."""
    U = model.directions_.targets(Y @ model.projection_.T)
    means, variances = np.empty((len(Z), model.n_targets_)), np.empty((len(Z), model.n_targets_))
    for group in model._state.groups:
        for g, scale, ratio in zip(group.targets, group.scales, group.ratios, strict=True):
            on = observed[:, g]
            C, cross = group.kernel(X[on]) + ratio * np.eye(on.sum()), group.kernel(X[on], Z)
            means[:, g] = cross.T @ np.linalg.solve(C, U[on, g])
            explained = np.einsum("ij,ij->j", cross, np.linalg.solve(C, cross))
            variances[:, g] = scale * (group.kernel.diagonal(Z) - explained + ratio)
    return means, variances


@pytest.mark.parametrize("gp", ["shared", "separate"])
@pytest.mark.parametrize("n_full", [35, 5])
def test_labels_known_on_different_rows_are_regressed_on_their_own(gp, n_full):
    X, Y = problem(70)
    observed = np.random.default_rng(1).random(Y.shape) < 0.3
    observed[:n_full] = True
    observed[:, 3] = observed[:, 2]  # two labels with the same rows share a factor
    model = OrthogonalTargetGP(gp=gp, scale="none", random_state=0).fit(X[:60], Y[:60], observed=observed[:60])
    beliefs = model.posterior(X[60:])
    answered = observed[:60].any(axis=1)
    means, variances = on_own_rows(model, X[:60][answered], Y[:60][answered], observed[:60][answered], X[60:])
    np.testing.assert_allclose(beliefs.target_means(), means, atol=1e-8)
    np.testing.assert_allclose(beliefs.target_variances(), variances, atol=1e-8)


@pytest.mark.parametrize("gp", ["shared", "separate"])
def test_left_out_answers_are_those_of_a_fit_without_them(gp):
    X, Y = problem(50)
    observed = np.random.default_rng(1).random(Y.shape) < 0.6
    observed[:5] = True
    observed[5] = [True, False, True, False]
    model = OrthogonalTargetGP(gp=gp, scale="none", random_state=0).fit(X, Y, observed=observed)
    mean, variance = model._state.regression.left_out()
    without = observed.copy()
    without[5] = False
    U = model.directions_.targets(Y.astype(float))
    step = np.where(observed[5], U[5] / (observed.sum(axis=0) - 1), 0.0)  # the centre moves as well, where it is known
    means, variances = on_own_rows(model, X, model.directions_.codes(U + step), without, X[[5]])
    np.testing.assert_allclose(mean[5], means[0], atol=1e-8)
    np.testing.assert_allclose(variance[5], np.where(observed[5], variances[0], 0.0), atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"bpca": "evb"}, {"gp": "separate"}])
def test_rows_hardly_known_change_no_belief_about_mixed_codes(options):
    X, Y = problem(360, q=20)
    observed = np.ones(Y.shape, dtype=bool)
    observed[60:, 1:] = False
    fixed = {"projection": "gaussian", "scale": "none", "random_state": 0, **options}
    alone = OrthogonalTargetGP(**fixed).fit(X[:60], Y[:60]).posterior(X)
    beside = OrthogonalTargetGP(**fixed).fit(X, Y, observed=observed).posterior(X)
    np.testing.assert_allclose(beside.target_means(), alone.target_means(), atol=1e-8)
    np.testing.assert_allclose(beside.target_variances(), alone.target_variances(), atol=1e-8)
    np.testing.assert_allclose(beside.label_counts(), alone.label_counts(), atol=1e-8)


@pytest.mark.parametrize("options", [{}, {"projection": "gaussian"}])
def test_counts_of_labels_do_not_go_to_the_average_by_rows_hardly_known(options):
    X, Y = problem(360, q=20)
    observed = np.ones(Y.shape, dtype=bool)
    observed[60:, 1:] = False
    model = OrthogonalTargetGP(scale="none", random_state=0, **options)
    alone = model.fit(X[:60], Y[:60]).posterior(X).label_counts()
    beside = model.fit(X, Y, observed=observed).posterior(X).label_counts()
    np.testing.assert_allclose(beside, alone, atol=1e-8)


def test_a_label_nobody_was_asked_about_keeps_its_prior_variance():
    X, Y = problem(40)
    observed = np.ones(Y.shape, dtype=bool)
    observed[:, 2] = False
    model = OrthogonalTargetGP(scale="none", random_state=0).fit(X[:30], Y[:30], observed=observed[:30])
    (group,) = model._state.groups
    prior = group.scales[2] * (group.kernel.diagonal(X[30:]) + group.ratios[2])
    np.testing.assert_allclose(model.posterior(X[30:]).target_variances()[:, 2], prior)
    assert np.all(np.isfinite(model.predict_proba(X)))


def test_variances_of_mixed_targets_are_nearly_those_with_the_doubt_of_what_was_filled_in():
    """Half of the rows lack half of their labels: p (1 − p) of the unknown ones as noise of their rows, densely."""
    X, Y = problem(260, q=12, seed=2)
    observed = np.random.default_rng(1).random(Y.shape) < 0.5
    observed[:80] = True
    model = OrthogonalTargetGP("gaussian", scale="none", random_state=0).fit(X[:160], Y[:160], observed=observed[:160])
    (group,), state, Z = model._state.groups, model._state, X[160:]
    rows, filled = state.filled.rows, state.filled.labels
    doubt = np.where(state.rows.observed[rows], 0.0, filled * (1 - filled))  # (m, q)
    extra = doubt @ ((state.directions.basis / np.sqrt(state.directions.variances)).T @ model.projection_).T ** 2
    signals = model.posterior(Z).target_variances() - group.noises
    for g, scale in enumerate(group.scales):
        C = scale * group.kernel(state.X[rows]) + np.diag(group.noises[g] + extra[:, g])
        cross = scale * group.kernel(state.X[rows], Z)
        with_doubt = scale * group.kernel.diagonal(Z) - np.einsum("ij,ij->j", cross, np.linalg.solve(C, cross))
        ratio = (signals[:, g] / with_doubt).mean()
        assert 0.8 < ratio < 1
