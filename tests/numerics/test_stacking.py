from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from labelwise.numerics.stacking import stacking_weights


@pytest.mark.parametrize("prior", [0.5, 5.0])
@pytest.mark.parametrize("m", [2, 3])
def test_weights_against_a_general_optimiser(m, prior):
    likelihoods = np.random.default_rng(m).beta(3, 2, size=(m, 300))
    likelihoods[0] **= 0.7

    def loss(z):
        w = softmax(z)
        return -np.log(w @ likelihoods).sum() - prior * np.log(w).sum()

    expected = softmax(minimize(loss, np.zeros(m), tol=1e-10).x)
    np.testing.assert_allclose(stacking_weights(likelihoods, prior), expected, atol=2e-3)


def test_the_order_of_beliefs_does_not_matter_and_impossible_answers_do_not_break():
    likelihoods = np.random.default_rng(0).random((3, 50))
    likelihoods[1, 4] = 0.0
    straight = stacking_weights(likelihoods)
    assert straight.sum() == pytest.approx(1)
    np.testing.assert_allclose(stacking_weights(likelihoods[::-1]), straight[::-1])
    assert np.isfinite(stacking_weights(np.zeros((2, 5)))).all()
