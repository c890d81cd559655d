"""Made-up data whose truth is known: overlapping Gaussians, shapes in the unit square, streams whose rules change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.records import LabelData

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
OWN_WORDS = 20  # of a drifting stream: words that speak of one label
WORDS_PER_LABEL = 3  # drawn for each label of a row
COMMON_WORDS = 10  # drawn for each row


def make_gaussian_labels(
    n_items: int = 1000,
    n_labels: int = 35,
    mean_labels: float = 7.0,
    random_state: int | np.random.Generator | None = None,
) -> LabelData:
    """Points in the plane, labelled by the Gaussians they lie near.

    Centres are uniform in a 10 × 10 box and standard deviations in 0.5–1.5. Items are drawn from all Gaussians in equal
    numbers. An item has the label of each Gaussian whose centre is at most C standard deviations away; C is such that
    items have `mean_labels` labels on average. Section 6.2 of Vasisht et al., KDD 2014; box and range of the deviations
    are ours, the paper does not give them.

    Parameters
    ----------
    n_items, n_labels : int
    mean_labels : float
        Met up to 1 / n_items.
    random_state : int, Generator or None

    Examples
    --------
    >>> data = make_gaussian_labels(500, random_state=0)
    >>> data.X.shape, data.n_labels, data.cardinality
    ((500, 2), 35, 7.0)
    """
    _check_counts(n_items, n_labels)
    if not 0 <= mean_labels <= n_labels:
        raise ValueError(f"mean_labels must be between 0 and n_labels = {n_labels}, got {mean_labels!r}")
    rng = np.random.default_rng(random_state)
    centres = rng.uniform(0, 10, (n_labels, 2))  # (q, 2)
    deviations = rng.uniform(0.5, 1.5, n_labels)  # (q,)
    source = rng.permutation(np.arange(n_items) % n_labels)  # (n,)
    X = centres[source] + deviations[source, None] * rng.standard_normal((n_items, 2))  # (n, 2)
    distances = np.linalg.norm(X[:, None] - centres, axis=2) / deviations  # (n, q)
    return LabelData.from_arrays(
        X,
        nearest_pairs(distances, round(mean_labels * n_items)),
        label_names=[f"gaussian_{label + 1}" for label in range(n_labels)],
        feature_names=["x1", "x2"],
    )


def nearest_pairs(distances: Floats, count: int) -> Bools:
    """Mark the `count` smallest distances: what bisecting the threshold C converges to."""
    chosen = np.zeros(distances.size, dtype=bool)
    chosen[np.argpartition(distances, count - 1, axis=None)[:count] if count else []] = True
    return chosen.reshape(distances.shape)


class Disc(NamedTuple):
    x: float
    y: float
    radius: float

    def holds(self, X: Floats) -> Bools:
        return (X[:, 0] - self.x) ** 2 + (X[:, 1] - self.y) ** 2 <= self.radius**2


class Box(NamedTuple):
    left: float
    right: float
    bottom: float
    top: float

    def holds(self, X: Floats) -> Bools:
        return (self.left <= X[:, 0]) & (X[:, 0] <= self.right) & (self.bottom <= X[:, 1]) & (X[:, 1] <= self.top)


SHAPES: tuple[Disc | Box, ...] = (  # G1 ... G8; each two neighbours overlap
    Disc(0.18, 0.75, 0.17),
    Disc(0.36, 0.75, 0.17),
    Box(0.55, 0.80, 0.60, 0.95),
    Box(0.70, 0.97, 0.50, 0.80),
    Disc(0.20, 0.28, 0.18),
    Box(0.25, 0.50, 0.08, 0.32),
    Box(0.55, 0.78, 0.05, 0.33),
    Disc(0.80, 0.28, 0.16),
)
SHAPE_LABELS = (
    *(f"G{k}" for k in range(1, 9)),
    *("C1", "C2"),
    *(f"O{k}" for k in range(1, 5)),
    *(f"E{k}" for k in range(1, 5)),
)
SUBSET = 0.3  # of the points in the ellipse E1 that also have E2, and independently E3


def make_shapes(
    n_items: int = 1000, noise: float = 0.0, random_state: int | np.random.Generator | None = None
) -> LabelData:
    """Points uniform in the unit square with 18 labels of four kinds.

    G1–G8: inside one of eight discs and boxes. C1, C2: inside exactly one, inside two or more of them. O1–O4: in the
    overlap of two neighbours, O1 that of G1 and G2. E1: inside an ellipse in the middle; E2 and E3: a random 30 % of
    E1 each; E4: E3 without E2. After the synthetic set of Shi, Yu & Yu, NeurIPS 2021; places and sizes are ours, the
    paper does not give them.

    Parameters
    ----------
    n_items : int
    noise : float
        Probability that an entry of Y is turned over, each by itself.
    random_state : int, Generator or None

    See Also
    --------
    shapes_probabilities : the exact probability of each label at a point.

    Examples
    --------
    >>> data = make_shapes(200, random_state=0)
    >>> data.X.shape, data.n_labels
    ((200, 2), 18)
    """
    _check_counts(n_items, len(SHAPE_LABELS))
    _check_noise(noise)
    rng = np.random.default_rng(random_state)
    X = rng.random((n_items, 2))
    regions = _regions(X)  # (n, 15): G, C, O, E1
    E1 = regions[:, -1]
    E2, E3 = (E1 & (rng.random(n_items) < SUBSET) for _ in range(2))
    Y = np.column_stack([regions, E2, E3, E3 & ~E2])
    Y ^= rng.random(Y.shape) < noise
    return LabelData.from_arrays(X, Y, label_names=SHAPE_LABELS, feature_names=["x1", "x2"])


def shapes_probabilities(X: npt.ArrayLike, noise: float = 0.0) -> Floats:
    """(n, 18) exact P(label | point) for `make_shapes`: no model can predict better.

    >>> shapes_probabilities([[0.5, 0.5]])[0, -4:]
    array([1.  , 0.3 , 0.3 , 0.21])
    """
    _check_noise(noise)
    regions = _regions(np.asarray(X, dtype=np.float64)).astype(np.float64)
    E1 = regions[:, -1:]
    p = np.hstack([regions, E1 * SUBSET, E1 * SUBSET, E1 * SUBSET * (1 - SUBSET)])
    return p * (1 - noise) + (1 - p) * noise


def _regions(X: Floats) -> Bools:
    """(n, 15) the labels that the point alone decides: G1–G8, C1, C2, O1–O4, E1."""
    G = np.column_stack([shape.holds(X) for shape in SHAPES])  # (n, 8)
    count = G.sum(axis=1)
    E1 = ((X[:, 0] - 0.5) / 0.38) ** 2 + ((X[:, 1] - 0.5) / 0.30) ** 2 <= 1
    return np.column_stack([G, count == 1, count >= 2, G[:, ::2] & G[:, 1::2], E1])


def _check_counts(n_items: int, n_labels: int) -> None:
    for name, value in (("n_items", n_items), ("n_labels", n_labels)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value!r}")


def _check_noise(noise: Any) -> None:
    if not 0 <= noise < 0.5:
        raise ValueError(f"noise must be between 0 and 0.5, got {noise!r}")


def make_drifting_stream(
    n_items: int = 10_000,
    n_labels: int = 12,
    *,
    share: float = 0.15,
    noise: float = 0.2,
    drift_at: int | Sequence[int] = (),
    new_label_at: int | None = None,
    random_state: int | np.random.Generator | None = None,
) -> LabelData:
    """Rows of words in the order in which they come; each label speaks through words of its own.

    A row has each label with probability `share`, a few words from each label's own vocabulary, and common words.

    Parameters
    ----------
    n_items, n_labels : int
    share : float
    noise : float
        Share of a label's words that are drawn from those of all labels instead.
    drift_at : int or several
        From these rows on each label speaks with the words of the next one: labels and words are as frequent as before,
        but what was learnt is wrong.
    new_label_at : int, optional
        The last label does not occur before this row.
    random_state : int, Generator or None

    Examples
    --------
    >>> data = make_drifting_stream(1000, drift_at=500, new_label_at=600, random_state=0)
    >>> data.X.shape, data.n_labels, int(data.Y[:600, [-1]].sum())
    ((1000, 540), 12, 0)
    """
    if n_items < 1 or n_labels < 2 or not (0 < share < 1 and 0 <= noise < 1):
        raise ValueError(
            "n_items must be at least 1, n_labels at least 2, share and noise between 0 and 1, "
            f"got {n_items!r}, {n_labels!r}, {share!r} and {noise!r}"
        )
    rng = np.random.default_rng(random_state)
    Y = rng.random((n_items, n_labels)) < share
    if new_label_at is not None:
        Y[:new_label_at, -1] = False
    rows, labels = np.nonzero(Y)
    drifts = np.searchsorted(np.sort(np.atleast_1d(drift_at)), rows, side="right")  # before each row
    own = ((labels + drifts) % n_labels)[:, None] * OWN_WORDS + rng.integers(
        OWN_WORDS, size=(len(rows), WORDS_PER_LABEL)
    )
    own = np.where(rng.random(own.shape) < noise, rng.integers(n_labels * OWN_WORDS, size=own.shape), own)
    n_common = 25 * n_labels
    frequency = 1 / np.arange(1, n_common + 1)
    common = rng.choice(n_common, size=(n_items, COMMON_WORDS), p=frequency / frequency.sum())
    common += n_labels * OWN_WORDS
    places = np.concatenate([np.repeat(rows, WORDS_PER_LABEL), np.repeat(np.arange(n_items), COMMON_WORDS)])
    words = np.concatenate([own.ravel(), common.ravel()])
    X = sp.coo_array((np.ones(len(words)), (places, words)), shape=(n_items, n_labels * OWN_WORDS + n_common))
    return LabelData.from_arrays(X.tocsr(), sp.csr_array(Y))
