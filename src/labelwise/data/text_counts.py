"""Label names, or words that stand for them, counted in a stream of texts: in documents, or in windows of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from labelwise.data.cooccurrence import Cooccurrence
from labelwise.data.reading import text_lines
from labelwise.files import AnyPath

WORD = re.compile(r"\w+(?:'\w+)?")
BATCH = 20_000  # documents or windows whose labels are added up at once
VOWEL = re.compile(r"[aeiouy]")


def count_texts(
    texts: Iterable[str],
    terms: Mapping[str, Iterable[str]] | Iterable[str],
    *,
    window: int | None = None,
    match_case: bool = False,
    stem: Callable[[str], str] | None = None,
) -> Cooccurrence:
    """Count in how many documents, or windows of words, labels are named together.

    Parameters
    ----------
    texts : iterable of str
        Documents, read one by one: they may be more than fit into memory.
    terms : mapping of label to words and phrases that stand for it, or labels alone
        A label alone stands for itself, as it is written and with "_" and "-" read as blanks.
    window : int, optional
        Words after which a document is cut, and what follows counted as another; by default documents are whole.
    match_case : bool
        Whether "Apple" and "apple" differ.
    stem : function of a word, optional
        Applied to words of texts and terms alike, `plain_stem` or your own.

    Examples
    --------
    >>> found = count_texts(["A cat and two dogs.", "Dogs bark.", "New York cats"], ["cat", "dog", "new_york"], \
stem=plain_stem)
    >>> found.counts
    array([[2., 1., 1.],
           [1., 2., 0.],
           [1., 0., 1.]])
    >>> found.n_items
    3.0
    """
    if window is not None and window < 1:
        raise ValueError(f"window must be at least one word, or None for whole documents, got {window!r}")
    finder = Finder.of(terms, match_case=match_case, stem=stem)
    q = len(finder.names)
    counts, n_units = np.zeros((q, q)), 0
    indices: list[int] = []
    indptr = [0]
    for labels in _units(texts, finder, window):
        n_units += 1
        indices += labels
        indptr.append(len(indices))
        if len(indptr) > BATCH:
            counts += _gram(indices, indptr, q)
            indices, indptr = [], [0]
    return Cooccurrence(finder.names, counts + _gram(indices, indptr, q), float(n_units))


@dataclass(frozen=True)
class Finder:
    """Finds labels in lists of words: phrases by their first word, so that a text costs one look-up per word."""

    names: tuple[str, ...]
    phrases: Mapping[str, Sequence[tuple[tuple[str, ...], int]]]  # first word: its phrases with the label they name
    match_case: bool = False
    stem: Callable[[str], str] | None = None
    _stems: dict[str, str] = field(default_factory=dict)  # words come again and again

    @classmethod
    def of(
        cls,
        terms: Mapping[str, Iterable[str]] | Iterable[str],
        *,
        match_case: bool = False,
        stem: Callable[[str], str] | None = None,
    ) -> Finder:
        by_label = terms if isinstance(terms, Mapping) else {name: _forms(name) for name in terms}
        phrases: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        finder = cls(tuple(by_label), phrases, match_case, stem)
        for label, (name, words) in enumerate(by_label.items()):
            if isinstance(words, str):
                raise TypeError(f"the terms of label {name!r} must be a list of words, got the text {words!r}")
            for term in words:
                found = tuple(finder.words(term))
                if not found:
                    raise ValueError(f"the term {term!r} of label {name!r} has no word in it; give it a synonym")
                phrases.setdefault(found[0], []).append((found, label))
        return finder

    def words(self, text: str) -> list[str]:
        """The words of a text as they are compared."""
        found = WORD.findall(text if self.match_case else text.lower())
        if self.stem is None:
            return found
        known = self._stems
        for word in set(found) - known.keys():
            known[word] = self.stem(word)
        return [known[word] for word in found]

    def places(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """(place, label) of every phrase."""
        phrases = self.phrases
        for place in [i for i, word in enumerate(words) if word in phrases]:
            for phrase, label in phrases[words[place]]:
                if len(phrase) == 1 or tuple(words[place : place + len(phrase)]) == phrase:
                    yield place, label


def open_text(path: AnyPath) -> Iterator[str]:
    """The lines of a text file, plain or compressed, one by one: a document each."""
    return text_lines(path, "utf-8")


def plain_stem(word: str) -> str:
    """An English word without plural, possessive, -ed and -ing; rough, but the same for texts and terms.

    >>> [plain_stem(word) for word in ("dogs", "studies", "tagging", "tagged", "glass", "string", "dog's")]
    ['dog', 'study', 'tag', 'tag', 'glass', 'string', 'dog']
    """
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix in ("ing", "ed"):
        left = word.removesuffix(suffix)
        if left != word and len(left) > 2 and VOWEL.search(left):
            doubled = left[-1] == left[-2] and left[-1] not in "lsz"
            return left[:-1] if doubled else left
    return word


def _forms(name: str) -> list[str]:
    """The name in words, and, where texts may hold it as one word, as it is written."""
    return [re.sub(r"[_-]+", " ", name), *([name] if "_" in name else [])]


def _units(texts: Iterable[str], finder: Finder, window: int | None) -> Iterator[list[int]]:
    """The labels named in each document or window, once each."""
    for text in texts:
        words = finder.words(text)
        if window is None:
            yield sorted({label for _, label in finder.places(words)})
            continue
        cut: dict[int, set[int]] = {}
        for place, label in finder.places(words):
            cut.setdefault(place // window, set()).add(label)
        for number in range(max(1, -(-len(words) // window))):
            yield sorted(cut.get(number, ()))


def _gram(indices: list[int], indptr: list[int], q: int) -> np.ndarray:
    Y = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, q))
    return (Y.T @ Y).toarray()
