"""`CooccurrenceFactors` by map and reduce: items stay in parts on the workers, sums over them come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.base import clone

from labelwise.cluster._connect import Cluster, collect, connected, near, workers_of
from labelwise.models import CooccurrenceFactors
from labelwise.models._factor_training import (
    FactorProblem,
    FactorSettings,
    Learnt,
    Schedule,
    first_factors,
    prepare_fit,
    transfer,
)
from labelwise.numerics import factor_parts as work
from labelwise.numerics.factor_model import FactorData, FactorFit, Factors
from labelwise.numerics.feature_regression import LARGEST_FACTOR, ridge_gradients, ridge_inverse
from labelwise.numerics.weighted_ridge import System, conjugate_gradients, mean_gram, row_chunks, weighted_products
from labelwise.posterior import FloatArray

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
    client: Any, n_parts: int | None, problem: FactorProblem, settings: FactorSettings, schedule: Schedule
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
                _itself,
                work.FactorPart(X[span], FactorData(data.labels[span], data.observed[span]), fit.penalties, fit.solver),
            )
            for number, span in enumerate(spans)
        ]
        self.items: list[Any] = [None] * len(spans)  # (n_p, k) of each part, where they are

    def sweep(self, f: Factors) -> Factors:
        """One round of updates; every line raises the objective."""
        shared = self._share(f)
        self.items = self._each(work.update_items, self.items, shared)
        both = self._each(work.label_evidence, self.items, shared, self._chunks)
        evidence = [self._submit(number, itemgetter(0), pair) for number, pair in enumerate(both)]
        sums = work.LabelSums(*self._total([self._submit(i, itemgetter(1), pair) for i, pair in enumerate(both)]))
        f = replace(f, labels=f.labels + self._label_step(f, evidence, sums))
        f = self._fit.update_columns(f)
        f = replace(f, weights=self._solve_features(sums.features, f.weights))
        if self._fit.bias:
            f = self._update_biases(f)
        return self._fit.update_overdispersion(f)

    def objective(self, f: Factors) -> float:
        total = float(self._total(self._each(work.part_objective, self.items, self._share(f))))
        return total + self._fit.objective(f)

    # -- steps --------------------------------------------------------------------------------------------------------

    def _label_step(self, f: Factors, evidence: list[Any], sums: work.LabelSums) -> FloatArray:
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
            everyone = self._submit(0, _itself, p)
            there = self._total([self._submit(i, work.label_products, own, everyone) for i, own in enumerate(evidence)])
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
        gram = self._total([self._submit(i, work.label_grams, own) for i, own in enumerate(evidence)])  # (q, k, k)
        for weights, F in systems:
            gram = gram + work.label_grams(work.LabelEvidence(F, weights))
        gram[:, np.arange(gram.shape[1]), np.arange(gram.shape[1])] += penalty
        step: FloatArray = np.linalg.solve(gram, right[:, :, None])[:, :, 0]
        return step

    def _solve_features(self, right: FloatArray, start: FloatArray) -> FloatArray:
        if self._n_features <= LARGEST_FACTOR:
            return self._inverse @ right
        ridge = self._fit.regression.penalty

        def multiply(P: FloatArray) -> FloatArray:
            everyone = self._submit(0, _itself, P)
            products = [self._submit(i, work.feature_products, part, everyone) for i, part in enumerate(self._parts)]
            return self._total(products) + ridge * P

        return ridge_gradients(right, multiply, self._norms + ridge, start)

    @cached_property
    def _inverse(self) -> FloatArray:
        gram = self._total([self._submit(i, work.feature_gram, part) for i, part in enumerate(self._parts)])
        return ridge_inverse(gram.copy(), self._fit.regression.penalty).astype(self._dtype)

    @cached_property
    def _norms(self) -> FloatArray:
        norms = self._total([self._submit(i, work.feature_norms, part) for i, part in enumerate(self._parts)])
        return norms.astype(self._dtype)

    def _update_biases(self, f: Factors) -> Factors:
        slopes, weights = self._total(self._each(work.bias_sums, self.items, self._share(f)))
        prior = self._fit.penalties.biases
        step = (slopes - prior * f.label_bias) / (weights + prior)
        f = replace(f, label_bias=(f.label_bias + step).astype(f.label_bias.dtype))
        return f if self._fit.data.counts is None else self._fit.update_count_biases(f)

    # -- tasks --------------------------------------------------------------------------------------------------------

    def _share(self, f: Factors) -> Any:
        return self._submit(0, _itself, work.SharedFactors(f.labels, f.label_bias, f.weights))

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


def _itself(thing: Any) -> Any:
    return thing


def _add(parts: list[Any]) -> Any:
    """Sums of arrays, of numbers, or of tuples of arrays, place by place."""
    if isinstance(parts[0], tuple):
        return tuple(_add(list(column)) for column in zip(*parts, strict=True))
    return sum(parts[1:], start=parts[0])
