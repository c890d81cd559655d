"""Ask for the items whose labels are least certain together, and early on for those whose features tell least."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import entr

from labelwise.numerics.choosing import best, open_entries, open_items
from labelwise.posterior import FloatArray, LabelCovariances, LabelPosterior
from labelwise.queries.base import Choice, Target

Measure = Literal["logdet", "entropy", "trace"]
BLOCK = 2**16  # entries (item, label) at a time: each has r numbers in the factors of the label covariances
KNOWN = 1e-6  # variance of a label that was answered: all but certain
SAMPLE = 1000  # items looked at closely to learn the spread of both columns, and the least that is shortlisted
STEADY = 1e-12  # a column that varies less than this, relative to its size, says nothing


@dataclass(frozen=True)
class LabelCovariance:
    """How uncertain the labels of an item are together, plus η times how little its features tell.

    The score is z(ln|cov y|) + η z(v), where cov y is the believed covariance of the item's labels, v the variance of
    what the model knows about its features (the gates of `LabelMixtureGP`, the latent function of `LabelGP`), and z
    standardises over the items that can be asked. η = `weight` · exp(−answered / `decay`) falls with the items
    answered, from exploring to refining. Without the standardisation the variance is far too small to matter.

    A label of an item that was answered counts as certain. With a model that knows no covariance between labels the
    first term is that of independent labels; with one that does not know how little features tell, the second is zero.

    Parameters
    ----------
    measure : "logdet", "entropy" or "trace"
        ln|cov|, the summed entropies of the labels, or their summed variances. The log-determinant counts relative
        change: a label that goes from .0001 to .001 weighs as much as one that goes from .05 to .5.
    weight : float
        η at the start; 0 for labels only, inf for features only.
    decay : float
        Items answered until η has fallen to 1 / e of its start; inf keeps it constant.
    start : int
        Items that were answered before the first question and do not count for `decay`.
    standardise : bool
        False adds η times the raw variance to the raw measure.
    temperature : float
        Batches are drawn without replacement, with probability proportional to exp(score / temperature), the score in
        units of its spread: the items of the highest scores are often odd, and alike. 0 takes the highest, and a
        single question is always the best one.
    exact_share : float
        Share of the pool that is scored exactly, after a rough score of all (`LabelPosterior.rough`); at least 1000
        items, and ten times as many as are asked for. 1 scores everything exactly.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.1], [0.6, 0.5], [0.2, 0.9]]))
    >>> nothing = sp.csr_array((3, 2), dtype=bool)
    >>> LabelCovariance(temperature=0).choose(beliefs, nothing, 2, np.random.default_rng(0)).rows
    array([1, 2])

    References
    ----------
    Shi, Yu & Yu, A Gaussian process-Bayesian Bernoulli mixture model for multi-label active learning, NeurIPS 2021;
    standardised terms and the schedule are ours.
    Kirsch, Farquhar, Atighehchian, Jesson, Branchaud-Charron & Gal, Stochastic batch acquisition, TMLR 2023.
    """

    measure: Measure = "logdet"
    weight: float = 4.0
    decay: float = 30.0
    start: int = 0
    standardise: bool = True
    temperature: float = 0.5
    exact_share: float = 0.05
    target: Target = "items"

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        """Up to n items of the highest scores, walking the pool in blocks: roughly all, then closely the best."""
        self._check()
        eta = self.weight_after(closed.nnz / max(closed.shape[1], 1))
        n_open = open_items(closed).size
        luck = self.temperature * rng.gumbel(size=n_open) if n > 1 else np.zeros(n_open)
        rough, n_exact = posterior.rough(), max(ceil(self.exact_share * n_open), SAMPLE, 10 * n)
        if rough is posterior or n_exact >= n_open:
            terms = sample = self._terms(posterior, closed)
        else:
            first = self._terms(rough, closed)
            wish, _ = self._wishes(first, first, eta, luck)
            likely = np.sort(best(wish, n_exact, rng.random(n_open)))
            terms = self._terms_of(posterior, closed, first.rows[likely])
            sample = self._terms_of(posterior, closed, np.sort(rng.choice(first.rows, SAMPLE, replace=False)))
            luck = luck[likely]
        wish, scores = self._wishes(terms, sample, eta, luck)
        chosen = best(wish, n, rng.random(wish.size))
        return Choice(terms.rows[chosen], None, scores[chosen])

    def weight_after(self, answered: float) -> float:
        """η once so many items have been answered."""
        if self.weight in (0.0, inf) or self.decay == inf:
            return self.weight
        return self.weight * exp(-max(answered - self.start, 0.0) / self.decay)

    def _wishes(self, terms: _Terms, pool: _Terms, eta: float, luck: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What to choose by, scores in units of their spread plus luck, and the scores; spreads are those of `pool`."""
        scores = self._score(terms, pool, eta)
        spread = float(self._score(pool, pool, eta).std()) if pool.rows.size else 0.0
        return scores + luck * spread if spread else scores, scores

    def _score(self, terms: _Terms, pool: _Terms, eta: float) -> FloatArray:
        measure, variance = terms.measure, terms.variance
        if self.standardise:
            measure, variance = _standard(measure, pool.measure), _standard(variance, pool.variance)
        return variance if eta == inf else measure + eta * variance

    def _terms_of(self, posterior: LabelPosterior, closed: sp.csr_array, rows: npt.NDArray[np.intp]) -> _Terms:
        """Both terms of these rows, all of which have an open label."""
        return self._terms(posterior.rows(rows), closed[rows])._replace(rows=rows)

    def _terms(self, posterior: LabelPosterior, closed: sp.csr_array) -> _Terms:
        """Both terms of every item with an open label."""
        rows = [np.empty(0, dtype=np.intp)]
        measures: list[FloatArray] = [np.empty(0)]
        variances: list[FloatArray] = [np.empty(0)]
        for part, beliefs in posterior.blocks(max(1, BLOCK // posterior.n_labels)):
            free = open_entries(closed[part])
            places = np.flatnonzero(free.any(1))
            if places.size == 0:
                continue
            if places.size < beliefs.n_items:
                beliefs, free = beliefs.rows(places), free[places]
            rows.append(part.start + places)
            measures.append(np.zeros(places.size) if self.weight == inf else self._measure(beliefs, free))
            variances.append(np.zeros(places.size) if self.weight == 0 else beliefs.feature_variances())
        return _Terms(np.concatenate(rows), np.concatenate(measures), np.concatenate(variances))

    def _measure(self, beliefs: LabelPosterior, free: npt.NDArray[np.bool_]) -> FloatArray:
        if self.measure == "entropy":
            p = np.clip(beliefs.probabilities(), 0.0, 1.0)  # rounding may step over the ends, where entr is −inf
            return np.where(free, entr(p) + entr(1 - p), 0.0).sum(1)
        covariances = beliefs.label_covariances()
        if self.measure == "trace":
            return np.where(free, covariances.variances(), 0.0).sum(1)
        if not free.all():
            diagonal = np.where(free, covariances.diagonal, KNOWN)
            covariances = LabelCovariances(diagonal, np.where(free[:, :, None], covariances.factor, 0.0))
        return covariances.log_determinants()

    def _check(self) -> None:
        if self.target != "items":
            raise ValueError(f'LabelCovariance asks for "items", got target={self.target!r}')
        if self.measure not in get_args(Measure):
            raise ValueError(f"measure must be one of {get_args(Measure)}, got {self.measure!r}")
        if not self.weight >= 0:
            raise ValueError(f"weight must be zero, positive or inf, got {self.weight!r}")
        if not self.decay > 0:
            raise ValueError(f"decay must be positive, or inf for a constant weight, got {self.decay!r}")
        if not self.temperature >= 0:
            raise ValueError(f"temperature must not be negative, got {self.temperature!r}")
        if not 0 < self.exact_share <= 1:
            raise ValueError(f"exact_share must be above 0 and at most 1, got {self.exact_share!r}")


class _Terms(NamedTuple):
    """Both terms of the items that can be asked."""

    rows: npt.NDArray[np.intp]  # (m,)
    measure: FloatArray  # (m,)
    variance: FloatArray  # (m,)


def _standard(column: FloatArray, pool: FloatArray) -> FloatArray:
    """(x − mean) / deviation, both of the pool; zeros where the pool is constant up to rounding."""
    if pool.size == 0 or pool.std() <= STEADY * abs(pool.mean()):
        return np.zeros_like(column)
    return (column - pool.mean()) / pool.std()
