"""From what people see of an item to what a model sees: derived, and rebuilt whenever it is needed."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from labelwise.encoders import as_encoder, encode_cached
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.items.markup import plain_text
from labelwise.posterior import FloatArray
from labelwise.records import Block, Features, join_columns

SIDE = 64  # points of a picture's side, as its histograms are made
N_SHADES, N_FIELDS, N_DIRECTIONS = 4, 4, 8  # of each colour; fields along a side; directions of edges
N_COLOURS, N_EDGES = N_SHADES**3, N_FIELDS**2 * N_DIRECTIONS
HISTOGRAMS = "histograms"
NO_EDGE = 1e-9  # strength of all edges of a picture of one colour
KINDS = ("text", "images", "numbers")


class Featurizer:
    """Features by the `features` setting of a project: TF-IDF of a text, histograms of a picture, or numbers.

    A text or picture may have a vector beside these: stored with the item ("vectors" in the setting), or made by an
    encoder ("embed"), which takes long. Those take part once `has_vectors` is set.

    Parameters
    ----------
    spec : mapping
        "kind" is "text", "images" or "numbers"; "field" names the field of the items' content that holds the text or
        picture (None where the content is that itself). For numbers, "width" and "sparse" say how they are stored.
        "formats" names fields that are shown as Markdown or HTML: of HTML, words are made of its text.

    Examples
    --------
    >>> featurizer = Featurizer({"kind": "text", "field": "body"}).fit([{"body": "red apple"}, {"body": "red car"}])
    >>> featurizer.transform([{"body": "an apple"}]).shape
    (1, 3)
    """

    has_vectors, n_vectors = False, 0  # whether vectors stand beside the words, and how long they are
    pictures = "pixels"  # what files of 0.1 have made of them

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self.spec = dict(spec)
        self.has_vectors = "vectors" in self.spec
        self.pictures = HISTOGRAMS
        if self.spec.get("kind") not in KINDS:
            raise ProjectError(f"features must be of the kind {', '.join(KINDS)}, got {self.spec.get('kind')!r}")
        self.vectorizer: Any = TfidfVectorizer(sublinear_tf=True) if self.spec["kind"] == "text" else None

    @property
    def is_current(self) -> bool:
        """Whether features are made today as they were when this was saved."""
        return self.spec["kind"] != "images" or self.pictures == HISTOGRAMS

    def fit(self, contents: Sequence[Any]) -> Featurizer:
        """Learn the words of the pool; pictures and numbers need none of it."""
        if self.vectorizer is not None:
            try:
                self.vectorizer.fit(self.texts(contents))
            except ValueError as error:
                raise ProjectError(f"no features can be made of the texts: {error}") from None
        return self

    def transform(self, contents: Sequence[Any], numbers: Sequence[bytes | None] = ()) -> Features:
        """(n, d) features of items, by their content or, for numbers, by what is stored with them."""
        kind = self.spec["kind"]
        if kind == "numbers":
            return unpack(numbers, self.spec["width"], self.spec["sparse"])
        if kind == "text":
            found = sp.csr_array(self.vectorizer.transform(self.texts(contents)))
        else:
            histograms = [picture_histograms(self._field(content)) for content in contents]
            found = np.array(histograms).reshape(-1, N_COLOURS + N_EDGES)
        return join_columns([found, self._vectors(contents, numbers)]) if self.has_vectors else found

    def feature_names(self) -> tuple[str, ...] | None:
        """The words of a text, or the names that came with numbers; None where features have no names."""
        if self.vectorizer is not None:
            words = tuple(map(str, self.vectorizer.get_feature_names_out()))
            return words + tuple(f"{self.vectors_name}[{k}]" for k in range(self.n_vectors if self.has_vectors else 0))
        return tuple(self.spec["names"]) if self.spec.get("names") else None

    def blocks(self) -> tuple[Block, ...]:
        """Words or histograms, and vectors, or the blocks that numbers came in; empty where all is of one kind."""
        if self.spec["kind"] == "numbers":
            return tuple(Block(**block) for block in self.spec.get("blocks", ()))
        own: tuple[Block, ...]
        if self.spec["kind"] == "images":
            edges = N_COLOURS + N_EDGES
            own = (Block("colours", "vectors", 0, N_COLOURS), Block("edges", "vectors", N_COLOURS, edges))
        else:
            own = (Block("words", "words", 0, len(self.vectorizer.get_feature_names_out())),)
        if not self.has_vectors:
            return own if len(own) > 1 else ()
        encoder = self.spec.get("embed") or self.spec["vectors"]["encoder"]
        stop = own[-1].stop + self.n_vectors
        return (*own, Block(self.vectors_name, "vectors", own[-1].stop, stop, encoder))

    @property
    def vectors_name(self) -> str:
        return str(self.spec.get("embed", "vectors"))

    def texts(self, contents: Sequence[Any]) -> list[str]:
        """What words and vectors are made of: texts, or paths and data: addresses of pictures."""
        return [self._text(content) for content in contents]

    def _vectors(self, contents: Sequence[Any], numbers: Sequence[bytes | None]) -> FloatArray:
        """(n, w); zeros for an item without a vector, which is judged by its words alone."""
        if "vectors" in self.spec:
            self.n_vectors = int(self.spec["vectors"]["width"])
            return unpack_vectors(numbers or (None,) * len(contents), self.n_vectors)
        if not contents:
            return np.zeros((0, self.n_vectors))
        vectors = encode_cached(as_encoder(self.spec["embed"]), self.texts(contents)).astype(np.float64)
        self.n_vectors = vectors.shape[1]
        return vectors

    def _field(self, content: Any) -> Any:
        name = self.spec.get("field")
        if name is None:
            return content
        if not isinstance(content, Mapping) or name not in content:
            raise ProjectError(f"an item has no field {name!r} to make features of: {str(content)[:80]!r}")
        return content[name]

    def _text(self, content: Any) -> str:
        text = self._field(content)
        if not isinstance(text, str):
            return "" if text is None else str(text)
        is_html = self.spec.get("formats", {}).get(self.spec.get("field") or "") == "html"
        return plain_text(text, "html") if is_html else text


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


def pack_vectors(vectors: Any) -> list[bytes]:
    """Each vector as bytes, in single precision."""
    rows = vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)
    return [row.tobytes() for row in np.ascontiguousarray(rows, dtype="<f4")]


def unpack_vectors(rows: Sequence[bytes | None], width: int) -> FloatArray:
    """The inverse of `pack_vectors`; zeros where there is none."""
    nothing = bytes(4 * width)
    return np.frombuffer(b"".join(row or nothing for row in rows), dtype="<f4").reshape(-1, width).astype(np.float64)


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


def picture_histograms(picture: Any) -> FloatArray:
    """(N_COLOURS + N_EDGES,) of a picture, given as a path or a data: address: where its colours and edges are.

    First the share of its points in each of 4 × 4 × 4 parts of the RGB cube. Then, in each of 4 × 4 fields, the share
    of its edges that run in each of 8 directions, weighed by their strength. Square roots are taken of all, so that an
    inner product compares two histograms by the coefficient of Bhattacharyya.
    """
    from PIL import Image, UnidentifiedImageError  # start-up

    try:
        with Image.open(io.BytesIO(picture_bytes(picture))) as image:
            small = image.convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
    except (OSError, UnidentifiedImageError, ValueError) as error:
        raise ProjectError(f"the picture {str(picture)[:80]!r} cannot be read: {error}") from None
    points = np.asarray(small, dtype=np.float64)  # (SIDE, SIDE, 3)
    return np.sqrt(np.concatenate([_colours(points), _edges(points.mean(axis=2))]))


def _colours(points: FloatArray) -> FloatArray:
    shade = np.minimum(points // (256 / N_SHADES), N_SHADES - 1).astype(np.intp)
    place = np.ravel_multi_index(tuple(shade.reshape(-1, 3).T), (N_SHADES,) * 3)
    return np.bincount(place, minlength=N_COLOURS) / place.size


def _edges(grey: FloatArray) -> FloatArray:
    down, right = np.gradient(grey)
    strength = np.hypot(down, right)
    direction = np.floor(np.mod(np.arctan2(down, right) / np.pi, 1.0) * N_DIRECTIONS).astype(np.intp) % N_DIRECTIONS
    field = np.arange(SIDE) * N_FIELDS // SIDE
    place = np.ravel_multi_index(
        (*np.broadcast_arrays(field[:, None], field[None, :]), direction), (N_FIELDS, N_FIELDS, N_DIRECTIONS)
    )
    histogram = np.bincount(place.ravel(), weights=strength.ravel(), minlength=N_EDGES)
    return histogram / max(histogram.sum(), NO_EDGE)


def picture_bytes(picture: Any) -> bytes:
    """The file of a picture, from its path or a data: address."""
    if isinstance(picture, str) and picture.startswith("data:"):
        return base64.b64decode(picture.partition(",")[2])
    return Path(picture).read_bytes()
