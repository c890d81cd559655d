"""Rules for streams against the same rules on the whole batch at once."""

from itertools import pairwise

import numpy as np
import pytest

from labelwise.data import make_drifting_stream
from labelwise.decisions import ClassMass, ExpectedF1, LabelTally, SampleTally, base, score_sets, streamed
from labelwise.models import OnlineBayes
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


# -- by posterior samples ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def online():
    data = make_drifting_stream(400, 6, random_state=0)
    return OnlineBayes(random_state=0).fit(data.X[:250], data.Y[:250]).posterior(data.X[250:])


@pytest.mark.parametrize("thresholds", [None, 20])
@pytest.mark.parametrize("sizes", [(150,), (1, 70, 0, 79)])
def test_samples_on_a_stream_are_those_of_the_whole_batch(online, thresholds, sizes, monkeypatch):
    """The draws of weights and of labels do not depend on how the items are cut into batches and blocks."""
    known = np.array([True, True, False, True, True, True])
    options = {"thresholds": thresholds, "random_state": 3}
    whole = ExpectedF1(method="samples", n_samples=4, known_labels=known, beta=2.0, **options).decide_scored(online)
    monkeypatch.setattr(streamed, "SAMPLE_ENTRIES", 4 * 6 * 16)  # blocks of sixteen items
    tally, ends = SampleTally(6, 4, **options), np.cumsum([0, *sizes])
    batches = [online.rows(slice(start, stop)) for start, stop in pairwise(ends)]
    for batch in batches:
        tally.add(batch)
    cuts = tally.expected_f1(2.0, known)
    np.testing.assert_array_equal(np.vstack([cuts.decide(batch) for batch in batches]), whole.sets)
    np.testing.assert_array_equal(cuts.expected, whole.expected)
    assert tally.n_items == 150 and whole.sets[:, known].any() and not whole.sets[:, 2].any()


def test_sampled_curves_are_the_naive_formula(online):
    """Equation (7) of the paper, the factor 2 restored, with draws of weights made by the model itself."""
    tally = SampleTally(6, 3, thresholds=20, random_state=5)
    tally.add(online)
    p = online.probabilities()
    drawn = online.sample_probabilities(3, streamed.block_generator(5, streamed.SHARED_BLOCK))
    y = [streamed.uniforms(0, *p.shape, seed=5, sample=t, kind=streamed.LABEL_DRAWS) < drawn[t] for t in range(3)]
    for place, threshold in enumerate(np.arange(20)[::-1] / 20):
        chosen = p > threshold
        f1 = [2 * (t & chosen).sum(0) / np.maximum(t.sum(0) + chosen.sum(0), 1) for t in y]
        np.testing.assert_allclose(tally.curves()[:, place], np.mean(f1, axis=0), rtol=1e-12)


def test_flat_labels_are_given_to_nobody_unless_known():
    p = np.column_stack([np.full(60, 0.01), np.linspace(0.001, 0.04, 60)])  # both below the least threshold but 0
    tally = SampleTally(2, 5, thresholds=20)
    tally.add(MarginalPosterior(p))
    assert tally.expected_f1().decide(MarginalPosterior(p)).sum(0).tolist() == [0, 60]
    assert tally.expected_f1(known_labels=[True, True]).decide(MarginalPosterior(p)).sum(0).tolist() == [60, 60]


def test_sample_tallies_that_cannot_be():
    with pytest.raises(ValueError, match="n_samples must be positive and random_state not negative, got 0 and 0"):
        SampleTally(2, 0)
    with pytest.raises(ValueError, match="thresholds must be None or between 2 and 65536, got 1"):
        SampleTally(2, thresholds=1)
    with pytest.raises(ValueError, match="the batch has 1 labels, the tally was begun with 2"):
        SampleTally(2).add(MarginalPosterior(np.array([[0.5]])))
