"""Stopping rules: predictions made by hand, cases at the boundary, and rivals by sampling and by other packages."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score
from tests.campaign.test_learning_curve import AT, judged, power_law

from labelwise.campaign import stopping
from labelwise.campaign.standing import MIN_RANDOM_ITEMS, RATES, fit_curve
from labelwise.data import make_shapes
from labelwise.records.asking import RISK
from labelwise.records.learning_curve import HOUR, IntervalEstimate, LearningCurve, Outlook
from labelwise.studies import Answerer

ONE, OTHER = np.eye(4, 3, dtype=bool), np.eye(4, 3, dtype=bool)[::-1].copy()


def random_sets(seed, n=60, q=5, share=0.3):
    return np.random.default_rng(seed).random((n, q)) < share


# -- published rules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_kappa_is_that_of_each_label(share):
    before, after = random_sets(0, share=share), random_sets(1, share=share)
    after[:30] = before[:30]
    rival = [cohen_kappa_score(a, b) for a, b in zip(before.T, after.T, strict=True)]
    np.testing.assert_allclose(stopping.kappa_by_label(before, after), rival, atol=1e-12)


def test_kappa_of_constant_and_of_independent_predictions():
    yes, no = np.ones((5, 1), dtype=bool), np.zeros((5, 1), dtype=bool)
    assert stopping.kappa_by_label(yes, yes) == 1 and stopping.kappa_by_label(yes, no) == 0
    assert np.isnan(stopping.kappa_by_label(no, no))
    independent = stopping.kappa_by_label(random_sets(0, 100_000), random_sets(1, 100_000))
    assert np.abs(independent).max() < 0.02


def test_agreement_bounds_the_change_of_f1():
    """With κ of at least T for a label, F1 by the predictions before changes by at most 4 (1 - T) / T."""
    rng = np.random.default_rng(0)
    before = rng.random((40, 3000)) < rng.uniform(0.02, 0.98, 3000)
    after = before ^ (rng.random(before.shape) < rng.uniform(0, 0.1, 3000))
    kappa = stopping.kappa_by_label(before, after)
    judged_ = np.flatnonzero(kappa > 0.2)
    change = [stopping.predicted_f_change(before[:, [j]], after[:, [j]]) for j in judged_]
    bound = 4 * (1 - kappa[judged_]) / kappa[judged_]
    assert judged_.size > 1000 and np.all(np.array(change) <= bound + 1e-12)


def test_stable_predictions_need_enough_steps_and_every_label():
    assert stopping.stabilising_predictions([ONE] * 4) and not stopping.stabilising_predictions([ONE] * 3)
    assert stopping.stabilising_predictions([OTHER, *[ONE] * 4]), "only the last steps count"
    assert not stopping.stabilising_predictions([ONE, ONE, ONE, OTHER])
    assert stopping.stabilising_predictions([ONE] * 2, over=1) and not stopping.stabilising_predictions([])
    with pytest.raises(ValueError, match="1 or more, got 0"):
        stopping.stabilising_predictions([ONE] * 4, over=0)


def test_one_unstable_label_among_many_forbids_to_stop():
    many = random_sets(0, 200, 400)
    altered = many.copy()
    altered[:3, 7] ^= True
    kappa = stopping.kappa_by_label(many, altered)
    assert kappa.mean() > 0.999 and kappa.min() < 0.97
    assert stopping.stabilising_predictions([many] * 4)
    assert not stopping.stabilising_predictions([many, many, many, altered], threshold=0.99)
    flat = [each.reshape(-1, 1) for each in (many, many, many, altered)]
    assert stopping.stabilising_predictions(flat), "all labels as one are stable"


def test_an_undetermined_label_is_not_stable():
    never = np.column_stack([ONE, np.zeros(4, dtype=bool)])
    assert not stopping.stabilising_predictions([never] * 9)
    found = never.copy()
    found[0, -1] = True
    assert stopping.stabilising_predictions([found] * 4) and not stopping.stabilising_predictions([never, *[found] * 2])


def test_at_the_threshold_it_stops():
    altered = ONE.copy()
    altered[0, 0] = False
    threshold = np.mean([1.0, 1.0, np.nanmin(np.nan_to_num(stopping.kappa_by_label(ONE, altered)))])
    history = [ONE, ONE, ONE, altered]
    assert stopping.stabilising_predictions(history, threshold)
    assert not stopping.stabilising_predictions(history, threshold + 1e-6)


def test_classification_change_is_of_the_last_step():
    altered = ONE.copy()
    altered[-1, -1] ^= True
    assert stopping.classification_change([altered, ONE, ONE])
    assert not stopping.classification_change([ONE, ONE, altered])
    assert not stopping.classification_change([ONE]) and not stopping.classification_change([])


def test_uncertainty_is_entropy_in_bits():
    p = np.random.default_rng(0).random((30, 4))
    rival = entropy(np.stack([p, 1 - p]), base=2, axis=0)
    assert stopping.overall_uncertainty(p) == pytest.approx(rival.mean())
    assert stopping.max_confidence(p) == pytest.approx(rival.mean(axis=1).max())
    assert stopping.expected_error(p) == pytest.approx(np.mean(1 - np.maximum(p, 1 - p)))


def test_of_sure_and_of_clueless_beliefs():
    sure, clueless = np.array([[0.0, 1.0]]), np.full((3, 2), 0.5)
    for statistic in (stopping.overall_uncertainty, stopping.max_confidence, stopping.expected_error):
        assert statistic(sure) == 0
    assert stopping.overall_uncertainty(clueless) == stopping.max_confidence(clueless) == 1
    assert stopping.expected_error(clueless) == 0.5


def test_accuracy_and_change_of_f1_are_the_usual_ones():
    before, after = random_sets(0), random_sets(1)
    assert stopping.selected_accuracy(before, after) == pytest.approx(accuracy_score(before.ravel(), after.ravel()))
    rival = 1 - f1_score(before.ravel(), after.ravel())
    assert stopping.predicted_f_change(before, after) == pytest.approx(rival)
    assert stopping.predicted_f_change(after, before) == stopping.predicted_f_change(before, after)
    assert stopping.predicted_f_change(ONE, ONE) == 0
    none = np.zeros((4, 3), dtype=bool)
    assert stopping.predicted_f_change(none, ONE) == 1 and np.isnan(stopping.predicted_f_change(none, none))


@pytest.mark.parametrize("bad", [np.array([[1.2]]), np.array([[np.nan]]), np.empty((0, 3)), np.array([0.5])])
def test_what_is_no_probability_is_refused(bad):
    for statistic in (stopping.overall_uncertainty, stopping.max_confidence, stopping.expected_error):
        with pytest.raises(ValueError, match="p must be probabilities"):
            statistic(bad)


@pytest.mark.parametrize("bad", [ONE[:2], ONE[:, 0], np.zeros((0, 3), dtype=bool)])
def test_predictions_of_other_items_are_refused(bad):
    with pytest.raises(ValueError, match="same size"):
        stopping.kappa_by_label(ONE if bad.size else bad, bad)


# -- our rule ----------------------------------------------------------------------------------------------------------


def fitted(seed, rate=0.5, below=0.2):
    truth, _ = power_law(0.85, below, rate)
    return fit_curve(HOUR, AT * HOUR, judged(truth, seed), np.random.default_rng(seed))


@pytest.mark.parametrize("worth", [0.02, 0.06, 0.1, 0.2])
def test_more_time_pays_if_some_longer_time_pays(worth):
    """The rival looks at the gain of the curves after many lengths of time, short and long."""
    curve = fitted(0)
    hours = np.geomspace(1e-4, 8, 400)
    net = curve.at(HOUR * (1 + hours)) - curve.at(HOUR)[:, None] - worth * hours
    assert curve.pays(worth) == pytest.approx(np.mean(net.max(axis=1) >= 0), abs=0.02)


def test_the_probability_is_that_of_all_curves_that_are_probable():
    """The rival draws level, rise, rate and scatter from their prior, and weighs them by the points."""
    truth, _ = power_law(0.85, 0.2, 0.5)
    scores = judged(truth, 3)
    f1, judged_by = np.array([score.value for score in scores]), np.stack([score.draws for score in scores])
    rng, n = np.random.default_rng(1), 400_000
    slopes, weights = [], []
    for rate in RATES:
        basis = np.column_stack([np.ones(AT.size), 1 - AT**-rate])
        between_ends = AT[0] ** -rate - AT[-1] ** -rate
        rise = rng.uniform(-0.5, 1.0, n) / between_ends  # flat in what it rises from the first to the last point
        now, log_sd = rng.uniform(0.4, 1.2, n), rng.uniform(-9, -1, n)
        errors = np.sum((f1[:, None] - basis @ np.stack([now, rise])) ** 2, axis=0)
        weights.append(-AT.size * log_sd - errors / (2 * np.exp(2 * log_sd)))
        moved = np.linalg.lstsq(basis, judged_by - f1[:, None], rcond=None)[0][1]  # by the items that judge
        slopes.append((rise + rng.choice(moved, n)) * rate)
    slope, weight = np.concatenate(slopes), np.exp(np.concatenate(weights) - np.max(weights))
    curve = fit_curve(HOUR, AT * HOUR, scores, np.random.default_rng(0))
    for worth in (0.02, 0.06, 0.1, 0.15):
        rival = weight[slope >= worth].sum() / weight[slope >= 0].sum()
        assert curve.pays(worth) == pytest.approx(rival, abs=0.08)


def test_curves_that_fall_do_not_count():
    curve = LearningCurve(HOUR, curves=((0.5, -0.3, 1.0), (0.5, -0.1, 1.0), (0.5, 0.1, 1.0), (0.5, 0.0, 1.0)))
    assert curve.pays(0.05) == 0.5 and curve.pays(0.0) == 1.0
    assert LearningCurve(HOUR, curves=((0.5, -0.3, 1.0),)).pays(0.0) == 0.0, "where nothing rises, nothing pays"


def test_the_probability_holds_about_as_often_as_it_says():
    """Campaigns of many kinds; of those with a probability below one half, about as many pay as their mean says."""
    said, is_so = [], []
    for seed in range(120):
        rate, below = np.random.default_rng(seed).choice([0.25, 0.5, 1.0]), 0.05 + 0.15 * (seed % 7) / 6
        for worth in (0.03, 0.06, 0.1):
            said.append(fitted(seed, rate, below).pays(worth))
            is_so.append(below * rate >= worth)
    said, is_so = np.array(said), np.array(is_so)
    low = said < 0.5
    assert low.sum() > 50 and (~low).sum() > 50
    assert is_so[low].mean() == pytest.approx(said[low].mean(), abs=0.12)
    assert is_so[~low].mean() == pytest.approx(said[~low].mean(), abs=0.15)


def test_it_stops_below_the_risk_and_not_at_it():
    assert Outlook(HOUR, None, worth_an_hour=0.1, pays=0.2, risk=0.2).stop is False
    assert Outlook(HOUR, None, worth_an_hour=0.1, pays=0.195, risk=0.2).stop is True
    assert Outlook(HOUR, None, worth_an_hour=0.1, pays=0.0, risk=0.0).stop is False, "no risk, no stop"
    unknown = Outlook(HOUR, None, worth_an_hour=0.1)
    assert (unknown.stop, unknown.advice, unknown.risk) == (False, None, RISK)


def test_a_dearer_hour_and_a_larger_risk_stop_sooner():
    curve = fitted(1)
    pays = [curve.pays(worth) for worth in (0.0, 0.03, 0.06, 0.12, 0.5, 1.0)]
    assert pays == sorted(pays, reverse=True) and pays[0] > 0.9 and pays[-1] == 0
    stops = [curve.outlook(None, 0.1, risk).stop for risk in (0.0, 0.1, 0.5, 1.0)]
    assert stops == sorted(stops)


def test_the_advice_says_why():
    gain = IntervalEstimate(0.012, -0.01, 0.03)
    assert Outlook(HOUR, gain, worth_an_hour=0.05, pays=0.04, risk=0.125).advice == (
        "stop: more time is worth it with a probability of 4 %, less than the risk of 12.5 %; "
        "the next hour is expected to bring +1.2 points of F1 (-1.0 to +3.0)"
    )
    assert Outlook(HOUR, None, pays=0.5).advice == "go on: more time is worth it with a probability of 50 %"


def test_short_campaigns_know_what_pays_before_they_know_the_next_hour():
    curve = LearningCurve(300.0, curves=((0.5, 0.2, 1.0),))
    assert curve.gain() is None and curve.outlook(worth_an_hour=0.1).pays == 1.0
    assert LearningCurve(300.0).pays(0.1) is None


def test_a_campaign_goes_on_until_there_are_enough_random_items():
    import labelwise as lw

    data = make_shapes(300, random_state=0)
    campaign, answerer = lw.Campaign(data.hide(), random_state=0), Answerer(data, random_state=0)
    campaign.tell(answerer.answers(campaign.ask(12)))
    early = campaign.status(worth_an_hour=1.0, risk=1.0)
    assert early.random_items < MIN_RANDOM_ITEMS and early.outlook is None and early.advice.startswith("go on: ")
    while campaign.status().random_items < MIN_RANDOM_ITEMS:
        campaign.tell(answerer.answers(campaign.ask(20)))
    assert campaign.status(worth_an_hour=1.0, risk=1.0).outlook.stop
    assert not campaign.status(worth_an_hour=1.0, risk=0.0).outlook.stop
