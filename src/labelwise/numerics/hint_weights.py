"""How far to believe hints beside a model: log-odds that are linear in both, with weights that the answers move.

All labels share one set of weights, found on all answers together, and every label has its own, held to the shared ones
by a prior. A name that misleads loses its weight by its own answers; a kind of hint that misleads by everybody's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.calibration import Entries, base_rates, bend, newton

HINT_WEIGHT, HINT_PRECISION = 0.4, 20.0  # prior of a shared weight: what a standard score is worth in log-odds
MODEL_MEAN, MODEL_PRECISION = np.array([0.0, 1.0, 1.0]), np.array([0.25, 4.0, 100.0])  # constant, base rate, evidence
LABEL_SD = np.array([0.5, 0.3])  # of a label's own intercept and slope around the shared ones
LABEL_HINT_SD = 0.4  # of a label's own weight of a hint
EXPECTED_LABELS = 3.0  # of an item, where nobody has answered anything
MOST_ENTRIES = 400_000  # answers that weights are learnt from


@dataclass(frozen=True, eq=False)
class HintWeights:
    """log-odds = intercept + slope · the model's log-odds + Σ_h weight_h · bend(z_h), one set of numbers per label.

    How uncertain they are: the k = 2 + h numbers of label j have the covariance R_j R_jᵀ + S_j S_jᵀ. R_j = `own` is
    what its own answers leave open. S_j = `common` is what the answers to all labels leave open, the same unknown for
    every label.

    Examples
    --------
    >>> weights = HintWeights.before_answers(n_hints=1, n_labels=6)
    >>> expit(weights.log_odds(np.zeros((1, 6)), np.array([[[0.0, 1, 2, 4, 8, -1]]]))).round(2)
    array([[0.5 , 0.6 , 0.67, 0.76, 0.84, 0.4 ]])
    """

    intercept: FloatArray  # (q,)
    slope: FloatArray  # (q,)
    weights: FloatArray  # (h, q)
    own: FloatArray | None = None  # (q, k, k); None: taken to be certain, as in files of earlier versions
    common: FloatArray | None = None  # (q, k, 3 + h)

    @classmethod
    def before_answers(cls, n_hints: int, n_labels: int) -> HintWeights:
        """The prior: hints in place of a model, and a base rate by which an item has three labels."""
        rate = min(EXPECTED_LABELS / n_labels, 0.5)
        own = np.diag(_own_precision(n_hints) ** -0.5)
        own[1, 1] = 0.0  # there is no model whose slope could be in doubt
        common = np.delete(np.diag(_shared_prior(n_hints)[1] ** -0.5), 1, axis=0)
        common[1] = 0.0
        return cls(
            np.full(n_labels, logit(rate)),
            np.zeros(n_labels),
            np.full((n_hints, n_labels), HINT_WEIGHT),
            np.broadcast_to(own, (n_labels, *own.shape)),
            np.broadcast_to(common, (n_labels, *common.shape)),
        )

    def log_odds(self, model: FloatArray, z: FloatArray) -> FloatArray:
        """(n, q) from the model's log-odds (n, q) and standard scores (h, n, q)."""
        log_odds = self.intercept + self.slope * model
        for weight, scores in zip(self.weights, z, strict=True):
            log_odds += weight * bend(scores)
        return log_odds

    def variances(self, model: FloatArray, z: FloatArray) -> FloatArray:
        """(n, q) of these log-odds, by what is unknown of the weights alone."""
        if self.own is None or self.common is None:
            return np.zeros(model.shape)
        roots = np.concatenate([self.own, self.common], axis=2)  # (q, k, r)
        K = roots @ roots.swapaxes(1, 2)  # (q, k, k)
        columns = _columns(model, z)
        return np.asarray(np.einsum("knq,qkl,lnq->nq", columns, K, columns, optimize=True))

    def draw_departures(
        self, model: FloatArray, z: FloatArray, n_samples: int, rng: np.random.Generator
    ) -> FloatArray | None:
        """(s, n, q) draws of how far the log-odds are off for what is unknown of the weights; None where nothing is.

        One draw has one set of weights for all items, so that parts of a batch can be drawn one by one.
        """
        if self.own is None or self.common is None:
            return None
        q, k, _ = self.own.shape
        step = np.einsum("qkl,sql->skq", self.own, rng.standard_normal((n_samples, q, k)))
        step += np.einsum("qkr,sr->skq", self.common, rng.standard_normal((n_samples, self.common.shape[2])))
        return np.asarray(np.einsum("skq,knq->snq", step, _columns(model, z)))


def _columns(model: FloatArray, z: FloatArray) -> FloatArray:
    """(2 + h, n, q) what the intercept, the slope and the weights are multiplied by."""
    return np.stack([np.ones_like(model), model, *map(bend, z)])


def learn_weights(model: FloatArray, z: FloatArray, Y: BoolArray, observed: BoolArray) -> HintWeights:
    """MAP weights from log-odds (n, q) that a model gives to answers it has not learnt from, and scores (h, n, q).

    First the shared ones, log-odds = w₀ + w₁ b + w₂ (model − b) + Σ w_h bend(z_h) with b the log-odds of the label's
    other answers. Then each label's own w₀, w₂ and w_h, with Gaussian priors around the shared ones. Their covariances
    are those of Laplace's method; how far a label's own move with the shared ones follows from the implicit function.
    """
    n, q = Y.shape
    most_rows = max(MOST_ENTRIES // q, 1)
    if n > most_rows:
        rows = np.sort(np.random.default_rng(0).permutation(n)[:most_rows])
        model, z, Y, observed = model[rows], z[:, rows], Y[rows], observed[rows]
    entries = Entries.of(Y, observed)
    rates = base_rates(Y, observed)
    answers, positives = entries.spread(entries.counts), entries.spread(entries.sums(entries.y))
    rate_without = logit((positives - entries.y + 0.5) / np.maximum(answers, 1))  # (N,)
    evidence = model.T[observed.T] - rate_without
    columns = np.stack([np.ones_like(evidence), evidence, *(bend(each).T[observed.T] for each in z)])  # (2 + h, N)
    shared, root = _fit_shared(np.insert(columns, 1, rate_without, axis=0), entries.y)
    own, C = _fit_labels(columns, shared[1] * rate_without, entries, np.delete(shared, 1))  # (2 + h, q), (q, k, k)
    b = logit(rates)
    intercept, turn = own[0] + (shared[1] - own[1]) * b, _turn(b, len(own))
    p = expit(
        shared[1] * rate_without + sum(entries.spread(w) * column for w, column in zip(own, columns, strict=True))
    )
    moved = np.stack([entries.sums(p * (1 - p) * rate_without * column) for column in columns], axis=1)  # (q, k)
    by_shared = np.insert(C * _own_precision(len(z)), 1, -np.einsum("qkl,ql->qk", C, moved), axis=2)  # (q, k, 3 + h)
    by_shared = turn @ by_shared
    by_shared[:, 0, 1] += b
    return HintWeights(intercept, own[1], own[2:], turn @ np.linalg.cholesky(C), by_shared @ root)


def _turn(b: FloatArray, k: int) -> FloatArray:
    """(q, k, k) from weights of the evidence beyond the log-odds b of the base rates to weights of the log-odds."""
    turn = np.repeat(np.eye(k)[None], b.size, axis=0)
    turn[:, 0, 1] = -b
    return turn


def _shared_prior(n_hints: int) -> tuple[FloatArray, FloatArray]:
    """(3 + h,) means and precisions."""
    mean = np.concatenate([MODEL_MEAN, np.full(n_hints, HINT_WEIGHT)])
    return mean, np.concatenate([MODEL_PRECISION, np.full(n_hints, HINT_PRECISION)])


def _own_precision(n_hints: int) -> FloatArray:
    """(2 + h,) of a label's own intercept, slope and weights around the shared ones."""
    return np.asarray(np.concatenate([LABEL_SD, np.full(n_hints, LABEL_HINT_SD)]) ** -2.0)


def _fit_shared(columns: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(3 + h,) MAP of a logistic regression of y (N,) on columns (3 + h, N), and a root of their covariance."""
    mean, precision = _shared_prior(len(columns) - MODEL_MEAN.size)

    def derivatives(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(w[:, 0] @ columns)
        gradient = columns @ (p - y) + precision * (w[:, 0] - mean)
        curvature = (columns * (p * (1 - p))) @ columns.T + np.diag(precision)
        return gradient[:, None], curvature[:, :, None]

    w = newton(derivatives, mean[:, None], np.ones((mean.size, 1), dtype=bool))
    return w[:, 0], np.linalg.cholesky(np.linalg.inv(derivatives(w)[1][:, :, 0]))


def _fit_labels(
    columns: FloatArray, offset: FloatArray, entries: Entries, shared: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Each label's MAP weights (k, q) of its entries' columns (k, N) beside the offset (N,), around the shared (k,).

    With them their covariances (q, k, k) as the shared ones are.
    """
    k = len(columns)
    mean = np.repeat(shared[:, None], entries.counts.size, axis=1)
    precision = _own_precision(k - LABEL_SD.size)

    def derivatives(w: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(offset + sum(entries.spread(w[i]) * columns[i] for i in range(k)))
        error, weight = p - entries.y, p * (1 - p)
        gradient = np.stack([entries.sums(error * column) for column in columns]) + precision[:, None] * (w - mean)
        curvature = np.zeros((k, k, mean.shape[1]))
        for i in range(k):
            weighted = weight * columns[i]
            for j in range(i + 1):
                curvature[i, j] = curvature[j, i] = entries.sums(weighted * columns[j])
        curvature[np.arange(k), np.arange(k)] += precision[:, None]
        return gradient, curvature

    w = newton(derivatives, mean, np.ones_like(mean, dtype=bool))
    return w, np.linalg.inv(np.moveaxis(derivatives(w)[1], 2, 0))
