"""What a label is called and described as, compared with the items by the encoder of their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from labelwise.encoders import encode_cached, find_encoder
from labelwise.files import cache_folder
from labelwise.hints.base import PoolBlock
from labelwise.hints.words import INNER_CAPITAL
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.feature_scaling import unit_rows
from labelwise.numerics.linear_algebra import dense
from labelwise.records.asking import BY_NAME
from labelwise.records.labels import Label


@dataclass(frozen=True)
class Encoder:
    """The cosine between an item's vector and that of the label's text: its name, description and other words.

    It has something to say where a block of vectors has the name of an encoder that is available.

    Examples
    --------
    >>> import labelwise as lw
    >>> class Letters:
    ...     def encode(self, texts):
    ...         return np.array([[text.count("a"), text.count("o")] for text in texts], dtype=float)
    >>> texts = ["a black cat", "good old dog"]
    >>> data = lw.LabelData.from_arrays([[0.0], [0.0]], label_names=["cat", "dog"], items=texts)
    >>> data = lw.data.with_encoded(data, Letters(), None)
    >>> lw.hints.learn_hints(data, [Encoder()])(data.X)[0].argmax(axis=1)  # which label suits an item best
    array([0, 1])
    """

    kind = "vectors"

    def fit(self, pool: PoolBlock, labels: Sequence[Label]) -> FittedEncoder | None:
        encoder = find_encoder(pool.block.encoder)
        if encoder is None:
            return None
        try:
            texts = [label_text(label) for label in labels]
            vectors = encode_cached(encoder, texts, folder=cache_folder() / "label-vectors")  # (q, w)
        except (ImportError, TypeError, OSError):  # not here, or one of pictures that reads no text
            return None
        if vectors.shape[1] != pool.block.width:
            raise ValueError(
                f"the vectors of block {pool.block.name!r} have {pool.block.width} numbers, but its encoder "
                f"{pool.block.encoder!r} makes {vectors.shape[1]}: encode the items again, or leave encoder= out"
            )
        return FittedEncoder(unit_rows(vectors.astype(np.float64)).T)


@dataclass(frozen=True, eq=False)
class FittedEncoder:
    source: ClassVar[str] = BY_NAME
    places: FloatArray  # (w, q) of unit length

    def scores(self, X: Any) -> FloatArray:
        return unit_rows(dense(X).astype(np.float64, copy=False)) @ self.places


def label_text(label: Label) -> str:
    """What an encoder reads of a label.

    >>> label_text(Label("TAG_machineLearning", "programs that learn", keywords=("regression",)))
    'TAG machine Learning: programs that learn (regression)'
    """
    name = INNER_CAPITAL.sub(" ", label.name.replace("_", " "))
    more = ", ".join((*label.aliases, *label.keywords, *label.examples))
    return name + (f": {label.description}" if label.description else "") + (f" ({more})" if more else "")
