"""TunedThreshold against a search over every threshold that makes a difference."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.decisions import TunedThreshold, score_sets
from labelwise.posterior import MarginalPosterior


def held_out(n=60, q=4, seed=0):
    rng = np.random.default_rng(seed)
    p = np.round(rng.random((n, q)) ** 2, 2)  # rounded: with ties
    return p, rng.random((n, q)) < 0.7 * p, rng.random((n, q)) < 0.8


def f_measure(predicted, truth, beta, axis):
    hits, total = (predicted & truth).sum(axis), predicted.sum(axis) + beta**2 * truth.sum(axis)
    return np.where(total > 0, (1 + beta**2) * hits / np.where(total > 0, total, 1), 1.0)


def candidates(p):
    return np.concatenate([[-1.0], np.unique(p)])  # every set that a threshold can make


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("partial", [False, True])
def test_no_other_threshold_is_better_for_a_label(beta, partial):
    p, Y, observed = held_out()
    observed = observed if partial else np.ones_like(observed)
    rule = TunedThreshold.fit(p, Y, observed, beta=beta)
    found = [f_measure((p > rule.values)[o, j], Y[o, j], beta, 0) for j, o in enumerate(observed.T)]
    best = [
        max(f_measure(p[o, j] > value, Y[o, j], beta, 0) for value in candidates(p[:, j]))
        for j, o in enumerate(observed.T)
    ]
    np.testing.assert_allclose(found, best, rtol=1e-12)
    assert rule.held_out_score == pytest.approx(np.mean(best))
    np.testing.assert_array_equal(rule.decide(MarginalPosterior(p)), p > rule.values)


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("partial", [False, True])
def test_no_other_common_threshold_is_better_for_the_items(beta, partial):
    p, Y, observed = held_out(q=6)
    observed = observed if partial else np.ones_like(observed)
    observed[3] = False  # an item of which nothing is known counts as right whatever is predicted
    rule = TunedThreshold.fit(p, Y, observed, average="samples", beta=beta)
    assert np.unique(rule.values).size == 1

    def score(threshold):
        return f_measure((p > threshold) & observed, Y & observed, beta, 1).mean()

    assert score(rule.values[0]) == pytest.approx(max(score(value) for value in candidates(p)), rel=1e-12)
    assert rule.held_out_score == pytest.approx(score(rule.values[0]), rel=1e-12)


def test_thresholds_lie_half_way():
    rule = TunedThreshold.fit([[0.9], [0.5], [0.2]], [[1], [1], [0]])
    np.testing.assert_allclose(rule.values, [0.35])
    neighbours = np.nextafter(0.5, 1)
    rule = TunedThreshold.fit([[neighbours], [0.5]], [[1], [0]])
    assert rule.decide(MarginalPosterior(np.array([[neighbours], [0.5]]))).tolist() == [[True], [False]]


def test_everything_and_nothing():
    p = np.array([[0.0, 0.4], [0.1, 0.3]])
    assert TunedThreshold.fit(p, [[1, 0], [1, 0]]).decide(MarginalPosterior(p))[:, 0].all()
    nothing = TunedThreshold.fit(p, np.zeros((2, 2)))
    assert not nothing.decide(MarginalPosterior(np.ones((1, 2)))).any() and np.isnan(nothing.held_out_score)
    per_item = TunedThreshold.fit(p, np.zeros((2, 2)), average="samples")
    assert not per_item.decide(MarginalPosterior(np.ones((1, 2)))).any() and per_item.held_out_score == 1


def test_labels_with_few_positives_share_a_threshold():
    p, Y, _ = held_out(n=200)
    Y[:, 2] = False
    Y[np.argmin(p[:, 3]) + 1 :, 3] = False
    Y[: np.argmin(p[:, 3]), 3] = False
    Y[np.argmin(p[:, 3]), 3] = True  # one positive, and it looks hopeless
    pooled = TunedThreshold.fit(p.reshape(-1, 1), Y.reshape(-1, 1)).values[0]
    one = TunedThreshold.fit(p, Y)
    assert one.values[2] == pooled and one.values[3] != pooled
    five = TunedThreshold.fit(p, Y, min_positives=5)
    assert five.values[3] == pooled
    np.testing.assert_array_equal(five.values[:2], one.values[:2])


def test_unknown_entries_have_no_say():
    p, Y, observed = held_out()
    for average in ("macro", "samples"):
        expected = TunedThreshold.fit(p, Y, observed, average=average)
        for values, mask in (
            (Y ^ ~observed, observed),
            (np.where(observed, Y.astype(float), np.nan), None),
            (sp.csr_array(Y), sp.csr_array(observed)),
        ):
            again = TunedThreshold.fit(p, values, mask, average=average)
            np.testing.assert_array_equal(again.values, expected.values)
            assert again.held_out_score == expected.held_out_score


def test_beliefs_instead_of_probabilities():
    p, Y, _ = held_out()
    np.testing.assert_array_equal(TunedThreshold.fit(MarginalPosterior(p), Y).values, TunedThreshold.fit(p, Y).values)


@pytest.mark.parametrize("average", ["macro", "samples"])
def test_expected_score_is_that_of_the_beliefs(average):
    p, Y, _ = held_out()
    rule = TunedThreshold.fit(p, Y, average=average, beta=0.5)
    result, beliefs = rule.decide_scored(MarginalPosterior(p)), MarginalPosterior(p)
    truth = score_sets(beliefs, p > rule.values, average=average, beta=0.5)
    np.testing.assert_allclose(result.expected, truth.expected)
    assert result.average == average and abs(result.mean - rule.held_out_score) > 1e-3


@pytest.mark.parametrize(
    ("p", "Y", "words"),
    [
        (np.full((2, 2), 0.5), np.ones((3, 2)), r"shape \(2, 2\), but Y has \(3, 2\)"),
        (np.full((2, 2), 1.5), np.ones((2, 2)), "between 0 and 1"),
        (np.full((2, 2), 0.5), np.full((2, 2), np.nan), "no entry of Y is known"),
    ],
)
def test_wrong_input_is_named(p, Y, words):
    with pytest.raises(ValueError, match=words):
        TunedThreshold.fit(p, Y)


def test_another_number_of_labels_is_refused():
    rule = TunedThreshold.fit([[0.5, 0.2]], [[1, 0]])
    with pytest.raises(ValueError, match="tuned for 2 labels, not for 3"):
        rule.decide(MarginalPosterior(np.zeros((1, 3))))
