"""Labels counted in texts, against a search through every text for every term."""

import re

import numpy as np
import pytest

from labelwise.data import cooccurrence, count_texts, plain_stem

TEXTS = [
    "Machine learning and statistics. Machine learning!",
    "Learning a machine's statistics",
    "deep neural networks; Neural network",
    "",
    "STATISTICS of neural networks, for machine-learning people",
]
TERMS = {"ml": ["machine learning", "ML"], "stats": ["statistics"], "nets": ["neural networks", "neural network"]}


def plainly(texts, terms):
    """By regular expressions, one text and term at a time."""
    Y = np.zeros((len(texts), len(terms)))
    for i, text in enumerate(texts):
        for j, words in enumerate(terms.values()):
            patterns = [r"\b" + r"\W+".join(term.lower().split()) + r"\b" for term in words]
            Y[i, j] = any(re.search(pattern, text.lower()) for pattern in patterns)
    return Y.T @ Y


def test_documents_are_counted_as_a_plain_search_does():
    found = count_texts(TEXTS, TERMS)
    assert found.names == ("ml", "stats", "nets") and found.n_items == 5
    np.testing.assert_array_equal(found.counts, plainly(TEXTS, TERMS))


def test_batches_add_up(monkeypatch):
    monkeypatch.setattr(cooccurrence, "BATCH", 7)
    texts = [TEXTS[i % 5] for i in range(50)]
    np.testing.assert_array_equal(count_texts(iter(texts), TERMS).counts, plainly(texts, TERMS))


def test_windows_cut_documents():
    text = ["cat dog x x x x bird cat"]
    whole = count_texts(text, ["cat", "dog", "bird"])
    np.testing.assert_array_equal(whole.counts, np.ones((3, 3)))
    cut = count_texts(text, ["cat", "dog", "bird"], window=4)
    assert cut.n_items == 2
    np.testing.assert_array_equal(cut.counts, [[2, 1, 1], [1, 1, 0], [1, 0, 1]])
    phrase = count_texts(["a b new york"], ["new_york"], window=3)
    np.testing.assert_array_equal(phrase.counts, [[1]])  # a phrase counts where it begins


def test_case_matters_only_where_asked():
    texts = ["Apple pie", "an apple"]
    assert count_texts(texts, {"firm": ["Apple"]}).counts[0, 0] == 2
    assert count_texts(texts, {"firm": ["Apple"]}, match_case=True).counts[0, 0] == 1


def test_stems_join_forms_of_a_word():
    texts = ["tagging dogs", "a tagged dog", "tags and the dog's tag"]
    found = count_texts(texts, ["tag", "dogs"], stem=plain_stem)
    np.testing.assert_array_equal(found.counts, np.full((2, 2), 3.0))
    np.testing.assert_array_equal(count_texts(texts, ["tag", "dogs"]).counts, [[1, 0], [0, 1]])


def test_names_stand_for_themselves():
    found = count_texts(["new york, web-design"], ["New_York", "web-design", "design_web"])
    np.testing.assert_array_equal(found.counts.diagonal(), [1, 1, 0])
    assert found.without_counts() == ("design_web",)
    written = count_texts(["to new_york", "New-York", "new york, new_york"], ["new_york"])
    np.testing.assert_array_equal(written.counts, [[3]])


@pytest.mark.parametrize(
    ("terms", "options", "error", "words"),
    [
        (["a"], {"window": 0}, ValueError, "window must be at least one word"),
        (["!!!"], {}, ValueError, "has no word in it"),
        ({"a": "text"}, {}, TypeError, "must be a list of words"),
    ],
)
def test_wrong_input_is_named(terms, options, error, words):
    with pytest.raises(error, match=words):
        count_texts(["x"], terms, **options)
