"""Beliefs about items some of whose own labels are known, by Gaussian conditioning."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.moved_beliefs import move_draws, move_ranking
from labelwise.posterior.base import LabelCovariances, LabelPosterior, Rows
from labelwise.posterior.wrapped import WrappedPosterior


class GivenPosterior(WrappedPosterior):
    """Beliefs about items some of whose own labels are known. Made by `LabelPosterior.given`.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> class Twins(MarginalPosterior):
    ...     def label_covariances(self):
    ...         return LabelCovariances(np.full((1, 2), 0.01), np.full((1, 2, 1), 0.24**0.5))
    >>> unsure = Twins(np.array([[0.5, 0.5]]))
    >>> unsure.given(np.array([[True, False]]), np.array([[True, False]])).probabilities().round(2)
    array([[1.  , 0.98]])
    """

    def __init__(self, before: LabelPosterior, values: Any, observed: Any) -> None:
        super().__init__(before)
        for name, matrix in (("values", values), ("observed", observed)):
            if matrix.shape != (self.n_items, self.n_labels):
                raise ValueError(f"{name} has shape {matrix.shape}, expected {(self.n_items, self.n_labels)}")
        self._values, self._observed = values, observed

    def probabilities(self) -> FloatArray:
        p, values, observed = self._inner.probabilities(), _dense(self._values), _dense(self._observed)
        if not observed.any():
            return p
        covariances, gain = self._knowledge()
        surprise = np.where(observed, values - p, 0.0) / covariances.diagonal  # (n, q), D⁻¹ (y - p) on what is known
        shared = np.einsum("nrt,nqt,nq->nr", gain, covariances.factor, surprise)  # (n, r), E[η | known]
        shift = np.einsum("nqr,nr->nq", covariances.factor, shared)
        return np.where(observed, values, np.where(shift == 0, p, np.clip(p + shift, 1e-6, 1 - 1e-6)))

    def label_covariances(self) -> LabelCovariances:
        covariances, gain = self._knowledge()
        known = _dense(self._observed)
        factor = np.where(known[:, :, None], 0.0, covariances.factor @ np.linalg.cholesky(gain))
        return LabelCovariances(np.where(known, 1e-12, covariances.diagonal), factor)

    def _knowledge(self) -> tuple[LabelCovariances, FloatArray]:
        """Covariances before, and (n, r, r) that of the shared factors η in y = p + U η + own noise, after."""
        covariances = self._inner.label_covariances()
        known = np.where(_dense(self._observed), 1 / covariances.diagonal, 0.0)  # (n, q)
        weighted = covariances.factor * known[:, :, None]
        precision = covariances.factor.swapaxes(1, 2) @ weighted + np.eye(covariances.factor.shape[2])
        return covariances, np.linalg.inv(precision)

    def ranking(self) -> FloatArray:
        """The model's; labels whose probability has changed stand where that probability belongs."""
        before, after = self._inner.probabilities(), self.probabilities()
        told = _dense(self._observed).any(axis=1, keepdims=True)
        return move_ranking(self._inner.ranking(), before, after, told & (before != after))

    def label_counts(self) -> FloatArray:
        """The model's, moved as far as the probabilities; never against what is known."""
        values, observed = _dense(self._values), _dense(self._observed)
        moved = self._inner.label_counts() + (self.probabilities() - self._inner.probabilities()).sum(axis=1)
        return np.clip(moved, (values & observed).sum(axis=1), self.n_labels - (~values & observed).sum(axis=1))

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """The model's draws, moved so that their mean is the probability given what is known."""
        drawn = np.array(self._inner.sample_probabilities(n_samples, rng))
        return move_draws(drawn, self._inner.probabilities(), self.probabilities())

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        """The model's draws for items of which nothing is known, for the others those of `label_covariances`."""
        told = _dense(self._observed).any(axis=1)
        if told.all():
            return LabelPosterior.sample_labels(self, n_samples, rng)
        drawn = np.array(self._inner.sample_labels(n_samples, rng))
        drawn[:, told] = LabelPosterior.sample_labels(self.rows(np.flatnonzero(told)), n_samples, rng)
        return drawn

    def _around(self, inner: LabelPosterior, rows: Rows) -> LabelPosterior:
        return type(self)(inner, self._values[rows], self._observed[rows])


def _dense(matrix: Any) -> BoolArray:
    return np.asarray(matrix.toarray() if sp.issparse(matrix) else matrix, dtype=bool)
