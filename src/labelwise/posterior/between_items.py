"""How the label probabilities of two items vary together, by what the model does not know.

An answer about one item moves the probability of the same label at another item by this covariance, divided by the
probability of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.gp.bivariate_normal import normal_excess
from labelwise.posterior.base import LabelPosterior, Rows


class ProbabilityCovariance(Protocol):
    """Between the items of a batch and m reference items among them, label by label."""

    def of(self, rows: Rows) -> FloatArray:
        """(b, m, q) of some of the items with the reference items."""
        ...


@dataclass(frozen=True, eq=False)
class CopulaCovariance:
    """Exactly that of labels which are present where a Gaussian function plus noise is below a bound.

    The probability p sets the bound Φ⁻¹(p). Two answers have the correlation ρ = c / √((c_ii + noise)(c_kk + noise)) by
    the covariance c of the function, so that E[p p'] = Φ₂(Φ⁻¹(p), Φ⁻¹(p'); ρ).

    Examples
    --------
    >>> half = np.zeros((2, 1))  # two items of probability one half
    >>> CopulaCovariance(half, half, np.array([[0.5, 0.25], [0.25, 0.5]])).of(slice(None))[:, :, 0].round(4)
    array([[0.0833, 0.0402],
           [0.0402, 0.0833]])
    """

    bounds: FloatArray  # (n, q) Φ⁻¹(p)
    at_reference: FloatArray  # (m, q)
    correlation: FloatArray  # (n, m)

    def of(self, rows: Rows) -> FloatArray:
        return normal_excess(self.bounds[rows][:, None], self.at_reference, self.correlation[rows][:, :, None])


@dataclass(frozen=True, eq=False)
class DrawnCovariance:
    """That of joint draws, without what few draws of independent items would show.

    s draws of independent items have a squared correlation of 1 / (s − 1) on average. A squared correlation r² counts
    as (r² (s − 1) − 1) / (s − 2), or not at all: 0 on average without dependence, 1 for an item with itself (Wherry
    1931).

    Examples
    --------
    >>> drawn = np.random.default_rng(0).random((50, 1, 1)) * np.ones((1, 2, 1))  # two items that go together
    >>> covariance = DrawnCovariance.between(drawn, np.array([1])).of(slice(None)).ravel()
    >>> np.allclose(covariance, drawn[:, 0].var())
    True
    """

    deviations: FloatArray  # (s, n, q) of the draws from their mean
    at_reference: FloatArray  # (s, m, q)

    @classmethod
    def between(cls, drawn: FloatArray, reference: IntArray) -> DrawnCovariance:
        deviations = drawn - drawn.mean(axis=0, dtype=np.float64)
        return cls(deviations, deviations[:, reference])

    def of(self, rows: Rows) -> FloatArray:
        some, s = self.deviations[:, rows], len(self.deviations)
        by_label = np.matmul(some.transpose(2, 1, 0), self.at_reference.transpose(2, 0, 1)) / s  # (q, b, m)
        largest = np.einsum("sbq,sbq->qb", some, some)[:, :, None] / s
        largest = largest * np.einsum("smq,smq->qm", self.at_reference, self.at_reference)[:, None] / s  # of squares
        share = np.divide(by_label**2, largest, out=np.zeros_like(by_label), where=largest > 0)  # r²
        kept = np.divide(share * (s - 1) - 1, share * (s - 2), out=np.zeros_like(share), where=share > 0)
        return (by_label * np.sqrt(np.clip(kept, 0.0, 1.0))).transpose(1, 2, 0)


def probability_covariance(
    beliefs: LabelPosterior, reference: IntArray, rng: np.random.Generator, n_samples: int = 100
) -> ProbabilityCovariance | None:
    """Of the items with the items `reference` of the same batch; None where the model has none between items.

    From `item_covariance` in closed form, by the link that `sample_probabilities` of the Gaussian models has. It is
    exact if all labels share the covariance, the link is the probit, and the training items were answered in full;
    otherwise it is that of the answers in full, and of labels on average. Probabilities that were changed after the
    model, say by hints, keep its correlations. Models without it that have `joint_draws` are drawn from.

    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.2]]))
    >>> probability_covariance(beliefs, np.array([0]), np.random.default_rng(0)) is None
    True
    """
    between = beliefs.item_covariance()
    if between is not None:
        scale = np.sqrt(np.maximum(between.diagonal(), 0.0) + between.noise)  # (n,)
        products = np.outer(scale, scale[reference])
        correlation = np.divide(between.columns(reference), products, out=np.zeros_like(products), where=products > 0)
        bounds: npt.NDArray[np.float64] = ndtri(np.clip(beliefs.probabilities(), 0.0, 1.0))
        return CopulaCovariance(bounds, bounds[reference], np.clip(correlation, -1.0, 1.0))
    if beliefs.joint_draws:
        if n_samples < 3:
            raise ValueError(f"n_samples must be at least 3 to tell dependence from chance, got {n_samples!r}")
        return DrawnCovariance.between(beliefs.sample_probabilities(n_samples, rng), reference)
    return None
