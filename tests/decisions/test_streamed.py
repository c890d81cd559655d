"""Rules for streams against the same rules on the whole batch at once."""

from itertools import pairwise

import numpy as np
import pytest

from labelwise.decisions import ClassMass, ExpectedF1, LabelTally, base, score_sets
from labelwise.posterior import MarginalPosterior


def beliefs(n=900, q=5, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.3, 3, (n, q))
    p[:, 1] = np.round(p[:, 1], 1)  # many ties
    p[:, 2] = 0.02
    return p


def batches(p, sizes=(1, 250, 0, 400, 249)):
    ends = np.cumsum([0, *sizes])
    assert ends[-1] == len(p)
    return [MarginalPosterior(p[start:stop]) for start, stop in pairwise(ends)]


def tally_of(p):
    tally = LabelTally(p.shape[1])
    for batch in batches(p):
        tally.add(batch)
    return tally


def decided(rule, p):
    return np.vstack([rule.decide(batch) for batch in batches(p)])


@pytest.fixture
def always_binned(monkeypatch):
    monkeypatch.setattr(base, "EXACT_ENTRIES", 0)


@pytest.mark.parametrize("beta", [1.0, 0.5, 2.0])
def test_expected_f1_is_that_of_the_whole_batch(beta, always_binned):
    p = beliefs()
    whole = ExpectedF1(beta=beta).decide_scored(MarginalPosterior(p))
    rule = tally_of(p).expected_f1(beta)
    np.testing.assert_array_equal(decided(rule, p), whole.sets)
    np.testing.assert_allclose(rule.expected, whole.expected, rtol=1e-12)


def test_expected_f1_leaves_out_labels_never_seen(always_binned):
    p = beliefs()
    known = np.array([True, True, False, True, False])
    whole = ExpectedF1(known_labels=known).decide(MarginalPosterior(p))
    sets = decided(tally_of(p).expected_f1(known_labels=known), p)
    np.testing.assert_array_equal(sets, whole)
    assert not sets[:, ~known].any() and sets[:, known].any(0).all()


def test_class_mass_is_that_of_the_whole_batch_ties_included(always_binned):
    p = beliefs()
    shares = np.array([0.0, 0.07, 0.3, 1.0, 0.0306])
    rule = tally_of(p).class_mass(shares)
    sets = decided(rule, p)
    np.testing.assert_array_equal(sets, ClassMass(shares).decide(MarginalPosterior(p)))
    assert sets.sum(0).tolist() == [0, 63, 270, 900, 28]
    assert np.flatnonzero(sets[:, 2]).tolist() == list(range(270))  # all alike: the first come first
    np.testing.assert_allclose(rule.expected, score_sets(MarginalPosterior(p), sets).expected, rtol=1e-10)


def test_binning_hardly_costs_anything():
    p = beliefs(q=3)
    exact = ExpectedF1().decide_scored(MarginalPosterior(p))
    sets = decided(tally_of(p).expected_f1(), p)
    np.testing.assert_allclose(score_sets(MarginalPosterior(p), sets).expected, exact.expected, atol=1e-4)


def test_wrong_input_is_refused():
    tally = LabelTally(2)
    with pytest.raises(ValueError, match="3 labels, the tally was begun with 2"):
        tally.add(MarginalPosterior(np.full((4, 3), 0.5)))
    with pytest.raises(ValueError, match="between 0 and 1"):
        tally.add(MarginalPosterior(np.full((4, 2), np.nan)))
    for shares in ([0.5], [0.5, 1.5]):
        with pytest.raises(ValueError, match="2 numbers between 0 and 1"):
            tally.class_mass(shares)
    with pytest.raises(ValueError, match="beta must be positive"):
        tally.expected_f1(beta=0)


def test_flat_labels_are_left_out_unless_the_learnt_ones_are_named():
    p = np.column_stack([np.full(50, 0.2), np.linspace(0.05, 0.6, 50)])
    tally = LabelTally(2)
    tally.add(MarginalPosterior(p))
    assert tally.expected_f1().decide(MarginalPosterior(p)).any(axis=0).tolist() == [False, True]
    assert tally.expected_f1(known_labels=[True, True]).decide(MarginalPosterior(p))[:, 0].all()
