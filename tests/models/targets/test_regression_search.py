"""The search of kernels under a given noise, and beside targets that have nothing to tell."""

import numpy as np
import pytest
from scipy.optimize import minimize

from labelwise.models import OrthogonalTargetGP
from labelwise.numerics.gp.target_kernel import shape_start, shared_evidence


def problem(n=30, q=3, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, X @ rng.standard_normal((5, q)) + 0.3 * rng.standard_normal((n, q)) > 0.4


def test_a_given_noise_holds_while_the_shape_is_searched():
    X, Y = problem()
    given, free = (OrthogonalTargetGP(noise_ratio=r, scale="none").fit(X, Y) for r in (0.05, None))
    state, centre = given._state, shape_start(given._state.products.start())

    def loss(psi):
        return shared_evidence(state.products, state.targets, psi, centre, 0.05)[0].value

    best = minimize(loss, centre, method="Nelder-Mead").fun
    assert -given.log_posterior_ == pytest.approx(best, abs=1e-3)
    assert loss(free._state.groups[0].point) > best + 0.1  # the shape for another noise is another
    np.testing.assert_array_equal(state.groups[0].ratios, 0.05)


@pytest.mark.parametrize("optimizer", ["lbfgs", "simplex", "bayes", "gradient"])
def test_a_given_noise_is_relative_to_each_kernel(optimizer):
    X, Y = problem()
    model = OrthogonalTargetGP(gp="separate", noise_ratio=0.05, optimizer=optimizer, refit_every=5, scale="none")
    for part in (slice(20), slice(20, 30)):
        model.partial_fit(X[part], Y[part])
        for kernel, group in zip(model.kernels_, model._state.groups, strict=True):
            assert group.noises[0] == pytest.approx(0.05 * kernel.rbf)


def test_labels_without_positives_leave_the_noise_of_the_ranking():
    X, Y = problem(14)
    alone, beside = (
        OrthogonalTargetGP(scale="none").fit(X, labels).posterior(X).target_groups()[0]
        for labels in (Y, np.hstack([Y, np.zeros((14, 4), dtype=bool)]))
    )
    assert beside.covariance.noise == pytest.approx(alone.covariance.noise, rel=1e-6)
    np.testing.assert_array_equal(beside.weights[3:], 0)
