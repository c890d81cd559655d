"""Greedy decoders against brute force over supports, and at the rates they are said to reach."""

from itertools import combinations

import numpy as np
import pytest

from exact_codes import exact_codes, share_recovered
from labelwise.numerics.recovery.label_codes import addressed_projection
from labelwise.numerics.recovery.sparse_recovery import (
    PENALTY,
    recover_basis_pursuit,
    recover_binary_pursuit,
    recover_box_lasso,
    recover_cosamp,
    recover_omp,
)


@pytest.mark.parametrize("recover", [recover_omp, recover_cosamp, recover_binary_pursuit])
@pytest.mark.parametrize("kappa", [3, 6])
def test_few_labels_are_recovered_from_exact_codes(recover, kappa):
    Phi, Y, R = exact_codes(40, kappa)
    assert share_recovered(recover(R, Phi, kappa), Y) >= 0.95


def test_rates_at_twelve_labels_are_those_of_the_literature():
    Phi, Y, R = exact_codes(60, 12)
    assert share_recovered(recover_cosamp(R, Phi, 12), Y) > 0.9
    assert 0.5 < share_recovered(recover_omp(R, Phi, 12), Y) < 0.97  # worse than the convex decoders, as it should be


def test_cosamp_finds_the_best_support_of_all():
    rng = np.random.default_rng(0)
    Phi, _, R = exact_codes(5, 2, q=10, c=8)
    R = R + 0.02 * rng.standard_normal(R.shape)
    found = recover_cosamp(R, Phi, 2)
    for r, y in zip(R, found, strict=True):
        errors = {}
        for pair in combinations(range(10), 2):
            A = Phi[:, pair]
            errors[pair] = np.sum((r - A @ np.linalg.lstsq(A, r, rcond=None)[0]) ** 2)
        assert tuple(np.flatnonzero(y)) == min(errors, key=errors.get)


def test_omp_is_the_textbook_loop():
    Phi, _, R = exact_codes(4, 5, q=30, c=12, seed=2)
    scores = recover_omp(R, Phi, 5)
    for r, row in zip(R, scores, strict=True):
        support, left = [], r
        for _ in range(5):
            correlation = Phi.T @ left / np.linalg.norm(Phi, axis=0)
            correlation[support] = -np.inf
            support.append(int(np.argmax(correlation)))
            A = Phi[:, support]
            left = r - A @ np.linalg.lstsq(A, r, rcond=None)[0]
        assert list(np.argsort(-row, kind="stable")[:5]) == support


def test_more_picks_than_labels_and_none_at_all():
    Phi, _, R = exact_codes(2, 2, q=6, c=4)
    assert (recover_omp(R, Phi, 99) > 0).all()
    with pytest.raises(ValueError, match="at least one label"):
        recover_cosamp(R, Phi, 0)


@pytest.mark.parametrize("kappa", [3, 6, 12])
def test_exact_codes_are_recovered(kappa):
    Phi, Y, R = exact_codes(20, kappa)
    assert share_recovered(recover_box_lasso(R, Phi), Y) == 1
    assert share_recovered(recover_basis_pursuit(R[:4], Phi), Y[:4]) == 1


def test_many_labels_are_recovered_by_the_box():
    Phi, Y, R = exact_codes(40, 25)
    assert share_recovered(recover_box_lasso(R, Phi, rounds=300), Y) > 0.9  # half the codes, a fifth of the labels


def test_the_lasso_meets_its_optimality_conditions():
    rng = np.random.default_rng(1)
    Phi, R = addressed_projection(8, 15, 1), rng.standard_normal((6, 8))
    y = recover_box_lasso(R, Phi, rounds=4000)
    slope = (y @ Phi.T - R) @ Phi + PENALTY
    inside = (y > 1e-6) & (y < 1 - 1e-6)
    assert np.all(np.abs(slope[inside]) < 1e-6)
    assert np.all(slope[y <= 1e-6] > -1e-6) and np.all(slope[y >= 1 - 1e-6] < 1e-6)


def test_known_labels_are_held():
    Phi, Y, R = exact_codes(3, 4, q=20, c=12)
    mask = np.zeros(Y.shape, dtype=bool)
    mask[:, :5] = True
    found = recover_box_lasso(R, Phi, fixed=(1 - Y, mask))
    np.testing.assert_array_equal(found[:, :5], (1 - Y)[:, :5])


def test_basis_pursuit_is_the_smallest_sum():
    """Against a lasso with a vanishing penalty: both minimise Σ y among exact solutions."""
    Phi, Y, R = exact_codes(3, 3, q=20, c=12)
    np.testing.assert_allclose(recover_basis_pursuit(R, Phi), Y, atol=1e-6)
