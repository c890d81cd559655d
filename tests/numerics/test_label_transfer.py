from dataclasses import replace

import numpy as np
import pytest

from factor_problems import factor_fit, problem, run, start
from labelwise.numerics.label_transfer import fold_in_labels, regress_by_kernel, regress_labels, transfer_residuals


@pytest.fixture
def fitted():
    fit = factor_fit(problem(n=100, s=12, u=4))
    return fit, run(fit, start(fit, 5), 20)


def test_regression_is_least_squares(fitted):
    _, f = fitted
    Z = np.column_stack([f.columns, f.column_bias, np.ones(len(f.columns))])
    penalties = np.sqrt(np.r_[np.full(5, 0.5), 1e-6, 1e-6])
    stacked = np.vstack([Z[:12], np.diag(penalties)])
    targets = np.vstack([np.column_stack([f.labels, f.label_bias]), np.zeros((7, 6))])
    truth = Z @ np.linalg.lstsq(stacked, targets, rcond=None)[0]
    found = regress_labels(f, 0.5)
    np.testing.assert_allclose(found.factors, truth[12:, :-1], atol=1e-8)
    np.testing.assert_allclose(found.bias, truth[12:, -1], atol=1e-8)
    np.testing.assert_allclose(transfer_residuals(f, 0.5), f.labels - truth[:12, :-1], atol=1e-8)


def test_without_biases_it_is_the_papers(fitted):
    _, f = fitted
    B = f.columns
    psi = f.labels.T @ B[:12] @ np.linalg.inv(B[:12].T @ B[:12] + 0.5 * np.eye(5))
    found = regress_labels(f, 0.5, bias=False)
    np.testing.assert_allclose(found.factors, B[12:] @ psi.T, atol=1e-10)
    assert not found.bias.any()


def test_a_straight_line_is_found(fitted):
    _, f = fitted
    rng = np.random.default_rng(0)
    psi, slope = rng.normal(size=(5, 5)), rng.normal(size=6)
    exact = replace(
        f,
        labels=f.columns[:12] @ psi,
        label_bias=f.columns[:12] @ slope[:5] + slope[5] * f.column_bias[:12] + 0.7,
    )
    found = regress_labels(exact, 1e-9)
    np.testing.assert_allclose(found.factors, f.columns[12:] @ psi, atol=1e-4)
    truth = f.columns[12:] @ slope[:5] + slope[5] * f.column_bias[12:] + 0.7
    np.testing.assert_allclose(found.bias, truth, atol=1e-4)


def test_the_kernel_reproduces_a_twin_and_forgets_strangers(fitted):
    _, f = fitted
    columns, bias = f.columns.copy(), f.column_bias.copy()
    columns[12], bias[12] = columns[3], bias[3]  # the twin of a seen label
    columns[13] += 1e6  # like nothing seen
    found = regress_by_kernel(replace(f, columns=columns, column_bias=bias), 1e-8)
    np.testing.assert_allclose(found.factors[0], f.labels[3], atol=1e-5)
    np.testing.assert_allclose(found.bias[0], f.label_bias[3], atol=1e-5)
    again = regress_by_kernel(
        replace(f, columns=np.where(columns == columns[13], 9e6, columns), column_bias=bias), 1e-8
    )
    np.testing.assert_allclose(again.factors[1], found.factors[1], atol=1e-9)


@pytest.mark.parametrize("bias", [True, False])
def test_a_folded_in_label_has_the_best_row_of_counts(bias):
    fit = factor_fit(problem(1, n=100, s=12, u=4), bias=bias, method="exact")
    f = run(fit, start(fit, 5), 20)
    found = fold_in_labels(fit, f)
    counts, weight = fit.data.counts, fit.penalties.counts_weight
    values, known = counts.values[:, 12:].T, counts.known[:, 12:].T  # (u, s)

    def objective(v, a):
        gamma = v @ f.columns[:12].T + a[:, None] + f.column_bias[:12]
        entries = values * gamma - (values + f.overdispersion) * np.logaddexp(0, gamma)
        return weight * entries[known].sum() - fit.penalties.labels / 2 * np.sum(v**2) - 0.005 * np.sum(a**2)

    a = np.zeros(4)
    if bias:  # b is a straight line in a over the seen labels: turn it around
        line = np.polyfit(f.row_bias, f.label_bias, 1)
        a = (found.bias - line[1]) / line[0]
    best = objective(found.factors, a)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert objective(found.factors + 0.05 * rng.normal(size=(4, 5)), a) < best
    assert found.bias.any() == bias
