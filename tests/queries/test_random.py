"""Random: uniform over what is open, and blind to beliefs."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare

from labelwise import Random
from labelwise.posterior import IgnorantPosterior, MarginalPosterior

CLOSED = np.array([[0, 0, 0], [1, 1, 1], [1, 1, 0], [0, 1, 0]], dtype=bool)


@pytest.mark.parametrize("target", ["items", "pairs"])
def test_the_first_and_the_last_choice_are_uniform(target):
    rng, first, last = np.random.default_rng(0), np.zeros(CLOSED.shape), np.zeros(CLOSED.shape)
    for _ in range(3000):
        choice = Random(target).choose(IgnorantPosterior(4, 3), sp.csr_array(CLOSED), 2, rng)
        labels = np.zeros(2, dtype=int) if choice.labels is None else choice.labels
        first[choice.rows[0], labels[0]] += 1
        last[choice.rows[1], labels[1]] += 1
    fair = ~CLOSED if target == "pairs" else np.array([[1, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0]], dtype=bool)
    for counts in (first, last):
        assert counts[~fair].sum() == 0
        assert chisquare(counts[fair]).pvalue > 1e-3


@pytest.mark.parametrize("target", ["items", "pairs"])
def test_beliefs_do_not_matter(target):
    p = np.random.default_rng(1).random(CLOSED.shape)
    for beliefs in (MarginalPosterior(p), MarginalPosterior(1 - p), IgnorantPosterior(4, 3)):
        choice = Random(target).choose(beliefs, sp.csr_array(CLOSED), 5, np.random.default_rng(2))
        reference = Random(target).choose(IgnorantPosterior(4, 3), sp.csr_array(CLOSED), 5, np.random.default_rng(2))
        np.testing.assert_array_equal(choice.rows, reference.rows)
        np.testing.assert_array_equal(choice.scores, np.zeros(choice.rows.size))


def test_an_unknown_target_is_named():
    with pytest.raises(ValueError, match="got 'item'"):
        Random("item").choose(IgnorantPosterior(4, 3), sp.csr_array(CLOSED), 1, np.random.default_rng(0))
