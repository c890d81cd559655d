from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from joint_beliefs import JointBeliefs, naive_information
from labelwise.posterior import IgnorantPosterior, MarginalPosterior
from labelwise.queries import Diagnosis, MutualInformation


def beliefs(n=14, q=3, seed=0, **options):
    rng = np.random.default_rng(seed)
    return JointBeliefs(rng.uniform(0.05, 0.95, (n, q)), rng.uniform(0, 6, n), **options)


def nothing(posterior):
    return sp.csr_array((posterior.n_items, posterior.n_labels), dtype=bool)


def chance():
    return np.random.default_rng(0)


@pytest.mark.parametrize("with_factor", [False, True])
def test_items_are_those_of_the_definition(with_factor):
    posterior = beliefs(with_factor=with_factor)
    choice = MutualInformation().choose(posterior, nothing(posterior), 5, chance())
    assert choice.labels is None
    assert choice.rows.tolist() == naive_information(posterior.dense(), 5)


def test_answered_items_are_no_part_of_the_problem():
    """The beliefs are given their answers already: what is left is the pool of open items."""
    posterior = beliefs()
    closed = np.zeros((14, 3), dtype=bool)
    closed[[2, 5, 7]] = True
    closed[1, 0] = True  # partly answered: still open
    rows = np.flatnonzero(~closed.all(1))
    choice = MutualInformation().choose(posterior, sp.csr_array(closed), 4, chance())
    expected = naive_information(posterior.dense()[np.ix_(rows, rows)], 4)
    assert choice.rows.tolist() == rows[expected].tolist()


def test_pools_beyond_the_dense_limit_get_the_same_items():
    posterior = beliefs(n=30)
    dense = MutualInformation().choose(posterior, nothing(posterior), 6, chance())
    low_rank = MutualInformation(max_dense=10, rank=30).choose(posterior, nothing(posterior), 6, chance())
    np.testing.assert_array_equal(low_rank.rows, dense.rows)
    np.testing.assert_allclose(low_rank.scores, dense.scores, rtol=1e-6)


def test_joint_pairs_are_those_of_the_kronecker_product():
    """Equal label spreads make the joint covariance ρ ⊗ B exactly."""
    rng = np.random.default_rng(1)
    loadings = rng.normal(size=(3, 2))
    posterior = JointBeliefs(np.full((5, 3), 0.3), rng.uniform(0, 3, 5), loadings=loadings)
    between = posterior.dense()
    scale = np.sqrt(np.diag(between))
    B = 0.21 * (np.eye(3) + loadings @ loadings.T)
    joint = np.kron(between / np.outer(scale, scale), B)
    closed = rng.random((5, 3)) < 0.3
    choice = MutualInformation(target="pairs", pairs="joint").choose(posterior, sp.csr_array(closed), 4, chance())
    expected = naive_information(joint, 4, eligible=~closed.ravel())
    assert (choice.rows * 3 + choice.labels).tolist() == expected


def test_joint_pairs_divide_by_cost():
    posterior = beliefs(n=5)
    dear = MutualInformation(target="pairs", pairs="joint", diagnosis=Diagnosis(costs=[1.0, 1000.0, 1000.0]))
    choice = dear.choose(posterior, nothing(posterior), 5, chance())
    assert choice.labels.tolist() == [0] * 5


def test_item_then_labels():
    posterior = beliefs(q=4)
    diagnosis = Diagnosis(labels_per_item=2, rule="near_threshold")
    choice = MutualInformation(target="pairs", diagnosis=diagnosis).choose(posterior, nothing(posterior), 5, chance())
    items = naive_information(posterior.dense(), 3)
    assert choice.rows.tolist() == [items[0], items[0], items[1], items[1], items[2]]
    nearest = np.argsort(np.abs(posterior.probabilities()[items[0]] - 0.5))[:2]
    assert choice.labels[:2].tolist() == nearest.tolist()


def test_before_anything_is_known_it_asks_at_random():
    posterior = IgnorantPosterior(50, 4)
    first = [
        MutualInformation().choose(posterior, nothing(posterior), 1, np.random.default_rng(s)).rows[0]
        for s in range(40)
    ]
    assert len(set(first)) > 15
    pairs = MutualInformation(target="pairs").choose(posterior, nothing(posterior), 10, chance())
    assert len(set(zip(pairs.rows, pairs.labels, strict=True))) == 10


def test_a_model_without_item_covariance_is_refused():
    posterior = MarginalPosterior(np.full((3, 2), 0.4))
    with pytest.raises(ValueError, match="covariance between items"):
        MutualInformation().choose(posterior, nothing(posterior), 1, chance())


@pytest.mark.parametrize(("options", "words"), [({"target": "labels"}, "target"), ({"pairs": "both"}, "pairs")])
def test_bad_options_are_named(options, words):
    posterior = beliefs()
    with pytest.raises(ValueError, match=words):
        replace(MutualInformation(), **options).choose(posterior, nothing(posterior), 1, chance())
