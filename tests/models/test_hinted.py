"""A model with hints: leave-one-out against fits without the item, and hints that help, mislead or say nothing."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone

from labelwise import BinaryRelevance, HintedModel, LabelGP, SemiSupervised, models
from labelwise.hints import learn_hints
from labelwise.models.hinted import HintedPosterior
from labelwise.numerics.calibration import bend
from labelwise.numerics.metrics import evaluate
from labelwise.numerics.moved_beliefs import log_odds
from labelwise.posterior import MarginalPosterior
from labelwise.records import LabelData

Q = 8


def pool(n=500, seed=0):
    """Items of 40 words and 8 labels: of each label one word is its name, and four others go with it."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n, Q)) < 0.2
    rates = np.full((n, 5 * Q), 0.05)
    for label in range(Q):
        rates[:, 5 * label] += 0.3 * Y[:, label]
        rates[:, 5 * label + 1 : 5 * label + 5] += 0.25 * Y[:, [label]]
    X = sp.csr_array((rng.random(rates.shape) < rates).astype(float))
    names = [f"{'bcdfghjk'[label]}a{'lmnpr'[word]}o" for label in range(Q) for word in range(5)]
    return LabelData.from_arrays(X, Y, label_names=names[::5], feature_names=names)


DATA = pool()
HINTS = learn_hints(DATA)
TEST = np.arange(200, 500)


def figures(model, n, data=DATA):
    fitted = model.fit(data.X[:n], data.Y[:n].toarray())
    return evaluate(fitted.posterior(data.X[TEST]).probabilities(), data.Y[TEST].toarray())


def score(model, n):
    found = figures(model, n)
    return found["macro_average_precision"]


def gp():
    return LabelGP("rbf+linear", random_state=0)


def test_leave_one_out_log_odds_are_those_of_fits_without_the_item():
    X, Y = DATA.X[:30].toarray(), DATA.Y[:30].toarray()
    observed = np.random.default_rng(1).random(Y.shape) < 0.8
    settings = {"kernel": "rbf", "noise_ratio": 0.5, "length_scale": 1.0, "scale": "none"}
    model = LabelGP(**settings).fit(X, Y, observed)
    found, link = model.leave_one_out_log_odds(), model._fitted.link
    for i in range(0, 30, 7):
        others = np.arange(30) != i
        without = LabelGP(**settings).fit(X[others], Y[others], observed[others])
        departure = without.posterior(X[[i]]).means()[0] - without._fitted.centre
        expected = link.intercept + link.slope * bend(departure / link.size)
        assert_allclose(found[i, observed[i]], expected[observed[i]], rtol=1e-6)
    assert not found[~observed].any()


@pytest.mark.parametrize("base", [gp(), BinaryRelevance()], ids=lambda model: type(model).__name__)
def test_names_help_most_where_answers_are_few(base):
    few = score(HintedModel(base, HINTS), 10) - score(clone(base), 10)
    many = score(HintedModel(base, HINTS), 200) - score(clone(base), 200)
    assert few > 0.1 and few > many > -0.01


@pytest.mark.parametrize("n", [20, 100, 200])
@pytest.mark.parametrize("how", ["shuffled", "inverted", "constant"])
def test_a_misleading_hint_costs_nothing_beyond_noise(how, n):
    order = np.roll(np.arange(Q), 3)
    wrong = {
        "shuffled": lambda X: HINTS(X)[:, :, order],
        "inverted": lambda X: -HINTS(X),
        "constant": lambda X: np.zeros_like(HINTS(X)),
    }[how]
    lost = score(gp(), n) - score(HintedModel(gp(), wrong), n)
    assert lost < (0.03 if n == 20 else 0.015)


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["bibtex", "movies_omdb", "goemotions"])
def test_misleading_hints_cost_nothing_beyond_noise_on_published_sets(name, shared_data, monkeypatch):
    """Eight draws of 20 random items: shuffled anew each time, inverted and constant hints against none."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    sets, benchmark = import_module("_label_names_sets"), import_module("label_names")
    learnt, test = sets.split(shared_data, name, 11)
    plain = SemiSupervised(random_state=0).learn_pool(learnt.X)
    hints, truth = learn_hints(learnt), test.Y.toarray()
    lost = {"shuffled": [], "inverted": [], "constant": []}
    for seed in range(8):
        wrong = {how: benchmark.mislead(hints, how, seed) for how in lost}
        rows = np.random.default_rng(seed).permutation(learnt.n_items)[:20]
        fits = {None: plain} | {how: HintedModel(plain, said) for how, said in wrong.items()}
        scores = {
            how: evaluate(
                clone(model).fit(learnt.X[rows], learnt.Y[rows].toarray()).posterior(test.X).probabilities(), truth
            )["macro_average_precision"]
            for how, model in fits.items()
        }
        for how in wrong:
            lost[how].append(scores[None] - scores[how])
    for how, each in lost.items():
        assert np.mean(each) < 0.002 + 2 * np.std(each, ddof=1) / np.sqrt(len(each)), how


def test_one_wrong_name_among_right_ones_loses_its_weight():
    def swapped(X):
        z = HINTS(X).copy()
        z[:, :, 0] *= -1
        return z

    weights = HintedModel(gp(), swapped).fit(DATA.X[:200], DATA.Y[:200].toarray()).weights_.weights.sum(axis=0)
    assert weights[0] < 0.6 * np.median(weights[1:])


def test_beliefs_are_calibrated():
    for n in (20, 200):
        assert figures(HintedModel(gp(), HINTS), n)["calibration_error"] < 0.08


@pytest.mark.parametrize("name", sorted(models.BY_NAME))
def test_every_registered_model_can_be_given_hints(name):
    model = HintedModel(models.BY_NAME[name](), HINTS)
    if "random_state" in model.model.get_params():
        model.model.set_params(random_state=0)
    X, Y = DATA.X[:24], DATA.Y[:24].toarray()
    p = model.fit(X, Y).predict_proba(DATA.X[24:30])
    assert p.shape == (6, Q) and ((p > 0) & (p < 1)).all()
    assert hasattr(model, "partial_fit") == hasattr(model.model, "partial_fit")


def test_without_answers_items_are_ranked_by_hints():
    p = HintedModel(gp(), HINTS).before_answers(DATA.X).probabilities()
    weighted = sum(bend(each) for each in HINTS(DATA.X))
    assert_array_equal(np.argsort(p[:, 0], kind="stable"), np.argsort(weighted[:, 0], kind="stable"))
    assert evaluate(p, DATA.Y.toarray())["macro_average_precision"] > 0.5


def test_answers_in_pieces_teach_the_same():
    X, Y = DATA.X, DATA.Y.toarray()
    whole = HintedModel(gp(), HINTS).fit(X[:30], Y[:30]).partial_fit(X[30:40], Y[30:40])
    pieces = (
        HintedModel(gp(), HINTS).fit(X[:30], Y[:30]).partial_fit(X[30:33], Y[30:33]).partial_fit(X[33:40], Y[33:40])
    )
    assert_allclose(whole.predict_proba(X[40:50]), pieces.predict_proba(X[40:50]), atol=1e-8)


def test_the_model_given_stays_unfitted_and_a_few_rows_are_enough():
    model = BinaryRelevance()
    fitted = HintedModel(model, HINTS).fit(DATA.X[:2], DATA.Y[:2].toarray())
    assert not hasattr(model, "base_rates_")
    assert np.isfinite(fitted.predict_proba(DATA.X[:3])).all()


def test_beliefs_are_the_formula_and_what_is_told_stands():
    model = HintedModel(gp(), HINTS).fit(DATA.X[:40], DATA.Y[:40].toarray())
    X, weights = DATA.X[40:46], model.weights_
    inner, beliefs = model.model_.posterior(X), model.posterior(X)
    assert isinstance(beliefs, HintedPosterior)
    eta = weights.intercept + weights.slope * log_odds(inner.probabilities())
    eta = eta + sum(w * bend(z) for w, z in zip(weights.weights, HINTS(X), strict=True))
    p = expit(eta)
    assert_allclose(beliefs.probabilities(), p)
    covariances = beliefs.label_covariances()
    assert_allclose(covariances.variances(), p * (1 - p), rtol=0.05)
    assert_allclose(beliefs.sample_probabilities(4000, np.random.default_rng(0)).mean(axis=0), p, atol=1e-3)
    assert_allclose(beliefs.sample_labels(20_000, np.random.default_rng(0)).mean(axis=0), p, atol=0.02)
    values, observed = np.ones(p.shape, dtype=bool), np.zeros(p.shape, dtype=bool)
    observed[0, 0] = True
    after = beliefs.given(values, observed)
    assert after.probabilities()[0, 0] == 1
    told = inner.given(values, observed).probabilities()
    moved = log_odds(told) - log_odds(inner.probabilities())
    assert_allclose(after.probabilities()[0, 1:], expit(eta + moved)[0, 1:], atol=1e-6)
    assert_allclose(after.rows(np.array([0, 2])).probabilities(), after.probabilities()[[0, 2]])


def test_a_model_with_marginals_only_is_enough():
    class Half:
        def get_params(self, deep=True):
            return {}

        def fit(self, X, Y, observed=None):
            return self

        def posterior(self, X):
            return MarginalPosterior(np.full((X.shape[0], Q), 0.3))

    p = HintedModel(Half(), HINTS).fit(DATA.X[:60], DATA.Y[:60].toarray()).predict_proba(DATA.X[TEST])
    assert evaluate(p, DATA.Y[TEST].toarray())["macro_average_precision"] > 0.4


def test_rows_in_a_regular_order_do_not_turn_the_model_round():
    """Every third row is without the label: folds by position would leave out all of these at once."""
    X = np.tile(np.eye(3), (10, 1))
    Y = np.hstack([X[:, [1]] + X[:, [2]], X[:, [0]]])
    said = HintedModel(BinaryRelevance(), lambda X: np.zeros((1, X.shape[0], 2))).fit(X, Y)
    p = said.predict_proba(np.eye(3))[:, 0]
    assert p[1] > 0.8 > 0.5 > p[0]


def test_draws_know_that_weights_are_uncertain_and_keep_their_mean():
    rows = DATA.X[TEST[:20]]
    for n in (0, 12, 200):
        model = HintedModel(BinaryRelevance(), HINTS)
        fitted = model if n == 0 else model.fit(DATA.X[:n], DATA.Y[:n].toarray())
        beliefs = fitted.before_answers(rows) if n == 0 else fitted.posterior(rows)
        drawn = beliefs.sample_probabilities(400, np.random.default_rng(0))
        assert_allclose(drawn.mean(axis=0), beliefs.probabilities(), atol=1e-6)
        spread, expected = log_odds(drawn).std(axis=0), np.sqrt(beliefs.log_odds_variances())
        assert_allclose(spread, expected, rtol=0.2)
    observed = np.zeros((20, Q), dtype=bool)
    observed[:, 0] = True
    told = beliefs.given(np.ones((20, Q)), observed)
    assert (told.sample_probabilities(5, np.random.default_rng(0))[:, :, 0] == 1).all()
    assert not told.log_odds_variances()[:, 0].any() and told.log_odds_variances()[:, 1:].all()
