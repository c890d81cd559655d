import numpy as np
import pytest

from factor_problems import FAST, auc, topics
from labelwise.models import CooccurrenceFactors, CooccurrenceTransfer, LatentFactors


def test_a_label_without_answers_ranks_last_with_the_mean_rate():
    X, Y, observed, _ = topics()
    beliefs = LatentFactors(**FAST).fit(X, Y, observed).posterior(X)
    assert np.all(np.isneginf(beliefs.scores()[:, 16:])) and np.isfinite(beliefs.scores()[:, :16]).all()
    rates = (Y[:, :16].sum(0) + 0.5) / (len(Y) + 1)
    np.testing.assert_allclose(beliefs.probabilities()[:, 16:], rates.mean(), rtol=1e-6)


def test_it_learns_and_reports_its_objective():
    X, Y, _, _ = topics(n=500)
    told = []
    model = LatentFactors(**FAST).fit(X[:400], Y[:400], on_step=lambda step, value: told.append(value))
    assert told == model.objective_ and np.all(np.diff(told) > 0)
    p = model.predict_proba(X[400:])
    assert np.mean([auc(p[:, j], Y[400:, j]) for j in range(24)]) > 0.7


def test_its_log_odds_serve_the_costa_rule():
    X, Y, observed, counts = topics()
    model = CooccurrenceTransfer("costa", base=LatentFactors(**FAST), cooccurrence=counts).fit(X, Y, observed)
    p = model.predict_proba(X)
    assert np.all(np.isfinite(p)) and np.mean([auc(p[:, j], Y[:, j]) for j in range(16, 24)]) > 0.55


def test_the_papers_settings():
    X, Y, _, _ = topics(n=100)
    model = LatentFactors.paper(n_iterations=3).fit(X, Y)
    assert not model.factors_.label_bias.any() and model.feature_penalty_ == 1.0


@pytest.mark.parametrize("wrong", [{"solver": "lu"}, {"item_penalty": 0}, {"n_iterations": "many"}])
def test_bad_parameters_are_named(wrong):
    X, Y, _, _ = topics(n=30)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LatentFactors(**wrong).fit(X, Y)


@pytest.mark.parametrize("model", [LatentFactors, CooccurrenceFactors])
def test_a_staged_fit_has_what_separate_fits_have(model):
    X, Y, observed, counts = topics(n=80)
    settings = {**FAST, **({"cooccurrence": counts} if model is CooccurrenceFactors else {})}
    stages = model(**settings).staged_fit(X, Y, observed, at=(4, 1))
    found = [(stage.n_iterations_, stage.posterior(X).scores(), stage.objective_) for stage in stages]
    assert [n for n, _, _ in found] == [1, 4]
    for n, scores, objective in found:
        alone = model(**{**settings, "n_iterations": n}).fit(X, Y, observed)
        np.testing.assert_array_equal(scores, alone.posterior(X).scores())
        assert objective == alone.objective_


def test_a_staged_fit_can_be_learnt_on():
    X, Y, observed, counts = topics(n=80)
    (staged,) = CooccurrenceFactors(**FAST, cooccurrence=counts).staged_fit(X, Y, observed, at=[FAST["n_iterations"]])
    usual = CooccurrenceFactors(**FAST, cooccurrence=counts).fit(X, Y, observed)
    after = [model.partial_fit(X, Y, observed).posterior(X).scores() for model in (staged, usual)]
    np.testing.assert_array_equal(*after)


def test_a_staged_fit_is_for_single_best_values():
    X, Y, _, _ = topics(n=30)
    with pytest.raises(ValueError, match="staged_fit"):
        next(CooccurrenceFactors(inference="variational").staged_fit(X, Y, at=[1]))
