"""A slow rival of weights that walk: one dense Gaussian over all weights at all times, and a site for each of them."""

import numpy as np

from comparison_ep import propagate


class WalkingWeights:
    """`OnlineBayes` with `drift` and `window` in float64, for rows that all have an answer to every label.

    Variables are the weights (d, q) and the bias or biases at each of n times. They are one Gaussian,
    with the sites of the rows on the diagonal of its precision. A row is taken out, its messages are found against the
    marginal of the rest, and it is put back: forth, then `passes` times back and forth.
    """

    def __init__(self, coupling, X, Y, *, drift, noise=1.0, weight_variance=1.0, bias_variance=1.0, margin=1.0):
        self.coupling, self.X, self.Y, self.noise, self.margin = coupling, np.asarray(X, float), Y, noise, margin
        (n, d), q = self.X.shape, Y.shape[1]
        n_biases = 1 if coupling == "global" else q
        prior = np.append(np.full(d * q, weight_variance), np.full(n_biases, bias_variance))
        begins = np.append(np.repeat((self.X != 0).argmax(0), q), np.full(n_biases, -1))  # a bias steps before row 0
        size, t = prior.size, np.arange(n)
        self.size, self.shape = size, (n, d, q)
        K = np.zeros((n, size, n, size))  # covariance before any answer
        for v in range(size):
            steps = np.maximum(np.minimum.outer(t, t) - begins[v], 0)  # it stands still until its feature is seen
            K[:, v, :, v] = prior[v] + drift * steps
        self.K = K.reshape(n * size, n * size)
        self.sites = np.zeros((2, n * size))  # precision, shift

    def learn(self, passes):
        n = self.shape[0]
        for turn in range(2 * passes + 1):
            for i in reversed(range(n)) if turn % 2 else range(n):
                self.refresh(i, seen=i + 1 if turn == 0 else n)
        return self

    def marginals(self, i, seen, without=()):
        """Mean and variance of the variables at time i, from the sites of the rows before `seen`."""
        n, size = self.shape[0], self.size
        kept = np.repeat((np.arange(n) < seen) & ~np.isin(np.arange(n), without), size)
        V = np.linalg.solve(np.eye(kept.size) + self.K * (self.sites[0] * kept), self.K)
        at = slice(i * size, (i + 1) * size)
        return (V @ (self.sites[1] * kept))[at], np.diag(V)[at]

    def refresh(self, i, seen):
        mean, variance = self.marginals(i, seen, without=[i])
        (_n, d, q), x, y = self.shape, self.X[i][:, None], self.Y[i]
        w_mean, w_variance = mean[: d * q].reshape(d, q), variance[: d * q].reshape(d, q)
        m, u = (x * w_mean).sum(0), (x**2 * w_variance).sum(0) + self.noise
        hub = np.full(q, q) if self.coupling == "global" else q + np.arange(q)
        comparisons = [(c, hub[c], self.margin) if y[c] else (hub[c], c, self.margin) for c in range(q)]
        f_mean, f_variance = propagate(np.append(m, mean[d * q :]), np.append(u, variance[d * q :]), comparisons)
        after_mean = w_mean + w_variance * x * (f_mean[:q] - m) / u
        after_variance = w_variance - (w_variance * x) ** 2 * (u - f_variance[:q]) / u**2
        after = np.append(after_mean, f_mean[q:]), np.append(after_variance, f_variance[q:])
        at = slice(i * self.size, (i + 1) * self.size)
        self.sites[:, at] = 1 / after[1] - 1 / variance, after[0] / after[1] - mean / variance

    def now(self):
        """Means and variances of the weights (d, q) and of the biases at the time of the last row."""
        n, d, q = self.shape
        mean, variance = self.marginals(n - 1, n)
        return mean[: d * q].reshape(d, q), variance[: d * q].reshape(d, q), mean[d * q :], variance[d * q :]
