"""Ask about the items whose targets are least certain, each choice counting what the earlier ones will tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.arrays import FloatArray, IntArray
from labelwise.numerics.choosing import TIE, best, open_items
from labelwise.numerics.gp.pool_variances import lazy_argmax
from labelwise.numerics.linear_algebra import cholesky, solve_lower
from labelwise.numerics.user_input import check_choices
from labelwise.posterior import DivisibleCovariance, IgnorantPosterior, LabelPosterior, TargetGroup
from labelwise.queries.base import Choice, Target, check_target
from labelwise.queries.diagnosis import Diagnosis
from labelwise.queries.random import Random

BLOCK = 256  # variances computed at a time where upper bounds decide which are needed


@dataclass(frozen=True, eq=False)
class TargetEntropy:
    """Weighted entropy of a model's targets at each item, Σ_g w_g ln v_g, highest first.

    The strategy needs a Gaussian process model. `OrthogonalTargetGP` keeps the variances of a pool between answers, so
    that a question costs one row. Answers matter only through the hyper-parameters, so a batch is chosen greedily as if
    its items were answered. In pools too large to keep all variances, those of earlier rounds are upper bounds and show
    which few must be computed: the choice is the same. Before the first answer the strategy asks at random.

    Parameters
    ----------
    target : "items" or "pairs"
        Pairs are labels of the items chosen as above, by `diagnosis`.
    measure : "entropy" or "variance"
        Σ_g w_g ln v_g, or Σ_g w_g v_g.
    weights : "eigenvalue" or "equal"
        Targets are weighted by their share of the labels' variance, or all that vary have equal weight.
    diagnosis : Diagnosis
        Which labels of a chosen item are asked, and what each label costs.

    References
    ----------
    Shi & Yu, Fast direct search in an optimally compressed continuous target space for efficient multi-label active
    learning, ICML 2019; their equation (13) has the opposite sign by mistake.

    Examples
    --------
    >>> from labelwise.models import OrthogonalTargetGP
    >>> X = np.array([[0.0], [0.1], [0.9], [3.0]])
    >>> model = OrthogonalTargetGP(random_state=0).fit(X[:3], np.array([[1, 0], [1, 0], [0, 1]]))
    >>> nothing = sp.csr_array((4, 2), dtype=bool)
    >>> TargetEntropy().choose(model.posterior(X), nothing, 1, np.random.default_rng(0)).rows
    array([3])
    """

    target: Target = "items"
    measure: Literal["entropy", "variance"] = "entropy"
    weights: Literal["eigenvalue", "equal"] = "eigenvalue"
    diagnosis: Diagnosis = field(default_factory=lambda: Diagnosis(labels_per_item=5))

    def choose(self, posterior: LabelPosterior, closed: sp.csr_array, n: int, rng: np.random.Generator) -> Choice:
        check_target(self.target)
        check_choices(self, measure=("entropy", "variance"), weights=("eigenvalue", "equal"))
        if isinstance(posterior, IgnorantPosterior):
            return Random(self.target).choose(posterior, closed, n, rng)
        rows = open_items(closed)
        if rows.size == 0 or n == 0:
            nothing = np.empty(0, dtype=np.intp)
            return Choice(nothing, None if self.target == "items" else nothing, np.empty(0))
        if self.target == "items":
            items, scores = self._items(posterior, rows, n, rng)
            return Choice(items, None, scores)
        order, _ = self._items(posterior, rows, min(n, rows.size), rng)
        return self.diagnosis.labels_in_order(order, posterior, closed, n, rng)

    def score(self, groups: Sequence[TargetGroup], variances: Sequence[FloatArray]) -> FloatArray:
        """(m,) of items whose variances in each group's units are given."""
        if self.measure == "variance":
            return sum((g.spreads(v) for g, v in zip(groups, variances, strict=True)), np.zeros(1))
        return sum((g.entropies(v) for g, v in zip(groups, variances, strict=True)), np.zeros(1))

    def _order(self, groups: Sequence[TargetGroup], variances: Sequence[FloatArray]) -> FloatArray:
        """Something with the order of the scores: with one group, the variance itself."""
        return variances[0] if len(groups) == 1 else self.score(groups, variances)

    def _items(
        self, posterior: LabelPosterior, rows: IntArray, n: int, rng: np.random.Generator
    ) -> tuple[IntArray, FloatArray]:
        """Up to n of the open rows, greedily, and the score each had when it was chosen."""
        groups = self._weighted(posterior.target_groups())
        priority = rng.random(posterior.n_items)
        pick = _lazily if any(group.bounds is not None for group in groups) else _densely
        return pick(self, groups, rows, min(n, rows.size), priority)

    def _weighted(self, groups: tuple[TargetGroup, ...]) -> tuple[TargetGroup, ...]:
        if not groups:
            raise ValueError(
                "TargetEntropy needs beliefs with a covariance between items, and this model has none; "
                "use OrthogonalTargetGP or another Gaussian process model, or another strategy"
            )
        if self.weights == "eigenvalue":
            return groups
        share = 1 / max(sum(np.count_nonzero(group.weights) for group in groups), 1)
        return tuple(replace(group, weights=np.where(group.weights > 0, share, 0.0)) for group in groups)


def _densely(
    strategy: TargetEntropy, groups: Sequence[TargetGroup], rows: IntArray, n: int, priority: FloatArray
) -> tuple[IntArray, FloatArray]:
    """With all variances at hand: each choice adds a row t to every group's factor and takes t² off the variances."""
    variances = [np.asarray(group.covariance.diagonal(), dtype=np.float64) for group in groups]  # (N,) each
    told = [np.empty((n if n > 1 else 0, variances[0].size)) for _ in groups]  # rows t of the choices so far
    free = np.full(variances[0].size, -np.inf)
    free[rows] = 0.0
    chosen, scores = np.empty(n, dtype=np.intp), np.empty(n)
    for step in range(n):
        item = int(best(strategy._order(groups, variances) + free, 1, priority)[0])
        chosen[step], free[item] = item, -np.inf
        scores[step] = strategy.score(groups, [v[[item]] for v in variances])[0]
        if step + 1 == n:
            break
        for g, group in enumerate(groups):
            column = group.covariance.columns(np.array([item]))[:, 0] - told[g][:step].T @ told[g][:step, item]
            told[g][step] = column / np.sqrt(variances[g][item] + group.covariance.noise)
            variances[g] = np.maximum(variances[g] - told[g][step] ** 2, 0.0)
    return chosen, scores


def _lazily(
    strategy: TargetEntropy, groups: Sequence[TargetGroup], rows: IntArray, n: int, priority: FloatArray
) -> tuple[IntArray, FloatArray]:
    """With upper bounds of the variances: only those that may be the highest are computed."""
    kept = [cast(FloatArray, group.bounds) for group in groups]
    free = np.full(kept[0].size, -np.inf)
    free[rows] = 0.0
    upper = strategy._order(groups, kept) + free  # falls as items are chosen; `kept` is not told of choices
    chosen: list[int] = []
    scores: list[float] = []
    for _ in range(n):
        picks = np.array(chosen, dtype=np.intp)

        def evaluate(items: IntArray, picks: IntArray = picks) -> FloatArray:
            variances = [_given_picks(group, items, picks) for group in groups]
            return strategy._order(groups, variances)

        slack = TIE * float(np.abs(upper[np.isfinite(upper)]).max(initial=0.0))
        top, _ = lazy_argmax(upper, evaluate, block=BLOCK, slack=slack)
        item = int(top[best(upper[top], 1, priority[top])[0]])
        chosen.append(item)
        now = [_given_picks(group, np.array([item]), picks) for group in groups]
        scores.append(float(strategy.score(groups, now)[0]))
        upper[item] = -np.inf
    return np.array(chosen, dtype=np.intp), np.array(scores)


def _given_picks(group: TargetGroup, items: IntArray, picks: IntArray) -> FloatArray:
    """(m,) variances of items once the picks are answered; lowers the group's bounds to those without the picks."""
    covariance = cast(DivisibleCovariance, group.covariance)
    joint = covariance.rows(np.concatenate([items, picks]))
    variances = joint.diagonal()[: items.size]
    if group.bounds is not None:
        group.bounds[items] = variances
    if picks.size == 0:
        return variances
    columns = joint.columns(items.size + np.arange(picks.size))  # (m + p, p)
    L = cholesky(columns[items.size :] + covariance.noise * np.eye(picks.size))
    told = solve_lower(L, columns[: items.size].T)  # (p, m)
    return np.maximum(variances - np.einsum("pm,pm->m", told, told), 0.0)
