"""Progressive scores against the measures of whole arrays; shares against plain counting."""

import json
import math

import numpy as np
import pytest

from labelwise.decisions import ClassMass
from labelwise.numerics import metrics
from labelwise.posterior import MarginalPosterior
from labelwise.streams.judge import Judge, RunningShares, Score, StreamRule, belief_score, padded, set_score


def made(n=120, q=5, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.random((n, q))
    return p, rng.random((n, q)) < p**2, rng.random((n, q)) < 0.6


def test_scores_are_the_measures_of_whole_arrays():
    p, truth, _ = made()
    sets = p > 0.6
    told = (belief_score(p, truth) + set_score(sets, truth)).measures()
    assert told["micro_f1"] == pytest.approx(metrics.micro_f1(sets, truth), rel=1e-12)
    assert told["macro_f1"] == pytest.approx(metrics.macro_f1(sets, truth).value, rel=1e-12)
    assert told["log_loss"] == pytest.approx(metrics.log_loss(p, truth), rel=1e-12)
    for k in (1, 3):
        assert told[f"precision_at_{k}"] == pytest.approx(metrics.precision_at(p, truth, k), rel=1e-12)


def test_scores_of_parts_add_up_even_when_labels_are_added():
    p, truth, observed = made()
    sets = p > 0.6
    truth[:50, 3:] = False  # two labels that begin at row 50
    sets[:50, 3:] = False
    whole = set_score(sets, truth, observed)
    parts = set_score(sets[:50, :3], truth[:50, :3], observed[:50, :3]) + set_score(
        sets[50:], truth[50:], observed[50:]
    )
    assert parts.rows == whole.rows == 120
    np.testing.assert_array_equal(parts.label_f1(), whole.label_f1())
    for name in ("micro_f1", "macro_f1"):
        assert parts.measures()[name] == whole.measures()[name]


def test_what_is_not_observed_does_not_count():
    p, truth, observed = made()
    other = truth ^ ~observed  # turned over wherever nobody looked
    sets = p > 0.5
    one, two = (belief_score(p, t, observed) + set_score(sets, t, observed) for t in (truth, other))
    assert one.measures() == two.measures()
    assert one.entries == observed.sum()
    full = observed.all(1)
    assert one.measures()["precision_at_1"] == metrics.precision_at(p[full], truth[full], 1)
    assert one.measures()["log_loss"] == pytest.approx(metrics.log_loss(p[observed], truth[observed]))


def test_a_label_unknown_to_the_model_is_missed_and_costs_no_log_loss():
    p, truth, _ = made(q=4)
    score = belief_score(p[:, :3], truth)
    assert score.entries == 3 * len(p)
    assert score.loss / score.entries == pytest.approx(metrics.log_loss(p[:, :3], truth[:, :3]))
    best = p[:, :3].argmax(1)
    assert score.measures()["precision_at_1"] == pytest.approx(truth[np.arange(len(p)), best].mean())


def test_measures_that_cannot_be_said_are_nan():
    told = Score().measures()
    assert all(math.isnan(value) for value in told.values())
    few = belief_score(np.full((2, 2), 0.5), np.ones((2, 2), bool)).measures()
    assert few["precision_at_1"] == 1.0 and math.isnan(few["precision_at_3"])


def test_scores_and_shares_survive_json():
    p, truth, observed = made()
    score = belief_score(p, truth, observed) + set_score(p > 0.5, truth, observed)
    again = Score.from_json(json.loads(json.dumps(score.to_json())))
    assert again.measures() == score.measures() and again.rows == score.rows
    shares = RunningShares(half_life=33.0)
    shares.add(truth, observed)
    back = RunningShares.from_json(json.loads(json.dumps(shares.to_json())))
    for one in (shares, back):
        one.add(truth, None)
    np.testing.assert_array_equal(back.shares(9), shares.shares(9))


def counted_by_hand(truth, observed):
    """Shares of rows behind the first appearance, label by label."""
    shares = []
    for column, known in zip(truth.T, observed.T, strict=True):
        first = np.flatnonzero(column)
        rows = np.arange(len(column)) > first[0] if first.size else np.zeros(len(column), bool)
        shares.append(column[rows & known].mean() if (rows & known).any() else 0.0)
    return np.array(shares)


@pytest.mark.parametrize("cut", [1, 40, 119])
def test_shares_are_counted_behind_the_first_appearance_in_any_pieces(cut):
    _, truth, observed = made(seed=3)
    truth[:80, 2] = False  # begins late
    truth[:, 4] = False
    truth[70, 4] = True  # seen once: nothing is known of its share
    truth &= observed
    running = RunningShares()
    running.add(truth[:cut, :3], observed[:cut, :3])
    running.add(truth[cut:], observed[cut:])
    again = truth.copy()
    again[:cut, 3:] = False
    np.testing.assert_allclose(running.shares(6)[:5], counted_by_hand(again, observed), rtol=1e-12)
    assert running.shares(6)[5] == 0


def test_shares_of_rare_and_of_new_labels_are_right_on_average():
    rng = np.random.default_rng(0)
    rare, new = [], []
    for _ in range(400):
        running = RunningShares()
        Y = rng.random((400, 2)) < [0.01, 0.1]
        Y[:300, 1] = False
        running.add(Y, None)
        rare.append(running.shares(2)[0])
        new.append(running.shares(2)[1])
    assert np.mean(rare) == pytest.approx(0.01, abs=0.0015)
    assert np.mean(new) == pytest.approx(0.1, abs=0.006)


def test_shares_forget_with_a_half_life():
    running = RunningShares(half_life=10.0)
    running.add(np.ones((11, 1), bool), None)
    running.add(np.zeros((10, 1), bool), None)
    assert running.shares(1)[0] == pytest.approx(5 / 15)  # the older rows weigh half; the first is not counted


def test_a_window_is_decided_as_a_whole_with_the_shares_from_before():
    p, truth, observed = made()
    shares = np.array([0.1, 0.2, 0.3, 0.4, 0.0])
    judge = Judge(StreamRule.parse("class_mass"), shares)
    judge.add(p[:30, :3], truth[:30], None)  # two labels were not known then
    judge.add(p[30:], truth[30:], observed[30:])
    score = judge.close()
    seen = p.astype(np.float32)
    seen[:30, 3:] = 0
    sets = ClassMass(shares).decide(MarginalPosterior(seen))
    known = observed.copy()
    known[:30] = True
    expected = set_score(sets, truth, known)
    np.testing.assert_array_equal(score.hits, expected.hits)
    np.testing.assert_array_equal(score.predicted, expected.predicted)
    assert score.rows == 120 and score.predicted[4] == 0


def test_padding():
    assert padded(np.ones((2, 1)), 3, -1.0).tolist() == [[1, -1, -1]] * 2
    assert padded(np.ones(4), 2).tolist() == [1] * 4
