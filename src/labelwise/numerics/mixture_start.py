"""Where the fit of a label mixture begins: the prior of its label probabilities, clusters of labels and features."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.cluster import KMeans

from labelwise.numerics.kernels import squared_norms

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]

LABEL_FLOOR = 1e-2  # added to a label's variance: a rare label must not rule the clusters
TIE_BREAKER = 1e-6
TRIES = 4
CLUSTER_ROWS = 2000  # centres are found on at most so many rows, drawn at random
ROUNDING = 1e-7  # a spread that is less of the mean is what rounding left
CONFIDENCE = 0.8  # responsibility of an item's own cluster at the start


def start_features(X: Any, Y: BoolArray, observed: BoolArray, rates: FloatArray, rng: np.random.Generator) -> Any:
    """(n, q + d + 1): labels and features with the same spread, and a trace of noise against ties.

    Unknown labels stand at their rate. Clusters do not depend on where the origin is, so features, which may be
    sparse, are not centred; spreads are root mean square distances from the mean.
    """
    centred = np.where(observed, Y - rates, 0.0) / np.sqrt(rates * (1 - rates) + LABEL_FLOOR)  # (n, q)
    noise = TIE_BREAKER * rng.standard_normal((len(Y), 1))  # one column, so that the order of labels does not matter
    if sp.issparse(X):
        return sp.hstack([sp.csr_array(_unit_spread(centred)), _unit_spread(X), sp.csr_array(noise)], format="csr")
    return np.hstack([_unit_spread(centred), _unit_spread(X), noise])


def start_responsibilities(features: Any, n_components: int, rng: np.random.Generator) -> FloatArray:
    """(n, k) from k-means on `start_features`: 0.8 for an item's own cluster, the rest shared by all."""
    n = features.shape[0]
    rows = np.sort(rng.choice(n, CLUSTER_ROWS, replace=False)) if n > CLUSTER_ROWS else np.arange(n)
    means = KMeans(n_components, n_init=TRIES, random_state=int(rng.integers(2**31))).fit(features[rows])
    own = np.zeros((n, n_components))
    own[np.arange(n), means.predict(features)] = 1.0
    return CONFIDENCE * own + (1 - CONFIDENCE) / n_components


def balanced_mean(n_components: int) -> float:
    """The prior mean with which the σ of all gates add up to about one; the gate is not shift-invariant."""
    return -float(np.log(max(n_components - 1, 1)))


def size_means(responsibilities: FloatArray) -> FloatArray:
    """(k,) prior means whose σ are the components' shares of the items, smoothed by one item each."""
    n, k = responsibilities.shape
    share = (responsibilities.sum(axis=0) + 1) / (n + k)
    return np.log(share) - np.log1p(-share) if k > 1 else np.zeros(1)


def _unit_spread(A: Any) -> Any:
    mean = np.asarray(A.mean(axis=0)).ravel()
    squares = squared_norms(A) - mean @ mean if sp.issparse(A) else squared_norms(A - mean)
    spread = float(np.sqrt(max(squares.mean(), 0.0)))
    return A / spread if spread > ROUNDING * np.sqrt(mean @ mean) else A * 0.0
