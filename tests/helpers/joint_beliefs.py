"""Beliefs with everything a strategy may ask for, small enough for rivals in dense algebra."""

import numpy as np

from labelwise.posterior import LabelCovariances, MarginalPosterior


class JointBeliefs(MarginalPosterior):
    """n items with given places on a line, q labels with one shared covariance B, scaled per item by p(1 − p)."""

    noise = 0.1

    def __init__(self, probabilities, places, *, loadings=None, with_factor=False):
        super().__init__(probabilities)
        self.places = places
        q = probabilities.shape[1]
        self.loadings = np.ones((q, 1)) if loadings is None else loadings  # (q, r)
        self.with_factor = with_factor

    def rows(self, rows):
        return JointBeliefs(
            self._probabilities[rows], self.places[rows], loadings=self.loadings, with_factor=self.with_factor
        )

    def label_covariances(self):
        spread = np.sqrt(self._probabilities * (1 - self._probabilities))  # (n, q)
        return LabelCovariances(spread**2, spread[:, :, None] * self.loadings)

    def item_covariance(self):
        return self

    def features(self, places):
        return np.column_stack([np.ones_like(places), places, places**2]) / 10

    def columns(self, rows):
        if self.with_factor:
            return self.features(self.places) @ self.features(self.places[rows]).T
        return np.exp(-np.abs(self.places[:, None] - self.places[rows]))

    def diagonal(self):
        return np.diag(self.columns(np.arange(self.n_items)))

    def factor(self):
        return self.features(self.places) if self.with_factor else None

    def dense(self):
        """(n, n) covariance of the items' predictions, noise included."""
        return self.columns(np.arange(self.n_items)) + self.noise * np.eye(self.n_items)


def conditional_variance(C, x, given):
    given = list(given)
    if not given:
        return C[x, x]
    return C[x, x] - C[x, given] @ np.linalg.solve(C[np.ix_(given, given)], C[given, x])


def naive_information(C, n, eligible=None):
    """Greedy ½ log[var(x | chosen) / var(x | all other not chosen)], from the definition."""
    everything, chosen = range(len(C)), []
    allowed = set(everything if eligible is None else np.flatnonzero(eligible))
    for _ in range(n):
        gains = {}
        for x in sorted(allowed - set(chosen)):
            rest = [z for z in everything if z != x and z not in chosen]
            gains[x] = 0.5 * np.log(conditional_variance(C, x, chosen) / conditional_variance(C, x, rest))
        chosen.append(max(gains, key=gains.get))
    return chosen
