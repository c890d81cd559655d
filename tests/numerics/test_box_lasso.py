"""Convex decoders: exact recovery at the stated rates, optimality conditions, a linear programme as rival."""

import numpy as np
import pytest

from exact_codes import exact_codes, share_recovered
from labelwise.numerics.box_lasso import PENALTY, recover_basis_pursuit, recover_box_lasso
from labelwise.numerics.label_codes import addressed_projection


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
