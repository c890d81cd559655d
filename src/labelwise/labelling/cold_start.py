"""What to ask before anything is known: the items whose features together tell most about all the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.kernel_approximation import RBFSampler
from sklearn.preprocessing import StandardScaler

from labelwise.posterior import FloatArray, LabelPosterior
from labelwise.queries import MutualInformation
from labelwise.records import Features

RANK = 50  # directions of the features that count
NOISE = 0.1  # of an answer, relative to the mean variance of the items


@dataclass(frozen=True, eq=False)
class FactorCovariance:
    """Covariance F Fᵀ between items, F their features."""

    F: FloatArray  # (n, r)
    noise: float = NOISE

    def diagonal(self) -> FloatArray:
        return np.einsum("nr,nr->n", self.F, self.F)

    def columns(self, rows: npt.NDArray[np.intp]) -> FloatArray:
        return self.F @ self.F[rows].T

    def factor(self) -> FloatArray:
        return self.F


class FeatureBeliefs(LabelPosterior):
    """Nothing is known of any label, but items with similar features have similar ones."""

    def __init__(self, F: FloatArray, n_labels: int) -> None:
        super().__init__(F.shape[0], n_labels)
        self._F = F

    def probabilities(self) -> FloatArray:
        return np.broadcast_to(np.float64(0.5), (self.n_items, self.n_labels))

    def item_covariance(self) -> FactorCovariance:
        return FactorCovariance(self._F)

    def rows(self, rows: npt.NDArray[np.intp] | slice) -> FeatureBeliefs:
        return FeatureBeliefs(self._F[rows], self.n_labels)


def most_telling_items(
    X: Features, closed: sp.csr_array, n: int, random_state: int
) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """Up to n open items, best first, by greedy mutual information of their features, and what each tells.

    Examples
    --------
    >>> X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 5, axis=0)
    >>> rows, _ = most_telling_items(X, sp.csr_array((10, 3), dtype=bool), 2, random_state=0)
    >>> sorted((rows // 5).tolist())
    [0, 1]
    """
    beliefs = FeatureBeliefs(main_directions(X, random_state), closed.shape[1])
    choice = MutualInformation().choose(beliefs, closed, n, np.random.default_rng(random_state))
    return choice.rows, choice.scores


def main_directions(X: Features, random_state: int) -> FloatArray:
    """(n, r) scores whose products say how alike two items are, with a mean variance of one per item.

    Sparse features, mostly words, keep their strongest directions. Dense ones get random features of a Gaussian kernel:
    products of centred numbers would take opposite items for twins.
    """
    if not sp.issparse(X):
        scaled = StandardScaler().fit_transform(X)
        gamma = 0.5 / max(X.shape[1], 1)
        return RBFSampler(gamma=gamma, n_components=2 * RANK, random_state=random_state).fit_transform(scaled)
    rank = min(RANK, X.shape[1] - 1, X.shape[0] - 1)
    F = X.toarray() if rank < 2 else TruncatedSVD(rank, random_state=random_state).fit_transform(X)
    size = np.sqrt((F**2).sum() / max(F.shape[0], 1))
    return F / size if size > 0 else F
