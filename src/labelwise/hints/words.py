"""The words of labels, and where they stand among the features of a pool."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from labelwise.numerics.arrays import FloatArray
from labelwise.records.labels import Label

WORD = re.compile(r"[^\W\d_]{2,}")
INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
SUFFIXES = (  # the longest first
    *("ization", "ational", "fulness", "ousness", "iveness", "ements", "nesses", "ations"),
    *("ement", "ments", "ation", "tions", "sions", "ities", "ences", "ances"),
    *("ment", "ness", "tion", "sion", "ings", "ence", "ance", "able", "ible", "ally", "ical", "ions", "isms", "ists"),
    *("ates", "ated", "ing", "ity", "ics", "ive", "ous", "ful", "ers", "ors", "ies", "ied", "ion", "ism", "ist", "ate"),
    *("ed", "es", "al", "ic", "er", "or", "ly", "s", "y", "e"),
)
SHORTEST_STEM = 3
SHORTEST_PREFIX = 5  # letters of a stem that other stems may go on from
PREFIX_WEIGHT = 0.5  # of a feature that only begins with a label's word
COMPOUND, SHORTEST_PART = 7, 3  # letters of a word that may be two in one, and of its parts
NAME_WEIGHT, ABOUT_WEIGHT = 1.0, 0.5  # of names, aliases and keywords; of descriptions, examples and parents
STOP_WORDS = ENGLISH_STOP_WORDS - {  # those of the list of scikit-learn that may well be what a label is about
    *("amount", "bill", "bottom", "call", "cry", "detail", "empty", "fire", "front", "full", "interest", "mill"),
    *("move", "name", "serious", "side", "sincere", "system", "thick", "thin", "top"),
}
SHORTEST_REASON = 3  # letters of a word of the Latin alphabet that is told as a reason
MOST_SHARED = 0.5  # share of the labels that may have a word before it says nothing of any of them


def words_of(text: str) -> list[str]:
    """The words of a text in small letters: runs of at least two letters of any alphabet, CamelCase taken apart.

    >>> words_of("TAG_machineLearning (2.0), Sci-Fi")
    ['tag', 'machine', 'learning', 'sci', 'fi']
    """
    return WORD.findall(INNER_CAPITAL.sub(" ", text).lower())


def is_telling(name: str) -> bool:
    """Whether a feature of this name tells a person something: not if all its words are stop words or very short.

    >>> [name for name in ("gita", "is", "not", "of the", "tv", "sea level", "的士", "2007") if is_telling(name)]
    ['gita', 'sea level', '的士', '2007']
    """
    return any(
        word not in STOP_WORDS and (len(word) >= SHORTEST_REASON or not word.isascii()) for word in name.lower().split()
    )


def stem(word: str) -> str:
    """The word without up to two English endings, the longest first: words of one stem are taken for the same.

    >>> [stem(word) for word in ("amusement", "amused", "amusing", "sadness", "sad", "is")]
    ['amu', 'amu', 'amu', 'sad', 'sad', 'is']
    """
    for _ in range(2):
        ending = next((s for s in SUFFIXES if word.endswith(s) and len(word) - len(s) >= SHORTEST_STEM), "")
        word = word[: len(word) - len(ending)]
    return word


@dataclass(frozen=True, eq=False)
class PoolVocabulary:
    """Features by the stems of their names. A feature of several words is there if a label has all of them."""

    words: frozenset[str]
    columns_of: Mapping[str, tuple[int, ...]]  # stem: features that are this one word
    phrases_of: Mapping[str, tuple[tuple[frozenset[str], int], ...]]  # first stem: stems of a feature, and which it is
    stems: tuple[str, ...]  # sorted

    @classmethod
    def of(cls, feature_names: Sequence[str]) -> PoolVocabulary:
        words: set[str] = set()
        columns: dict[str, list[int]] = {}
        phrases: dict[str, list[tuple[frozenset[str], int]]] = {}
        for column, name in enumerate(feature_names):
            found = words_of(name)
            if len(found) == 1:
                words.add(found[0])
                columns.setdefault(stem(found[0]), []).append(column)
            elif found:
                stems = [stem(word) for word in found]
                phrases.setdefault(stems[0], []).append((frozenset(stems), column))
        return cls(
            frozenset(words),
            {each: tuple(found) for each, found in columns.items()},
            {each: tuple(found) for each, found in phrases.items()},
            tuple(sorted(columns)),
        )

    def label_stems(self, label: Label) -> dict[str, float]:
        """The stems of a label's words with their weights; stop words are left out, words in one taken apart."""
        *above, name = label.name.split("/")
        texts = [(text, NAME_WEIGHT) for text in (name, *label.aliases, *label.keywords)]
        texts += [(text, ABOUT_WEIGHT) for text in (label.description, *label.examples, label.parent, *above)]
        weights: dict[str, float] = {}
        for text, weight in texts:
            for word in words_of(text):
                for part in self._parts(word):
                    if part not in STOP_WORDS:
                        weights[stem(part)] = max(weight, weights.get(stem(part), 0.0))
        return weights

    def _parts(self, word: str) -> tuple[str, ...]:
        """The word; one that no item has but that is two words written as one is those two, the most even way."""
        if len(word) < COMPOUND or word in self.words or stem(word) in self.columns_of:
            return (word,)
        cuts = range(SHORTEST_PART, len(word) - SHORTEST_PART + 1)
        found = [(word[:cut], word[cut:]) for cut in cuts if word[:cut] in self.words and word[cut:] in self.words]
        return max(found, key=lambda pair: min(map(len, pair)), default=(word,))

    def columns(self, stems: Mapping[str, float]) -> dict[int, float]:
        """Features that stand for a label with these stems, and how much."""
        found: dict[int, float] = {}
        for each, weight in stems.items():
            for column in self.columns_of.get(each, ()):
                found[column] = max(weight, found.get(column, 0.0))
            for needed, column in self.phrases_of.get(each, ()):
                if needed <= stems.keys():
                    found[column] = max(weight, found.get(column, 0.0))
            for longer in self._longer(each):
                for column in self.columns_of[longer]:
                    found.setdefault(column, PREFIX_WEIGHT * weight)
        return found

    def _longer(self, each: str) -> list[str]:
        if len(each) < SHORTEST_PREFIX:
            return []
        start = bisect_left(self.stems, each)
        stop = bisect_left(self.stems, each + chr(0x10FFFF))
        return [longer for longer in self.stems[start:stop] if longer != each]


def label_weights(vocabulary: PoolVocabulary, labels: Sequence[Label], n_features: int) -> sp.csc_array:
    """(d, q) how much each feature stands for each label; an empty column where a label has no word among them.

    A word counts log(q / labels with it) / log q: one in every label's name, as TAG in TAG_art, says nothing.
    """
    stems = [vocabulary.label_stems(label) for label in labels]
    q = len(labels)
    shared: dict[str, int] = {}
    for each in stems:
        for word in each:
            shared[word] = shared.get(word, 0) + 1
    rarity = {word: _rarity(times, q) for word, times in shared.items()}
    rows: list[int] = []
    values: list[float] = []
    ends = [0]
    for each in stems:
        kept = {word: weight * rarity[word] for word, weight in each.items() if rarity[word] > 0}
        found = vocabulary.columns(kept)
        rows += found.keys()
        values += found.values()
        ends.append(len(rows))
    parts = (np.array(values, dtype=np.float64), np.array(rows, dtype=np.int32), np.array(ends))
    return sp.csc_array(parts, shape=(n_features, q))


def _rarity(times: int, n_labels: int) -> float:
    if times == 1:
        return 1.0
    return 0.0 if times > MOST_SHARED * n_labels else float(np.log(n_labels / times) / np.log(n_labels))


def term_weights(X: sp.csr_array) -> FloatArray:
    """(d,) log((n + 1) / (rows with it + ½)): rare terms count more."""
    return np.log((X.shape[0] + 1) / (np.bincount(X.indices, minlength=X.shape[1]) + 0.5))
