"""Strategies whose work on a pool in shards is done by a cluster, for `Campaign` or by themselves."""

from __future__ import annotations

import pickle
from collections import deque
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.cluster._connect import check_client, collect, near, workers_of
from labelwise.cluster.information import IN_HAND, BlockRunner
from labelwise.numerics.choosing import best, open_entries
from labelwise.posterior import LabelPosterior
from labelwise.queries import MutualInformation
from labelwise.queries.base import BLOCK, Choice, ScoringStrategy, Target


def on_cluster(strategy: Any, client: Any) -> Any:
    """The same strategy, with pools in shards scored or walked by the workers: exactly the same questions.

    Parameters
    ----------
    strategy : `MutualInformation`, or one that scores items or pairs by themselves, like `Uncertainty`
    client : `distributed.Client`; `connected` gives one, and it must stay open for as long as questions are asked

    Examples
    --------
    >>> from labelwise import Campaign, LabelGP, Uncertainty
    >>> from labelwise.cluster import connected, on_cluster
    >>> with connected("tcp://10.0.0.5:8786") as client:  # needs a cluster # doctest: +SKIP
    ...     campaign = Campaign(pool, model=LabelGP(), strategy=on_cluster(Uncertainty(), client))
    ...     questions = campaign.ask(100)
    """
    check_client(client)
    if isinstance(strategy, MutualInformation):
        return replace(strategy, run=BlockRunner(client))
    if isinstance(strategy, ScoringStrategy):
        return ScoredThere(strategy, client)
    raise ValueError(
        f"{type(strategy).__name__} plans over the whole pool at once, and that stays on one machine; "
        "MutualInformation and strategies that score items or pairs by themselves can go to a cluster"
    )


@dataclass(frozen=True, eq=False)
class ScoredThere:
    """A scoring strategy that leaves a pool in shards to the workers.

    A pool in memory is scored here, and so are beliefs that hold more than a model, say guesses at new labels.
    """

    strategy: ScoringStrategy
    client: Any

    @property
    def target(self) -> Target:
        return self.strategy.target

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        """Every block sends its n best, with the priorities that one machine would have drawn for them."""
        if not posterior.is_streamed or not _can_travel(posterior):
            return self.strategy.choose(posterior, closed, n, rng)
        workers, width = workers_of(self.client), 1 if self.target == "items" else posterior.n_labels
        everyone = [self.client.submit(_itself, thing, **near(workers, 0)) for thing in (posterior, self.strategy)]
        in_hand: deque[Any] = deque()
        found: list[tuple[Any, ...]] = []
        for number, start in enumerate(range(0, posterior.n_items, BLOCK)):
            part = slice(start, min(start + BLOCK, posterior.n_items))
            task = _Scoring(part, closed[part], n, _ahead(rng, start * width))
            in_hand.append(self.client.submit(_score, *everyone, task, **near(workers, number)))
            if len(in_hand) > IN_HAND * len(workers):
                found.append(collect(self.client, in_hand.popleft()))
        found += [collect(self.client, future) for future in in_hand]
        rng.bit_generator.state = _ahead(rng, posterior.n_items * width).bit_generator.state
        places, scores, priority = (np.concatenate(column) for column in zip(*found, strict=True))
        kept = best(scores, n, priority)
        if self.target == "items":
            return Choice(places[kept], None, scores[kept])
        return Choice(places[kept] // width, places[kept] % width, scores[kept])


@dataclass(frozen=True, eq=False)
class _Scoring:
    """What a worker is asked about a block."""

    part: slice
    closed: sp.csr_array
    n: int
    rng: np.random.Generator  # as it is on one machine when it comes to this block


def _score(posterior: LabelPosterior, strategy: ScoringStrategy, task: _Scoring) -> tuple[Any, Any, Any]:
    """Places, scores and priorities of the best of a block."""
    before = deepcopy(task.rng.bit_generator.state)
    scores = strategy.masked_scores(posterior.rows(task.part), open_entries(task.closed), task.rng).ravel()
    if task.rng.bit_generator.state != before:
        raise ValueError(
            f"{type(strategy).__name__} draws while it scores, so blocks cannot be scored apart with the same outcome; "
            "use it on one machine"
        )
    width = scores.size // (task.part.stop - task.part.start)
    priority = task.rng.random(scores.size)
    kept = best(scores, task.n, priority)
    return task.part.start * width + kept, scores[kept], priority[kept]


def _can_travel(posterior: LabelPosterior) -> bool:
    try:
        pickle.dumps(posterior)
    except (AttributeError, TypeError, pickle.PicklingError):
        return False
    return True


def _ahead(rng: np.random.Generator, draws: int) -> np.random.Generator:
    """The generator after so many numbers were drawn."""
    twin = deepcopy(rng)
    if not hasattr(twin.bit_generator, "advance"):
        raise ValueError(f"{type(rng.bit_generator).__name__} cannot be advanced; use numpy.random.default_rng")
    twin.bit_generator.advance(draws)
    return twin


def _itself(thing: Any) -> Any:
    return thing
