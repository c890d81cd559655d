from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import beta

from labelwise.records import PickCounts, worth_verifying
from labelwise.records.missed import MIN_CHANCE, PRIOR_WEIGHT, USUAL_MISS_RATE


def integrated(missed, found, prior):
    """Mean of the posterior of a rate: prior times likelihood, by quadrature."""
    weight = beta(PRIOR_WEIGHT * prior, PRIOR_WEIGHT * (1 - prior)).pdf

    def likelihood(rate):
        return weight(rate) * rate**missed * (1 - rate) ** found

    return quad(lambda rate: rate * likelihood(rate), 0, 1)[0] / quad(likelihood, 0, 1)[0]


def test_rates_are_posterior_means_of_a_prior_that_is_the_level_above():
    counts = PickCounts(np.array([[2, 0, 1], [0, 0, 6]]), np.array([[5, 3, 1], [0, 4, 2]]))
    everybody = integrated(9, 15, USUAL_MISS_RATE)
    assert counts.overall()[0] == pytest.approx(everybody, rel=1e-6)
    people = [integrated(3, 9, everybody), integrated(6, 6, everybody)]
    assert [rate for rate, _, _ in counts.by_person()] == pytest.approx(people, rel=1e-6)
    cells = [
        [integrated(m, f, person) for m, f in zip(*rows, strict=True)]
        for rows, person in zip(zip(counts.missed, counts.found, strict=True), people, strict=True)
    ]
    assert counts.by_label() == pytest.approx(np.array(cells), rel=1e-6)


def test_intervals_hold_nine_tenths_of_the_posterior():
    counts = PickCounts(np.array([7]), np.array([30]))
    posterior = beta(7 + PRIOR_WEIGHT * USUAL_MISS_RATE, 30 + PRIOR_WEIGHT * (1 - USUAL_MISS_RATE))
    _, low, high = counts.overall()
    assert (posterior.cdf(low), posterior.cdf(high)) == pytest.approx((0.05, 0.95))


def test_where_nothing_was_checked_the_usual_rate_stands():
    none = np.zeros((0, 3), dtype=int)
    assert PickCounts(none, none).overall()[0] == USUAL_MISS_RATE and PickCounts(none, none).by_person() == []
    assert PickCounts(none, none).by_label().shape == (0, 3)
    assert PickCounts(np.zeros(2, int), np.zeros(2, int)).by_label() == pytest.approx([USUAL_MISS_RATE] * 2)


@pytest.mark.parametrize("seed", range(3))
def test_likely_and_rare_labels_are_asked_about_first(seed):
    """Draw labels that are there with p, found with 1 - miss, and count."""
    rng = np.random.default_rng(seed)
    p, miss, rate = rng.random(8) ** 4, rng.random(8) * 0.6, rng.random(8) * 0.5 + 0.01
    there = rng.random((400_000, 8)) < p
    not_picked = ~(there & (rng.random(there.shape) >= miss))
    chance = (there & not_picked).sum(0) / not_picked.sum(0)
    asked, worth = worth_verifying(p, miss, rate), chance / rate**0.5
    assert 0 < asked.size < 8 and chance[asked].min() > MIN_CHANCE - 0.002
    assert np.all(np.diff(worth[asked]) < 0.02)  # what brings most first
    assert np.isin(np.flatnonzero(chance > MIN_CHANCE + 0.002), asked).all()


def test_probabilities_that_are_none_ask_nothing():
    assert worth_verifying(np.array([np.nan, 0.0])).size == 0
    assert worth_verifying(np.array([1.0, 1.0]), 0.0).size == 0
    assert worth_verifying(np.array([1.0])).size == 0 and worth_verifying(np.zeros(0)).size == 0
    assert worth_verifying(np.array([0.9, 0.8, 0.7])).tolist() == [0, 1]  # never every label
