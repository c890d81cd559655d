"""What `OnlineBayes` believes about a batch of items: Gaussian scores, and draws of the weights behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import ndtr

from labelwise.models.online.state import OnlineState
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.counter_random import standard_normals
from labelwise.numerics.ep.gaussians import largest_probabilities
from labelwise.posterior import ItemCovariance, LabelCovariances, LabelPosterior

WEIGHT, HUB, LOCAL, NOISE = range(4)  # what a random number is for: part of its address
BLOCK = 2048  # items projected at a time where only their probabilities are kept


class OnlinePosterior(LabelPosterior):
    """Beliefs of an `OnlineBayes` model about items; holds the items and the model, computes what is asked.

    Draws are joint over all items: sample t uses the same weights for every item. They are made from a counter-based
    generator, and one number is taken from `rng` for all of them; so the blocks of a batch that are each given a
    generator in the same state see the same weights, and each item the same noise, as the whole batch would.

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
    ) -> None:
        super().__init__(X.shape[0], state.n_labels)
        self._state, self._seen, self._X = state, state.seen, X
        self._noise_variance, self._one_label = noise_variance, one_label
        self._items = np.arange(X.shape[0]) if items is None else items

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> OnlinePosterior:
        self._check_fresh()
        return OnlinePosterior(self._state, self._X[rows], self._noise_variance, self._one_label, self._items[rows])

    def scores(self) -> tuple[FloatArray, FloatArray]:
        """(n, q) mean and variance of each label's score over its bias, before the noise."""
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
        return largest_probabilities(mean, total) if self._one_label else ndtr(mean / np.sqrt(total))

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


def _only_largest(score: FloatArray) -> BoolArray:
    return np.arange(score.shape[1]) == score.argmax(1)[:, None]


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))
