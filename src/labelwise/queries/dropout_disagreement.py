"""Ask about items whose predicted labels change when features are dropped, one of each cluster (DropQuery)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import logit, ndtri
from sklearn.linear_model import Ridge

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.choosing import best, open_entries, open_items
from labelwise.numerics.clustering import LEARNT_ON, ItemVectors, at_most, nearest_to_centres
from labelwise.numerics.dropout_flips import any_flip, at_least_two_of_three, dropout_variance, flip_probability
from labelwise.numerics.user_input import check_at_least, check_choices
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Known, PoolAnswers
from labelwise.queries.base import Choice, Target

Noise = Literal["features", "beliefs"]
ENTRIES = 2**17  # (item, label) entries looked at together
HEAD_ROWS = 2000  # items that the linear head is learnt from
DRAWS = 32  # of the beliefs, for their variance
PASSES = 3
CHANCES = (0.5, 0.1, 0.01, 1e-6)  # of at least two flips in three passes: lowered until enough items qualify
MIN_PROBABILITY = 1e-6  # probabilities are kept so far from 0 and 1


@dataclass(frozen=True)
class DropoutDisagreement:
    """Items whose predicted label set changes under feature dropout; of these, the nearest to each k-means centre.

    A label flips with probability δ = Φ(−|μ| / √v), where μ is the model's log-odds and v the variance that dropout
    gives them. A strategy never sees the model, and many models have no weights. So v is that of a linear head: ridge
    regressions of the model's log-odds on the items' features. This works with every model, and needs no draws.

    An item is a candidate if two of three passes probably change its set. That threshold is lowered step by step until
    there are 25 candidates for each question. With many labels any set changes, so where there are more, those with the
    most expected flips Σ_j a_j δ_j are kept. If there are fewer candidates than questions, the rest is drawn at random.
    Answered labels do not count. Before the first answer all items are candidates.

    Items are clustered by their vectors, where features have such a block, else by all features, in rows of unit length
    (see `ItemVectors`). The head learns from the same columns. Sparse features are projected on 100 singular vectors.

    Parameters
    ----------
    noise : "features" or "beliefs"
        What is perturbed: features, by dropout; or what the model knows, with v from draws of its posterior. Under
        "beliefs" nothing flips for a model without draws, and questions are random.
    rate : float
        Share of the features that are dropped.
    label_weights : tuple of float, optional
        a_j, one for each label; by default 1.
    candidates : int
        For each question.
    as_released : bool
        Three passes are drawn, as in the published code. A set that changes in two of them is a candidate, in one if
        there are too few, and all such items are clustered (at most 10 000).

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> from labelwise.records import LabelData
    >>> X = np.array([[1.0, 3.0], [3.0, 1.0], [2.0, 2.1], [1.0, 2.9]])
    >>> beliefs = MarginalPosterior(np.array([[0.01], [0.99], [0.45], [0.02]]))
    >>> known = LabelData.from_arrays(X, [[np.nan], [1], [np.nan], [np.nan]], label_names=["a"])
    >>> rng = np.random.default_rng(0)
    >>> DropoutDisagreement(candidates=1).choose(beliefs, known.observed, 1, rng, known=known).rows
    array([2])

    References
    ----------
    Gupte, Aklilu, Nirschl & Yeung-Levy, Revisiting active learning in the era of vision foundation models, TMLR 2024.
    """

    noise: Noise = "features"
    rate: float = 0.75
    label_weights: tuple[float, ...] | None = None
    candidates: int = 25
    as_released: bool = False
    target: Target = "items"
    looks_at_answers: ClassVar[bool] = True

    def choose(
        self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator, *, known: Known
    ) -> Choice:
        """Up to n open items, the most doubtful of them first, reading the pool in blocks."""
        self._check(posterior.n_labels)
        answers = PoolAnswers.of(known, closed.shape)
        rows = open_items(closed)
        n = min(n, rows.size)
        if n == 0:
            return Choice(np.empty(0, dtype=np.intp), None, np.empty(0))
        vectors = ItemVectors.learn(known.X, getattr(known, "blocks", ()), rng)
        expected: FloatArray = np.zeros(rows.size)
        if answers.rows().size == 0:
            picked = at_most(max(LEARNT_ON, n), np.arange(rows.size), rng)
        else:
            doubt = _Doubt(self, posterior, known.X, vectors, rng)
            expected, level = doubt.of(rows, closed)
            picked = self._qualifying(expected, level, n, rng)
        if picked.size > n:
            picked = picked[nearest_to_centres(vectors(known.X[rows[picked]]), n, rng)]
        filled = rng.permutation(np.setdiff1d(np.arange(rows.size), picked))[: n - picked.size]
        picked = np.concatenate([picked[np.argsort(-expected[picked], kind="stable")], filled])
        return Choice(rows[picked], None, expected[picked])

    def _qualifying(self, expected: FloatArray, level: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
        """Places of the candidates, by how often their sets flip (m,) and how many flips are expected (m,)."""
        wanted, found = self.candidates * n, np.empty(0, dtype=np.intp)
        for least in (PASSES - 1, 1) if self.as_released else CHANCES:
            found = np.flatnonzero(level >= least)
            if found.size >= wanted:
                break
        if self.as_released:
            return at_most(max(LEARNT_ON, n), found, rng)
        return found[best(expected[found], wanted, rng.random(found.size))]

    def _check(self, n_labels: int) -> None:
        if self.target != "items":
            raise ValueError(f'DropoutDisagreement asks for "items", got target={self.target!r}')
        check_choices(self, noise=("features", "beliefs"))
        check_at_least(self, 1, "candidates")
        if not 0 < self.rate < 1:
            raise ValueError(f"rate is the share of features that are dropped, between 0 and 1, got {self.rate!r}")
        if self.label_weights is not None and len(self.label_weights) != n_labels:
            n_weights = len(self.label_weights)
            raise ValueError(f"label_weights has {n_weights} numbers, expected one for each of the {n_labels} labels")


class _Doubt:
    """How often the predicted labels of items change."""

    def __init__(
        self, settings: DropoutDisagreement, posterior: LabelPosterior, X: Any, vectors: ItemVectors, rng: Any
    ) -> None:
        self._settings, self._posterior, self._X, self._vectors, self._rng = settings, posterior, X, vectors, rng
        weights = settings.label_weights
        self._label_weights = np.ones(posterior.n_labels) if weights is None else np.array(weights)  # (q,)
        if settings.noise == "features":
            self._weights, self._scale = self._head()

    def _head(self) -> tuple[FloatArray, FloatArray]:
        """(k, q) weights, and the deviations (k,) by which vectors are divided first, of ridge regressions."""
        some = at_most(HEAD_ROWS, np.arange(self._posterior.n_items), self._rng)
        Z = self._vectors(self._X[some])  # (m, k)
        deviations = Z.std(axis=0)
        scale = np.where(deviations > 0, deviations, 1.0)
        fitted = Ridge(1.0).fit(Z / scale, _log_odds(self._posterior.rows(some)))
        return np.reshape(fitted.coef_, (self._posterior.n_labels, -1)).T, scale

    def of(self, rows: IntArray, closed: sp.csr_array) -> tuple[FloatArray, FloatArray]:
        """(m,) expected flips of open labels, and (m,) the chance that two of three passes change, or how many do."""
        expected, level = np.empty(rows.size), np.empty(rows.size)
        measure: Callable[..., tuple[FloatArray, FloatArray]]
        measure = self._drawn if self._settings.as_released else self._in_closed_form
        size = max(1, ENTRIES // self._posterior.n_labels)
        for start in range(0, rows.size, size):
            part = rows[start : start + size]
            found = measure(self._posterior.rows(part), part, open_entries(closed[part]))
            expected[start : start + size], level[start : start + size] = found
        return expected, level

    def _in_closed_form(
        self, beliefs: LabelPosterior, rows: IntArray, free: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        if self._settings.noise == "features":
            mean = _log_odds(beliefs)
            variance = dropout_variance(self._vectors(self._X[rows]), self._weights, self._settings.rate, self._scale)
        else:
            drawn = ndtri(
                _inside(beliefs.sample_probabilities(DRAWS, self._rng))
            )  # (s, b, q), normal for Gaussian models
            mean, variance = drawn.mean(axis=0), drawn.var(axis=0)
        flips = np.where(free, flip_probability(mean, variance, 0.0), 0.0)  # (b, q)
        return flips @ self._label_weights, at_least_two_of_three(any_flip(flips))

    def _drawn(self, beliefs: LabelPosterior, rows: IntArray, free: BoolArray) -> tuple[FloatArray, FloatArray]:
        mean = _log_odds(beliefs)
        if self._settings.noise == "features":
            passes = [mean + self._dropped(rows) for _ in range(PASSES)]
        else:
            passes = list(logit(_inside(beliefs.sample_probabilities(PASSES, self._rng))))
        flipped = [((noisy > 0) != (mean > 0)) & free for noisy in passes]
        share = sum(each.astype(np.float64) for each in flipped) / PASSES  # (b, q)
        return share @ self._label_weights, sum(each.any(axis=1).astype(np.float64) for each in flipped)

    def _dropped(self, rows: IntArray) -> FloatArray:
        """(b, q) how much one pass of dropout changes the head's output."""
        Z, rate = self._vectors(self._X[rows]) / self._scale, self._settings.rate
        kept = self._rng.random(Z.shape) >= rate
        return np.asarray((Z * (kept / (1 - rate) - 1)) @ self._weights)


def _inside(p: FloatArray) -> FloatArray:
    return np.clip(p, MIN_PROBABILITY, 1 - MIN_PROBABILITY)


def _log_odds(beliefs: LabelPosterior) -> FloatArray:
    return np.asarray(logit(_inside(beliefs.probabilities())))
