"""The search for kernel and noise: against a dense grid, on planted truths, and what it leaves to the user."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from labelwise.numerics.gp import search as gp_search
from labelwise.numerics.gp.kernels import Kernel, squared_distances
from labelwise.numerics.gp.search import Fixed, KernelSearch, Spectrum, choose_parts, golden_section

rng = np.random.default_rng(0)
K = Kernel(rbf=1.0, bias=0.5)(rng.normal(size=(12, 2)))
Y = rng.normal(size=(12, 3)) * [1.0, 10.0, 0.01]
NOISE = np.array([0.01, 0.3, 5.0])


def drawn(kernel, noise, n=150, q=6, d=2, seed=0):
    """Labels cut from draws of a Gaussian process."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    C = kernel(X) + noise * np.eye(n)
    return X, np.linalg.cholesky(C) @ rng.normal(size=(n, q)) > 0.3


def search(X, Y, fixed=None, observed=None, n_rows=600):
    observed = np.ones(Y.shape, dtype=bool) if observed is None else observed
    priority = np.random.default_rng(0).random(len(X))
    return KernelSearch(choose_parts(X, Y, observed, n_rows, priority), fixed or Fixed())


def log_posterior(found, X, Y):
    """Score of a kernel and noise from multivariate normal densities and the priors as they are documented."""
    n, q = Y.shape
    C = found.kernel(X) + found.noise * np.eye(n)
    total = 0.0
    for y in (Y - Y.mean(axis=0)).T:
        amplitude = y @ np.linalg.solve(C, y) / n
        total += multivariate_normal(cov=amplitude * C).logpdf(y)
    rate_spread = 4 * (Y.mean(axis=0) * (1 - Y.mean(axis=0))).mean()
    centre = 0.5 * found.kernel.diagonal(X).mean() / np.sqrt(rate_spread)
    length = np.sqrt(np.median(squared_distances(X)[np.triu_indices(n, 1)])) / 2
    total *= min(1.0, gp_search.EFFECTIVE_LABELS / q)
    total -= 0.5 * (np.log(found.noise / centre) / gp_search.NOISE_SD) ** 2
    if found.kernel.rbf:
        total -= 0.5 * (np.log(found.kernel.length_scale / length) / gp_search.LENGTH_SD) ** 2
        if found.kernel.linear:
            total -= 0.5 * (np.log(found.kernel.linear / found.kernel.rbf) / gp_search.SHARE_SD) ** 2
    return total


@pytest.mark.parametrize("name", ["linear", "rbf", "rbf+linear"])
def test_the_score_is_evidence_plus_prior(name):
    X, Y = drawn(Kernel(rbf=1.0, length_scale=0.5), 0.1, n=40, q=4)
    found = search(X, Y).best(name)
    assert found.score == pytest.approx(log_posterior(found, X, Y), rel=1e-9)
    for factor in (0.95, 1.05):  # and no other noise is better
        other = gp_search.ChosenKernel(found.kernel, found.noise * factor, 0.0)
        assert log_posterior(other, X, Y) < found.score


def test_the_length_scale_is_near_the_best_of_a_fine_grid():
    X, Y = drawn(Kernel(rbf=1.0, length_scale=0.4), 0.05)
    found = search(X, Y).best("rbf")
    grid = np.geomspace(0.1, 5.0, 60)
    best = max(search(X, Y, Fixed(length_scale=length)).best("rbf").score for length in grid)
    assert found.score > best - 0.5


def test_auto_takes_the_family_with_the_best_score():
    smooth, wavy = drawn(Kernel(linear=1.0), 0.5, d=30), drawn(Kernel(rbf=1.0, length_scale=0.5), 0.05)
    assert search(smooth[0] / np.linalg.norm(smooth[0], axis=1, keepdims=True), smooth[1]).best("auto").kernel.rbf == 0
    assert search(*wavy).best("auto").kernel.rbf > 0.5
    one = search(*wavy)
    scores = [one.best(name).score for name in ("linear", "rbf", "rbf+linear")]
    assert one.best("auto").score == max(scores)


def test_more_noise_in_the_data_means_more_noise_found():
    quiet, loud = (search(*drawn(Kernel(rbf=1.0), noise)).best("rbf").noise for noise in (0.01, 5.0))
    assert loud > 5 * quiet


def test_what_the_user_fixed_stays():
    X, Y = drawn(Kernel(rbf=1.0), 0.1, n=50)
    found = search(X, Y, Fixed(noise=0.7, length_scale=1.9, linear_share=0.3, bias=0.2)).best("rbf+linear")
    assert found.noise == 0.7
    assert found.kernel == Kernel(rbf=0.7, linear=0.3, bias=0.2, length_scale=pytest.approx(1.9))


def test_what_is_decided_needs_no_search():
    assert Fixed(noise=0.7).decide("linear") == gp_search.ChosenKernel(
        Kernel(linear=1.0, bias=1.0), 0.7, pytest.approx(np.nan, nan_ok=True)
    )
    full = Fixed(noise=0.7, length_scale=2.0, linear_share=0.4)
    assert full.decide("rbf").kernel == Kernel(rbf=1.0, bias=1.0, length_scale=2.0)
    assert full.decide("rbf+linear").kernel == Kernel(rbf=0.6, linear=0.4, bias=1.0, length_scale=2.0)
    assert full.decide("auto") is None
    assert Fixed(length_scale=2.0).decide("rbf") is None
    assert Fixed(noise=0.7).decide("rbf") is None
    assert Fixed(noise=0.7, length_scale=2.0).decide("rbf+linear") is None


def test_without_anything_to_learn_from_the_prior_decides():
    X = np.random.default_rng(0).normal(size=(10, 2))
    for Y in (np.zeros((10, 3), dtype=bool), np.ones((10, 3), dtype=bool)):
        found = search(X, Y).best("auto")
        assert found.noise == pytest.approx(0.5, rel=1e-3)
    found = search(np.ones((10, 2)), np.arange(10)[:, None] % 2 == 0).best("rbf")  # all items alike
    assert found.kernel.length_scale == pytest.approx(1.0, rel=0.5)


def test_parts_keep_the_budget_and_span_rare_and_frequent_labels():
    rng = np.random.default_rng(0)
    X, rates = rng.normal(size=(400, 3)), np.linspace(0.5, 0.03, 60)
    Y, observed = rng.random((400, 60)) < rates, rng.random((400, 60)) < 0.5
    parts = choose_parts(X, Y, observed, 200, rng.random(400))
    assert len(parts) == gp_search.MAX_PATTERNS
    assert sum(part.targets.shape[0] ** 3 for part in parts) <= 200**3
    positives = [(part.targets > 0).sum() for part in parts]
    assert positives == sorted(positives, reverse=True)
    assert positives[0] > 5 * positives[-1] > 0


def test_parts_do_not_depend_on_the_order_of_labels():
    rng = np.random.default_rng(1)
    X, Y, observed = rng.normal(size=(60, 3)), rng.random((60, 25)) < 0.3, rng.random((60, 25)) < 0.7
    priority, order = rng.random(60), rng.permutation(25)
    straight = choose_parts(X, Y, observed, 40, priority)
    permuted = choose_parts(X, Y[:, order], observed[:, order], 40, priority)
    for a, b in zip(straight, permuted, strict=True):
        np.testing.assert_array_equal(a.inner, b.inner)
        np.testing.assert_array_equal(a.targets, b.targets)


def test_labels_that_share_most_rows_are_searched_on_those():
    rng = np.random.default_rng(3)
    X, Y, observed = rng.normal(size=(60, 3)), rng.random((60, 8)) < 0.4, np.ones((60, 8), dtype=bool)
    observed[50:] = rng.random((10, 8)) < 0.3
    observed[:, 7] = False  # never answered: no say
    priority = rng.random(60)
    (part,) = choose_parts(X, Y, observed, 600, priority)
    shared = observed[:, :7].all(axis=1)
    (expected,) = choose_parts(X[shared], Y[shared, :7], np.ones((shared.sum(), 7), bool), 600, priority[shared])
    np.testing.assert_array_equal(part.inner, expected.inner)
    np.testing.assert_array_equal(part.targets, expected.targets)
    observed[30:50, :7] = rng.random((20, 7)) < 0.5  # now most are not shared
    assert len(choose_parts(X, Y, observed, 600, priority)) == 7


def test_parts_see_no_hidden_entry():
    rng = np.random.default_rng(2)
    X, Y, observed = rng.normal(size=(30, 3)), rng.random((30, 4)) < 0.4, rng.random((30, 4)) < 0.6
    priority = rng.random(30)
    for a, b in zip(
        choose_parts(X, Y, observed, 20, priority), choose_parts(X, Y ^ ~observed, observed, 20, priority), strict=True
    ):
        np.testing.assert_array_equal(a.targets, b.targets)


@pytest.mark.parametrize("true_noise", [1e-3, 0.3, 30.0])
def test_the_noise_is_that_of_the_highest_score(true_noise):
    """Against a minimiser from the best of a fine grid."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    K = Kernel(rbf=1.0, bias=1.0)(X)
    spectrum = Spectrum.of(K, np.linalg.cholesky(K + true_noise * np.eye(40)) @ rng.normal(size=(40, 3)))

    def score(noise):
        return spectrum.log_evidence(np.atleast_1d(noise)).sum(axis=1) - 0.5 * np.log(noise) ** 2

    found = gp_search._best_noise(score, 2.0, 1.0)
    grid = np.linspace(np.log(1e-4), np.log(1e3), 3000)
    start = grid[np.argmax(score(np.exp(grid)))]
    bounds = (start - 0.01, start + 0.01)
    best = minimize_scalar(lambda x: -score(np.exp(x))[0], bounds=bounds, method="bounded", options={"xatol": 1e-9})
    assert np.log(found) == pytest.approx(best.x, abs=1e-4)
    assert score(found)[0] == pytest.approx(-best.fun, abs=1e-7)


def test_the_peak_of_a_parabola():
    x = np.array([-1.0, 0.5, 2.0])
    assert gp_search.parabola_peak(x, -((x - 0.8) ** 2)) == pytest.approx(0.8)
    assert gp_search.parabola_peak(x, -((x - 9.0) ** 2)) == 2.0  # outside: the best of the three
    assert gp_search.parabola_peak(x, (x - 1.0) ** 2) == -1.0  # a valley
    assert gp_search.parabola_peak(x, np.zeros(3)) in x


def test_climbing_stops_at_the_top_and_at_the_limit():
    asked = []

    def hill(x):
        asked.append(x)
        return -((x + 2.6) ** 2)

    assert gp_search.climb(hill, 0.0, 0.5, limit=20) == -2.5
    assert min(asked) == -3.0
    assert gp_search.climb(lambda x: x, 0.0, 1.0, limit=3) == 3.0
    assert gp_search.climb(lambda x: -abs(x), 0.0, 1.0, limit=3) == 0.0


def test_golden_section_at_the_border():
    assert golden_section(lambda x: x, 0.0, 1.0, steps=30) == pytest.approx(1.0, abs=1e-5)
    assert golden_section(lambda x: -x, 0.0, 1.0, steps=30) == pytest.approx(0.0, abs=1e-5)


def test_evidence_is_the_density_at_its_best_amplitude():
    found = Spectrum.of(K, Y).log_evidence(NOISE)
    for g, noise in enumerate(NOISE):
        C = K + noise * np.eye(12)
        for j in range(3):
            best = minimize_scalar(
                lambda log_b, C=C, j=j: -multivariate_normal(cov=np.exp(log_b) * C).logpdf(Y[:, j]),
                bounds=(-25, 25),
                method="bounded",
                options={"xatol": 1e-10},
            )
            np.testing.assert_allclose(found[g, j], -best.fun, rtol=1e-9)


def test_the_scale_of_a_label_shifts_its_evidence_by_a_constant():
    """A rare label, whose centred values are small, weighs as much in the choice of noise as any other."""
    straight, scaled = Spectrum.of(K, Y).log_evidence(NOISE), Spectrum.of(K, Y * 0.1).log_evidence(NOISE)
    np.testing.assert_allclose(scaled - straight, 12 * np.log(10))


def test_a_singular_kernel_is_fine():
    twice = np.kron(K, np.ones((2, 2)))
    assert np.isfinite(Spectrum.of(twice, np.repeat(Y, 2, axis=0)).log_evidence(NOISE)).all()
