"""Blocks of features: words, vectors, numbers and categories side by side in one matrix, each scaled in its own way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
import scipy.sparse as sp

Kind = Literal["words", "vectors", "numbers", "categories", "opinions"]
KINDS: tuple[str, ...] = get_args(Kind)
OPINIONS: Final = "opinions"  # what others say of the items: only hints read it


@dataclass(frozen=True)
class Block:
    """Columns `start` to `stop` of a matrix of features that are of one kind.

    Parameters
    ----------
    name : str, unique among the blocks of a matrix
    kind : "words", "vectors", "numbers", "categories" or "opinions"
        Models see the first four. "opinions" are what others say of the items; only hints read them.
    start, stop : int
    encoder : str
        The name of the encoder that made these vectors; "" where that is not known.

    Examples
    --------
    >>> Block("body", "words", 0, 800).width
    800
    """

    name: str
    kind: Kind
    start: int
    stop: int
    encoder: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"the kind of block {self.name!r} must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if not 0 <= self.start <= self.stop:
            raise ValueError(f"block {self.name!r} cannot reach from column {self.start} to {self.stop}")

    @property
    def width(self) -> int:
        return self.stop - self.start

    @property
    def is_seen_by_models(self) -> bool:
        return self.kind != OPINIONS

    def of(self, X: Any) -> Any:
        """These columns of the rows X; X itself where it has no others."""
        return X if self.width == X.shape[1] else X[:, self.start : self.stop]


def in_shards(X: Any) -> bool:
    """Whether features are rows in files, of which some are read when asked for, and not a matrix.

    >>> in_shards(np.eye(2))
    False
    """
    return hasattr(X, "shards") and hasattr(X, "blocks")


def check_blocks(blocks: Sequence[Block], n_columns: int) -> None:
    """Raise unless the blocks have names of their own and cover all columns, one after another."""
    if not blocks:
        return
    names = [block.name for block in blocks]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ValueError(f"two blocks of features are called {twice!r}; give each its own name")
    expected = 0
    for block in blocks:
        if block.start != expected:
            raise ValueError(f"block {block.name!r} begins at column {block.start}, expected {expected}")
        expected = block.stop
    if expected != n_columns:
        raise ValueError(f"the blocks of features end at column {expected}, but X has {n_columns} columns")


def feature_blocks(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """The blocks that models see, as they stand in `model_columns`."""
    found: list[Block] = []
    for block in (each for each in blocks if each.is_seen_by_models):
        start = found[-1].stop if found else 0
        found.append(Block(block.name, block.kind, start, start + block.width, block.encoder))
    return tuple(found)


def model_columns(X: Any, blocks: Sequence[Block]) -> Any:
    """The columns of X that models see; X itself where that is all of them.

    >>> blocks = Block("a", "numbers", 0, 1), Block("gpt", "opinions", 1, 2), Block("b", "numbers", 2, 3)
    >>> model_columns(np.array([[1.0, 2.0, 3.0]]), blocks)
    array([[1., 3.]])
    """
    if all(block.is_seen_by_models for block in blocks):
        return X
    kept = [np.arange(block.start, block.stop) for block in blocks if block.is_seen_by_models]
    return X[:, np.concatenate([np.empty(0, dtype=np.intp), *kept])]


def join_columns(parts: Sequence[Any]) -> Any:
    """Matrices side by side: csr where one of them is sparse, else dense.

    >>> join_columns([np.array([[1.0]]), np.array([[2.0, 3.0]])])
    array([[1., 2., 3.]])
    >>> join_columns([np.array([[1.0]]), sp.csr_array([[0.0, 3.0]])]).format
    'csr'
    """
    if len(parts) == 1:
        return parts[0]
    if any(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts], format="csr"))
    return np.hstack(parts)


def blocks_in_words(blocks: Sequence[Block]) -> str:
    """
    >>> blocks_in_words((Block("body", "words", 0, 3),)), blocks_in_words(())
    ('the block body (words, 3 columns)', 'no blocks of features')
    """
    listed = ", ".join(f"{block.name} ({block.kind}, {block.width} columns)" for block in blocks)
    return f"the {'block' if len(blocks) == 1 else 'blocks'} {listed}" if blocks else "no blocks of features"
