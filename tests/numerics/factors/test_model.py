from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, gammaln
from sklearn.exceptions import ConvergenceWarning

from factor_loops import Loops, random_beliefs
from factor_problems import factor_fit, problem, run, start
from labelwise.numerics.factors import model as factor_model
from labelwise.numerics.factors.model import (
    Counts,
    FactorData,
    Penalties,
    better_overdispersion,
    fit_rows,
    fold_in_labels,
    regress_by_kernel,
    regress_labels,
    start_factors,
    transfer_residuals,
)
from labelwise.numerics.gp.feature_regression import FeatureRegression
from labelwise.numerics.weighted_ridge import RowSolver

ONES = Penalties(1.0, 1.0, 1.0, 1.0, 0.01, 1.0)
APART = Penalties(labels=3.0, columns=0.4)  # of labels and of counts
VARIANTS = {
    "exact": {"method": "exact"},
    "cg": {},
    "cg for features": {"regression": "cg"},
    "no bias": {"bias": False},
    "paper": {"bias": False, "penalties": ONES, "method": "exact"},
    "learnt over-dispersion": {"learn_overdispersion": True},
    "no counts": {"counts": False},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_objective_never_falls(name):
    fit = factor_fit(problem(), **VARIANTS[name])
    f = start(fit)
    values = [fit.objective(f)]
    for _ in range(60):
        f = fit.sweep(f)
        values.append(fit.objective(f))
    assert np.all(np.diff(values) >= -1e-10 * np.abs(values[1:]))
    assert values[-1] > values[0] + 50


@pytest.mark.parametrize("step", ["items", "labels", "columns", "weights", "biases", "overdispersion"])
def test_every_update_of_a_sweep_raises_the_objective(step):
    fit = factor_fit(problem(1), learn_overdispersion=True)
    f = scattered(fit)
    assert fit.objective(getattr(fit, f"update_{step}")(f)) > fit.objective(f)


PARTS = ("items", "labels", "columns", "weights", "label_bias", "row_bias", "column_bias", "expected")


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"counts": False}, {"penalties": ONES}, {"penalties": APART}])
def test_updates_and_sweeps_are_those_written_out_entry_by_entry(options):
    fit = factor_fit(problem(n=12, d=3, s=5, u=2), method="exact", **options)
    loops, q = Loops(fit, certain=True), random_beliefs(fit, certain=True)
    for name in ("items", "labels", "columns", "weights", "biases"):
        found, rival = getattr(fit, f"update_{name}")(q.means), getattr(loops, name)(q).means
        for part in PARTS:
            np.testing.assert_allclose(getattr(found, part), getattr(rival, part), atol=1e-10)
    f = q.means
    for _ in range(3):
        np.testing.assert_allclose(fit.objective(f), loops.bound(q), rtol=1e-11)
        f, q = fit.sweep(f), loops.sweep(q)
        for part in PARTS:
            np.testing.assert_allclose(getattr(f, part), getattr(q.means, part), atol=1e-9)


def scattered(fit, seed=0):
    """Factors of no merit, all of them different from zero."""
    rng, f = np.random.default_rng(seed), start(fit)
    fields = ("items", "labels", "columns", "weights", "label_bias", "row_bias", "column_bias")
    f = replace(f, **{name: 0.5 * rng.normal(size=getattr(f, name).shape) for name in fields})
    return replace(f, expected=fit.regression.fitted(f.weights))


def directional(fit, f, name, direction, h=1e-5):
    def moved(t):
        g = replace(f, **{name: getattr(f, name) + t * direction})
        return fit.objective(replace(g, expected=fit.regression.fitted(g.weights)))

    return (moved(h) - moved(-h)) / (2 * h)


@pytest.mark.parametrize("name", ["items", "labels", "columns", "label_bias", "row_bias", "column_bias", "weights"])
def test_gradients_are_those_of_finite_differences(name):
    """The slopes that the solvers follow are the derivatives of the objective that is reported."""
    fit = factor_fit(problem(2))
    f, p = scattered(fit), fit.penalties
    of_labels = fit.item_view(f).slopes(f.items)[0]  # (n, s)
    of_counts = fit.label_views(f)[1].slopes(f.labels)[0]  # (s, c)
    departure = f.items - f.expected
    gradients = {
        "items": of_labels @ f.labels - p.items * departure,
        "labels": of_labels.T @ f.items + of_counts @ f.columns - p.labels * f.labels,
        "columns": of_counts.T @ f.labels - p.columns * f.columns,
        "label_bias": of_labels.sum(0) - p.biases * f.label_bias,
        "row_bias": of_counts.sum(1) - p.biases * f.row_bias,
        "column_bias": of_counts.sum(0) - p.biases * f.column_bias,
        "weights": p.items * fit.regression.X.T @ departure - p.features * f.weights,
    }
    direction = np.random.default_rng(1).normal(size=getattr(f, name).shape)
    np.testing.assert_allclose(directional(fit, f, name, direction), np.sum(gradients[name] * direction), rtol=1e-6)


def test_feature_weights_are_stationary_where_item_factors_are_precise():
    """The printed update has the penalty λ_w; with λ_u = 4 its result is not a maximum."""
    penalties = replace(ONES, items=4.0)
    fit = factor_fit(problem(3), penalties=penalties)
    f = fit.update_weights(scattered(fit))
    direction = np.random.default_rng(0).normal(size=f.weights.shape)
    assert abs(directional(fit, f, "weights", direction)) < 1e-5
    printed = replace(fit, regression=FeatureRegression(fit.regression.X, penalties.features))
    assert abs(directional(fit, printed.update_weights(f), "weights", direction)) > 1e-2


def test_a_long_run_ends_at_a_maximum():
    fit = factor_fit(problem(4), method="exact")
    f = run(fit, start(fit), 1500)
    rng = np.random.default_rng(0)
    for name in ("items", "labels", "columns"):
        direction = rng.normal(size=getattr(f, name).shape)
        assert abs(directional(fit, f, name, direction / np.linalg.norm(direction))) < 0.02


class PrintedCounts(Counts):
    """κ = (m + r)/2 is that of m + r successes among m + r trials: what the paper prints."""

    def successes(self, weight):
        return weight * np.where(self.known, self.values + 5.0, 0.0)


def fitted_counts(fit, f):
    return f.overdispersion * np.exp(f.labels @ f.columns.T + f.row_bias[:, None] + f.column_bias)


def test_counts_are_recovered_and_by_the_printed_kappa_they_are_not():
    given = problem(5, n=400, known_counts=1.0)
    weak = Penalties(1.0, 0.1, 0.1, 1.0, 0.01, 1.0)
    known = given.counts.known
    truth = given.counts.values[known]
    right = factor_fit(given, penalties=weak)
    f = run(right, start(right), 200)
    ratio = fitted_counts(right, f)[known] / truth
    assert 0.95 < np.median(ratio) < 1.05 and np.corrcoef(fitted_counts(right, f)[known], truth)[0, 1] > 0.95
    printed = factor_fit(given._replace(counts=PrintedCounts(given.counts.values, known)), penalties=weak)
    g, values = start(printed), []
    for _ in range(200):
        g = printed.sweep(g)
        values.append(right.objective(g))
    assert np.median(fitted_counts(right, g)[known] / truth) > 10
    assert np.mean(np.diff(values) < 0) > 0.9


def test_what_lies_under_a_mask_does_not_matter():
    given = problem(6)
    hidden = ~given.counts.known
    noisy = Counts(np.where(hidden, np.nan, given.counts.values), given.counts.known)
    other = given.Y.copy()
    other[:, : given.observed.shape[1]] ^= ~given.observed
    fits = [factor_fit(given), factor_fit(given._replace(Y=other, counts=noisy))]
    first, second = (run(fit, start(fit), 10) for fit in fits)
    for name in ("items", "labels", "columns", "weights", "label_bias", "column_bias"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert fits[0].objective(first) == fits[1].objective(second)


def test_an_item_without_answers_is_where_its_features_put_it():
    given = problem(7)
    given.observed[3] = False
    fit = factor_fit(given, method="exact")
    f = run(fit, start(fit), 10)
    np.testing.assert_allclose(fit.update_items(f).items[3], f.expected[3], atol=1e-12)


def test_the_order_of_items_and_labels_does_not_matter():
    given = problem(8)
    s = given.observed.shape[1]
    rng = np.random.default_rng(0)
    items, seen = rng.permutation(len(given.X)), rng.permutation(s)
    columns = np.concatenate([seen, np.arange(s, given.Y.shape[1])])
    counts = Counts(given.counts.values[np.ix_(seen, columns)], given.counts.known[np.ix_(seen, columns)])
    moved = given._replace(
        X=given.X[items], Y=given.Y[np.ix_(items, columns)], observed=given.observed[np.ix_(items, seen)], counts=counts
    )
    fits = [factor_fit(given), factor_fit(moved)]
    first, second = (run(fit, start(fit), 15) for fit in fits)
    np.testing.assert_allclose(fits[1].objective(second), fits[0].objective(first), rtol=1e-8)
    scores, permuted = (f.items @ f.labels.T + f.label_bias for f in (first, second))
    np.testing.assert_allclose(permuted, scores[np.ix_(items, seen)], atol=1e-5)


def test_turning_the_factors_changes_nothing():
    fit = factor_fit(problem(9))
    f = run(fit, start(fit), 2)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    turned = replace(
        f, **{name: getattr(f, name) @ turn for name in ("items", "labels", "columns", "weights", "expected")}
    )
    np.testing.assert_allclose(fit.objective(turned), fit.objective(f), rtol=1e-12)
    f, turned = run(fit, f, 10), run(fit, turned, 10)
    np.testing.assert_allclose(fit.objective(turned), fit.objective(f), rtol=1e-10)
    np.testing.assert_allclose(turned.items @ turned.labels.T, f.items @ f.labels.T, atol=1e-8)


def test_more_factors_than_seen_labels_have_the_same_optimum():
    fit = factor_fit(problem(10))
    s = fit.data.labels.shape[1]
    best = fit.objective(run(fit, start(fit, s), 400))
    rng = np.random.default_rng(0)
    wide = start(fit, s + 5)
    wide = replace(
        wide, labels=0.1 * rng.normal(size=wide.labels.shape), columns=0.1 * rng.normal(size=wide.columns.shape)
    )
    np.testing.assert_allclose(fit.objective(run(fit, wide, 400)), best, rtol=2e-3)
    surplus = run(fit, start(fit, s + 5), 50)
    assert not surplus.labels[:, s:].any()


def test_overdispersion_is_found():
    rng = np.random.default_rng(0)
    mean, r = rng.gamma(2.0, 10.0, size=4000), 3.0
    m = rng.poisson(rng.gamma(r, mean / r)).astype(float)
    spent, found, values = float(np.log1p(mean / r).sum()), 40.0, []
    for _ in range(30):
        found = better_overdispersion(m, spent, found)
        values.append(gammaln(m + found).sum() - m.size * gammaln(found) - found * spent)
    assert np.all(np.diff(values) >= 0)
    nearby = [gammaln(m + x).sum() - m.size * gammaln(x) - x * spent for x in (0.99 * found, 1.01 * found)]
    assert max(nearby) < values[-1]
    np.testing.assert_allclose(found, r, rtol=0.05)


def test_overdispersion_stays_where_no_count_is_above_0():
    given = problem()
    none = given._replace(counts=Counts(0 * given.counts.values, given.counts.known))
    fit = factor_fit(none, learn_overdispersion=True)
    assert run(fit, start(fit), 30).overdispersion == 5.0


def test_start_has_the_base_rates():
    given = problem(11)
    f = start(factor_fit(given))
    positives, asked = (given.seen & given.observed).sum(0), given.observed.sum(0)
    np.testing.assert_allclose(expit(f.label_bias), (positives + 0.5) / (asked + 1), rtol=1e-12)
    known = given.counts.known.sum(0)
    means = (given.counts.values.sum(0) + 0.5) / np.maximum(known, 1)
    np.testing.assert_allclose(5 * np.exp(f.column_bias[known > 0]), means[known > 0], rtol=1e-12)


def test_single_precision_ends_where_double_does():
    given = problem(12)
    fit = factor_fit(given)
    narrow = replace(fit, regression=FeatureRegression(given.X.astype(np.float32), fit.regression.penalty))
    f = run(narrow, start(narrow, dtype=np.float32), 30)
    assert f.items.dtype == f.labels.dtype == f.weights.dtype == f.column_bias.dtype == np.float32
    np.testing.assert_allclose(narrow.objective(f), fit.objective(run(fit, start(fit), 30)), rtol=1e-4)


def test_conjugate_gradients_end_near_the_exact_solver():
    given = problem(13)
    values = [fit.objective(run(fit, start(fit), 15)) for fit in (factor_fit(given), factor_fit(given, method="exact"))]
    np.testing.assert_allclose(values[0], values[1], rtol=5e-3)


def test_one_label_and_one_item_are_enough():
    data = FactorData.of(np.ones((1, 1), bool), np.ones((1, 1), bool))
    f = start_factors(data, 1, 1, dtype=np.float64)
    fit = replace(factor_fit(problem(), counts=False), data=data, regression=FeatureRegression(np.ones((1, 1)), 1.0))
    f = run(replace(fit, solver=RowSolver()), f, 20)
    assert np.isfinite(fit.objective(f)) and (f.items @ f.labels.T + f.label_bias)[0, 0] > 0


@pytest.fixture
def fitted():
    fit = factor_fit(problem(n=100, s=12, u=4))
    return fit, run(fit, start(fit, 5), 20)


def test_regression_is_least_squares(fitted):
    _, f = fitted
    Z = np.column_stack([f.columns, f.column_bias, np.ones(len(f.columns))])
    penalties = np.sqrt(np.r_[np.full(5, 0.5), 1e-6, 1e-6])
    stacked = np.vstack([Z[:12], np.diag(penalties)])
    targets = np.vstack([np.column_stack([f.labels, f.label_bias]), np.zeros((7, 6))])
    truth = Z @ np.linalg.lstsq(stacked, targets, rcond=None)[0]
    found = regress_labels(f, 0.5)
    np.testing.assert_allclose(found.factors, truth[12:, :-1], atol=1e-8)
    np.testing.assert_allclose(found.bias, truth[12:, -1], atol=1e-8)
    np.testing.assert_allclose(transfer_residuals(f, 0.5), f.labels - truth[:12, :-1], atol=1e-8)


def test_without_biases_it_is_the_papers(fitted):
    _, f = fitted
    B = f.columns
    psi = f.labels.T @ B[:12] @ np.linalg.inv(B[:12].T @ B[:12] + 0.5 * np.eye(5))
    found = regress_labels(f, 0.5, bias=False)
    np.testing.assert_allclose(found.factors, B[12:] @ psi.T, atol=1e-10)
    assert not found.bias.any()


def test_a_straight_line_is_found(fitted):
    _, f = fitted
    rng = np.random.default_rng(0)
    psi, slope = rng.normal(size=(5, 5)), rng.normal(size=6)
    exact = replace(
        f,
        labels=f.columns[:12] @ psi,
        label_bias=f.columns[:12] @ slope[:5] + slope[5] * f.column_bias[:12] + 0.7,
    )
    found = regress_labels(exact, 1e-9)
    np.testing.assert_allclose(found.factors, f.columns[12:] @ psi, atol=1e-4)
    truth = f.columns[12:] @ slope[:5] + slope[5] * f.column_bias[12:] + 0.7
    np.testing.assert_allclose(found.bias, truth, atol=1e-4)


def test_the_kernel_reproduces_a_twin_and_forgets_strangers(fitted):
    _, f = fitted
    columns, bias = f.columns.copy(), f.column_bias.copy()
    columns[12], bias[12] = columns[3], bias[3]  # the twin of a seen label
    columns[13] += 1e6  # like nothing seen
    found = regress_by_kernel(replace(f, columns=columns, column_bias=bias), 1e-8)
    np.testing.assert_allclose(found.factors[0], f.labels[3], atol=1e-5)
    np.testing.assert_allclose(found.bias[0], f.label_bias[3], atol=1e-5)
    again = regress_by_kernel(
        replace(f, columns=np.where(columns == columns[13], 9e6, columns), column_bias=bias), 1e-8
    )
    np.testing.assert_allclose(again.factors[1], found.factors[1], atol=1e-9)


@pytest.mark.parametrize("bias", [True, False])
def test_a_folded_in_label_has_the_best_row_of_counts(bias):
    fit = factor_fit(problem(1, n=100, s=12, u=4), bias=bias, method="exact")
    f = run(fit, start(fit, 5), 20)
    found = fold_in_labels(fit, f)
    counts, weight = fit.data.counts, fit.penalties.counts_weight
    values, known = counts.values[:, 12:].T, counts.known[:, 12:].T  # (u, s)

    def objective(v, a):
        gamma = v @ f.columns[:12].T + a[:, None] + f.column_bias[:12]
        entries = values * gamma - (values + f.overdispersion) * np.logaddexp(0, gamma)
        return weight * entries[known].sum() - fit.penalties.labels / 2 * np.sum(v**2) - 0.005 * np.sum(a**2)

    a = np.zeros(4)
    if bias:  # b is a straight line in a over the seen labels: turn it around
        line = np.polyfit(f.row_bias, f.label_bias, 1)
        a = (found.bias - line[1]) / line[0]
    best = objective(found.factors, a)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert objective(found.factors + 0.05 * rng.normal(size=(4, 5)), a) < best
    assert found.bias.any() == bias


def row_objective(fit, f, i):
    """Of one unseen label's factors and bias, straight from the negative binomial of its counts."""
    s, counts, p = len(f.labels), fit.data.counts, fit.penalties
    values, known = counts.values[:, s + i], counts.known[:, s + i]

    def objective(x):
        v, a = (x[:-1], x[-1]) if fit.bias else (x, 0.0)
        gamma = f.columns[:s] @ v + a + f.column_bias[:s]
        entries = values * gamma - (values + f.overdispersion) * np.logaddexp(0, gamma)
        return p.counts_weight * entries[known].sum() - p.labels / 2 * v @ v - p.biases / 2 * a**2

    return objective


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("overdispersion", [1.0, 5.0, 108.0, 5000.0])
def test_folded_in_factors_are_a_stationary_point_whatever_the_overdispersion(bias, overdispersion):
    fit = factor_fit(problem(1, n=100, s=12, u=4), bias=bias)
    f = replace(run(fit, start(fit, 5), 20), overdispersion=overdispersion)
    f = replace(f, column_bias=f.column_bias - np.log(overdispersion / 5.0) * bias)  # counts keep their mean
    found = fold_in_labels(fit, f)
    row_bias = np.zeros(4)
    if bias:  # b is a straight line in a over the seen labels: turn it around
        line = np.polyfit(f.row_bias, f.label_bias, 1)
        row_bias = (found.bias - line[1]) / line[0]
    for i in range(4):
        objective = row_objective(fit, f, i)
        x = np.append(found.factors[i], row_bias[i]) if bias else found.factors[i]
        slopes = [(objective(x + h) - objective(x - h)) / 2e-5 for h in 1e-5 * np.eye(x.size)]
        np.testing.assert_allclose(slopes, 0.0, atol=2e-4)
        rival = minimize(lambda x, of=objective: -of(x), np.zeros(x.size), method="BFGS", options={"gtol": 1e-7})
        np.testing.assert_allclose(x, rival.x, atol=1e-4)


def test_folded_in_factors_of_a_learnt_overdispersion_have_converged():
    """The rounds of the bound that came before were 1.5 away from the best factors here, whose largest is 1.8."""
    ones = Penalties(items=1.0, labels=1.0, columns=1.0, features=1.0, counts_weight=1.0)
    fit = factor_fit(problem(1, n=100, s=12, u=4), penalties=ones, learn_overdispersion=True, method="exact", bias=True)
    f = run(fit, start(fit, 10), 300)
    assert f.overdispersion > 100
    found = fold_in_labels(fit, f)
    for i in range(4):
        objective = row_objective(fit, f, i)
        rival = minimize(lambda x, of=objective: -of(x), np.zeros(11), method="BFGS", options={"gtol": 1e-7})
        np.testing.assert_allclose(found.factors[i], rival.x[:-1], atol=1e-4)


def test_a_row_that_does_not_come_to_rest_is_told(monkeypatch):
    monkeypatch.setattr(factor_model, "MAX_FOLD_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match=r"1 of 1 folded-in labels still move after 1 Newton"):
        fit_rows(np.ones((1, 1)), np.array([[3.0]]), np.array([[4.0]]), np.zeros(1), np.full(1, 1e-9))
