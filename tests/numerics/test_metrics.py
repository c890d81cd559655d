"""Every measure against scikit-learn, or against its definition written as loops; with ties, and labels nobody has."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn import metrics as sk

from labelwise.numerics import metrics


@st.composite
def judged(draw):
    """Coarse probabilities, so that most have ties, and truths in which some labels have one kind of answer only."""
    n, q = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    levels = draw(st.sampled_from([1, 2, 4, 1000]))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    scores = rng.integers(0, levels + 1, (n, q)) / levels
    truth = rng.random((n, q)) < rng.choice([0.0, 0.2, 0.5, 1.0], q)
    return scores, truth


@given(judged())
@settings(deadline=None)
def test_roc_auc_is_that_of_scikit_learn_on_labels_that_have_one(case):
    scores, truth = case
    both = truth.any(0) & ~truth.all(0)
    got = metrics.macro_roc_auc(scores, truth)
    assert got.left_out == (~both).sum()
    expected = [sk.roc_auc_score(truth[:, j], scores[:, j]) for j in np.flatnonzero(both)]
    assert_allclose(got.value, np.mean(expected) if expected else np.nan)
    if 0 < truth.sum() < truth.size:
        assert_allclose(metrics.micro_roc_auc(scores, truth), sk.roc_auc_score(truth.ravel(), scores.ravel()))
    else:
        assert np.isnan(metrics.micro_roc_auc(scores, truth))


@given(judged())
@settings(deadline=None)
def test_average_precision_is_that_of_scikit_learn_on_labels_with_positives(case):
    scores, truth = case
    got = metrics.macro_average_precision(scores, truth)
    some = np.flatnonzero(truth.any(0))
    assert got.left_out == truth.shape[1] - some.size
    expected = [sk.average_precision_score(truth[:, j], scores[:, j]) for j in some]
    assert_allclose(got.value, np.mean(expected) if expected else np.nan)
    if some.size:
        expected = sk.average_precision_score(truth.ravel(), scores.ravel())
        assert_allclose(metrics.micro_average_precision(scores, truth), expected)


@given(judged())
@settings(deadline=None)
def test_ranking_loss_is_that_of_scikit_learn(case):
    scores, truth = case
    wrong = [
        [s[a] <= s[b] for a, b in itertools.product(np.flatnonzero(t), np.flatnonzero(~t))]
        for s, t in zip(scores, truth, strict=True)
    ]
    assert_allclose(metrics.ranking_loss(scores, truth), np.mean([np.mean(w) if w else 0.0 for w in wrong]))
    if truth.shape[1] > 1:
        assert_allclose(metrics.ranking_loss(scores, truth), sk.label_ranking_loss(truth, scores))


@given(judged())
@settings(deadline=None)
def test_f1_is_that_of_scikit_learn(case):
    scores, truth = case
    predicted, some = scores > 0.5, truth.any(0)
    got = metrics.macro_f1(predicted, truth)
    assert got.left_out == (~some).sum()
    expected = [sk.f1_score(truth[:, j], predicted[:, j], zero_division=0) for j in np.flatnonzero(some)]
    assert_allclose(got.value, np.mean(expected) if expected else np.nan)
    assert_allclose(metrics.micro_f1(predicted, truth), sk.f1_score(truth.ravel(), predicted.ravel(), zero_division=1))
    if truth.shape[1] > 1:
        expected = sk.f1_score(truth, predicted, average="samples", zero_division=1)
        assert_allclose(metrics.sample_f1(predicted, truth), expected)


@given(judged())
@settings(deadline=None)
def test_precision_at_k_is_the_mean_over_all_ways_to_break_ties(case):
    scores, truth = case
    for k in range(1, min(3, scores.shape[1]) + 1):
        per_item = []
        for s, t in zip(scores, truth, strict=True):
            totals = {c: s[list(c)].sum() for c in itertools.combinations(range(s.size), k)}
            best = max(totals.values())
            per_item.append(np.mean([t[list(c)].mean() for c, total in totals.items() if np.isclose(total, best)]))
        assert_allclose(metrics.precision_at(scores, truth, k), np.mean(per_item))


@given(judged())
@settings(deadline=None)
def test_log_loss_is_that_of_scikit_learn_even_at_certain_and_wrong(case):
    scores, truth = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = sk.log_loss(truth.ravel(), scores.ravel(), labels=[False, True])
    assert_allclose(metrics.log_loss(scores, truth), expected, atol=1e-12)


@given(judged(), st.integers(1, 20))
@settings(deadline=None)
def test_calibration_error_is_its_definition(case, bins):
    p, truth = case[0].ravel(), case[1].ravel()
    total = 0.0
    for b in range(bins):
        low, high = b / bins, (b + 1) / bins
        inside = np.array([low <= value < high or (b == bins - 1 and value == 1.0) for value in p])
        if inside.any():
            total += inside.mean() * abs(p[inside].mean() - truth[inside].mean())
    assert_allclose(metrics.calibration_error(case[0], case[1], bins), total, atol=1e-12)


def test_calibration_error_is_small_for_a_calibrated_forecast_and_large_for_a_boastful_one():
    rng = np.random.default_rng(0)
    p = rng.random((5000, 4))
    truth = rng.random(p.shape) < p
    assert metrics.calibration_error(p, truth) < 0.02
    assert metrics.calibration_error(np.round(p), truth) > 0.2


def test_evaluate_agrees_with_the_single_functions_and_counts_what_it_left_out():
    rng = np.random.default_rng(1)
    p = rng.random((40, 5))
    truth = rng.random((40, 5)) < p
    truth[:, 0], truth[:, 1] = False, True
    sets = rng.random((40, 5)) < 0.5
    got = metrics.evaluate(p, truth, sets)
    assert got["labels_without_positives"] == 1 and got["labels_without_negatives"] == 1
    assert got["macro_roc_auc"] == metrics.macro_roc_auc(p, truth).value
    assert got["micro_roc_auc"] == metrics.micro_roc_auc(p, truth)
    assert got["macro_average_precision"] == metrics.macro_average_precision(p, truth).value
    assert got["macro_f1"] == metrics.macro_f1(sets, truth).value
    assert got["sample_f1"] == metrics.sample_f1(sets, truth)
    assert set(metrics.METRICS) == set(got) - {"labels_without_positives", "labels_without_negatives"}
    mean = np.mean([got[f"precision_at_{k}"] for k in (1, 2, 3)])
    assert_allclose(got["precision_at_1_3"], mean)
    assert metrics.evaluate(p, truth)["micro_f1"] == metrics.micro_f1(p > 0.5, truth)


def test_with_fewer_labels_than_three_precision_is_averaged_over_what_there_is():
    got = metrics.evaluate([[0.9, 0.1]], [[True, False]])
    assert np.isnan(got["precision_at_3"])
    assert got["precision_at_1_3"] == 0.75


@pytest.mark.parametrize(
    ("p", "truth", "message"),
    [
        ([[0.5]], [[True, False]], "one shape"),
        ([[1.5]], [[True]], r"between 0 and 1, got .*1\.5"),
        ([[np.nan]], [[True]], "got .*nan"),
        (np.zeros((0, 3)), np.zeros((0, 3)), "one shape"),
    ],
)
def test_evaluate_refuses_what_it_cannot_judge(p, truth, message):
    with pytest.raises(ValueError, match=message):
        metrics.evaluate(p, truth)


def test_precision_at_more_than_there_are_labels_is_refused():
    with pytest.raises(ValueError, match="number of labels, 2; got 3"):
        metrics.precision_at(np.zeros((1, 2)), np.zeros((1, 2), dtype=bool), 3)
