"""Which solver is taken, and that the price of exact factors is counted as it is paid."""

import numpy as np
import pytest

from labelwise.models.label_gp import posterior as solving
from labelwise.models.label_gp.posterior import Limits, exact_is_affordable, make_solver, outgrown
from labelwise.numerics.gp.feature_solver import FeatureSolver, LinearMap, NystromMap
from labelwise.numerics.gp.kernel_solver import IterativeSolver, KernelSolver
from labelwise.numerics.gp.kernels import Kernel

LINEAR, RBF = Kernel(linear=1.0, bias=1.0), Kernel(rbf=1.0, bias=1.0)
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))
FULL = np.ones((60, 3), dtype=bool)
PARTS = rng.random((60, 3)) < 0.5


def made(kernel, observed=FULL, max_exact=100, n_inducing=10):
    return make_solver(kernel, 0.5, X, observed, Limits(max_exact, n_inducing), np.arange(60.0))


def test_few_features_or_many_rows_mean_feature_space():
    assert isinstance(made(LINEAR).feature_map, LinearMap)
    assert isinstance(made(RBF), KernelSolver)
    large = made(RBF, max_exact=50)
    assert isinstance(large.feature_map, NystromMap)
    np.testing.assert_array_equal(large.feature_map.Z, X[:10])  # the rows of least priority


def test_few_answers_per_label_mean_kernel_space():
    observed = np.zeros((60, 3), dtype=bool)
    observed[:4] = True
    assert isinstance(made(LINEAR, observed), KernelSolver)


def test_features_that_do_not_fit_are_replaced_by_inducing_rows(monkeypatch):
    monkeypatch.setattr(solving, "MAX_NUMBERS", 3 * 4**2)  # three masks of four features each
    solver = made(LINEAR, PARTS, max_exact=50)
    assert isinstance(solver.feature_map, NystromMap)
    assert solver.features.shape[1] == 4


def test_many_large_masks_mean_conjugate_gradients(monkeypatch):
    monkeypatch.setattr(solving, "MAX_NUMBERS", 100)
    assert isinstance(made(RBF, PARTS), IterativeSolver)
    assert isinstance(made(RBF, FULL), KernelSolver)  # complete labels have no factors of their own


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_the_price_of_exact_factors_is_that_of_the_factors_made(share, monkeypatch):
    observed = rng.random((60, 8)) < share
    observed[:30] = True
    solver = KernelSolver.fit(RBF, 0.5, X, observed)
    numbers = sum(pattern.factor.size**2 for group in solver.groups for pattern in group.patterns)
    monkeypatch.setattr(solving, "MAX_NUMBERS", numbers)
    assert exact_is_affordable(observed)
    monkeypatch.setattr(solving, "MAX_NUMBERS", numbers - 1)
    assert not exact_is_affordable(observed)


def test_a_solver_is_outgrown_by_rows_or_by_factors(monkeypatch):
    limits = Limits(100, 10)
    assert not outgrown(made(RBF, PARTS), PARTS, limits)
    assert outgrown(made(RBF, PARTS), np.ones((101, 3), dtype=bool), limits)
    assert not outgrown(made(LINEAR), np.ones((101, 3), dtype=bool), limits)  # features have no such limit
    exact = made(RBF, PARTS)
    monkeypatch.setattr(solving, "MAX_NUMBERS", 10)
    assert outgrown(exact, PARTS, limits)
    assert isinstance(exact, KernelSolver)
    assert isinstance(made(LINEAR, FULL, max_exact=70), FeatureSolver | KernelSolver)
