"""Regression of codes: leaving one out against refitting, partial rows against the exact joint solve."""

import numpy as np
import pytest

from labelwise.models.compressed.code import (
    CodePlan,
    CodeRegression,
    FittedKernel,
    KernelOptions,
    SparseOptions,
    TrainingCodes,
    learn_code,
    learn_codes,
)
from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.gp.search import SharedOptimum
from labelwise.numerics.recovery.label_codes import KnownLabels
from labelwise.numerics.recovery.row_completion import complete_rows
from labelwise.numerics.recovery.sparse_recovery import SparsePrior

KERNELS = {"rbf": Kernel(rbf=0.8, bias=0.3, length_scale=1.2), "linear": Kernel(linear=0.5, bias=0.4)}
NOISE = 0.2


def problem(n=14, q=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    Y = X @ rng.standard_normal((2, q)) + 0.3 * rng.standard_normal((n, q)) > 0.3
    return X, Y, rng.random((n, q)) < 0.7


def fit(kernel, X, Z, observed):
    fitted = FittedKernel(kernel, kernel, SharedOptimum(1.0, NOISE, 0.0))
    return CodeRegression.fit(TrainingCodes(Z, observed, fitted), X, np.arange(len(X), dtype=float))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_left_out_codes_are_those_of_refitting(kernel):
    X, Y, _ = problem()
    Z, everywhere = Y @ np.random.default_rng(1).standard_normal((5, 3)), np.ones((14, 1), dtype=bool)
    left_out = fit(kernel, X, Z, everywhere).left_out(centred=False)
    for i in range(14):
        rest = np.arange(14) != i
        again = fit(kernel, X[rest], Z[rest], everywhere[rest]).predict(X[i : i + 1])
        np.testing.assert_allclose(left_out.mean[i], again.mean[0], atol=1e-12)
        np.testing.assert_allclose(left_out.variance[i], again.variance[0], rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("partial", [False, True])
def test_left_out_codes_count_the_change_of_the_centre(kernel, partial):
    X, Y, observed = problem()
    observed |= ~np.full(Y.shape, partial)
    centre = (Y & observed).sum(0) / observed.sum(0)
    Z = np.where(observed, Y - centre, 0.0)
    left_out = fit(kernel, X, Z, observed).left_out(centred=True)
    for i in range(14):
        rest = np.arange(14) != i
        own = (Y & observed)[rest].sum(0) / observed[rest].sum(0)
        again = fit(kernel, X[rest], np.where(observed[rest], Y[rest] - own, 0.0), observed[rest]).predict(X[i : i + 1])
        here = observed[i]
        np.testing.assert_allclose(left_out.mean[i, here], again.mean[0, here], atol=1e-11)
        np.testing.assert_allclose(left_out.variance[i, here], again.variance[0, here], rtol=1e-9)


@pytest.mark.parametrize("label_prior", ["covariance", "sparse"])
def test_partial_rows_of_a_mixing_code_are_completed_by_the_kernel_that_was_found(label_prior):
    X, Y, observed = problem(n=12)
    labels = KnownLabels(Y, observed)
    plan = CodePlan("gaussian", label_prior, label_prior == "covariance", False)
    rng = np.random.default_rng(0)
    code = learn_code(plan, labels, "gaussian", 3, SparseOptions(SparsePrior(), 12, None), rng)
    training = learn_codes(KernelOptions("rbf", 1.0, None), code, X, labels, np.arange(12.0))
    C = training.fitted.kernel(X) + training.fitted.noise * np.eye(12)
    P, Phi, mean = np.linalg.inv(C), code.projection, code.label_mean
    assert training.observed.all() and training.Z.shape == (12, 3)
    complete = observed.all(1)
    np.testing.assert_allclose(training.Z[complete], (Y[complete] - mean) @ Phi.T, atol=1e-12)
    if label_prior == "covariance":  # the posterior mean of all unknown labels at once, by one dense solve
        prior = code.gaussian_prior
        precision = np.kron(np.eye(12), np.linalg.inv(prior.covariance))
        pull = precision @ np.tile(prior.mean, 12) + np.kron(P, Phi.T @ Phi) @ np.tile(mean, 12)
        precision += np.kron(P, Phi.T @ Phi)
        unknown, known, y = np.flatnonzero(~observed), np.flatnonzero(observed), Y.ravel().astype(float)
        right = pull[unknown] - precision[np.ix_(unknown, known)] @ y[known]
        y[unknown] = np.linalg.solve(precision[np.ix_(unknown, unknown)], right)
        np.testing.assert_allclose(training.Z, (y.reshape(12, 5) - mean) @ Phi.T, atol=1e-6)
    else:
        np.testing.assert_allclose(training.Z, complete_rows(labels, Phi, P, SparsePrior()).codes, atol=1e-10)


def test_enough_complete_rows_choose_the_kernel_alone():
    X, Y, observed = problem(n=50)
    observed[:35] = True
    plan, sparse = CodePlan("gaussian", "sparse", False, False), SparseOptions(SparsePrior(), 12, None)
    labels = KnownLabels(Y, observed)
    code = learn_code(plan, labels, "gaussian", 3, sparse, np.random.default_rng(0))
    options, priority = KernelOptions("auto", None, None), np.arange(50.0)
    partial = learn_codes(options, code, X, labels, priority)
    full = observed.all(1)
    alone = learn_codes(options, code, X[full], KnownLabels(Y[full], observed[full]), priority[full])
    assert partial.fitted.kernel == alone.fitted.kernel and partial.fitted.optimum == alone.fitted.optimum


@pytest.mark.parametrize("projection", ["identity", "pca"])
@pytest.mark.parametrize("share", [0.8, 0.5])  # 39 complete rows, and too few of them
def test_noise_from_partial_rows_is_near_that_from_complete_ones(projection, share):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 2))
    Y = X @ rng.standard_normal((2, 6)) + 0.4 * rng.standard_normal((150, 6)) > 0.3
    observed = rng.random(Y.shape) < share
    plan, sparse = CodePlan(projection, "flat", True, False), SparseOptions(SparsePrior(), 12, None)
    found = []
    for mask in (observed, np.ones_like(observed)):
        labels = KnownLabels(Y & mask, mask)
        code = learn_code(plan, labels, projection, None, sparse, rng)
        found.append(learn_codes(KernelOptions("rbf", 2.0, None), code, X, labels, np.arange(150.0)).fitted.optimum)
    assert abs(np.log(found[0].noise / found[1].noise)) < 0.35
    assert abs(np.log(found[0].amplitude / found[1].amplitude)) < 1.0
