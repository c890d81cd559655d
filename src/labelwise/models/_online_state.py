"""What `OnlineBayes` has learnt: one Gaussian per weight, with a row of memory for every feature it has seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.online_ep import Beliefs, Items, Prior, admit, project, stamp
from labelwise.posterior import FloatArray

LINE = 16  # columns are padded to this many: 64 bytes of float32, so that no two threads share a cache line
RESERVE = 2**32  # bytes of address space asked for at first where the features would need more


class OnlineState:
    """Means and variances of all weights, biases and counts; grows in features and in labels at any time.

    Room for rows is reserved ahead but not touched: the system commits memory when a row is first written, so what is
    in use is 8 bytes per label and feature seen (in float32), plus 12 bytes per feature.

    Parameters
    ----------
    prior : Prior
        Where weights start and, with forgetting, return to.
    block_size : int or None
        Labels that share one hub, a multiple of 16; None is one hub for all, 0 none at all.
    dtype : numpy dtype of the weights
    """

    def __init__(self, prior: Prior, block_size: int | None, dtype: npt.DTypeLike) -> None:
        self.prior = prior
        self.block_size = block_size
        self.seen = 0  # examples
        self.sweeps = 0  # of expectation propagation, over all examples and blocks
        self.n_features = 0
        self.n_labels = 0
        self.n_rows = 1  # row 0 is the constant feature
        self.row_of: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)  # (d,), -1 for a feature never seen
        self.last: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)  # (rows,), the example that last touched it
        self.bias: FloatArray = np.empty((0, 2))  # (blocks, 2)
        self.counts: FloatArray = np.zeros((2, 0))  # (2, columns) negative, positive
        self.weights: FloatArray = _aligned((1, 2, 0), np.dtype(dtype))  # (room, 2, columns)

    @property
    def columns(self) -> int:
        return int(self.weights.shape[2])

    def beliefs(self) -> Beliefs:
        return Beliefs(self.weights, self.bias, self.counts)

    # -- growing ------------------------------------------------------------------------------------------------------

    def grow(self, n_features: int, n_labels: int) -> None:
        """Make room for more features and labels: the new ones are at the prior; new labels get the current bias."""
        if n_features > self.n_features:
            unseen = np.full(n_features - self.n_features, -1, dtype=np.int32)
            self.row_of = np.concatenate([self.row_of, unseen])
            self.n_features = n_features
        if n_labels > self.n_labels:
            self.n_labels = n_labels
            columns = -(-n_labels // LINE) * LINE
            if columns > self.columns:
                self._widen(columns)
            self._add_hubs()

    def _widen(self, columns: int) -> None:
        old = self.weights[: self.n_rows]
        self.weights = _aligned((self._room(self.n_rows, columns), 2, columns), old.dtype)
        self._set_prior(0, self.n_rows)
        self.weights[: self.n_rows, :, : old.shape[2]] = old
        counts = np.zeros((2, columns))
        counts[:, : old.shape[2]] = self.counts
        self.counts = counts

    def _add_hubs(self) -> None:
        if self.block_size == 0:
            return
        wanted = 1 if self.block_size is None else -(-self.n_labels // self.block_size)
        fresh = self.bias[-1] if len(self.bias) else np.array([0.0, 1 / self.prior.hub_precision])
        self.bias = np.vstack([self.bias, np.tile(fresh, (wanted - len(self.bias), 1))])

    def _set_prior(self, start: int, stop: int) -> None:
        self.weights[start:stop, 0] = 0
        self.weights[start:stop, 1] = 1 / self.prior.weight_precision
        if start == 0:
            self.weights[0, 1] = 1 / self.prior.local_precision

    def _room(self, needed: int, columns: int) -> int:
        """Rows to reserve: all features there are if that is affordable, else half as many again as are needed."""
        affordable = RESERVE // (2 * columns * self.weights.dtype.itemsize)
        return max(needed, min(self.n_features + 1, max(affordable, needed + needed // 2)))

    # -- items in the names of rows -----------------------------------------------------------------------------------

    def admit(self, X: Any) -> Items:
        """Training items (CSR, canonical): features seen for the first time get a row. Counts as seeing them."""
        n_rows = admit(X.indices, self.row_of, self.n_rows)
        if n_rows > self.weights.shape[0]:
            old = self.weights[: self.n_rows]
            self.weights = _aligned((self._room(n_rows, self.columns), 2, self.columns), old.dtype)
            self.weights[: self.n_rows] = old
        self._set_prior(self.n_rows, n_rows)
        self.last = np.concatenate([self.last, np.full(n_rows - self.n_rows, -1, dtype=np.int64)])
        self.n_rows = n_rows
        items = self.look_up(X)
        if self.prior.half_life > 0:
            items = items._replace(elapsed=stamp(items.indptr, items.rows, self.last, self.seen))
        self.seen += X.shape[0]
        return items

    def look_up(self, X: Any) -> Items:
        """Items to predict: nothing changes, features never seen have row -1."""
        rows = self._rows(X.indices)
        values = X.data.astype(self.weights.dtype, copy=False)
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

    # -- reading ------------------------------------------------------------------------------------------------------

    def project(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """(n, q) mean and variance of the scores over the bias, without noise."""
        mean = np.empty((X.shape[0], self.n_labels), dtype=self.weights.dtype)
        variance = np.empty_like(mean)
        project(self.look_up(X), self.weights, self.prior, mean, variance)
        if len(self.bias):
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
        mean = np.zeros((len(rows), self.n_labels), dtype=self.weights.dtype)
        variance = np.full_like(mean, 1 / self.prior.weight_precision)
        mean[known] = self.weights[rows[known], 0, : self.n_labels]
        variance[known] = self.weights[rows[known], 1, : self.n_labels]
        if self.prior.half_life > 0:
            keep = 2.0 ** (-self._pending(rows) / self.prior.half_life)[:, None]
            faded = 1 / (self.prior.weight_precision + keep * (1 / variance - self.prior.weight_precision))
            mean, variance = keep * mean / variance * faded, faded
        return mean, variance

    def local_bias(self) -> tuple[FloatArray, FloatArray]:
        """(q,) mean and variance of the constant feature's weights; zeros where there is none."""
        row = self.weights[0, :, : self.n_labels] * float(self.prior.local_bias)
        return row[0], row[1]

    # -- files --------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Everything learnt, as arrays without the reserve."""
        features = np.flatnonzero(self.row_of >= 0)
        feature_of = np.empty(self.n_rows - 1, dtype=np.int64)
        feature_of[self.row_of[features] - 1] = features
        weights = self.weights[: self.n_rows]
        return {"weights": weights, "features": feature_of, "last": self.last, "bias": self.bias, "counts": self.counts}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        """Back from `arrays`, bit for bit, once grown to the same features and labels."""
        weights = arrays["weights"]
        self.n_rows = weights.shape[0]
        self.row_of[arrays["features"]] = np.arange(1, self.n_rows, dtype=np.int32)
        self.weights = _aligned((self._room(self.n_rows, self.columns), 2, self.columns), weights.dtype)
        self.weights[: self.n_rows] = weights
        self.last, self.bias, self.counts = arrays["last"], arrays["bias"], arrays["counts"]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "weights": self.weights[: self.n_rows].copy()}  # the reserve stays behind


def _aligned(shape: tuple[int, ...], dtype: np.dtype[Any]) -> FloatArray:
    """An uninitialised array that begins on a cache line."""
    size = int(np.prod(shape)) * dtype.itemsize
    raw = np.empty(size + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)
