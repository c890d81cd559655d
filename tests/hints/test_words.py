"""Words of labels among the features: what counts as the same word, and what says nothing."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from labelwise.hints.words import PoolVocabulary, label_weights, stem, words_of
from labelwise.records import Label


def weights(features, *labels):
    found = label_weights(PoolVocabulary.of(features), [Label.of(each) for each in labels], len(features))
    assert found.shape == (len(features), len(labels))
    return found.toarray()


@pytest.mark.parametrize(
    "pair",
    [
        ("amusement", "amused"),
        ("algorithms", "algorithm"),
        ("sadness", "sad"),
        ("policies", "policy"),
        ("Taxes", "tax"),
    ],
)
def test_words_of_one_stem_are_the_same(pair):
    first, second = (stem(word.lower()) for word in pair)
    assert first == second


@pytest.mark.parametrize("pair", [("cat", "car"), ("war", "warm"), ("art", "part")])
def test_other_words_are_not(pair):
    one, other = weights([pair[1]], pair[0], "something else").T
    assert one == 0 and other == 0


def test_names_aliases_and_keywords_count_in_full_and_the_rest_for_half():
    label = {
        "name": "joy",
        "aliases": ["delight"],
        "keywords": ["glad"],
        "description": "being happy",
        "parent": "mood",
    }
    found = weights(["joy", "delight", "glad", "happy", "mood", "tree"], label, "fear")
    assert_array_equal(found[:, 0], [1, 1, 1, 0.5, 0.5, 0])


def test_a_path_counts_its_last_part_in_full():
    assert_array_equal(weights(["physics", "science"], "science / physics", "art")[:, 0], [1, 0.5])


def test_a_feature_that_goes_on_after_the_stem_counts_for_half():
    assert_array_equal(weights(["footballer", "footballclub", "foot"], "football", "x")[:, 0], [1, 0.5, 0])


def test_two_words_in_one_are_taken_apart_where_the_pool_has_them():
    assert_array_equal(weights(["machine", "learning", "mac"], "machinelearning", "x")[:, 0], [1, 1, 0])
    assert_array_equal(weights(["machinelearning", "machine", "learning"], "machinelearning", "x")[:, 0], [1, 0, 0])


def test_features_of_several_words_need_all_of_them():
    found = weights(["new york", "new jersey", "york"], "New York", "Boston")
    assert_array_equal(found[:, 0], [1, 0, 1])


@pytest.mark.parametrize(
    "names",
    [
        ["Class1", "Class2", "Class3", "Class4"],
        ["TAG_786-2", "TAG_593.70", "TAG_V72", "TAG_x"],
        ["and", "the", "of", "is"],
        ["1", "2", "3", "$%"],
        ["東京", "大阪", "名古屋", "京都"],  # words that no item has
    ],
)
def test_codes_stop_words_and_other_languages_say_nothing(names):
    features = ["class", "tag", "and", "the", "v", "x", "of", "is", "tree"]
    assert not weights(features, *names).any()


def test_a_word_of_every_label_says_nothing_and_one_of_some_says_less():
    found = weights(
        ["tag", "web", "art", "tool"], "TAG_web", "TAG_web art", "TAG_art", "TAG_tool", "TAG_music", "TAG_y"
    )
    assert not found[0].any()
    assert 0 < found[1, 0] < found[3, 3] == 1


def test_letters_of_any_alphabet_are_words():
    assert words_of("Über-Größe, naïve 東京") == ["über", "größe", "naïve", "東京"]
    assert_array_equal(weights(["größe", "café"], "Größe", "Café"), np.eye(2))


def test_ten_thousand_labels_are_no_matter():
    names = [
        f"{a}{b}{c} thing"
        for a in "abcdefghijklmnopqrstuvwxyz"[:25]
        for b in "bcdfg" * 4
        for c in "klmnopqrstuvwxyzabcd"
    ]
    names = [f"{name} {number}" for number, name in enumerate(names)]
    found = label_weights(PoolVocabulary.of(["abk", "thing", "zzz"]), [Label(name) for name in names], 3)
    assert found.shape == (3, 10_000) and found.nnz > 0 and not found[[1]].nnz


def test_a_description_in_another_language_leaves_the_name_as_it_is():
    vocabulary = PoolVocabulary.of(["football", "goal", "match"])
    named, described = (
        label_weights(vocabulary, [Label("Football", about), Label("b47", about)], 3).toarray()
        for about in ("", "Spiele mit dem Ball, サッカーの試合")
    )
    assert_array_equal(named, described)


def test_words_that_labels_are_about_are_no_stop_words():
    found = weights(["fire", "bill", "system", "the"], "Fire", "Bill", "system", "the")
    assert_array_equal(found, np.diag([1, 1, 1, 0]))
