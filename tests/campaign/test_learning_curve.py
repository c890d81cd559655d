"""The learning curve over people's time: curves that are known, rivals by other computations, and bad input."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import t as student

from labelwise.campaign.estimates import MicroF1, draw_items
from labelwise.campaign.standing import CURVE_SHARES, RATES, _fit, draw_curves, fit_curve
from labelwise.records.learning_curve import HOUR, LearningCurve

AT = np.array(CURVE_SHARES) * 0.9  # the last point is a little before now


def power_law(end: float, below: float, rate: float):
    """F1 after t times the time so far, and the t at which it is so high."""
    return lambda t: end - below * t**-rate, lambda f1: ((end - f1) / below) ** (-1 / rate)


def judged(truth, seed: int, n_items: int = 40, n_labels: int = 20) -> list[MicroF1]:
    """Scores of models whose F1 follows the curve: mistakes persist from point to point, and training scatters."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n_items, n_labels)) < 0.1
    item, pair = rng.standard_normal((n_items, 1)), rng.standard_normal(Y.shape)
    draws, scores = draw_items(n_items, rng), []
    for t in AT:
        f1 = truth(t) + 0.01 * rng.standard_normal()
        z = np.sqrt(0.2) * item + np.sqrt(0.7) * pair + np.sqrt(0.1) * rng.standard_normal(Y.shape)
        predicted = np.where(Y, ndtr(z) < f1, ndtr(z) > 1 - (1 - f1) / 9)  # precision and recall are both f1
        scores.append(MicroF1.of(Y, np.ones_like(Y), predicted, draws))
    return scores


def exact(values) -> list[MicroF1]:
    """Scores without any doubt."""
    return [MicroF1(float(value), np.full(50, float(value))) for value in values]


def curve_of(values, seconds: float = HOUR, at=AT) -> LearningCurve | None:
    return fit_curve(seconds, seconds * np.asarray(at), exact(values), np.random.default_rng(0))


@pytest.mark.parametrize("rate", RATES)
def test_a_curve_without_noise_is_carried_on(rate):
    truth, reached = power_law(0.8, 0.2, rate)
    curve = curve_of(truth(AT))
    assert curve.gain(HOUR).value == pytest.approx(truth(2) - truth(1), abs=2e-3)
    assert curve.time_to(float(truth(1.5))).value == pytest.approx(0.5 * HOUR, rel=0.1)
    assert float(reached(truth(1.5))) == pytest.approx(1.5)  # the rival agrees with itself


@pytest.mark.parametrize(("end", "below", "rate"), [(0.85, 0.2, 0.5), (0.8, 0.1, 1.0), (0.9, 0.4, 0.25)])
def test_intervals_hold_the_truth_about_as_often_as_they_say(end, below, rate):
    truth, _ = power_law(end, below, rate)
    gain, target = truth(2) - truth(1), truth(1.5)
    found = [fit_curve(HOUR, AT * HOUR, judged(truth, seed), np.random.default_rng(seed)) for seed in range(80)]
    gains, times = [curve.gain(HOUR) for curve in found], [curve.time_to(target) for curve in found]
    assert 0.8 <= np.mean([each.low <= gain <= each.high for each in gains]) <= 1.0
    assert 0.8 <= np.mean([each.low <= 0.5 * HOUR <= each.high for each in times]) <= 1.0
    assert np.mean([each.high - each.low for each in gains]) < 0.15  # and they are not wide for the sake of it


def test_curves_are_drawn_from_the_student_posterior_of_each_rate():
    """By one deviation that is zero only the scatter is left: quantiles of F1 now by hand."""
    t, rng = AT, np.random.default_rng(1)
    f1 = 0.8 - 0.2 * t**-0.5 + 0.02 * rng.standard_normal(t.size)
    drawn = draw_curves(t, f1, np.zeros((t.size, 1)), 100_000, rng)
    for rate in RATES:
        A = np.column_stack([np.ones(t.size), 1 - t**-rate])
        solution, residual, *_ = np.linalg.lstsq(A, f1, rcond=None)
        variance = float(residual[0]) / (t.size - 2) * np.linalg.inv(A.T @ A)
        mine = drawn[drawn[:, 2] == rate]
        for part in (0, 1):
            expected = solution[part] + np.sqrt(variance[part, part]) * student.ppf([0.1, 0.5, 0.9], t.size - 2)
            assert np.quantile(mine[:, part], [0.1, 0.5, 0.9]) == pytest.approx(expected, abs=0.02 * len(RATES))


def test_the_evidence_of_a_rate_is_its_integral():
    """Flat in the level, in the rise from first to last point and in log σ: quadrature over a grid."""
    t = AT
    f1 = 0.8 - 0.2 * t**-0.5 + 0.01 * np.random.default_rng(2).standard_normal(t.size)
    log_sigma = np.linspace(np.log(1e-3), np.log(0.3), 60)

    def integral(rate):
        span = t[0] ** -rate - t[-1] ** -rate
        level = np.linspace(f1[-1] - 0.15, f1[-1] + 0.15, 121)
        rise = np.linspace(f1[-1] - f1[0] - 0.3, f1[-1] - f1[0] + 0.3, 121)
        mean = level[:, None, None] - rise[None, :, None] * (t**-rate - t[-1] ** -rate) / span
        squares = ((f1 - mean) ** 2).sum(-1)  # (level, rise)
        density = np.exp(-squares[..., None] / (2 * np.exp(2 * log_sigma)) - t.size * log_sigma)
        return np.log(density.sum() * (level[1] - level[0]) * (rise[1] - rise[0]))

    nothing = np.zeros((t.size, 1))
    mine, theirs = (
        [part(rate) for rate in (0.25, 0.5, 1.0)] for part in (lambda r: _fit(t, f1, nothing, r).evidence, integral)
    )
    assert np.diff(mine) == pytest.approx(np.diff(theirs), abs=0.02)


def test_an_error_that_all_points_share_moves_the_time_and_not_the_gain():
    truth, _ = power_law(0.8, 0.2, 0.5)
    shift = 0.05 * np.random.default_rng(3).standard_normal(500)
    scores = [MicroF1(float(value), value + shift) for value in truth(AT)]
    curve = fit_curve(HOUR, AT * HOUR, scores, np.random.default_rng(0))
    sure = curve_of(truth(AT))
    assert curve.gain(HOUR).high - curve.gain(HOUR).low == pytest.approx(
        sure.gain(HOUR).high - sure.gain(HOUR).low, abs=0.01
    )
    assert curve.time_to(truth(1.5)).low < 0.2 * HOUR < sure.time_to(truth(1.5)).low


@pytest.mark.parametrize("values", [[0.6, 0.55, 0.5, 0.45, 0.4, 0.35], [0.5] * 6, [0.0] * 6])
def test_a_curve_that_does_not_rise_never_gets_there(values):
    curve = curve_of(values)
    assert curve.time_to(0.9).low == np.inf and curve.gain().value <= 1e-3
    outlook = curve.outlook(0.9, worth_an_hour=0.01)
    assert outlook.advice.startswith("stop: ")
    assert curve.time_to(0.2 if values[0] else 0.9).value == (0.0 if values[0] else np.inf)


def test_f1_never_leaves_its_range_and_nothing_is_carried_on_too_far():
    curve = curve_of(np.linspace(0.2, 0.95, 6))
    assert curve.at([HOUR, 5 * HOUR, 1e9]).max() <= 1.0 and curve.at([1e-6]).min() >= 0.0
    assert curve.gain(8.9 * HOUR) is not None and curve.gain(9.1 * HOUR) is None
    assert curve_of(np.linspace(0.2, 0.95, 6), seconds=300.0).gain() is None, "an hour is too far after five minutes"


@pytest.mark.parametrize(("seconds", "at"), [(0.0, AT), (np.nan, AT), (np.inf, AT), (-5.0, AT), (HOUR, [np.nan] * 6)])
def test_without_time_there_is_no_curve(seconds, at):
    assert fit_curve(seconds, at, exact(np.linspace(0.2, 0.7, 6)), np.random.default_rng(0)) is None


def test_too_few_points_are_shown_but_say_nothing_of_what_comes():
    one = fit_curve(HOUR, [0.9 * HOUR], exact([0.5]), np.random.default_rng(0))
    assert [point.f1 for point in one.points] == [0.5] and one.curves == ()
    assert one.outlook(0.8, 0.01).next_hour is one.outlook(0.8).to_target is one.outlook(0.8, 0.01).advice is None
    same = fit_curve(HOUR, [0.9 * HOUR] * 6, exact([0.5] * 6), np.random.default_rng(0))
    assert same.curves == (), "one point many times is one point"
    nothing_found = [MicroF1(None, np.zeros(5)) for _ in AT]
    assert fit_curve(HOUR, AT * HOUR, nothing_found, np.random.default_rng(0)).points == ()


@pytest.mark.parametrize("scale", [1e-3, 1e9])
def test_absurd_times_only_change_the_unit(scale):
    truth, _ = power_law(0.8, 0.2, 0.5)
    usual, absurd = curve_of(truth(AT)), curve_of(truth(AT), seconds=HOUR * scale)
    assert absurd.time_to(0.65).value == pytest.approx(scale * usual.time_to(0.65).value)


def test_it_is_the_same_after_a_trip_through_json():
    curve = curve_of(power_law(0.8, 0.2, 0.5)[0](AT))
    assert LearningCurve.from_dict(json.loads(json.dumps(curve.as_dict()))) == curve


@pytest.mark.parametrize(
    ("goals", "words"),
    [
        ((80, None), "write 0.8 for 80 %"),
        ((0, None), "above 0"),
        ((None, -0.1), "from 0 to 1"),
        ((None, 5), "0.01 for one point"),
        ((None, 0.01, 20), "write 0.2 for 20 %"),
        ((None, 0.01, float("nan")), "from 0 to 1"),
    ],
)
def test_goals_that_are_none_are_refused(goals, words):
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        curve_of(np.linspace(0.2, 0.7, 6)).outlook(*goals)
