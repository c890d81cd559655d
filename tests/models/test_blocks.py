"""Models on blocks of features: against sums of kernels by brute force, and without opinions."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from labelwise import BinaryRelevance, Block, BlockModel, Campaign, LabelData, LabelGP, Random, SemiSupervised
from labelwise.models.semi_supervised import BlockFeatures, best_shares, for_blocks, learn_block_features
from labelwise.numerics.gp.search import Fixed, KernelSearch, choose_parts
from labelwise.studies import Answerer
from topic_words import words

BLOCKS = (
    Block("body", "words", 0, 60),
    Block("vectors", "vectors", 60, 68),
    Block("sizes", "numbers", 68, 71),
    Block("colours", "categories", 71, 75),
)


def mixed(n=120, seed=0):
    """Words, vectors, numbers in odd units and one of four colours; the labels depend on two of them."""
    rng = np.random.default_rng(seed)
    terms = sp.random_array((n, 60), density=0.1, rng=rng, format="csr")
    vectors = rng.normal(size=(n, 8)) * 5
    sizes = rng.normal(size=(n, 3)) * [1e3, 1.0, 1e-3] + [1e4, 0, 0]
    colours = np.eye(4)[rng.integers(4, size=n)]
    Y = np.column_stack([vectors[:, 0] > 0, vectors[:, 1] > 0, sizes[:, 2] > 0])
    return sp.csr_array(sp.hstack([terms, vectors, sizes, colours], format="csr")), Y


def test_inner_products_are_the_sum_of_those_within_blocks_by_shares():
    X, _ = mixed()
    shares = (0.4, 0.3, 0.2, 0.1)
    features = learn_block_features(X, BLOCKS)[0].with_shares(shares)
    D = X.toarray()
    expected = np.zeros((120, 120))
    for share, block in zip(shares, BLOCKS, strict=True):
        part = D[:, block.start : block.stop]
        if block.kind == "numbers":
            part = (part - part.mean(axis=0)) / part.std(axis=0) / np.sqrt(3)
        else:
            part = part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-300)
        expected += share * part @ part.T
    rows = features(X)
    assert sp.issparse(rows)
    assert_allclose((rows @ rows.T).toarray(), expected, atol=1e-12)


def test_a_linear_model_on_blocks_is_a_gaussian_process_with_the_sum_of_kernels():
    X, Y = mixed()
    given = {"kernel": "linear", "noise_ratio": 0.3, "bias": 1.0}
    model = BlockModel(LabelGP(**given), BLOCKS, random_state=0).fit(X[:80], Y[:80])
    features = model.features_
    rows = [np.asarray(part.toarray() if sp.issparse(part) else part) for part in features.rows(X)]
    K = 1.0 + sum(share * part @ part.T for share, part in zip(features.shares, rows, strict=True))
    norms = np.linalg.norm(
        np.hstack([np.sqrt(s) * part for s, part in zip(features.shares, rows, strict=True)]), axis=1
    )
    K = 1.0 + (K - 1.0) / np.outer(norms, norms)  # rows of sparse features are of unit length
    centre = Y[:80].mean(axis=0)
    expected = centre + K[80:, :80] @ np.linalg.solve(K[:80, :80] + 0.3 * np.eye(80), Y[:80] - centre)
    assert_allclose(model.posterior(X[80:]).means(), expected, atol=1e-8)


def test_blocks_that_say_something_get_a_larger_share():
    X, Y = mixed(300)
    model = BlockModel(LabelGP(), BLOCKS, random_state=0).fit(X, Y)
    body, vectors, sizes, colours = model.features_.shares
    assert vectors > sizes > max(body, colours)
    assert_allclose(sum(model.features_.shares), 1.0)


def test_shares_are_the_best_of_a_fine_grid_by_brute_force():
    X, Y = mixed(150)
    rows = learn_block_features(X, BLOCKS)[0].rows(X)[1:3]
    by_block = [choose_parts(part, Y, np.ones_like(Y), 300, np.arange(150.0)) for part in rows]
    found, shares = best_shares(by_block)

    def score(share):
        joined = np.hstack([np.sqrt(1 - share) * rows[0], np.sqrt(share) * rows[1]])
        parts = choose_parts(joined, Y, np.ones_like(Y), 300, np.arange(150.0))
        theta = np.log([1 - share, share])
        prior = -0.5 * np.sum((theta - theta.mean()) ** 2) / 1.5**2
        return KernelSearch(parts, Fixed()).best("linear").score + prior

    assert_allclose(found, score(shares[1]))
    assert found > max(score(share) for share in np.linspace(0.02, 0.98, 25)) - 0.3


@pytest.mark.parametrize("make", [LabelGP, SemiSupervised, BinaryRelevance])
def test_models_do_not_see_opinions(make):
    X, Y = mixed()
    rng = np.random.default_rng(5)
    block = Block("gpt", "opinions", 75, 78)
    told, other = (sp.csr_array(sp.hstack([X, rng.random((120, 3))], format="csr")) for _ in range(2))
    model = for_blocks(make(), (*BLOCKS, block)).fit(told[:80], Y[:80])
    assert_array_equal(model.predict_proba(told[80:]), model.predict_proba(other[80:]))
    plain = for_blocks(make(), BLOCKS).fit(X[:80], Y[:80])
    assert_allclose(model.predict_proba(told[80:]), plain.predict_proba(X[80:]), atol=1e-10)


@pytest.mark.parametrize("make", [lambda: LabelGP(random_state=0), lambda: SemiSupervised(random_state=0)])
def test_one_block_beside_opinions_is_learnt_from_as_if_it_were_alone(make):
    X, topic = words()
    Y = topic[:, None] == np.arange(8)
    wide = sp.csr_array(sp.hstack([X, sp.csr_array(Y[:, :2] * 1.0)], format="csr"))
    blocks = Block("body", "words", 0, X.shape[1]), Block("gpt", "opinions", X.shape[1], X.shape[1] + 2)
    model = for_blocks(make(), blocks).fit(wide[:60], Y[:60])
    assert_array_equal(model.predict_proba(wide[60:]), make().fit(X[:60], Y[:60]).predict_proba(X[60:]))


def test_one_block_changes_nothing():
    model = SemiSupervised()
    assert for_blocks(model, ()) is model
    assert for_blocks(model, (Block("body", "words", 0, 5),)) is model
    X, topic = words()
    data = LabelData.from_arrays(X, (topic[:, None] == np.arange(8)).astype(float))
    blocked = LabelData.from_arrays(
        X, (topic[:, None] == np.arange(8)).astype(float), blocks=[Block("body", "words", 0, X.shape[1])]
    )
    beliefs = []
    for each in (data, blocked):
        campaign = Campaign(each.hide(), random_state=0)
        answerer = Answerer(each)
        for _ in range(3):
            campaign.tell([answerer.answer(question) for question in campaign.ask(10)])
        beliefs.append(campaign.believe().probabilities())
    assert_array_equal(*beliefs)


def test_settled_shares_stay_and_what_was_learnt_goes_along():
    X, Y = mixed()
    model = SemiSupervised(blocks=BLOCKS, random_state=0).learn_pool(X).fit(X[:80], Y[:80])
    again = model.settled().fit(X[:60], Y[:60])
    assert again.features_ is model.features_ and isinstance(model.features_, BlockFeatures)
    assert_allclose(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))
    assert_array_equal(model.features_(X[:9]).toarray(), model.features_(X)[:9].toarray())


def test_dense_blocks_keep_their_shares():
    X, Y = mixed()
    D = X.toarray()[:, 60:71]
    blocks = Block("vectors", "vectors", 0, 8), Block("sizes", "numbers", 8, 11)
    model = BlockModel(LabelGP(random_state=0), blocks).fit(D, Y)
    rows = model._prepared(D)
    assert isinstance(rows, np.ndarray) and model.model_.scale == "none"
    assert_allclose((rows[:, :8] ** 2).sum(axis=1), model.features_.shares[0])


def test_a_campaign_learns_from_all_blocks_and_asks_with_strategies_that_look_at_features():
    X, Y = mixed(200)
    data = LabelData.from_arrays(X, Y.astype(float), blocks=BLOCKS).with_block(Y * 1.0, "truth", "opinions")
    for strategy in (None, "diverse_uncertainty"):
        campaign = Campaign(data.hide(), strategy=strategy, hints=None, random_state=0)
        answerer = Answerer(data)
        for _ in range(4):
            campaign.tell([answerer.answer(question) for question in campaign.ask(10)])
        assert campaign.fitted().blocks == data.blocks
        p = campaign.believe().probabilities()
        assert np.mean((p > 0.5) == Y) > 0.6
    assert Campaign(data, model=LabelGP(), strategy=Random(), hints=None).fitted().features_.shares is not None
