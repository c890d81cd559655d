from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from factor_problems import factor_fit, problem, run, start
from labelwise.models.factors import stream as factor_stream
from labelwise.models.factors.stream import INNER_ROUNDS, ItemSums, LabelPriors, StreamState, solve_ridge
from labelwise.numerics.factors.model import FactorData
from labelwise.numerics.factors.variational import FactorBeliefs, VariationalFit
from labelwise.numerics.polya_gamma import polya_gamma_mean


def online(fit, f, k=4):
    """A state about the seen labels only, before any item."""
    s, d = fit.data.labels.shape[1], fit.regression.X.shape[1]
    nothing = ItemSums(
        0.0,
        np.zeros(s),
        np.zeros((s, k, k)),
        np.zeros((s, k)),
        np.zeros(s),
        np.zeros(s),
        np.zeros((d, d)),
        np.zeros((d, k)),
    )
    priors = LabelPriors(np.zeros((s, k)), np.zeros(s), np.full(s, fit.penalties.biases), np.arange(s))
    empty = np.zeros((0, s), np.uint8)
    bare = replace(fit, data=FactorData(empty, empty, fit.data.counts))
    return StreamState(bare, replace(f, items=np.zeros((0, k))), priors, nothing, 0.0)


def one_sweep(fit, f):
    """A sweep written out with every weight taken at the same factors: two rounds of items, then all the rest."""
    p, data, X = fit.penalties, fit.data, fit.regression.X
    kappa = data.labels - data.observed / 2
    U = X @ f.weights
    for _ in range(INNER_ROUNDS):
        omega = polya_gamma_mean(data.observed, U @ f.labels.T + f.label_bias)
        for i in range(len(U)):
            gram = (f.labels * omega[i][:, None]).T @ f.labels + p.items * np.eye(U.shape[1])
            right = (kappa[i] - omega[i] * f.label_bias) @ f.labels + p.items * X[i] @ f.weights
            U[i] = np.linalg.solve(gram, right)
    omega = polya_gamma_mean(data.observed, U @ f.labels.T + f.label_bias)
    offset = f.row_bias[:, None] + f.column_bias
    a, b = p.counts_weight * data.counts.values, data.counts.trials(p.counts_weight, f.overdispersion)
    tau = polya_gamma_mean(b, f.labels @ f.columns.T + offset)
    V = np.empty_like(f.labels)
    for l in range(len(V)):
        gram = (U * omega[:, [l]]).T @ U + (f.columns * tau[l][:, None]).T @ f.columns + p.labels * np.eye(U.shape[1])
        right = U.T @ (kappa[:, l] - omega[:, l] * f.label_bias[l]) + f.columns.T @ (
            a[l] - b[l] / 2 - tau[l] * offset[l]
        )
        V[l] = np.linalg.solve(gram, right)
    bias = (kappa - omega * (U @ f.labels.T)).sum(0) / (omega.sum(0) + p.biases)
    W = np.linalg.solve(X.T @ X + p.features / p.items * np.eye(X.shape[1]), X.T @ U)
    return V, bias, W


def test_one_batch_of_all_items_is_one_sweep():
    fit = factor_fit(problem(), method="exact")
    f = run(fit, start(fit), 3)
    V, bias, W = one_sweep(fit, f)
    after = online(fit, f).step(fit.regression.X, fit.data.labels, fit.data.observed, 1.0)
    np.testing.assert_allclose(after.factors.labels, V, atol=1e-10)
    np.testing.assert_allclose(after.factors.label_bias, bias, atol=1e-10)
    np.testing.assert_allclose(after.factors.weights, W, atol=1e-10)
    assert after.sums.n == len(fit.regression.X)


def test_variational_beliefs_that_have_settled_stay_where_they_are():
    """The sums over all items of a fixed point imply the fixed point: labels, columns, weights, biases, covariances."""
    fit = factor_fit(problem(n=40))
    variational, q = VariationalFit(fit), FactorBeliefs.start(start(fit, 3), fit.penalties.items)
    for _ in range(600):
        q = variational.sweep(q)
    sums = ItemSums.of(fit.regression.X, q.means.items, fit.item_view(q.means), (q.items, q.labels))
    state = replace(online(fit, q.means, 3), doubt=(q.labels, q.columns)).with_sums(sums)
    for name in ("labels", "columns", "weights", "label_bias", "row_bias", "column_bias"):
        np.testing.assert_allclose(getattr(state.factors, name), getattr(q.means, name), atol=2e-3)
    np.testing.assert_allclose(state.doubt[0], q.labels, atol=2e-4)
    np.testing.assert_allclose(state.doubt[1], q.columns, atol=2e-4)


def objective(fit, state):
    """Of the factors the state has, with the items' own at their best."""
    f = replace(state.factors, items=fit.regression.fitted(state.factors.weights))
    f = replace(f, expected=f.items)
    for _ in range(20):
        f = fit.update_items(f)
    return fit.objective(f)


def test_the_objective_rises_over_epochs_towards_the_batch():
    given = problem(1, n=200)
    fit = factor_fit(given, method="exact")
    state, data, values, step = online(fit, start(fit)), fit.data, [], 0
    rng = np.random.default_rng(0)
    for _ in range(12):
        for rows in np.array_split(rng.permutation(200), 8):
            share = 1.0 if step == 0 else (step + 2) ** -0.6
            state = state.step(given.X[rows], data.labels[rows], data.observed[rows], share, n_items=200)
            step += 1
        values.append(objective(fit, state))
    batch = run(fit, start(fit), 100)
    best, first = fit.objective(batch), fit.objective(start(fit))
    assert values[0] < values[3] < values[-1]
    assert values[-1] > best - 0.15 * (best - first)


def test_sums_over_parts_are_sums_over_all():
    fit = factor_fit(problem(2))
    f = run(fit, start(fit), 3)
    X, view = fit.regression.X, fit.item_view(f)
    whole = ItemSums.of(X, f.items, view)
    first = ItemSums.of(X[:20], f.items[:20], view.rows(slice(0, 20)))
    rest = ItemSums.of(X[20:], f.items[20:], view.rows(slice(20, None)))
    together = first.moved_towards(rest, 0.0)  # the least it moves by is the part's part of the whole
    for name in ("answers", "grams", "rights", "bias_tops", "bias_bottoms", "feature_gram", "feature_cross", "n"):
        np.testing.assert_allclose(getattr(together, name), getattr(whole, name), rtol=1e-10, atol=1e-10)


def test_a_label_the_batch_says_nothing_of_forgets_nothing():
    fit = factor_fit(problem(6))
    f = run(fit, start(fit), 3)
    X, view = fit.regression.X, fit.item_view(f)
    before = ItemSums.of(X, f.items, view)
    view.trials[:10, 0], view.successes[:10, 0] = 0, 0
    after = before.moved_towards(ItemSums.of(X[:10], f.items[:10], view.rows(slice(0, 10))), 0.5)
    np.testing.assert_allclose(after.grams[0], before.grams[0], rtol=1e-12)
    np.testing.assert_allclose(after.answers, before.answers + view.trials[:10].sum(0), rtol=1e-12)
    old, new = before.grams[1] / before.answers[1], after.grams[1] / after.answers[1]
    part = view.trials[:10, 1].sum() / 10  # the share of the batch that was asked about it
    batch = ItemSums.of(X[:10], f.items[:10], view.rows(slice(0, 10)))
    np.testing.assert_allclose(new, (1 - 0.5 * part) * old + 0.5 * part * batch.grams[1] / batch.answers[1], rtol=1e-9)


def test_a_label_without_answers_stays_at_its_guess_and_leaves_it_with_them():
    fit = factor_fit(problem(3), counts=False, method="exact")
    f = run(fit, start(fit), 5)
    state, s = online(fit, f), fit.data.labels.shape[1]
    guess = np.random.default_rng(0).normal(size=(s, 4))
    state = replace(state, priors=LabelPriors(guess, np.full(s, -2.0), np.ones(s), np.arange(0)))
    observed = fit.data.observed.copy()
    observed[:, 2] = 0
    labels = fit.data.labels * observed
    after = state.step(fit.regression.X, labels, observed, 1.0).factors
    np.testing.assert_allclose(after.labels[2], guess[2], atol=1e-12)
    np.testing.assert_allclose(after.label_bias[2], -2.0, atol=1e-12)
    observed[:, 2], labels[:, 2] = 1, 1
    told = state.step(fit.regression.X, labels, observed, 1.0).factors
    assert told.label_bias[2] > 0


@pytest.mark.parametrize("bias", [True, False])
def test_biases_only_where_there_are_some(bias):
    fit = factor_fit(problem(4), bias=bias)
    after = online(fit, start(fit)).step(fit.regression.X, fit.data.labels, fit.data.observed, 1.0).factors
    assert after.label_bias.any() == after.column_bias.any() == bias


def test_many_sparse_features_are_solved_by_steps(monkeypatch):
    fit = factor_fit(problem(5))
    f = run(fit, start(fit), 3)
    dense = ItemSums.of(fit.regression.X, f.items, fit.item_view(f))
    monkeypatch.setattr(factor_stream, "LARGEST_FACTOR", 2)
    sparse = ItemSums.of(sp.csr_array(fit.regression.X), f.items, fit.item_view(f))
    assert sp.issparse(sparse.feature_gram)
    start_at = np.zeros_like(f.weights)
    np.testing.assert_allclose(solve_ridge(sparse, 0.7, start_at), solve_ridge(dense, 0.7, start_at), atol=1e-4)
