"""Checks that every model, strategy and decision of the registries has to pass: scikit-learn's, and ours."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_classifier_multioutput, parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from joint_beliefs import JointBeliefs
from labelwise import LabelGP, SemiSupervised, decisions, models, queries
from labelwise.posterior import MarginalPosterior
from labelwise.records import LabelData
from rest_slow import rest_slow

ONE_DIMENSION = "hands over a one-dimensional target; a label set is a 0/1 matrix with a column per label"
ONE_TWO = "codes the two classes of its single column as 1 and 2; labels are 0 and 1"
TWO_COLUMNS = "wants two probabilities for a single column; ours has one per label, that it is present"
ABOVE_HALF = "wants the labels above one half from predict; ours gives the sets of the default decision"
BY_NAME_Y = (
    "calls fit(y=...); label sets are Y here. Weights are compared with repeated rows in models/test_scikit_learn.py"
)
KNOWN_GAPS = {
    "check_classifiers_classes": ONE_DIMENSION,
    "check_classifiers_train": ONE_DIMENSION,
    "check_estimators_dtypes": ONE_TWO,
    "check_classifier_data_not_an_array": ONE_TWO,
    "check_fit2d_1feature": ONE_TWO,
    "check_estimator_sparse_array": TWO_COLUMNS,
    "check_estimator_sparse_matrix": TWO_COLUMNS,
}


WEIGHT_GAPS = {  # of models that take weights
    "check_sample_weights_pandas_series": ONE_TWO,
    "check_sample_weights_not_an_array": ONE_TWO,
    "check_sample_weights_shape": ONE_TWO,
    "check_sample_weights_not_overwritten": ONE_TWO,
    "check_sample_weight_equivalence_on_dense_data": BY_NAME_Y,
    "check_sample_weight_equivalence_on_sparse_data": BY_NAME_Y,
    "check_classifiers_one_label_sample_weights": ONE_DIMENSION,
}


def known_gaps(estimator) -> dict[str, str]:
    return KNOWN_GAPS | (WEIGHT_GAPS if has_fit_parameter(estimator, "sample_weight") else {})


LONG = ("label_mixture_gp", "model_average")  # make check alone shows all their manners


@parametrize_with_checks(
    [make() for name, make in models.BY_NAME.items() if name not in LONG], expected_failed_checks=known_gaps
)
def test_scikit_learn_manners(estimator, check):
    if check.func is check_classifier_multioutput:
        pytest.skip(ABOVE_HALF)
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([models.BY_NAME[name]() for name in LONG], expected_failed_checks=known_gaps)
def test_scikit_learn_manners_of_models_that_take_long(estimator, check):
    test_scikit_learn_manners(estimator, check)


def test_scikit_learn_manners_of_label_sets_but_for_the_rule(model):
    """The check that is skipped above, of the same model deciding as scikit-learn expects."""

    class AboveHalf(type(model)):
        def predict(self, X):
            return (self.predict_proba(X) > 0.5).astype(int)

    check_classifier_multioutput(type(model).__name__, AboveHalf(**model.get_params(deep=False)))


@pytest.fixture(
    params=rest_slow(sorted(models.BY_NAME, key=lambda name: (name in LONG, name)), len(models.BY_NAME) - 1)
)
def model(request):
    made = models.BY_NAME[request.param]()
    return made.set_params(random_state=0) if "random_state" in made.get_params() else made


def problem(n=60, d=4, q=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = X @ rng.normal(size=(d, q)) + 0.5 * rng.normal(size=(n, q)) > 0.4
    return X, Y


def test_probabilities_are_probabilities(model):
    X, Y = problem()
    p = model.fit(X, Y).predict_proba(X)
    assert p.shape == Y.shape
    assert np.all((p >= 0) & (p <= 1))
    assert ((p > 0.5) == Y).mean() > 0.7  # it learnt something


def test_same_seed_same_beliefs(model):
    X, Y = problem()
    np.testing.assert_array_equal(clone(model).fit(X, Y).predict_proba(X), clone(model).fit(X, Y).predict_proba(X))


def test_a_generator_may_be_the_random_state(model):
    if "random_state" not in model.get_params():
        return
    X, Y = problem(q=9)
    first, again = (clone(model).set_params(random_state=np.random.default_rng(4)).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))


def test_pickle_keeps_beliefs(model):
    X, Y = problem()
    model.fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


def test_permuting_labels_permutes_beliefs(model):
    X, Y = problem()
    order = np.array([3, 0, 4, 1, 2])
    straight = clone(model).fit(X, Y).predict_proba(X)
    permuted = clone(model).fit(X, Y[:, order]).predict_proba(X)
    np.testing.assert_allclose(permuted, straight[:, order], atol=1e-6)


def test_sparse_features_give_the_beliefs_of_dense_ones(model):
    X, Y = problem()
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    if "scale" in model.get_params():  # "auto" centres dense features only: the same data are then prepared differently
        model.set_params(scale="none")
    if isinstance(model, SemiSupervised):  # whose own model is LabelGP()
        model.set_params(model=LabelGP(scale="none"))
    dense = clone(model).fit(X, Y).predict_proba(X)
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array):
        np.testing.assert_allclose(clone(model).fit(kind(X), Y).predict_proba(kind(X)), dense, atol=1e-6)


def test_hidden_entries_do_not_matter(model):
    X, Y = problem()
    observed = np.random.default_rng(1).random(Y.shape) < 0.6
    expected = clone(model).fit(X, Y, observed=observed).predict_proba(X)
    np.testing.assert_array_equal(clone(model).fit(X, Y ^ ~observed, observed=observed).predict_proba(X), expected)
    unknown = np.where(observed, Y.astype(float), np.nan)
    np.testing.assert_array_equal(clone(model).fit(X, unknown).predict_proba(X), expected)
    np.testing.assert_array_equal(
        clone(model).fit(X, sp.csr_array(Y), observed=sp.csr_array(observed)).predict_proba(X), expected
    )


def test_rows_without_an_answer_are_as_good_as_absent(model):
    X, Y = problem()
    observed = np.ones(Y.shape, dtype=bool)
    observed[40:] = False
    np.testing.assert_allclose(
        clone(model).fit(X, Y, observed=observed).predict_proba(X), clone(model).fit(X[:40], Y[:40]).predict_proba(X)
    )


def test_labels_of_one_kind_and_never_answered(model):
    X, Y = problem()
    Y[:, 0], Y[:, 1] = False, True
    observed = np.ones(Y.shape, dtype=bool)
    observed[:, 2] = False
    p = model.fit(X, Y, observed=observed).predict_proba(X)
    assert np.all(np.isfinite(p))
    assert p[:, 0].max() < 0.1 and p[:, 1].min() > 0.9
    assert np.all((p[:, 2] > 0.01) & (p[:, 2] < 0.99))


def test_one_row_is_enough_to_fit(model):
    X, Y = problem()
    p = model.fit(X[:1], Y[:1]).predict_proba(X)
    assert np.all(np.isfinite(p))


def test_posterior_in_blocks_is_the_posterior(model):
    X, Y = problem()
    posterior = model.fit(X, Y).posterior(X)
    whole = posterior.probabilities()
    parts = [(part, beliefs.probabilities()) for part, beliefs in posterior.blocks(7)]
    assert sum(p.shape[0] for _, p in parts) == len(X)
    np.testing.assert_allclose(np.vstack([p for _, p in parts]), whole, atol=1e-10)
    chosen = np.array([5, 2, 40])
    np.testing.assert_allclose(posterior.rows(chosen).probabilities(), whole[chosen], atol=1e-10)


def test_samples_have_the_marginals(model):
    X, Y = problem()
    posterior = model.fit(X, Y).posterior(X[:6])
    drawn = posterior.sample_labels(4000, np.random.default_rng(0))
    assert drawn.shape == (4000, 6, 5) and drawn.dtype == bool
    np.testing.assert_allclose(drawn.mean(0), posterior.probabilities(), atol=5 * 0.5 / np.sqrt(4000))
    covariances = posterior.label_covariances()
    np.testing.assert_allclose(covariances.variances(), covariances.dense().diagonal(axis1=1, axis2=2))


def test_partial_fit_in_pieces_equals_one_batch(model):
    if not hasattr(model, "partial_fit"):
        pytest.skip(f"{type(model).__name__} claims no partial_fit")
    X, Y = problem()
    pieces, batch = clone(model).fit(X[:30], Y[:30]), clone(model).fit(X[:30], Y[:30])
    for start in range(30, 60, 10):
        pieces.partial_fit(X[start : start + 10], Y[start : start + 10])
    batch.partial_fit(X[30:], Y[30:])
    np.testing.assert_allclose(pieces.predict_proba(X), batch.predict_proba(X), atol=1e-6)


def test_models_in_a_pipeline(model):
    X, Y = problem()
    pipeline = make_pipeline(StandardScaler(), model).fit(X, Y)
    assert pipeline.predict(X).shape == Y.shape


@pytest.mark.parametrize(
    ("X", "Y", "words"),
    [
        (np.ones((3, 2)), np.ones((2, 2)), "inconsistent"),
        (np.array([[np.nan, 1.0]]), np.ones((1, 2)), "NaN"),
        (np.array([[np.inf, 1.0]]), np.ones((1, 2)), "infinity"),
        (np.ones((2, 2)), np.full((2, 2), 2.0), r"^Y must hold 0 and 1 \(NaN for unknown\), got 2\.0$"),
        (np.ones((2, 2)), np.full((2, 2), np.nan), "no entry"),
        (np.ones((2, 2)), np.ones(2), "one column per label"),
        (np.ones((2, 2)), np.ones((2, 0)), "at least one label"),
    ],
)
def test_bad_input_is_named(model, X, Y, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)


@pytest.mark.parametrize("name", sorted(queries.BY_NAME))
def test_strategies_choose_only_what_is_open(name):
    strategy = queries.BY_NAME[name]()
    rng = np.random.default_rng(0)
    beliefs = JointBeliefs(rng.random((30, 4)), rng.random(30) * 10)
    closed = rng.random((30, 4)) < 0.5
    closed[:5] = True
    pool = LabelData.from_arrays(rng.normal(size=(30, 3)), rng.random((30, 4)) < 0.4, observed=closed)
    wanted = {"known": pool} if getattr(strategy, "looks_at_answers", False) else {}
    for n in (0, 1, 7, 1000):
        choice = strategy.choose(beliefs, sp.csr_array(closed), n, np.random.default_rng(1), **wanted)
        again = strategy.choose(beliefs, sp.csr_array(closed), n, np.random.default_rng(1), **wanted)
        np.testing.assert_array_equal(choice.rows, again.rows)
        assert np.all(np.isfinite(choice.scores)) and choice.scores.shape == choice.rows.shape
        if strategy.target == "items":
            assert choice.labels is None
            assert len(set(choice.rows)) == choice.rows.size == min(n, (~closed).any(1).sum())
            assert not closed[choice.rows].all(1).any()
        else:
            assert len(set(zip(choice.rows, choice.labels, strict=True))) == choice.rows.size == min(n, (~closed).sum())
            assert not closed[choice.rows, choice.labels].any()


@pytest.mark.parametrize("name", sorted(decisions.BY_NAME))
def test_decisions_give_sets(name):
    p = np.random.default_rng(0).random((20, 6))
    sets = decisions.BY_NAME[name]().decide(MarginalPosterior(p))
    assert sets.shape == p.shape and sets.dtype == bool
    kept, dropped = np.where(sets, p, np.inf), np.where(sets, -np.inf, p)
    within_items, within_labels = np.all(kept.min(1) >= dropped.max(1)), np.all(kept.min(0) >= dropped.max(0))
    assert within_items or within_labels  # one of them is the rule's: there a kept entry is the more probable one


def test_models_in_cross_validation(model):
    X, Y = problem()
    p = cross_val_predict(model, X, Y.astype(int), cv=3, method="predict_proba")
    assert p.shape == Y.shape
    assert ((p > 0.5) == Y).mean() > 0.7
