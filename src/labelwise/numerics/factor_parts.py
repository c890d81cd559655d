"""A sweep of the factor model over items in parts: what a part computes by itself, and what it adds to the rest.

An item's factors depend on its own row, so they stay with it. What a part says of the labels' factors are sums over its
items: slopes, Gram matrices, products in conjugate gradients. Only label factors, weights and those sums travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.factor_model import FactorData, Penalties, view_likelihood
from labelwise.numerics.linear_algebra import dense
from labelwise.numerics.weighted_ridge import RowSolver, View, mean_gram, weighted_products

FloatArray = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class FactorPart:
    """Some items of a problem, and how their factors are learnt."""

    X: Any  # (n, d)
    data: FactorData  # of these items, without counts
    penalties: Penalties
    solver: RowSolver

    @property
    def n_items(self) -> int:
        return int(self.data.labels.shape[0])


class SharedFactors(NamedTuple):
    """What all parts must know before a step."""

    labels: FloatArray  # V (q, k)
    label_bias: FloatArray  # b (q,)
    weights: FloatArray  # W (d, k)


class LabelEvidence(NamedTuple):
    """What the items of a part say of the labels: their factors, and the weight of each entry."""

    items: FloatArray  # U (n, k)
    weights: FloatArray  # (q, n)


class LabelSums(NamedTuple):
    """What the parts add up before label factors and feature weights are solved for."""

    slopes: FloatArray  # (q, k)
    grams: FloatArray  # (c, k, k) of the mean weights, for each chunk of labels
    features: FloatArray  # XᵀU (d, k)


def update_items(part: FactorPart, U: FloatArray | None, shared: SharedFactors) -> FloatArray:
    """(n, k) better factors of the items; None starts from zero."""
    if U is None:
        U = np.zeros((part.n_items, shared.labels.shape[1]), shared.labels.dtype)
    expected = np.asarray(part.X @ shared.weights)
    return part.solver.improve(U, [_item_view(part, shared)], part.penalties.items, expected)


def label_evidence(
    part: FactorPart, U: FloatArray, shared: SharedFactors, chunks: Sequence[slice]
) -> tuple[LabelEvidence, LabelSums]:
    """Weights that stay, and sums that go: a chunk of labels shares a preconditioner."""
    slope, weights = _label_view(part, U, shared).slopes(shared.labels)  # (q, n)
    grams = np.stack([mean_gram(weights[chunk], U) for chunk in chunks])
    return LabelEvidence(U, weights), LabelSums(slope @ U, grams, np.asarray(part.X.T @ U))


def label_products(evidence: LabelEvidence, P: FloatArray) -> FloatArray:
    """(q, k) Uᵀ diag(ω_l) U p_l over the items of the part."""
    return weighted_products(evidence.weights, evidence.items, P)


def label_grams(evidence: LabelEvidence) -> FloatArray:
    """(q, k, k) Uᵀ diag(ω_l) U over the items of the part."""
    U = evidence.items
    outer = (U[:, :, None] * U[:, None, :]).reshape(len(U), -1)
    return (evidence.weights @ outer).reshape(-1, U.shape[1], U.shape[1])


def bias_sums(part: FactorPart, U: FloatArray, shared: SharedFactors) -> FloatArray:
    """(2, q) slopes and weights of each label, summed over the items of the part."""
    slope, weights = _label_view(part, U, shared).slopes(shared.labels)
    return np.stack([slope.sum(axis=1), weights.sum(axis=1)])


def part_objective(part: FactorPart, U: FloatArray, shared: SharedFactors) -> float:
    """Log-likelihood of the labels and log-prior of the items' factors, up to its constant."""
    missed = np.square(U - np.asarray(part.X @ shared.weights), dtype=np.float64).sum()
    return view_likelihood(_item_view(part, shared), U) - 0.5 * part.penalties.items * float(missed)


def feature_gram(part: FactorPart) -> FloatArray:
    """(d, d) XᵀX in double precision."""
    X = part.X.astype(np.float64)
    return dense(X.T @ X)


def feature_products(part: FactorPart, P: FloatArray) -> FloatArray:
    """(d, k) XᵀX P."""
    return np.asarray(part.X.T @ (part.X @ P))


def feature_norms(part: FactorPart) -> FloatArray:
    """(d,) squared lengths of the columns of X."""
    squares = part.X.multiply(part.X) if sp.issparse(part.X) else part.X * part.X
    return np.asarray(squares.sum(axis=0)).ravel()


def _item_view(part: FactorPart, shared: SharedFactors) -> View:
    none = np.zeros(part.n_items, shared.labels.dtype)
    return View(shared.labels, part.data.labels, part.data.observed, none, shared.label_bias)


def _label_view(part: FactorPart, U: FloatArray, shared: SharedFactors) -> View:
    none = np.zeros(part.n_items, shared.labels.dtype)
    return View(U, part.data.labels_by_label, part.data.observed_by_label, shared.label_bias, none)
