"""Covariances of label probabilities between items against the models' own draws, and against loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

from joint_beliefs import JointBeliefs
from labelwise import LabelGP
from labelwise.posterior import LimitedPosterior, MarginalPosterior
from labelwise.posterior.between_items import DrawnCovariance, probability_covariance
from labelwise.posterior.gaussian import draw_probabilities

ALL = slice(None)


class ProbitLine(MarginalPosterior):
    """p = Φ(x w) with w ~ N(0, 1) of each label: joint draws, and in closed form a Gaussian function plus noise."""

    joint_draws = True
    noise = 1.0

    def __init__(self, x, q=2, closed_form=False):
        super().__init__(np.full((x.size, q), 0.5))
        self.x, self.closed_form = x, closed_form

    def rows(self, rows):
        return ProbitLine(self.x[rows], self.n_labels, self.closed_form)

    def sample_probabilities(self, n_samples, rng):
        return ndtr(rng.standard_normal((n_samples, 1, self.n_labels)) * self.x[:, None])

    def item_covariance(self):
        return self if self.closed_form else None

    def diagonal(self):
        return self.x**2

    def columns(self, rows):
        return np.outer(self.x, self.x[rows])


def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = X @ rng.normal(size=(3, 2)) + 0.4 * rng.normal(size=(60, 2)) > 0.5
    return LabelGP(random_state=0).fit(X[:30], Y[:30]).posterior(X[[40, 41, 42, 43, 40]])


def test_of_a_label_gp_as_its_regression_functions_are_drawn():
    beliefs, rng = fitted(), np.random.default_rng(1)
    found = probability_covariance(beliefs, np.array([0, 2]), rng).of(ALL)  # (n, m, q)
    latent = beliefs.item_covariance()
    C, noise = latent.columns(np.arange(5)), latent.noise
    f = rng.multivariate_normal(np.zeros(5), C / np.sqrt(np.outer(np.diag(C), np.diag(C))), size=400_000)
    share = np.diag(C) / (np.diag(C) + noise)
    drawn = draw_probabilities(beliefs.probabilities(), share[:, None], f[:, :, None])
    deviations = drawn - drawn.mean(0)
    simulated = np.einsum("snq,smq->nmq", deviations, deviations[:, [0, 2]]) / len(f)
    assert np.abs(found).max() > 1e-3
    assert_allclose(found, simulated, atol=6 * np.abs(deviations).max() ** 2 / np.sqrt(len(f)))
    assert_allclose(found[0], found[4])  # of the same features
    own = beliefs.sample_probabilities(100_000, rng).var(0)  # whose draws are apart for each item
    assert_allclose(found[2, 1], own[2], rtol=0.02)
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    at_nodes = draw_probabilities(beliefs.probabilities(), share[:, None], nodes[:, None, None])
    mean = np.average(at_nodes, axis=0, weights=weights)
    variance = np.average(at_nodes**2, axis=0, weights=weights) - mean**2
    assert_allclose([found[0, 0], found[2, 1]], variance[[0, 2]], rtol=1e-8)


def test_draws_agree_with_the_closed_form():
    x, rng = np.array([2.0, -0.5, 0.8]), np.random.default_rng(0)
    reference = np.array([2, 0])
    exact = probability_covariance(ProbitLine(x, closed_form=True), reference, rng).of(ALL)
    drawn = probability_covariance(ProbitLine(x), reference, rng, 200_000).of(ALL)
    assert_allclose(drawn, exact, atol=1e-3)
    assert_allclose(exact[0, 1], np.arcsin(4 / 5) / (2 * np.pi))


def test_few_draws_without_what_chance_would_show():
    drawn = np.random.default_rng(0).random((5, 40, 3))
    found = DrawnCovariance.between(drawn, np.array([3, 7])).of(np.arange(10, 40))
    for n, i in enumerate(range(10, 40)):
        for m, k in enumerate((3, 7)):
            for j in range(3):
                raw = np.cov(drawn[:, i, j], drawn[:, k, j], ddof=0)
                square = raw[0, 1] ** 2 - (raw[0, 0] * raw[1, 1] - raw[0, 1] ** 2) / 3
                assert_allclose(found[n, m, j], np.sign(raw[0, 1]) * max(square, 0) ** 0.5, atol=1e-12)
    own = DrawnCovariance.between(drawn, np.array([3])).of(np.array([3]))
    assert_allclose(own[0, 0], drawn[:, 3].var(0))


def test_independent_draws_have_the_squares_that_are_taken_off():
    """E Ĉ² = V V' (S − 1) / S² for independent items, which is what the correction takes off on average."""
    s, rng = 5, np.random.default_rng(1)
    drawn = rng.random((s, 20_000, 2))
    deviations = drawn - drawn.mean(0)
    raw = (deviations[:, :, 0] * deviations[:, :, 1]).mean(0) ** 2
    assert_allclose(raw.mean(), (s - 1) / s**2 / 144, rtol=0.05)
    squares = np.prod(drawn.var(0), axis=1)
    assert_allclose((raw - (squares - raw) / (s - 2)).mean(), 0, atol=0.05 * raw.mean())


def test_certain_labels_and_wrappers():
    p = np.array([[0.3, 0.0], [0.6, 1.0], [0.5, 0.5]])
    beliefs, rng = JointBeliefs(p, np.array([0.0, 0.1, 5.0])), np.random.default_rng(0)
    found = probability_covariance(beliefs, np.array([0, 1]), rng).of(ALL)
    assert_allclose(found[:, :, 1], 0, atol=1e-15)
    assert found[0, 1, 0] > found[2, 1, 0] > 0
    limited = probability_covariance(LimitedPosterior(beliefs, np.array([False, True])), np.array([0]), rng).of(ALL)
    assert_allclose(limited[:, :, 0], 0, atol=1e-15)


def test_none_where_the_model_has_none():
    rng = np.random.default_rng(0)
    assert probability_covariance(MarginalPosterior(np.full((3, 2), 0.5)), np.array([0]), rng) is None
    with pytest.raises(ValueError, match="at least 3"):
        probability_covariance(ProbitLine(np.ones(3)), np.array([0]), rng, 2)
