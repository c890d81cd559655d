"""Hints of a pool: against scores by hand, for new items and parts of the pool, and where there is nothing to say."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone

from labelwise import LabelData, hints
from labelwise.data import ShardedFeatures
from labelwise.encoders import as_encoder
from labelwise.hints import BY_NAME, learn_hints
from labelwise.hints.base import PoolWords
from letter_encoder import Letters

WORDS = ["football", "goal", "match", "vote", "party", "minister", "apple", "tree"]


def pool(n=60, seed=0, **changes):
    """Items about sports, politics or gardens; few have the word of their label."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(3, size=n)
    likely = np.array(
        [[0.3, 0.6, 0.6, 0, 0, 0, 0, 0.1], [0, 0, 0.1, 0.3, 0.6, 0.6, 0, 0], [0, 0, 0, 0, 0, 0, 0.6, 0.7]]
    )
    X = (rng.random((n, len(WORDS))) < likely[topic]).astype(float)
    X[X.sum(axis=1) == 0, 7] = 1
    given = {"label_names": ["Football", "Voting", "b47"], "feature_names": WORDS} | changes
    return LabelData.from_arrays(sp.csr_array(X), **given), topic


def test_lexical_scores_are_sums_of_tf_idf():
    data, _ = pool()
    X = data.X.toarray()
    n, idf = len(X), np.log((len(X) + 1) / ((X > 0).sum(axis=0) + 0.5))
    expected = np.zeros((n, 3))
    for i in range(n):
        row = X[i] * idf
        row /= np.sqrt((row**2).sum())
        expected[i, 0], expected[i, 1] = row[WORDS.index("football")], row[WORDS.index("vote")]
    expected = (expected - expected.mean(axis=0)) / np.where(expected.std(axis=0) > 0, expected.std(axis=0), 1)
    assert_allclose(learn_hints(data, ["lexical"])(data.X)[0], expected, atol=1e-9)


def test_semantic_scores_are_cosines_on_the_axes_of_a_dense_svd():
    data, _ = pool()
    X = data.X.toarray()
    idf = np.log((len(X) + 1) / ((X > 0).sum(axis=0) + 0.5))
    A = X * idf
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    _, sizes, Vt = np.linalg.svd(A, full_matrices=False)
    V = Vt.T[:, :7]  # one axis less than there are words
    expected = np.zeros((len(X), 3))
    for label, word in enumerate(("football", "vote")):
        place = idf[WORDS.index(word)] * V[WORDS.index(word)] * sizes[:7]
        along = A @ V
        expected[:, label] = along @ place / np.linalg.norm(along, axis=1) / np.linalg.norm(place)
    expected = (expected - expected.mean(axis=0)) / np.where(expected.std(axis=0) > 0, expected.std(axis=0), 1)
    assert_allclose(learn_hints(data, ["semantics"])(data.X)[0], expected, atol=1e-6)


def test_semantics_find_items_that_never_use_the_word():
    data, topic = pool(200)
    scores = learn_hints(data, ["semantics"])(data.X)[0]
    without = data.X.toarray()[:, 0] == 0
    assert scores[without & (topic == 0), 0].mean() > scores[without & (topic != 0), 0].mean() + 0.5


@pytest.mark.parametrize("name", [name for name, hint in BY_NAME.items() if getattr(hint, "kind", "words") == "words"])
def test_scores_are_standard_over_the_pool_and_the_same_by_blocks_for_copies_and_in_shards(name):
    data, _ = pool()
    found = learn_hints(data, [name])
    scores = found(data.X)
    says = found.says()[0]
    assert says.tolist() == [True, True, False]
    assert_allclose(scores[0][:, says].mean(axis=0), 0, atol=1e-9)
    assert_allclose(scores[0][:, says].std(axis=0), 1)
    assert not scores[0][:, ~says].any()
    assert_allclose(np.concatenate([found(data.X[:7]), found(data.X[7:])], axis=1), scores, atol=1e-12)
    assert_allclose(found(data.X.toarray()), scores, atol=1e-12)
    assert_allclose(pickle.loads(pickle.dumps(found))(data.X), scores)
    assert clone(found) is found
    sharded = LabelData(
        ShardedFeatures.of(data.X[:20], data.X[20:]),
        data.Y,
        data.observed,
        data.item_ids,
        data.label_names,
        tuple(WORDS),
    )
    assert_allclose(learn_hints(sharded, [name])(data.X), scores, atol=1e-9)


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_names": None},
        {"feature_names": [f"f{i}" for i in range(8)]},
        {"label_names": ["Class1", "Class2", "Class3"]},
    ],
)
def test_nothing_to_say_is_none(changes):
    data, _ = pool(**changes)
    assert learn_hints(data) is None


def test_features_below_zero_are_no_words():
    data, _ = pool()
    assert PoolWords.of(-data.X, WORDS) is None
    assert learn_hints(LabelData.from_arrays(-data.X, label_names=["Football"], feature_names=WORDS)) is None


def test_no_hint_no_scores_and_a_wrong_one_is_refused():
    data, _ = pool()
    assert learn_hints(data, []) is None
    with pytest.raises(ValueError, match="semantics, encoder, opinions or an object with `fit`, got 'magic'"):
        learn_hints(data, ["magic"])


def test_a_hint_of_ones_own():
    class Length:
        def fit(self, pool, labels):
            self.n_labels = len(labels)
            return self

        def scores(self, X):
            return np.repeat(X.sum(axis=1)[:, None], self.n_labels, axis=1)

    data, _ = pool()
    found = learn_hints(data, ["lexical", Length()])
    assert found.names == ("Lexical", "Length") and found(data.X).shape == (2, 60, 3)


def test_descriptions_are_hints_too():
    data, _ = pool()
    described = data.with_labels({"b47": "apple trees"})
    assert learn_hints(described).says().all()
    assert hints.BY_NAME.keys() == {"lexical", "semantics", "encoder", "opinions"}


def beside(data, **kinds):
    """The data with columns of other kinds beside the words."""
    rng = np.random.default_rng(3)
    for name, kind in kinds.items():
        data = data.with_block(rng.normal(size=(data.n_items, 3)), name, kind)
    return data


def test_an_encoder_hint_is_the_cosine_of_the_vectors_of_item_and_label():
    data, _ = pool(label_names=["ab", "caa", "b47"])
    rng = np.random.default_rng(1)
    vectors = rng.random((60, 3))
    encoder = as_encoder(Letters())
    wide = data.with_block(vectors, "mine", "vectors", encoder=encoder.name)
    labels = np.array([[1, 1, 0], [2, 0, 1], [0, 1, 0]])
    cosines = vectors @ labels.T / np.linalg.norm(vectors, axis=1)[:, None] / np.linalg.norm(labels, axis=1)
    found = learn_hints(wide, ["encoder"])
    assert_allclose(found(wide.X)[0], (cosines - cosines.mean(axis=0)) / cosines.std(axis=0), atol=1e-6)
    assert_allclose(pickle.loads(pickle.dumps(found))(wide.X), found(wide.X))
    sharded = replace(wide, X=ShardedFeatures.of(wide.X[:20], wide.X[20:]))
    assert_allclose(learn_hints(sharded, ["encoder"])(wide.X), found(wide.X), atol=1e-9)


def test_an_encoder_hint_needs_its_encoder():
    data, _ = pool()
    vectors = np.random.default_rng(1).random((60, 3))
    for encoder in ("", "somebody else's"):
        assert learn_hints(data.with_block(vectors, "mine", "vectors", encoder=encoder), ["encoder"]) is None
    as_encoder(Letters())
    with pytest.raises(ValueError, match=r"'mine' have 2 numbers, but its encoder 'letters' makes 3: encode the items"):
        learn_hints(data.with_block(vectors[:, :2], "mine", "vectors", encoder="letters"))


@pytest.mark.parametrize("name", ["lexical", "semantics"])
def test_hints_of_words_look_at_words_alone(name):
    data, _ = pool()
    wide = beside(data, sizes="numbers", gpt="opinions")
    alone, found = learn_hints(data, [name]), learn_hints(wide, [name])
    assert found.names == alone.names
    assert_allclose(found(wide.X), alone(data.X), atol=1e-12)


def test_a_hint_is_fitted_to_each_block_of_its_kind():
    class FirstColumn:
        kind = "opinions"

        def fit(self, pool, labels):
            assert pool.feature_names[0] == f"{pool.block.name}[0]"
            return None if pool.block.name == "silent" else FittedFirstColumn(len(labels))

    class FittedFirstColumn:
        def __init__(self, q):
            self.q = q

        def scores(self, X):
            return np.repeat(X.toarray()[:, :1], self.q, axis=1)

    data, _ = pool()
    wide = beside(data, gpt="opinions", silent="opinions", rules="opinions", sizes="numbers")
    found = learn_hints(wide, [FirstColumn()])
    assert found.names == ("FirstColumn of gpt", "FirstColumn of rules")
    first = wide.X.toarray()[:, [8, 14]]
    assert_allclose(found(wide.X)[:, :, 0].T, (first - first.mean(axis=0)) / first.std(axis=0))
    assert learn_hints(data, [FirstColumn()]) is None
