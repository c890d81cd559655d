"""Ask about items whose answers are expected to raise a Beta score at other items most, and in different places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.beta_score import beta_losses, expected_regret, means_after_answers, released_losses
from labelwise.numerics.choosing import best, open_counts, open_entries, open_items
from labelwise.numerics.clustering import nearest_to_centres
from labelwise.numerics.feature_scaling import unit_rows
from labelwise.numerics.user_input import check_at_least, check_choices
from labelwise.posterior import LabelPosterior
from labelwise.posterior.between_items import probability_covariance
from labelwise.queries.base import Choice, ScoringStrategy, Target, check_target

Form = Literal["regret", "released"]
GAIN_BLOCK = 2**19  # gains (item, reference item, label) at a time
BELIEF_BLOCK = 4096  # items whose beliefs are looked at together
DRAWN_BLOCK = 2**24  # numbers of joint draws at a time
SAMPLES = 100  # joint draws, where a model has no covariance between items
MOST_KEPT = 10_000  # candidates whose gains are kept to be clustered


@dataclass(frozen=True, eq=False)
class BetaScore:
    """Expected rise of a Beta score at reference items by an answer, with diversity by clusters (BESRA).

    An answer about label j of an item moves the probabilities of label j at m reference items. The expected regret of
    not having moved them is the item's gain there, a vector of m numbers summed over the labels that are open at both.
    The share of items with the highest totals is clustered by the direction of these vectors, and the batch has the
    item nearest to each centre. A batch of one has the item of the highest total.

    The gain is computed from means and covariances, exactly for any belief (see `expected_regret`). The covariance
    between items is that of the model, see `probability_covariance`. If a model has none, an answer says something
    about its own label alone: the score is then the label's expected loss, an uncertainty with the weight of the Beta
    score, and nothing is clustered.

    Parameters
    ----------
    alpha, beta : float
        The Beta score, see `labelwise.numerics.beta_score`; α < β weighs rare labels higher.
    references : int
        Open items, drawn at random, at which the score counts.
    top_share : float
        Share of the candidates, those of the highest totals, that are clustered.
    candidates : int or None
        Open items, drawn at random, that can be asked about; at least ten times as many as are asked for. None: all of
        them, read in blocks; at most 10 000 are clustered.
    form : "regret" or "released"
        "released" computes what the authors' code does. There the loss of absence is evaluated at, and weighted by, the
        probability of presence, so that it is no Beta regret and may be negative. The doubt about the reference items
        is added, the same for every item, which makes all directions alike. The losses are `released_losses`.

    Examples
    --------
    >>> import numpy as np, labelwise as lw
    >>> data = lw.data.make_shapes(60, random_state=0)
    >>> model = lw.LabelGP(random_state=0).fit(data.X[:20], data.Y[:20].toarray())
    >>> closed, rng = data.hide().observed_mask(), np.random.default_rng(0)
    >>> choice = lw.BetaScore().choose(model.posterior(data.X[20:]), closed[20:], 3, rng)
    >>> len(set(choice.rows)), bool((choice.scores > 0).all())
    (3, True)

    References
    ----------
    Tan, Nguyen, Du & Buntine, Harnessing the power of Beta scoring in deep active learning for multi-label text
    classification, AAAI 2024.
    """

    alpha: float = 0.1
    beta: float = 1.0
    references: int = 100
    top_share: float = 0.5
    candidates: int | None = 1000
    form: Form = "regret"
    target: Target = "items"

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        """Up to n items or pairs near the centres of gain vectors, those of the highest totals first."""
        self._check()
        rows = open_items(closed)
        if self.candidates is not None:
            rows = draw_rows(rows, max(self.candidates, 10 * n), rng)
        if rows.size == 0 or n == 0:
            return _choice(np.empty(0, dtype=np.intp), np.empty(0), self.target, closed.shape[1])
        reference = draw_rows(open_items(closed), self.references, rng)
        rule = GainRule(self.alpha, self.beta, None if self.form == "regret" else released_besra)
        gains = Gains.of(posterior, closed, reference, rule, rng)
        if gains is None:
            return OwnLoss(self.alpha, self.beta, self.target).choose(posterior, closed, n, rng)
        free = rows.size if self.target == "items" else gains.count_open(rows)
        limit = max(n, min(ceil(self.top_share * free), MOST_KEPT))
        kept = gains.highest(rows, limit, self.target, rng)
        places, scores = spread_out(kept, n, rng)
        return _choice(places, scores, self.target, closed.shape[1])

    def _check(self) -> None:
        check_target(self.target)
        check_choices(self, form=get_args(Form))
        check_at_least(self, 1, "references", "candidates")
        if not 0 < self.top_share <= 1:
            raise ValueError(f"top_share must be above 0 and at most 1, got {self.top_share!r}")
        (beta_losses if self.form == "regret" else released_losses)(0.5, self.alpha, self.beta)


@dataclass(frozen=True)
class OwnLoss(ScoringStrategy):
    """Highest expected loss of a label's own probability under a Beta score, (1 − p) ℓ₀(p) + p ℓ₁(p).

    It is what an answer gains where it tells nothing of other items.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> OwnLoss(1, 1).score(MarginalPosterior(np.array([[0.5, 0.1]])), np.random.default_rng(0))  # p (1 − p) / 2
    array([[0.125, 0.045]])
    """

    alpha: float
    beta: float
    target: Target = "items"
    weights: FloatArray | None = None  # (q,) of the labels

    def score(self, posterior: LabelPosterior, rng: np.random.Generator) -> FloatArray:
        p = np.clip(posterior.probabilities(), 1e-15, 1 - 1e-15)
        absent, present = beta_losses(p, self.alpha, self.beta)
        loss = (1 - p) * absent + p * present
        return loss if self.weights is None else loss * self.weights


class Reference(NamedTuple):
    """Beliefs about the reference items."""

    p: FloatArray  # (m, q)
    drawn: FloatArray  # (s, m, q) draws of p, in the released forms


Released = Callable[[FloatArray, FloatArray, Reference, float, float], FloatArray]


class GainRule(NamedTuple):
    """What an answer gains at a reference item."""

    alpha: float
    beta: float
    released: Released | None = None  # None: the expected regret
    weights: FloatArray | None = None  # (q,) of the labels

    def gains(self, p: FloatArray, reference: Reference, covariance: FloatArray) -> FloatArray:
        """(b, m, q)"""
        if self.released is None:
            found = expected_regret(p, reference.p, covariance, self.alpha, self.beta)
        else:
            found = self.released(p, covariance, reference, self.alpha, self.beta)
        return found if self.weights is None else found * self.weights


class BestGains(NamedTuple):
    """Items or pairs with the highest totals."""

    places: IntArray  # (k,) rows, or row · q + label
    totals: FloatArray  # (k,)
    vectors: FloatArray  # (k, m) their gains at the reference items


@dataclass(frozen=True, eq=False)
class Gains:
    """Of the items of a pool at reference items, read in blocks."""

    posterior: LabelPosterior
    closed: sp.csr_array
    reference: IntArray  # (m,) rising
    rule: GainRule
    seed: int  # of joint draws, the same for every block
    drawn: FloatArray  # (s, m, q)

    @classmethod
    def of(
        cls,
        posterior: LabelPosterior,
        closed: sp.csr_array,
        reference: IntArray,
        rule: GainRule,
        rng: np.random.Generator,
    ) -> Gains | None:
        """None where the model has no covariance between items."""
        seed, few = int(rng.integers(2**63)), posterior.rows(reference)
        if probability_covariance(few, np.arange(0), np.random.default_rng(seed), SAMPLES) is None:
            return None
        drawn = few.probabilities()[None] if rule.released is None else few.sample_probabilities(SAMPLES, rng)
        return cls(posterior, closed, reference, rule, seed, drawn)

    def count_open(self, rows: IntArray) -> int:
        return int(open_counts(self.closed[rows]).sum())

    def highest(self, rows: IntArray, limit: int, target: Target, rng: np.random.Generator) -> BestGains:
        """The open items, or pairs, with the highest totals, at most `limit`."""
        kept, priority = (
            BestGains(np.empty(0, dtype=np.intp), np.empty(0), np.empty((0, self.reference.size))),
            np.empty(0),
        )
        for part, found in self._blocks(rows):
            free = open_entries(self.closed[part])  # (b, q)
            more = _items(part, found, free) if target == "items" else _pairs(part, found, free)
            priority = np.concatenate([priority, rng.random(more.totals.size)])
            totals = np.concatenate([kept.totals, more.totals])
            chosen = best(totals, limit, priority)
            old, new = chosen < kept.totals.size, chosen[chosen >= kept.totals.size] - kept.totals.size
            vectors = np.empty((chosen.size, self.reference.size))
            vectors[old], vectors[~old] = kept.vectors[chosen[old]], more.vectors[new]
            kept = BestGains(np.concatenate([kept.places, more.places])[chosen], totals[chosen], vectors)
            priority = priority[chosen]
        return kept

    def _blocks(self, rows: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """Rows and their gains (b, m, q)."""
        m, q = self.reference.size, self.posterior.n_labels
        size = max(1, GAIN_BLOCK // max(1, m * q))
        joint = self.posterior.rows(self.reference[:1]).item_covariance() is None
        wide = max(m, DRAWN_BLOCK // (SAMPLES * q)) if joint else BELIEF_BLOCK
        for start in range(0, rows.size, wide):
            part = rows[start : start + wide]
            both = np.union1d(part, self.reference)
            beliefs, here = self.posterior.rows(both), np.searchsorted(both, part)
            at_reference = np.searchsorted(both, self.reference)
            rng = np.random.default_rng(self.seed)
            covariance = probability_covariance(beliefs, at_reference, rng, SAMPLES)
            assert covariance is not None
            p = np.clip(beliefs.probabilities(), 0.0, 1.0)  # (u, q)
            reference, unknown = Reference(p[at_reference], self.drawn), open_entries(self.closed[self.reference])
            for first in range(0, part.size, size):
                some = here[first : first + size]
                found = self.rule.gains(p[some], reference, covariance.of(some))
                yield part[first : first + size], found if unknown.all() else found * unknown


def _items(rows: IntArray, gains: FloatArray, free: BoolArray) -> BestGains:
    vectors = np.einsum("bmq,bq->bm", gains, free.astype(gains.dtype))
    return BestGains(rows, np.where(free.any(1), vectors.sum(1), -np.inf), vectors)


def _pairs(rows: IntArray, gains: FloatArray, free: BoolArray) -> BestGains:
    item, label = np.nonzero(free)
    vectors = gains[item, :, label]  # (k, m)
    return BestGains(rows[item] * free.shape[1] + label, vectors.sum(1), vectors)


def spread_out(kept: BestGains, n: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Places and totals of n of them, nearest to the centres of directions; of one, the highest total."""
    order = rng.permutation(kept.places.size)  # of equal vectors none is preferred
    if n == 1:
        chosen = best(kept.totals, 1, rng.random(kept.totals.size))
    else:
        chosen = order[nearest_to_centres(unit_rows(kept.vectors[order]), n, rng)]
    chosen = chosen[best(kept.totals[chosen], n, rng.random(chosen.size))]
    return kept.places[chosen], kept.totals[chosen]


def draw_rows(rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
    """n of the rows at random, rising; all of them where there are no more."""
    return rows if rows.size <= n else np.sort(rng.choice(rows, n, replace=False))


def released_besra(
    p: FloatArray, covariance: FloatArray, reference: Reference, alpha: float, beta: float
) -> FloatArray:
    """(b, m, q) Σ_y P(y) [p̄ ℓ₀(p̂ʸ) + (1 − p̄) ℓ₁(1 − p̂ʸ)] less the mean over draws of the same with p̄ = p̂ = p."""

    def loss(truth: FloatArray, belief: FloatArray) -> FloatArray:
        belief = np.clip(belief, 1e-12, 1 - 1e-12)
        absent, present = released_losses(belief, alpha, beta)[0], released_losses(1 - belief, alpha, beta)[1]
        return truth * absent + (1 - truth) * present

    yes, no = means_after_answers(p, reference.p, covariance)
    own = loss(reference.drawn, reference.drawn).mean(0)  # (m, q)
    return p[:, None] * loss(reference.p, yes) + (1 - p[:, None]) * loss(reference.p, no) - own


def _choice(places: IntArray, scores: FloatArray, target: Target, q: int) -> Choice:
    if target == "items":
        return Choice(places, None, scores)
    return Choice(places // q, places % q, scores)
