"""Beliefs of LabelMixtureGP: against enumeration of all label sets, concatenated mixtures and draws."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr

from labelwise.models.mixture.model import LabelMixtureGP
from labelwise.models.mixture.state import MixturePosterior
from labelwise.numerics.mixture.gates import integrated_moments
from labelwise.posterior import LabelCovariances


def fitted(n=50, q=4, seed=0, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 12, 3))
    Y = X @ rng.normal(size=(3, q)) + 0.5 * rng.normal(size=(n + 12, q)) > 0.4
    defaults = {"n_components": 4, "restarts": 2, "gate": "variational", "random_state": 0}
    made = LabelMixtureGP(**(defaults | options))
    return made.fit(X[:n], Y[:n]), X[n:], Y[n:]


def joint(weights, theta):
    """All label sets (2^q, q) and their probabilities (n, 2^q) under mixtures of independent labels."""
    sets = np.array(list(product([False, True], repeat=theta.shape[1])))
    fit = np.where(sets[:, None, :], theta, 1 - theta).prod(2)  # (2^q, k)
    return sets, weights @ fit.T


@pytest.mark.parametrize("gate", ["variational", "regression"])
def test_probabilities_and_covariances_are_those_of_all_label_sets(gate):
    model, X, _ = fitted(gate=gate)
    posterior = model.posterior(X)
    weights = posterior.component_weights()
    np.testing.assert_allclose(weights.sum(1), 1.0)
    sets, p = joint(weights, model.label_probabilities_)
    np.testing.assert_allclose(posterior.probabilities(), p @ sets, rtol=1e-12)
    second = np.einsum("ns,sl,sm->nlm", p, sets, sets) - np.einsum("nl,nm->nlm", p @ sets, p @ sets)
    covariances = posterior.label_covariances()
    np.testing.assert_allclose(covariances.dense(), second, atol=1e-14)
    np.testing.assert_allclose(covariances.variances(), second.diagonal(axis1=1, axis2=2), rtol=1e-10)
    np.testing.assert_allclose(covariances.log_determinants(), np.linalg.slogdet(second)[1], rtol=1e-9)
    plain = LabelCovariances(covariances.diagonal, covariances.factor)
    np.testing.assert_allclose(plain.log_determinants(), covariances.log_determinants(), rtol=1e-9)


def test_restarts_are_one_mixture():
    model, X, _ = fitted(restarts=3)
    posterior, parts = model.posterior(X), model._fitted.parts
    alone = [MixturePosterior(replace(model._fitted, restarts=(each,)), X) for each in model._fitted.restarts]
    np.testing.assert_allclose(posterior.probabilities(), np.mean([each.probabilities() for each in alone], axis=0))
    weights = np.hstack([each.component_weights() / 3 for each in alone])
    np.testing.assert_allclose(posterior.component_weights(), weights)
    np.testing.assert_allclose(posterior._moments.variance[:, parts[1]], alone[1]._moments.variance)
    means = np.stack([each.probabilities() for each in alone])  # the law of total covariance
    within = np.mean([each.label_covariances().dense() for each in alone], axis=0)
    between = np.einsum("rnl,rnm->nlm", means - means.mean(0), means - means.mean(0)) / 3
    np.testing.assert_allclose(posterior.label_covariances().dense(), within + between, atol=1e-13)


def test_gates_are_those_of_the_gaussian_processes():
    model, X, _ = fitted(scale="none")
    posterior, state, part = model.posterior(X), model._fitted, model._fitted.parts[1]
    restart, K = state.restarts[1], state.gates.kernel(state.X)
    K_new = state.gates.kernel(X, state.X)
    mean, variance = np.empty((2, len(X), 4))
    for k in range(4):
        C = K + np.diag(1 / restart.precision[:, k])
        mean[:, k] = restart.prior_mean[k] + K_new @ restart.weights[:, k]
        variance[:, k] = 4.0 - np.einsum("nm,nm->n", K_new, np.linalg.solve(C, K_new.T).T)
    moments = integrated_moments(mean, variance)
    np.testing.assert_allclose(posterior.component_weights()[:, part], moments.mean / 2, atol=1e-9)
    np.testing.assert_allclose(posterior._moments.variance[:, part], moments.variance, atol=1e-9)
    np.testing.assert_allclose(posterior.feature_variances(), posterior._moments.variance.mean(1))


@pytest.mark.parametrize("gate", ["variational", "regression"])
def test_given_is_bayes_rule_over_all_label_sets(gate):
    model, X, Y = fitted(gate=gate)
    posterior = model.posterior(X)
    observed = np.random.default_rng(0).random(Y.shape) < 0.5
    sets, p = joint(posterior.component_weights(), model.label_probabilities_)
    possible = np.all(~observed[:, None, :] | (sets == Y[:, None, :]), axis=2)  # (n, 2^q)
    after = p * possible / (p * possible).sum(1, keepdims=True)
    told = posterior.given(Y, observed)
    np.testing.assert_allclose(told.probabilities(), after @ sets, atol=1e-12)
    second = np.einsum("ns,sl,sm->nlm", after, sets, sets) - np.einsum("nl,nm->nlm", after @ sets, after @ sets)
    np.testing.assert_allclose(told.label_covariances().dense(), second, atol=1e-11)
    again = posterior.given(sp.csr_array(Y & observed), sp.csr_array(observed))
    np.testing.assert_allclose(again.rows(slice(3, 7)).probabilities(), told.probabilities()[3:7])
    np.testing.assert_allclose(told.feature_variances(), posterior.feature_variances())
    with pytest.raises(ValueError, match="observed has shape"):
        posterior.given(Y, observed[:3])


def test_given_twice_is_given_both():
    model, X, Y = fitted()
    first, second = np.zeros(Y.shape, dtype=bool), np.zeros(Y.shape, dtype=bool)
    first[:, 0], second[:, 2] = True, True
    step_by_step = model.posterior(X).given(Y, first).given(Y, second)
    np.testing.assert_allclose(
        step_by_step.probabilities(), model.posterior(X).given(Y, first | second).probabilities()
    )


def test_draws_have_the_mixture_s_own_dependence():
    model, X, Y = fitted()
    posterior = model.posterior(X[:3])
    drawn = posterior.sample_labels(60_000, np.random.default_rng(0))
    for i in range(3):
        expected = posterior.label_covariances().dense()[i]
        np.testing.assert_allclose(np.cov(drawn[:, i].T.astype(float)), expected, atol=5 * 0.25 / np.sqrt(60_000))
    observed = np.zeros((3, 4), dtype=bool)
    observed[:, 1] = True
    told = posterior.given(Y[:3], observed)
    drawn = told.sample_labels(20_000, np.random.default_rng(1))
    np.testing.assert_allclose(drawn.mean(0), told.probabilities(), atol=0.02)
    assert np.all(drawn[:, :, 1] == Y[:3, 1])


@pytest.mark.parametrize("gate", ["variational", "regression"])
def test_drawn_probabilities_have_the_right_mean(gate):
    model, X, Y = fitted(gate=gate)
    posterior = model.posterior(X[:5])
    drawn = posterior.sample_probabilities(6000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn.mean(0), posterior.probabilities(), atol=5 * 0.3 / np.sqrt(6000))
    assert np.all((drawn >= 0) & (drawn <= 1)) and drawn.std(0).min() > 1e-3
    observed = np.zeros((5, 4), dtype=bool)
    observed[:, 0] = True
    told = posterior.given(Y[:5], observed)
    drawn = told.sample_probabilities(2000, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn[:, :, 0], np.broadcast_to(Y[:5, 0], (2000, 5)))
    np.testing.assert_allclose(drawn.mean(0), told.probabilities(), atol=0.06)


def test_rough_beliefs_rank_as_the_exact_ones():
    model, X, Y = fitted()
    X = np.random.default_rng(5).normal(size=(400, 3))
    posterior = model.posterior(X)
    rough = posterior.rough()
    exact_logdet, rough_logdet = (each.label_covariances().log_determinants() for each in (posterior, rough))
    assert spearmanr(exact_logdet, rough_logdet).statistic > 0.98
    assert spearmanr(posterior.feature_variances(), rough.feature_variances()).statistic > 0.9
    assert np.abs(rough.probabilities() - posterior.probabilities()).max() < 0.03
    assert rough.rough() is rough
    observed = np.ones((1, 4), dtype=bool)
    assert rough.rows(slice(0, 1)).given(Y[:1], observed).probabilities().tolist() == [Y[0].tolist()]


def test_the_regression_gate_is_a_regression_of_responsibilities():
    model, X, _ = fitted(gate="regression", scale="none")
    state, posterior = model._fitted, model.posterior(X)
    hyper, phi = state.hyper, model.responsibilities_
    C = hyper.kernel(state.X) + hyper.noise * np.eye(50)
    K_new = hyper.kernel(X, state.X)
    mean = np.maximum(phi.mean(0) + K_new @ np.linalg.solve(C, phi - phi.mean(0)), 1e-4)
    for part in state.parts:
        expected = mean[:, part] / mean[:, part].sum(1, keepdims=True) / 2
        np.testing.assert_allclose(posterior.component_weights()[:, part], expected, atol=1e-9)
    spread = hyper.amplitude - np.einsum("nm,nm->n", K_new, np.linalg.solve(C, K_new.T).T)
    np.testing.assert_allclose(posterior.feature_variances(), spread, atol=1e-9)
    between = hyper.kernel(X) - K_new @ np.linalg.solve(C, K_new.T)
    covariance = posterior.item_covariance()
    np.testing.assert_allclose(covariance.columns(np.arange(len(X))), between, atol=1e-9)
    np.testing.assert_allclose(covariance.diagonal(), spread, atol=1e-9)


@pytest.mark.parametrize("options", [{}, {"gate_moments": "sampling"}, {"max_exact": 20, "n_inducing": 15}])
def test_block_size_does_not_change_scores(options, monkeypatch):
    model, X, _ = fitted(**options)
    whole = model.posterior(X)
    monkeypatch.setattr("labelwise.models.mixture.state.BLOCK", 5)
    monkeypatch.setattr("labelwise.models.mixture.state.MAX_NUMBERS", 0)  # factors made again for every block
    model._fitted._factors.clear()
    parts = [part for _, part in model.posterior(X).blocks(7)]
    for name in ("probabilities", "feature_variances"):
        found = np.concatenate([getattr(part, name)() for part in parts])
        np.testing.assert_allclose(found, getattr(whole, name)(), atol=1e-12)
    found = np.concatenate([part.label_covariances().log_determinants() for part in parts])
    np.testing.assert_allclose(found, whole.label_covariances().log_determinants(), rtol=1e-10)
    assert not model._fitted._factors
