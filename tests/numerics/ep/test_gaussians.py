"""Messages against densities on a grid; the largest of several normals against quadrature and sampling."""

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from labelwise.numerics.ep.gaussians import Gaussian, largest_probabilities, merge


def test_multiplying_messages_multiplies_densities():
    a, b = Gaussian.from_moments(1.0, 2.0), Gaussian.from_moments(-0.5, 0.7)
    x = np.linspace(-20, 20, 20001)
    density = norm.pdf(x, 1.0, np.sqrt(2.0)) * norm.pdf(x, -0.5, np.sqrt(0.7))
    density /= density.sum()
    mean = (density * x).sum()
    np.testing.assert_allclose([(a * b).mean, (a * b).variance], [mean, (density * (x - mean) ** 2).sum()])
    np.testing.assert_allclose([(a * b / b).mean, (a * b / b).variance], [a.mean, a.variance])


def test_two_normals_in_closed_form():
    mean, variance = np.array([[0.3, -1.0], [40.0, 0.0]]), np.array([[0.5, 2.0], [1e-4, 3.0]])
    p = largest_probabilities(mean, variance)
    first = ndtr((mean[:, 0] - mean[:, 1]) / np.sqrt(variance.sum(1)))
    np.testing.assert_allclose(p, np.column_stack([first, 1 - first]), atol=1e-12)


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_largest_against_gauss_hermite(spread):
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(0, 2, (5, 6)), rng.uniform(1, spread, (5, 6))
    node, weight = np.polynomial.hermite_e.hermegauss(64)
    f = mean[:, :, None] + np.sqrt(variance)[:, :, None] * node  # (n, q, nodes)
    below = ndtr((f[:, :, None, :] - mean[:, None, :, None]) / np.sqrt(variance)[:, None, :, None])
    below[:, np.arange(6), np.arange(6)] = 1
    p = (below.prod(2) * weight).sum(2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(largest_probabilities(mean, variance), p / p.sum(1, keepdims=True), atol=2e-5)


def test_largest_against_sampling():
    mean, variance = np.array([[0.0, 0.5, -3.0, 0.2]]), np.array([[1.0, 0.04, 9.0, 1e-3]])
    rng = np.random.default_rng(1)
    drawn = rng.normal(mean, np.sqrt(variance), (400_000, 4)).argmax(1)
    share = np.bincount(drawn, minlength=4) / 400_000
    np.testing.assert_allclose(largest_probabilities(mean, variance)[0], share, atol=4 * 0.5 / np.sqrt(400_000))


def test_merged_shards_are_one_conjugate_posterior():
    """Means of normals with known noise: shards learnt from a common base, merged, know what all rows together say."""
    rng = np.random.default_rng(0)
    prior, noise = Gaussian.from_moments(rng.normal(size=4), rng.uniform(0.5, 2, size=4)), 0.7
    shards = [rng.normal(size=(n, 4)) for n in (3, 10, 1)]

    def learn(belief, rows):
        """By completing the square in mean and variance, not by natural parameters."""
        variance = 1 / (1 / belief.variance + len(rows) / noise)
        return Gaussian.from_moments(variance * (belief.mean / belief.variance + rows.sum(0) / noise), variance)

    base = learn(prior, rng.normal(size=(5, 4)))
    merged, truth = merge(base, [learn(base, rows) for rows in shards]), learn(base, np.vstack(shards))
    np.testing.assert_allclose(merged.mean, truth.mean, rtol=1e-12)
    np.testing.assert_allclose(merged.variance, truth.variance, rtol=1e-12)
    alone = merge(base, [truth])
    np.testing.assert_allclose(alone.mean, truth.mean, rtol=1e-12)
