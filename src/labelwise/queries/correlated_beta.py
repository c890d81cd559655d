"""Beta scores with labels weighed by what they say of others, among items of every predicted label (CRAB)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt
from typing import ClassVar, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.beta_score import beta_losses, means_after_answers, released_losses
from labelwise.numerics.choosing import open_items
from labelwise.numerics.user_input import check_at_least, check_choices, check_positive
from labelwise.posterior import LabelPosterior
from labelwise.queries._answers import Known, PoolAnswers
from labelwise.queries.base import BLOCK, Choice, Target
from labelwise.queries.beta_score import Form, GainRule, Gains, OwnLoss, Reference, draw_rows, spread_out

MOST_REFERENCES = 200


@dataclass(frozen=True, eq=False)
class CorrelatedBeta:
    """`BetaScore` with label weights from co-occurrence, among candidates of every predicted label (CRAB).

    A label counts more if it often comes with other labels: c_l = 1 + Σ_j P(l | j) / (2 · the largest such sum of a
    label j). Candidates come from strata, as many of each as are asked for: the items predicted to have a label, and
    the items predicted to have two labels that exclude one another. Of predicted labels that another one implies, only
    the more specific one has a stratum. Items without a predicted label are added in a number that falls with the
    answers. If there are more than twice as many candidates as are asked for, the half with the highest totals stays;
    their gain vectors are clustered, and the item nearest to each centre is asked.

    What labels have to do with one another is counted in the answers. If candidates are fewer than asked for, other
    open items are drawn at random. Models without a covariance between items are treated as in `BetaScore`, with the
    weights.

    Parameters
    ----------
    alpha, beta : float
        The Beta score, see `labelwise.numerics.beta_score`.
    reference_share : float
        Share of the open items at which the score counts, drawn at random; at most 200 items.
    implied_at : float
        Label j implies k where P(k | j) is at least this, and above P(j | k). (The authors' code also takes equal ones,
        and then drops both labels, or one by the alphabet.)
    exclusive_at : float
        Labels exclude one another where the share of items with one that lack the other is above this.
    min_count : int
        Items with either label before they can be told to be exclusive. One item would make any two so.
    empties : float
        Items without a predicted label among the candidates, at the start; in batches.
    until : int
        Answered items after which no such items are drawn; √(1 − answered / until) of `empties` before.
    candidates : int or None
        Most candidates, at least ten times as many as are asked for; drawn at random if there are more. None: all.
    form : "regret" or "released"
        "released" computes what the authors' code does: Σ_y P(y) of losses that are linear in the moved probability,
        whose mean is the probability before. It is the same for every item, so strata and chance alone choose.

    Examples
    --------
    >>> import numpy as np, labelwise as lw
    >>> data = lw.data.make_shapes(60, random_state=0)
    >>> observed = np.repeat(np.arange(60) < 20, data.n_labels).reshape(60, -1)
    >>> known = lw.LabelData.from_arrays(data.X, data.Y.toarray(), observed=observed)
    >>> beliefs = lw.LabelGP(random_state=0).fit(data.X[:20], data.Y[:20].toarray()).posterior(data.X)
    >>> choice = lw.CorrelatedBeta().choose(beliefs, known.observed, 3, np.random.default_rng(0), known=known)
    >>> len(set(choice.rows)), bool((choice.rows >= 20).all())
    (3, True)

    References
    ----------
    Qi, Lu, Yang, Enticott & Du, Multi-label Bayesian active learning with inter-label relationships, UAI 2025.
    """

    alpha: float = 0.1
    beta: float = 3.0
    reference_share: float = 0.0939
    implied_at: float = 0.7
    exclusive_at: float = 0.98
    min_count: int = 10
    empties: float = 2.0
    until: int = 600
    candidates: int | None = 1000
    form: Form = "regret"
    target: Target = "items"
    looks_at_answers: ClassVar[bool] = True

    def choose(
        self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator, *, known: Known
    ) -> Choice:
        """Up to n open items near the centres of gain vectors, those of the highest totals first."""
        self._check()
        rows, answers = open_items(closed), PoolAnswers.of(known, closed.shape)
        if rows.size == 0 or n == 0:
            return Choice(np.empty(0, dtype=np.intp), None, np.empty(0))
        rules = LabelRules.of(answers, self.implied_at, self.exclusive_at, self.min_count)
        some = self._candidates(posterior, answers, rules, rows, n, rng)
        reference = draw_rows(rows, min(ceil(self.reference_share * rows.size), MOST_REFERENCES), rng)
        released = None if self.form == "regret" else released_crab
        gains = Gains.of(posterior, closed, reference, GainRule(self.alpha, self.beta, released, rules.weights), rng)
        if gains is None:
            own = OwnLoss(self.alpha, self.beta, weights=rules.weights)
            choice = own.choose(posterior.rows(some), closed[some], n, rng)
            return Choice(some[choice.rows], None, choice.scores)
        limit = some.size if some.size <= 2 * n else ceil(some.size / 2)
        places, scores = spread_out(gains.highest(some, limit, "items", rng), n, rng)
        return Choice(places, None, scores)

    def _candidates(
        self,
        posterior: LabelPosterior,
        answers: PoolAnswers,
        rules: LabelRules,
        rows: IntArray,
        n: int,
        rng: np.random.Generator,
    ) -> IntArray:
        """Open rows, rising: at least n if there are as many."""
        share = sqrt(max(1 - answers.rows().size / self.until, 0.0))
        found = Strata.of(posterior, answers, rules, rows).draw(n, int(self.empties * n * share), rng)
        if self.candidates is not None:
            found = draw_rows(found, max(self.candidates, 10 * n), rng)
        if found.size < n:
            found = np.union1d(found, draw_rows(np.setdiff1d(rows, found), n - found.size, rng))
        return found

    def _check(self) -> None:
        if self.target != "items":
            raise ValueError(f'CorrelatedBeta asks for "items", got target={self.target!r}')
        check_choices(self, form=get_args(Form))
        check_at_least(self, 1, "min_count", "candidates")
        check_at_least(self, 0, "empties")
        check_positive(self, "until")
        for name in ("reference_share", "implied_at", "exclusive_at"):
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {getattr(self, name)!r}")
        (beta_losses if self.form == "regret" else released_losses)(0.5, self.alpha, self.beta)


class LabelRules(NamedTuple):
    """What labels have to do with one another, by the answers."""

    weights: FloatArray  # (q,) by which the gains of each label count
    implies: BoolArray  # (q, q) [j, k]: who has j nearly always has k
    excludes: BoolArray  # (q, q) symmetric

    @classmethod
    def of(cls, answers: PoolAnswers, implied_at: float, exclusive_at: float, min_count: int) -> LabelRules:
        """Counted over the items where both labels were answered.

        >>> from labelwise.records import LabelData
        >>> known = LabelData.from_arrays(np.eye(3), [[1, 1, 0], [1, 1, 0], [0, 1, 1]])
        >>> rules = LabelRules.of(PoolAnswers.of(known, (3, 3)), 0.7, 0.98, 1)
        >>> rules.weights.round(2), rules.implies[:, 1], rules.excludes[0]
        (array([1.33, 2.  , 1.17]), array([ True, False,  True]), array([False, False,  True]))
        """
        Y = answers.Y.astype(np.float64)
        both = (Y.T @ Y).toarray()  # (q, q) items with j and k
        if answers.observed is None:
            counts = np.repeat(both.diagonal()[:, None], len(both), axis=1)
        else:
            counts = (Y.T @ answers.observed.astype(np.float64)).toarray()  # items with j where k was answered
        share = np.divide(both, counts, out=np.zeros_like(both), where=counts > 0)  # P(k | j)
        np.fill_diagonal(share, 0.0)
        largest = share.sum(1).max(initial=0.0)
        weights = 1 + (share.sum(0) / (2 * largest) if largest > 0 else 0.0) * np.ones(len(both))
        lacking = np.divide(counts - both, counts, out=np.zeros_like(both), where=counts > 0)
        enough = np.minimum(counts, counts.T) >= min_count
        excludes = (lacking > exclusive_at) & enough
        np.fill_diagonal(excludes, False)
        return cls(weights, (share >= implied_at) & (share > share.T), excludes | excludes.T)


class Strata(NamedTuple):
    """Open items by what they are predicted to have."""

    rows: IntArray  # (n,) rising
    labels: sp.csr_array  # (n, q) predicted, without labels that another predicted label implies
    conflict: BoolArray  # (n,) predicted to have labels that exclude one another

    @classmethod
    def of(cls, posterior: LabelPosterior, answers: PoolAnswers, rules: LabelRules, rows: IntArray) -> Strata:
        """What is more probable than not is predicted, and what was answered yes. Reads the pool in blocks."""
        parts, conflicts = [sp.csr_array((0, len(rules.weights)), dtype=bool)], [np.zeros(0, dtype=bool)]
        implies, excludes = rules.implies.astype(np.float32), rules.excludes.astype(np.float32)
        for start in range(0, rows.size, BLOCK):
            part = rows[start : start + BLOCK]
            predicted = answers.believed(posterior.rows(part), part).p > 0.5  # (b, q)
            own = sp.csr_array(predicted, dtype=np.float32)
            conflicts.append(((own @ excludes > 0) & predicted).any(1))
            parts.append(sp.csr_array(predicted & ~(own @ implies > 0)))
        return cls(rows, sp.csr_array(sp.vstack(parts, format="csr")), np.concatenate(conflicts))

    def draw(self, n: int, n_empty: int, rng: np.random.Generator) -> IntArray:
        """At most n rows of each label and of those in conflict, and n_empty of those without a label; rising."""
        labels, priority = self.labels, rng.random(self.rows.size)
        item = np.repeat(np.arange(self.rows.size), np.diff(labels.indptr))
        order = np.lexsort((priority[item], labels.indices))
        label = labels.indices[order]
        place = np.arange(label.size) - np.searchsorted(label, label)  # among those of its label
        conflict, empty = np.flatnonzero(self.conflict), np.flatnonzero(np.diff(labels.indptr) == 0)
        found = item[order[place < n]], rng.permutation(conflict)[:n], rng.permutation(empty)[:n_empty]
        return self.rows[np.unique(np.concatenate(found))]


def released_crab(p: FloatArray, covariance: FloatArray, reference: Reference, alpha: float, beta: float) -> FloatArray:
    """(b, m, q) Σ_y P(y) of the mean over draws of (1 − p̂ʸ) ℓ₀(p) + p̂ʸ ℓ₁(p), and the same of 1 − p̂ʸ and 1 − p."""
    losses = released_losses(reference.drawn, alpha, beta)
    turned = released_losses(1 - reference.drawn, alpha, beta)
    absent, present = (losses[0] + turned[1]).mean(0), (losses[1] + turned[0]).mean(0)  # (m, q)
    yes, no = means_after_answers(p, reference.p, covariance)
    moved = p[:, None] * yes + (1 - p[:, None]) * no  # (b, m, q), p̄ but for rounding
    return (1 - moved) * absent + moved * present
