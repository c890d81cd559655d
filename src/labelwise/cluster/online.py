"""`OnlineBayes` on several machines: each takes some of the labels, or some of the rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from labelwise.cluster._connect import Cluster, collect, connected, near, workers_of
from labelwise.data import open_stream
from labelwise.models import OnlineBayes
from labelwise.models._online_parts import (
    PreparedRows,
    begin,
    join_labels,
    learn_rows,
    merge_rows,
    prepare_rows,
    split_labels,
)

AHEAD = 2  # shards read before the labels that are slowest have learnt the last one
BATCH = 8192  # rows read at a time

Shard = Any  # path of a file that `open_stream` reads, or (X, Y), or (X, Y, observed)


def fit_online(
    model: OnlineBayes,
    shards: Sequence[Shard],
    *,
    cluster: Cluster,
    by: Literal["labels", "rows"] = "labels",
    parts: int | None = None,
    merges: int = 5,
    reading: Mapping[str, Any] | None = None,
) -> OnlineBayes:
    """One pass over rows in shards, on a cluster. Returns the model after it; the one given stays as it is.

    By labels, every worker learns its labels from all rows: bit for bit what `partial_fit` over the same shards in the
    same order gives on one machine. By rows, every worker learns some of the shards, and after each of so many merges
    all go on from what they know together: no worker sees all rows or needs all labels at once, and the result is not
    quite that of one pass. When a worker is lost, what it held is learnt again, with the same result.

    Parameters
    ----------
    model : settings, or a model to go on from
    shards : files in a format of `open_stream`, which the workers must be able to read; or arrays (X, Y) and
        (X, Y, observed)
    cluster : see `connected`
    by : "labels" needs labels that are learnt separately: `coupling="independent"`, or "global" with a `block_size`; a
        model that has learnt before needs a `block_size` in either case
    parts : how many are learnt side by side; by default as many as there are workers. By rows the result depends on it
    merges : by rows, how often the parts exchange what they know; needs at least parts × merges shards
    reading : format and options of `open_stream`. Without `label_names` the shards are gone through for names first

    Examples
    --------
    >>> from labelwise.cluster import fit_online
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 5))
    >>> shards = [(part, part @ rng.normal(size=(5, 16)) > 0) for part in np.split(X, 4)]
    >>> here = OnlineBayes("independent")
    >>> for rows in shards:
    ...     here = here.partial_fit(*rows)
    >>> there = fit_online(OnlineBayes("independent"), shards, cluster=2)  # starts two processes # doctest: +SKIP
    >>> np.array_equal(here.predict_proba(X), there.predict_proba(X))  # doctest: +SKIP
    True
    """
    if not isinstance(model, OnlineBayes):
        raise ValueError(f"model must be an OnlineBayes, got {type(model).__name__}")
    if by not in ("labels", "rows"):
        raise ValueError(f'by must be "labels" or "rows", got {by!r}')
    if len(shards) == 0:
        raise ValueError("shards must hold at least one file or pair of arrays, got none")
    for name, value in (("merges", merges), ("parts", parts)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")
    with connected(cluster) as client:
        source = _Source.of(client, shards, dict(reading or {}))
        parts = parts or len(workers_of(client))
        if by == "labels":
            return _by_labels(client, model, source, parts)
        return _by_rows(client, model, source, parts, merges)


@dataclass(frozen=True, eq=False)
class _Source:
    """Shards that any worker can read by number, all with the same labels."""

    shards: tuple[Shard, ...]
    n_labels: int
    reading: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, client: Any, shards: Sequence[Shard], reading: dict[str, Any]) -> _Source:
        paths = [isinstance(shard, str | PathLike) for shard in shards]
        if not any(paths):
            for number, (X, Y, *_) in enumerate(shards):
                for what, array, first in (("features", X, shards[0][0]), ("labels", Y, shards[0][1])):
                    if np.shape(array)[1] != np.shape(first)[1]:
                        raise ValueError(
                            f"shard {number} has {np.shape(array)[1]} {what}, the first has {np.shape(first)[1]}: "
                            "give all shards the same columns"
                        )
            return cls(tuple(shards), np.shape(shards[0][1])[1])
        if not all(paths):
            raise ValueError("shards must be all files or all arrays, got both")
        files = tuple(fspath(shard) for shard in shards)
        if "label_names" not in reading:
            found = collect(client, client.map(_names, files, reading=reading, pure=False))
            reading["label_names"] = list(dict.fromkeys(name for names in found for name in names))
        return cls(files, len(reading["label_names"]), reading)

    def shard(self, number: int) -> _Source:
        """That shard alone, as it travels to a worker."""
        return _Source(self.shards[number : number + 1], self.n_labels, self.reading)

    def rows(self) -> tuple[Any, Any, Any]:
        """X, Y and mask of the first shard."""
        shard = self.shards[0]
        if not isinstance(shard, str):
            X, Y, *mask = shard
            return X, Y, mask[0] if mask else None
        batches = list(open_stream(shard, batch=BATCH, **self.reading))
        width = max(batch.X.shape[1] for batch in batches)
        X = sp.vstack([_widened(batch.X, width) for batch in batches], format="csr")
        Y = sp.vstack([_widened(batch.Y, self.n_labels) for batch in batches], format="csr")
        if all(batch.observed is None for batch in batches):
            return X, Y, None
        everything = sp.csr_array(np.ones(Y.shape, dtype=bool))
        masks = [everything[: batch.Y.shape[0]] if batch.observed is None else batch.observed for batch in batches]
        return X, Y, sp.vstack([_widened(mask, self.n_labels) for mask in masks], format="csr")


def _names(path: str, reading: Mapping[str, Any]) -> list[str]:
    """The labels of a file, in order of their first appearance."""
    stream = open_stream(path, batch=BATCH, **reading)
    for _ in stream:
        pass
    return stream.label_names


def _widened(X: Any, width: int) -> Any:
    X = sp.csr_array(X)
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _by_labels(client: Any, model: OnlineBayes, source: _Source, n_parts: int) -> OnlineBayes:
    """A chain of tasks for each part of the labels; a shard is read and prepared once and goes to all of them."""
    workers = workers_of(client)
    parts = split_labels(begin(model, source.n_labels, n_parts), n_parts)
    chains = [client.submit(_itself, part, **near(workers, place)) for place, (_, part) in enumerate(parts)]
    under_way: deque[list[Any]] = deque()
    for number in range(len(source.shards)):
        rows = client.submit(_read, model, source.shard(number), **near(workers, number))
        chains = [
            client.submit(learn_rows, chain, rows, first, **near(workers, place))
            for place, ((first, _), chain) in enumerate(zip(parts, chains, strict=True))
        ]
        under_way.append(chains)
        if len(under_way) > AHEAD:  # a fast reader would fill the memory
            collect(client, [client.submit(_nothing, chain, pure=False) for chain in under_way.popleft()])
    return join_labels(collect(client, chains))


def _by_rows(client: Any, model: OnlineBayes, source: _Source, n_parts: int, merges: int) -> OnlineBayes:
    """Between two merges each part learns its shards one after the other, from the same base."""
    workers = workers_of(client)
    needed = n_parts * merges
    if len(source.shards) < needed:
        raise ValueError(
            f"{n_parts} parts that merge {merges} times need at least {needed} shards, got "
            f"{len(source.shards)}: cut the rows into more, or merge less often"
        )
    if model.half_life is not None:
        raise ValueError(f"half_life={model.half_life!r}: models that forget cannot be merged; learn by labels")
    base = client.submit(begin, model, source.n_labels, **near(workers, 0))
    for numbers in np.array_split(np.arange(len(source.shards)), merges):
        parts = []
        for place, own in enumerate(np.array_split(numbers, n_parts)):
            part = base
            for number in own:
                part = client.submit(_read_and_learn, part, source.shard(int(number)), **near(workers, place))
            parts.append(part)
        base = client.submit(merge_rows, base, parts, **near(workers, 0))
    learnt: OnlineBayes = collect(client, base)
    return learnt


def _itself(model: OnlineBayes) -> OnlineBayes:
    return model


def _nothing(model: OnlineBayes) -> None:
    """Waits for a model without fetching it."""


def _read(model: OnlineBayes, source: _Source) -> PreparedRows:
    return prepare_rows(model, *source.rows())


def _read_and_learn(model: OnlineBayes, source: _Source) -> OnlineBayes:
    return learn_rows(model, _read(model, source))
