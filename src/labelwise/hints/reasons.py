"""Why a label is suggested: where the belief comes from, and the words of the item that speak for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logit

from labelwise.hints.base import IntArray, PoolHints
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.calibration import bend
from labelwise.numerics.hint_weights import HintWeights
from labelwise.records.asking import BY_MODEL, BY_RATE, Suggestion

MOST_REASONS = 3  # words that speak for one suggestion
MOST_WORDS = 12  # marked in one item
MOST_LABELS = 3  # noted for one word
SHRINKAGE = 1.0  # items' worth of "says nothing" that a word has to outweigh
MIN_LOG_ODDS = 0.05  # below it a word is not worth marking
SMALLEST = 1e-3  # share of the strongest word's part that a word must have to be told

Mark = tuple[str, int, float]  # a word, the column of a label, and the log-odds that it speaks for the label


@dataclass(frozen=True, eq=False)
class ExplainedBeliefs:
    """What is believed of some items, and what that is made of.

    Parameters
    ----------
    X : (n, d) features
    probabilities : (n, q)
    model : (n, q) log-odds that the model adds to those that each label usually has
    words : of the columns that are words which tell a person something, which
    hints, weights : PoolHints and HintWeights, None where there are no hints
    """

    X: Any
    probabilities: FloatArray
    model: FloatArray
    words: Mapping[int, str] = field(default_factory=dict)
    hints: PoolHints | None = None
    weights: HintWeights | None = None

    def suggest(self, n: int, names: Sequence[str], least: float, most: int) -> list[tuple[Suggestion, ...]]:
        """For each of the first n items its likeliest labels, each with its source and the words that speak for it.

        The other items tell what the model thinks of a word.
        """
        p = self.probabilities[:n]
        order = np.argsort(-p, axis=1, kind="stable")[:, :most]  # (n, most)
        rows, places = np.nonzero(np.take_along_axis(p, order, axis=1) >= least)
        labels = order[rows, places]
        found: list[list[Suggestion]] = [[] for _ in range(n)]
        reasons = self.reasons(rows, labels) if rows.size else []
        for row, label, (source, words) in zip(rows.tolist(), labels.tolist(), reasons, strict=True):
            found[row].append(Suggestion(names[label], float(p[row, label]), source, words))
        return [tuple(each) for each in found]

    def reasons(self, rows: IntArray, labels: IntArray) -> list[tuple[str, tuple[str, ...]]]:
        """The source that adds most to the log-odds of each (row, label), and the words behind it."""
        amounts, words = {BY_MODEL: self.model[rows, labels]}, {BY_MODEL: self._words_by_model(rows, labels)}
        parts: dict[str, sp.csr_array] = {}
        for source, amount, of_hint in self._by_hints(rows, labels):
            amounts[source] = amounts[source] + amount if source in amounts else amount
            if of_hint is not None:
                parts[source] = parts[source] + of_hint if source in parts else of_hint
        words |= {source: _strongest_words(self._telling(part), self.words) for source, part in parts.items()}
        sources = list(amounts)
        said = np.stack(list(amounts.values()))  # (sources, m)
        best = np.where(said.max(axis=0) > MIN_LOG_ODDS, np.argmax(said, axis=0), len(sources))
        sources.append(BY_RATE)
        nothing: list[tuple[str, ...]] = [()] * rows.size
        return [(sources[s], words.get(sources[s], nothing)[i]) for i, s in enumerate(best.tolist())]

    def marks(self, n: int) -> list[list[Mark]]:
        """The words of each of the first n items that speak most for or against any label."""
        if not self.words:
            return [[] for _ in range(n)]
        X, weights, words = self._used
        return telling_words(X[:n], weights, words)

    def _by_hints(self, rows: IntArray, labels: IntArray) -> Iterator[tuple[str, FloatArray, sp.csr_array | None]]:
        """Of each hint its source, what it adds to the log-odds of pairs (m,), and the part of each word (m, d)."""
        if self.hints is None or self.weights is None:
            return
        asked, place = np.unique(rows, return_inverse=True)
        z = self.hints(self.X[asked])[:, place, labels]  # (h, m)
        for h, fitted in enumerate(self.hints.fitted):
            weight = self.weights.weights[h, labels]
            parts = fitted.parts(self.X[rows], labels) if hasattr(fitted, "parts") else None
            if parts is not None:
                parts = sp.csr_array(sp.diags_array(weight * self.hints.weights[h, labels]) @ parts)
            yield getattr(fitted, "source", None) or self.hints.names[h], weight * bend(z[h]), parts

    def _telling(self, parts: sp.csr_array) -> sp.csr_array:
        """The parts (m, d) without those of columns that are no words, or none that tell anything."""
        kept = np.zeros(parts.shape[1], dtype=bool)
        kept[np.fromiter(self.words, dtype=np.intp, count=len(self.words))] = True
        found = sp.csr_array((np.where(kept[parts.indices], parts.data, 0.0), parts.indices, parts.indptr), parts.shape)
        found.eliminate_zeros()
        return found

    def _words_by_model(self, rows: IntArray, labels: IntArray) -> list[tuple[str, ...]]:
        if not self.words:
            return [()] * rows.size
        X, weights, words = self._used
        X = X[rows]
        row_of = np.repeat(np.arange(rows.size), np.diff(X.indptr))
        said = X.data * weights[X.indices, labels[row_of]]
        return _strongest_words(sp.csr_array((said, X.indices, X.indptr), shape=X.shape), words)

    @cached_property
    def _used(self) -> tuple[sp.csr_array, FloatArray, list[str]]:
        """The words that any of the items has: their columns of X, what each says of each label, and their names."""
        X = sp.csr_array(self.X)
        used = np.intersect1d(np.unique(X.indices), np.fromiter(self.words, dtype=np.intp))
        X = sp.csr_array(X[:, used])
        return X, word_weights(X, self.probabilities), [self.words[column] for column in used.tolist()]


def _strongest_words(parts: sp.csr_array, words: Sequence[str] | Mapping[int, str]) -> list[tuple[str, ...]]:
    """Of each row the few words that add most, the strongest first."""
    found = []
    for start, stop in zip(parts.indptr[:-1].tolist(), parts.indptr[1:].tolist(), strict=True):
        amounts, columns = parts.data[start:stop], parts.indices[start:stop]
        order = np.argsort(-amounts, kind="stable")[:MOST_REASONS]
        least = SMALLEST * amounts[order[0]] if order.size else 0.0
        found.append(tuple(words[int(columns[i])] for i in order.tolist() if amounts[i] > max(least, 0.0)))
    return found


def word_weights(X: sp.csr_array, p: FloatArray) -> FloatArray:
    """(d, q) what each word says of each label: the mean log-odds of the items with it, against all, shrunk.

    Any model can be asked: it is what the model came to, not how, and needs nothing but its probabilities.

    >>> X = sp.csr_array(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))  # late parcel; late; parcel
    >>> word_weights(X, np.array([[0.9], [0.9], [0.1]])).round(2).ravel().tolist()
    [0.98, -0.49]
    """
    odds = logit(np.clip(p, 1e-3, 1 - 1e-3))
    odds = odds - odds.mean(0)  # (n, q)
    present = sp.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
    return (present.T @ odds) / (present.sum(0) + SHRINKAGE)[:, None]


def telling_words(X: sp.csr_array, weights: FloatArray, vocabulary: Sequence[str]) -> list[list[Mark]]:
    """The words of each item that speak most for or against labels.

    Parameters
    ----------
    X : (n, d) csr_array of the weights of the words in the items
    weights : (d, q) array from `word_weights`
    vocabulary : the d words

    Examples
    --------
    >>> telling_words(sp.csr_array(np.array([[1.0, 0.5]])), np.array([[0.9], [-0.4]]), ["late", "parcel"])
    [[('late', 0, 0.9), ('parcel', 0, -0.2)]]
    """
    found = []
    for start, stop in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True):
        words = X.indices[start:stop]
        said = X.data[start:stop, None] * weights[words]  # (words of the item, q)
        found.append(_strongest(said, [vocabulary[word] for word in words]))
    return found


def _strongest(said: FloatArray, words: Sequence[str]) -> list[Mark]:
    """The few words with the strongest say on any label, each with the few labels it says most of."""
    marks = []
    order = np.argsort(-np.abs(said).max(1, initial=0), kind="stable")[:MOST_WORDS]
    for word in order.tolist():
        labels = np.argsort(-np.abs(said[word]), kind="stable")[:MOST_LABELS]
        marks += [(words[word], label, round(float(said[word, label]), 3)) for label in labels.tolist()]
    return [mark for mark in marks if abs(mark[2]) > MIN_LOG_ODDS]
