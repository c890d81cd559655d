"""ModelAverage: against its members one by one, the law of total covariance and draws."""

import numpy as np
import pytest

from labelwise.models.auto_model import ModelAverage
from labelwise.models.binary_relevance import BinaryRelevance
from labelwise.models.compressed.model import CompressedLabelGP
from labelwise.models.label_gp.model import LabelGP
from labelwise.models.mixture.model import LabelMixtureGP
from labelwise.posterior import CorrelatedLabels, MarginalPosterior
from labelwise.posterior.wrapped import AveragePosterior


def problem(n=60, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ rng.normal(size=(3, q)) + 0.5 * rng.normal(size=(n, q)) > 0.4


def members():
    return [LabelGP(), LabelMixtureGP(4, restarts=1, gate="variational")]


def alone(X, Y, observed=None):
    return [model.set_params(random_state=7).fit(X, Y, observed=observed) for model in members()]


def test_beliefs_are_the_mean_of_the_members():
    X, Y = problem()
    observed = np.random.default_rng(1).random(Y.shape) < 0.8
    model = ModelAverage(members(), random_state=7).fit(X, Y, observed=observed)
    expected = np.mean([each.predict_proba(X) for each in alone(X, Y, observed)], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), expected)
    assert [type(each) for each in ModelAverage().fit(X, Y).models_] == [LabelGP, LabelMixtureGP]


def test_covariance_is_the_law_of_total_covariance():
    X, Y = problem()
    posterior = ModelAverage(members(), random_state=7).fit(X, Y).posterior(X[:6])
    separate = [each.posterior(X[:6]) for each in alone(X, Y)]
    p = np.stack([each.probabilities() for each in separate])  # (2, n, q)
    inside = np.mean([each.label_covariances().dense() for each in separate], axis=0)
    apart = np.einsum("mnq,mnr->nqr", p - p.mean(0), p - p.mean(0)) / 2
    np.testing.assert_allclose(posterior.label_covariances().dense(), inside + apart, atol=1e-12)


@pytest.mark.parametrize("weights", [(0.2, 0.5, 0.3), (0.0, 0.7, 0.3), (0.6, 0.0, 0.4), (1.0, 0.0, 0.0)])
def test_covariance_of_three_members_with_weights(weights):
    X, Y = problem()
    models = [LabelGP(random_state=0), BinaryRelevance(), BinaryRelevance(scale="none")]
    separate = [model.fit(X, Y).posterior(X[:6]) for model in models]
    found = AveragePosterior(separate, np.array(weights)).label_covariances()
    p = np.stack([each.probabilities() for each in separate])
    inside = sum(w * each.label_covariances().dense() for w, each in zip(weights, separate, strict=True))
    from_mean = p - np.tensordot(weights, p, 1)
    apart = np.einsum("m,mnq,mnr->nqr", weights, from_mean, from_mean)
    assert isinstance(found, CorrelatedLabels)  # one member has correlations
    np.testing.assert_allclose(found.dense(), inside + apart, atol=1e-12)


def test_draws_are_those_of_one_member_at_a_time():
    certain = AveragePosterior([MarginalPosterior(np.zeros((2, 3))), MarginalPosterior(np.ones((2, 3)))])
    drawn = certain.sample_labels(500, np.random.default_rng(0))
    assert np.all(drawn.all(axis=(1, 2)) | ~drawn.any(axis=(1, 2)))  # all labels of all items, or none
    assert 0.4 < drawn.mean() < 0.6
    expected = certain.label_covariances().dense()
    np.testing.assert_allclose(expected, 0.25, atol=1e-9)  # labels that stand and fall together
    probabilities = certain.sample_probabilities(500, np.random.default_rng(0))
    assert set(np.unique(probabilities)) == {0.0, 1.0}


def test_members_are_told_and_extended():
    X, Y = problem()
    model, separate = ModelAverage(members(), random_state=7).fit(X[:40], Y[:40]), alone(X[:40], Y[:40])
    model.partial_fit(X[40:], Y[40:])
    for each in separate:
        each.partial_fit(X[40:], Y[40:])
    np.testing.assert_allclose(model.predict_proba(X), np.mean([each.predict_proba(X) for each in separate], axis=0))
    observed = np.zeros(Y.shape, dtype=bool)
    observed[:, 0] = True
    told = model.posterior(X).given(Y, observed)
    expected = np.mean([each.posterior(X).given(Y, observed).probabilities() for each in separate], axis=0)
    np.testing.assert_allclose(told.probabilities(), expected)
    np.testing.assert_array_equal(told.probabilities()[:, 0], Y[:, 0])
    np.testing.assert_allclose(told.rows(slice(2, 5)).probabilities(), expected[2:5])


def test_rough_only_where_a_member_is():
    X, Y = problem()
    posterior = ModelAverage(members(), random_state=7).fit(X, Y).posterior(X)
    rough = posterior.rough()
    assert rough is not posterior and rough.rough() is rough
    np.testing.assert_allclose(rough.probabilities(), posterior.probabilities(), atol=0.03)
    assert posterior.item_covariance().diagonal() == pytest.approx(
        alone(X, Y)[0].posterior(X).item_covariance().diagonal()
    )
    np.testing.assert_allclose(posterior.feature_variances(), posterior.item_covariance().diagonal())
    plain = ModelAverage([BinaryRelevance(), BinaryRelevance()]).fit(X, Y).posterior(X)
    assert plain.rough() is plain and plain.item_covariance() is None


def test_what_cannot_be_is_named():
    X, Y = problem()
    with pytest.raises(ValueError, match="at least one model"):
        ModelAverage([]).fit(X, Y)


def test_answers_can_be_added_where_every_member_can():
    assert hasattr(ModelAverage(), "partial_fit") and hasattr(ModelAverage(members()), "partial_fit")
    assert not hasattr(ModelAverage([LabelGP(), CompressedLabelGP()]), "partial_fit")


def test_the_given_models_stay_unfitted():
    X, Y = problem()
    own = members()
    model = ModelAverage(own, random_state=7).fit(X, Y)
    assert not hasattr(own[0], "kernel_") and own[0].random_state is None
    assert model.models_[0].random_state == 7
