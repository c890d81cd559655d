from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from factor_loops import Loops, random_beliefs
from factor_problems import factor_fit, problem, run, start
from labelwise.numerics.factors import variational as factor_variational
from labelwise.numerics.factors.model import FactorData, FactorFit, Penalties, start_factors
from labelwise.numerics.factors.variational import FactorBeliefs, VariationalFit
from labelwise.numerics.gp.feature_regression import FeatureRegression
from labelwise.numerics.weighted_ridge import RowSolver

VARIANTS = {
    "all": {},
    "no bias": {"bias": False},
    "no counts": {"counts": False},
    "learnt over-dispersion": {"learn_overdispersion": True},
}


def begin(fit, k=3):
    return FactorBeliefs.start(start(fit, k), fit.penalties.items)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_bound_never_falls(name):
    fit = factor_fit(problem(n=40), **VARIANTS[name])
    variational, q = VariationalFit(fit), begin(fit)
    values = [variational.bound(q)]
    for _ in range(60):
        q = variational.sweep(q)
        values.append(variational.bound(q))
    assert np.all(np.diff(values) >= -1e-10 * np.abs(values[1:]))
    assert values[-1] > values[0] + 20


@pytest.mark.parametrize("name", ["all", "no bias", "no counts"])
def test_sweeps_and_bound_are_those_written_out_entry_by_entry(name):
    fit = factor_fit(problem(n=9, d=3, s=5, u=2), **VARIANTS[name])
    variational, loops, q = VariationalFit(fit), Loops(fit, certain=False), random_beliefs(fit)
    rival = q
    for _ in range(3):
        np.testing.assert_allclose(variational.bound(q), loops.bound(rival), rtol=1e-10)
        q, rival = variational.sweep(q), loops.sweep(rival)
        for part in ("items", "labels", "columns"):
            np.testing.assert_allclose(getattr(q, part), getattr(rival, part), atol=1e-9)
            np.testing.assert_allclose(getattr(q.means, part), getattr(rival.means, part), atol=1e-9)
        for part in ("weights", "label_bias", "row_bias", "column_bias"):
            np.testing.assert_allclose(getattr(q.means, part), getattr(rival.means, part), atol=1e-9)


def tiny(Y, penalty=1.0):
    """Labels without features, biases or counts, one factor."""
    Y = np.asarray(Y, dtype=bool)
    data = FactorData.of(Y, np.ones_like(Y))
    X = np.zeros((len(Y), 1))
    penalties = Penalties(items=penalty, labels=penalty, features=1.0)
    fit = FactorFit(data, penalties, FeatureRegression(X, 1.0), RowSolver(), bias=False)
    return VariationalFit(fit), FactorBeliefs.start(start_factors(data, 1, 1, bias=False, dtype=np.float64), penalty)


def test_the_bound_is_below_the_evidence_by_quadrature():
    Y = np.array([[1, 0], [1, 1]])
    variational, q = tiny(Y)
    for _ in range(300):
        q = variational.sweep(q)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    v, w = np.meshgrid(nodes, nodes, indexing="ij")
    given_v = np.ones_like(v)  # ∏ over items of ∫ ∏ p(y | u v) du, on the grid of (v₁, v₂)
    for y in Y:
        signs = 2 * y - 1
        psi = nodes[:, None, None]
        given_v = given_v * np.einsum("u,uij->ij", weights, expit(signs[0] * psi * v) * expit(signs[1] * psi * w))
    evidence = np.log(np.einsum("i,j,ij->", weights, weights, given_v))
    np.testing.assert_allclose(evidence, -2.790, atol=1e-3)
    assert variational.bound(q) <= evidence
    np.testing.assert_allclose(variational.bound(q), -3.123, atol=1e-3)


def test_without_covariances_it_is_expectation_maximisation(monkeypatch):
    fit = factor_fit(problem(1), method="exact")
    monkeypatch.setattr(
        factor_variational, "second_moments", lambda A, S: (A[:, :, None] * A[:, None, :]).reshape(len(A), -1)
    )
    variational, q = VariationalFit(fit), begin(fit, 4)
    for _ in range(20):
        q = variational.sweep(q)
    f = run(fit, start(fit, 4), 20)
    np.testing.assert_allclose(q.means.labels, f.labels, atol=1e-9)
    np.testing.assert_allclose(q.means.column_bias, f.column_bias, atol=1e-9)


def test_beliefs_against_gibbs_sampling():
    """Pólya-Gamma Gibbs draws from the exact posterior; its mean probabilities are the truth that beliefs approach."""
    polyagamma = pytest.importorskip("polyagamma", reason="needs the package polyagamma as a rival")
    rng = np.random.default_rng(0)
    n, q = 40, 8
    Y = rng.random((n, q)) < expit(2 * rng.normal(size=(n, 1)) * rng.normal(size=q))
    variational, beliefs = tiny(Y)
    for _ in range(200):
        beliefs = variational.sweep(beliefs)
    u, v, total, kept = rng.normal(size=n), rng.normal(size=q), np.zeros((n, q)), 0
    kappa = Y - 0.5
    for sweep in range(3000):
        omega = polyagamma.random_polyagamma(1, np.outer(u, v), random_state=rng)
        precision = 1 + omega @ v**2
        u = (kappa @ v) / precision + rng.normal(size=n) / np.sqrt(precision)
        precision = 1 + u**2 @ omega
        v = (u @ kappa) / precision + rng.normal(size=q) / np.sqrt(precision)
        if sweep >= 300:
            total, kept = total + expit(np.outer(u, v)), kept + 1
    exact = total / kept
    mean, labels = beliefs.means.items @ beliefs.means.labels.T, beliefs.means.labels
    variance = (
        np.outer(beliefs.means.items[:, 0] ** 2, beliefs.labels[:, 0, 0])
        + np.outer(beliefs.items[:, 0, 0], labels[:, 0] ** 2)
        + np.outer(beliefs.items[:, 0, 0], beliefs.labels[:, 0, 0])
    )
    believed = expit(mean / np.sqrt(1 + np.pi * variance / 8))
    assert np.corrcoef(believed.ravel(), exact.ravel())[0, 1] > 0.97
    assert np.abs(believed - exact).mean() < 0.05


def test_a_label_with_more_answers_is_believed_more_firmly():
    given = problem(2, n=200, known=1.0)
    given.observed[20:, 0] = False
    fit = factor_fit(given, counts=False)
    variational, q = VariationalFit(fit), begin(fit)
    for _ in range(20):
        q = variational.sweep(q)
    doubt = np.trace(q.labels, axis1=1, axis2=2)
    assert doubt[0] > 1.5 * doubt[1:].max()
    assert np.all(np.linalg.eigvalsh(q.labels) > 0)


def test_chunks_do_not_matter(monkeypatch):
    from labelwise.numerics import weighted_ridge

    fit = factor_fit(problem(3))
    whole = VariationalFit(fit).sweep(begin(fit))
    monkeypatch.setattr(weighted_ridge, "CHUNK", 50)
    parts = VariationalFit(fit).sweep(begin(fit))
    np.testing.assert_allclose(parts.items, whole.items, rtol=1e-11)
    np.testing.assert_allclose(parts.means.labels, whole.means.labels, rtol=1e-9)
    np.testing.assert_allclose(VariationalFit(fit).bound(parts), VariationalFit(fit).bound(whole), rtol=1e-11)


def test_beliefs_are_not_changed_by_a_sweep():
    fit = factor_fit(problem(4))
    q = begin(fit)
    before = q.items.copy(), q.means.labels.copy()
    VariationalFit(replace(fit)).sweep(q)
    np.testing.assert_array_equal(q.items, before[0])
    np.testing.assert_array_equal(q.means.labels, before[1])
