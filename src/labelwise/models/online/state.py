"""What `OnlineBayes` has learnt: one Gaussian per weight, a row of memory for every feature seen; and its beliefs."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import ndtr

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.counter_random import standard_normals
from labelwise.numerics.ep.gaussians import largest_probabilities
from labelwise.numerics.ep.message_passing import Tree, multiply_down
from labelwise.numerics.ep.online_learning import Beliefs, Items, Prior, admit, project, stamp, walked
from labelwise.posterior import ItemCovariance, LabelCovariances, LabelPosterior

LINE = 8  # columns are padded to this many: their means and variances in float32 are a cache line, 64 bytes
RESERVE = 2**32  # bytes of address space asked for at first where the features would need more


class LabelBlock:
    """Weights of some labels: a row per feature, means before variances, padded to whole cache lines."""

    def __init__(self, first: int, dtype: npt.DTypeLike) -> None:
        self.first = first  # label
        self.n_labels = 0
        self.weights: FloatArray = _aligned((1, 2, 0), np.dtype(dtype))  # (room, 2, columns)
        self.counts: FloatArray = np.zeros((2, 0))  # (2, columns) negative, positive

    @property
    def columns(self) -> int:
        return int(self.weights.shape[2])

    @property
    def labels(self) -> slice:
        return slice(self.first, self.first + self.n_labels)

    def reshape(self, n_rows: int, room: int, n_labels: int, prior: Prior) -> None:
        """Memory for `room` rows and at least `n_labels` columns; the first `n_rows` rows and all labels are kept."""
        old, counts = self.weights[:n_rows], self.counts
        columns = max(-(-n_labels // LINE) * LINE, self.columns)
        self.n_labels = n_labels
        self.weights = _aligned((room, 2, columns), old.dtype)
        if columns > old.shape[2]:
            self.set_prior(0, n_rows, prior)
        self.weights[:n_rows, :, : old.shape[2]] = old
        self.counts = np.zeros((2, columns))
        self.counts[:, : counts.shape[1]] = counts

    def copy(self, n_rows: int, room: int) -> LabelBlock:
        """The first `n_rows` rows again, with this room; no others are touched."""
        twin = LabelBlock(self.first, self.weights.dtype)
        twin.n_labels, twin.counts = self.n_labels, self.counts.copy()
        twin.weights = _aligned((room, *self.weights.shape[1:]), self.weights.dtype)
        twin.weights[:n_rows] = self.weights[:n_rows]
        return twin

    def set_prior(self, start: int, stop: int, prior: Prior) -> None:
        self.weights[start:stop, 0] = 0
        self.weights[start:stop, 1] = 1 / prior.weight_precision
        if start == 0:
            self.weights[0, 1] = 1 / prior.local_precision


class OnlineState:
    """Means and variances of all weights, biases and counts; grows in features and in labels at any time.

    Room for rows is reserved ahead but not touched: the system commits memory when a row is first written. So 8 bytes
    per label and feature seen are in use (in float32), plus 12 bytes per feature.

    Parameters
    ----------
    prior : Prior
        Where weights start and, with forgetting, return to.
    block_size : int or None
        Labels that have an array of their own, a multiple of 16; None is one array for all.
    with_hubs : bool
        Whether each block has a bias.
    dtype : numpy dtype of the weights
    """

    def __init__(self, prior: Prior, block_size: int | None, with_hubs: bool, dtype: npt.DTypeLike) -> None:
        self.prior = prior
        self.block_size = block_size
        self.with_hubs = with_hubs
        self.dtype = np.dtype(dtype)
        self.seen = 0  # examples
        self.sweeps = 0  # of expectation propagation, over all examples and blocks
        self.n_features = 0
        self.n_labels = 0
        self.n_rows = 1  # row 0 is the constant feature
        self.row_of: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)  # (d,), -1 for a feature never seen
        self.last: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)  # (rows,), the example that last touched it
        self.bias: FloatArray = np.empty((0, 2))  # (hubs, 2) mean and variance
        self.blocks: list[LabelBlock] = []

    @property
    def counts(self) -> FloatArray:
        """(2, q) negative and positive answers to each label."""
        return np.hstack([np.zeros((2, 0)), *(block.counts[:, : block.n_labels] for block in self.blocks)])

    def set_counts(self, negative: FloatArray, positive: FloatArray) -> None:
        for block in self.blocks:
            block.counts[:, : block.n_labels] = negative[block.labels], positive[block.labels]

    def beliefs(self) -> list[Beliefs]:
        """Block by block, what learning changes."""
        hubs = self.bias if self.with_hubs else np.zeros((len(self.blocks), 2))
        return [Beliefs(block.weights, hub, block.counts) for block, hub in zip(self.blocks, hubs, strict=True)]

    # -- growing ------------------------------------------------------------------------------------------------------

    def grow(self, n_features: int, n_labels: int) -> None:
        """Make room for more features and labels: the new ones are at the prior; new labels get the current bias."""
        if n_features > self.n_features:
            unseen = np.full(n_features - self.n_features, -1, dtype=np.int32)
            self.row_of = np.concatenate([self.row_of, unseen])
            self.n_features = n_features
        if n_labels > self.n_labels:
            self.n_labels = n_labels
            size = self.block_size or n_labels
            for number in range(-(-n_labels // size)):
                self._grow_block(number, size)

    def _grow_block(self, number: int, size: int) -> None:
        if number == len(self.blocks):
            self.blocks.append(LabelBlock(number * size, self.dtype))
            if self.with_hubs:
                fresh = self.bias[-1] if len(self.bias) else np.array([0.0, 1 / self.prior.hub_precision])
                self.bias = np.vstack([self.bias, fresh])
        block = self.blocks[number]
        n_labels = min(size, self.n_labels - block.first)
        if n_labels > block.columns:
            block.reshape(self.n_rows, self._room(self.n_rows, n_labels), n_labels, self.prior)
        block.n_labels = n_labels

    def _room(self, needed: int, n_labels: int) -> int:
        """Rows to reserve: all features there are if that is affordable, else half as many again as are needed."""
        affordable = RESERVE // (2 * n_labels * self.dtype.itemsize)
        return max(needed, min(self.n_features + 1, max(affordable, needed + needed // 2)))

    # -- items in the names of rows -----------------------------------------------------------------------------------

    def admit(self, X: Any) -> Items:
        """Training items (CSR, canonical): features seen for the first time get a row. Counts as seeing them."""
        rows = self.rows_for(X.indices)
        indptr, elapsed = X.indptr.astype(np.int64), np.empty(0, dtype=np.float32)
        if self.prior.half_life > 0 or self.prior.drift > 0:
            elapsed = stamp(indptr, rows, self.last, self.seen)
        self.seen += X.shape[0]
        return Items(indptr, rows, X.data.astype(self.dtype, copy=False), elapsed)

    def rows_for(self, features: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        """The row of every feature; one without a row gets the next, at the prior."""
        rows = np.empty(features.size, dtype=np.int32)
        n_rows = admit(features, self.row_of, self.n_rows, rows)
        for block in self.blocks:
            if n_rows > block.weights.shape[0]:
                block.reshape(self.n_rows, self._room(n_rows, block.columns), block.n_labels, self.prior)
            block.set_prior(self.n_rows, n_rows, self.prior)
        self.last = np.concatenate([self.last, np.full(n_rows - self.n_rows, -1, dtype=np.int64)])
        self.n_rows = n_rows
        return rows

    def look_up(self, X: Any) -> Items:
        """Items to predict: nothing changes, features never seen have row -1."""
        rows = self._rows(X.indices)
        values = X.data.astype(self.dtype, copy=False)
        return Items(X.indptr.astype(np.int64), rows, values, self._pending(rows))

    def _rows(self, features: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.int32]:
        if features.size == 0 or features.max() < self.n_features:
            return self.row_of[features]
        known = features < self.n_features
        return np.where(known, self.row_of[np.where(known, features, 0)], np.int32(-1))

    def _pending(self, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
        """Examples by which the rows have yet to fade; empty where nothing is forgotten."""
        if self.prior.half_life == 0:
            return np.empty(0, dtype=np.float32)
        return (self.seen - 1 - self.last[np.maximum(rows, 0)]).astype(np.float32)

    def _walked(self, rows: npt.NDArray[np.integer[Any]]) -> FloatArray:
        """Variance by which beliefs about the rows have yet to widen; none for features never seen."""
        elapsed = np.where(rows < 0, 0, self.seen - 1 - self.last[np.maximum(rows, 0)])
        return np.asarray(walked(elapsed, self.prior), dtype=self.dtype)

    # -- reading ------------------------------------------------------------------------------------------------------

    def project(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """(n, q) mean and variance of the scores over the bias, without noise."""
        mean = np.empty((X.shape[0], self.n_labels), dtype=self.dtype)
        variance = np.empty_like(mean)
        items = self.look_up(X)
        for block in self.blocks:
            project(items, block.weights, self.prior, mean, variance, block.labels.start, block.labels.stop)
        if self.prior.drift > 0:
            weighted = np.multiply(np.square(items.values), self._walked(items.rows))
            spread = sp.csr_array((weighted, items.rows + 1, items.indptr), shape=(len(mean), self.n_rows + 1))
            variance += spread.sum(1)[:, None]
        if self.with_hubs:
            hub = self.hub_of()
            mean -= self.bias[hub, 0]
            variance += self.bias[hub, 1]
        return mean, variance

    def hub_of(self) -> npt.NDArray[np.intp]:
        """(q,) the hub each label is compared with."""
        return np.arange(self.n_labels) // (self.block_size or max(self.n_labels, 1))

    def weights_of(self, features: npt.NDArray[np.integer[Any]]) -> tuple[FloatArray, FloatArray]:
        """(m, q) mean and variance of the weights of some features as they are now."""
        rows = self._rows(features)
        known = rows >= 0
        mean = np.zeros((len(rows), self.n_labels), dtype=self.dtype)
        variance = np.full_like(mean, 1 / self.prior.weight_precision)
        for block in self.blocks:
            learnt = block.weights[rows[known], :, : block.n_labels]
            mean[known, block.labels], variance[known, block.labels] = learnt[:, 0], learnt[:, 1]
        if self.prior.half_life > 0:
            keep = 2.0 ** (-self._pending(rows) / self.prior.half_life)[:, None]
            faded = 1 / (self.prior.weight_precision + keep * (1 / variance - self.prior.weight_precision))
            mean, variance = keep * mean / variance * faded, faded
        if self.prior.drift > 0:
            variance += self._walked(rows)[:, None]
        return mean, variance

    def local_bias(self) -> tuple[FloatArray, FloatArray]:
        """(q,) mean and variance of the constant feature's weights; zeros where there is none."""
        mean, variance = np.hstack([block.weights[0, :, : block.n_labels] for block in self.blocks])
        return (mean, variance) if self.prior.local_bias else (np.zeros_like(mean), np.zeros_like(mean))

    # -- files --------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything learnt, as arrays without the reserve; the weights of further blocks are weights_1, ..."""
        weights = {_name(number): block.weights[: self.n_rows] for number, block in enumerate(self.blocks)}
        return {**weights, "features": self.feature_of(), "last": self.last, "bias": self.bias, "counts": self.counts}

    def feature_of(self) -> npt.NDArray[np.int64]:
        """(rows - 1,) the feature of every row but that of the constant, in the order of the rows."""
        features = np.flatnonzero(self.row_of >= 0)
        feature_of = np.empty(self.n_rows - 1, dtype=np.int64)
        feature_of[self.row_of[features] - 1] = features
        return feature_of

    def copy(self) -> OnlineState:
        """The same again: learning one leaves the other as it is."""
        twin = copy(self)
        twin.row_of, twin.last, twin.bias = self.row_of.copy(), self.last.copy(), self.bias.copy()
        twin.blocks = [block.copy(self.n_rows, len(block.weights)) for block in self.blocks]
        return twin

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Back from `arrays`, bit for bit, once grown to the same features and labels."""
        self.n_rows = arrays["features"].size + 1
        self.row_of[arrays["features"]] = np.arange(1, self.n_rows, dtype=np.int32)
        for number, block in enumerate(self.blocks):
            block.reshape(0, self._room(self.n_rows, block.columns), block.n_labels, self.prior)
            block.weights[: self.n_rows] = arrays[_name(number)]
        self.last, self.bias = arrays["last"], arrays["bias"]
        self.set_counts(*arrays["counts"])

    def __getstate__(self) -> dict[str, Any]:
        blocks = [block.copy(self.n_rows, self.n_rows) for block in self.blocks]  # the reserve stays behind
        return {**self.__dict__, "blocks": blocks}


def _name(number: int) -> str:
    return f"weights_{number}" if number else "weights"


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> FloatArray:
    """An uninitialised array that begins on a cache line."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.empty(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)


# -- beliefs ----------------------------------------------------------------------------------------------------------


WEIGHT, HUB, LOCAL, NOISE = range(4)  # what a random number is for: part of its address
BLOCK = 2048  # items projected at a time where only their probabilities are kept


class OnlinePosterior(LabelPosterior):
    """Beliefs of an `OnlineBayes` model about items; holds the items and the model, computes what is asked.

    Draws are joint over all items: sample t uses the same weights for every item. They are made from a counter-based
    generator, and one number is taken from `rng` for all of them. So blocks of a batch that are each given a generator
    in the same state see the same weights, and each item the same noise, as the whole batch would.

    It speaks of the model as it was when `posterior` was called, and refuses to speak once the model has learnt more.
    """

    joint_draws = True

    def __init__(
        self,
        state: OnlineState,
        X: Any,
        noise_variance: float,
        one_label: bool,
        items: npt.NDArray[np.int64] | None = None,
        tree: Tree | None = None,
    ) -> None:
        super().__init__(X.shape[0], state.n_labels)
        self._state, self._seen, self._X = state, state.seen, X
        self._noise_variance, self._one_label, self._tree = noise_variance, one_label, tree
        self._items = np.arange(X.shape[0]) if items is None else items

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> OnlinePosterior:
        self._check_fresh()
        some = self._X[rows], self._noise_variance, self._one_label, self._items[rows], self._tree
        return OnlinePosterior(self._state, *some)

    def scores(self) -> tuple[FloatArray, FloatArray]:
        """(n, q) mean and variance of each label's score over its bias, before the noise.

        In a hierarchy it is the score given that the labels above are relevant.
        """
        self._check_fresh()
        return self._state.project(self._X)

    def probabilities(self) -> FloatArray:
        p = np.empty((self.n_items, self.n_labels))
        for start in range(0, self.n_items, BLOCK):
            part = slice(start, start + BLOCK)
            p[part] = self._probabilities(*self.rows(part).scores())
        return p

    def label_covariances(self) -> LabelCovariances:
        """Labels that share a hub move together: to first order Cov(y, y') = φ φ' Var(b) / (scale scale')."""
        mean, variance = self.scores()
        p = self._probabilities(mean, variance)
        if self._tree is not None:
            return _tree_covariances(p, self._tree)
        spread = np.maximum(p * (1 - p), 1e-12)
        if not len(self._state.bias):
            return LabelCovariances(spread, np.zeros((*p.shape, 0)))
        total = variance + self._noise_variance
        slope = np.exp(-0.5 * mean**2 / total) / np.sqrt(2 * np.pi * total)  # (n, q), dp/db
        hub = self._state.hub_of()
        shared = slope * np.sqrt(self._state.bias[hub, 1])
        factor = shared[:, :, None] * (hub[:, None] == np.arange(len(self._state.bias)))
        return LabelCovariances(np.maximum(spread - shared**2, 1e-12), factor)

    def item_covariance(self) -> ItemCovariance:
        """Between items, from the variances of the weights averaged over labels."""
        self._check_fresh()
        features, X = self._own_features()
        _, variance = self._state.weights_of(features)
        constant = self._state.local_bias()[1].mean() + (
            self._state.bias[:, 1].mean() if len(self._state.bias) else 0.0
        )
        return _WeightCovariance(X * np.sqrt(variance.mean(1))[None, :], float(constant), self._noise_variance)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        drawn = np.empty((n_samples, self.n_items, self.n_labels), dtype=np.float32)
        for t, score in enumerate(self._draw_scores(n_samples, _seed(rng))):
            drawn[t] = self._probabilities(score, np.zeros_like(score))
        return drawn

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        drawn = np.empty((n_samples, self.n_items, self.n_labels), dtype=bool)
        seed, scale = _seed(rng), np.float32(np.sqrt(self._noise_variance))
        for t, score in enumerate(self._draw_scores(n_samples, seed)):
            score += scale * standard_normals(self._items, self.n_labels, seed=seed, sample=t, kind=NOISE)
            drawn[t] = _only_largest(score) if self._one_label else score > 0
            if self._tree is not None:
                multiply_down(drawn[t], self._tree)
        return drawn

    def _draw_scores(self, n_samples: int, seed: int) -> Iterator[FloatArray]:
        """(n, q) scores over the bias under one draw of the weights after another."""
        self._check_fresh()
        q = self.n_labels
        features, X = self._own_features()
        mean, variance = self._state.weights_of(features)
        scale = np.sqrt(variance)
        local_mean, local_variance = self._state.local_bias()
        bias, hub = self._state.bias, self._state.hub_of()
        zero = np.zeros(1, dtype=np.int64)
        for t in range(n_samples):
            weights = mean + scale * standard_normals(features, q, seed=seed, sample=t, kind=WEIGHT)
            local = local_mean + np.sqrt(local_variance) * standard_normals(zero, q, seed=seed, sample=t, kind=LOCAL)[0]
            score = X @ weights.astype(np.float32, copy=False) + local
            if len(bias):
                shared = standard_normals(zero, len(bias), seed=seed, sample=t, kind=HUB)[0]
                score -= (bias[:, 0] + np.sqrt(bias[:, 1]) * shared)[hub]
            yield score

    def _own_features(self) -> tuple[npt.NDArray[np.int64], Any]:
        """The features that occur in these items, and the items over those only."""
        features, place = np.unique(self._X.indices, return_inverse=True)
        data = self._X.data.astype(np.float32, copy=False)
        return features.astype(np.int64), sp.csr_array(
            (data, place.astype(np.int32), self._X.indptr), shape=(self.n_items, len(features))
        )

    def _probabilities(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        total = np.maximum(variance.astype(np.float64) + self._noise_variance, np.finfo(np.float32).tiny)
        if self._one_label:
            return largest_probabilities(mean, total)
        p = ndtr(mean / np.sqrt(total))
        if self._tree is not None:
            multiply_down(p, self._tree)
        return np.asarray(p)

    def _check_fresh(self) -> None:
        if self._state.seen != self._seen:
            raise RuntimeError(
                f"the model has learnt {self._state.seen - self._seen} rows since this posterior was made; "
                "call posterior(X) again"
            )


@dataclass(frozen=True, eq=False)
class _WeightCovariance:
    """F Fᵀ + constant for sparse F: rows times the standard deviation of their weights."""

    root: Any  # (n, features) CSR
    constant: float
    noise: float

    def diagonal(self) -> FloatArray:
        return np.asarray(self.root.multiply(self.root).sum(1)).ravel() + self.constant

    def columns(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        return (self.root @ self.root[rows].T).toarray() + self.constant

    def factor(self) -> FloatArray | None:
        n, d = self.root.shape
        return np.hstack([self.root.toarray(), np.full((n, 1), np.sqrt(self.constant))]) if d + 1 < n else None


def _tree_covariances(p: FloatArray, tree: Tree) -> LabelCovariances:
    """Of labels that are the products of independent ones along their paths; exact, a factor per label with children.

    Labels with the last common ancestor a have covariance p p' (1 / p_a − 1), and 1 / p_a − 1 is a sum over the labels
    from the top to a: 1 / p − 1 / p_parent of each.
    """
    q, parents = p.shape[1], tree.parents[: p.shape[1]]
    safe = np.maximum(p, 1e-12)
    above = np.where(parents >= 0, safe[:, parents], 1.0)
    root = np.sqrt(np.maximum(1 / safe - 1 / above, 0.0))  # (n, q)
    inner = np.unique(parents[parents >= 0])
    under = np.eye(q, dtype=bool)[:, inner]  # (q, r) does the label stand under it, or is it the same
    for c in tree.order[: p.shape[1]]:
        if parents[c] >= 0:
            under[c] |= under[parents[c]]
    factor = p[:, :, None] * under * root[:, None, inner]
    own = np.where(np.isin(np.arange(q), inner), 0.0, (p * root) ** 2)
    return LabelCovariances(np.maximum(own, 1e-12), factor)


def _only_largest(score: FloatArray) -> BoolArray:
    return np.arange(score.shape[1]) == score.argmax(1)[:, None]


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
