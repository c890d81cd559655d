"""Plain scikit-learn classifiers and pipelines as models, names of labels, and a scorer for unknown labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, f1_score, log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.utils.validation import has_fit_parameter

import labelwise as lw
from labelwise.models import as_label_model


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 12)) * rng.uniform(0.5, 3, size=12)
    Y = X @ rng.normal(size=(12, 4)) + rng.normal(size=(120, 4)) > 0.5
    return X, Y


def logistic():
    return LogisticRegression(C=10.0, solver="liblinear", tol=1e-8, max_iter=1000)


def test_a_pipeline_reproduces_binary_relevance_on_the_same_features(problem):
    X, Y = problem
    pipeline = as_label_model(make_pipeline(StandardScaler(), Normalizer(), logistic()))
    ours, theirs = lw.BinaryRelevance().fit(X, Y), pipeline.fit(X, Y)
    np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), atol=2e-4)


def test_partial_labels_are_masked(problem):
    X, Y = problem
    observed = np.random.default_rng(1).random(Y.shape) < 0.4
    wrong = np.where(observed, Y, ~Y)  # what nobody said must not be looked at
    pipeline = as_label_model(make_pipeline(Normalizer(), logistic())).fit(X, wrong, observed=observed)
    ours = lw.BinaryRelevance(scale="none").fit(Normalizer().transform(X), Y, observed=observed)
    np.testing.assert_allclose(pipeline.predict_proba(X), ours.predict_proba(Normalizer().transform(X)), atol=2e-4)


def test_a_campaign_takes_classifiers_and_pipelines(problem):
    X, Y = problem
    data = lw.LabelData.from_arrays(X, Y, label_names=list("abcd"))
    answerer = lw.studies.Answerer(data)
    beliefs = []
    for model in (
        make_pipeline(StandardScaler(), logistic()),
        lw.BinaryRelevance(make_pipeline(StandardScaler(), logistic())),
    ):
        campaign = lw.Campaign(data.hide(), model=model, strategy=lw.Random())
        campaign.tell([answerer.answer(question) for question in campaign.ask(40)])
        campaign.tell(lw.Answer(campaign.ask(1)[0].item, {"a": True}))  # one label of an item
        beliefs.append(campaign.believe().probabilities())
    np.testing.assert_array_equal(*beliefs)
    assert beliefs[0].std() > 0.1


def test_what_is_wrapped_and_what_is_not():
    forest = RandomForestClassifier(n_estimators=3)
    assert as_label_model(forest).classifier is forest
    assert as_label_model(MultiOutputClassifier(forest)).classifier is forest
    ours = lw.BinaryRelevance()
    assert as_label_model(ours) is ours
    data = lw.LabelData.from_arrays(np.eye(3), label_names=["a"])
    with pytest.raises(TypeError, match="method `posterior`, got Ridge"):
        lw.Campaign(data, model=Ridge())
    with pytest.raises(TypeError, match=r"write RandomForestClassifier\(\)"):
        lw.Campaign(data, model=RandomForestClassifier)
    with pytest.raises(TypeError, match="ends in BinaryRelevance, which learns all labels at once"):
        lw.Campaign(data, model=make_pipeline(StandardScaler(), lw.BinaryRelevance()))


def test_label_names_are_kept(problem):
    X, Y = problem
    frame = pd.DataFrame(Y, columns=["ham", "eggs", "spam", "toast"])
    model = lw.BinaryRelevance().fit(X, frame)
    assert model.classes_.tolist() == ["ham", "eggs", "spam", "toast"]
    assert lw.BinaryRelevance().fit(X, Y).classes_.tolist() == [0, 1, 2, 3]
    assert lw.BinaryRelevance().fit(X, pd.DataFrame(Y)).classes_.tolist() == [0, 1, 2, 3]
    scores = cross_val_score(lw.BinaryRelevance(), X, frame, scoring="average_precision", cv=2)
    np.testing.assert_allclose(scores, cross_val_score(lw.BinaryRelevance(), X, Y, scoring="average_precision", cv=2))


@pytest.mark.parametrize("average", ["micro", "macro", "samples"])
def test_f1_of_known_labels_is_that_of_scikit_learn_where_all_are(problem, average):
    X, Y = problem
    model = lw.BinaryRelevance().fit(X[:60], Y[:60])
    expected = f1_score(Y[60:], model.predict(X[60:]), average=average, zero_division=0)
    assert lw.KnownLabelScorer(f"f1_{average}")(model, X[60:], Y[60:]) == pytest.approx(expected)


def test_unknown_labels_are_passed_over(problem):
    X, Y = problem
    known = np.random.default_rng(2).random(Y.shape) < 0.5
    holes = np.where(known, Y.astype(float), np.nan)
    model = lw.BinaryRelevance().fit(X[:60], Y[:60])
    p, predicted = model.predict_proba(X), model.predict(X)
    micro = f1_score(Y[known], predicted[known])
    assert lw.KnownLabelScorer()(model, X, holes) == pytest.approx(micro)
    assert lw.KnownLabelScorer()(model, X, Y, observed=known) == pytest.approx(micro)
    macro = np.mean([f1_score(Y[known[:, j], j], predicted[known[:, j], j]) for j in range(4)])
    assert lw.KnownLabelScorer("f1_macro")(model, X, holes) == pytest.approx(macro)
    precision = np.mean([average_precision_score(Y[known[:, j], j], p[known[:, j], j]) for j in range(4)])
    assert lw.KnownLabelScorer("average_precision")(model, X, holes) == pytest.approx(precision)
    assert lw.KnownLabelScorer("neg_log_loss")(model, X, holes) == pytest.approx(-log_loss(Y[known], p[known]))
    with pytest.raises(ValueError, match="nothing to judge by"):
        lw.KnownLabelScorer()(model, X, np.full(Y.shape, np.nan))
    with pytest.raises(ValueError, match="metric must be one of"):
        lw.KnownLabelScorer("f1")


def test_a_search_over_parameters_with_unknown_labels(problem):
    X, Y = problem
    holes = np.where(np.random.default_rng(3).random(Y.shape) < 0.7, Y.astype(float), np.nan)
    search = GridSearchCV(lw.BinaryRelevance(), {"scale": ["auto", "none"]}, scoring=lw.KnownLabelScorer(), cv=KFold(2))
    assert 0.5 < search.fit(X, holes).best_score_ <= 1


@pytest.mark.parametrize(
    "classifier", [None, logistic(), make_pipeline(Normalizer(), logistic())], ids=["own", "plain", "pipeline"]
)
def test_a_weight_counts_a_row_as_so_many(problem, classifier):
    X, Y = problem
    times = np.random.default_rng(4).integers(0, 4, size=len(X))
    known = np.random.default_rng(5).random(Y.shape) < 0.7
    model = lw.BinaryRelevance(classifier, scale="none")
    weighted = clone(model).fit(X, Y, observed=known, sample_weight=times)
    repeated = clone(model).fit(*(np.repeat(array, times, axis=0) for array in (X, Y, known)))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=2e-4)
    np.testing.assert_allclose(weighted.base_rates_, repeated.base_rates_)
    plain = clone(model).fit(X, Y, observed=known)
    np.testing.assert_allclose(
        clone(model).fit(X, Y, observed=known, sample_weight=np.ones(len(X))).predict_proba(X),
        plain.predict_proba(X),
        atol=1e-8,
    )
    assert np.abs(plain.predict_proba(X) - weighted.predict_proba(X)).max() > 0.01


def test_scikit_learn_sees_that_weights_are_taken(problem):
    X, Y = problem
    assert has_fit_parameter(lw.BinaryRelevance(), "sample_weight")
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        lw.BinaryRelevance().fit(X, Y, sample_weight=-np.ones(len(X)))
