from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone

from labelwise import AutoModel, BinaryRelevance, LabelGP, ModelAverage
from labelwise.models.auto_model import foretell, stacking_weights
from labelwise.numerics.metrics import log_loss


def problem(n=90, seed=0, curved=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    linear = X @ rng.normal(size=(3, 4))
    score = 1.2 - np.abs(linear) if curved else linear
    return X, score + 0.3 * rng.normal(size=linear.shape) > 0.2


class Wrong(BinaryRelevance):
    """Believes the opposite."""

    def fit(self, X, Y, observed=None):
        return super().fit(X, ~np.asarray(Y, dtype=bool), observed)


def test_a_model_that_is_wrong_loses_its_share():
    X, Y = problem(curved=False)
    model = AutoModel([BinaryRelevance(), Wrong()], random_state=0).fit(X, Y)
    assert model.weights_[0] > 0.9
    assert log_loss(model.predict_proba(X), Y) < 0.5


def test_it_is_about_as_good_as_the_better_of_its_models_on_new_items():
    for curved in (True, False):
        X, Y = problem(400, curved=curved)
        learnt, new = slice(0, 120), slice(120, None)
        scores = {
            name: log_loss(model.fit(X[learnt], Y[learnt]).predict_proba(X[new]), Y[new])
            for name, model in {
                "auto": AutoModel(random_state=0),
                "gp": LabelGP(random_state=0),
                "lr": BinaryRelevance(),
            }.items()
        }
        better, worse = sorted([scores["gp"], scores["lr"]])
        assert scores["auto"] < better + max(0.01, 0.1 * (worse - better))  # shares begin even, so some doubt is left


def test_one_model_has_all_of_it_and_few_rows_share_evenly():
    X, Y = problem()
    assert AutoModel([LabelGP()], random_state=0).fit(X, Y).weights_ == pytest.approx([1.0])
    assert AutoModel(random_state=0).fit(X[:4], Y[:4]).weights_ == pytest.approx([0.5, 0.5])
    with pytest.raises(ValueError, match="at least one model"):
        AutoModel([]).fit(X, Y)


def test_answers_added_one_by_one_teach_as_in_one_batch():
    X, Y = problem(60)
    later = [(row, label) for row in range(40, 46) for label in (0, 2)]
    base = AutoModel(random_state=0).fit(X[:40], Y[:40])
    batch, single = (clone(base).fit(X[:40], Y[:40]) for _ in range(2))
    rows = np.array([row for row, _ in later])
    observed = np.zeros((len(later), 4), dtype=bool)
    observed[np.arange(len(later)), [label for _, label in later]] = True
    batch.partial_fit(X[rows], Y[rows], observed=observed)
    for place, row in enumerate(rows):
        single.partial_fit(X[[row]], Y[[row]], observed=observed[[place]])
    np.testing.assert_allclose(single.predict_proba(X), batch.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(single.weights_, base.weights_)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "rbf+linear"])
def test_the_kernel_that_was_found_is_kept(kernel):
    X, Y = problem()
    fitted = LabelGP(kernel, random_state=0).fit(X, Y)
    again = fitted.settled().fit(X, Y)
    assert again.kernel_ == fitted.kernel_ and again.noise_ratio_ == pytest.approx(fitted.noise_ratio_)
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X), atol=1e-9)


def test_kernel_and_shares_that_were_found_are_kept():
    X, Y = problem()
    fitted = AutoModel(random_state=0).fit(X, Y)
    again = fitted.settled()
    assert not hasattr(again, "models_")
    again.fit(X, Y)
    np.testing.assert_array_equal(again.weights_, fitted.weights_)
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X), atol=1e-9)
    some = fitted.settled().fit(X[:50], Y[:50])
    assert some.models_[0].kernel_ == fitted.models_[0].kernel_
    np.testing.assert_array_equal(some.weights_, fitted.weights_)


@pytest.mark.parametrize("weights", [[0.5, 0.4], [1.0], [1.5, -0.5]])
def test_shares_that_are_given_have_to_be_shares(weights):
    X, Y = problem(20)
    with pytest.raises(ValueError, match="weights must be 2 numbers that sum to 1"):
        AutoModel(weights=weights).fit(X, Y)


@pytest.mark.parametrize(
    "model", [BinaryRelevance(scale="none"), LabelGP("rbf", scale="none"), LabelGP("linear", scale="none")]
)
@pytest.mark.parametrize("partly", [False, True])
def test_folds_solved_together_foretell_as_one_by_one(model, partly):
    """But for the link of `LabelGP`: three numbers of it are those of all folds, not of each."""
    X, Y = problem(91, seed=3)
    rng = np.random.default_rng(0)
    observed = rng.random(Y.shape) < 0.7 if partly else np.ones(Y.shape, dtype=bool)
    fold = rng.permutation(91) % 3
    model = model.fit(X, Y, observed=observed)
    model = model.settled() if isinstance(model, LabelGP) else clone(model)
    together = foretell(model, X, Y, observed, fold)
    for part in range(3):
        held = fold == part
        alone = clone(model).fit(X[~held], Y[~held], observed=observed[~held]).predict_proba(X[held])
        np.testing.assert_allclose(together[held], alone, atol=0.05 if isinstance(model, LabelGP) else 1e-5)


def test_a_model_of_label_sets_is_foretold_fold_by_fold():
    X, Y = problem(30)
    fold = np.arange(30) % 3
    found = foretell(ModelAverage(random_state=0), X, Y, np.ones(Y.shape, dtype=bool), fold)
    for part in range(3):
        expected = ModelAverage(random_state=0).fit(X[fold != part], Y[fold != part]).predict_proba(X[fold == part])
        np.testing.assert_array_equal(found[fold == part], expected)


@pytest.mark.parametrize("prior", [0.5, 5.0])
@pytest.mark.parametrize("m", [2, 3])
def test_weights_against_a_general_optimiser(m, prior):
    likelihoods = np.random.default_rng(m).beta(3, 2, size=(m, 300))
    likelihoods[0] **= 0.7

    def loss(z):
        w = softmax(z)
        return -np.log(w @ likelihoods).sum() - prior * np.log(w).sum()

    expected = softmax(minimize(loss, np.zeros(m), tol=1e-10).x)
    np.testing.assert_allclose(stacking_weights(likelihoods, prior), expected, atol=2e-5)


def test_the_order_of_beliefs_does_not_matter_and_impossible_answers_do_not_break():
    likelihoods = np.random.default_rng(0).random((3, 50))
    likelihoods[1, 4] = 0.0
    straight = stacking_weights(likelihoods)
    assert straight.sum() == pytest.approx(1)
    np.testing.assert_allclose(stacking_weights(likelihoods[::-1]), straight[::-1])
    assert np.isfinite(stacking_weights(np.zeros((2, 5)))).all()
