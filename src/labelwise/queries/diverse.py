"""Batches without near-duplicates, whatever the strategy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.feature_scaling import unit_rows
from labelwise.numerics.gp.kernels import squared_norms
from labelwise.numerics.linear_algebra import dense
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Known
from labelwise.queries.base import Choice, LookingStrategy, Strategy, Target
from labelwise.queries.uncertainty import Uncertainty

HALVINGS = 6  # of the radius, until the batch is full; what is nearer then is taken in the strategy's order
LARGEST_SURPLUS = 5000  # candidates beyond the batch itself: bounds the cost of large batches
MEASURED = 200  # candidates whose distances say what is usual


@dataclass(frozen=True)
class Diverse:
    """Take the questions of another strategy in its order, and skip near-duplicates.

    The strategy's best questions are a shortlist. One of them is skipped if its item lies within `radius` of an item of
    the batch, in units of the median distance on the shortlist. If too few remain, the radius is halved, up to six
    times. A pair is skipped only for a pair of the same label: other labels of an item are other questions.

    Distances are Euclidean: sparse rows are scaled to unit length, dense columns to unit deviation. The cost does not
    depend on the pool: a distance from each item of the batch to the shortlist.

    Parameters
    ----------
    strategy : any strategy
        Its scores are kept. A strategy that plans its batches jointly has no near-duplicates.
    radius : float
        Items closer than this are near-duplicates, in units of the median distance.
    shortlist : int
        Candidates for each question of the batch, at most 5000 more than questions.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> from labelwise.records import LabelData
    >>> beliefs = MarginalPosterior(np.array([[0.5], [0.49], [0.3], [0.1]]))
    >>> known = LabelData.from_arrays([[0.0], [0.0], [1.0], [2.0]], label_names=["a"])  # the first two are the same
    >>> rng = np.random.default_rng(0)
    >>> Diverse(Uncertainty()).choose(beliefs, known.observed, 2, rng, known=known).rows
    array([0, 2])
    """

    strategy: Strategy | LookingStrategy
    radius: float = 0.5
    shortlist: int = 10
    looks_at_answers: ClassVar[bool] = True

    @property
    def target(self) -> Target:
        return self.strategy.target

    @property
    def looks_at_costs(self) -> bool:
        return getattr(self.strategy, "looks_at_costs", False)

    def choose(
        self,
        posterior: LabelPosterior,
        closed: sp.csr_array,
        n: int,
        rng: np.random.Generator,
        *,
        known: Known,
        **wanted: Any,
    ) -> Choice:
        """Up to n questions, in the strategy's order; `wanted` holds the strategy's other inputs."""
        self._check()
        if getattr(self.strategy, "looks_at_answers", False):
            wanted = {"known": known, **wanted}
        surplus = min((self.shortlist - 1) * n, LARGEST_SURPLUS) if n > 1 else 0
        shortlisted = self.strategy.choose(posterior, closed, n + surplus, rng, **wanted)
        if shortlisted.rows.size <= n:
            return shortlisted
        labels = np.zeros(shortlisted.rows.size, dtype=np.intp) if shortlisted.labels is None else shortlisted.labels
        picked = _apart(_comparable(known.X[shortlisted.rows]), labels, n, self.radius, rng)
        return Choice(
            shortlisted.rows[picked],
            None if shortlisted.labels is None else shortlisted.labels[picked],
            shortlisted.scores[picked],
        )

    def _check(self) -> None:
        if not self.radius >= 0:
            raise ValueError(f"radius must not be negative, got {self.radius!r}")
        if self.shortlist < 1:
            raise ValueError(f"shortlist must be at least 1 candidate for each question, got {self.shortlist!r}")


def _apart(Z: Any, labels: IntArray, n: int, radius: float, rng: np.random.Generator) -> IntArray:
    """n of the candidates, in their order: the first one each time that is not near one of its label taken before."""
    squares = squared_norms(Z)
    reach = radius * _usual_distance(Z, squares, rng)
    nearest = np.full(len(labels), np.inf)  # to those taken
    taken: list[int] = []
    for halving in range(HALVINGS + 1):
        while len(taken) < n:
            free = np.flatnonzero(nearest >= reach / 2**halving)
            if free.size == 0:
                break
            pick = int(free[0])
            taken.append(pick)
            distances = _distances(Z, squares, pick)
            nearest = np.where(labels == labels[pick], np.minimum(nearest, distances), nearest)
            nearest[pick] = -1.0
    left = np.setdiff1d(np.arange(len(labels)), taken)
    return np.sort(np.concatenate([np.array(taken, dtype=np.intp), left[: n - len(taken)]]))


def _comparable(X: Any) -> Any:
    """Rows of unit length where sparse, columns of unit deviation where dense."""
    if not sp.issparse(X):
        spread = np.std(X, axis=0, dtype=np.float64)
        return np.asarray(X, dtype=np.float64) / np.where(spread > 0, spread, 1.0)
    return unit_rows(sp.csr_array(X, dtype=np.float64))


def _distances(Z: Any, squares: FloatArray, row: int) -> FloatArray:
    """(m,) from one row to all; what is below rounding is none."""
    products = dense(Z @ Z[[row]].T)[:, 0]
    gaps = squares + squares[row] - 2 * products
    return np.sqrt(np.where(gaps > 1e-12 * (squares + squares[row]), gaps, 0.0))


def _usual_distance(Z: Any, squares: FloatArray, rng: np.random.Generator) -> float:
    """Median distance between candidates, or between a sample of them."""
    rows = np.arange(len(squares)) if len(squares) <= MEASURED else rng.choice(len(squares), MEASURED, replace=False)
    gaps = squares[rows][:, None] + squares[rows] - 2 * dense(Z[rows] @ Z[rows].T)
    return float(np.median(np.sqrt(np.maximum(gaps, 0.0))[np.triu_indices(rows.size, 1)]))


def diverse_uncertainty(target: Target = "items") -> Diverse:
    """`Diverse` of `Uncertainty`."""
    return Diverse(Uncertainty(target))
