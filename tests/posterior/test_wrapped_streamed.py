"""Beliefs about a pool in shards against the same beliefs in memory."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from labelwise.data import ShardedFeatures
from labelwise.models import BinaryRelevance, LabelGP, LabelMixtureGP, OrthogonalTargetGP
from labelwise.posterior.wrapped import StreamedPosterior

N, Q = 40, 3
MODELS = {
    "linear": lambda: LabelGP("linear", random_state=0),
    "rbf": lambda: LabelGP("rbf", random_state=0),
    "targets": lambda: OrthogonalTargetGP(random_state=0),
    "independent": BinaryRelevance,
}


def beliefs(name, sparse=False):
    """The posterior in memory, and that of the same rows in shards."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4))
    X = sp.csr_array(np.where(rng.random(X.shape) < 0.6, X, 0.0)) if sparse else X
    Y = np.asarray((X @ rng.standard_normal((4, Q))) > 0)
    model = MODELS[name]().fit(X[:25], Y[:25])
    shards = ShardedFeatures.of(X[:13], X[13:14], X[14:])
    return model.posterior(X), StreamedPosterior(shards, Q, model.posterior)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_all_that_is_asked_of_all_items_is_put_together(name, sparse):
    memory, streamed = beliefs(name, sparse)
    assert (streamed.n_items, streamed.n_labels) == (N, Q)
    for method in ("probabilities", "ranking", "label_counts", "feature_variances"):
        assert_allclose(getattr(streamed, method)(), getattr(memory, method)(), atol=1e-9)
    mine, theirs = streamed.label_covariances(), memory.label_covariances()
    assert_allclose(mine.dense(), theirs.dense(), atol=1e-9)
    rows = np.array([30, 2, 13])
    assert_allclose(streamed.rows(rows).probabilities(), memory.rows(rows).probabilities(), atol=1e-9)


def test_blocks_are_those_in_memory():
    memory, streamed = beliefs("linear")
    for (part, mine), (other, theirs) in zip(streamed.blocks(9), memory.blocks(9), strict=True):
        assert part == other
        assert_allclose(mine.probabilities(), theirs.probabilities())


@pytest.mark.parametrize("name", ["linear", "rbf", "targets"])
def test_covariances_between_items(name):
    memory, streamed = beliefs(name)
    mine, theirs = streamed.item_covariance(), memory.item_covariance()
    assert mine.noise == theirs.noise
    assert mine.factor() is None
    assert_allclose(mine.diagonal(), theirs.diagonal(), atol=1e-9)
    rows = np.array([39, 0])
    assert_allclose(mine.columns(rows), theirs.columns(rows), atol=1e-9)


def test_groups_of_targets_keep_their_own_covariances():
    memory, streamed = beliefs("targets")
    groups = memory.target_groups()
    assert len(streamed.target_groups()) == len(groups) > 0
    for mine, theirs in zip(streamed.target_groups(), groups, strict=True):
        assert_array_equal(mine.weights, theirs.weights)
        assert_allclose(mine.covariance.diagonal(), theirs.covariance.diagonal(), atol=1e-9)


def test_draws_have_the_shape_and_the_mean_of_the_pool():
    memory, streamed = beliefs("linear")
    rng = np.random.default_rng(0)
    drawn = streamed.sample_labels(4000, rng)
    assert drawn.shape == (4000, N, Q)
    assert_allclose(drawn.mean(0), memory.probabilities(), atol=0.05)
    assert_allclose(streamed.sample_probabilities(4000, rng).mean(0), memory.probabilities(), atol=0.05)


def test_what_a_model_lacks_its_pool_lacks():
    _, streamed = beliefs("independent")
    assert streamed.item_covariance() is None
    assert streamed.feature_space() is None
    assert streamed.target_groups() == ()
    assert streamed.rough() is streamed


def test_rough_beliefs_are_rough_in_every_block():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4))
    model = LabelMixtureGP(random_state=0).fit(X[:25], X[:25, :Q] > 0)
    streamed = StreamedPosterior(ShardedFeatures.of(X[:20], X[20:]), Q, model.posterior)
    assert_allclose(streamed.rough().probabilities(), model.posterior(X).rough().probabilities(), atol=1e-9)
