"""`OnlineBayes` on several machines: each takes some of the labels, which is exact, or some of the rows, merged.

The parts are learnt by pure functions from models to models: none changes what it is given, so a part that was lost can
be done again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from labelwise.cluster._connect import Cluster, collect, connected, itself, near, workers_of
from labelwise.data import open_stream
from labelwise.models.online.model import OnlineBayes
from labelwise.models.online.settings import block_size, check_rows, check_settings, check_sizes, check_unchanged
from labelwise.models.online.state import LINE, OnlineState
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.ep.gaussians import Gaussian, merge
from labelwise.numerics.ep.online_learning import SMALLEST_VARIANCE

AHEAD = 2  # shards read before the labels that are slowest have learnt the last one
BATCH = 8192  # rows read at a time

Shard = Any  # path of a file that `open_stream` reads, or (X, Y), or (X, Y, observed)
ROWS = 1024  # of weights that are merged at a time, in double precision


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
    same order gives on one machine. By rows, every worker learns some of the shards, and after each merge all go on
    from what they know together. No worker sees all rows or needs all labels at once, and the result is not quite that
    of one pass. When a worker is lost, what it held is learnt again, with the same result.

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
    chains = [client.submit(itself, part, **near(workers, place)) for place, (_, part) in enumerate(parts)]
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
    _check_mergeable(model)
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


def _nothing(model: OnlineBayes) -> None:
    """Waits for a model without fetching it."""


def _read(model: OnlineBayes, source: _Source) -> PreparedRows:
    return prepare_rows(model, *source.rows())


def _read_and_learn(model: OnlineBayes, source: _Source) -> OnlineBayes:
    return learn_rows(model, _read(model, source))


class PreparedRows(NamedTuple):
    """Rows that were checked and scaled once, ready to be learnt by any number of parts."""

    X: Any  # (n, d) CSR in the precision of the weights
    Y: sp.csr_array  # (n, q) of bool
    observed: BoolArray | None  # (n, q), or None: all of them
    n_features: int  # before they were folded


def prepare_rows(model: OnlineBayes, X: Any, Y: Any, observed: Any = None) -> PreparedRows:
    """Check rows and bring them into the form that learning reads; the model only says how."""
    trial: Any = clone(model)
    X, Y, observed = trial._check_training(X, Y, observed, may_be_unanswered=True)
    check_rows(model.coupling, Y, observed)
    check_sizes(model, X, learning=True)
    return PreparedRows(trial._prepare(X), sp.csr_array(Y), None if observed.all() else observed, X.shape[1])


def begin(model: OnlineBayes, n_labels: int, n_parts: int = 1) -> OnlineBayes:
    """A model ready to learn this number of labels: what this one has learnt so far, or the prior.

    Independent labels come in `n_parts` blocks unless the model says otherwise; it makes no difference to them.
    """
    check_settings(model)
    twin: Any = copy(model)
    if hasattr(model, "state_"):
        check_unchanged(model, model._started_with)
        twin.state_ = model.state_.copy()
    else:
        share = -(-n_labels // (n_parts * LINE)) * LINE
        free = model.coupling == "independent" and model.block_size is None and share < n_labels
        twin._start(share if free else block_size(model, n_labels))
        twin.n_features_in_ = twin.n_labels_ = 0
    twin.n_labels_ = max(twin.n_labels_, n_labels)
    twin._grow(0, twin.n_labels_)
    return twin


def learn_rows(model: OnlineBayes, rows: PreparedRows, first_label: int = 0) -> OnlineBayes:
    """The model after these rows, of whose labels it has those from `first_label` on."""
    twin: Any = copy(model)
    twin.state_ = model.state_.copy()
    labels = slice(first_label, first_label + model.n_labels_)
    Y = rows.Y[:, labels].toarray()
    observed = np.ones(Y.shape, dtype=bool) if rows.observed is None else rows.observed[:, labels]
    twin.n_features_in_ = max(model.n_features_in_, rows.n_features)
    twin._grow(twin.n_features_in_, model.n_labels_)
    twin._learn(rows.X, np.ascontiguousarray(Y), np.ascontiguousarray(observed), None, prepared=True)
    return twin


# -- by labels --------------------------------------------------------------------------------------------------------


def split_labels(model: OnlineBayes, n_parts: int) -> list[tuple[int, OnlineBayes]]:
    """At most `n_parts` models of some blocks of labels each, and the first label of each.

    Blocks of labels share nothing, so the parts, learnt anywhere and joined, are bit by bit the model learnt at once.
    """
    if model.hierarchy is not None:
        raise ValueError("labels of a hierarchy are learnt together and cannot be split; learn by rows")
    n_blocks = len(model.state_.blocks)
    if n_blocks < min(n_parts, 2) and model.n_labels_ > LINE:  # fewer labels are one part
        if model.coupling == "independent":
            raise ValueError(
                f"this model was begun elsewhere, with all {model.n_labels_} labels in one block that cannot be split: "
                "begin it here, or with a block_size, or learn by rows"
            )
        raise ValueError(
            f"coupling={model.coupling!r} with block_size={model.block_size!r} has one block of {model.n_labels_} "
            "labels, which cannot be split: set block_size to a multiple of 8 below the number of labels (a bias for "
            "each block, which costs no F1), use coupling='independent', or learn by rows"
        )
    parts = []
    for numbers in np.array_split(np.arange(n_blocks), min(n_parts, n_blocks)):
        first = model.state_.blocks[numbers[0]].first
        parts.append((first, _with_blocks(model, slice(int(numbers[0]), int(numbers[-1]) + 1), first)))
    return parts


def _with_blocks(model: OnlineBayes, numbers: slice, first: int) -> OnlineBayes:
    twin: Any = copy(model)
    state = twin.state_ = model.state_.copy()
    state.blocks = state.blocks[numbers]
    state.bias = state.bias[numbers]
    state.n_labels = twin.n_labels_ = sum(block.n_labels for block in state.blocks)
    state.sweeps = model.state_.sweeps if first == 0 else 0  # counted once when joined
    for block in state.blocks:
        block.first -= first
    twin.classes_ = np.arange(twin.n_labels_)
    return twin


def join_labels(parts: Sequence[OnlineBayes]) -> OnlineBayes:
    """One model of the labels of all parts, which have learnt the same rows."""
    whole: Any = copy(parts[0])
    state = whole.state_ = parts[0].state_.copy()
    for part in parts[1:]:
        other = part.state_.copy()
        for block in other.blocks:
            block.first += state.n_labels
        state.blocks += other.blocks
        state.bias = np.vstack([state.bias, other.bias])
        state.n_labels += other.n_labels
        state.sweeps += other.sweeps
    whole.n_labels_ = state.n_labels
    whole.classes_ = np.arange(state.n_labels)
    return whole


# -- by rows ----------------------------------------------------------------------------------------------------------


def _check_mergeable(model: OnlineBayes) -> None:
    if model.half_life is not None:
        raise ValueError(f"half_life={model.half_life!r}: models that forget cannot be merged; learn by labels")
    if model.drift > 0:
        raise ValueError(f"drift={model.drift!r}: models whose weights move cannot be merged; learn by labels")


def merge_rows(base: OnlineBayes, parts: Sequence[OnlineBayes]) -> OnlineBayes:
    """What models that all began at `base`, and have learnt different rows since, know together.

    Natural parameters of weights and biases add: base + Σ (part − base), so do counts. What a part does not know of
    the others' rows makes its steps larger than those of one model over all rows: merge often. Parts that forget
    (`half_life`) or whose weights move (`drift`) have no common base left and are refused.
    """
    _check_mergeable(base)
    whole: Any = copy(base)
    state = whole.state_ = base.state_.copy()
    states = [part.state_ for part in parts]
    whole.n_features_in_ = max(base.n_features_in_, *(part.n_features_in_ for part in parts))
    whole._grow(max(other.n_features for other in states), base.n_labels_)
    for other in states:
        state.rows_for(other.feature_of())
    features = state.feature_of()
    for start in range(0, state.n_rows, ROWS):
        _merge_weights(state, states, features, slice(start, min(start + ROWS, state.n_rows)))
    if state.with_hubs:
        state.bias = np.column_stack(_moments(base.state_.bias.T, [other.bias.T for other in states]))
    counts = base.state_.counts
    state.set_counts(*(counts + sum(other.counts - counts for other in states)))
    state.seen += sum(other.seen - base.state_.seen for other in states)
    state.sweeps += sum(other.sweeps - base.state_.sweeps for other in states)
    return whole


def _merge_weights(state: OnlineState, parts: Sequence[OnlineState], features: Any, rows: slice) -> None:
    """Merge some rows of the weights, in place: they hold the base (new ones the prior)."""
    constant = rows.start == 0
    named = features[max(rows.start, 1) - 1 : rows.stop - 1]
    places = [part.row_of[np.minimum(named, part.n_features - 1)] for part in parts]
    places = [np.where(named < part.n_features, place, -1) for part, place in zip(parts, places, strict=True)]
    if constant:
        places = [np.concatenate([[0], place]) for place in places]
    for number, block in enumerate(state.blocks):
        base = block.weights[rows].astype(np.float64)  # (m, 2, columns)
        others = []
        for part, place in zip(parts, places, strict=True):
            learnt = part.blocks[number].weights[np.maximum(place, 0)]
            others.append(np.where((place >= 0)[:, None, None], learnt, base).swapaxes(0, 1))
        mean, variance = _moments(base.swapaxes(0, 1), others)
        block.weights[rows, 0], block.weights[rows, 1] = mean, np.maximum(variance, SMALLEST_VARIANCE)


def _moments(base: FloatArray, parts: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the merged Gaussians; all are given by mean and variance."""
    merged = merge(Gaussian.from_moments(*base), [Gaussian.from_moments(*part) for part in parts])
    return merged.mean, merged.variance
