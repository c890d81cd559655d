"""Published stopping rules from outside: agreement counted pair by pair, scikit-learn's κ, bounds on random tables."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import cohen_kappa_score, f1_score

from labelwise.campaign.stopping import (
    classification_change,
    expected_error,
    kappa_by_label,
    max_confidence,
    overall_uncertainty,
    predicted_f_change,
    selected_accuracy,
    stabilising_predictions,
)


def kappa_by_counting(before, after):
    """Observed agreement of the two and that of all pairs (i, k) of items, in fractions; None where undetermined."""
    n = len(before)
    if not any(before) and not any(after):
        return None
    seen = Fraction(sum(x == y for x, y in zip(before, after, strict=True)), n)
    by_chance = Fraction(sum(x == y for x in before for y in after), n * n)
    return Fraction(1) if by_chance == 1 else (seen - by_chance) / (1 - by_chance)


def random_predictions(n, q, seed, *, rate=0.4):
    return np.random.default_rng(seed).random((n, q)) < rate


def flipped(predictions, *places):
    changed = predictions.copy()
    for place in places:
        changed[place] ^= True
    return changed


def steady(n=400, q=3, rounds=6, seed=0):
    """The same predictions again and again, with every label predicted for some items."""
    return [random_predictions(n, q, seed)] * rounds


# ---- κ


@given(st.integers(1, 8), st.integers(1, 4), st.integers(0, 10**6))
@settings(deadline=None, max_examples=200)
def test_kappa_by_counting(n, q, seed):
    """Section 5, multi-label: κ per label, identical vectors 1, and a label predicted in neither is undetermined."""
    before, after = random_predictions(n, q, seed), random_predictions(n, q, seed + 1)
    got = kappa_by_label(before, after)
    assert got.shape == (q,)
    for j in range(q):
        expected = kappa_by_counting(before[:, j].tolist(), after[:, j].tolist())
        if expected is None:
            assert np.isnan(got[j])
        else:
            assert_allclose(got[j], float(expected), atol=1e-12)


def test_kappa_against_scikit_learn():
    """Section 5, first rule: the statistic is Cohen's κ."""
    before = random_predictions(500, 6, 0)
    after = before ^ random_predictions(500, 6, 1, rate=0.1)
    expected = [cohen_kappa_score(before[:, j], after[:, j]) for j in range(6)]
    assert_allclose(kappa_by_label(before, after), expected, rtol=1e-12)
    assert_allclose(kappa_by_label(after, before), expected, rtol=1e-12)


def test_identical_vectors_have_kappa_one_also_where_all_are_positive():
    """Section 5, multi-label: identical vectors → 1, and 0 / 0 is no excuse; those without positives are not stable."""
    same = np.array([[True, True, False], [True, False, False], [True, True, False]])
    got = kappa_by_label(same, same)
    assert_allclose(got[:2], 1.0)
    assert np.isnan(got[2])


def test_a_label_that_one_model_predicts_is_determined():
    """Section 5, multi-label: positives in one of the two alone are a disagreement, κ = 0, and not undetermined."""
    before, after = np.zeros((5, 1), dtype=bool), np.array([[True], [False], [False], [False], [False]])
    assert_allclose(kappa_by_label(before, after), 0.0, atol=1e-15)
    assert_allclose(kappa_by_label(after, before), 0.0, atol=1e-15)


def test_independent_predictions_have_kappa_near_zero():
    """Section 5, tests: independent predictions → κ ≈ 0, however rare the label; opposite ones are below."""
    rates = np.array([0.05, 0.3, 0.9])
    rng = np.random.default_rng(2)
    before, after = rng.random((2, 40_000, 3)) < rates
    assert np.abs(kappa_by_label(before, after)).max() < 4.5 / np.sqrt(40_000)
    assert (kappa_by_label(before, ~before) < -0.05).all()


# ---- the change of F


def test_change_of_f_by_counting():
    """Section 5, last rule: 1 − 2a / (2a + b + c), a predicted by both, b and c by only one: 1 − F1 between the two."""
    before = random_predictions(60, 1, 3)
    after = before ^ random_predictions(60, 1, 4, rate=0.15)
    a = sum(x and y for x, y in zip(before[:, 0], after[:, 0], strict=True))
    b = sum(x and not y for x, y in zip(before[:, 0], after[:, 0], strict=True))
    c = sum(y and not x for x, y in zip(before[:, 0], after[:, 0], strict=True))
    assert min(a, b, c) > 0
    got = np.ravel(predicted_f_change(before, after))
    assert_allclose(got, [1 - 2 * a / (2 * a + b + c)], rtol=1e-12)
    assert_allclose(got, [1 - f1_score(before[:, 0], after[:, 0])], rtol=1e-12)


def test_change_of_f_is_none_for_the_same_and_all_for_the_disjoint():
    """Section 5, last rule: 0 where nothing changed and 1 where no positive is left."""
    one = np.array([[True], [True], [False], [False]])
    assert_allclose(np.ravel(predicted_f_change(one, one)), [0.0], atol=1e-15)
    assert_allclose(np.ravel(predicted_f_change(one, ~one)), [1.0], rtol=1e-15)


def random_tables(n, q, seed):
    """Truth and two predictions (n, q) of as many random tables as labels: rare and common, few and many changes."""
    rng = np.random.default_rng(seed)
    before = rng.random((n, q)) < rng.uniform(0.02, 0.98, q)
    after = before ^ (rng.random((n, q)) < 10 ** -rng.uniform(0.3, 2.5, q))
    likeness = rng.uniform(0, 1, q)
    truth = np.where(rng.random((n, q)) < likeness, before & after, rng.random((n, q)) < rng.random(q))
    return truth, before, after


def f1(truth, said):
    """(q,)"""
    return 2 * (truth & said).sum(0) / np.maximum(truth.sum(0) + said.sum(0), 1)


def test_kappa_bounds_the_change_of_f():
    """Section 5: κ ≥ T bounds the F change by 4(1−T)/T, 0.040 at 0.99; 200,000 random tables, no violation.

    Both F changes: that between the predictions, and that of their F1 for any truth.
    """
    told, nearest = 0, 0.0
    for seed in range(10):
        truth, before, after = random_tables(40, 20_000, seed)
        kappa = kappa_by_label(before, after)
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(kappa > 0, 4 * (1 - kappa) / kappa, np.inf)  # NaN is above nothing
        of_truth, between = np.abs(f1(truth, before) - f1(truth, after)), 1 - f1(before, after)
        said = bound < 1
        assert (of_truth[said] <= bound[said] + 1e-12).all()
        assert (between[said] <= bound[said] + 1e-12).all()
        changed = said & (between > 0)
        told, nearest = told + changed.sum(), max(nearest, (of_truth[changed] / bound[changed]).max())
    assert told > 20_000 and nearest > 0.25  # so that a κ which is too high would be noticed


def test_the_bound_of_the_usual_threshold():
    """Section 5: at κ = 0.99 the F change is at most 0.040: few predictions change, and F by no more."""
    truth, before, after = random_tables(3000, 600, 11)
    for j in np.flatnonzero(kappa_by_label(before, after) >= 0.99):
        assert np.ravel(predicted_f_change(before[:, [j]], after[:, [j]]))[0] <= 0.0405
        assert abs(f1(truth, before) - f1(truth, after))[j] <= 0.0405
    assert 15 < (kappa_by_label(before, after) >= 0.99).sum() < 400


# ---- the rules


def test_constant_predictions_are_stable():
    """Section 5, tests: constant predictions stop; so few models that no three comparisons are there do not."""
    history = steady()
    assert stabilising_predictions(history)
    assert not stabilising_predictions(history[:1])
    assert not stabilising_predictions(history[:2])
    assert not stabilising_predictions([])


def test_successive_models_are_compared_three_times():
    """Section 5, first rule: successive models, mean over 3: three consecutive pairs, so four models."""
    history = steady()
    assert not stabilising_predictions(history[:3])
    assert stabilising_predictions(history[:4])
    assert stabilising_predictions(history[:2], over=1)


def test_independent_predictions_are_not_stable():
    """Section 5, tests: independent predictions → κ ≈ 0, so they do not stop whatever the threshold above."""
    history = [random_predictions(400, 3, seed) for seed in range(6)]
    assert not stabilising_predictions(history)
    assert not stabilising_predictions(history, threshold=0.3)
    assert stabilising_predictions(history, threshold=-0.5)


def test_only_the_last_models_count():
    """Section 5, first rule: the mean is over the last 3, so early changes are forgotten and a late one is not."""
    early = [random_predictions(400, 3, seed) for seed in range(1, 4)] + steady(rounds=4)
    assert stabilising_predictions(early)
    late = [*steady(rounds=5), random_predictions(400, 3, 7)]
    assert not stabilising_predictions(late)


def test_the_mean_over_three_is_compared_with_the_threshold():
    """Section 5, first rule: mean over 3 ≥ 0.99: of κ = 1, 1 and k the mean decides, not the worst round."""
    same = random_predictions(1000, 1, 8)
    slight = flipped(same, *((i, 0) for i in range(12)))  # κ is about 0.975
    kappa = kappa_by_label(same, slight)[0]
    assert 0.97 < kappa < 0.98
    assert stabilising_predictions([same, same, same, slight])
    assert not stabilising_predictions([same, same, same, slight], over=1)
    mean = (2 + kappa) / 3
    assert stabilising_predictions([same, same, same, slight], threshold=mean - 1e-6)
    assert not stabilising_predictions([same, same, same, slight], threshold=mean + 1e-6)


def test_the_worst_label_counts():
    """Section 5, multi-label: require mean and worst: 199 labels that stay do not hide one that is drawn again."""
    predictions = random_predictions(300, 200, 9)
    history = []
    for seed in range(5):
        changed = predictions.copy()
        changed[:, 17] = random_predictions(300, 1, 100 + seed)[:, 0]
        history.append(changed)
    kappas = np.array([kappa_by_label(x, y) for x, y in pairwise(history)])
    assert kappas.mean() > 0.99 and kappas[:, 17].max() < 0.2
    assert not stabilising_predictions(history)


def test_labels_without_predicted_positives_are_not_stable():
    """Section 5, multi-label: no predicted positives → "undetermined", not stable: all no is no reason to stop."""
    nothing = [np.zeros((50, 2), dtype=bool)] * 6
    assert not stabilising_predictions(nothing)
    one_silent = [np.column_stack([random_predictions(50, 1, 10), np.zeros((50, 1), dtype=bool)])] * 6
    assert not stabilising_predictions(one_silent)


def test_no_change_of_classification():
    """Section 5, sixth rule: predictions altered: none."""
    same = random_predictions(60, 3, 11)
    assert classification_change([same, same.copy()])
    assert not classification_change([same, flipped(same, (59, 2))])
    assert classification_change([flipped(same, (0, 0)), same, same])
    assert not classification_change([same, same, flipped(same, (0, 0))])
    assert not classification_change([same])
    assert not classification_change([])


def test_a_swap_is_a_change():
    """Section 5, sixth rule: predictions altered, not their number: one up and one down is two changes."""
    same = random_predictions(60, 1, 12)
    up, down = np.flatnonzero(~same[:, 0])[0], np.flatnonzero(same[:, 0])[0]
    assert not classification_change([same, flipped(same, (up, 0), (down, 0))])


@given(st.integers(1, 30), st.integers(1, 5), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_uncertainty_and_error_by_loops(n, q, seed):
    """Section 5, second and fifth rules: mean normalised entropy, and mean of 1 − max p, p of the yes or of the no."""
    p = np.random.default_rng(seed).random((n, q))
    entropies, errors = [], []
    for x in p.ravel().tolist():
        entropies.append(-(x * np.log2(x) + (1 - x) * np.log2(1 - x)))
        errors.append(1 - max(x, 1 - x))
    assert_allclose(overall_uncertainty(p), sum(entropies) / len(entropies), rtol=1e-9)
    assert_allclose(expected_error(p), sum(errors) / len(errors), rtol=1e-9)


def test_certain_and_undecided_beliefs():
    """Section 5, second and fifth rules: entropy is normalised, so ½ is 1; certainty, 0 log 0 and all, is 0."""
    assert_allclose(overall_uncertainty(np.full((4, 3), 0.5)), 1.0, rtol=1e-12)
    assert_allclose(expected_error(np.full((4, 3), 0.5)), 0.5, rtol=1e-12)
    certain = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert_allclose([overall_uncertainty(certain), expected_error(certain)], 0.0, atol=1e-9)
    assert_allclose(expected_error(np.array([[0.99], [0.01]])), 0.01, rtol=1e-9)


def test_expected_error_is_that_of_calibrated_beliefs():
    """Section 5, fifth rule: where beliefs are calibrated, the share of wrong decisions at ½ is the expected error."""
    rng = np.random.default_rng(13)
    p = rng.beta(0.4, 0.9, (100_000, 2))
    wrong = ((rng.random(p.shape) < p) != (p >= 0.5)).mean()
    assert abs(expected_error(p) - wrong) < 4.5 * 0.5 / np.sqrt(p.size)


def test_confidence_is_that_of_the_least_certain_selected_item():
    """Section 5, third rule: entropy of the selected items; the pitfall, the minimum of it, hides what is uncertain."""
    sure, unsure = np.array([[0.999, 0.001]]), np.array([[0.5, 0.4]])
    assert max_confidence(np.concatenate([sure, sure])) < max_confidence(np.concatenate([sure, unsure]))
    assert max_confidence(np.concatenate([sure, unsure])) == pytest.approx(max_confidence(unsure))
    assert max_confidence(np.array([[0.0, 1.0]])) < 0.001 < max_confidence(np.array([[0.001, 0.5]]))


def test_accuracy_of_the_model_before_on_the_new_batch():
    """Section 5, fourth rule: previous model on new batch: nine right of ten are 0.9."""
    predicted = np.array([[True, False]] * 5)
    truth = flipped(predicted, (3, 1))
    assert selected_accuracy(predicted, truth) == pytest.approx(0.9)
    assert selected_accuracy(predicted, predicted) == 1.0
    assert selected_accuracy(predicted, ~predicted) == 0.0
