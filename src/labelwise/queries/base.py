"""What every strategy shares. A strategy scores; the choosing (masks, ties, batches, blocks) is done here, once.

A strategy is a frozen dataclass with a `target` ("items": ask for all open labels of an item; "pairs": ask for one
label of one item) and a method `score`. A strategy that cannot be written as a score (one that plans a batch jointly)
overrides `choose` instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.choosing import best, open_entries
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Known

Target = Literal["items", "pairs"]
BLOCK = 4096  # items scored at a time; bounds the memory of a walk over the pool


@dataclass(frozen=True, eq=False)
class Choice:
    """What a strategy chose, best first: rows of the pool, for pairs their labels, and the scores.

    Examples
    --------
    >>> import numpy as np, labelwise as lw
    >>> data = lw.data.make_shapes(60, random_state=0)
    >>> model = lw.LabelGP().fit(data.X, data.Y.toarray())
    >>> closed, rng = data.hide().observed_mask(), np.random.default_rng(0)
    >>> choice = lw.Uncertainty().choose(model.posterior(data.X), closed, 3, rng)
    >>> len(choice.rows), choice.labels is None
    (3, True)
    """

    rows: npt.NDArray[np.intp]  # (m,)
    labels: npt.NDArray[np.intp] | None  # (m,), or None: all open labels of each row
    scores: FloatArray  # (m,)


class Strategy(Protocol):
    """What a campaign needs of a strategy.

    Beliefs are enough for most. One that has to see the features of the pool, or what was answered, sets
    `looks_at_answers = True`. It takes a keyword `known`: the pool as `LabelData`, with every answer in it. One that
    weighs prices sets `looks_at_costs = True` and takes a keyword `costs`: the campaign's `Costs`, by label number.

    Examples
    --------
    >>> import labelwise as lw
    >>> strategy: Strategy = lw.Uncertainty()
    >>> strategy.target
    'items'
    """

    @property
    def target(self) -> Target: ...

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        """Up to n questions about entries that are not `closed`; fewer where fewer are open or worth asking."""
        ...


class LookingStrategy(Protocol):
    """What a campaign needs of a strategy that looks at answers.

    Examples
    --------
    >>> import labelwise as lw
    >>> strategy: LookingStrategy = lw.AdaptiveMargin()
    >>> strategy.target
    'items'
    """

    looks_at_answers: ClassVar[bool]

    @property
    def target(self) -> Target: ...

    def choose(
        self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator, *, known: Known
    ) -> Choice:
        """As for other strategies; `known` is the pool that the questions are about, with every answer in it."""
        ...


class ScoringStrategy:
    """A strategy that scores each (item, label) by itself, or each item; higher always means "ask first".

    `score` returns (n, q). When items are asked for, the scores of an item's open labels are summed. A strategy with an
    opinion about whole items only may return (n,) instead; one that adds labels up otherwise overrides `combine`. What
    scores −inf or NaN is never asked.

    Examples
    --------
    >>> import labelwise as lw
    >>> isinstance(lw.Uncertainty(), ScoringStrategy), lw.Uncertainty().target
    (True, 'items')
    """

    target: Target

    def score(self, posterior: LabelPosterior, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        """The n open entries with the highest scores, walking the pool in blocks and keeping n candidates."""
        check_target(self.target)
        masked = (
            (part.start, self.masked_scores(beliefs, open_entries(closed[part]), rng))
            for part, beliefs in posterior.blocks(BLOCK)
        )
        places, scores = best_over_blocks(masked, n, rng)
        if self.target == "items":
            return Choice(places, None, scores)
        return Choice(places // posterior.n_labels, places % posterior.n_labels, scores)

    def masked_scores(
        self, posterior: LabelPosterior, free: npt.NDArray[np.bool_], rng: np.random.Generator
    ) -> FloatArray:
        """(n,) for items or (n, q) for pairs, −inf for what is not open."""
        return self._masked(self.score(posterior, rng), free)

    def combine(self, scores: FloatArray, free: npt.NDArray[np.bool_]) -> FloatArray:
        """(n,) what each item is worth, given (n, q) scores of its labels and which of them are open."""
        return np.where(free, scores, 0.0).sum(1)

    def _masked(self, scores: FloatArray, free: npt.NDArray[np.bool_]) -> FloatArray:
        if self.target == "pairs":
            if scores.shape != free.shape:
                raise ValueError(
                    f"{type(self).__name__} gave scores of shape {scores.shape}; to ask for pairs it must score each, "
                    f"{free.shape}"
                )
            return np.where(free, scores, -np.inf)  # (n, q)
        if scores.shape not in (free.shape, free.shape[:1]):
            raise ValueError(
                f"{type(self).__name__} gave scores of shape {scores.shape}, expected {free.shape} or {free.shape[:1]}"
            )
        if scores.ndim == 2:
            scores = self.combine(scores, free)
        return np.where(free.any(1), scores, -np.inf)  # (n,)


def best_over_blocks(
    blocks: Iterable[tuple[int, FloatArray]], n: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Places and scores of the n highest scores of a pool met in blocks, keeping n candidates.

    A block is its first row and the scores of its rows, (b,) or (b, q); a place is a row, or row · q + label.
    """
    places = np.empty(0, dtype=np.intp)
    scores, priority = np.empty(0), np.empty(0)
    for start, block in blocks:
        width = block.size // len(block)
        places = np.concatenate([places, start * width + np.arange(block.size)])
        scores = np.concatenate([scores, block.ravel()])
        priority = np.concatenate([priority, rng.random(block.size)])
        kept = best(scores, n, priority)
        places, scores, priority = places[kept], scores[kept], priority[kept]
    return places, scores


def check_target(target: str) -> None:
    if target not in ("items", "pairs"):
        raise ValueError(f'target must be "items" or "pairs", got {target!r}')
