"""`CooccurrenceFactors` by map and reduce: items stay in parts on the workers, sums over them come back.

An item's factors depend on its own row, so they stay with it. What a part says of the labels' factors are sums over its
items: slopes, Gram matrices, products in conjugate gradients. Only label factors, weights and those sums travel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from labelwise.cluster._connect import Cluster, collect, connected, itself, near, workers_of
from labelwise.models import CooccurrenceFactors
from labelwise.models.factors.training import (
    FactorProblem,
    FactorSettings,
    Learnt,
    SweepSchedule,
    first_factors,
    prepare_fit,
    transfer,
)
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.factors.model import FactorData, FactorFit, Factors, Penalties, view_likelihood
from labelwise.numerics.gp.feature_regression import LARGEST_FACTOR, STEPS, TOLERANCE, column_norms, ridge_inverse
from labelwise.numerics.linear_algebra import dense, solve_columns
from labelwise.numerics.weighted_ridge import (
    RowSolver,
    System,
    View,
    conjugate_gradients,
    mean_gram,
    row_chunks,
    weighted_products,
)

FAN_IN = 8  # sums that one task adds up


def fit_factors(
    model: CooccurrenceFactors,
    X: Any,
    Y: Any,
    observed: Any = None,
    *,
    cluster: Cluster,
    parts: int | None = None,
    on_step: Callable[[int, float], None] | None = None,
) -> CooccurrenceFactors:
    """`model.fit(X, Y, observed)` with the sweeps of expectation maximisation on a cluster. Returns the fitted model.

    Items are sent to the workers once, in parts; item factors stay there. In every sweep only label factors, feature
    weights and sums over items travel, k (q + d) numbers each. What a lost worker held is computed again. Features are
    prepared, and what is "auto" is chosen, here.

    Parameters
    ----------
    model : settings; `inference` must be "map"
    X, Y, observed : as in `fit`
    cluster : see `connected`
    parts : how many to cut the items into. By default those of a fit on one machine (two million entries of Y each),
        which gives the same fit but for rounding; others have other preconditioners
    on_step : called with the number of each sweep and the objective after it

    Examples
    --------
    >>> from labelwise.cluster import fit_factors
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> model = CooccurrenceFactors(feature_penalty=0.1, n_iterations=20)
    >>> fit_factors(model, X, X > 0, cluster=2).predict(X[:1])  # starts two processes # doctest: +SKIP
    array([[1, 0, 1, 1]])
    """
    if model.inference != "map":
        raise ValueError(f'inference={model.inference!r} runs on one machine alone: use inference="map", or model.fit')
    if parts is not None and parts < 1:
        raise ValueError(f"parts must be at least 1, got {parts!r}")
    if not isinstance(model, CooccurrenceFactors):
        raise ValueError(f"model must be a CooccurrenceFactors, got {type(model).__name__}")
    with connected(cluster) as client:
        twin: CooccurrenceFactors = clone(model)
        return twin._fit(X, Y, observed, partial(_learn, client, parts), on_step)


def _learn(
    client: Any, n_parts: int | None, problem: FactorProblem, settings: FactorSettings, schedule: SweepSchedule
) -> tuple[Learnt, list[float]]:
    fit = prepare_fit(problem, settings, factored=False)
    start = first_factors(problem, settings, fit)
    n, q = problem.Y.shape
    if n_parts is None:
        spans = list(row_chunks(n, q))
    else:
        edges = np.linspace(0, n, min(n_parts, n) + 1).astype(int)
        spans = [slice(a, b) for a, b in pairwise(edges)]
    there = PartedFit(client, fit, spans)
    factors, path = schedule.run(there.sweep, there.objective, without_items(start))
    factors = replace(factors, items=np.vstack(collect(client, there.items)))
    factors = replace(factors, expected=np.asarray(problem.X @ factors.weights))
    return Learnt(fit, factors, transfer(settings, fit, factors)), path


class PartedFit:
    """`FactorFit` with its items on a cluster: the same updates in the same order."""

    def __init__(self, client: Any, fit: FactorFit, spans: Sequence[slice]) -> None:
        self._client, self._workers = client, workers_of(client)
        data, X = fit.data, fit.regression.X
        q, n = data.labels.shape[1], data.labels.shape[0]
        none = np.zeros((0, q), dtype=np.uint8)
        self._fit = replace(fit, data=FactorData(none, none, data.counts))  # what is left to do here: the counts
        columns = 0 if data.counts is None else data.counts.values.shape[1]
        self._chunks = list(row_chunks(q, n + columns))  # of labels: they share a preconditioner, as on one machine
        self._n_features, self._dtype = X.shape[1], X.dtype
        self._parts = [
            self._submit(
                number,
                itself,
                FactorPart(X[span], FactorData(data.labels[span], data.observed[span]), fit.penalties, fit.solver),
            )
            for number, span in enumerate(spans)
        ]
        self.items: list[Any] = [None] * len(spans)  # (n_p, k) of each part, where they are

    def sweep(self, f: Factors) -> Factors:
        """One round of updates; every line raises the objective."""
        shared = self._share(f)
        self.items = self._each(update_items, self.items, shared)
        evidence_and_sums = self._each(label_evidence, self.items, shared, self._chunks)
        evidence = [self._submit(number, itemgetter(0), pair) for number, pair in enumerate(evidence_and_sums)]
        sums = LabelSums(
            *self._total([self._submit(i, itemgetter(1), pair) for i, pair in enumerate(evidence_and_sums)])
        )
        f = replace(f, labels=f.labels + self._label_step(f, evidence, sums))
        f = self._fit.update_columns(f)
        f = replace(f, weights=self._solve_features(sums.features, f.weights))
        if self._fit.bias:
            f = self._update_biases(f)
        return self._fit.update_overdispersion(f)

    def objective(self, f: Factors) -> float:
        total = float(self._total(self._each(part_objective, self.items, self._share(f))))
        return total + self._fit.objective(f)

    # -- steps --------------------------------------------------------------------------------------------------------

    def _label_step(self, f: Factors, evidence: list[Any], sums: LabelSums) -> FloatArray:
        penalty, solver = self._fit.penalties.labels, self._fit.solver
        counts = [] if self._fit.data.counts is None else [self._count_system(f)]
        right = sums.slopes - penalty * f.labels
        for slope, _, F in counts:
            right = right + slope @ F
        right = right.astype(f.labels.dtype, copy=False)
        systems = [(weights, F) for _, weights, F in counts]
        if solver.method == "exact":
            return self._exact(right, evidence, systems, penalty)

        def multiply(p: FloatArray) -> FloatArray:
            everyone = self._submit(0, itself, p)
            there = self._total([self._submit(i, label_products, own, everyone) for i, own in enumerate(evidence)])
            return penalty * p + there + sum(weighted_products(weights, F, p) for weights, F in systems)

        inverses = self._preconditioners(sums.grams, systems, penalty, right.dtype)

        def precondition(r: FloatArray) -> FloatArray:
            return np.vstack([r[chunk] @ inverse for chunk, inverse in zip(self._chunks, inverses, strict=True)])

        return conjugate_gradients(right, multiply, precondition, solver.steps)

    def _count_system(self, f: Factors) -> tuple[FloatArray, FloatArray, FloatArray]:
        view = self._fit.label_views(f)[1]
        return *view.slopes(f.labels), view.factors

    def _preconditioners(
        self, grams: FloatArray, systems: list[System], penalty: float, dtype: Any
    ) -> list[FloatArray]:
        inverses = []
        for chunk, lead in zip(self._chunks, grams, strict=True):
            lead = lead + penalty * np.eye(len(lead)) + sum(mean_gram(weights[chunk], F) for weights, F in systems)
            inverses.append(np.linalg.inv(lead).astype(dtype))
        return inverses

    def _exact(self, right: FloatArray, evidence: list[Any], systems: list[System], penalty: float) -> FloatArray:
        gram = self._total([self._submit(i, label_grams, own) for i, own in enumerate(evidence)])  # (q, k, k)
        for weights, F in systems:
            gram = gram + label_grams(LabelEvidence(F, weights))
        gram[:, np.arange(gram.shape[1]), np.arange(gram.shape[1])] += penalty
        step: FloatArray = np.linalg.solve(gram, right[:, :, None])[:, :, 0]
        return step

    def _solve_features(self, right: FloatArray, start: FloatArray) -> FloatArray:
        if self._n_features <= LARGEST_FACTOR:
            return self._inverse @ right
        ridge = self._fit.regression.penalty

        def multiply(P: FloatArray) -> FloatArray:
            everyone = self._submit(0, itself, P)
            products = [self._submit(i, feature_products, part, everyone) for i, part in enumerate(self._parts)]
            return self._total(products) + ridge * P

        diagonal = (self._norms + ridge)[:, None]
        return solve_columns(multiply, right, diagonal, start=start, steps=STEPS, tolerance=TOLERANCE)

    @cached_property
    def _inverse(self) -> FloatArray:
        gram = self._total([self._submit(i, feature_gram, part) for i, part in enumerate(self._parts)])
        return ridge_inverse(gram.copy(), self._fit.regression.penalty).astype(self._dtype)

    @cached_property
    def _norms(self) -> FloatArray:
        norms = self._total([self._submit(i, feature_norms, part) for i, part in enumerate(self._parts)])
        return norms.astype(self._dtype)

    def _update_biases(self, f: Factors) -> Factors:
        slopes, weights = self._total(self._each(bias_sums, self.items, self._share(f)))
        prior = self._fit.penalties.biases
        step = (slopes - prior * f.label_bias) / (weights + prior)
        f = replace(f, label_bias=(f.label_bias + step).astype(f.label_bias.dtype))
        return f if self._fit.data.counts is None else self._fit.update_count_biases(f)

    # -- tasks --------------------------------------------------------------------------------------------------------

    def _share(self, f: Factors) -> Any:
        return self._submit(0, itself, SharedFactors(f.labels, f.label_bias, f.weights))

    def _submit(self, number: int, function: Callable[..., Any], *args: Any) -> Any:
        return self._client.submit(function, *args, **near(self._workers, number))

    def _each(self, function: Callable[..., Any], items: list[Any], *args: Any) -> list[Any]:
        """A task for each part and its item factors."""
        pairs = enumerate(zip(self._parts, items, strict=True))
        return [self._submit(number, function, part, own, *args) for number, (part, own) in pairs]

    def _total(self, futures: list[Any]) -> Any:
        """The sum over parts, always in the same order; by tasks while they are many."""
        while len(futures) > FAN_IN:
            groups = [futures[start : start + FAN_IN] for start in range(0, len(futures), FAN_IN)]
            futures = [self._submit(number, _add, group) for number, group in enumerate(groups)]
        return _add(collect(self._client, futures))


def without_items(f: Factors) -> Factors:
    """What is learnt of labels, columns and features: items are elsewhere."""
    nobody = np.zeros((0, f.labels.shape[1]), f.labels.dtype)
    return replace(f, items=nobody, expected=nobody)


def _add(parts: list[Any]) -> Any:
    """Sums of arrays, of numbers, or of tuples of arrays, place by place."""
    if isinstance(parts[0], tuple):
        return tuple(_add(list(column)) for column in zip(*parts, strict=True))
    return sum(parts[1:], start=parts[0])


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
    return column_norms(part.X)


def _item_view(part: FactorPart, shared: SharedFactors) -> View:
    none = np.zeros(part.n_items, shared.labels.dtype)
    return View(shared.labels, part.data.labels, part.data.observed, none, shared.label_bias)


def _label_view(part: FactorPart, U: FloatArray, shared: SharedFactors) -> View:
    none = np.zeros(part.n_items, shared.labels.dtype)
    return View(U, part.data.labels_by_label, part.data.observed_by_label, shared.label_bias, none)
