"""From what people see of an item to what a model sees: derived, and rebuilt whenever it is needed."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logit
from sklearn.feature_extraction.text import TfidfVectorizer

from labelwise.labelling.errors import ProjectError
from labelwise.posterior import FloatArray
from labelwise.records import Block, Features

SIDE = 16  # pixels of a picture's side, as a model sees it
KINDS = ("text", "images", "numbers")
MOST_WORDS = 12  # marked in one item
MOST_LABELS = 3  # noted for one word
SHRINKAGE = 1.0  # items' worth of "says nothing" that a word has to outweigh
MIN_LOG_ODDS = 0.05  # below it a word is not worth marking


class Featurizer:
    """Features by the `features` setting of a project: TF-IDF of a text, pixels of a picture, or stored numbers.

    Parameters
    ----------
    spec : mapping
        "kind" is "text", "images" or "numbers"; "field" names the field of the items' content that holds the text or
        picture (None where the content is that itself); for numbers, "width" and "sparse" say how they are stored.

    Examples
    --------
    >>> featurizer = Featurizer({"kind": "text", "field": "body"}).fit([{"body": "red apple"}, {"body": "red car"}])
    >>> featurizer.transform([{"body": "an apple"}]).shape
    (1, 3)
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = dict(spec)
        if self.spec.get("kind") not in KINDS:
            raise ProjectError(f"features must be of the kind {', '.join(KINDS)}, got {self.spec.get('kind')!r}")
        self.vectorizer: Any = TfidfVectorizer(sublinear_tf=True) if self.spec["kind"] == "text" else None

    def fit(self, contents: Sequence[Any]) -> Featurizer:
        """Learn the words of the pool; pictures and numbers need none of it."""
        if self.vectorizer is not None:
            try:
                self.vectorizer.fit([self._text(content) for content in contents])
            except ValueError as error:
                raise ProjectError(f"no features can be made of the texts: {error}") from None
        return self

    def transform(self, contents: Sequence[Any], numbers: Sequence[bytes | None] = ()) -> Features:
        """(n, d) features of items, by their content or, for numbers, by what is stored with them."""
        kind = self.spec["kind"]
        if kind == "text":
            return sp.csr_array(self.vectorizer.transform([self._text(content) for content in contents]))
        if kind == "images":
            return np.array([pixels(self._field(content)) for content in contents]).reshape(-1, SIDE * SIDE)
        return unpack(numbers, self.spec["width"], self.spec["sparse"])

    def feature_names(self) -> tuple[str, ...] | None:
        """The words of a text, or the names that came with numbers; None where features have no names."""
        if self.vectorizer is not None:
            return tuple(map(str, self.vectorizer.get_feature_names_out()))
        return tuple(self.spec["names"]) if self.spec.get("names") else None

    def blocks(self) -> tuple[Block, ...]:
        """The blocks that numbers came in."""
        return tuple(Block(**block) for block in self.spec.get("blocks", ()))

    def _field(self, content: Any) -> Any:
        name = self.spec.get("field")
        if name is None:
            return content
        if not isinstance(content, Mapping) or name not in content:
            raise ProjectError(f"an item has no field {name!r} to make features of: {str(content)[:80]!r}")
        return content[name]

    def _text(self, content: Any) -> str:
        text = self._field(content)
        return text if isinstance(text, str) else "" if text is None else str(text)


def pack(X: Features) -> list[bytes]:
    """Each row as bytes: float64, or int32 indices and float64 values of a sparse one."""
    if not sp.issparse(X):
        rows = np.ascontiguousarray(X, dtype="<f8")
        return [row.tobytes() for row in rows]
    X = sp.csr_array(X)
    parts = zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True)
    return [
        X.indices[start:stop].astype("<i4").tobytes() + X.data[start:stop].astype("<f8").tobytes()
        for start, stop in parts
    ]


def unpack(rows: Sequence[bytes | None], width: int, sparse: bool) -> Features:
    """The inverse of `pack`."""
    kept = [row or b"" for row in rows]
    if not sparse:
        return np.frombuffer(b"".join(kept), dtype="<f8").reshape(len(kept), width).astype(np.float64)
    sizes = np.array([len(row) // 12 for row in kept], dtype=np.int64)
    indices = b"".join(row[: len(row) // 3] for row in kept)
    values = b"".join(row[len(row) // 3 :] for row in kept)
    ends = np.concatenate([[0], np.cumsum(sizes)])
    parts = (np.frombuffer(values, "<f8").astype(np.float64), np.frombuffer(indices, "<i4").astype(np.int32), ends)
    return sp.csr_array(parts, shape=(len(kept), width))


def pixels(picture: Any) -> Any:
    """(SIDE * SIDE,) grey values between 0 and 1 of a picture, given as a path or a data: address."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise ImportError("Pillow is needed for pictures: pip install 'labelwise[serve]'") from None
    try:
        with Image.open(io.BytesIO(picture_bytes(picture))) as image:
            small = image.convert("L").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    except (OSError, UnidentifiedImageError, ValueError) as error:
        raise ProjectError(f"the picture {str(picture)[:80]!r} cannot be read: {error}") from None
    return np.asarray(small, dtype=np.float64).ravel() / 255.0


def picture_bytes(picture: Any) -> bytes:
    """The file of a picture, from its path or a data: address."""
    if isinstance(picture, str) and picture.startswith("data:"):
        return base64.b64decode(picture.partition(",")[2])
    return Path(picture).read_bytes()


# -- which words made the model believe what it believes ---------------------------------------------------------------


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
    return [mark for mark in marks if abs(mark[2]) > MIN_LOG_ODDS]
