"""ClassMass: sizes by definition, the most probable items, shares from partial labels, and large batches."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.decisions import ClassMass, base, score_sets
from labelwise.posterior import MarginalPosterior


def beliefs(n=40, q=4, seed=0):
    return MarginalPosterior(np.random.default_rng(seed).random((n, q)) ** 3)


def test_each_label_goes_to_its_share_of_most_probable_items():
    posterior = beliefs()
    shares = np.array([0.0, 0.1, 0.3375, 1.0])
    sets = ClassMass(shares).decide(posterior)
    assert sets.sum(0).tolist() == [0, 4, 14, 40]  # 13.5 goes to the even neighbour
    p = posterior.probabilities()
    for j in range(1, 3):
        assert p[sets[:, j], j].min() >= p[~sets[:, j], j].max()
    assert ClassMass(0.5).decide(posterior).sum(0).tolist() == [20] * 4


def test_equals_go_by_the_order_of_items():
    same = MarginalPosterior(np.full((10, 1), 0.2))
    assert np.flatnonzero(ClassMass(0.3).decide(same)).tolist() == [0, 1, 2]


def test_only_the_order_of_probabilities_matters():
    posterior = beliefs()
    squeezed = MarginalPosterior(0.01 * posterior.probabilities() ** 0.2)
    rule = ClassMass([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_array_equal(rule.decide(squeezed), rule.decide(posterior))


def test_expected_score_is_that_of_the_sets():
    posterior = beliefs()
    result = ClassMass([0.0, 0.2, 0.3, 0.4]).decide_scored(posterior)
    truth = score_sets(posterior, result.sets)
    np.testing.assert_allclose(result.expected, truth.expected, rtol=1e-12)
    assert result.expected[0] == 0 and result.expected[1:].min() > 0.1
    drawn = np.random.default_rng(1).random((20_000, 40, 4)) < posterior.probabilities()
    f = 2 * (drawn & result.sets).sum(1) / np.maximum(drawn.sum(1) + result.sets.sum(0), 1)  # (s, q)
    np.testing.assert_allclose(result.expected, f.mean(0), atol=5 * 0.5 / np.sqrt(20_000))


def test_large_batches_keep_the_sizes_and_mix_only_neighbours(monkeypatch):
    posterior = beliefs(n=3000, q=3)
    rule = ClassMass([0.01, 0.1, 0.5])
    exact = rule.decide_scored(posterior)
    monkeypatch.setattr(base, "EXACT_ENTRIES", 10)
    monkeypatch.setattr(base, "BLOCK_ENTRIES", 700)
    binned = rule.decide_scored(posterior)
    np.testing.assert_array_equal(binned.sets.sum(0), exact.sets.sum(0))
    np.testing.assert_allclose(binned.expected, exact.expected, atol=1e-3)
    p = posterior.probabilities()
    for j in range(3):
        odds = p[:, j] / (1 - p[:, j])
        assert odds[binned.sets[:, j]].min() > odds[~binned.sets[:, j]].max() * np.exp(-2 * 24 / 2048 - 1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_shares_come_from_known_labels_alone(kind):
    Y = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    observed = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=bool)
    rule = ClassMass.from_labels(kind(Y), kind(observed))
    np.testing.assert_allclose(rule.shares, [2 / 3, 2 / 3, 0])
    np.testing.assert_allclose(ClassMass.from_labels(kind(Y)).shares, [3 / 4, 1 / 2, 1 / 4])


def test_unknown_as_nan():
    rule = ClassMass.from_labels([[1, np.nan], [0, np.nan], [np.nan, 1]])
    np.testing.assert_allclose(rule.shares, [0.5, 1.0])


def test_no_items():
    assert ClassMass(0.5).decide_scored(MarginalPosterior(np.zeros((0, 2)))).sets.shape == (0, 2)


@pytest.mark.parametrize(
    ("shares", "words"),
    [([0.1, 0.2], r"shape \(2,\), expected one number or \(4,\)"), (1.5, "between 0 and 1"), (np.nan, "between 0")],
)
def test_wrong_shares_are_named(shares, words):
    with pytest.raises(ValueError, match=words):
        ClassMass(shares).decide(beliefs())


@pytest.mark.parametrize(
    ("Y", "observed", "words"),
    [
        ([[0, 2]], None, r"0 and 1 \(NaN for unknown\), got 2\.0"),
        ([0, 1], None, r"matrix \(items, labels\).* shape \(2,\)"),
        ([[0, 1]], [[True]], r"observed has shape \(1, 1\), but Y has \(1, 2\)"),
    ],
)
def test_wrong_labels_are_named(Y, observed, words):
    with pytest.raises(ValueError, match=words):
        ClassMass.from_labels(Y, observed)
