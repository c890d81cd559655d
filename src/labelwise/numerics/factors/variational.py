"""Gaussian beliefs about every factor instead of one best value: variational Bayes for the model of `factor_model`.

q(U) q(V) q(B) with a full k × k covariance per row; feature weights and biases stay point values. An entry's weight is
E[PG(b, c)] at c² = E[ψ²]. Every step raises the bound on the evidence. Memory n k²: for k up to about 32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.factors.model import FactorFit, Factors, better_overdispersion
from labelwise.numerics.polya_gamma import log_two_cosh, polya_gamma_mean
from labelwise.numerics.weighted_ridge import View, row_chunks

START_VARIANCE = 0.01  # of label and column factors before the first sweep


@dataclass(frozen=True, eq=False)
class FactorBeliefs:
    """Means, and the covariance of every row of U, V and B."""

    means: Factors
    items: FloatArray  # (n, k, k)
    labels: FloatArray  # (q, k, k)
    columns: FloatArray  # (c, k, k)

    @classmethod
    def start(cls, means: Factors, item_precision: float) -> FactorBeliefs:
        identity = np.eye(means.labels.shape[1])
        sizes = (len(means.items), 1 / item_precision), (len(means.labels), START_VARIANCE)
        items, labels = (np.tile(variance * identity, (rows, 1, 1)) for rows, variance in sizes)
        return cls(means, items, labels, np.tile(START_VARIANCE * identity, (len(means.columns), 1, 1)))


@dataclass(frozen=True, eq=False)
class Side:
    """Evidence about rows as in `View`, whose other side is believed rather than known."""

    view: View
    covariances: FloatArray  # (f, k, k) of the other side

    @property
    def second_moments(self) -> FloatArray:
        """(f, k²) of E[f fᵀ]."""
        return second_moments(self.view.factors, self.covariances)

    def rows(self, part: slice) -> Side:
        return Side(self.view.rows(part), self.covariances)

    def offsets(self) -> FloatArray:
        return self.view.row_offset[:, None] + self.view.column_offset  # (rows, f)

    def spread(self, A: FloatArray, covariances: FloatArray) -> FloatArray:
        """(rows, f) c = √E[ψ²]."""
        offset = self.offsets()
        mean_square = second_moments(A, covariances) @ self.second_moments.T
        mean_square += offset * (2 * (A @ self.view.factors.T) + offset)
        return np.sqrt(np.maximum(mean_square, 0.0))  # rounding may step below zero

    def weights(self, A: FloatArray, covariances: FloatArray) -> FloatArray:
        return polya_gamma_mean(self.view.trials, self.spread(A, covariances))

    def centred(self) -> FloatArray:
        """(rows, f) κ = a − b/2."""
        return self.view.successes - self.view.trials / 2


@dataclass(frozen=True, eq=False)
class VariationalFit:
    """The same problem as a `FactorFit`, in float64, with beliefs for factors."""

    fit: FactorFit

    def sweep(self, q: FactorBeliefs) -> FactorBeliefs:
        """Items, labels, columns, feature weights, biases, over-dispersion: each line raises the bound."""
        penalties, means = self.fit.penalties, q.means
        items, covariances = update_rows(
            (means.items, q.items), self._item_sides(q), penalties.items, prior_mean=means.expected
        )
        q = replace(q, means=replace(means, items=items), items=covariances)
        labels, covariances = update_rows((q.means.labels, q.labels), self._label_sides(q), penalties.labels)
        q = replace(q, means=replace(q.means, labels=labels), labels=covariances)
        q = self.update_columns(q)
        q = replace(q, means=self.fit.update_weights(q.means))
        return self._update_overdispersion(self._update_biases(q))

    def update_columns(self, q: FactorBeliefs) -> FactorBeliefs:
        if self.fit.data.counts is None:
            return q
        sides, penalty = self._column_sides(q), self.fit.penalties.columns
        columns, covariances = update_rows((q.means.columns, q.columns), sides, penalty)
        return replace(q, means=replace(q.means, columns=columns), columns=covariances)

    def update_count_biases(self, q: FactorBeliefs) -> FactorBeliefs:
        if not self.fit.bias or self.fit.data.counts is None:
            return q
        bias = self._biases(q.means.row_bias, self._label_sides(q)[1], q.means.labels, q.labels)
        q = replace(q, means=replace(q.means, row_bias=bias))
        bias = self._biases(q.means.column_bias, self._column_sides(q)[0], q.means.columns, q.columns)
        return replace(q, means=replace(q.means, column_bias=bias))

    def _item_sides(self, q: FactorBeliefs) -> list[Side]:
        return [Side(self.fit.item_view(q.means), q.labels)]

    def _label_sides(self, q: FactorBeliefs) -> list[Side]:
        return [Side(*pair) for pair in zip(self.fit.label_views(q.means), (q.items, q.columns), strict=False)]

    def _column_sides(self, q: FactorBeliefs) -> list[Side]:
        return [Side(self.fit.column_view(q.means), q.labels)]

    def _update_biases(self, q: FactorBeliefs) -> FactorBeliefs:
        if not self.fit.bias:
            return q
        bias = self._biases(q.means.label_bias, self._label_sides(q)[0], q.means.labels, q.labels)
        return self.update_count_biases(replace(q, means=replace(q.means, label_bias=bias)))

    def _biases(self, bias: FloatArray, side: Side, A: FloatArray, covariances: FloatArray) -> FloatArray:
        """Σ (κ − ω (mean of ψ without the bias)) / (Σ ω + λ₀), row by row."""
        better = np.empty_like(bias)
        for part in row_chunks(*side.view.trials.shape):
            some = side.rows(part)
            weights = some.weights(A[part], covariances[part])
            others = A[part] @ some.view.factors.T + some.view.column_offset
            total = (some.centred() - weights * others).sum(axis=1)
            better[part] = total / (weights.sum(axis=1) + self.fit.penalties.biases)
        return better

    def _update_overdispersion(self, q: FactorBeliefs) -> FactorBeliefs:
        counts = self.fit.data.counts
        if not self.fit.learn_overdispersion or counts is None:
            return q
        side = self._label_sides(q)[1]
        gamma = side.view.psi(q.means.labels)
        spent = (gamma / 2 + log_two_cosh(side.spread(q.means.labels, q.labels) / 2))[counts.known].sum()
        r = better_overdispersion(counts.values[counts.known], float(spent), q.means.overdispersion)
        return replace(q, means=replace(q.means, overdispersion=r))

    def bound(self, q: FactorBeliefs) -> float:
        """The evidence lower bound, up to the constants of the point values' priors."""
        p, f = self.fit.penalties, q.means
        total = _expected_likelihood(self._item_sides(q)[0], f.items, q.items)
        if self.fit.data.counts is not None:
            total += _expected_likelihood(self._label_sides(q)[1], f.labels, q.labels)
            total += p.counts_weight * self.fit.data.counts.constant(f.overdispersion)
        total -= _divergence(f.items - f.expected, q.items, p.items)
        total -= _divergence(f.labels, q.labels, p.labels) + _divergence(f.columns, q.columns, p.columns)
        biases = sum(float(np.square(bias).sum()) for bias in (f.label_bias, f.row_bias, f.column_bias))
        return total - 0.5 * (p.features * float(np.square(f.weights).sum()) + p.biases * biases)


def update_rows(
    rows: tuple[FloatArray, FloatArray], sides: Sequence[Side], penalty: float, prior_mean: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """New means and covariances of rows (means, covariances) given what is believed of the other sides."""
    A, covariances = rows
    k = A.shape[1]
    means, new_covariances = np.empty_like(A), np.empty_like(covariances)
    others = [side.second_moments for side in sides]
    width = max(k * k, sum(side.view.factors.shape[0] for side in sides))
    for part in row_chunks(len(A), width):
        precision = np.tile(penalty * np.eye(k).ravel(), (len(A[part]), 1))  # (rows, k²)
        right = np.zeros_like(A[part]) if prior_mean is None else penalty * prior_mean[part]
        for side, moments in zip(sides, others, strict=True):
            some = side.rows(part)
            weights = some.weights(A[part], covariances[part])
            precision += weights @ moments
            right = right + (some.centred() - weights * some.offsets()) @ some.view.factors
        new_covariances[part] = np.linalg.inv(precision.reshape(-1, k, k))
        means[part] = np.einsum("nij,nj->ni", new_covariances[part], right)
    return means, new_covariances


def second_moments(A: FloatArray, covariances: FloatArray) -> FloatArray:
    return (A[:, :, None] * A[:, None, :] + covariances).reshape(len(A), -1)  # (rows, k²)


def _expected_likelihood(side: Side, A: FloatArray, covariances: FloatArray) -> float:
    """Σ κψ − b log 2cosh(c/2): the bound on the expected log-likelihood at its best weights."""
    total = 0.0
    for part in row_chunks(*side.view.trials.shape):
        some = side.rows(part)
        spread = some.spread(A[part], covariances[part])
        total += float((some.centred() * some.view.psi(A[part]) - some.view.trials * log_two_cosh(spread / 2)).sum())
    return total


def _divergence(departures: FloatArray, covariances: FloatArray, precision: float) -> float:
    """KL of N(m, S) from N(prior mean, I/λ), summed over rows."""
    n, k = departures.shape
    traces = np.trace(covariances, axis1=1, axis2=2).sum()
    log_determinants = np.linalg.slogdet(covariances)[1].sum()
    squares = precision * (traces + np.square(departures).sum())
    return 0.5 * float(squares - n * k - n * k * np.log(precision) - log_determinants)
