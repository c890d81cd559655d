"""Which words of a text made the model believe what it believes: for marking them on the page.

Any model can be asked: a word speaks for a label as far as the items that contain it are believed to have the label
more than others. It is what the model came to, not how; it needs nothing but its probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.special import logit

from labelwise.posterior import FloatArray

MOST_WORDS = 12  # marked in one item
MOST_LABELS = 3  # noted for one word
SHRINKAGE = 1.0  # items' worth of "says nothing" that a word has to outweigh
LEAST = 0.05  # log-odds below which a word is not worth marking


def word_weights(X: sp.csr_array, p: FloatArray) -> FloatArray:
    """(d, q) what each word says of each label: the mean log-odds of the items with it, against all, shrunk.

    >>> X = sp.csr_array(np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))  # late parcel; late; parcel
    >>> word_weights(X, np.array([[0.9], [0.9], [0.1]])).round(2).ravel().tolist()
    [0.98, -0.49]
    """
    odds = logit(np.clip(p, 1e-3, 1 - 1e-3))
    odds = odds - odds.mean(0)  # (n, q)
    present = sp.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
    return (present.T @ odds) / (present.sum(0) + SHRINKAGE)[:, None]


def telling_words(X: sp.csr_array, weights: FloatArray, vocabulary: Sequence[str]) -> list[str]:
    """The words of each item that speak most for or against labels, as JSON: [word, label's place, log-odds] each.

    Parameters
    ----------
    X : (n, d) csr_array of the weights of the words in the items
    weights : (d, q) array from `word_weights`
    vocabulary : the d words

    Examples
    --------
    >>> telling_words(sp.csr_array(np.array([[1.0, 0.5]])), np.array([[0.9], [-0.4]]), ["late", "parcel"])
    ['[["late", 0, 0.9], ["parcel", 0, -0.2]]']
    """
    found = []
    for start, stop in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True):
        words = X.indices[start:stop]
        said = X.data[start:stop, None] * weights[words]  # (words of the item, q)
        found.append(json.dumps(_strongest(said, [vocabulary[word] for word in words]), ensure_ascii=False))
    return found


def _strongest(said: FloatArray, words: Sequence[str]) -> list[tuple[str, int, float]]:
    """The few words with the strongest say on any label, each with the few labels it says most of."""
    marks = []
    order = np.argsort(-np.abs(said).max(1, initial=0), kind="stable")[:MOST_WORDS]
    for word in order.tolist():
        labels = np.argsort(-np.abs(said[word]), kind="stable")[:MOST_LABELS]
        marks += [(words[word], label, round(float(said[word, label]), 3)) for label in labels.tolist()]
    return [mark for mark in marks if abs(mark[2]) > LEAST]
