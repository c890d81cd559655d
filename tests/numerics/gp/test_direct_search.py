"""Every optimiser on functions whose minimum is known; expected improvement against quadrature."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from labelwise.numerics.gp.direct_search import CUT, bayesian, gradient_descent, improvement, lbfgs, simplex

MINIMUM = np.array([0.6, -0.9, 0.3])
CURVATURE = np.array([[3.0, 0.5, 0.0], [0.5, 2.0, 0.3], [0.0, 0.3, 1.0]])


def bowl(x):
    gap = x - MINIMUM
    return float(gap @ CURVATURE @ gap) + 7.0, 2 * CURVATURE @ gap


@pytest.mark.parametrize(
    ("search", "close"),
    [
        (lambda x: lbfgs(bowl, x), 1e-4),
        (lambda x: simplex(lambda y: bowl(y)[0], x, max_evaluations=400), 0.05),
        (lambda x: gradient_descent(bowl, x, np.random.default_rng(0), max_steps=300), 1e-2),
    ],
)
def test_finds_the_bottom_of_a_bowl(search, close):
    found = search(np.zeros(3))
    np.testing.assert_allclose(found.point, MINIMUM, atol=close)
    assert found.value == pytest.approx(bowl(found.point)[0])


@pytest.mark.parametrize("acquisition", ["ei", "truncated_ei", "clipped_ucb"])
def test_bayesian_search_ends_below_the_lowest_point_of_its_first_grid(acquisition):
    """Which 30 evaluations of 125 points could at best find; a second and a third grid are finer."""
    levels = np.linspace(-2.3, 2.3, 5)
    grid = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(-1, 3)
    lowest = min(bowl(x)[0] for x in grid) - 7
    gaps = [
        bayesian(lambda x: bowl(x)[0], np.zeros(3), np.random.default_rng(seed), acquisition=acquisition).value - 7
        for seed in range(5)
    ]
    assert np.mean(gaps) < lowest / 2


def test_the_simplex_stops_on_an_absolute_spread():
    """A large constant must not end the search at once, as a relative tolerance would."""
    found = simplex(lambda x: bowl(x)[0] + 1e6, np.zeros(3), max_evaluations=400)
    assert found.value - 1e6 < 7.01


def test_restarts_leave_a_local_minimum():
    def wells(x):
        u = float(x[0])
        return (u * u - 4) ** 2 / 8 + u, np.array([u * (u * u - 4) / 2 + 1])

    alone = gradient_descent(wells, np.array([2.0]), np.random.default_rng(0))
    again = gradient_descent(wells, np.array([2.0]), np.random.default_rng(3), restarts=8)
    assert alone.point[0] > 1 and again.point[0] < -1


def test_what_is_not_finite_is_survived():
    found = lbfgs(
        lambda x: (np.inf, np.zeros(1)) if x[0] > 1 else (float((x[0] - 0.9) ** 2), 2 * (x - 0.9)), np.zeros(1)
    )
    assert found.point[0] == pytest.approx(0.9, abs=1e-3)


def test_expected_improvement_is_the_integral():
    mean, sd, best = 0.3, 0.8, 0.7
    expected, _ = quad(lambda v: (v - best) * norm.pdf(v, mean, sd), best, mean + 12 * sd)
    assert improvement(np.array([mean]), np.array([sd]), best)[0] == pytest.approx(expected, abs=1e-9)
    cut, _ = quad(lambda v: (v - best) * norm.pdf(v, mean, sd), best, mean + CUT * sd)
    found = improvement(np.array([mean]), np.array([sd]), best, "truncated_ei")[0]
    assert found == pytest.approx(cut, abs=1e-9)


def test_the_printed_acquisition_ties_at_zero():
    mean = np.linspace(-6, -2, 50)
    assert np.all(improvement(mean, np.full(50, 0.5), 0.0, "clipped_ucb") == 0)
    assert np.unique(improvement(mean, np.full(50, 0.5), 0.0)).size == 50
    with pytest.raises(ValueError, match="acquisition"):
        improvement(mean, mean, 0.0, "best")


@pytest.mark.parametrize("size", [1, 5])
def test_bayesian_search_evaluates_no_point_twice(size):
    seen = []
    found = bayesian(lambda x: seen.append(tuple(x.round(9))) or float(x @ x), np.zeros(size), np.random.default_rng(1))
    assert len(seen) == len(set(seen)) == found.n_evaluations
    assert found.n_evaluations == 30 if size == 5 else 5 < found.n_evaluations <= 15  # three grids of 5 points
    assert seen[0] == (0.0,) * size
