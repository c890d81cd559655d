"""Trials on hidden labels: scored by precision, and predicted the way the model will predict."""

import numpy as np
import pytest
import scipy.sparse as sp

import labelwise as lw
from labelwise.models import CooccurrenceTransfer
from labelwise.models.factors.transfer_choice import TransferSource, draw_trials, ridge_scores
from labelwise.numerics.metrics import precision_at
from labelwise.numerics.recovery.label_sketches import SketchSettings

UNSEEN = [1, 6, 9]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) / 2
    truth = X @ rng.normal(size=(3, 16)) > 0.4
    observed = np.ones(truth.shape, dtype=bool)
    observed[:, UNSEEN] = False
    return X, truth, observed


def transfer(truth, **options):
    counts = truth.T.astype(float) @ truth
    return CooccurrenceTransfer(cooccurrence=counts, scale="none", label_weight=3.0, **options, random_state=0)


def test_trials_score_the_hidden_labels_by_precision(problem):
    X, truth, observed = problem
    source = TransferSource(X, truth[:, :12].astype(float), np.ones((300, 12), dtype=bool), None)
    trial = draw_trials(source, 1, np.random.default_rng(0), with_ridge=True)[0]
    scores = trial.scores(SketchSettings())
    expected = np.mean([precision_at(scores, trial.truth, k) for k in (1, 3, 5)])
    assert trial.precision(SketchSettings()) == pytest.approx(expected)
    assert trial.truth.shape == (60, 6) and trial.counts.shape == (6, 6)
    assert (
        draw_trials(TransferSource(X, truth[:, :5].astype(float), observed[:, :5], None), 1, None, with_ridge=True)
        == []
    )


def test_hidden_labels_without_any_count_are_not_judged_by(problem):
    X, truth, observed = problem
    shares = np.full((12, 12), 0.3)
    shares[:, 4] = np.nan
    source = TransferSource(X, truth[:, :12].astype(float), observed[:, :12] | True, shares)
    judged = [t.observed.all(axis=0).sum() for t in draw_trials(source, 20, np.random.default_rng(0), with_ridge=False)]
    assert set(judged) == {5, 6}  # one less where the fifth label is among the hidden ones


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_labels_of_a_trial_are_believed_as_the_models_own_base_believes_them(problem, kind):
    X, truth, _ = problem
    base = lw.LabelGP("linear", scale="none", noise_ratio=2.0, bias=0.0).fit(X[:200], truth[:200])
    found = ridge_scores(kind(X[:200]), truth[:200].astype(float), kind(X[200:]), 2.0)
    np.testing.assert_allclose(found, base.posterior(X[200:]).means(), atol=1e-9)


def test_empty_columns_do_not_move_probabilities(problem):
    """However many: with a weight of labels that is given, trials need their ridge."""
    X, truth, observed = problem
    wide = np.hstack([X, np.zeros((300, 4100))])
    narrow, padded = (transfer(truth, noise_variance=0.3).fit(Z, truth, observed).predict_proba(Z) for Z in (X, wide))
    np.testing.assert_allclose(padded, narrow, atol=1e-9)


def test_trials_use_the_ridge_that_was_given(problem):
    X, truth, observed = problem
    weak, strong = (transfer(truth, ridge=ridge).fit(X, truth, observed).trial_scores_ for ridge in (1.0, 1e4))
    assert weak != strong


def test_trials_draw_from_a_generator_that_is_given(problem):
    X, truth, observed = problem
    model = transfer(truth)
    first, again, other = (
        model.set_params(random_state=np.random.default_rng(seed)).fit(X, truth, observed).trial_scores_
        for seed in (3, 3, 4)
    )
    assert first == again != other
