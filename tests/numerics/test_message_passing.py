"""The compiled factor graphs against the readable ones, example by example."""

import numpy as np
import pytest

from labelwise.numerics import factor_graphs, message_passing
from labelwise.numerics.gaussians import Gaussian
from labelwise.numerics.message_passing import Likelihood, make_work
from labelwise.numerics.truncated import table

Q = 11


def likelihood(*, margin=1.0, flip=0.0, tolerance=1e-3, max_sweeps=30):
    return Likelihood(table(), 1.0, margin, True, flip, tolerance, max_sweeps)


def filled(seed, *, margin=None, pairwise=False, dtype=np.float64):
    """Scores, signs (some without answer) and margins of a random example, in work vectors and as plain arrays."""
    rng = np.random.default_rng(seed)
    work = make_work(Q, np.empty(0, dtype), pairwise)
    work.m[:] = rng.normal(0, 2, Q)
    work.u[:] = rng.uniform(0.2, 3, Q)
    work.e[:] = rng.uniform(0.5, 4, Q) if margin is None else margin
    z = rng.choice(np.array([-1, -1, 0, 1], dtype=np.int8), Q)
    z[:2] = 1, -1
    plain = factor_graphs.Comparisons(*(np.array(line, float) for line in (work.m, work.u, z, work.e)))
    return work, z, plain


def assert_same(work, done, rtol=1e-8):
    np.testing.assert_allclose(work.g, done.gain, rtol=rtol, atol=1e-10)
    np.testing.assert_allclose(work.h, done.shrink, rtol=rtol, atol=1e-10)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("hub_variance", [1e-6, 1.0, 1e4])
def test_star(seed, hub_variance):
    work, z, plain = filled(seed)
    hub = np.array([0.4, hub_variance])
    done = factor_graphs.star(Gaussian.from_moments(0.4, hub_variance), plain)
    assert message_passing.star(work, z, hub, likelihood()) == done.sweeps
    assert_same(work, done)
    np.testing.assert_allclose(hub, [done.hub.mean, done.hub.variance], rtol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_star_with_flipped_answers(seed):
    work, z, plain = filled(seed, margin=0.0)
    noisy = factor_graphs.Comparisons(plain.mean, plain.variance, plain.sign, plain.margin, 0.07)
    hub = np.array([0.4, 1.0])
    done = factor_graphs.star(Gaussian.from_moments(0.4, 1.0), noisy)
    assert message_passing.star(work, z, hub, likelihood(margin=0.0, flip=0.07)) == done.sweeps
    assert_same(work, done, rtol=1e-6)
    np.testing.assert_allclose(hub, [done.hub.mean, done.hub.variance], rtol=1e-8)


@pytest.mark.parametrize("flip", [0.0, 0.07])
def test_independent(flip):
    work, z, plain = filled(0)
    message_passing.independent(work, z, likelihood(flip=flip))
    noisy = factor_graphs.Comparisons(plain.mean, plain.variance, plain.sign, plain.margin, flip)
    assert_same(work, factor_graphs.independent(noisy))


@pytest.mark.parametrize("seed", range(8))
def test_multi_class(seed):
    work, z, plain = filled(seed, margin=1.0)
    z[z > 0] = -1
    z[seed] = 1
    kept = z.copy()
    done = factor_graphs.multi_class(plain.mean, plain.variance, z.astype(float), 1.0)
    assert message_passing.multi_class(work, z, likelihood()) == done.sweeps
    np.testing.assert_array_equal(z, kept)
    assert_same(work, done)


def test_multi_class_without_a_true_label_says_nothing():
    work, z, _ = filled(0)
    z[z > 0] = 0
    work.g[:], work.h[:] = 1, 1
    assert message_passing.multi_class(work, z, likelihood()) == 0
    assert not work.g.any() and not work.h.any()


@pytest.mark.parametrize("seed", range(5))
def test_pairwise(seed):
    work, z, plain = filled(seed, margin=1.0, pairwise=True)
    message_passing.pairwise(work, -z, likelihood())  # leaves messages behind that the next example must not see
    done = factor_graphs.pairwise(plain.mean, plain.variance, z.astype(float), 1.0)
    assert message_passing.pairwise(work, z, likelihood()) == done.sweeps
    assert_same(work, done)


def test_cap_on_sweeps():
    work, z, plain = filled(0)
    hub = np.array([0.0, 1e4])
    assert message_passing.star(work, z, hub, likelihood(tolerance=1e-15, max_sweeps=4)) == 4
    done = factor_graphs.star(Gaussian.from_moments(0.0, 1e4), plain, factor_graphs.Stop(1e-15, 4))
    assert_same(work, done)


def test_single_precision_scores():
    work, z, plain = filled(2, dtype=np.float32)
    hub = np.array([0.4, 1e4])
    message_passing.star(work, z, hub, likelihood())
    done = factor_graphs.star(Gaussian.from_moments(0.4, 1e4), plain)
    assert work.g.dtype == np.float32
    assert_same(work, done, rtol=1e-6)
