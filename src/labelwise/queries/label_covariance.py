"""Ask about items whose labels are jointly most uncertain; early on, about items that say most about other items."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, exp, inf
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import entr

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.choosing import best, canonical, open_entries, open_items
from labelwise.numerics.user_input import check_at_least, check_choices, check_positive
from labelwise.posterior import ItemCovariance, LabelPosterior
from labelwise.queries.base import Choice, Target

Measure = Literal["logdet", "entropy", "trace"]
Explore = Literal["reduction", "variance"]
BLOCK = 2**16  # entries (item, label) at a time: each has r numbers in the factors of the label covariances
WIDE_BLOCK = 4096  # items at a time whose covariance with those that stand for the pool is held
KNOWN = 1e-6  # variance of a label that was answered: all but certain
SAMPLE = 1000  # the fewest items that are looked at closely
REFERENCE = 300  # items whose variance stands for that of the pool
PLANNED = 500  # items of a batch that are chosen one after the other
STEADY = 1e-12  # a column that varies less than this, relative to its size, says nothing


@dataclass(frozen=True)
class LabelCovariance:
    """Joint uncertainty of the labels of an item, plus η times its value for exploring the features of the pool.

    The score is z(ln|cov y|) + η z(v). cov y is the model's covariance of the item's labels, and v is the value of the
    item for learning the features. z standardises over the items that can be asked. The weight η = `weight` ·
    exp(−answered / `decay`) falls with the number of answered items, from exploring to refining.

    The paper's v is the item's own variance (`explore="variance"`), without z. Own variances are highest for odd items,
    which carry no information about the others. By default v is the reduction of the variance of the whole pool by an
    answer, one item of a batch after the other. `docs/mixtures.md` has the measurements.

    Answered labels count as certain. If the model has no covariance between labels, the first term is that of
    independent labels. If it does not know how uncertain it is about the features, v is constant.

    Parameters
    ----------
    measure : "logdet", "entropy" or "trace"
        ln|cov|, the summed entropies of the labels, or their summed variances. The log-determinant counts relative
        change: a label that goes from .0001 to .001 weighs as much as one that goes from .05 to .5.
    explore : "reduction" or "variance"
        v as the variance that an answer takes from the pool (`LabelPosterior.item_covariance`), or as the item's own
        variance (`LabelPosterior.feature_variances`).
    weight : float
        η at the start; 0 for labels only, inf for features only.
    decay : float
        Items answered until η has fallen to 1 / e of its start; inf keeps it constant.
    start : int
        Items that were answered before the first question and do not count for `decay`.
    standardise : bool
        False adds η times the raw v to the raw measure.
    exact_share : float
        Share of the pool that is scored exactly, after a rough score of all (`LabelPosterior.rough`); at least 1000
        items, and ten times as many as are asked for. 1 scores everything exactly.
    candidates : int or None
        Open items, drawn at random, that can be asked about and stand for the pool; at least ten times as many as are
        asked for. Models learn as much from the best of a few hundred as from the best of all, and what that costs does
        not grow with the pool. None: every open item.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.1], [0.6, 0.5], [0.2, 0.9]]))
    >>> nothing = sp.csr_array((3, 2), dtype=bool)
    >>> LabelCovariance().choose(beliefs, nothing, 2, np.random.default_rng(0)).rows
    array([1, 2])

    References
    ----------
    Shi, Yu & Yu, A Gaussian process-Bayesian Bernoulli mixture model for multi-label active learning, NeurIPS 2021.
    """

    measure: Measure = "logdet"
    explore: Explore = "reduction"
    weight: float = 10.0
    decay: float = 100.0
    start: int = 0
    standardise: bool = True
    exact_share: float = 0.05
    candidates: int | None = 500
    target: Target = "items"

    @classmethod
    def paper(cls, **options: Any) -> LabelCovariance:
        """Own variances with the weight 4 e^(−r/3) after r rounds of ten: the paper's score, standardised, of all."""
        stated: dict[str, Any] = {"explore": "variance", "weight": 4.0, "decay": 30.0, "candidates": None}
        return cls(**(stated | options))

    @classmethod
    def published(cls, **options: Any) -> LabelCovariance:
        """The old name of `paper`, for one release more."""
        warnings.warn("published() is now paper()", DeprecationWarning, stacklevel=2)
        return cls.paper(**options)

    @property
    def trust(self) -> float | None:
        """In standard errors, for a guard: features alone were never below random items, see docs/study.md."""
        return 1.0 if self.weight == inf else None

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        """Up to n items with the highest scores: a rough score of all candidates, then an exact one of the best."""
        self._check()
        rows = open_items(closed)
        if self.candidates is not None:
            rows = _draw(rows, max(self.candidates, 10 * n), rng)
        if rows.size == 0 or n == 0:
            return Choice(np.empty(0, dtype=np.intp), None, np.empty(0))
        eta = self.weight_after(canonical(closed).nnz / closed.shape[1])
        sample = _draw(rows, SAMPLE, rng)
        view = _View(posterior, closed, _draw(sample, REFERENCE, rng) if self._reduces(posterior, rows) else None)
        rough, n_exact = posterior.rough(), max(ceil(self.exact_share * rows.size), SAMPLE, 10 * n)
        if rough is posterior or n_exact >= rows.size:
            terms = self._terms(view, rows)
            blend = self._blend(terms, eta)
        else:
            first = self._terms(view._replace(posterior=rough), rows)
            likely = best(self._blend(first, eta).score(first), n_exact, rng.random(rows.size))
            terms = self._terms(view, np.union1d(rows[likely], sample))
            blend = self._blend(terms.of(sample), eta)
        if view.reference is not None and n > 1:
            return _one_after_the_other(view, terms, blend, n, rng)
        scores = blend.score(terms)
        chosen = best(scores, n, rng.random(scores.size))
        return Choice(terms.rows[chosen], None, scores[chosen])

    def weight_after(self, answered: float) -> float:
        """η after this number of answered items."""
        if self.weight in (0.0, inf) or self.decay == inf:
            return self.weight
        return self.weight * exp(-max(answered - self.start, 0.0) / self.decay)

    def _reduces(self, posterior: LabelPosterior, rows: IntArray) -> bool:
        wanted = self.explore == "reduction" and self.weight > 0
        return wanted and posterior.rows(rows[:1]).item_covariance() is not None

    def _blend(self, pool: _Terms, eta: float) -> _Blend:
        """How both terms make a score, with the means and deviations of the pool."""
        columns = pool.measure, pool.value
        (low, spread), (mean, deviation) = (_moments(c) if self.standardise else (0.0, 1.0) for c in columns)
        if eta == inf:
            return _Blend(0.0, 1 / deviation, -mean / deviation)
        return _Blend(1 / spread, eta / deviation, -low / spread - eta * mean / deviation)

    def _terms(self, view: _View, rows: IntArray) -> _Terms:
        """Both terms of these rows, in blocks."""
        measures, values, kept = np.zeros(rows.size), np.zeros(rows.size), None
        for wide in _blocks(rows.size, WIDE_BLOCK):
            beliefs, places = view.beliefs(rows[wide])
            if view.reference is not None:
                kept = _Covariances.of(beliefs, places, np.searchsorted(view.rows_with(rows[wide]), view.reference))
                values[wide] = kept.reductions()
            for part in _blocks(places.size, max(1, BLOCK // view.posterior.n_labels)):
                here = slice(wide.start + part.start, wide.start + part.stop)
                few = beliefs if part.stop - part.start == beliefs.n_items else beliefs.rows(places[part])
                if self.weight < inf:
                    measures[here] = self._measure(few, open_entries(view.closed[rows[here]]))
                if self.weight > 0 and view.reference is None:
                    values[here] = few.feature_variances()
        return _Terms(rows, measures, values, kept if rows.size <= WIDE_BLOCK else None)

    def _measure(self, beliefs: LabelPosterior, free: npt.NDArray[np.bool_]) -> FloatArray:
        if self.measure == "entropy":
            p = np.clip(beliefs.probabilities(), 0.0, 1.0)  # rounding may step over the ends, where entr is −inf
            return np.where(free, entr(p) + entr(1 - p), 0.0).sum(1)
        covariances = beliefs.label_covariances()
        if self.measure == "trace":
            return np.where(free, covariances.variances(), 0.0).sum(1)
        return (covariances if free.all() else covariances.only(free, KNOWN)).log_determinants()

    def _check(self) -> None:
        if self.target != "items":
            raise ValueError(f'LabelCovariance asks for "items", got target={self.target!r}')
        check_choices(self, measure=get_args(Measure), explore=get_args(Explore))
        check_at_least(self, 0, "weight")
        check_positive(self, "decay")
        check_at_least(self, 1, "candidates")
        if not 0 < self.exact_share <= 1:
            raise ValueError(f"exact_share must be above 0 and at most 1, got {self.exact_share!r}")


class _Terms(NamedTuple):
    """Both terms of some items."""

    rows: IntArray  # (m,)
    measure: FloatArray  # (m,)
    value: FloatArray  # (m,)
    covariances: _Covariances | None = None  # of all of them; None where they are too many to be held

    def of(self, rows: IntArray) -> _Terms:
        """Those of some of the rows, which rise as its own do."""
        places = np.searchsorted(self.rows, rows)
        return _Terms(rows, self.measure[places], self.value[places])


class _Blend(NamedTuple):
    """score = rate · measure + slope · value + offset."""

    rate: float
    slope: float
    offset: float

    def score(self, terms: _Terms) -> FloatArray:
        return self.rate * terms.measure + self.slope * terms.value + self.offset


class _View(NamedTuple):
    """Beliefs about the pool, what may not be asked, and the items whose variance counts, where it does."""

    posterior: LabelPosterior
    closed: sp.csr_array
    reference: IntArray | None

    def rows_with(self, rows: IntArray) -> IntArray:
        """These rows, which rise, and the reference items."""
        return rows if self.reference is None else np.union1d(rows, self.reference)

    def beliefs(self, rows: IntArray) -> tuple[LabelPosterior, IntArray]:
        """About these rows and the reference items, and where these rows are among them."""
        with_reference = self.rows_with(rows)
        return self.posterior.rows(with_reference), np.searchsorted(with_reference, rows)


class _Covariances(NamedTuple):
    """Some items, the reference items, and how they vary together."""

    among: ItemCovariance  # of the u items that are one or the other
    places: IntArray  # (n,) of the items among these
    cross: FloatArray  # (u, m) with the reference items
    own: FloatArray  # (u,)

    @classmethod
    def of(cls, beliefs: LabelPosterior, places: IntArray, reference: IntArray) -> _Covariances:
        among = beliefs.item_covariance()
        assert among is not None
        return cls(among, places, among.columns(reference), among.diagonal())

    def reductions(self) -> FloatArray:
        """(n,) what answers about the items would take from the variance of the reference items."""
        return variance_reductions(self.cross[self.places], self.own[self.places], self.among.noise)


def _one_after_the_other(view: _View, terms: _Terms, blend: _Blend, n: int, rng: np.random.Generator) -> Choice:
    """Each item of the batch given those before it.

    Of many items the best by themselves may come, and since those are alike all of the reference, too. What is asked
    for beyond PLANNED items comes by its own score.
    """
    assert view.reference is not None
    scores = blend.score(terms)
    rows, covariances = terms.rows, terms.covariances
    if covariances is None:
        likely = best(scores, SAMPLE, rng.random(scores.size))
        rows = np.union1d(rows[likely], view.reference)
        covariances = _Covariances.of(*view.beliefs(rows), np.searchsorted(rows, view.reference))
    base = blend.rate * terms.of(rows).measure + blend.offset
    reference = np.searchsorted(rows, view.reference)
    chosen, planned_scores = greedy_reduction(
        covariances, reference, base, blend.slope, min(n, PLANNED), rng.random(rows.size)
    )
    if chosen.size == n:
        return Choice(rows[chosen], None, planned_scores)
    left = np.where(np.isin(terms.rows, rows[chosen]), -np.inf, scores)
    more = best(left, n - chosen.size, rng.random(left.size))
    return Choice(
        np.concatenate([rows[chosen], terms.rows[more]]), None, np.concatenate([planned_scores, scores[more]])
    )


def _draw(rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """n of the rows at random, rising; all of them where there are no more."""
    return rows if rows.size <= n else np.sort(rng.choice(rows, n, replace=False))


def _blocks(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _moments(column: FloatArray) -> tuple[float, float]:
    """Mean and deviation; the deviation of a column that is constant up to rounding is infinite, so that z = 0."""
    mean, deviation = float(column.mean()), float(column.std())
    return mean, deviation if deviation > STEADY * abs(mean) else inf


def variance_reductions(cross: FloatArray, own: FloatArray, noise: float) -> FloatArray:
    """(n,) Σ_j c_ij² / (c_ii + noise): how much the summed variance of the reference items j falls with item i.

    Parameters
    ----------
    cross : (n, m) covariances of the items with the reference items
    own : (n,) variances of the items
    noise : float
        Variance of an answer about an item whose function is known.

    >>> variance_reductions(np.array([[2.0, 1.0]]), np.array([2.0]), 0.5)
    array([2.])
    """
    return np.einsum("nm,nm->n", cross, cross) / (own + noise)


def greedy_reduction(
    covariances: _Covariances, reference: IntArray, base: FloatArray, slope: float, n: int, priority: FloatArray
) -> tuple[IntArray, FloatArray]:
    """n items, each the one with the highest base + slope · reduction given those before it.

    Every answer takes w wᵀ from the covariance, w its column of the item over √(variance + noise). No covariance matrix
    is made, or changed: of the items with the reference only squares are added up, which one product with `cross`
    brings up to date. The columns of the chosen items are asked for one by one.

    Parameters
    ----------
    covariances : of the u items concerned with the reference items, which are among them
    reference : (m,) items whose variance counts
    base : (u,) what speaks for an item besides; −inf: never chosen
    priority : (u,) breaks ties

    Returns
    -------
    items, best first, and the score of each when it was chosen
    """
    among, cross, own = covariances.among, covariances.cross, covariances.own
    noise, base = among.noise, base.copy()
    squares, variances = np.einsum("um,um->u", cross, cross), own.copy()  # (u,) as they stand
    taken = np.empty((n, own.size))  # w of every answer
    chosen: list[int] = []
    scores: list[float] = []
    while len(chosen) < n:
        so_far = taken[: len(chosen)]
        value = base + slope * squares / (variances + noise)
        pick = best(value, 1, priority)
        if pick.size == 0:
            break
        i = int(pick[0])
        w = (among.columns(np.array([i]))[:, 0] - so_far[:, i] @ so_far) / np.sqrt(variances[i] + noise)  # (u,)
        w_ref = w[reference]  # (m,)
        products = cross @ w_ref - (so_far[:, reference] @ w_ref) @ so_far  # (u,) Σ_j c_ij w_j as they stand
        squares = np.maximum(squares - w * (2 * products - w * (w_ref @ w_ref)), 0.0)
        variances = np.maximum(variances - w**2, 0.0)
        taken[len(chosen)], base[i] = w, -np.inf
        chosen.append(i)
        scores.append(float(value[i]))
    return np.array(chosen, dtype=np.intp), np.array(scores)
