"""The feature-space solver against kernel space, exact for linear kernels and for as many inducing rows as rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise.numerics.gp import feature_solver
from labelwise.numerics.gp.feature_solver import FeatureSolver, LinearMap, NystromMap, quadratic_forms
from labelwise.numerics.gp.kernels import Kernel
from masked_regression import answer_mask, check_solver, rival

LINEAR, RBF, NOISE = Kernel(linear=0.8, bias=0.5), Kernel(rbf=1.0, bias=0.5), 0.4


def problem(seed, n=30, q=6, d=4):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0.0)
    return X, answer_mask(rng, n, q), rng.normal(size=(n, q)), rng.normal(size=(5, d))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_linear_features_are_the_linear_kernel(kind):
    X, observed, right_side, X_new = problem(0)
    solver = FeatureSolver.fit(LinearMap(LINEAR), NOISE, kind(X), observed)
    check_solver(solver, rival(LINEAR, NOISE, X, observed, right_side, X_new), right_side, kind(X_new), 1e-11)


def test_all_rows_inducing_is_the_kernel_itself():
    X, observed, right_side, X_new = problem(1)
    solver = FeatureSolver.fit(NystromMap.on(RBF, X), NOISE, X, observed)
    check_solver(solver, rival(RBF, NOISE, X, observed, right_side, X_new), right_side, X_new, 1e-6)


def test_few_inducing_rows_never_claim_to_know_more():
    X, observed, _, X_new = problem(2)
    exact = rival(RBF, NOISE, X, observed, np.zeros(observed.shape), X_new).variances
    few = FeatureSolver.fit(NystromMap.on(RBF, X[:8]), NOISE, X, observed).variances(X_new)
    more = FeatureSolver.fit(NystromMap.on(RBF, X[:20]), NOISE, X, observed).variances(X_new)
    assert np.abs(more - exact).mean() < np.abs(few - exact).mean()
    assert np.all(few <= RBF.diagonal(X_new)[:, None] + 1e-6)


def test_what_inducing_rows_cannot_express():
    X, _, _, X_new = problem(3)
    nystrom = NystromMap.on(RBF, X[:6])
    K_zz, K_z = RBF(X[:6]), RBF(X_new, X[:6])
    explained = np.einsum("mi,ij,mj->m", K_z, np.linalg.inv(K_zz), K_z)
    np.testing.assert_allclose(nystrom.lost(X_new), RBF.diagonal(X_new) - explained, atol=1e-6)
    np.testing.assert_allclose(nystrom.lost(X[:6]), 0, atol=1e-6)
    assert not LinearMap(LINEAR).lost(X_new).any()


def test_duplicate_inducing_rows_are_harmless():
    X = np.ones((4, 2))
    features = NystromMap.on(RBF, X)(X)
    np.testing.assert_allclose(features @ features.T, RBF(X), atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 29), st.booleans())
def test_in_pieces_as_at_once(seed, cut, sparse):
    X, observed, right_side, X_new = problem(seed)
    kind = sp.csr_array if sparse else np.asarray
    late = observed & (np.random.default_rng(seed).random(observed.shape) < 0.3)
    late[cut:] = False
    solver = FeatureSolver.fit(LinearMap(LINEAR), NOISE, kind(X[:cut]), observed[:cut] & ~late[:cut])
    solver = solver.extend(kind(X[cut:]), observed & ~late).extend(kind(X[:0]), observed)
    check_solver(solver, rival(LINEAR, NOISE, X, observed, right_side, X_new), right_side, kind(X_new), 1e-10)


def test_only_the_labels_that_were_answered_change():
    X, observed, _, _ = problem(4)
    solver = FeatureSolver.fit(LinearMap(LINEAR), NOISE, X, observed)
    more = observed.copy()
    more[~observed[:, 2], 2] = True
    before = {tuple(mask.labels): mask.gram for mask in solver.masks}
    changed = [
        mask.labels for mask in solver.extend(X[:0], more).masks if mask.gram is not before.get(tuple(mask.labels))
    ]
    assert [list(labels) for labels in changed] == [[2]]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_quadratic_forms(kind, monkeypatch):
    X, *_ = problem(5)
    A = X.T @ X + np.eye(X.shape[1])
    monkeypatch.setattr(feature_solver, "BLOCK", 7)
    np.testing.assert_allclose(quadratic_forms(A, kind(X)), np.einsum("ni,ij,nj->n", X, np.linalg.inv(A), X))
