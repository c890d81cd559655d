"""Uncertainty: the measures against their definitions, and what they make of items and pairs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import bernoulli

from labelwise import Uncertainty
from labelwise.posterior import IgnorantPosterior, MarginalPosterior

P = np.array([[0.9, 0.5, 0.0], [0.3, 0.49, 1.0], [0.01, 0.02, 0.03]])


def scored(p, **options):
    return Uncertainty(**options).score(MarginalPosterior(p), np.random.default_rng(0))


def test_measures_against_their_definitions():
    np.testing.assert_allclose(scored(P), bernoulli(P).entropy(), atol=1e-12)
    np.testing.assert_allclose(scored(P, measure="variance"), bernoulli(P).var(), atol=1e-12)
    np.testing.assert_allclose(scored(P, measure="margin"), np.minimum(P, 1 - P), atol=1e-12)


@pytest.mark.parametrize("measure", ["entropy", "margin", "variance"])
def test_certainty_scores_nothing_and_the_even_chance_most(measure):
    score = scored(np.array([[0.0, 1.0, 0.5, 0.4999, 0.2]]), measure=measure)[0]
    assert score[0] == score[1] == 0
    assert score.argmax() == 2 and score[2] > score[3] > score[4] > 0


@pytest.mark.parametrize("measure", ["entropy", "margin", "variance"])
def test_measures_rank_pairs_alike(measure):
    p = np.random.default_rng(0).random((6, 5))
    closed = sp.csr_array((6, 5), dtype=bool)
    choice = Uncertainty("pairs", measure).choose(MarginalPosterior(p), closed, 30, np.random.default_rng(0))
    np.testing.assert_array_equal(choice.rows * 5 + choice.labels, np.argsort(np.abs(p - 0.5), axis=None))


@pytest.mark.parametrize("measure", ["entropy", "margin", "variance"])
def test_a_probability_rounded_over_the_end_can_still_be_asked(measure):
    p = np.array([[1 + 2e-16, 0.5], [-1e-18, 0.5]])
    np.testing.assert_array_equal(scored(p, measure=measure)[:, 0], [0, 0])
    choice = Uncertainty(measure=measure).choose(
        MarginalPosterior(p), sp.csr_array((2, 2), dtype=bool), 2, np.random.default_rng(0)
    )
    assert choice.rows.size == 2


def test_items_add_up_what_is_open():
    closed = np.zeros((3, 3), dtype=bool)
    whole = Uncertainty().choose(MarginalPosterior(P), sp.csr_array(closed), 3, np.random.default_rng(0))
    assert whole.rows.tolist() == [1, 0, 2]
    closed[1, :2] = True  # what made item 1 uncertain is answered: the certain rest is asked last
    partly = Uncertainty().choose(MarginalPosterior(P), sp.csr_array(closed), 3, np.random.default_rng(0))
    assert partly.rows.tolist() == [0, 2, 1]


def test_ignorance_ranks_nothing():
    closed = sp.csr_array((50, 2), dtype=bool)
    first = {
        int(Uncertainty().choose(IgnorantPosterior(50, 2), closed, 1, np.random.default_rng(seed)).rows[0])
        for seed in range(40)
    }
    assert len(first) > 15


def test_an_unknown_measure_is_named():
    with pytest.raises(ValueError, match="got 'gini'"):
        scored(P, measure="gini")
