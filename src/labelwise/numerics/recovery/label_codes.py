"""Codes for label vectors: z = Φ (y − ȳ), with k compressed dimensions instead of q labels.

Every projection Φ is a (k, q) array, so that any other code of the same shape may be used in its place. Equation
numbers are those of docs/mathematics/recovery.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.counter_random import standard_normals

RANK_TOLERANCE = 1e-10  # eigenvalues below this share of the largest are rounding, not directions


@dataclass(frozen=True, eq=False)
class CompressedLabels:
    """What a regression believes about the codes of n items: Φ yᵢ ~ N(`mean`ᵢ, `variance`ᵢ I), equation (1).

    One variance serves all k dimensions of an item, and it includes the noise of the regression.

    Examples
    --------
    >>> CompressedLabels(np.zeros((2, 3)), np.array([0.1, 0.0]))
    Traceback (most recent call last):
    ...
    ValueError: variance must be positive for every item, got 0.0 at item 1
    """

    mean: FloatArray  # (n, k)
    variance: FloatArray  # (n,), positive

    def __post_init__(self) -> None:
        if self.mean.ndim != 2 or self.variance.shape != self.mean.shape[:1]:
            raise ValueError(
                f"mean must be (items, dimensions) with one variance per item, got {self.mean.shape} and "
                f"{self.variance.shape}"
            )
        wrong = np.flatnonzero(~(self.variance > 0))
        if wrong.size:
            raise ValueError(
                f"variance must be positive for every item, got {float(self.variance[wrong[0]])} at item {wrong[0]}"
            )


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """The labels of n items that are already known: `labels` counts only where `observed` is True.

    Examples
    --------
    >>> known = KnownLabels(np.array([[1, 1, 0]]), np.array([[True, False, True]]))
    >>> known.values()
    array([[1., 0., 0.]])
    """

    labels: npt.NDArray[Any]  # (n, q)
    observed: BoolArray  # (n, q)

    def __post_init__(self) -> None:
        if self.labels.shape != self.observed.shape or self.observed.dtype != bool:
            raise ValueError(
                f"labels and a boolean mask of the same shape are needed, got {self.labels.shape} and "
                f"{self.observed.shape} of {self.observed.dtype}"
            )

    def values(self) -> FloatArray:
        """(n, q) labels as numbers, 0 where they are not known."""
        return np.where(self.observed, self.labels, 0).astype(np.float64)


def gaussian_projection(n_compressed: int, n_labels: int, rng: np.random.Generator) -> FloatArray:
    """Random Φ (k, q) with independent entries N(0, 1/k), so that every column has unit length on average.

    The paper leaves the scale open; the noise the evidence chooses follows it, so only this convention is needed
    for E[ΦᵀΦ] = I.
    """
    _check_sizes(n_compressed, n_labels)
    return rng.standard_normal((n_compressed, n_labels)) / np.sqrt(n_compressed)


def orthogonal_projection(n_compressed: int, n_labels: int, rng: np.random.Generator) -> FloatArray:
    """Random Φ (k, q) with orthonormal rows, uniform over all such (the QR factor of a Gaussian matrix).

    >>> Phi = orthogonal_projection(2, 5, np.random.default_rng(0))
    >>> np.allclose(Phi @ Phi.T, np.eye(2))
    True
    """
    _check_sizes(n_compressed, n_labels)
    if n_compressed > n_labels:
        raise ValueError(f"at most n_labels = {n_labels} orthonormal rows exist, got n_compressed = {n_compressed}")
    basis, R = np.linalg.qr(rng.standard_normal((n_labels, n_compressed)))
    return (basis * np.where(np.diag(R) < 0, -1.0, 1.0)).T  # QR fixes the signs by its own rule: undo it


def addressed_projection(
    n_compressed: int, n_labels: int, seed: int, kind: Literal["gaussian", "rademacher"] = "gaussian"
) -> FloatArray:
    """Random Φ (k, q) whose column j depends on the seed and j alone: a label added later leaves the others' codes.

    Entries are N(0, 1/k), or ±1/√k where `kind` is "rademacher".

    >>> np.array_equal(addressed_projection(3, 5, seed=1)[:, :4], addressed_projection(3, 4, seed=1))
    True
    """
    _check_sizes(n_compressed, n_labels)
    normal = standard_normals(np.arange(n_labels), n_compressed, seed=seed, sample=0, kind=0).astype(np.float64)
    entries = np.where(normal < 0, -1.0, 1.0) if kind == "rademacher" else normal
    return entries.T / np.sqrt(n_compressed)


def identity_projection(n_labels: int) -> FloatArray:
    """Φ = I: every label is its own dimension."""
    _check_sizes(n_labels, n_labels)
    return np.eye(n_labels)


def pca_projection(
    centred_labels: FloatArray, *, n_compressed: int | None = None, variance_share: float = 0.95
) -> FloatArray:
    """Φ (k, q) whose rows are the leading eigenvectors of the label covariance (PLST; Tai & Lin 2012), equation (15).

    k is `n_compressed`, or the fewest that hold `variance_share` of the variance; it is cut to the rank (at most
    n − 1), and is at least 1. The smaller of the n × n and q × q products of `centred_labels` is formed, never both.

    Parameters
    ----------
    centred_labels : (n, q) array
        From `centre_labels`.

    Examples
    --------
    >>> Y = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> pca_projection(centre_labels(Y, observed_means(Y)), n_compressed=1).round(2)
    array([[ 0.64,  0.64, -0.41]])
    """
    n, q = centred_labels.shape
    if n_compressed is not None:
        _check_sizes(n_compressed, q)
    if not 0 < variance_share <= 1:
        raise ValueError(f"variance_share must lie in (0, 1], got {variance_share!r}")
    wide = n < q
    product = centred_labels @ centred_labels.T if wide else centred_labels.T @ centred_labels
    rising, vectors = np.linalg.eigh(product)
    eigenvalues = rising[::-1]
    rank = int((eigenvalues > RANK_TOLERANCE * max(float(eigenvalues[0]), np.finfo(float).tiny)).sum())
    if rank == 0:
        return np.eye(1, q)  # all rows are equal: any direction holds all of the variance, which is none
    if n_compressed is None:
        share = np.cumsum(eigenvalues[:rank]) / eigenvalues[:rank].sum()
        n_compressed = int(np.searchsorted(share, variance_share - RANK_TOLERANCE)) + 1
    basis = vectors[:, ::-1][:, : min(n_compressed, rank)]  # (n or q, k)
    if wide:  # right singular vectors; QR, as dividing by small singular values costs them their right angles
        basis = np.linalg.qr(centred_labels.T @ basis).Q
    return _with_fixed_signs(basis.T)


def observed_means(labels: npt.NDArray[Any], observed: BoolArray | None = None) -> FloatArray:
    """(q,) share of positives among the observed entries of each label, 0 where none is observed.

    >>> observed_means(np.array([[1, 0], [0, 1]]), np.array([[True, False], [True, True]]))
    array([0.5, 1. ])
    """
    if observed is None:
        return labels.mean(axis=0, dtype=np.float64)
    positives = np.where(observed, labels, 0).sum(axis=0, dtype=np.float64)
    return positives / np.maximum(observed.sum(axis=0), 1)


def centre_labels(labels: npt.NDArray[Any], label_mean: FloatArray, observed: BoolArray | None = None) -> FloatArray:
    """(n, q) y − ȳ, and 0 where the label is not observed."""
    centred = labels - label_mean
    return centred if observed is None else np.where(observed, centred, 0.0)


def encode(labels: npt.NDArray[Any], projection: FloatArray, label_mean: FloatArray | None = None) -> FloatArray:
    """Codes Z = (Y − ȳ) Φᵀ (n, k) of complete rows, equation (1).

    Every code mixes all labels of its row, so one unknown label spoils it: fill incomplete rows first, for instance
    by `labelwise.numerics.recovery.row_completion.complete_rows`.
    """
    codes = labels @ projection.T
    return codes if label_mean is None else codes - projection @ label_mean


def back_project(codes: FloatArray, projection: FloatArray, label_mean: FloatArray | None = None) -> FloatArray:
    """ȳ + Z Φ (n, q): the inverse of `encode` on the span of orthonormal rows, and a crude score for any other Φ."""
    labels = codes @ projection
    return labels if label_mean is None else labels + label_mean


def explained_by_known(
    codes: FloatArray, projection: FloatArray, known: KnownLabels | None
) -> tuple[FloatArray, BoolArray]:
    """Φ_O y_O (n, k), what the known labels explain of the codes, and the mask of labels that are not known."""
    n, q = codes.shape[0], projection.shape[1]
    if projection.shape[0] != codes.shape[1]:
        raise ValueError(f"codes have {codes.shape[1]} dimensions, but the projection has {projection.shape[0]}")
    if known is None:
        return np.zeros_like(codes, dtype=np.float64), np.ones((n, q), dtype=bool)
    if known.observed.shape != (n, q):
        raise ValueError(f"known labels have shape {known.observed.shape}, expected (items, labels) = {(n, q)}")
    return known.values() @ projection.T, ~known.observed


def _with_fixed_signs(rows: FloatArray) -> FloatArray:
    """Make the entry of largest size in each row positive, so that equal inputs give equal codes everywhere."""
    largest = np.abs(rows).argmax(axis=1)
    return rows * np.where(rows[np.arange(rows.shape[0]), largest] < 0, -1.0, 1.0)[:, None]


def _check_sizes(n_compressed: int, n_labels: int) -> None:
    if n_compressed < 1 or n_labels < 1:
        raise ValueError(f"at least one label and one dimension are needed, got q = {n_labels}, k = {n_compressed}")
