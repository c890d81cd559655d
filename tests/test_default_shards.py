"""The default campaign on words, vectors and numbers in files asks and believes what it does in memory."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from labelwise import Answer, Campaign, LabelData
from labelwise.data import ShardedFeatures
from labelwise.models.semi_supervised import BlockFeatures, SemiSupervised, items_containing
from labelwise.numerics.feature_scaling import learn_scaling

N, WORDS, VECTORS, NUMBERS, Q = 500, 260, 15, 12, 5
CUTS = (0, 220, 221, N)
NAMES = tuple("abcde")


def blocks(seed=0):
    """Words, vectors and numbers of some groups of items, and labels that follow from them."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 12, N)
    words = rng.poisson(rng.gamma(0.1, 1.0, (12, WORDS))[group]).astype(np.float32)
    vectors = (rng.standard_normal((12, VECTORS))[group] + rng.standard_normal((N, VECTORS))).astype(np.float32)
    numbers = rng.standard_normal((N, NUMBERS)) * rng.lognormal(0, 1, NUMBERS) + 1000.0
    labels = (rng.random((12, Q)) < 0.4)[group] ^ (rng.random((N, Q)) < 0.05)
    return sp.csr_array(words), vectors, numbers, labels


def in_files(folder, X):
    """X in files of 220, 1 and the other rows; every second sparse file is compressed, so that it is not mapped."""
    folder.mkdir()
    for number, (start, stop) in enumerate(pairwise(CUTS)):
        if sp.issparse(X):
            sp.save_npz(folder / f"{number}.npz", X[start:stop], compressed=number % 2 == 1)
        else:
            np.save(folder / f"{number}.npy", X[start:stop])
    return ShardedFeatures.open(sorted(folder.iterdir()))


def pools(folder, kinds=("words", "vectors", "numbers"), seed=0):
    """The same pool in memory and in files, and the truth."""
    *features, truth = blocks(seed)
    of = dict(zip(("words", "vectors", "numbers"), features, strict=True))
    made = []
    for shown in (lambda name: of[name], lambda name: in_files(folder / name, of[name])):
        names = [f"word{column}" for column in range(WORDS)] if kinds[0] == "words" else None
        data = LabelData.from_arrays(shown(kinds[0]), label_names=NAMES, feature_names=names)
        for name in kinds[1:]:
            data = data.with_block(shown(name), name, name)
        made.append(data)
    return (*made, truth)


def asked_by(data, truth, rounds=4, n=8):
    campaign, asked = Campaign(data), []
    for _ in range(rounds):
        questions = campaign.ask(n)
        asked += [(question.item, question.reason) for question in questions]
        campaign.tell([Answer(q.item, dict(zip(NAMES, truth[int(q.item)], strict=True))) for q in questions])
    return asked, campaign


@pytest.mark.parametrize("kinds", [("words", "vectors", "numbers"), ("words",), ("vectors", "words")])
def test_it_asks_and_believes_what_it_does_in_memory(tmp_path, kinds):
    memory, files, truth = pools(tmp_path, kinds)
    expected, first = asked_by(memory, truth)
    asked, second = asked_by(files, truth)
    assert asked == expected
    assert {reason for _, reason in asked} >= {"strategy"}
    assert_allclose(second.believe().probabilities(), first.believe().probabilities(), atol=1e-8)


def test_opinions_beside_files_change_nothing_of_what_the_model_sees(tmp_path):
    memory, files, truth = pools(tmp_path)
    said = np.where(truth, 0.9, 0.1)
    (expected, _), (asked, _) = (asked_by(data.with_opinions("gpt", said), truth, 3) for data in (memory, files))
    assert asked == expected


def test_a_pool_in_files_teaches_the_model_what_it_does_in_memory(tmp_path):
    memory, files, _ = pools(tmp_path)
    shown = [SemiSupervised(blocks=data.blocks, random_state=0).learn_pool(data.X) for data in (memory, files)]
    for expected, learnt in zip(*(model.pool for model in shown), strict=True):
        for before, after in zip(expected.scalings[:1], learnt.scalings[:1], strict=True):
            assert_array_equal(after.weights, before.weights)
            assert_allclose(after.directions, before.directions, atol=1e-12)
        assert_allclose(learnt.scalings[2].centre, expected.scalings[2].centre, rtol=1e-12)
        assert_allclose(learnt.scalings[2].weight, expected.scalings[2].weight, rtol=1e-9)
        assert isinstance(learnt, BlockFeatures) and learnt._of_pool is None


def test_words_are_counted_without_the_files_of_vectors(tmp_path):
    _, files, _ = pools(tmp_path, ("words", "vectors"))
    for file in (tmp_path / "vectors").iterdir():
        file.unlink()
    learnt = SemiSupervised(blocks=files.blocks, random_state=0).learn_pool(files.X)
    assert len(learnt.pool) == 2
    counted = items_containing(files.X[:, :WORDS])
    assert_array_equal(counted, (blocks()[0].toarray() != 0).sum(axis=0))


@pytest.mark.parametrize("columns", [NUMBERS, 4])
@pytest.mark.parametrize("sorted_by_size", [False, True])
def test_numbers_in_files_are_scaled_as_in_memory(columns, sorted_by_size):
    X = np.random.default_rng(0).standard_normal((N, columns)) * 0.7 ** np.arange(columns) + (not sorted_by_size) * 1e4
    files = ShardedFeatures.of(X[:100], X[100:])
    expected, found = learn_scaling(X, "auto"), learn_scaling(files, "auto")
    assert (found.centre is None) == (expected.centre is None) == (sorted_by_size and columns == NUMBERS)
    assert_allclose(found(X), expected(X), atol=1e-8)


def test_vectors_in_files_cannot_stand_beside_words_in_memory(tmp_path):
    memory, files, _ = pools(tmp_path, ("words", "vectors"))
    with pytest.raises(ValueError, match="block 'more' is in shards, but the features so far are in memory"):
        memory.with_block(files.X[:, WORDS:], "more", "vectors")
    nothing = LabelData.from_arrays(np.zeros((N, 0)), label_names=NAMES)
    assert replace(nothing.with_block(files.X[:, WORDS:], "more", "vectors")).X.shape == (N, VECTORS)
