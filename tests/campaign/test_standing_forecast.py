"""The forecast of the learning curve: curves that are known, the mixture by sampling, and what it does not say."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.campaign.standing import MIN_POINTS, RATES, Forecast, _fit, _thinned, forecast_gain


def noisy_course(rate: float, noise: float, seed: int, last: int = 400) -> list[dict]:
    rng = np.random.default_rng(seed)
    return [
        {"answers": n, "f1": 0.8 - 0.9 * n**-rate + noise * rng.standard_normal(), "items": 40}
        for n in range(5, last, 5)
    ]


@pytest.mark.parametrize("rate", RATES)
def test_a_curve_without_noise_is_carried_on(rate):
    forecast = forecast_gain(noisy_course(rate, 0.0, 0), 100)
    truth = 0.9 * (395**-rate - 495**-rate)
    assert forecast.gain == pytest.approx(truth, abs=2e-3)
    assert forecast.low <= truth + 1e-3 and forecast.high >= truth - 1e-3


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    truth = 0.9 * (395**-0.5 - 495**-0.5)
    found = [forecast_gain(noisy_course(0.5, 0.02, seed), 100) for seed in range(60)]
    inside = np.mean([each.low <= truth <= each.high for each in found])
    assert 0.75 <= inside <= 1.0
    assert np.mean([each.high - each.low for each in found]) < 0.1


def test_the_interval_is_that_of_draws_from_the_mixture():
    course = noisy_course(0.5, 0.03, 3)
    n, f1, weight = _thinned(course)
    parts = np.array([_fit(n, f1, weight, rate, 100) for rate in RATES])
    share = np.exp(parts[:, 0] - parts[:, 0].max())
    rng = np.random.default_rng(0)
    which = rng.choice(len(RATES), size=200_000, p=share / share.sum())
    draws = parts[which, 1] + parts[which, 2] * rng.standard_t(n.size - 2, size=which.size)
    forecast = forecast_gain(course, 100)
    low, high = np.quantile(draws, [0.05, 0.95])
    assert (forecast.low, forecast.high) == pytest.approx((low, high), abs=5e-4)
    assert forecast.gain == pytest.approx(draws.mean(), abs=5e-4)


def test_b_is_the_weighted_least_squares_one():
    n, f1, weight = _thinned(noisy_course(0.5, 0.05, 1))
    weight = np.linspace(1, 9, n.size)
    _, gain, _ = _fit(n, f1, weight, 0.5, 100)
    A = np.column_stack([np.ones(n.size), -(n**-0.5)])
    W = np.diag(weight)
    b = np.linalg.solve(A.T @ W @ A, A.T @ W @ f1)[1]
    assert gain == pytest.approx(b * (n[-1] ** -0.5 - (n[-1] + 100) ** -0.5))


def test_the_curve_cannot_rise_above_one():
    course = [{"answers": n, "f1": 0.5 + 0.001 * n, "items": 40} for n in range(10, 490, 10)]
    forecast = forecast_gain(course, 10_000)
    assert isinstance(forecast, Forecast)
    assert forecast.high <= 1 - course[-1]["f1"] + 1e-12


def test_too_few_points_say_nothing():
    course = noisy_course(0.5, 0.0, 0)
    assert forecast_gain([]) is None
    assert forecast_gain(course[: MIN_POINTS - 1]) is None
    assert forecast_gain([{"answers": 10, "f1": 0.5, "items": 9}] * 20) is None, "one point many times is one point"
    assert forecast_gain([{"answers": n, "f1": None, "items": 9} for n in range(1, 20)]) is None


def test_points_are_thinned_and_the_last_is_kept():
    n, _, _ = _thinned(noisy_course(0.5, 0.0, 0, last=4000))
    assert n.size <= 24 and n[0] == 5 and n[-1] == 3995
