"""A slow rival of `OnlineBayes` in float64: expectation propagation on any graph of comparisons v_i - v_j > e.

One engine serves every coupling: the star, separate labels, the true label against the rest and all pairs differ in
their list of comparisons alone. Moments are matched and divided factor by factor, without the package's closed forms.
"""

import numpy as np
from scipy.special import log_ndtr, ndtr
from scipy.stats import norm

from labelwise import OnlineBayes

COUPLINGS = ("global", "independent", "multiclass", "pairwise")


def log_evidence_slopes(gap, variance, edge, flip):
    """First and minus second derivative of log ∫ N(d; gap, variance) [(1-ρ) I(d > edge) + ρ I(d < -edge)] in gap."""
    scale = np.sqrt(variance)
    t = (gap - edge) / scale
    if flip == 0:
        ratio = np.exp(norm.logpdf(t) - log_ndtr(t))
        return ratio / scale, ratio * (ratio + t) / variance
    s = (-gap - edge) / scale
    evidence = (1 - flip) * ndtr(t) + flip * ndtr(s)
    slope = ((1 - flip) * norm.pdf(t) - flip * norm.pdf(s)) / scale / evidence
    bend = ((1 - flip) * t * norm.pdf(t) + flip * s * norm.pdf(s)) / variance / evidence
    return slope, slope**2 + bend


def propagate(mean, variance, comparisons, flip=0.0, sweeps=2000):
    """Means and variances of all variables once the messages of the comparisons (i, j, e) no longer change."""
    belief = np.array([1 / variance, mean / variance])  # (2, variables), precision and shift
    sites = np.zeros((len(comparisons), 2, 2))  # (factors, winner and loser, precision and shift)
    for _ in range(sweeps):
        before = belief.copy()
        for site, (winner, loser, edge) in zip(sites, comparisons, strict=True):
            cavity = belief[:, [winner, loser]].T - site
            S = 1 / cavity[:, 0]
            M = cavity[:, 1] * S
            slope, curvature = log_evidence_slopes(M[0] - M[1], S.sum(), edge, flip)
            matched_mean = M + S * slope * np.array([1, -1])
            matched_variance = S - S**2 * curvature
            matched = np.column_stack([1 / matched_variance, matched_mean / matched_variance])
            site[:] = matched - cavity
            belief[:, [winner, loser]] = matched.T
        if np.allclose(belief, before, rtol=1e-13, atol=1e-13):
            break
    return belief[1] / belief[0], 1 / belief[0]


def absorb(graph, mean, variance, sign, margin, hub=None, flip=0.0):
    """Gain and shrink of the scores of one example (how every weight below moves), and mean and variance of the hub.

    `graph` is "star" (every score against the hub), "independent" (against zero) or "pairwise" (every relevant score
    beats every irrelevant one); with one relevant score that is the multi-class graph, too. Sign 0: no answer.
    """
    q, yes, no = len(mean), np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
    if graph == "independent":
        slope, curvature = log_evidence_slopes(sign * mean, variance, margin, flip)
        return np.where(sign != 0, sign * slope, 0.0), np.where(sign != 0, curvature, 0.0), None
    if graph == "star":
        comparisons = [(c, q, margin[c]) for c in yes] + [(q, c, margin[c]) for c in no]
        before = np.append(mean, hub[0]), np.append(variance, hub[1])
    else:
        comparisons, before = [(r, k, margin[r]) for r in yes for k in no], (mean, variance)
    m, v = propagate(*before, comparisons, flip)
    return (m[:q] - mean) / variance, (variance - v[:q]) / variance**2, (m[q:], v[q:])


class ComparisonStream:
    """The model of `OnlineBayes`, learnt row by row; settings are named as there."""

    def __init__(self, coupling, n_features, n_labels, **settings):
        defaults = {"score_noise": 1.0, "weight_variance": 1.0, "bias_variance": None, "margin": 1.0}
        defaults |= {"skew_margin": True, "local_bias": False, "flip_probability": 0.0, "half_life": None}
        assert set(settings) <= set(defaults), settings
        self.coupling, self.set = coupling, defaults | settings
        shared = coupling == "global"
        self.bias_prior = self.set["bias_variance"] or (1e4 if shared and not self.set["flip_probability"] else 1.0)
        self.prior = np.full((n_features + self.set["local_bias"], n_labels), self.set["weight_variance"])
        self.mean, self.variance = np.zeros_like(self.prior), self.prior.copy()  # (d, q)
        n_hubs = {"global": 1, "independent": n_labels}.get(coupling, 0)
        self.hub_mean, self.hub_variance = np.zeros(n_hubs), np.full(n_hubs, self.bias_prior)
        self.counts = np.zeros((2, n_labels))

    def learn_all(self, X, Y, observed=None):
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            self.learn(x, y, np.ones(len(y), bool) if observed is None else observed[i])
        return self

    def learn(self, x, y, observed):
        y = np.asarray(y, dtype=bool)
        if self.set["half_life"] is not None:
            self.forget(0.5 ** (1 / self.set["half_life"]))
            self.counts *= 0.5 ** (1 / self.set["half_life"])
        x = np.append(x, np.ones(int(self.set["local_bias"])))[:, None]
        self.counts += [observed & ~y, observed & y]
        q = len(y)
        m = (x * self.mean).sum(0)
        u = (x**2 * self.variance).sum(0) + self.set["score_noise"] ** 2
        mean, variance = propagate(
            np.append(m, self.hub_mean),
            np.append(u, self.hub_variance),
            self.comparisons(y, observed),
            self.set["flip_probability"],
        )
        self.hub_mean, self.hub_variance = mean[q:], variance[q:]
        self.mean = self.mean + self.variance * x * (mean[:q] - m) / u
        self.variance = self.variance - (self.variance * x) ** 2 * (u - variance[:q]) / u**2

    def comparisons(self, y, observed):
        q, margin = len(y), self.set["margin"]
        yes, no = np.flatnonzero(observed & y), np.flatnonzero(observed & ~y)
        if self.coupling in ("multiclass", "pairwise"):
            return [(r, k, margin) for r in yes for k in no]
        skew = (
            np.log(np.e + self.counts[0] / np.maximum(self.counts[1], 0.5)) if self.set["skew_margin"] else np.ones(q)
        )
        hub = np.full(q, q) if self.coupling == "global" else q + np.arange(q)
        return [(c, hub[c], margin * skew[c]) for c in yes] + [(hub[c], c, margin) for c in no]

    def forget(self, kept):
        self.mean, self.variance = _decay(self.mean, self.variance, self.prior, kept)
        self.hub_mean, self.hub_variance = _decay(self.hub_mean, self.hub_variance, self.bias_prior, kept)

    def scores(self, X):
        """(n, q) mean and variance of score minus bias, without the noise."""
        X = np.column_stack([X, np.ones((len(X), int(self.set["local_bias"])))])
        mean, variance = X @ self.mean, X**2 @ self.variance
        return (mean - self.hub_mean, variance + self.hub_variance) if len(self.hub_mean) else (mean, variance)


def _decay(mean, variance, prior, kept):
    precision = 1 / prior + kept * (1 / variance - 1 / prior)
    return kept * mean / variance / precision, 1 / precision


def exact(coupling="global", **settings):
    """A model in float64, on rows as they are, whose messages are exchanged until they stand still."""
    plain = {"normalize": None, "dtype": "float64", "tolerance": 1e-12, "max_sweeps": 3000, "local_bias": False}
    return OnlineBayes(coupling, **plain | settings)


def stream(coupling="global", n=10, d=3, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if coupling == "multiclass":
        return X, np.eye(q, dtype=bool)[rng.integers(q, size=n)]
    return X, rng.random((n, q)) < 0.4
