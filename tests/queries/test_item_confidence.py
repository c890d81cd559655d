"""Rules over an item's labels against loops, and against the choices of another package where that one is right."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise import ItemConfidence, SingleLabelLoss, Uncertainty
from labelwise.posterior import MarginalPosterior
from rival_problems import campaign_picks, exact_logistic, wave_pool

P = np.random.default_rng(0).random((30, 4))
CLOSED = np.random.default_rng(1).random((30, 4)) < 0.3
CLOSED[:3] = True


def scores(strategy, p=P, closed=CLOSED):
    choice = strategy.choose(MarginalPosterior(p), sp.csr_array(closed), len(p), np.random.default_rng(0))
    return dict(zip(choice.rows.tolist(), choice.scores.tolist(), strict=True))


def open_labels(i, closed=CLOSED):
    return [j for j in range(closed.shape[1]) if not closed[i, j]]


@pytest.mark.parametrize("over_labels", ["min", "mean", "max"])
def test_confidence_and_score_against_loops(over_labels):
    reduce = {"min": min, "max": max, "mean": lambda values: sum(values) / len(values)}[over_labels]
    confidence = scores(ItemConfidence(over_labels=over_labels))
    score = scores(ItemConfidence("score", over_labels))
    expected = [i for i in range(30) if open_labels(i)]
    assert sorted(confidence) == sorted(score) == expected
    for i in expected:
        assert confidence[i] == pytest.approx(1 - reduce([abs(2 * P[i, j] - 1) for j in open_labels(i)]))
        assert score[i] == pytest.approx(reduce([P[i, j] for j in open_labels(i)]))


def hinge(f, j, labels):
    return sum(max(0.0, 1 - f[k]) if k == j else max(0.0, 1 + f[k]) for k in labels)


@pytest.mark.parametrize("values", ["probability", "decision"])
def test_losses_against_loops(values):
    top, mean = scores(SingleLabelLoss(values=values)), scores(SingleLabelLoss("predicted", values))
    for i in range(3, 30):
        labels = open_labels(i)
        if not labels:
            continue
        f = 2 * P[i] - 1 if values == "probability" else np.log(P[i] / (1 - P[i]))
        likeliest = max(labels, key=lambda j: P[i, j])
        predicted = [j for j in labels if f[j] > 0] or [likeliest]
        assert top[i] == pytest.approx(hinge(f, likeliest, labels))
        assert mean[i] == pytest.approx(np.mean([hinge(f, j, labels) for j in predicted]))


def test_mean_confidence_ranks_as_margin_uncertainty_where_all_is_open():
    nothing = np.zeros(P.shape, dtype=bool)
    assert list(scores(ItemConfidence(over_labels="mean"), closed=nothing)) == list(
        scores(Uncertainty(measure="margin"), closed=nothing)
    )


@pytest.mark.parametrize("strategy", [ItemConfidence(), ItemConfidence("score", "mean"), SingleLabelLoss("predicted")])
def test_blocks_order_of_labels_and_certainty(strategy, monkeypatch):
    whole = scores(strategy)
    order = np.array([2, 0, 3, 1])
    assert scores(strategy, P[:, order], CLOSED[:, order]) == pytest.approx(whole)
    monkeypatch.setattr("labelwise.queries.base.BLOCK", 4)
    assert scores(strategy) == pytest.approx(whole)
    certain = scores(strategy, np.array([[0.0, 1.0], [1.0, 1.0]]), np.zeros((2, 2), dtype=bool))
    assert len(certain) == 2 and np.isfinite(list(certain.values())).all()
    assert scores(strategy, np.array([[0.3], [0.6]]), np.array([[True], [False]])).keys() == {1}


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (ItemConfidence("margin"), "got 'margin'"),
        (ItemConfidence(over_labels="sum"), "got 'sum'"),
        (ItemConfidence(target="pairs"), "got target='pairs'"),
        (SingleLabelLoss("all"), "got 'all'"),
        (SingleLabelLoss(values="svm"), "got 'svm'"),
        (SingleLabelLoss(target="pairs"), "got target='pairs'"),
    ],
)
def test_wrong_options_are_named(strategy, words):
    with pytest.raises(ValueError, match=words):
        scores(strategy)


def test_binary_minimisation_against_modal_and_libact():
    """The picks of modAL 0.4.2.1 (`SVM_binary_minimum`) and of libact 0.1.6 (`BinaryMinimization`), 20 items known.

    modAL's `min_confidence`, `avg_confidence` and `avg_score` are no measure here: they rank by probabilities of
    presence where the paper has confidence in either answer.
    """
    picks = [61, 39, 55, 30, 37, 28, 70, 43, 25, 20, 48, 34]
    assert campaign_picks(ItemConfidence(), exact_logistic(), 20, 12) == picks


def test_max_loss_against_modal():
    """Losses of modAL 0.4.2.1 (`_SVM_loss`), which puts hard predictions for f, of the same pool, 20 items known."""
    losses = "222424222222424222222424222242424220242422220242422220242422"  # of items 20 to 79
    X, Y = wave_pool()
    p = exact_logistic().fit(X[:20], Y[:20]).predict_proba(X[20:])
    got = scores(SingleLabelLoss(), (p > 0.5).astype(float), np.zeros(p.shape, dtype=bool))
    assert [got[i] for i in range(60)] == [int(loss) for loss in losses]
