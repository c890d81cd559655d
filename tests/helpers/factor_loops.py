"""The factor model written out entry by entry: a slow rival of its sweeps, its objective and its bound.

With covariances of zero that stay zero it is expectation maximisation, otherwise variational Bayes.
"""

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from labelwise.numerics.factors.model import FactorFit, Factors
from labelwise.numerics.factors.variational import FactorBeliefs


def random_beliefs(fit: FactorFit, k=3, seed=0, *, certain=False) -> FactorBeliefs:
    """Any factors, biases and covariances; no covariances where they are certain."""
    rng = np.random.default_rng(seed)
    (n, q), d = fit.data.labels.shape, fit.regression.X.shape[1]
    c = 0 if fit.data.counts is None else fit.data.counts.values.shape[1]
    U, V, B, W = (rng.normal(size=(rows, k)) for rows in (n, q, c, d))
    a, b, c = (rng.normal(size=rows) * fit.bias for rows in (q if c else 0, q, c))
    means = Factors(U, V, B, W, b, a, c, 5.0, fit.regression.X @ W)
    roots = (0.0 if certain else 0.4) * rng.normal(size=(len(U) + len(V) + len(B), k, k))
    covariances = roots @ roots.swapaxes(1, 2) + (0.0 if certain else 0.05) * np.eye(k)
    return FactorBeliefs(means, *np.split(covariances, [len(U), len(U) + len(V)]))


class Loops:
    """The updates of a `FactorFit`, one row and one entry after another."""

    def __init__(self, fit: FactorFit, *, certain: bool):
        self.fit, self.p, self.certain = fit, fit.penalties, certain

    def label_entries(self, i, j):
        """Successes and trials of item i and label j."""
        return float(self.fit.data.labels[i, j]), float(self.fit.data.observed[i, j])

    def count_entries(self, q, i, j):
        """Those of the count of label i with column j."""
        counts, weight = self.fit.data.counts, self.p.counts_weight
        m, known = counts.values[i, j], counts.known[i, j]
        return weight * m * known, weight * (m + q.means.overdispersion) * known

    def row(self, own, others, penalty, prior=0.0):
        """Mean and covariance of a row; `others` are (mean, covariance, offset, successes, trials) of what it meets."""
        mean, covariance = own
        precision, right = penalty * np.eye(len(mean)), penalty * prior + np.zeros(len(mean))
        for other, doubt, offset, a, b in others:
            weight = weight_of(b, spread(own, (other, doubt), offset))
            precision = precision + weight * (np.outer(other, other) + doubt)
            right = right + (a - b / 2 - weight * offset) * other
        found = np.linalg.inv(precision)
        return found @ right, np.zeros_like(covariance) if self.certain else found

    def rows(self, name, q, others, penalty, prior=None):
        """All rows of the `name`d factors, each from what they all were before."""
        A, S = getattr(q.means, name), getattr(q, name)
        none = np.zeros_like(A) if prior is None else prior
        new = [self.row((A[i], S[i]), others(i), penalty, none[i]) for i in range(len(A))]
        means, covariances = (
            np.array(part).reshape(was.shape) for part, was in zip(zip(*new, strict=True), (A, S), strict=True)
        )
        return replace(q, means=replace(q.means, **{name: means}), **{name: covariances})

    def items(self, q):
        f = q.means
        return self.rows(
            "items",
            q,
            lambda i: [(v, q.labels[j], f.label_bias[j], *self.label_entries(i, j)) for j, v in enumerate(f.labels)],
            self.p.items,
            self.fit.regression.X @ f.weights,
        )

    def labels(self, q):
        f = q.means

        def others(j):
            met = [(u, q.items[i], f.label_bias[j], *self.label_entries(i, j)) for i, u in enumerate(f.items)]
            for c, column in enumerate(f.columns):
                met.append((column, q.columns[c], f.row_bias[j] + f.column_bias[c], *self.count_entries(q, j, c)))
            return met

        return self.rows("labels", q, others, self.p.labels)

    def columns(self, q):
        f = q.means

        def others(c):
            return [
                (v, q.labels[j], f.row_bias[j] + f.column_bias[c], *self.count_entries(q, j, c))
                for j, v in enumerate(f.labels)
            ]

        return self.rows("columns", q, others, self.p.columns) if len(f.columns) else q

    def weights(self, q):
        X, p = self.fit.regression.X, self.p
        W = np.linalg.solve(X.T @ X + p.features / p.items * np.eye(X.shape[1]), X.T @ q.means.items)
        return replace(q, means=replace(q.means, weights=W, expected=X @ W))

    def biases(self, q):
        """Of labels, then of the rows of counts, then of their columns."""
        if not self.fit.bias:
            return q
        f, n, s, c = q.means, len(q.means.items), len(q.means.labels), len(q.means.columns)
        new = [
            self._bias(f.label_bias[j], [(self._pair(q, i, j), 0.0, *self.label_entries(i, j)) for i in range(n)])
            for j in range(s)
        ]
        q = replace(q, means=replace(f, label_bias=np.array(new)))
        if not c:
            return q
        counts = [[(self._count_pair(q, j, k), *self.count_entries(q, j, k)) for k in range(c)] for j in range(s)]
        new = [
            self._bias(f.row_bias[j], [(pair, f.column_bias[k], *ab) for k, (pair, *ab) in enumerate(counts[j])])
            for j in range(s)
        ]
        q = replace(q, means=replace(q.means, row_bias=np.array(new)))
        new = [
            self._bias(f.column_bias[k], [(counts[j][k][0], q.means.row_bias[j], *counts[j][k][1:]) for j in range(s)])
            for k in range(c)
        ]
        return replace(q, means=replace(q.means, column_bias=np.array(new)))

    def _pair(self, q, i, j):
        return (q.means.items[i], q.items[i]), (q.means.labels[j], q.labels[j])

    def _count_pair(self, q, j, k):
        return (q.means.labels[j], q.labels[j]), (q.means.columns[k], q.columns[k])

    def _bias(self, bias, entries):
        top, bottom = 0.0, self.p.biases
        for (one, other), offset, a, b in entries:
            weight = weight_of(b, spread(one, other, bias + offset))
            top += a - b / 2 - weight * (one[0] @ other[0] + offset)
            bottom += weight
        return top / bottom

    def sweep(self, q):
        for update in (self.items, self.labels, self.columns, self.weights, self.biases):
            q = update(q)
        return q

    def bound(self, q):
        """The evidence lower bound, or the log-posterior where everything is certain."""
        f, p, total = q.means, self.p, 0.0
        for i in range(len(f.items)):
            for j in range(len(f.labels)):
                total += expected(*self._pair(q, i, j), f.label_bias[j], *self.label_entries(i, j))
        for j in range(len(f.labels) if len(f.columns) else 0):
            for k in range(len(f.columns)):
                offset = f.row_bias[j] + f.column_bias[k]
                total += expected(*self._count_pair(q, j, k), offset, *self.count_entries(q, j, k))
                if self.fit.data.counts.known[j, k]:
                    m, r = self.fit.data.counts.values[j, k], f.overdispersion
                    total += p.counts_weight * (gammaln(m + r) - gammaln(r) - gammaln(m + 1))
        pairs = (
            (f.items - f.expected, q.items, p.items),
            (f.labels, q.labels, p.labels),
            (f.columns, q.columns, p.columns),
        )
        for departures, covariances, penalty in pairs:
            for departure, S in zip(departures, covariances, strict=True):
                total -= penalty * (departure @ departure + np.trace(S)) / 2
                if not self.certain:
                    k = len(departure)
                    total += (k + k * np.log(penalty) + np.linalg.slogdet(S)[1]) / 2
        biases = sum(b @ b for b in (f.label_bias, f.row_bias, f.column_bias))
        return total - (p.features * (f.weights**2).sum() + p.biases * biases) / 2


def spread(one, other, offset):
    """√E[ψ²] of ψ = a·b + offset, for (mean, covariance) of both."""
    (a, A), (b, B) = one, other
    square = np.trace((np.outer(a, a) + A) @ (np.outer(b, b) + B)) + 2 * offset * (a @ b) + offset**2
    return np.sqrt(max(square, 0.0))


def weight_of(trials, c):
    """E[ω], ω ~ PG(trials, c)."""
    return trials * (0.25 - c**2 / 48 if c < 1e-3 else np.tanh(c / 2) / (2 * c))


def expected(one, other, offset, a, b):
    c = spread(one, other, offset)
    return (a - b / 2) * (one[0] @ other[0] + offset) - b * (c / 2 + np.log1p(np.exp(-c)))
